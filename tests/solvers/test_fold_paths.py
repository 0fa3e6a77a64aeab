"""Held-out decision values on a shared Gram equal those of cold fits on the training rows."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.model_selection import KFold

from mercer import SVC, SVR, OneClassSVM
from mercer._result import Status
from mercer.problems import one_class, svc, svr
from mercer.problems._kkt import intercepts
from mercer.solvers import Stopping
from mercer.solvers.smo.paths._fold_paths import FoldPath, cross_decision_values
from mercer.solvers.smo.paths._matrix_path import MatrixPath, PathSettings, Workspace, bound_start

TOL = 1e-6
CS = np.logspace(-2, 3, 5)
# All of K within the budget, or row by row.
BUDGETS = [10 << 20, 1000]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 4))
    score = X[:, 0] + X[:, 1] ** 2 - 0.7 + 0.5 * rng.normal(size=150)
    return X, np.where(score > 0, 1.0, -1.0), score


def _factors(values):
    return [1.0, *(values[1:] / values[:-1])]


def _check(gram, make_problem, make_model, X, y, budget, values=CS):
    folds = list(KFold(3, shuffle=True, random_state=0).split(X))
    paths = [
        FoldPath(train, held, [make_problem(y[train], v) for v in values], _factors(values))
        for train, held in folds
    ]
    found = cross_decision_values(gram, paths, tol=TOL, cache_bytes=budget, n_threads=2)
    for (train, held), points in zip(folds, found, strict=True):
        assert len(points) == len(values)
        for v, point in zip(values, points, strict=True):
            model = make_model(v).fit(X[train], y[train])
            decide = getattr(model, "decision_function", model.predict)
            assert point.status is Status.SOLVED
            assert point.violation <= TOL
            low, high = model.certificate_.bias_interval
            other = np.concatenate([point.values, point.train_values])
            shift = other - np.concatenate([decide(X[held]), decide(X[train])])
            # Without a free variable b is any number of an interval; else there is one b.
            assert np.ptp(shift) < 20 * TOL
            b = float(model.intercept_[0]) + shift.mean()
            assert low - 20 * TOL < b < high + 20 * TOL


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_classification(data, budget, fit_intercept, loss):
    X, y, _ = data
    more = {"gamma": 0.3, "fit_intercept": fit_intercept, "loss": loss, "tol": TOL}
    gram = SVC(**more).bind(X, y).gram

    def problem(y, C):
        return svc(y, C, fit_intercept=fit_intercept, squared=loss == "squared_hinge")

    _check(gram, problem, lambda C: SVC(C=C, **more), X, y, budget)


@pytest.mark.parametrize("budget", BUDGETS)
def test_regression(data, budget):
    X, _, y = data
    gram = SVR(gamma=0.3).bind(X, y).gram
    _check(
        gram,
        lambda y, C: svr(y, C, 0.2),
        lambda C: SVR(gamma=0.3, C=C, epsilon=0.2, tol=TOL),
        X,
        y,
        budget,
        CS[:4],
    )


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("nus", [[0.05, 0.2, 0.9], [0.9, 0.3, 0.1]])
def test_one_class_along_nu(data, budget, nus):
    X, y, _ = data
    gram = OneClassSVM(gamma=0.3).bind(X, y).gram
    _check(
        gram,
        lambda y, nu: one_class(nu, np.ones(y.size)),
        lambda nu: OneClassSVM(gamma=0.3, nu=nu, tol=TOL),
        X,
        y,
        budget,
        np.array(nus),
    )


def test_a_block_smaller_than_the_problem_and_f_at_some_rows_only(data):
    X, y, _ = data
    K = SVC(gamma=0.3).bind(X, y).gram.matrix()
    train, held = np.arange(80), np.arange(100, 110)
    settings = PathSettings(most_active=32, values_per_slice=1000)
    path = MatrixPath(K, train, TOL, Workspace(80, settings), held, settings)
    last = 1.0
    for C in CS:
        point = path.solve(svc(y[train], C), Stopping(), C / last)
        last = C
        model = SVC(gamma=0.3, C=C, tol=TOL).fit(X[train], y[train])
        assert np.abs(model.decision_function(X[held]) - point.values[80:]).max() < 20 * TOL


def test_the_violation_is_that_of_the_float64_matrix(data):
    X, y, _ = data
    gram = SVC(gamma=0.3).bind(X, y).gram
    rows = np.arange(120)
    problems = [svc(y[rows], C) for C in CS]
    path = FoldPath(rows, np.arange(120, 150), problems, _factors(CS))
    (points,) = cross_decision_values(gram, [path], tol=1e-3)
    K = gram.matrix()[:120, :120]
    for problem, point in zip(problems, points, strict=True):
        assert ((point.beta >= problem.lower) & (point.beta <= problem.upper)).all()
        assert abs(point.beta.sum()) < 1e-9 * np.abs(point.beta).sum()
        violation = intercepts(problem, point.beta, K @ point.beta)[2]
        assert violation == pytest.approx(point.violation, abs=1e-9)
        assert violation <= 1e-3


@pytest.mark.parametrize("budget", BUDGETS)
def test_a_time_limit_ends_the_paths_early(data, budget):
    X, y, _ = data
    gram = SVC(gamma=0.3).bind(X, y).gram
    rows = np.arange(120)
    path = FoldPath(rows, np.arange(120, 150), [svc(y[rows], C) for C in CS], _factors(CS))
    limited = Stopping(0.0)
    (points,) = cross_decision_values(gram, [path], tol=1e-12, cache_bytes=budget, stopping=limited)
    assert len(points) < len(CS)


def test_the_start_for_small_C_solves_the_problem_of_a_zero_kernel():
    y = np.array([1.0, -1.0, 1.0, 1.0, -1.0])
    problem = svc(y, 2.0)
    beta = bound_start(problem)
    assert beta.sum() == 0
    assert problem.target @ beta == 8.0  # both negatives and as many positives at the bound
    assert ((beta == problem.lower) | (beta == problem.upper)).all()
    assert bound_start(svc(y, np.inf)) is None
