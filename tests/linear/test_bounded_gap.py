"""Bounds of value and gap of a linear model, against balls of 400 bits (`exact`)."""

import warnings
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from flint import arb, ctx
from sklearn.exceptions import ConvergenceWarning

from mercer import LinearSVC, LogisticRegression
from mercer.problems._loss_bounds import bounded_gap_terms
from mercer.problems._losses import LOGISTIC
from mercer.problems._regularized_loss import classification, logistic
from mercer.solvers import Stopping
from mercer.solvers.linear import as_design_matrix, evaluate
from mercer.solvers.linear._bounded_gap import bound_gap_by_norms
from mercer.solvers.linear._newton import Newton
from mercer.solvers.linear._path_following import warm_start
from tests.linear import exact


@pytest.fixture(autouse=True)
def precision():
    before, ctx.prec = ctx.prec, exact.BITS
    yield
    ctx.prec = before


def posed(kind, X, y, penalty):
    """The package's problem and the oracle's."""
    ones = np.ones(len(y))
    if kind == "logistic":
        problem = logistic(y, ones, intercept_penalty=penalty)
    else:
        problem = classification(y, ones, squared=kind == "squared", intercept_penalty=penalty)
    task = {
        "kind": kind,
        "X": [[exact.ball(x) for x in row] for row in X],
        "y": [int(v) for v in y],
        "low": [arb(1) if v > 0 else None for v in y],
        "high": [arb(-1) if v < 0 else None for v in y],
        "cost": [arb(1)] * len(y),
        "intercept_penalty": None if penalty is None else exact.ball(penalty),
    }
    return problem, task


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("penalty", [None, 0.25])
@pytest.mark.parametrize("kind", ["interval", "squared", "logistic"])
def test_bounds_by_the_lengths_of_the_rows_hold(rng, kind, penalty, is_sparse):
    X = rng.normal(size=(40, 6)) * [1, 1, 1e3, 1, 1e-3, 1] + [0, 0, 0, 50, 0, 0]
    y = np.where(X[:, 0] + rng.normal(size=40) > 0, 1.0, -1.0)
    problem, task = posed(kind, X, y, penalty)
    design = as_design_matrix(sp.csr_matrix(X) if is_sparse else X)
    solved = Newton(1e-3).solve(problem, design, Stopping())
    w, b = 1.0001 * solved.w, 1.0001 * solved.b
    found = evaluate(problem, design, w, b, solved.beta if kind == "interval" else None)
    assert found.gap < found.primal
    bounded = bound_gap_by_norms(problem, design, found, tol=1.0)
    value = exact.primal(task, [exact.ball(v) for v in w], exact.ball(b))
    dual = exact.dual(task, [exact.ball(v) for v in bounded.beta])
    assert value <= exact.ball(bounded.primal)
    assert exact.ball(bounded.primal) - exact.ball(bounded.gap) <= dual
    assert bounded.gap == pytest.approx(found.gap, rel=1e-6)


def test_sums_of_updates_are_computed_again(rng):
    X, y = rng.normal(size=(20, 3)), np.where(np.arange(20) % 2, 1.0, -1.0)
    problem, _ = posed("squared", X, y, 1.0)
    design = as_design_matrix(X)
    found = evaluate(problem, design, np.ones(3), 0.0)
    assert found.direct
    wrong = replace(found, g=found.g + 1, w_beta=found.w_beta + 1, gap=found.gap + 1, direct=False)
    known, again = (bound_gap_by_norms(problem, design, each, 1.0) for each in (found, wrong))
    assert again.primal == known.primal
    assert again.gap == pytest.approx(known.gap, rel=1e-12)


def test_products_of_an_earlier_fit_are_not_reused(rng):
    """Xᵀβ of a start is scaled with C: a sum that was rounded once more at each C of a path."""
    X, y = rng.normal(size=(60, 3)), np.where(np.arange(60) % 2, 1.0, -1.0)
    problem, _ = posed("squared", X, y, 1.0)
    found = evaluate(problem, as_design_matrix(X), np.ones(3), 0.0)
    start = warm_start(problem.with_C(2.0), found, problem.C)
    assert start.known is not None
    assert not start.known.direct


@pytest.mark.parametrize("off", [0.0, 1e-15, 1e-9, 1e-5, 9e-4, 2e-3, 0.5])
def test_logistic_terms_are_upper_bounds(off):
    """KL(a ‖ p) from the cheap bound near a = p, and from the logarithms elsewhere."""
    ctx.prec = 3000  # terms of 1e-304
    m = np.concatenate([np.linspace(-40, 40, 81), [-700.0, 700.0]])
    p = 1 / (1 + np.exp(m))
    for sign in (-1, 1):
        a = np.clip(p * (1 + sign * off), 0.0, 1.0)
        ones, out = np.ones(m.size), np.empty(m.size)
        bounded_gap_terms(LOGISTIC, m, 0 * m, a, ones, ones, ones, out)
        for margin, weight, bound in zip(m, a, out, strict=True):
            x, t = exact.ball(margin), exact.ball(weight)
            term = exact.softplus(-x) + t * x
            term += t * t.log() if weight > 0 else 0
            term += (1 - t) * (1 - t).log() if weight < 1 else 0
            assert term <= exact.ball(bound)
            # Half as much again, and the rounding of the logarithms, at most.
            assert bound <= 1.5 * abs(float(term)) + 1e-13 * (1 + abs(margin) * weight)


@pytest.mark.parametrize("estimator", [LinearSVC(loss="hinge"), LogisticRegression()])
def test_sparse_coefficients_are_the_same_model(rng, estimator):
    X = rng.normal(size=(60, 5))
    model = estimator.fit(X, np.digitize(X[:, 0], [-0.5, 0.5]))
    scores, coef = model.decision_function(X), model.coef_
    assert sp.issparse(model.sparsify().coef_)
    for rows in (X, sp.csr_matrix(X)):
        np.testing.assert_allclose(model.decision_function(rows), scores, rtol=1e-12)
    np.testing.assert_array_equal(model.densify().coef_, coef)
    np.testing.assert_array_equal(model.densify().coef_, coef)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_matrix])
def test_float32_rows_have_float32_decisions(rng, make):
    X = rng.normal(size=(60, 5)).astype(np.float32)
    model = LinearSVC().fit(make(X), X[:, 0] > 0)
    assert model.decision_function(make(X)).dtype == np.float32


# Of the generator: one column is a million times the others, and the fit ends at max_iter.
HARD_ROWS = np.array([
    [-2.7518419806536767e+00, 1.7509408017487396e+06, -9.4370732847705563e-01],
    [1.0288706638549816e+00, -6.6844737897636974e+05, -1.0779641059183262e-01],
    [1.5643077965321277e+00, -4.2506748697192580e+02, -1.5004972819420550e+00],
    [2.9326970178521033e-01, 2.2300385092627280e+05, 1.4043110958372915e+00],
    [-5.4208038686789795e-01, -3.0789727642491943e+05, 6.5014263793796423e-01],
    [1.0703070418407974e-01, 9.2709591102506616e+05, -1.3536587849175374e-01],
    [1.3990719833073932e+00, -7.0014578147203079e+04, -5.3298982209879731e-01],
    [-2.1443633027953544e+00, 6.8072266721987935e+03, 4.7694705525324538e-01],
    [7.5444454968250335e-02, 7.1527165894276195e+05, 6.7045402937000720e-01],
    [1.5173642879078124e+00, 1.1435490365383760e+06, 1.8700967096873800e+00],
    [-1.6315800783469628e-01, -7.5901689426574053e+05, 1.9494403288361155e+00],
])  # fmt: skip
HARD_LABELS = [0, 1, 1, 0, 0, 0, 1, 1, 0, 0, 1]


@pytest.mark.parametrize("C", [172.84102141671534, 1.0])
def test_the_dual_value_is_that_of_the_stored_duals(C):
    scaling, weights = 5.10160320188294, {0: 363.58627840870355, 1: 0.024222908914953507}
    model = LinearSVC(
        C=C, loss="hinge", tol=3.1e-5, intercept_scaling=scaling, max_iter=200,
        class_weight=weights,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(HARD_ROWS, HARD_LABELS)
    beta = [Fraction(float(v)) for v in model.dual_coef_.toarray()[0]]
    rows = [[Fraction(float(x)) for x in row] for row in HARD_ROWS]
    sums = [sum(row[j] * c for row, c in zip(rows, beta, strict=True)) for j in range(3)]
    last = Fraction(scaling) * sum(beta)
    value = sum(map(abs, beta)) - sum(s * s for s in [*sums, last]) / 2
    assert Fraction(model.certificate_.dual) <= max(value, Fraction(0))
