"""Regularisation paths: L-BFGS with known gradients, CG on the free duals, and their parts."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

import mercer
from mercer import LinearSVC, LogisticRegression
from mercer._threads import Workers
from mercer.problems._losses import (
    fenchel_gap_at_gradient,
    loss_and_gap,
    negative_gradient,
    signed_totals,
)
from mercer.problems._regularized_loss import classification, logistic
from mercer.solvers import Stopping
from mercer.solvers.linear import as_design_matrix, evaluate
from mercer.solvers.linear._coordinate_descent import CoordinateDescent
from mercer.solvers.linear._design_matrix import DenseMatrix
from mercer.solvers.linear._free_variable_cg import (
    FreeVariableSettings,
    cg_step_on_free_variables,
    intercept_correction,
)
from mercer.solvers.linear._gradient_dual import GradientDual, rescaled
from mercer.solvers.linear._smooth_newton import line_search
from tests.read_only import read_only


def _data():
    rng = np.random.default_rng(5)
    TALL = rng.normal(size=(600, 8)) + np.arange(8) / 4
    SIGNS = np.where(TALL @ rng.normal(size=8) + 2 * rng.normal(size=600) > 1, 1.0, -1.0)
    return read_only(TALL, SIGNS)


TALL, SIGNS = _data()
WIDE = sp.random(120, 2_000, density=0.02, random_state=7, format="csr")
TWINS = sp.vstack([WIDE, WIDE[:3]]).tocsr()  # some rows again, on the other side
LABELS = np.where(np.arange(120) % 3 == 0, 1.0, -1.0)
BOTH = np.append(LABELS, -LABELS[:3])
CS = np.logspace(-2, 3, 6)
MODELS = {
    "hinge": LinearSVC(loss="hinge", max_iter=-1),
    "squared hinge": LinearSVC(loss="squared_hinge", max_iter=-1),
    "logistic": LogisticRegression(max_iter=-1),
}


def smooth(kind, C, intercept_penalty):
    if kind == "logistic":
        return logistic(SIGNS, np.full(600, C), intercept_penalty=intercept_penalty)
    return classification(SIGNS, np.full(600, C), squared=True, intercept_penalty=intercept_penalty)


@pytest.mark.parametrize("intercept", [{}, {"intercept_scaling": 2.0}, {"fit_intercept": False}])
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("data", ["tall", "wide"])
def test_models_of_a_path_are_those_of_single_fits(data, name, intercept):
    X, y = (TALL, SIGNS) if data == "tall" else (TWINS, BOTH)
    model = MODELS[name].set_params(
        **{"intercept_scaling": None, "fit_intercept": True, "tol": 1e-5, **intercept}
    )
    found = mercer.path(X, y, Cs=[*CS, CS[3]], estimator=model)
    for C, model, certificate in zip(found.Cs, found.models, found.certificates, strict=True):
        alone = mercer.path(X, y, Cs=[C], estimator=model).certificates[0]
        assert certificate.status.is_solved
        assert certificate.relative_gap <= 1.01e-5
        assert abs(certificate.primal - alone.primal) <= 1.01e-5 * alone.primal
        assert mercer.verify(model, X, y).relative_gap <= 1.01e-5


@pytest.mark.parametrize("name", ["squared hinge", "logistic"])
def test_few_C_need_equations_of_their_own(name, monkeypatch):
    taken = []
    gram = DenseMatrix.weighted_gram
    monkeypatch.setattr(DenseMatrix, "weighted_gram", lambda *args: taken.append(1) or gram(*args))
    Cs = np.logspace(-1, 1, 30)
    model = MODELS[name].set_params(intercept_scaling=None, fit_intercept=True, tol=1e-4)
    mercer.path(TALL, SIGNS, Cs=Cs, estimator=model)
    assert len(taken) < 15


@pytest.mark.parametrize("kind", ["logistic", "squared"])
@pytest.mark.parametrize("keep", [(1.0, 1.0), (0.999999, 1.0), (1.0, 0.7), (0.0, 1.0)])
def test_the_gap_at_the_gradient_is_that_of_scaled_duals(rng, kind, keep):
    problem = smooth(kind, 0.3, 0.0)
    g = rng.normal(size=600) * np.repeat([0.1, 3.0, 40.0, 1e5], 150)  # exp(1e5) is no float64
    beta = np.empty(600)
    negative_gradient(problem.kind, g, *problem.arrays, beta)
    scaled = np.where(beta > 0, keep[0], keep[1]) * beta
    expected = loss_and_gap(problem.kind, g, scaled, *problem.arrays)
    found = fenchel_gap_at_gradient(problem.kind, g, beta, problem.low, problem.C, *keep)
    assert_allclose(beta, scaled)
    assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("length", [1e-3, 1.0, 1e8, 1e100])
def test_line_searches_end_at_a_minimum_however_long_the_step_is(length):
    """−1 + 2σ(ℓt − 3), which is zero at t = 3/ℓ; a second derivative that underflows helps not."""

    def derivatives(t):
        share = 1 / (1 + np.exp(-min(length * t - 3, 700.0)))
        return 2 * share - 1, 2 * length * share * (1 - share)

    slope = derivatives(0.0)[0]
    t = line_search(derivatives, slope)
    assert abs(derivatives(t)[0]) <= 0.1 * abs(slope)


@pytest.mark.parametrize("kind", ["logistic", "squared"])
def test_the_gradient_dual_knows_gradient_and_gap(rng, kind):
    """Against differences of P, and against `evaluate` with the same duals."""
    problem, design = smooth(kind, 0.3, 0.5), as_design_matrix(TALL)
    w, b = rng.normal(size=8) / 8, 0.1

    def primal(w, b):
        return evaluate(problem, design, w, b).primal

    found = GradientDual.at(problem, design, w, b, design.matvec(w, b))
    step = 1e-6 * np.eye(8)
    gradient = [(primal(w + e, b) - primal(w - e, b)) / 2e-6 for e in step]
    gradient.append((primal(w, b + 1e-6) - primal(w, b - 1e-6)) / 2e-6)
    assert_allclose(found.gradient(), gradient, rtol=1e-5, atol=1e-5)
    result = found.result
    again = evaluate(problem, design, w, b, result.beta)
    assert_allclose((result.primal, result.gap), (again.primal, again.gap), rtol=1e-9)


def test_signed_totals_are_two_sums(rng):
    beta = rng.normal(size=600)
    assert_allclose(signed_totals(beta), (np.maximum(beta, 0).sum(), -np.minimum(beta, 0).sum()))


def wide(kind, C):
    return classification(
        BOTH, np.full(BOTH.size, C), squared=kind == "squared", intercept_penalty=None
    )


def feasible_start(problem):
    fraction = np.random.default_rng(1).uniform(0.2, 0.6, BOTH.size)
    beta = BOTH * fraction * min(float(problem.C[0]), 1.0)
    rows = as_design_matrix(TWINS, Workers(1))
    w = TWINS.T @ beta
    return rows, evaluate(problem, rows, w, 0.0, beta, w)


@pytest.mark.parametrize("kind", ["squared", "hinge"])
@pytest.mark.parametrize("C", [0.1, 3.0, 1e3])
def test_a_cg_step_never_lowers_the_dual(kind, C):
    problem = wide(kind, C)
    rows, before = feasible_start(problem)
    made = cg_step_on_free_variables(problem, rows, before, 1e-9, 0.01)
    assert_allclose(made.w, TWINS.T @ made.beta, atol=1e-10)
    assert (BOTH * made.beta >= 0).all()
    after = evaluate(problem, rows, made.w, 0.0, made.beta, made.w)
    assert after.primal - after.gap >= before.primal - before.gap


def test_a_cg_step_solves_the_equations_of_free_duals():
    """Squared losses with a small C: all rows remain below their margin, K β + β/2C = y."""
    settings = FreeVariableSettings(reduction=1e-10)
    problem = wide("squared", 0.01)
    rows, before = feasible_start(problem)
    made = cg_step_on_free_variables(problem, rows, before, 0.0, 0.0, settings)
    K = (TWINS @ TWINS.T).toarray() + np.eye(BOTH.size) / 0.02
    assert made.fraction == pytest.approx(1.0)
    assert_allclose(made.beta, np.linalg.solve(K, BOTH), rtol=1e-6)


def test_the_intercept_correction_minimises_the_gap(rng):
    problem = classification(BOTH, np.full(BOTH.size, 2.0), squared=True, intercept_penalty=0.0)
    beta = BOTH * rng.uniform(0.005, 0.01, BOTH.size)
    w = TWINS.T @ beta
    g = TWINS @ w - 0.4
    more = intercept_correction(problem, beta, g)
    gaps = [problem.primal_and_gap(w, 0.0, beta, g + more + e, w)[1] for e in (-1e-3, 0.0, 1e-3)]
    # Where no row is beyond its margin the gap is a parabola in b.
    assert (BOTH * (g + more) < 1).all()
    assert gaps[1] < min(gaps[0], gaps[2])


def test_a_rescaled_model_has_a_gap_of_its_own():
    """Margins short by 1e-4 at C = 1e4: with a slightly longer w the gap is far smaller."""
    problem = classification(LABELS, np.full(120, 1e4), squared=False, intercept_penalty=None)
    rows = as_design_matrix(WIDE, Workers(1))
    exact = CoordinateDescent(1e-7).solve(problem, rows, Stopping())
    w = exact.w * (1 - 1e-4)
    short = evaluate(problem, rows, w, 0.0, exact.beta, exact.w_beta)
    found = rescaled(problem, short, 1e-7)
    again = evaluate(problem, rows, found.w, found.b, found.beta)
    assert found.gap < 0.1 * short.gap
    assert found.gap == pytest.approx(again.gap, rel=1e-6)
