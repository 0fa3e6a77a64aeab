"""Predicted leave-one-out solutions, judged by the KKT conditions of the problem without the point.

They are starts: what they cost when they are wrong is time. So those that are found must be right.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.model_selection import LeaveOneOut, cross_val_predict

import mercer
from mercer.kernels import RBF, Linear
from mercer.problems import one_class, svc, svr
from mercer.solvers import SMO, Stopping
from mercer.solvers.smo.paths._active_set import ActiveSet
from tests.solvers.small import make_gram


def solved(kernel, X, y, C, tol, **how):
    gram = make_gram(kernel, X)
    K, problem = gram.block(np.arange(gram.n), np.arange(gram.n), np.float64), svc(y, C, **how)
    solving = gram if problem.diag is None else gram.with_diagonal(problem.diag)
    beta = SMO(tol=tol).solve(problem, solving, Stopping()).beta
    return K, problem, beta, ActiveSet.of(problem, K, beta, K @ beta, tol)


def violation(K, problem, beta, point):
    """Of the KKT conditions of the problem whose bounds are zero at the point, by definition."""
    lower, upper = problem.lower.copy(), problem.upper.copy()
    lower[point] = upper[point] = 0.0
    assert (lower <= beta).all()
    assert (beta <= upper).all()
    D = 0.0 if problem.diag is None else problem.diag
    v = problem.target - K @ beta - D * beta
    top, bottom = v[beta < upper].max(), v[beta > lower].min()
    if problem.n_groups == 0:
        return max(top, 0.0) - min(bottom, 0.0)
    assert abs(beta.sum()) < 1e-8 * np.abs(beta).sum()
    return top - bottom


def rows(n=160, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = np.where(np.sin(2 * X[:, 0]) + X[:, 1] + 0.6 * rng.normal(size=n) > 0, 1.0, -1.0)
    return X, y


@pytest.mark.parametrize("C", [0.05, 1.0, 40.0])
@pytest.mark.parametrize("tol", [1e-3, 1e-7])
@pytest.mark.parametrize("how", [{}, {"fit_intercept": False}, {"squared": True}], ids=str)
def test_solutions_that_are_found_are_solutions(C, tol, how):
    X, y = rows()
    K, problem, beta, active_set = solved(RBF(gamma=0.5), X, y, C, tol, **how)
    points = np.flatnonzero(beta)
    starts = active_set.without(points)
    is_found = starts[np.arange(points.size), points] == 0.0
    assert is_found.mean() > 0.6
    for point, start in zip(points[is_found], starts[is_found], strict=True):
        assert violation(K, problem, start, point) <= tol
    np.testing.assert_array_equal(starts[~is_found], np.tile(beta, ((~is_found).sum(), 1)))


def test_rows_that_come_twice_and_fewer_features_than_free_variables():
    X, y = rows(60)
    X, y = np.vstack([X, X]), np.r_[y, y]
    for kernel in (RBF(gamma=0.5), Linear()):
        K, problem, beta, active_set = solved(kernel, X, y, 1.0, 1e-6)
        points = np.flatnonzero(beta)
        starts = active_set.without(points)
        for point, start in zip(points, starts, strict=True):
            if start[point] == 0.0:
                assert violation(K, problem, start, point) <= 1e-5
    model = mercer.SVC(gamma=0.5, tol=1e-7)
    values = cross_val_predict(model, X, y, cv=LeaveOneOut(), method="decision_function")
    assert_allclose(mercer.leave_one_out(model, X, y).values[:, 0], values, atol=2e-5)


def test_problems_of_another_form_are_not_predicted():
    X, y = rows(40)
    K, nothing = (
        make_gram(RBF(gamma=0.5), X).block(np.arange(40), np.arange(40), np.float64),
        np.zeros(40),
    )
    for problem in (svr(y, 1.0, 0.1), one_class(0.3, np.ones(40)), svc(y, 1.0)):
        beta = problem.start  # of the last one: no variable is free
        assert ActiveSet.of(problem, K, beta, nothing, 1e-3) is None
