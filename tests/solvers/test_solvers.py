"""Every solver on every problem: value, feasibility, tolerance and f, all under float64 K."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer._result import Status
from mercer.certificates._box_qp import certify
from mercer.gram import RowCache
from mercer.kernels import RBF
from mercer.problems import svc
from mercer.problems._kkt import intercepts
from mercer.solvers import Stopping
from mercer.solvers.smo._gradient import LazyGradient
from mercer.solvers.smo._shrinking import ActiveSet
from tests.oracles.dense_qp import solve_problem
from tests.oracles.naive_kernels import naive_matrix
from tests.solvers.small import (
    KERNELS,
    PROBLEMS,
    SOLVERS,
    make_data,
    make_gram,
    small,
    solve,
)


def value(problem, K, beta):
    coef = problem.at_points(beta, K.shape[0])
    return problem.target @ beta - 0.5 * coef @ K @ coef


def violation(problem, K, beta):
    """Largest violating pair, written out in float64."""
    v = problem.target - problem.at_variables(K @ problem.at_points(beta, K.shape[0]))
    rises, falls = beta < problem.upper, beta > problem.lower
    if problem.group is None:
        return max(0, v[rises].max(initial=0)) - min(0, v[falls].min(initial=0))
    worst = 0.0
    for g in range(problem.n_groups):
        up, down = v[rises & (problem.group == g)], v[falls & (problem.group == g)]
        if up.size and down.size:
            worst = max(worst, up.max() - down.min())
    return worst


def assert_feasible(problem, beta):
    assert np.all(beta >= problem.lower)
    assert np.all(beta <= problem.upper)
    if problem.group is not None:
        sums = np.bincount(problem.group, weights=beta)
        assert_allclose(sums, problem.group_sums, atol=1e-9)


@pytest.fixture(scope="module")
def optimum():
    """The optimal value of a problem under a kernel, by the oracle, computed once."""
    known = {}

    def of(problem, kernel, K, data):
        key = problem, kernel
        if key not in known:
            made = PROBLEMS[problem](*data)
            known[key] = value(made, K, solve_problem(made, K)[0])
        return known[key]

    return of


X, *DATA = make_data(160)
X_LARGE, *DATA_LARGE = make_data(420, seed=1)
MATRIX = {name: naive_matrix(kernel, X, X) for name, kernel in KERNELS.items()}
# The linear kernel has rank 3 here: below this float32 rows no longer tell directions apart.
TOL = {"linear": 2e-5}
LARGE_MATRIX = {"rbf": naive_matrix(KERNELS["rbf"], X_LARGE, X_LARGE)}


class How(NamedTuple):
    """What `make_gram` and `solve` are given."""

    costly: float
    solve: dict


def split(solver, **sizes):
    given = dict(SOLVERS[solver])
    costly, cache_bytes = given.pop("costly", 10**9), given.pop("cache_bytes", 1 << 20)
    return How(costly, {"cache_bytes": cache_bytes, "settings": small(**sizes, **given)})


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("kernel", KERNELS)
def test_the_optimal_value_is_reached(optimum, solver, problem, kernel):
    how = split(solver, working_set=32, first_sample=20)
    K, made = MATRIX[kernel], PROBLEMS[problem](*DATA)
    best, tol = optimum(problem, kernel, K, DATA), TOL.get(kernel, 1e-6)
    for kind in ("dense", "csr") if kernel == "rbf" else ("dense",):
        gram = make_gram(KERNELS[kernel], X, kind, costly=how.costly)
        result = solve(made, gram, tol=tol, stopping=Stopping(60.0), **how.solve)
        assert result.status is Status.SOLVED
        assert_feasible(made, result.beta)
        assert value(made, K, result.beta) == pytest.approx(best, rel=tol, abs=tol)
        assert violation(made, K, result.beta) <= 1.05 * tol


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("kind", ["dense", "csr"])
def test_tol_means_what_it_says(solver, problem, kind):
    how = split(solver)
    K, made = LARGE_MATRIX["rbf"], PROBLEMS[problem](*DATA_LARGE)
    gram = make_gram(KERNELS["rbf"], X_LARGE, kind, costly=how.costly)
    result = solve(made, gram, **how.solve)
    assert result.status is Status.SOLVED
    assert_feasible(made, result.beta)
    true = violation(made, K, result.beta)
    assert true <= 1.05e-3
    involved = made.at_points(np.abs(result.beta), K.shape[0]) > 0
    error = np.broadcast_to(result.f_error, K.shape[0])
    assert result.violation == pytest.approx(true, abs=2 * error[involved].max() + 1e-12)
    f = K @ made.at_points(result.beta, K.shape[0])
    assert (np.abs(result.f - f) <= error + 1e-12).all()
    assert error[involved].max() <= 2e-4
    assert result.b.shape == (made.n_groups,)


@pytest.mark.parametrize("kernel", ["rbf", "polynomial"])
def test_f_of_active_points_never_drifts_from_its_sums(monkeypatch, kernel):
    """Each update of a decomposition against float64: no row that was evicted is ever used.

    Columns are activated, shrunk, and activated again after others were shrunk.
    """
    settings = small(working_set=32, first_sample=20)
    K, stages, last = MATRIX[kernel], set(), []
    add_to, activate, shrink = RowCache.add_to, ActiveSet.activate, ActiveSet.shrink

    def checked_add(self, total, bound, which, coef):
        before = total.copy()
        add_to(self, total, bound, which, coef)
        exact = K[np.ix_(self.columns, self.columns[which])] @ coef
        assert_allclose(total - before, exact, atol=1e-4)
        stages.add("evicted" if self.n > self.n_rows else "all rows held")

    def watched_activate(self, rows, score, beta):
        before = rows and rows.n
        after = activate(self, rows, score, beta)
        if rows is after:
            stages.add("kept" if before == after.n else "activated")
            stages.update(["kept after others were shrunk"] if last == [after] else [])
        return after

    def watched_shrink(self, rows, score, beta):
        after = shrink(self, rows, score, beta)
        if rows is not after:
            stages.add("shrunk")
            last[:] = [after]
        return after

    monkeypatch.setattr(RowCache, "add_to", checked_add)
    monkeypatch.setattr(ActiveSet, "activate", watched_activate)
    monkeypatch.setattr(ActiveSet, "shrink", watched_shrink)
    for problem in PROBLEMS.values():
        for budget in (1 << 20, 4 * 300 * 20):
            gram = make_gram(KERNELS[kernel], X)
            result = solve(problem(*DATA), gram, tol=1e-5, cache_bytes=budget, settings=settings)
            assert result.status is Status.SOLVED
    assert {"activated", "shrunk", "evicted", "all rows held"} <= stages
    assert "kept after others were shrunk" in stages


def test_refinement_reaches_tolerances_below_float32():
    """Coefficients of 1000 lose 1e-4 in float32 sums: f is recomputed until 1e-7 is reached."""
    made = PROBLEMS["svc"](DATA_LARGE[0], None, None)
    big = type(made)(made.target, made.lower * 1e3, made.upper * 1e3, made.start, None, made.group)
    result = solve(big, make_gram(KERNELS["rbf"], X_LARGE), tol=1e-7, settings=small())
    assert result.status is Status.SOLVED
    assert violation(big, LARGE_MATRIX["rbf"], result.beta) <= 1.05e-7


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("problem", ["svc", "svr", "nu-svc", "svc without intercept"])
def test_a_start_at_the_answer_takes_no_step(solver, problem):
    how = split(solver)
    made = PROBLEMS[problem](*DATA)
    gram = make_gram(KERNELS["rbf"], X, costly=how.costly)
    first = solve(made, gram, tol=1e-4, **how.solve)
    start = first.beta.copy()
    again = solve(made, gram, tol=1.1e-4, start=start, **how.solve)
    assert again.status is Status.SOLVED
    assert again.iterations == 0
    assert_array_equal(again.beta, first.beta)
    assert_array_equal(start, first.beta)


def test_multipliers_and_their_intervals():
    """On free variables v = b; with none, b is the middle of what KKT leaves."""
    made, K = PROBLEMS["nu-svr"](*DATA), MATRIX["rbf"]
    beta, multipliers = solve_problem(made, K)
    b, interval, largest = intercepts(made, beta, K @ made.at_points(beta, len(K)))
    assert_allclose(b, multipliers, atol=1e-5)
    assert_allclose(interval.mean(axis=1), multipliers, atol=1e-5)
    assert largest < 1e-5
    two = PROBLEMS["svc"](np.array([1.0, -1.0]), None, None)
    b, interval, largest = intercepts(two, two.upper + two.lower, np.array([0.2, -0.4]))
    assert_allclose(interval, [[-0.6, 0.8]])
    assert_allclose(b, [0.1])
    assert largest == 0


@pytest.mark.parametrize("scale", [1.0, 100.0])
def test_working_sets_without_progress_come_to_an_end(scale):
    """A linear kernel below the rounding of its rows: solved or stalled, but not without end."""
    settings = small(working_set=32, first_sample=20)
    gram, tol = make_gram(KERNELS["linear"], scale * X), 1e-6 if scale == 1 else 1e-3
    result = solve(
        PROBLEMS["one-class"](*DATA), gram, tol=tol, stopping=Stopping(60.0), settings=settings
    )
    assert result.status is not Status.TIME_LIMIT


@pytest.mark.parametrize("reach", [0.0, 1e-3, 1e9])
def test_shrunk_points_are_checked_before_the_end(monkeypatch, reach):
    """All that are satisfied wait, some do, or none: the result is within tol at every point."""
    # All points in the first sample: else points wait to be sampled, too.
    settings = small(recheck_factor=reach, first_sample=len(X_LARGE))
    caught_up = []
    original = LazyGradient.update

    def spy(self, beta, may_wait=None):
        caught_up.append(0 if may_wait is None else np.count_nonzero(may_wait))
        original(self, beta, may_wait)

    monkeypatch.setattr(LazyGradient, "update", spy)
    K, made = LARGE_MATRIX["rbf"], PROBLEMS["svc"](*DATA_LARGE)
    result = solve(made, make_gram(KERNELS["rbf"], X_LARGE), settings=settings)
    assert result.status is Status.SOLVED
    assert violation(made, K, result.beta) <= 1.05e-3
    assert (max(caught_up) > 0) == (reach < 1)


@pytest.mark.parametrize("pull", [-1e-2, 0.0, 1e-2])
def test_b_is_the_mean_or_the_middle_whichever_leaves_the_smaller_gap(pull):
    """The gap by its definition, at a β that is not optimal: free rows pull the mean aside."""
    made, K = PROBLEMS["svc"](*DATA), MATRIX["rbf"]
    beta = solve(made, make_gram(KERNELS["rbf"], X), tol=1e-6).beta
    free = (beta > made.lower) & (beta < made.upper)
    f = K @ beta + pull * (free & (np.arange(beta.size) % 3 == 0))
    b, interval, _ = intercepts(made, beta, f)

    def gap(at):
        r = made.target - f - at
        return np.where(r > 0, (made.upper - beta) * r, (made.lower - beta) * r).sum()

    candidates = [(made.target - f)[free].mean(), interval.mean()]
    assert_allclose(gap(b[0]), min(gap(at) for at in candidates), rtol=1e-9)


@pytest.mark.parametrize("problem", ["svc", "svr", "nu-svc", "one-class"])
def test_f_is_recomputed_only_where_it_matters(problem):
    """Samples well beyond their margin keep the float32 f, whose bound holds, at no cost."""
    K, made = LARGE_MATRIX["rbf"], PROBLEMS[problem](*DATA_LARGE)
    gram = make_gram(KERNELS["rbf"], X_LARGE, "dense")
    result = solve(made, gram, settings=small())
    exact = K @ made.at_points(result.beta, K.shape[0])
    assert (np.abs(result.f - exact) <= result.f_error + 1e-11).all()
    involved = made.at_points(np.abs(result.beta), K.shape[0]) > 0
    assert result.f_error[involved].max() < 1e-9
    assert result.f_error.max() > 1e-7
    true = certify(made, replace(result, f=exact, f_error=0.0)).gap
    assert true <= certify(made, result).gap <= 1.1 * true


@pytest.mark.parametrize("solver", ["dense", "decomposition"])
@pytest.mark.parametrize("problem", ["svc", "svr without intercept", "nu-svr", "one-class", "l2"])
def test_a_large_gap_is_closed_beyond_tol(problem, solver):
    """Where many small violations make a large gap, the solver goes on to a fifth of tol."""
    X, *data = make_data()
    gram = make_gram(RBF(gamma=0.4), X)
    if problem == "l2":  # squared slack: the solver is handed K + D
        made = svc(data[0], 1.5, squared=True)
        gram = gram.with_diagonal(made.diag)
    else:
        made = PROBLEMS[problem](*data)
    kinds = SOLVERS[solver]
    loose = solve(made, gram, tol=0.1, settings=small(small_gap=np.inf, **kinds))
    strict = solve(made, gram, tol=0.1, settings=small(small_gap=0.0, **kinds))
    assert strict.status is loose.status is Status.SOLVED
    assert (0.03 if solver == "dense" else 0.0) < loose.violation <= 0.1
    assert strict.violation <= 0.25 * 0.1
    assert certify(made, strict).gap < certify(made, loose).gap


@pytest.mark.parametrize("small_gap", [1e-2, 3e-3, 1e-9])
def test_the_gap_that_ends_a_dense_solve_is_that_of_the_certificate(small_gap):
    """Either it is at most ``small_gap``, or the violation is a fifth of tol."""
    made, tol = PROBLEMS["svc weighted"](*DATA), 0.05
    settings = small(small_gap=small_gap, dense=10**9)
    result = solve(made, make_gram(KERNELS["rbf"], X), tol=tol, settings=settings)
    assert certify(made, result).relative_gap <= small_gap or result.violation <= 0.2001 * tol
    assert (certify(made, result).relative_gap <= small_gap) == (small_gap > 1e-6)
