"""What holds for any data: gap ≥ 0, sums kept, order of no effect, weight 2 is a row twice."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer._result import Status
from mercer.certificates._box_qp import certify
from mercer.kernels import RBF, Linear
from mercer.problems import nu_svc, svc
from tests.solvers.small import PROBLEMS, make_data, make_gram, small, solve

KERNELS = [RBF(gamma=1.0), Linear()]
cases = given(
    seed=st.integers(0, 10**6),
    n=st.integers(8, 90),
    name=st.sampled_from(sorted(PROBLEMS)),
    kernel=st.sampled_from(KERNELS),
    dense=st.sampled_from([0, 10**9]),
)


def tiny(dense):
    return small(dense=dense, first_sample=16, working_set=32)


def data_of(seed, n):
    """Rows on a coarse grid, so that there are duplicates; both classes are there."""
    X, y, t, w = make_data(n, seed)
    y[:2] = 1, -1
    return np.round(2 * X) / 2, y, t, w


def posed(name, y, t, w):
    """The problem, with ν small enough for the smaller class where there is one."""
    if name.startswith("nu-svc"):
        weight = w if "weighted" in name else np.ones_like(w)
        share = 2 * min(weight[y > 0].sum(), weight[y < 0].sum()) / weight.sum()
        return nu_svc(y, 0.7 * share, weight)
    return PROBLEMS[name](y, t, w)


@cases
def test_gap_sums_and_box(seed, n, name, kernel, dense):
    X, *rest = data_of(seed, n)
    problem = posed(name, *rest)
    result = solve(problem, make_gram(kernel, X), settings=tiny(dense))
    assert result.status is Status.SOLVED
    certificate = certify(problem, result)
    assert certificate.gap >= 0
    assert certificate.kkt_violation <= 1.05e-3
    assert np.all((result.beta >= problem.lower) & (result.beta <= problem.upper))
    if problem.group is not None:
        sums = np.bincount(problem.group, weights=result.beta)
        assert sums == pytest.approx(problem.group_sums, abs=1e-9)


@pytest.mark.parametrize("name", ["one-class", "nu-svc", "nu-svr", "svc"])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_more_violators_than_fit_into_a_working_set(name, kernel):
    """The worst of both sides are among them, however many there are of one side."""
    for seed in range(12):
        X, *rest = data_of(seed, 190)
        result = solve(posed(name, *rest), make_gram(kernel, X), cache_bytes=100, settings=tiny(0))
        assert result.status is Status.SOLVED


@cases
def test_the_order_of_the_rows_has_no_effect_on_the_value(seed, n, name, kernel, dense):
    X, *rest = data_of(seed, n)
    order = np.random.default_rng(seed).permutation(n)
    found = []
    for rows in (np.arange(n), order):
        problem = posed(name, *(part[rows] for part in rest))
        result = solve(problem, make_gram(kernel, X[rows]), tol=2e-5, settings=tiny(dense))
        found.append(certify(problem, result))
    one, other = found
    assert max(one.dual, other.dual) <= min(one.primal, other.primal)


@given(
    seed=st.integers(0, 10**6),
    n=st.integers(8, 60),
    kernel=st.sampled_from(KERNELS),
    fit_intercept=st.booleans(),
    dense=st.sampled_from([0, 10**9]),
)
def test_weight_two_is_the_row_twice_and_weight_zero_none(seed, n, kernel, fit_intercept, dense):
    """The optimum of either lies between dual and primal of both."""
    X, y, *_ = data_of(seed, n)
    weight = np.random.default_rng(seed).integers(0, 3, n)
    weight[:2] = 1
    rows = np.repeat(np.arange(n), weight)
    found = []
    for C, index in ((2.0 * weight, np.arange(n)), (2.0, rows)):
        problem = svc(y[index], C, fit_intercept=fit_intercept)
        result = solve(problem, make_gram(kernel, X[index]), tol=1e-5, settings=tiny(dense))
        found.append(certify(problem, result))
    weighted, repeated = found
    assert max(weighted.dual, repeated.dual) <= min(weighted.primal, repeated.primal)
    assert weighted.primal == pytest.approx(repeated.primal, rel=1e-3, abs=1e-3)
