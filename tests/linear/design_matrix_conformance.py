"""What every `DesignMatrix` must do: its products against plain NumPy.

A test class for a new implementation derives from `DesignMatrixConformance` and says how to build
it; `make(X, n_threads)` may ignore the number of threads.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

SHAPES = [(1, 1), (7, 3), (300, 5), (40, 130), (5_000, 70)]


class DesignMatrixConformance:
    """Properties of the contract."""

    def make(self, X, n_threads=1):
        """A `DesignMatrix` of a dense float64 array."""
        raise NotImplementedError

    @pytest.fixture(params=SHAPES, ids=str)
    def data(self, request):
        n, d = request.param
        rng = np.random.default_rng(n + d)
        X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.4)
        D = np.maximum(rng.normal(size=n), 0.0)  # half of the rows have none
        return X, rng.normal(size=d), rng.normal(size=n), D

    def test_shape(self, data):
        X, *_ = data
        design = self.make(X)
        assert (design.n, design.d) == X.shape
        assert np.count_nonzero(X) <= design.nnz <= X.size
        assert design.stopping is None

    def test_products_are_those_of_the_array(self, data):
        X, w, beta, D = data
        design = self.make(X)
        assert_allclose(design.matvec(w, 0.3), X @ w + 0.3, rtol=1e-10, atol=1e-10)
        assert_allclose(design.rmatvec(beta), X.T @ beta, rtol=1e-9, atol=1e-9)
        signed = X.T @ np.maximum(beta, 0), X.T @ np.minimum(beta, 0)
        assert_allclose(design.signed_rmatvec(beta), signed, rtol=1e-9, atol=1e-9)
        product = D * (X @ w + 0.3)
        found, total = design.hessian_product(D, w, 0.3)
        assert_allclose(found, X.T @ product, rtol=1e-9, atol=1e-9)
        assert_allclose(total, product.sum(), rtol=1e-9, atol=1e-9)

    def test_matvec_and_rmatvec_are_adjoint(self, data):
        X, w, beta, _ = data
        design = self.make(X)
        size = np.abs(beta) @ np.abs(X) @ np.abs(w)
        difference = beta @ design.matvec(w, 0.0) - w @ design.rmatvec(beta)
        assert abs(difference) <= 1e-12 * size

    def test_the_weighted_gram_is_symmetric_with_a_column_of_ones(self, data):
        X, _, _, D = data
        gram = np.tril(self.make(X).weighted_gram(D))
        gram = gram + np.tril(gram, -1).T
        ones = np.column_stack([X, np.ones(len(X))])
        expected = ones.T @ (D[:, np.newaxis] * ones)
        assert_allclose(gram, expected, rtol=1e-9, atol=1e-9)
        single = np.tril(self.make(X).weighted_gram(D, np.float32))
        assert_allclose(single, np.tril(expected), rtol=1e-4, atol=1e-3)

    def test_take_is_a_slice(self, data):
        X, w, beta, _ = data
        rows = np.random.default_rng(1).permutation(len(X))[: max(1, len(X) // 2)]
        some = self.make(X).take(rows)
        assert (some.n, some.d) == X[rows].shape
        assert_allclose(some.matvec(w, 0.0), X[rows] @ w, rtol=1e-10, atol=1e-10)
        assert_allclose(some.rmatvec(beta[rows]), X[rows].T @ beta[rows], rtol=1e-9, atol=1e-9)

    def test_results_do_not_depend_on_the_threads(self, data):
        X, w, beta, D = data
        one, three = self.make(X, 1), self.make(X, 3)
        assert_array_equal(one.matvec(w, 0.3), three.matvec(w, 0.3))
        assert_array_equal(one.rmatvec(beta), three.rmatvec(beta))
        assert_array_equal(one.weighted_gram(D), three.weighted_gram(D))
        assert_array_equal(one.hessian_product(D, w, 0.3)[0], three.hessian_product(D, w, 0.3)[0])
