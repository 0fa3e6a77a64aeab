"""Slips of the lecture notes (docs/companion/slips.md): the printed formula fails, ours holds."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from mercer import SVC, LinearSVC
from mercer.kernels import RBF, Linear, Polynomial

C = 0.8


@pytest.fixture(scope="module")
def data():
    """Sixty rows off the origin, with overlap."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2)) + np.array([1.5, 0.0])
    y = np.where(X[:, 0] + 0.8 * rng.normal(size=60) > 1.2, 1, -1)
    X.flags.writeable = y.flags.writeable = False
    return X, y


def smallest_primal(rows, y, half=0.5, intercept=True):
    """min half·‖w‖² + CΣξ by a general solver, ξ as variables of their own."""
    n, d = rows.shape
    A = y[:, None] * np.column_stack([rows, np.full(n, float(intercept))])
    start = np.concatenate([np.zeros(d + 1), np.ones(n)])

    def value(v):
        return half * v[:d] @ v[:d] + C * v[d + 1 :].sum()

    def slope(v):
        return np.concatenate([2 * half * v[:d], [0.0], np.full(n, C)])

    constraints = {
        "type": "ineq",
        "fun": lambda v: A @ v[: d + 1] + v[d + 1 :] - 1,
        "jac": lambda v: np.hstack([A, np.eye(n)]),
    }
    bounds = [(None, None)] * (d + 1) + [(0, None)] * n
    options = {"maxiter": 1000, "ftol": 1e-12}
    done = minimize(
        value,
        start,
        jac=slope,
        method="SLSQP",
        bounds=bounds,
        constraints=constraints,
        options=options,
    )
    assert done.success
    return done.fun


def dual_value(model, K):
    """Σα − ½ΣΣ ααyyK: the quadratic term is negative."""
    beta = np.zeros(60)
    beta[model.support_] = model.dual_coef_[0]
    return np.abs(beta).sum() - 0.5 * beta @ K @ beta, beta


def test_the_dual_belongs_to_half_the_squared_norm(data):
    """½wᵀw + CΣξ, not wᵀw + CΣξ, has Σα − ½ΣΣ as its dual."""
    X, y = data
    model = SVC(kernel="linear", C=C, tol=1e-8).fit(X, y)
    value, beta = dual_value(model, Linear()(X))
    assert value == pytest.approx(smallest_primal(X, y), rel=1e-5)
    assert value < 0.99 * smallest_primal(X, y, half=1.0)
    assert beta.sum() == pytest.approx(0, abs=1e-9)


def test_without_the_equality_it_is_the_model_without_intercept(data):
    """Dropping Σαy = 0 gives the dual of the model whose b is zero: another, worse one here."""
    X, y = data
    K = Linear()(X)
    without = SVC(kernel="linear", C=C, tol=1e-8, fit_intercept=False).fit(X, y)
    value, beta = dual_value(without, K)
    assert abs(beta.sum()) > 0.1
    assert without.intercept_ == 0
    assert value == pytest.approx(smallest_primal(X, y, intercept=False), rel=1e-5)
    assert value > 1.01 * smallest_primal(X, y)


def test_the_polynomial_of_degree_one_is_not_the_linear_kernel(data):
    """1 + x·z without intercept is the linear model whose intercept Σβ is penalised with w."""
    X, y = data
    model = SVC(kernel=Polynomial(1, 1.0, 1.0), C=C, tol=1e-8, fit_intercept=False).fit(X, y)
    augmented = np.column_stack([X, np.ones(60)])
    value, beta = dual_value(model, Linear()(augmented))
    assert value == pytest.approx(smallest_primal(augmented, y, intercept=False), rel=1e-5)
    assert value > 1.01 * smallest_primal(X, y)
    assert_allclose(model.decision_function(X), X @ (beta @ X) + beta.sum(), atol=1e-9)


def test_the_non_linear_dual_has_its_bound_too(data):
    X, y = data
    alpha = np.abs(SVC(kernel=RBF(0.5), C=C, tol=1e-8).fit(X, y).dual_coef_)
    assert alpha.max() == C
    assert (alpha < C).any()


def test_squared_slack_needs_no_bound(data):
    """½‖w‖² + CΣξ² is a hard margin with K + I/(2C): α = 2Cξ has no upper bound, and ξ ≥ 0."""
    X, y = data
    primal = LinearSVC(loss="squared_hinge", C=C, tol=1e-10, intercept_scaling=None).fit(X, y)
    ridged = Linear()(X) + np.eye(60) / (2 * C)
    dual = SVC(kernel="precomputed", C=np.inf, tol=1e-8).fit(ridged, y)
    value, beta = dual_value(dual, ridged)
    assert value == pytest.approx(primal.certificate_.primal, rel=1e-6)
    slack = np.maximum(0, 1 - y * primal.decision_function(X))
    assert_allclose(np.abs(beta), 2 * C * slack, atol=1e-4)
    assert np.abs(beta).max() > 1.2 * C


def test_slack_over_the_norm_is_another_problem():
    """½‖w‖ + CΣξ/‖w‖ of the two points at C = ¼, b = 0 has its minimum at 1, ½‖w‖² + CΣξ at ½."""
    norm = np.linspace(0.01, 2.0, 200)
    slack = 2 * np.maximum(0, 1 - norm)
    assert norm[np.argmin(norm / 2 + 0.25 * slack / norm)] == pytest.approx(1.0, abs=0.01)
    assert norm[np.argmin(norm**2 / 2 + 0.25 * slack)] == pytest.approx(0.5, abs=0.01)
    model = SVC(kernel="linear", C=0.25, tol=1e-10).fit([[0, 1], [0, -1]], [1, -1])
    assert np.linalg.norm(model.coef_) == pytest.approx(0.5)
