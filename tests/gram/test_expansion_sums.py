"""Sums of a fitted function: their bound holds, and predictions are those of float64."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

from mercer import Expansion
from mercer._multiclass import block_outputs
from mercer.kernels import RBF, Samples

N_SUPPORT, N_ROWS = 1500, 2700  # several tiles of vectors, and several chunks of rows


def expansion(k: int, d: int, share: float, *, as_sparse: bool, gamma: float) -> tuple:
    """A one-against-one model of k classes, and rows near its support vectors."""
    rng = np.random.default_rng(k + d)
    Z = rng.normal(size=(N_SUPPORT, d)) * (rng.random((N_SUPPORT, d)) < share)
    X = Z[rng.integers(N_SUPPORT, size=N_ROWS)] + 0.1 * rng.normal(size=(N_ROWS, d))
    counts = np.bincount(rng.integers(k, size=N_SUPPORT), minlength=k)
    coef = rng.normal(size=(k - 1, N_SUPPORT)) * 10
    b = rng.normal(size=k * (k - 1) // 2)
    rows = sp.csr_matrix if as_sparse else np.asarray
    f = Expansion(RBF(gamma), Samples(rows(Z)), coef, b, block_outputs(counts))
    return f, X, rows(X), Z


def by_definition(f: Expansion, X: np.ndarray, Z: np.ndarray) -> np.ndarray:
    """In long double, from differences."""
    X, Z = X.astype(np.longdouble), Z.astype(np.longdouble)
    K = np.exp(-np.longdouble(f.kernel.gamma) * ((X[:, None] - Z) ** 2).sum(axis=2))
    out = np.tile(f.b.astype(np.longdouble), (X.shape[0], 1))
    for start, stop, outputs in f.blocks:
        out[:, outputs] += K[:, start:stop] @ f.coef[:, start:stop].T
    return out


CASES = [
    (k, d, share, as_sparse)
    for k in (2, 4)
    for d, share, as_sparse in [(3, 1.0, False), (17, 1.0, False), (9, 0.6, True), (60, 0.1, True)]
]


@pytest.mark.parametrize(("k", "d", "share", "as_sparse"), CASES)
def test_the_bound_holds(k, d, share, as_sparse):
    f, X, rows, Z = expansion(k, d, share, as_sparse=as_sparse, gamma=1 / d)
    some = slice(0, N_ROWS, 90)
    exact = by_definition(f, X[some], Z)
    for dtype in (np.dtype(np.float32), np.dtype(np.float64)):
        error = np.zeros((N_ROWS, f.b.size))
        values = f._values(rows, dtype, None, error)
        assert (np.abs(values[some] - exact) <= error[some]).all()
        assert error.max() < 0.05 * np.abs(values).max()


@pytest.mark.parametrize(("k", "d", "share", "as_sparse"), CASES)
def test_signs_are_those_of_the_values(k, d, share, as_sparse):
    f, _, rows, _ = expansion(k, d, share, as_sparse=as_sparse, gamma=1 / d)
    assert_array_equal(np.sign(f.signs(rows)), np.sign(f(rows)))


@pytest.mark.parametrize(("d", "share"), [(9, 0.6), (60, 0.1)])
def test_sparse_rows_have_the_values_of_dense_ones(d, share):
    f, X, rows, Z = expansion(3, d, share, as_sparse=True, gamma=1 / d)
    dense = Expansion(f.kernel, Samples(Z), f.coef, f.b, f.blocks)
    np.testing.assert_allclose(f.exact(rows), dense.exact(X), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("d", [1, 4, 7, 12])
@pytest.mark.parametrize("n", [1, 2, 301])
def test_few_columns_with_far_rows(d, n):
    """Values of far rows come from differences, those of the others from products."""
    rng = np.random.default_rng(d)
    Z, X = rng.normal(size=(700, d)), rng.normal(size=(n, d))
    Z[::90] += 1e6
    X[::40] = Z[::90][:1] + 0.1
    f = Expansion(RBF(0.3), Samples(Z), rng.normal(size=(1, 700)), np.array([0.5]))
    exact = by_definition(f, X, Z)
    error = np.zeros((n, 1))
    values = f._values(X, np.dtype(np.float64), 1, error)
    assert (np.abs(values - exact) <= error).all()
    np.testing.assert_allclose(values, exact, rtol=0, atol=1e-10)
    np.testing.assert_allclose(f.exact(X), values, rtol=0, atol=1e-12)
