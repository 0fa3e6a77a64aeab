"""Along C: steps with known gradients, duals settled together, and what they are made of."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

import mercer
from mercer import LinearSVC, LogisticRegression
from mercer._threads import Workers
from mercer.problems._losses import own_terms, responses, sides, terms
from mercer.problems._regularized_loss import classification, logistic
from mercer.solvers import Stopping
from mercer.solvers.linear import as_rows, evaluate
from mercer.solvers.linear._coordinate_descent import Descent, _stretched
from mercer.solvers.linear._design_matrix import Rows
from mercer.solvers.linear._free_variable_cg import leap, level

rng = np.random.default_rng(5)
TALL = rng.normal(size=(600, 8)) + np.arange(8) / 4
SIGNS = np.where(TALL @ rng.normal(size=8) + 2 * rng.normal(size=600) > 1, 1.0, -1.0)
WIDE = sp.random(120, 2_000, density=0.02, random_state=7, format="csr")
TWINS = sp.vstack([WIDE, WIDE[:3]]).tocsr()  # some rows again, on the other side
LABELS = np.where(np.arange(120) % 3 == 0, 1.0, -1.0)
BOTH = np.append(LABELS, -LABELS[:3])
CS = np.logspace(-2, 3, 6)
MACHINES = {
    "hinge": LinearSVC(loss="hinge", max_iter=-1),
    "squared hinge": LinearSVC(loss="squared_hinge", max_iter=-1),
    "logistic": LogisticRegression(max_iter=-1),
}


def smooth(kind, C, kappa):
    if kind == "logistic":
        return logistic(SIGNS, np.full(600, C), kappa=kappa)
    return classification(SIGNS, np.full(600, C), squared=True, kappa=kappa)


@pytest.mark.parametrize("intercept", [{}, {"intercept_scaling": 2.0}, {"fit_intercept": False}])
@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.parametrize("data", ["tall", "wide"])
def test_models_of_a_path_are_those_of_single_fits(data, name, intercept):
    X, y = (TALL, SIGNS) if data == "tall" else (TWINS, BOTH)
    machine = MACHINES[name].set_params(
        **{"intercept_scaling": None, "fit_intercept": True, "tol": 1e-5, **intercept}
    )
    found = mercer.path(X, y, Cs=[*CS, CS[3]], estimator=machine)
    for C, model, certificate in zip(found.Cs, found.models, found.certificates, strict=True):
        alone = mercer.path(X, y, Cs=[C], estimator=machine).certificates[0]
        assert certificate.status.is_solved
        assert certificate.relative_gap <= 1.01e-5
        assert abs(certificate.primal - alone.primal) <= 1.01e-5 * alone.primal
        assert mercer.verify(model, X, y).relative_gap <= 1.01e-5


@pytest.mark.parametrize("name", ["squared hinge", "logistic"])
def test_few_prices_need_equations_of_their_own(name, monkeypatch):
    taken = []
    gram = Rows.gram
    monkeypatch.setattr(Rows, "gram", lambda *args: taken.append(1) or gram(*args))
    Cs = np.logspace(-1, 1, 30)
    machine = MACHINES[name].set_params(intercept_scaling=None, fit_intercept=True, tol=1e-4)
    mercer.path(TALL, SIGNS, Cs=Cs, estimator=machine)
    assert len(taken) < 15


@pytest.mark.parametrize("kind", ["logistic", "squared"])
@pytest.mark.parametrize("keep", [(1.0, 1.0), (0.999999, 1.0), (1.0, 0.7), (0.0, 1.0)])
def test_own_terms_are_those_of_scaled_duals(kind, keep):
    problem = smooth(kind, 0.3, 0.0)
    g = rng.normal(size=600) * np.repeat([0.1, 3.0, 40.0], 200)
    beta = np.empty(600)
    responses(problem.kind, g, *problem.arrays, beta)
    scaled = np.where(beta > 0, keep[0], keep[1]) * beta
    expected = terms(problem.kind, g, scaled, *problem.arrays)
    found = own_terms(problem.kind, g, beta, problem.low, problem.cost, *keep)
    assert_allclose(beta, scaled)
    assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("sparse", [True, False])
def test_sides_are_two_sums(sparse):
    beta = rng.normal(size=600) * (rng.uniform(size=600) > 0.3)
    rows = as_rows(sp.csr_matrix(TALL) if sparse else TALL, Workers(1))
    up, down = np.maximum(beta, 0), np.minimum(beta, 0)
    assert_allclose(rows.sides(beta), [TALL.T @ up, TALL.T @ down], atol=1e-10)
    assert_allclose(sides(beta), (up.sum(), -down.sum()))


def wide(kind, C):
    return classification(BOTH, np.full(BOTH.size, C), squared=kind == "squared", kappa=None)


def feasible_start(problem):
    beta = BOTH * rng.uniform(0.2, 0.6, BOTH.size) * min(float(problem.cost[0]), 1.0)
    rows = as_rows(TWINS, Workers(1))
    w = TWINS.T @ beta
    return rows, evaluate(problem, rows, w, 0.0, beta, w)


@pytest.mark.parametrize("kind", ["squared", "tube"])
@pytest.mark.parametrize("C", [0.1, 3.0, 1e3])
def test_a_leap_never_lowers_the_dual(kind, C):
    problem = wide(kind, C)
    rows, before = feasible_start(problem)
    made = leap(problem, rows, before, 1e-9, 0.01)
    assert_allclose(made.w, TWINS.T @ made.beta, atol=1e-10)
    assert (BOTH * made.beta >= 0).all()
    after = evaluate(problem, rows, made.w, 0.0, made.beta, made.w)
    assert after.primal - after.gap >= before.primal - before.gap


def test_a_leap_solves_the_equations_of_free_duals(monkeypatch):
    """Squared losses at a low price: all rows remain below their margin, K β + β/2C = y."""
    monkeypatch.setattr("mercer.solvers.linear._free_variable_cg.REDUCTION", 1e-10)
    problem = wide("squared", 0.01)
    rows, before = feasible_start(problem)
    made = leap(problem, rows, before, 0.0, 0.0)
    K = (TWINS @ TWINS.T).toarray() + np.eye(BOTH.size) / 0.02
    assert made.part == pytest.approx(1.0)
    assert_allclose(made.beta, np.linalg.solve(K, BOTH), rtol=1e-6)


def test_a_level_is_where_the_gap_is_least():
    problem = classification(BOTH, np.full(BOTH.size, 2.0), squared=True, kappa=0.0)
    beta = BOTH * rng.uniform(0.005, 0.01, BOTH.size)
    w = TWINS.T @ beta
    g = TWINS @ w - 0.4
    more = level(problem, beta, g)
    gaps = [problem.values(w, 0.0, beta, g + more + e, w)[1] for e in (-1e-3, 0.0, 1e-3)]
    # Where no row is beyond its edge the gap is a parabola in b.
    assert (BOTH * (g + more) < 1).all()
    assert gaps[1] < min(gaps[0], gaps[2])


def test_a_stretched_model_has_a_gap_of_its_own():
    """Margins short by 1e-4 at C = 1e4: with a slightly longer w the gap is far smaller."""
    problem = classification(LABELS, np.full(120, 1e4), squared=False, kappa=None)
    rows = as_rows(WIDE, Workers(1))
    exact = Descent(1e-7).solve(problem, rows, Stopping())
    w = exact.w * (1 - 1e-4)
    short = evaluate(problem, rows, w, 0.0, exact.beta, exact.w_beta)
    found = _stretched(problem, short)
    again = evaluate(problem, rows, found.w, found.b, found.beta)
    assert found.gap < 0.1 * short.gap
    assert found.gap == pytest.approx(again.gap, rel=1e-6)
