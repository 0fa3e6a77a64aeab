"""Products nonzero by nonzero: the same numbers as dense ones, for any cut of the rows."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from mercer import SVC
from mercer.kernels import RBF, Linear
from mercer.kernels._binding import make_samples
from mercer.kernels._compiled.products import products
from mercer.kernels._compiled.sparse_dot import LINE_BYTES, gathered, nonzeros
from mercer.kernels._samples import Samples


def rows(n, d=90, share=0.1, seed=0):
    rng = np.random.default_rng(seed)
    return np.where(rng.random((n, d)) < share, rng.normal(size=(n, d)), 0.0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("d", [90, 2000])  # panels that are prefetched, and too large ones
@pytest.mark.parametrize(("n", "m"), [(1, 1), (3, 63), (7, 64), (5, 65), (2, 200)])
def test_products_are_dot_products(dtype, kind, d, n, m):
    X = rows(n + m, d)
    points = Samples(kind(X))
    assert points.has_few_nonzeros
    out = np.full((n, m + 3), np.nan, dtype)
    A, B = points.take(slice(0, n), dtype), points.take(slice(n, n + m), dtype)
    products(A, B, out[:, :m])
    tolerance = 1e-5 if dtype == np.float32 else 1e-12
    assert_allclose(out[:, :m], X[:n] @ X[n:].T, atol=tolerance)
    assert np.isnan(out[:, m:]).all()


@pytest.mark.parametrize("kernel", [Linear(), RBF(gamma=0.1)])
def test_values_do_not_depend_on_the_tile_to_the_last_bit(kernel):
    """For any rows computed together, in registers or in what is left of a vector loop."""
    points, rng = Samples(rows(300)), np.random.default_rng(1)
    block, whole = points.take(slice(0, 300), np.float32), np.empty((300, 300), np.float32)
    kernel.tile(block, block, whole)
    for size in (1, 5, 63, 64, 130):
        some, others = rng.permutation(300)[:size], rng.permutation(300)[: size + 7]
        out = np.empty((size, size + 7), np.float32)
        kernel.tile(block.pick(some), block.pick(others), out)
        assert_array_equal(out, whole[np.ix_(some, others)])


@pytest.mark.parametrize("start", [0, 64, 65, 100])
def test_parts_of_a_block_share_its_panels_only_where_one_starts(start):
    X = rows(300)
    block = Samples(X).take(slice(0, 300), np.float32)
    part = block[start:250]
    out = np.empty((300, 250 - start), np.float32)
    products(block, part, out)
    assert_allclose(out, X @ X[start:250].T, atol=1e-5)
    width = LINE_BYTES // 4
    assert np.shares_memory(part.panels, block.panels) == (start % width == 0)


def test_a_block_that_grows_lays_out_new_rows_only():
    """Rows of any number, in any order: the panels are those of a block made at once."""
    X, order = rows(300), np.random.default_rng(0).permutation(300)
    points = Samples(X)
    block = points.take(order[:50], np.float32)
    block.reserve(300, lambda size: np.full(size, 255, np.uint8))  # what is not laid out is nan
    for start, stop in [(50, 50), (50, 64), (64, 65), (65, 200), (200, 300)]:
        before = block.panels
        block = block.extended(order[start:stop])
        assert_array_equal(block.panels, points.take(order[:stop], np.float32).panels)
        assert np.shares_memory(block.panels, before)
    out = np.empty((300, 300), np.float32)
    products(block, block, out)
    assert_allclose(out, X[order] @ X[order].T, atol=1e-5)


@pytest.mark.parametrize("origin", [None, np.linspace(0, 1, 90)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int16])
def test_nonzeros_are_those_of_scipy(dtype, origin):
    X = (100 * rows(20)).astype(dtype)
    X[3] = 0
    expected = sp.csr_matrix(X if origin is None else X - origin)
    indptr, columns, values = nonzeros(X, origin, rows_at_once=7)
    assert_array_equal(indptr, expected.indptr)
    assert_array_equal(columns, expected.indices)
    assert_array_equal(values, expected.data)


def test_rows_are_gathered_as_scipy_does():
    X = sp.csr_matrix(rows(20))
    which = np.array([7, 0, 7, 19, 3])
    indptr, columns, values = gathered(X.indptr, X.indices, X.data, which, np.float32)
    expected = X[which].astype(np.float32)
    assert_array_equal(indptr, expected.indptr)
    assert_array_equal(columns, expected.indices)
    assert_array_equal(values, expected.data)


def test_full_rows_few_columns_and_many_are_not_taken():
    assert not Samples(rows(50, share=0.9)).has_few_nonzeros
    assert not Samples(rows(50, d=20)).has_few_nonzeros
    assert Samples(sp.csr_matrix(rows(50, d=20))).has_few_nonzeros
    assert not Samples(sp.random(50, 10_000, 0.01, format="csr", random_state=0)).has_few_nonzeros


def test_zeros_are_kept_unless_the_mean_outweighs_them():
    X = rows(200)
    assert make_samples(X, RBF()).origin is None
    X[:, 0] = 1e4 + X[:, 0]  # distances around the origin would lose most digits
    assert make_samples(X, RBF()).origin is not None
    assert make_samples(X, Linear()).origin is None


def test_rows_lie_around_common_values_where_that_gives_zeros():
    """Standardised columns of two values: few numbers are left, and the distances are the same."""
    rng = np.random.default_rng(0)
    X = np.hstack([rng.random((300, 60)) < 0.1, rng.normal(size=(300, 5))]).astype(float)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    kernel = RBF(gamma=0.01)
    points = make_samples(X, kernel)
    assert points.has_few_nonzeros
    assert points.csr.nnz < 0.25 * X.size
    tile = np.empty((100, 200))
    kernel.tile(points.take(slice(0, 100)), points.take(slice(100, 300)), tile)
    distances = ((X[:100, None] - X[None, 100:]) ** 2).sum(axis=-1)
    assert_allclose(tile, np.exp(-0.01 * distances), atol=1e-12)
    assert_array_equal(make_samples(X[:, 60:], kernel).origin, X[:, 60:].mean(axis=0))


def test_dense_and_sparse_rows_give_the_same_machine():
    X = rows(2000, share=0.15)
    y = np.sign(X[:, :5].sum(axis=1) + 0.1 * rows(2000, d=1, share=1, seed=1)[:, 0])
    dense, sparse = (
        SVC(gamma=0.1, tol=1e-5).fit(kind(X), y) for kind in (np.asarray, sp.csr_matrix)
    )
    assert_allclose(dense.certificate_.dual, sparse.certificate_.dual, rtol=1e-6)
    values = sparse.decision_function(sp.csr_matrix(X[:100]))
    assert_allclose(dense.decision_function(X[:100]), values, atol=1e-3)
