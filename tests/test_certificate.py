"""Certificates against an independent dense QP, on every formulation."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from mercer._result import Result, Status
from mercer.certificates._box_qp import certify
from mercer.certificates._certificate import summarise
from mercer.certificates._statement import counted
from mercer.problems import nu_svc, nu_svr, one_class, svc, svr
from tests.oracles.dense_qp import solve_problem


def make_data(seed, n=24):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    X[:, 0] += 0.3 * np.sign(X[:, 0])
    X[:8, 0] = np.tile([1, -1], 4) * np.abs(X[:8, 0])
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    X[:, 1] *= 0.5
    t = np.sin(2 * X[:, 0]) + 0.2 * rng.normal(size=n)
    K = np.exp(-2.0 * ((X[:, None] - X[None]) ** 2).sum(-1))
    return K, y, t, rng.uniform(0.5, 2.0, n)


FORMULATIONS = {
    "svc": lambda y, t, w: svc(y, 1.5),
    "svc weighted": lambda y, t, w: svc(y, 1.5 * w),
    "svc without intercept": lambda y, t, w: svc(y, 2.0, fit_intercept=False),
    "nu-svc": lambda y, t, w: nu_svc(y, 0.3),
    "nu-svc weighted": lambda y, t, w: nu_svc(y, 0.3, w),
    "svr": lambda y, t, w: svr(t, 3.0, 0.1),
    "svr weighted": lambda y, t, w: svr(t, 3.0 * w, 0.1),
    "svr without intercept": lambda y, t, w: svr(t, 3.0, 0.1, fit_intercept=False),
    "nu-svr": lambda y, t, w: nu_svr(t, 3.0, 0.4),
    "nu-svr weighted": lambda y, t, w: nu_svr(t, 3.0 * w, 0.4),
    "one-class": lambda y, t, w: one_class(0.3, np.ones_like(w)),
    "one-class weighted": lambda y, t, w: one_class(0.3, w),
    "hard margin": lambda y, t, w: svc(y, np.inf),
    "hard margin without intercept": lambda y, t, w: svc(y, np.inf, fit_intercept=False),
}


def as_result(problem, K, beta, b, f_error=0.0):
    f = K @ problem.at_points(beta, K.shape[0])
    return Result(
        beta, f, f_error, b, 0.0, Status.SOLVED, iterations=7, rounds=3,
        seconds=0.5,
    )  # fmt: skip


def feasible(problem, rng):
    """A feasible β: random pair steps from the start."""
    sums = problem.group_sums
    beta = problem.start.copy()
    width = np.where(np.isfinite(problem.upper - problem.lower), problem.upper - problem.lower, 5.0)
    for _ in range(60):
        i, j = rng.integers(problem.n_variables, size=2)
        if i == j or (problem.group is not None and problem.group[i] != problem.group[j]):
            continue
        step = rng.uniform() * min(problem.upper[i] - beta[i], beta[j] - problem.lower[j], width[i])
        beta[i] += step
        beta[j] -= step
    beta = np.clip(beta, problem.lower, problem.upper)
    if problem.group is not None:
        assert_allclose(np.bincount(problem.group, beta), sums, atol=1e-12)
    return beta


@pytest.mark.parametrize("name", FORMULATIONS)
@pytest.mark.parametrize("seed", range(3))
def test_gap_closes_at_the_oracle_optimum(name, seed):
    K, y, t, w = make_data(seed)
    problem = FORMULATIONS[name](y, t, w)
    beta, b = solve_problem(problem, K)
    certificate = certify(problem, as_result(problem, K, beta, b))
    assert 0 <= certificate.relative_gap < 1e-8
    assert certificate.kkt_violation < 1e-6
    assert certificate.n_zero + certificate.n_free + certificate.n_bound == len(y)
    assert certificate.primal - certificate.dual == pytest.approx(certificate.gap, abs=1e-12)


@pytest.mark.parametrize("name", FORMULATIONS)
@given(seed=st.integers(0, 10_000))
def test_the_optimum_lies_between_dual_and_primal_of_any_feasible_answer(name, seed):
    K, y, t, w = make_data(seed, n=12)
    problem = FORMULATIONS[name](y, t, w)
    rng = np.random.default_rng(seed)
    best, _ = solve_problem(problem, K)
    coef = problem.at_points(best, len(y))
    optimum = problem.target @ best - coef @ K @ coef / 2
    b = rng.normal(size=problem.n_groups)
    certificate = certify(problem, as_result(problem, K, feasible(problem, rng), b))
    slack = 1e-8 * (1 + abs(optimum))
    assert certificate.dual - slack <= optimum <= certificate.primal + slack
    assert certificate.gap >= 0


@pytest.mark.parametrize("name", FORMULATIONS)
def test_gap_grows_with_distance_from_the_optimum(name):
    K, y, t, w = make_data(0)
    problem = FORMULATIONS[name](y, t, w)
    beta, b = solve_problem(problem, K)
    other = feasible(problem, np.random.default_rng(1))
    gaps = [
        certify(problem, as_result(problem, K, (1 - a) * beta + a * other, b)).gap
        for a in (0.0, 1e-3, 1e-2, 1e-1)
    ]
    assert sorted(gaps) == gaps
    assert gaps[0] < gaps[1]


@pytest.mark.parametrize("name", FORMULATIONS)
@given(seed=st.integers(0, 10_000), delta=st.sampled_from([1e-9, 1e-6, 1e-4]))
def test_stated_gap_covers_errors_of_f(name, seed, delta):
    """With f off by up to δ the stated gap is at least the gap under the exact f."""
    K, y, t, w = make_data(seed, n=12)
    problem = FORMULATIONS[name](y, t, w)
    rng = np.random.default_rng(seed)
    beta, b = solve_problem(problem, K)
    beta = 0.99 * beta + 0.01 * feasible(problem, rng)
    exact = as_result(problem, K, beta, b)
    noisy = replace(exact, f=exact.f + rng.uniform(-delta, delta, len(y)), f_error=delta)
    stated, true = certify(problem, noisy), certify(problem, exact)
    assert stated.gap >= true.gap * (1 - 1e-12) - 1e-14 * abs(true.primal)


def test_stated_gap_is_not_idle():
    """f good to a fiftieth of the violation where β is free: less than twice the gap."""
    K, y, _, _ = make_data(3)
    problem = svc(y, 1.5)
    beta, b = solve_problem(problem, K)
    beta[np.abs(beta) < 1.5] *= 0.99
    exact = certify(problem, as_result(problem, K, beta, b))
    e = y - K @ beta
    violation = e[beta < problem.upper].max() - e[beta > problem.lower].min()
    free = (beta != 0) & (np.abs(beta) < 1.5)
    error = np.where(free, violation / 50, violation * 1e-6)
    stated = certify(problem, as_result(problem, K, beta, b, f_error=error))
    assert exact.gap < stated.gap < 2 * exact.gap


def test_only_errors_at_points_that_matter_widen_the_gap():
    """A point well beyond the margin has no say; a free one pays at most three times its box."""
    K, y, _, _ = make_data(3)
    problem = svc(y, 1.5)
    beta, b = solve_problem(problem, K)
    result = as_result(problem, K, beta, b)
    r = y * (1 / y - result.f - b[0])
    beyond, free = np.argmin(r), np.argmax((np.abs(beta) > 0) & (np.abs(beta) < 1.5))
    error = np.zeros(len(y))
    error[beyond] = -r[beyond] / 2
    exact = certify(problem, result).gap
    assert certify(problem, replace(result, f_error=error)).gap == exact
    error[free] = 1e-3
    wider = certify(problem, replace(result, f_error=error)).gap
    # its term of the gap, its loss, and its part of βᵀKβ
    assert 0.5 * 1.5e-3 < wider - exact < 3.01 * 1.5e-3


def test_hard_margin_primal_is_that_of_w_scaled_to_feasibility():
    # Two points at ±1 on a line, α = ¼ each: w = ½, so y f = ½ and s = 2 make it canonical.
    X, y = np.array([[1.0], [-1.0]]), np.array([1.0, -1.0])
    problem = svc(y, np.inf)
    certificate = certify(problem, as_result(problem, X @ X.T, y / 4, np.zeros(1)))
    assert certificate.primal == pytest.approx(0.5)
    assert certificate.dual == pytest.approx(2 * 0.25 - 0.125, abs=0.002 * certificate.gap)
    wrong = certify(problem, as_result(problem, X @ X.T, y / 4, np.array([0.6])))
    assert wrong.gap == wrong.primal == wrong.relative_gap == np.inf


def test_bias_interval_of_the_model_that_is_published_by_nu_svc():
    """ν-SVC divides its model by ρ: interval and margin are those of the C-SVC it equals."""
    K, y, _, _ = make_data(1)
    nu = nu_svc(y, 0.3)
    beta, b = solve_problem(nu, K)
    rho = (b[1] - b[0]) / 2
    c = svc(y, 1 / rho)
    of_nu = certify(nu, as_result(nu, K, beta, b))
    of_c = certify(c, as_result(c, K, beta / rho, np.array([b.mean() / rho])))
    assert_allclose(of_nu.bias_interval, of_c.bias_interval, atol=1e-6)
    assert of_nu.margin == pytest.approx(of_c.margin, rel=1e-9)
    assert (of_nu.n_free, of_nu.n_bound) == (of_c.n_free, of_c.n_bound)


def test_summary_adds_values_and_keeps_the_worst():
    K, y, _, _ = make_data(0)
    problem = svc(y, 1.5)
    beta, b = solve_problem(problem, K)
    good = certify(problem, as_result(problem, K, beta, b), name="a / b")
    bad = certify(problem, replace(as_result(problem, K, 0.9 * beta, b), status=Status.TIME_LIMIT))
    total = summarise([good, bad])
    assert total.gap == good.gap + bad.gap
    assert total.kkt_violation == bad.kkt_violation
    assert total.relative_gap == bad.relative_gap
    assert total.status is Status.TIME_LIMIT
    assert total.iterations == 14
    assert total.bias_interval == (good.bias_interval, bad.bias_interval)
    assert "a / b" in repr(total)
    assert "time limit" in repr(total)
    assert summarise([good]) is good


def test_counts_have_a_singular():
    """Of the noun that is counted, not of what follows it."""
    assert counted(1, "steps") == "1 step"
    assert counted(1, "products with K") == "1 product with K"
    assert counted(2000, "products with K") == "2,000 products with K"
