"""Proximal Newton, coordinate descent before it, paths: against the dense QP and each other."""

from __future__ import annotations

from fractions import Fraction

import numba
import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

import mercer
from mercer import LinearSVC, LinearSVR, LogisticRegression
from mercer._numba import prefetch
from mercer._result import LinearResult, Status
from mercer._threads import Workers
from mercer.problems._losses import EPSILON_INSENSITIVE, SQUARED
from mercer.problems._regularized_loss import classification, logistic, regression
from mercer.solvers import Stopping
from mercer.solvers._stopping import RateForecast
from mercer.solvers.linear import as_design_matrix, evaluate, warm_start
from mercer.solvers.linear._bounded_gap import SCORE_ROUNDINGS, bound_gap_by_norms
from mercer.solvers.linear._coordinate_descent import CoordinateDescent, CoordinateDescentSettings
from mercer.solvers.linear._free_variable_cg import dual_gain
from mercer.solvers.linear._gradient_dual import rescaled
from mercer.solvers.linear._newton import Newton
from mercer.solvers.linear._proximal_newton import proximal_derivatives, update_duals
from mercer.solvers.linear._selection import CoordinateDescentThenNewton, HandoverSettings
from mercer.solvers.linear._smooth_newton import NewtonSettings
from tests.read_only import read_only

N, D = 300, 6


def _data():
    rng = np.random.default_rng(11)
    X = rng.normal(size=(N, D))
    Y = np.where(X[:, 0] + rng.normal(size=N) > 0.2, 1.0, -1.0)
    return read_only(X, Y)


X, Y = _data()
PROBLEMS = {
    "hinge": lambda intercept_penalty: classification(
        Y, np.full(N, 0.7), squared=False, intercept_penalty=intercept_penalty
    ),
    "regression": lambda intercept_penalty: regression(
        3 * X[:, 1], np.full(N, 0.7), 0.1, squared=False, intercept_penalty=intercept_penalty
    ),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_smooth_dual_is_the_best_of_its_row(rng, name):
    """β(g) maximises low·β₊ − high·β₋ − gβ − ω(β − β₀)²/(2C) among all β of a fine grid."""
    problem = PROBLEMS[name](0.0)
    g, present, width = rng.normal(size=N), problem.C * rng.uniform(-1, 1, N), 0.4
    beta, change = np.zeros(N), np.empty(N)
    total, apart = update_duals(g, *problem.arrays, present, width, beta, change)
    grid = np.linspace(-0.7, 0.7, 2001)[:, None]
    value = (
        problem.low * np.maximum(grid, 0)
        - problem.high * np.maximum(-grid, 0)
        - g * grid
        - width * (grid - present) ** 2 / (2 * problem.C)
    )
    assert_allclose(beta, grid[value.argmax(axis=0), 0], atol=1e-3)
    assert_array_equal(change, beta)
    assert_allclose(total, beta.sum())
    assert apart >= 0


def test_the_slope_is_that_of_its_integral(rng):
    problem = PROBLEMS["regression"](0.0)
    g, h = rng.normal(size=N), rng.normal(size=N)
    present, width = np.zeros(N), 0.5
    ts = np.linspace(0, 1, 4001)
    slopes = np.array([proximal_derivatives(g, h, t, *problem.arrays, present, width) for t in ts])
    rise = np.sum((slopes[1:, 1] + slopes[:-1, 1]) / 2) * (ts[1] - ts[0])
    assert_allclose(slopes[-1, 0] - slopes[0, 0], rise, rtol=1e-3)


@pytest.mark.parametrize("intercept_penalty", [None, 0.0, 1.0])
@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("columns", ["few", "many"])
def test_all_methods_find_one_optimum(name, intercept_penalty, columns):
    """Direct equations or conjugate gradients, with and without coordinate descent first."""
    settings = NewtonSettings() if columns == "few" else NewtonSettings(direct_columns=1)
    problem = PROBLEMS[name](intercept_penalty)
    rows = as_design_matrix(X, Workers(1))
    values = []
    for solver in (
        Newton(1e-8, settings=settings),
        CoordinateDescentThenNewton(1e-8, newton=settings),
        CoordinateDescent(1e-8),
    ):
        with Stopping(None, None) as stopping:
            found = solver.solve(problem, rows, stopping)
        assert found.gap <= 1e-8 * found.primal
        assert_allclose(found.w_beta, X.T @ found.beta, atol=1e-9)
        assert (np.abs(found.beta) <= problem.C).all()
        values.append(found.primal)
    assert_allclose(values, values[0], rtol=2e-8)


def test_duals_far_from_their_edges_are_at_their_bounds():
    model = LinearSVC(loss="hinge", tol=1e-8, intercept_scaling=None).fit(X, Y)
    beta = model.dual_coef_.toarray()[0]
    margin = Y * model.decision_function(X)
    assert_array_equal(beta[margin > 1.01], 0.0)
    assert_array_equal(np.abs(beta[margin < 0.99]), 1.0)
    assert 1 <= np.count_nonzero((beta != 0) & (np.abs(beta) < 1)) <= D + 1


def test_descent_hands_over_only_where_it_must():
    rows = as_design_matrix(X, Workers(1))
    handover = HandoverSettings().gap
    for tol in (handover, handover / 100):
        with Stopping(None, None) as stopping:
            both = CoordinateDescentThenNewton(tol).solve(PROBLEMS["hinge"](1.0), rows, stopping)
        with Stopping(None, None) as stopping:
            alone = CoordinateDescent(handover).solve(PROBLEMS["hinge"](1.0), rows, stopping)
        assert (both.iterations == alone.iterations) == (tol == handover)


@pytest.mark.parametrize("intercept_scaling", [None, 1.0])
@pytest.mark.parametrize("spread", [1e3, 1e6])
def test_uneven_weights_are_solved(rng, spread, intercept_scaling):
    weight = spread ** rng.uniform(-1, 1, N)
    params = {"loss": "hinge", "tol": 1e-6, "intercept_scaling": intercept_scaling}
    model = LinearSVC(**params).fit(X, Y, sample_weight=weight)
    assert model.solver_.name == "newton"
    assert model.certificate_.status.is_solved
    assert model.certificate_.relative_gap <= 1.01e-6


def test_arrays_with_few_nonzeros_are_kept_as_sparse_rows(rng):
    wide = rng.normal(size=(400, 100)) * (rng.random((400, 100)) < 0.1)
    rows = as_design_matrix(wide, Workers(2))
    assert rows.is_sparse
    assert_array_equal(rows.X.toarray(), wide)
    assert rows.X.has_canonical_format
    assert not as_design_matrix(rng.normal(size=(400, 100)), Workers(1)).is_sparse
    y = np.where(wide[:, 0] + wide[:, 1] > 0, 1, -1)
    dense, sparse = (LinearSVC(loss="hinge").fit(Z, y) for Z in (wide, sp.csr_matrix(wide)))
    assert_allclose(dense.coef_, sparse.coef_)


@pytest.mark.parametrize(
    "estimator",
    [
        LinearSVC(loss="hinge", tol=1e-6),
        LinearSVC(tol=1e-6),
        LinearSVR(epsilon=0.1, tol=1e-6),
        LinearSVC(loss="hinge", tol=1e-6, dual=True, max_iter=-1),
    ],
    ids=repr,
)
def test_a_path_is_certified_at_every_C(estimator):
    found = mercer.path(X, Y, Cs=np.logspace(-3, 3, 9), estimator=estimator)
    for C, model, certificate in zip(found.Cs, found.models, found.certificates, strict=True):
        assert certificate.relative_gap <= 1.01e-6
        assert model.C == C
        assert model.warm_start is False
        assert model.predict(X).shape == (N,)
    steps = sum(certificate.iterations for certificate in found.certificates)
    alone = sum(
        type(estimator)(**{**estimator.get_params(), "C": C}).fit(X, Y).certificate_.iterations
        for C in found.Cs
    )
    assert steps < alone


TALL = np.random.default_rng(5).normal(size=(9000, 8))
SIDES = np.where(TALL[:, 0] + 1.5 * np.random.default_rng(6).normal(size=9000) > 0.8, 1, -1)


@pytest.mark.parametrize("intercept_scaling", [None, 1.0])
@pytest.mark.parametrize(
    "estimator",
    [
        LinearSVC(loss="hinge"),
        LinearSVC(),
        LogisticRegression(),
    ],
    ids=repr,
)
def test_every_model_of_a_path_is_proved_again(estimator, intercept_scaling):
    """From the data alone, and as near to an independent fit as the two gaps allow."""
    estimator = clone(estimator).set_params(intercept_scaling=intercept_scaling, max_iter=-1)
    found = mercer.path(TALL, SIDES, Cs=np.logspace(-3, 3, 13), estimator=estimator)
    for C, model, certificate in zip(found.Cs, found.models, found.certificates, strict=True):
        again = mercer.verify(model, TALL, SIDES)
        assert certificate.relative_gap <= 1.01e-4
        assert again.relative_gap <= 1.02e-4
        assert_allclose(again.primal, certificate.primal, rtol=1e-9)
        alone = clone(estimator).set_params(C=C, tol=1e-7).fit(TALL, SIDES).certificate_
        assert alone.dual <= certificate.primal * (1 + 1e-9)
        assert certificate.dual <= alone.primal * (1 + 1e-9)


def test_a_path_ends_where_all_duals_are_free():
    """Separable rows: beyond the largest dual, C no longer matters."""
    random = np.random.default_rng(3)
    wide = random.normal(size=(40, 200))
    y = np.where(np.arange(40) % 2 == 0, 1, -1)
    found = mercer.path(wide, y, Cs=[1.0, 10.0, 100.0], estimator=LinearSVC(loss="hinge", tol=1e-5))
    assert [certificate.n_bound for certificate in found.certificates] == [0, 0, 0]
    assert_allclose(found.models[1].coef_, found.models[0].coef_, atol=1e-3)
    assert_allclose(found.certificates[2].primal, found.certificates[0].primal, rtol=2e-5)
    for model in found.models:
        assert mercer.verify(model, wide, y).relative_gap <= 1.01e-5


@pytest.mark.parametrize("intercept_penalty", [None, 0.0, 1.0])
def test_C_and_duals_times_a_number_are_known_without_the_rows(intercept_penalty):
    problem = PROBLEMS["hinge"](intercept_penalty)
    rows = as_design_matrix(X, Workers(1))
    with Stopping(None, None) as stopping:
        last = Newton(1e-3).solve(problem, rows, stopping)
    dearer = problem.with_C(3.0)
    start = warm_start(dearer, last, problem.C)
    expected = evaluate(dearer, rows, start.w, start.b, start.beta)
    assert_allclose(start.known.primal, expected.primal, rtol=1e-12)
    assert_allclose(start.known.gap, expected.gap, rtol=1e-9)
    assert_allclose(start.known.w_beta, expected.w_beta, atol=1e-9)


def test_inactive_rows_keep_their_duals_and_are_activated_again():
    """With hardly an active row at first, the solution is that of all rows all the same."""
    Cs = [0.01, 0.02, 0.5, 1.0]
    free = LinearSVC(loss="hinge", tol=1e-6, intercept_scaling=None)
    expected = mercer.path(TALL, SIDES, Cs=Cs, estimator=free)
    design = as_design_matrix(TALL)
    one = classification(SIDES, np.ones(9000), squared=False, intercept_penalty=0.0)
    newton, start, last = Newton(1e-6, settings=NewtonSettings(active_margin=1e-6)), None, None
    for C, other in zip(Cs, expected.certificates, strict=True):
        problem = one.with_C(C)
        start = None if last is None else warm_start(problem, *last)
        found = newton.solve(problem, design, Stopping(), start)
        last = found, problem.C
        assert found.meets(1e-6)
        assert_allclose(found.primal, other.primal, rtol=2e-6)


@pytest.mark.parametrize("intercept_penalty", [None, 0.0, 1.0])
@pytest.mark.parametrize("patience", [0.5, np.inf])
def test_descent_returns_the_duals_of_its_model(patience, intercept_penalty):
    """Also where it is stopped: w is Xᵀβ times at most 1.01, and the gap is theirs."""
    problem = PROBLEMS["hinge"](intercept_penalty)
    rows = as_design_matrix(sp.csr_matrix(X), Workers(1))
    found = CoordinateDescent(1e-6, 2_000, 0, patience).solve(problem, rows, Stopping())
    assert (found.status is Status.STALLED) == (patience < 1)
    w_beta = X.T @ found.beta
    factor = np.linalg.norm(found.w) / np.linalg.norm(w_beta)
    assert 1 - 1e-12 <= factor <= 1.01
    assert_allclose(found.w, factor * w_beta, atol=1e-10)
    again = problem.primal_and_gap(found.w, found.b, found.beta, X @ found.w + found.b, w_beta)
    assert_allclose((found.primal, found.gap), again, rtol=1e-9, atol=1e-9)


def test_newton_takes_over_where_descent_is_too_slow():
    rows = as_design_matrix(sp.csr_matrix(X), Workers(1))
    handover = HandoverSettings(max_visits=2.0)
    found = CoordinateDescentThenNewton(1e-9, handover=handover).solve(
        PROBLEMS["hinge"](0.0), rows, Stopping()
    )
    whole = Newton(1e-9).solve(PROBLEMS["hinge"](0.0), rows, Stopping())
    assert found.status is Status.SOLVED
    assert_allclose(found.primal, whole.primal, rtol=1e-8)


def test_a_forecast_is_exact_of_a_geometric_fall():
    """Halved with every row's visit from the first: 10 visits of 100 rows before 2⁻³⁰, 20 after."""
    rate = RateForecast(100)
    for epoch in range(1, 11):
        rate.add(100 * epoch, 2.0**-epoch)
    assert [visits for visits, _ in rate.marks] == [0, 100, 200, 400, 800]
    assert rate.visits_to(2.0**-30, 1000, 2.0**-10) == pytest.approx(2000)
    assert rate.visits_to(2.0**-10, 1000, 2.0**-12) == 0
    # By the rate since the last mark, not by that since the start: nothing fell, nothing will.
    assert rate.visits_to(2.0**-30, 1000, 2.0**-8) == np.inf


@pytest.mark.parametrize("has_callback", [False, True])
@pytest.mark.parametrize(
    ("kind", "tol", "handover_gap"), [("squared", 1e-7, 0.0), ("hinge", 1e-5, 1e-4)]
)
def test_epochs_go_on_where_they_promise_the_tolerance(rng, kind, tol, handover_gap, has_callback):
    """Sparse rows of length one, C = 1: descent is fast, and steps of other kinds are dearer."""
    rows = sp.random(400, 2000, density=0.01, random_state=1, format="csr")
    rows = sp.csr_matrix(rows.multiply(1 / np.sqrt(rows.power(2).sum(axis=1))))
    y = np.where(rows @ rng.normal(size=2000) + 0.1 * rng.normal(size=400) > 0, 1.0, -1.0)
    problem = classification(y, np.ones(400), squared=kind == "squared", intercept_penalty=1.0)
    stopping = Stopping(callback=(lambda progress: None) if has_callback else None)
    never = CoordinateDescentSettings(cg_promise=0.0, handover_promise=0.0)
    found, other = (
        CoordinateDescent(tol, handover_gap=handover_gap, settings=settings).solve(
            problem, as_design_matrix(rows, Workers(1)), stopping
        )
        for settings in (CoordinateDescentSettings(), never)
    )
    assert found.status is Status.SOLVED
    assert found.relative_gap <= tol
    if kind == "squared":
        assert other.rounds > found.rounds  # each CG step begins with an evaluation
    else:
        assert other.status is Status.STALLED  # for another solver to continue
        assert tol < other.relative_gap <= handover_gap


def test_a_rescaled_model_has_the_bound_of_its_scores():
    """Its scores are not computed again: three roundings more, which the bound has room for."""
    rows, y = as_design_matrix(sp.csr_matrix(X), Workers(1)), np.where(X[:, 0] > 0.2, 1.0, -1.0)
    problem = classification(y, np.full(N, 1e4), squared=False, intercept_penalty=1.0)
    found = CoordinateDescent(1e-4).solve(problem, rows, Stopping())
    for factor in (0.99, 0.999):  # all margins are short by little
        beta, b = factor * found.beta, factor * found.b
        w = X.T @ beta
        g = X @ w + b
        values = problem.primal_and_gap(w, b, beta, g, w)
        short = LinearResult(w, b, beta, g, w, *values, direct=True)
        longer = rescaled(problem, short, 0.0)
        assert longer.gap < 0.2 * short.gap
        bounded = bound_gap_by_norms(problem, rows, longer, 1e-2)
        exact = np.array([
            float(sum((Fraction(a) * Fraction(c) for a, c in zip(row, longer.w, strict=True)),
                      Fraction(longer.b)) - Fraction(value))
            for row, value in zip(X.tolist(), longer.g.tolist(), strict=True)
        ])  # fmt: skip
        room = np.linalg.norm(X, axis=1) * np.linalg.norm(longer.w) + abs(longer.b)
        assert (np.abs(exact) <= (X.shape[1] + SCORE_ROUNDINGS) * 2.0**-53 * room).all()
        assert bounded is not None
        assert bounded.g is longer.g


@pytest.mark.parametrize("kind", [EPSILON_INSENSITIVE, SQUARED])
def test_what_duals_gain_is_the_dual_without_its_square(rng, kind):
    """D = −ΣL*(−β) − ½‖Xᵀβ‖², and P − D is the gap of any model."""
    problem = classification(Y, np.full(N, 0.7), squared=kind == SQUARED, intercept_penalty=None)
    beta = Y * rng.uniform(0, 0.7, N)
    w = X.T @ beta
    primal, gap = problem.primal_and_gap(w, 0.0, beta, X @ w, w)
    assert_allclose(dual_gain(kind, beta, *problem.arrays) - w @ w / 2, primal - gap, rtol=1e-12)


@pytest.mark.parametrize("intercept_penalty", [None, 0.0, 1e-4, 1.0, 100.0])
@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
def test_conjugate_gradients_end_where_the_equations_do(loss, intercept_penalty):
    """With a column that makes the intercept matter; tol is reached by the model's own duals."""
    shifted = X + np.arange(D)
    C = np.full(N, 2.0)
    problem = (
        logistic(Y, C, intercept_penalty=intercept_penalty)
        if loss == "logistic"
        else classification(Y, C, squared=True, intercept_penalty=intercept_penalty)
    )
    rows = as_design_matrix(shifted, Workers(1))
    direct = Newton(tol=1e-12).solve(problem, rows, Stopping())
    settings = NewtonSettings(direct_columns=0)
    found = Newton(tol=1e-9, settings=settings).solve(problem, rows, Stopping())
    assert found.status is Status.SOLVED
    assert found.gap <= 1e-9 * found.primal
    assert_allclose(found.primal, direct.primal, rtol=2e-9)
    assert_allclose(found.g, direct.g, atol=1e-3)


@pytest.mark.parametrize("dense", [True, False])
def test_a_hessian_product_is_that_of_the_matrices(rng, dense):
    """XᵀD(Xw + b), rows without curvature included, in several pieces."""
    tall = rng.normal(size=(6_000, 200)) * (rng.random((6_000, 200)) < 0.5)
    curvature = np.maximum(rng.normal(size=6_000), 0.0)
    w = rng.normal(size=200)
    rows = as_design_matrix(tall if dense else sp.csr_matrix(tall), Workers(1))
    out, total = rows.hessian_product(curvature, w, 0.3)
    bent = curvature * (tall @ w + 0.3)
    assert_allclose(out, tall.T @ bent, rtol=1e-9, atol=1e-9)
    assert_allclose(total, bent.sum(), rtol=1e-10)


def test_a_prefetch_changes_nothing():
    """Also outside the array."""

    @numba.njit
    def total(x):
        s = 0.0
        for i in range(x.size):
            prefetch(x, i + 1000)
            s += x[i]
        return s

    x = np.arange(100.0)
    assert total(x) == 4950.0
    assert_array_equal(x, np.arange(100.0))


@pytest.mark.parametrize("scale", [1e-7, 4e5])
@pytest.mark.parametrize("offset", [0.0, 6.0])
def test_a_regression_does_not_depend_on_the_units_of_its_targets(scale, offset):
    """With C and ε in these units it is the same problem; C=1 alone is another one, solved too."""
    targets = X[:, 0] + 0.5 * X[:, 1] + 0.1 * np.random.default_rng(0).normal(size=N)
    y = scale * (targets + offset)
    plain = LinearSVR(C=1.0, epsilon=0.1, intercept_scaling=None, tol=1e-5).fit(X, targets)
    model = LinearSVR(C=scale, epsilon=0.1 * scale, intercept_scaling=None, tol=1e-5).fit(X, y)
    assert model.certificate_.status is plain.certificate_.status is Status.SOLVED
    assert_allclose(model.coef_, scale * plain.coef_, rtol=0.02, atol=0.01 * scale)
    assert_allclose(model.predict(X), y, atol=0.6 * scale)
    assert LinearSVR(intercept_scaling=None).fit(X, y).certificate_.status is Status.SOLVED
