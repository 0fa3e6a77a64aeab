"""Squared slack, C Σ ξ²: closed forms, a primal oracle, every exact solver, weights."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from mercer import SVC, SVR, verify
from mercer.kernels import RBF
from mercer.problems import svc, svr

GAMMA = 0.5
WITH_INTERCEPT = ["smo", "platt", "qp", "qp-primal"]
WITHOUT = ["smo", "qp", "projected-gradient", "coordinate-ascent"]


def data(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, labels that cannot be separated, and targets."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0, 1.0, -1.0)
    return X, y, X[:, 0] ** 2 + 0.1 * rng.normal(size=n)


def coefficients(model, n: int) -> np.ndarray:
    beta = np.zeros(n)
    beta[model.support_] = model.dual_coef_[0]
    return beta


def objective(model, X, y, C) -> float:
    """½‖w‖² + Σ Cᵢ ξᵢ² of a fitted model, from its published coefficients."""
    beta, K = coefficients(model, len(y)), RBF(GAMMA)(X)
    f = K @ beta + model.intercept_[0]
    slack = 1 - y * f if isinstance(model, SVC) else np.abs(y - f) - model.epsilon
    return beta @ K @ beta / 2 + float((C * np.maximum(slack, 0) ** 2).sum())


def least(X, y, C, epsilon=None) -> float:
    """The optimal value by a quasi-Newton method on the smooth primal, in the basis of K."""
    values, vectors = np.linalg.eigh(RBF(GAMMA)(X))
    Phi = vectors * np.sqrt(np.maximum(values, 0))

    def value(z):
        f = Phi @ z[:-1] + z[-1]
        r = y - f
        if epsilon is None:
            slack, side = np.maximum(1 - y * f, 0), y
        else:
            slack, side = np.maximum(np.abs(r) - epsilon, 0), np.sign(r)
        g = -2 * C * slack * side
        return z[:-1] @ z[:-1] / 2 + (C * slack**2).sum(), np.append(z[:-1] + Phi.T @ g, g.sum())

    options = {"maxiter": 5000, "maxfun": 20000, "ftol": 1e-15, "gtol": 1e-9}
    return minimize(value, np.zeros(len(y) + 1), jac=True, method="L-BFGS-B", options=options).fun


@cache
def least_of(kind: str, C: float) -> float:
    """The optimal value of the data below: the same for all solvers."""
    X, y, t = data(45)
    weight = np.linspace(0.2, 2.0, len(y))
    return least(X, y, C * weight) if kind == "svc" else least(X, t, C * weight, 0.1)


@pytest.mark.parametrize("C", [0.01, 1.0, 30.0])
@pytest.mark.parametrize("solver", WITH_INTERCEPT)
@pytest.mark.parametrize("kind", ["svc", "svr"])
def test_certificate_against_the_primal(kind, solver, C):
    X, y, t = data(45)
    weight, best = np.linspace(0.2, 2.0, len(y)), least_of(kind, C)
    common = {"gamma": GAMMA, "C": C, "tol": 1e-6, "solver": solver}
    if kind == "svc":
        model = SVC(loss="squared_hinge", **common).fit(X, y, weight)
        found = objective(model, X, y, C * weight)
    else:
        model = SVR(loss="squared_epsilon_insensitive", **common).fit(X, t, weight)
        found = objective(model, X, t, C * weight)
    certificate = model.certificate_
    assert certificate.status.is_solved
    assert found <= certificate.primal * (1 + 1e-12)
    assert certificate.dual <= best * (1 + 1e-9)
    assert found - best <= certificate.gap + 1e-12 * found
    assert certificate.relative_gap < 1e-7
    again = verify(model, X, y if kind == "svc" else t, weight)
    assert again.status.is_solved
    assert again.primal_low <= certificate.primal
    assert found <= again.primal * (1 + 1e-12)
    assert again.gap_low <= certificate.gap
    assert found - best <= again.gap + 1e-12 * found
    assert again.violation_low <= certificate.kkt_violation
    assert_allclose(again.primal, certificate.primal, rtol=1e-9)


def test_verify_refutes_coefficients_that_are_off():
    X, y, _ = data(45)
    model = SVC(loss="squared_hinge", gamma=GAMMA, tol=1e-6).fit(X, y)
    coef = model.dual_coef_ * 1.01
    model.dual_coef_ = coef
    again = verify(model, X, y)
    assert not again.status.is_solved
    assert again.gap_low > model.certificate_.gap


@pytest.mark.parametrize("solver", WITHOUT)
def test_without_intercept_all_solvers_agree(solver):
    X, y, t = data(45)
    common = {"gamma": GAMMA, "C": 2.0, "tol": 1e-8, "fit_intercept": False}
    for estimator, loss, target in (
        (SVC, "squared_hinge", y),
        (SVR, "squared_epsilon_insensitive", t),
    ):
        first, second = (
            estimator(loss=loss, solver=name, **common).fit(X, target) for name in (solver, "smo")
        )
        assert_allclose(first.expansion_(X), second.expansion_(X), atol=1e-5)


@pytest.mark.parametrize("C", [0.1, 10.0])
def test_regression_without_insensitivity_is_ridge_with_an_intercept(C):
    """The optimality conditions of ε = 0 are linear: (K + I/(2C)) β + b = y, Σβ = 0."""
    X, _, t = data(40)
    n = len(t)
    A = np.ones((n + 1, n + 1))
    A[:n, :n] = RBF(GAMMA)(X) + np.eye(n) / (2 * C)
    A[n, n] = 0.0
    expected = np.linalg.solve(A, np.append(t, 0.0))
    model = SVR(gamma=GAMMA, C=C, epsilon=0.0, tol=1e-9, loss="squared_epsilon_insensitive")
    model.fit(X, t)
    assert_allclose(coefficients(model, n), expected[:n], atol=1e-7)
    assert_allclose(model.intercept_[0], expected[n], atol=1e-7)


def test_above_the_dense_limit_and_with_several_classes():
    X, y, t = data(1700)
    model = SVC(loss="squared_hinge", gamma=GAMMA, tol=1e-5).fit(X, y)
    assert model.certificate_.status.is_solved
    assert objective(model, X, y, 1.0) <= model.certificate_.primal * (1 + 1e-12)
    assert model.certificate_.relative_gap < 1e-6
    third = np.digitize(t, np.quantile(t, [1 / 3, 2 / 3]))[:300]
    several = SVC(loss="squared_hinge", gamma=GAMMA).fit(X[:300], third)
    for pair, task in zip([(0, 1), (0, 2), (1, 2)], several.certificate_.tasks, strict=True):
        rows = np.flatnonzero(np.isin(third, pair))
        alone = SVC(loss="squared_hinge", gamma=GAMMA).fit(X[rows], third[rows])
        assert_allclose(task.primal, alone.certificate_.primal, rtol=1e-4)


def test_weight_two_is_the_row_twice_and_weight_zero_none():
    X, y, _ = data(30)
    weight = np.ones(30)
    weight[:5], weight[5:8] = 2.0, 0.0
    rows = np.repeat(np.arange(30), weight.astype(int))
    first = SVC(loss="squared_hinge", gamma=GAMMA, tol=1e-9).fit(X, y, weight)
    second = SVC(loss="squared_hinge", gamma=GAMMA, tol=1e-9).fit(X[rows], y[rows])
    assert_allclose(first.decision_function(X), second.decision_function(X), atol=1e-6)


def test_infinite_C_is_the_hard_margin():
    X, y = np.array([[0.0, 1.0], [0.0, -1.0]]), [1, -1]
    model = SVC(kernel="linear", C=np.inf, loss="squared_hinge").fit(X, y)
    assert model.certificate_.margin == 2.0


@given(seed=st.integers(0, 2**32 - 1), is_svr=st.booleans())
def test_gap_terms_sum_to_primal_minus_dual(seed, is_svr):
    rng = np.random.default_rng(seed)
    n = 6
    A = rng.normal(size=(n, n))
    K, C, b = A @ A.T, rng.random(n) + 0.1, rng.normal()
    y = rng.choice([-1.0, 1.0], n)
    problem = svr(y, C, 0.1, squared=True) if is_svr else svc(y, C, squared=True)
    sign = np.where(np.isinf(problem.upper), 1.0, -1.0)
    beta = sign * rng.random(problem.n_variables) * rng.integers(0, 2, problem.n_variables)
    D = problem.at_variables(problem.diag)
    coef = problem.at_points(beta, n)
    r = problem.target - problem.at_variables(K @ coef) - b
    primal = coef @ K @ coef / 2 + problem.losses(r).sum()
    dual = problem.target @ beta - coef @ K @ coef / 2 - D @ beta**2 / 2
    terms = problem.gap_terms(beta, r - D * beta)
    assert (terms >= 0).all()
    assert_allclose(terms.sum() - b * beta.sum(), primal - dual, rtol=1e-10, atol=1e-10)
    error = rng.random(problem.n_variables)
    worst = problem.gap_terms(beta, r - D * beta, error)
    for side in (-1, -0.3, 0.5, 1):
        assert (worst >= problem.gap_terms(beta, r - D * beta + side * error) - 1e-12).all()


def test_pegasos_refuses_squared_slack():
    X, y, _ = data(10)
    with pytest.raises(ValueError, match="its loss is the hinge, not its square"):
        SVC(loss="squared_hinge", solver="pegasos", fit_intercept=False).fit(X, y)


def test_other_losses_are_refused():
    X, y, _ = data(10)
    for model in (SVC(loss="log"), SVR(loss="squared_hinge")):
        with pytest.raises(ValueError, match="'loss' parameter"):
            model.fit(X, y)
