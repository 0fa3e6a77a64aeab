"""`DesignMatrix`: dense, sparse, and a toy of partitions that solvers use through the contract."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from mercer._result import Halted, Status
from mercer._threads import Workers
from mercer.estimators.low_rank._design import TiledFeatures
from mercer.problems._regularized_loss import classification, logistic
from mercer.solvers import Stopping
from mercer.solvers.linear._design_matrix import (
    BlockSettings,
    DenseMatrix,
    SparseMatrix,
    as_design_matrix,
    dot_doubled,
    halting,
)
from mercer.solvers.linear._newton import Newton
from mercer.solvers.linear._smooth_newton import NewtonSettings
from tests.linear.design_matrix_conformance import DesignMatrixConformance
from tests.read_only import read_only

SMALL_BLOCKS = BlockSettings(numbers_per_block=500, panel_rows=16)


class TestDense(DesignMatrixConformance):
    def make(self, X, n_threads=1):
        return DenseMatrix(X, Workers(n_threads), SMALL_BLOCKS)


class TestSparse(DesignMatrixConformance):
    def make(self, X, n_threads=1):
        return SparseMatrix(sp.csr_matrix(X), Workers(n_threads), SMALL_BLOCKS)


class Partitioned:
    """Rows in partitions, each of which could be elsewhere; sums in the order of the partitions."""

    def __init__(self, parts):
        self.parts = parts
        self.n, self.d = sum(len(part) for part in parts), parts[0].shape[1]
        self.nnz = self.n * self.d
        self.stopping = None
        self.ends = np.cumsum([0, *(len(part) for part in parts)])

    def _split(self, v):
        return zip(self.parts, np.split(v, self.ends[1:-1]), strict=True)

    def matvec(self, w, b):
        return np.concatenate([part @ w + b for part in self.parts])

    def rmatvec(self, beta):
        return sum(part.T @ v for part, v in self._split(beta))

    def signed_rmatvec(self, beta):
        return np.array([self.rmatvec(np.maximum(beta, 0)), self.rmatvec(np.minimum(beta, 0))])

    def weighted_gram(self, D, dtype=np.float64):
        ones = [(np.column_stack([part, np.ones(len(part))]), v) for part, v in self._split(D)]
        return sum(part.T @ (v[:, np.newaxis] * part) for part, v in ones)

    def hessian_product(self, D, w, b):
        product = D * self.matvec(w, b)
        return self.rmatvec(product), float(product.sum())

    def take(self, rows):
        return Partitioned([np.concatenate(self.parts)[rows]])


class TestPartitioned(DesignMatrixConformance):
    def make(self, X, n_threads=1):
        return Partitioned(np.array_split(X, min(3, len(X))))


class Given:
    """An embedding whose features are given."""

    def __init__(self, X, n_threads):
        self.features, (self.n, self.n_features) = X.__getitem__, X.shape
        self.gram = SimpleNamespace(workers=Workers(n_threads))


class TestTiled(DesignMatrixConformance):
    def make(self, X, n_threads=1):
        return TiledFeatures(Given(X, n_threads), None, 0, Stopping())


def _data():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(9_000, 6))  # enough rows for a subsample
    Y = np.where(X[:, 0] + rng.normal(size=9_000) > 0.2, 1.0, -1.0)
    return read_only(X, Y)


X, Y = _data()


@pytest.mark.parametrize("direct_columns", [1500, 1], ids=["direct", "cg"])
@pytest.mark.parametrize("loss", ["hinge", "squared", "logistic"])
def test_newton_needs_nothing_but_the_contract(loss, direct_columns):
    C = np.ones(len(Y))
    problem = (
        logistic(Y, C, intercept_penalty=0.0)
        if loss == "logistic"
        else classification(Y, C, squared=loss == "squared", intercept_penalty=0.0)
    )
    newton = Newton(1e-6, settings=NewtonSettings(direct_columns=direct_columns))
    parts = Partitioned(np.array_split(X, 4))
    found = newton.solve(problem, parts, Stopping())
    local = newton.solve(problem, as_design_matrix(X), Stopping())
    assert found.status is Status.SOLVED
    assert_allclose(found.primal, local.primal, rtol=2e-6)
    assert_allclose(found.w_beta, X.T @ found.beta, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("make", [DenseMatrix, lambda X: SparseMatrix(sp.csr_matrix(X))])
@pytest.mark.parametrize("doubled", [False, True])
def test_bounds_of_rounding_hold(rng, make, doubled):
    """Against sums in rational numbers, with an offset that cancels."""
    from fractions import Fraction

    tall = rng.normal(size=(30, 8)) + 1e6
    w, beta, b = rng.normal(size=8), rng.normal(size=30), 0.3
    w -= w.mean()
    design = make(tall)
    g, error = design.bounded_matvec(w, b, doubled)
    for row, value, bound in zip(tall, g, error, strict=True):
        exact = sum((Fraction(x) * Fraction(v) for x, v in zip(row, w, strict=True)), Fraction(b))
        assert abs(Fraction(value) - exact) <= Fraction(bound)
    sums, error = design.bounded_rmatvec(beta, doubled)
    for column, value, bound in zip(tall.T, sums, error, strict=True):
        exact = sum(
            (Fraction(x) * Fraction(v) for x, v in zip(column, beta, strict=True)), Fraction(0)
        )
        assert abs(Fraction(value) - exact) <= Fraction(bound)
    assert error.max() < (1e-6 if doubled else 1e-4)


def test_a_doubled_dot_product_is_rounded_once():
    x, w = np.array([1e16, 1.0, -1e16]), np.ones(3)
    assert dot_doubled(x, w) == 1.0


def test_products_halt_when_the_fit_has_to_stop():
    design = as_design_matrix(X)
    stopping = Stopping(time_limit=0.0)
    with pytest.raises(Halted), halting(design, stopping):
        design.matvec(np.zeros(6), 0.0)
    assert design.stopping is None
    design.matvec(np.zeros(6), 0.0)


@pytest.mark.parametrize("tiles", [0, 3, 11, 40])
def test_a_fit_on_tiled_features_stops_within_a_pass(tiles):
    """The limit is reached after some tiles: in the subsample, the first pass or a later one."""
    X, Y = _data()
    limits, seen = Stopping(), 0

    def features(rows):
        nonlocal seen
        seen += 1
        if seen > tiles:
            limits.time_limit = 0.0
        return X[rows]

    embedding = Given(X, 1)
    embedding.features = features
    design = TiledFeatures(embedding, None, 8 * X.size, limits)
    problem = classification(Y, np.ones(len(Y)), squared=True, intercept_penalty=0.0)
    found = Newton(1e-12).solve(problem, design, limits)
    assert seen <= tiles + 1
    assert found.status is Status.TIME_LIMIT
    assert found.w.shape == (6,)
    assert np.isfinite(found.w).all()
    assert not found.meets(1e-12)
