"""The box QPs of the formulations: feasible starts, sums, and the known relations between them."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from mercer.problems import nu_svc, nu_svr, one_class, svc, svr
from mercer.problems._dual_qp import fill_from_front, gap_terms
from tests.oracles.dense_qp import solve_problem


def data(seed=0, n=20):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    K = np.exp(-((X[:, None] - X[None]) ** 2).sum(-1))
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    return K, y, X[:, 0] ** 2 + 0.1 * rng.normal(size=n), rng.uniform(0.2, 3.0, n)


@given(st.integers(0, 1000), st.floats(0.01, 0.6))
def test_starts_are_feasible(seed, nu):
    _, y, t, w = data(seed)
    for problem in (
        svc(y, 2.0 * w),
        svc(y, np.inf, fit_intercept=False),
        svr(t, w, 0.1),
        nu_svc(y, nu * min(w[y > 0].sum(), w[y < 0].sum()) / w.sum(), w),
        nu_svr(t, w, nu),
        one_class(nu, w),
    ):
        assert np.all(problem.lower <= problem.start)
        assert np.all(problem.start <= problem.upper)


def test_group_sums_follow_the_weights():
    _, y, t, w = data()
    assert_allclose(svc(y, 1.0).group_sums, [0])
    assert_allclose(svr(t, w, 0.1).group_sums, [0])
    assert_allclose(nu_svc(y, 0.3, w).group_sums, np.array([1, -1]) * 0.3 * w.sum() / 2)
    assert_allclose(nu_svr(t, 2 * w, 0.3).group_sums, np.array([1, -1]) * 0.3 * w.sum())
    assert_allclose(one_class(0.3, w).group_sums, [0.3 * w.sum()])
    assert svc(y, 1.0, fit_intercept=False).group_sums.size == 0


@given(st.lists(st.floats(0, 10), min_size=1, max_size=8), st.floats(0, 1))
def test_filling_from_the_front(bound, share):
    bound = np.array(bound)
    filled = fill_from_front(share * bound.sum(), bound)
    assert filled.sum() == pytest.approx(share * bound.sum(), abs=1e-9)
    partial = np.flatnonzero((filled > 0) & (filled < bound))
    assert partial.size <= 1
    if partial.size:
        assert_array_equal(filled[: partial[0]], bound[: partial[0]])


def test_nu_svc_at_and_beyond_its_largest_nu():
    y = np.array([1.0, 1.0, 1.0, -1.0])
    assert_allclose(nu_svc(y, 0.5).group_sums, [1, -1])
    with pytest.raises(ValueError, match=r"specified nu is infeasible.*0\.5"):
        nu_svc(y, 0.51)


def test_nu_svr_refuses_an_infinite_price():
    with pytest.raises(ValueError, match="C must be finite"):
        nu_svr(np.arange(3.0), np.inf, 0.5)


def test_nu_svc_is_c_svc_with_c_one_over_rho():
    K, y, _, w = data()
    beta, b = solve_problem(nu_svc(y, 0.4, w), K)
    rho = (b[1] - b[0]) / 2
    of_c, b_c = solve_problem(svc(y, w / rho), K)
    assert_allclose(beta / rho, of_c, atol=1e-6)
    assert b.mean() / rho == pytest.approx(b_c[0], abs=1e-6)


def test_nu_svr_is_svr_with_the_epsilon_it_finds():
    K, _, t, w = data()
    problem = nu_svr(t, 5 * w, 0.3)
    beta, b = solve_problem(problem, K)
    epsilon = (b[0] - b[1]) / 2
    of_epsilon, _ = solve_problem(svr(t, 5 * w, epsilon), K)
    assert epsilon > 0
    assert_allclose(problem.at_points(beta, 20), problem.at_points(of_epsilon, 20), atol=1e-6)


@pytest.mark.parametrize("formulation", ["svc", "nu_svc", "svr", "nu_svr", "one_class"])
def test_weight_two_is_a_row_twice(formulation):
    K, y, t, _ = data(n=12)
    twice = np.concatenate([np.arange(12), [3]])
    ones, w = np.ones(13), np.ones(12)
    w[3] = 2

    def optimum(rows, weight):
        problem = {
            "svc": lambda: svc(y[rows], 2 * weight),
            "nu_svc": lambda: nu_svc(y[rows], 0.4, weight),
            "svr": lambda: svr(t[rows], 2 * weight, 0.1),
            "nu_svr": lambda: nu_svr(t[rows], 2 * weight, 0.4),
            "one_class": lambda: one_class(0.4, weight),
        }[formulation]()
        beta, _ = solve_problem(problem, K[np.ix_(rows, rows)])
        return np.bincount(rows, problem.at_points(beta, len(rows)), 12)

    assert_allclose(optimum(np.arange(12), w), optimum(twice, ones), atol=1e-6)


@given(st.integers(0, 1000), st.booleans())
def test_losses_and_gap_terms_over_an_interval_of_f(seed, is_squared):
    """By definition, at many f of the interval: the losses meet both ends of their range."""
    _, y, t, w = data(seed)
    rng = np.random.default_rng(seed)
    slack = 1 / (2 * w) if is_squared else None
    for problem in (svc(y, 2.0 * w), svr(t, w, 0.1), one_class(0.3, w)):
        if is_squared:
            upper = np.where(problem.upper > 0, np.inf, 0.0)
            lower = np.where(problem.lower < 0, -np.inf, 0.0)
            problem = replace(problem, lower=lower, upper=upper, diag=slack)
        r, error = rng.normal(size=(2, problem.n_variables))
        error = np.abs(error) * rng.choice([0.01, 1.0])
        beta = rng.uniform(np.maximum(problem.lower, -2), np.minimum(problem.upper, 2))
        inside = r + np.linspace(-1, 1, 41)[:, None] * error
        inside = np.concatenate([inside, [np.clip(0.0, r - error, r + error)]])
        losses = np.array([problem.losses(x) for x in inside])
        least, most = problem.loss_range(r, error)
        assert_allclose(least, losses.min(axis=0), atol=1e-14)
        assert_allclose(most, losses.max(axis=0), atol=1e-14)
        terms = np.array([problem.gap_terms(beta, x) for x in inside])
        assert_allclose(problem.gap_terms(beta, r, error), terms.max(axis=0), atol=1e-13)
        if not is_squared:
            side = np.where(r > 0, problem.upper, -problem.lower)
            assert_allclose(problem.losses(r), side * np.abs(r), atol=1e-14)
            room = np.where(r > 0, problem.upper - beta, beta - problem.lower)
            assert_allclose(problem.gap_terms(beta, r), room * np.abs(r), atol=1e-14)


def test_an_infinite_error_of_f_counts_where_the_dual_has_room():
    lower, upper, beta = np.zeros(3), np.ones(3), np.array([0.0, 0.5, 1.0])
    with np.errstate(invalid="ignore"):
        worst = gap_terms(beta, np.zeros(3), lower, upper, np.full(3, np.inf))
    assert_array_equal(worst, np.inf)
