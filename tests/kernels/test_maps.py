"""The compiled maps against long double arithmetic, and the precision of tiles."""

import numpy as np
import pytest
import scipy.sparse as sp

from mercer._numba import compiled, wide_vectors
from mercer.kernels import RBF, Linear, Samples
from mercer.kernels._compiled.elementwise import flat_rows, power_map, rbf_map32, rbf_map64
from mercer.kernels._compiled.products import DENSE_FROM
from mercer.kernels._compiled.sparse_pairwise import PANEL


def exp_by_map(x):
    """eˣ for x ≤ 0 as the RBF maps compute it: norms 0 and −x, γ = 1."""
    row, zero = np.zeros((1, x.size), x.dtype), np.zeros(1, x.dtype)
    if x.dtype == np.float32:
        none = np.zeros(x.size, np.float32)
        rbf_map32(row.reshape(-1), x.size, 1, x.size, zero, zero, -x, none, np.float32(1))
    else:
        rbf_map64(row.reshape(-1), x.size, 1, x.size, zero, -x, 1.0)
    return row[0]


@pytest.mark.parametrize(
    ("dtype", "units", "bias"), [(np.float32, 1.5, 0.02), (np.float64, 3.0, 0.1)]
)
def test_exp_is_right_to_the_last_place_and_unbiased(dtype, units, bias):
    x = -np.random.default_rng(0).exponential(4.0, 200_000).astype(dtype)
    exact = np.exp(x.astype(np.longdouble))
    error = (exp_by_map(x) - exact) / np.spacing(exact.astype(dtype)).astype(np.longdouble)
    assert np.abs(error).max() < units
    assert abs(error.mean()) < bias


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_exp_at_its_ends(dtype):
    info = np.finfo(dtype)
    low = np.log(info.tiny.astype(np.float64))  # where the normal range ends
    x = np.array([0, -1e-30, low + 0.01, low - 1, -1e5, -info.max, -np.inf], dtype)
    values = exp_by_map(x)
    assert values[0] == values[1] == 1
    assert values[2] == pytest.approx(np.exp(float(x[2])), rel=4 * float(info.eps))
    assert (values[3:] == 0).all()


@pytest.mark.parametrize("degree", range(1, 12))
def test_powers(degree):
    x = np.linspace(-2, 2, 41).reshape(1, -1)
    out = x.copy()
    power_map(out.reshape(-1), 41, 1, 41, 0.5, 0.25, degree)
    np.testing.assert_allclose(out, (0.5 * x + 0.25) ** degree, rtol=1e-14)


def test_flat_rows_is_a_view_of_the_same_memory():
    big = np.zeros((4, 10))
    for view in (big, big[1:3, 2:7], big[:, :1], big[3:]):
        flat, stride = flat_rows(view)
        flat[(view.shape[0] - 1) * stride + view.shape[1] - 1] = 5
        assert view[-1, -1] == 5
        view[-1, -1] = 0


def test_binary_rows_lose_nothing_in_float32():
    X = (np.random.default_rng(0).random((300, 60)) < 0.1).astype(np.int8)
    exact = np.exp(-0.05 * (X[:, None] != X[None]).sum(axis=2))
    for data in (X, sp.csr_matrix(X)):
        block = Samples(data).take(slice(0, 300), np.float32)
        K = np.empty((300, 300), np.float32)
        RBF(0.05).tile(block, block, K)
        # the argument is rounded once: its half unit in the last place grows to |argument| · eps/2
        np.testing.assert_allclose(K, exact, rtol=3 * np.finfo(np.float32).eps)
        assert (K.diagonal() == 1).all()


def test_norms_in_two_parts_keep_near_points_near():
    """Float32 distances of points far from the origin err by the dot product's rounding alone."""
    rng = np.random.default_rng(0)
    X = (30 + rng.normal(size=(200, 4))).astype(np.float32)
    block = Samples(X).take(slice(0, 200), np.float32)
    K = np.empty((200, 200), np.float32)
    RBF(0.5).tile(block, block, K)
    D = ((X.astype(float)[:, None] - X.astype(float)) ** 2).sum(axis=2)
    bound = 0.5 * 2 * 4 * np.finfo(np.float32).eps * block.sq_norms.max()
    assert np.abs(K - np.exp(-0.5 * D)).max() < bound


def test_an_origin_saves_the_digits_of_far_points():
    rng = np.random.default_rng(0)
    X = 1e4 + rng.normal(size=(50, 3))
    D = ((X[:, None] - X) ** 2).sum(axis=2)
    block = Samples(X, X.mean(axis=0)).take(slice(0, 50), np.float32)
    K = np.empty((50, 50), np.float32)
    RBF(0.5).tile(block, block, K)
    assert np.abs(K - np.exp(-0.5 * D)).max() < 1e-5
    np.testing.assert_allclose(RBF(0.5)(X), np.exp(-0.5 * D), rtol=1e-11)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("density", [0.0, 0.02, DENSE_FROM - 0.05, DENSE_FROM + 0.05, 1.0])
@pytest.mark.parametrize("n", [1, PANEL - 1, PANEL, 2 * PANEL + 3])
def test_sparse_products(density, n, dtype):
    A = sp.random(37, 90, density, format="csr", random_state=1, dtype=dtype)
    B = sp.random(n, 90, density, format="csr", random_state=2, dtype=dtype)
    out = np.full((37, n), np.nan, dtype)
    Linear().tile(Samples(A).take(slice(0, 37), dtype), Samples(B).take(slice(0, n), dtype), out)
    exact = A.toarray().astype(float) @ B.toarray().astype(float).T
    np.testing.assert_allclose(
        out, exact, rtol=0, atol=20 * np.finfo(dtype).eps * max(1, exact.max())
    )


def test_wide_vectors_is_an_attribute_of_the_function():
    @compiled(cached=False)
    def total(values):
        wide_vectors()
        s = 0.0
        for value in values:
            s += value
        return s

    assert total(np.arange(5.0)) == 10.0
    assert '"prefer-vector-width"="512"' in total.inspect_llvm(total.signatures[0])
