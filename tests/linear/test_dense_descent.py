"""Dual coordinate descent on dense rows: as on CSR, in single precision, and with a diagonal."""

from __future__ import annotations

import numpy as np
import pytest

from mercer._threads import Workers
from mercer.problems._regularized_loss import classification, regression
from mercer.solvers import Stopping
from mercer.solvers.linear._coordinate_descent import CoordinateDescent, duals_with_diagonal
from mercer.solvers.linear._design_matrix import DenseMatrix, SparseMatrix, as_csr
from tests.oracles.dense_qp import solve_box_qp
from tests.read_only import read_only

N, D = 80, 6


def _data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D))
    return read_only(X, np.where(X[:, 0] + rng.normal(size=N) > 0, 1.0, -1.0), np.full(N, 0.7))


X, Y, C = _data()
PROBLEMS = {
    "hinge": classification(Y, C, squared=False, intercept_penalty=0.0),
    "no-intercept": classification(Y, C, squared=False, intercept_penalty=None),
    "squared": classification(Y, C, squared=True, intercept_penalty=0.0),
    "tube": regression(X[:, 1], C, 0.1, squared=False, intercept_penalty=1.0),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_dense_rows_are_those_of_csr(name):
    dense = DenseMatrix(X)
    sparse = SparseMatrix(as_csr(X, Workers(1), dense.settings))
    solver = CoordinateDescent(1e-8)
    a, b = (solver.solve(PROBLEMS[name], rows, Stopping()) for rows in (dense, sparse))
    assert a.meets(1e-8)
    np.testing.assert_allclose(a.primal, b.primal, rtol=1e-7)
    np.testing.assert_allclose(a.w, b.w, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("name", PROBLEMS)
def test_single_precision_within_and_float64_outside(name):
    """The gap is evaluated in float64: that of the rows as they are stored."""
    rows = DenseMatrix(X.astype(np.float32))
    found = CoordinateDescent(1e-4, single=True).solve(PROBLEMS[name], rows, Stopping())
    assert found.meets(1e-4)
    assert found.w.dtype == np.float64
    best = CoordinateDescent(1e-8).solve(PROBLEMS[name], rows, Stopping())
    assert found.primal - best.primal <= found.gap + 1e-8 * best.primal


@pytest.mark.parametrize("name", ["hinge", "no-intercept"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_duals_of_a_diagonal_maximise_its_dual(name, dtype):
    """Against an interior point method on XXᵀ + D."""
    problem, rows = PROBLEMS[name], DenseMatrix(X.astype(dtype))
    diagonal = np.random.default_rng(1).uniform(0.1, 2.0, N)
    solver = CoordinateDescent(1e-5, single=True)
    first = solver.solve(problem, rows, Stopping())
    beta = duals_with_diagonal(problem, rows, first, diagonal, solver, Stopping())
    lower, upper = np.minimum(0.0, Y * C), np.maximum(0.0, Y * C)
    assert (lower <= beta).all()
    assert (beta <= upper).all()
    Q = X @ X.T + np.diag(diagonal)
    A = np.ones((1, N)) if name == "hinge" else np.zeros((0, N))
    if name == "hinge":
        assert abs(beta.sum()) < 1e-12
    best, *_ = solve_box_qp(Q, Y, lower, upper, A, np.zeros(len(A)))

    def value(b: np.ndarray) -> float:
        return float(Y @ b - b @ Q @ b / 2)

    assert value(beta) <= value(best) * (1 + 1e-9)
    assert value(beta) >= value(best) * (1 - 1e-3)
    assert value(beta) > value(first.beta)
