"""Explicit feature maps: φ(x)·φ(z) is the kernel, and the cut RBF series keeps its bound."""

from __future__ import annotations

from itertools import combinations, pairwise
from math import comb

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from mercer.kernels import (
    RBF,
    AllSubsets,
    Constant,
    Cosine,
    Laplacian,
    Linear,
    Polynomial,
)

EXACT = [
    Linear(),
    Cosine(),
    Constant(2.0),
    Polynomial(degree=2, coef0=1.0),
    Polynomial(degree=4, gamma=0.3, coef0=0.7),
    Polynomial(degree=3, gamma=0.5),
    Polynomial(degree=0),
    AllSubsets(),
    0.3 * Linear() + Polynomial(degree=2, coef0=1.0),
    (Linear() + 1) * AllSubsets(),
    (0.5 * Cosine() + Linear()) ** 3,
]
CUT = [RBF(0.3), 2 * RBF(0.2) + Linear(), RBF(0.1) * Polynomial(2), (RBF(0.1) + Linear()) ** 2]


def rows(n=12, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.7)
    X[2] = 0
    return X


@pytest.mark.parametrize("kernel", EXACT, ids=repr)
@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix])
def test_dot_products_of_features_are_the_kernel(kernel, container):
    X = rows()
    phi = kernel.feature_map(container(X))
    assert sp.issparse(phi) == (container is sp.csr_matrix)
    assert phi.shape == (12, kernel.n_features_out(4))
    K = (phi @ phi.T).toarray() if sp.issparse(phi) else phi @ phi.T
    np.testing.assert_allclose(K, kernel(X), rtol=1e-10, atol=1e-10)
    assert (kernel.feature_map_error(X) == 0).all()


@given(st.integers(0, 2**16), st.integers(1, 4), st.integers(1, 4), st.floats(0, 2))
def test_polynomials_of_any_degree(seed, d, degree, coef0):
    X = rows(5, d, seed)
    kernel = Polynomial(degree, 0.7, coef0)
    phi = kernel.feature_map(X)
    np.testing.assert_allclose(phi @ phi.T, kernel(X), rtol=1e-10, atol=1e-10)


def test_the_map_of_the_square():
    """(1 + x·z)²: φ = (1, √2x₁, √2x₂, x₁², √2x₁x₂, x₂²), with √2 where the notes have 2."""
    a, b, root = 2.0, 3.0, np.sqrt(2)
    phi = Polynomial(2, 1.0, 1.0).feature_map([[a, b]])
    np.testing.assert_allclose(phi, [[1, root * a, root * b, a**2, root * a * b, b**2]])


def test_numbers_of_features():
    assert Polynomial(3, coef0=1.0).n_features_out(100) == comb(103, 3) == 176_851
    assert Polynomial(3).n_features_out(100) == comb(102, 3)
    assert AllSubsets().n_features_out(10) == 2**10
    assert (Linear() + AllSubsets()).n_features_out(4) == 4 + 16
    assert (Linear() * AllSubsets()).n_features_out(4) == 4 * 16
    assert RBF().n_features_out(3, degree=5) == comb(8, 5)


def test_all_subsets_are_products_of_columns():
    X = rows(6, 3)
    subsets = [s for size in range(4) for s in combinations(range(3), size)]
    products = np.column_stack([X[:, list(s)].prod(axis=1) for s in subsets])
    phi = AllSubsets().feature_map(X)
    np.testing.assert_allclose(np.sort(phi, axis=1), np.sort(products, axis=1), atol=1e-14)


@pytest.mark.parametrize("kernel", CUT, ids=repr)
@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("degree", [0, 2, 7])
def test_the_cut_series_keeps_its_bound(kernel, container, degree):
    X = rows()
    phi = kernel.feature_map(container(X), degree=degree)
    phi = phi.toarray() if sp.issparse(phi) else phi
    assert phi.shape[1] == kernel.n_features_out(4, degree=degree)
    off = kernel(X) - phi @ phi.T
    error = kernel.feature_map_error(container(X), degree=degree)
    assert (np.abs(off) <= np.sqrt(np.outer(error, error)) + 1e-12).all()
    np.testing.assert_allclose(np.diag(off), error, atol=1e-12)  # on the diagonal it is attained


def test_the_bound_shrinks_faster_than_any_power():
    X = rows()
    errors = [RBF(0.3).feature_map_error(X, degree=p).max() for p in range(0, 40, 4)]
    assert all(b < 0.7 * a for a, b in pairwise(errors[1:]))
    assert errors[-1] < 1e-15


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: RBF().feature_map(rows()), "infinitely many features: give the degree"),
        (lambda: RBF().feature_map(rows(), degree=-1), "degree must be an integer ≥ 0, got -1"),
        (lambda: Laplacian().feature_map(rows()), "no explicit feature map of finite size"),
        (lambda: Polynomial(2, coef0=-1.0).feature_map(rows()), "no explicit feature map"),
        (lambda: AllSubsets().feature_map(np.ones((10, 40))), "88 TB.*max_bytes"),
        (lambda: AllSubsets().feature_map(sp.eye(9, 70, format="csr")), "features on 70 columns"),
        (lambda: Polynomial(9).feature_map(np.ones((9, 300)), max_bytes=1e6), "=1 MB"),
        (lambda: Linear().n_features_out(-1), "d must be an integer ≥ 0"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(ValueError, match=message):
        call()
