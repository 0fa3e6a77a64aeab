"""Samples keep the user's data; blocks are cut from it in the precision asked for."""

import numpy as np
import pytest
import scipy.sparse as sp

from mercer.kernels import Linear, Samples

X = np.random.default_rng(0).normal(size=(20, 4))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", ["bool", "int8", "uint8", "int64", "float32", "float64"])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix, sp.csr_array, sp.coo_matrix])
def test_blocks_of_any_type(container, kind, dtype):
    data = (np.abs(X) * 3).astype(kind)
    points = Samples(container(data))
    assert points.X.dtype == kind
    for rows in (slice(3, 9), np.array([5, 1, 1])):
        block = points.take(rows, dtype)
        held = block.X.toarray() if points.is_sparse else block.X
        assert held.dtype == dtype
        expected = data[rows].astype(dtype)
        np.testing.assert_array_equal(held, expected)
        norms = (expected.astype(np.float64) ** 2).sum(axis=1)
        np.testing.assert_allclose(block.sq_norms, norms, rtol=1e-15)
        assert block.sq_norms.dtype == np.float64


def test_no_copy_of_rows_in_the_right_precision():
    assert np.shares_memory(Samples(X).take(slice(2, 7)).X, X)


@pytest.mark.parametrize("index", [slice(4, 16), np.arange(19, 3, -1)])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix])
def test_parts_of_blocks(container, index):
    block = Samples(container(X)).take(index)
    for touch in (False, True):
        if touch:
            block.X, block.sq_norms
        part = block[2:9]
        held = part.X.toarray() if part.is_sparse else part.X
        assert len(part) == 7
        np.testing.assert_array_equal(held, X[index][2:9])
        np.testing.assert_array_equal(part.sq_norms, block.sq_norms[2:9])
        assert len(block[10:99]) == len(X[index][10:99])
        K = np.empty((7, 7))
        Linear().tile(part, part[0:7], K)
        np.testing.assert_allclose(K, X[index][2:9] @ X[index][2:9].T, atol=1e-14)


def test_parts_share_the_arrays_of_their_block():
    block = Samples(X.astype(np.int8)).take(np.arange(20), np.float32)
    part = block[3:8]
    assert np.shares_memory(part.X, block.X)
    assert np.shares_memory(part[1:2].X, block.X)
    assert np.shares_memory(part.sq_norms, block.sq_norms)
    sparse = Samples(sp.csr_matrix(X)).take(np.arange(20))
    assert np.shares_memory(sparse[3:8].csr.values, sparse.csr.values)


def test_repeated_entries_of_sparse_rows_are_summed_and_the_data_is_left_alone():
    repeated = sp.csr_matrix((np.ones(3), [1, 1, 0], [0, 2, 3]), shape=(2, 2))
    assert (Samples(repeated).take(slice(0, 2)).sq_norms == [4, 1]).all()
    assert repeated.nnz == 3


def test_origin_shifts_dense_rows_and_is_refused_for_sparse_ones():
    origin = np.arange(4.0)
    block = Samples(X, origin).take(slice(0, 20))
    np.testing.assert_array_equal(block.X, X - origin)
    np.testing.assert_allclose(block.sq_norms, ((X - origin) ** 2).sum(axis=1))
    with pytest.raises(ValueError, match="origin must be None"):
        Samples(sp.csr_matrix(X), origin)


@pytest.mark.parametrize(
    "things",
    [
        ["ab", "c"],
        [{"a": 1}, {"b": 2}],
        [np.zeros(2), np.zeros(3)],
        [object(), object()],
        np.array(["ab", "c"]),
    ],
)
def test_objects_are_kept_as_they_are(things):
    points = Samples(things)
    assert points.are_objects
    assert (points.n, points.d) == (2, 0)
    assert points.take(np.array([1])).X[0] is points.X[1]
    assert points.take(slice(0, 1)).original[0] is points.X[0]


def test_nested_lists_of_numbers_are_a_matrix():
    assert Samples([[1, 2], [3, 4]]).X.shape == (2, 2)
    with pytest.raises(ValueError, match="two dimensions"):
        Samples([1.0, 2.0])
