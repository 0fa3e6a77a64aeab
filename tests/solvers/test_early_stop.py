"""What a stopped fit states is true, and its gap falls from one stop to the next."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from mercer._result import Status
from mercer.certificates._box_qp import LATER_DUAL, certify
from mercer.kernels import RBF
from mercer.problems import svc
from mercer.problems._kkt import intercepts
from mercer.solvers._solution import snapshot, upper_diagonal
from mercer.solvers._stopping import Stopping
from mercer.solvers.smo import SMO
from mercer.solvers.smo._decomposition import DecompositionSMO
from mercer.solvers.smo._early_stop import QuadraticForm, dual_bound
from mercer.solvers.smo._gradient import LazyGradient, Settled
from mercer.solvers.smo._mixture import MixtureSettings, mixed
from mercer.solvers.smo._sweep import sweep
from tests.solvers.small import PROBLEMS, make_data, make_gram, small, solve

X, y, t, w = make_data(400)
GRAM = make_gram(RBF(gamma=0.4), X)
K = GRAM.matrix()


def dual_value(problem, beta):
    coef = problem.at_points(beta, len(X))
    return float(problem.target @ beta - coef @ K @ coef / 2)


def stopped_after(problem, reports, **settings):
    """The result of a fit that the callback stops."""
    seen = []
    with Stopping(callback=lambda progress: seen.append(1) or len(seen) > reports) as stopping:
        solver = SMO(settings=small(first_sample=60, **settings))
        return solver.solve(problem, GRAM, stopping)


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("seconds", [10.0, 0.0], ids=["f is quick to have", "f takes too long"])
def test_the_statements_of_stopped_fits_are_true(name, seconds):
    problem = PROBLEMS[name](y, t, w)
    best = dual_value(problem, solve(problem, GRAM, tol=1e-9).beta)
    notes, size = set(), 1e-9 * (1 + abs(best))
    for reports in range(0, 40, 2):
        result = stopped_after(problem, reports, reconstruction_seconds=seconds)
        found = certify(problem, result)
        notes.add(found.note)
        assert_f_is_within_its_error(problem, result)
        assert found.dual <= best + size <= found.primal + 2 * size
        if np.isfinite(found.gap):
            alone = certify(problem, stopped_alone(problem, result))
            assert alone.primal <= found.primal + size  # f in float64: the value of the model
            assert alone.primal - best <= found.gap + size
        if result.status is Status.SOLVED:
            break
    assert notes <= {"", LATER_DUAL}


def assert_f_is_within_its_error(problem, result):
    f = K @ problem.at_points(result.beta, len(X))
    assert (np.abs(result.f - f) <= result.f_error + 1e-12 * (1 + np.abs(f))).all()


@pytest.mark.parametrize("seconds", [10.0, 0.0])
def test_a_hard_margin_that_was_stopped(seconds):
    problem = svc(np.where(X[:, 0] > 0.1, 1.0, -1.0), np.inf)
    best = dual_value(problem, solve(problem, GRAM, tol=1e-9).beta)
    for reports in range(0, 60, 3):
        result = stopped_after(problem, reports, reconstruction_seconds=seconds)
        assert_f_is_within_its_error(problem, result)
        assert certify(problem, result).dual <= best * (1 + 1e-9)


def stopped_alone(problem, result):
    """The same model with f computed anew."""
    f = K @ problem.at_points(result.beta, len(X))
    return replace(result, f=f, f_error=1e-12, lower=-np.inf)


def test_a_later_dual_value_makes_the_gap_smaller():
    problem = PROBLEMS["svc"](y, t, w)
    found = [
        certify(problem, stopped_after(problem, reports, reconstruction_seconds=10.0))
        for reports in range(40)
    ]
    later = [each for each in found if each.note == LATER_DUAL]
    assert later
    assert all(each.gap == pytest.approx(each.primal - each.dual) for each in later)
    # While the model is the same, the dual value rises with each working set.
    for one, other in pairwise(later):
        if one.primal == other.primal:
            assert other.dual >= one.dual
            assert other.gap <= one.gap


@pytest.mark.parametrize("name", ["svc", "svr weighted", "nu-svc", "svc without intercept"])
def test_the_bound_of_a_later_dual_value(name):
    problem = PROBLEMS[name](y, t, w)
    with Stopping() as stopping:
        limits = stopping, 1e-3, np.inf, 1 << 20
        run = DecompositionSMO(problem, GRAM, *limits, problem.start, settings=small())
        run.gradient.update(run.beta)
        settled = Settled(run.beta.copy(), run.gradient.copy())
        later = solve(problem, GRAM, tol=1e-6).beta
        diag = upper_diagonal(GRAM)
        run.gradient.deactivate(np.arange(0, len(X), 2), run.beta)
        form = QuadraticForm.of(settled.gradient, settled.beta)
        unknown = form.after(settled, run.gradient, later)
        assert dual_bound(problem, run.gradient, diag, unknown, later) == -np.inf
        run.gradient.deactivate(np.arange(1, len(X), 2), run.beta)
        change = problem.at_points(later - run.beta, len(X))
        run.gradient.record_change(np.arange(len(X)), change)
        run.gradient.update(later)
        form = form.after(settled, run.gradient, later)
        bound = dual_bound(problem, run.gradient, diag, form, later)
    value = dual_value(problem, later)
    coef = np.abs(problem.at_points(later, len(X)))
    assert value - 1e-4 * float(coef @ K @ coef) <= bound <= value


def test_the_gap_of_values_known_to_few_digits_is_that_of_its_terms():
    """An error of f that no kink is within makes the values uncertain, but not the gap."""
    problem = PROBLEMS["svc"](y, t, w)
    result = solve(problem, GRAM, tol=1e-6)
    r = problem.target - result.f - result.b
    is_far = (np.abs(r) > 0.02) & ((result.beta == 0) | (np.abs(result.beta) == 1.5))
    wide = replace(result, f_error=np.where(is_far, 0.01, result.f_error))
    narrow, found = certify(problem, result), certify(problem, wide)
    assert found.gap == pytest.approx(narrow.gap, rel=1e-3, abs=1e-9)
    assert found.primal - found.dual > 100 * found.gap
    assert found.dual < narrow.dual <= narrow.primal < found.primal
    assert found.relative_gap >= narrow.gap / narrow.primal


def stopped_short_of_time(problem, reports):
    """The result of a fit that the callback stops; a sweep follows the first sample."""
    seen = []
    with Stopping(1e3, lambda progress: seen.append(1) or len(seen) > reports) as stopping:
        sizes = {"first_sample": 60, "least_block": 40, "reconstruction_seconds": 0.0}
        solver = SMO(settings=small(**sizes, sweep_overhead=np.inf, sweep_excess=np.inf))
        return solver.solve(problem, GRAM, stopping)


ONE_INTERCEPT = [name for name in PROBLEMS if not name.startswith(("nu", "one"))]


@pytest.mark.parametrize("name", ONE_INTERCEPT)
def test_what_a_stop_within_a_sweep_states_is_true(name):
    problem = PROBLEMS[name](y, t, w)
    best = dual_value(problem, solve(problem, GRAM, tol=1e-9).beta)
    size, lower = 1e-9 * (1 + abs(best)), []
    for reports in range(0, 60, 3):
        result = stopped_short_of_time(problem, reports)
        assert_f_is_within_its_error(problem, result)
        assert (result.beta >= problem.lower).all()
        assert (result.beta <= problem.upper).all()
        found = certify(problem, result)
        assert found.dual <= best + size <= found.primal + 2 * size
        alone = certify(problem, stopped_alone(problem, result))
        assert alone.primal <= found.primal + size
        lower.append(result.lower)
        if result.status is Status.SOLVED:
            break
    assert max(lower) > 0.8 * best  # of all rows, though a quarter of them is settled


def test_the_dual_value_of_a_sweep_is_known_though_f_is_out_of_date():
    problem = PROBLEMS["svc"](y, t, w)
    with Stopping() as stopping:
        limits = stopping, 1e-3, np.inf, 1 << 20
        settings = small(first_sample=60, least_block=40)
        run = DecompositionSMO(problem, GRAM, *limits, problem.start, settings=settings)
        seen = np.arange(100)
        run.active.add_points(seen, run.beta)
        run._solve_sample()
        sweep(run, seen)
        value = dual_value(problem, run.beta)
        assert value - 1e-3 * abs(value) <= run.lower <= value
        assert run.gradient.up_to_date().size < len(X) / 2
        # Every block raised the dual value, and the sample's model is known at all rows.
        assert value > 1.5 * dual_value(problem, run.model.beta)
        assert run.model.gradient.is_complete


@pytest.mark.parametrize("points", [400, 200], ids=["all points", "some points"])
@pytest.mark.parametrize("name", ONE_INTERCEPT)
def test_a_mixture_is_no_worse_than_the_models(name, points):
    """In a search on some points only not worse than the first one, with its own intercept."""
    problem = PROBLEMS[name](y, t, w)
    known = []
    for C in (0.2, 1.0):
        run = stopped_after(problem, 3 if C == 0.2 else 12, reconstruction_seconds=10.0)
        f, error = GRAM.bounded_sums(problem.at_points(run.beta, len(X)), np.arange(len(X)))
        gradient = LazyGradient(problem, GRAM, bool, small())
        gradient.update(np.zeros_like(run.beta))
        gradient.set_exact(np.arange(len(X)), f, error)
        known.append(Settled(run.beta, gradient))
    state, b = mixed(problem, *known, MixtureSettings(points=points))
    coef = problem.at_points(state.beta, len(X))
    assert (np.abs(state.gradient.f - K @ coef) <= state.gradient.error).all()

    def primal(state, b):
        coef = problem.at_points(state.beta, len(X))
        r = problem.target - problem.at_variables(K @ coef) - b
        return coef @ K @ coef / 2 + problem.losses(r).sum()

    if b is None:
        b = intercepts(problem, state.beta, state.gradient.f)[0]
    b = float(b[0]) if b.size else 0.0
    grid = np.linspace(-1, 1, 41) + b if problem.n_groups else [0.0]
    if points < len(X):
        own = intercepts(problem, known[0].beta, known[0].gradient.f)[0]
        grid, known = [float(own[0]) if own.size else 0.0], known[:1]
    for each in known:
        assert primal(state, b) <= min(primal(each, x) for x in grid) * (1 + 1e-3)


def test_between_two_samples_a_stop_returns_no_worse_than_the_last_one():
    """P of the model of the sample that was solved last, D of the newest β."""
    problem = PROBLEMS["svc"](y, t, w)
    moments = []

    def compare(progress):
        if run.settled is None:
            return
        found = certify(problem, progress.result())
        beta, f = run.settled.beta, K @ run.settled.beta
        (_, result), *_ = snapshot(problem, beta, f)
        of_sample = certify(problem, replace(result, diag=upper_diagonal(GRAM))).primal
        newest = dual_value(problem, progress.beta())
        moments.append((found.gap, of_sample - newest, np.count_nonzero(beta)))

    with Stopping(callback=compare) as stopping:
        limits = stopping, 1e-3, np.inf, 1 << 20
        settings = small(first_sample=60, reconstruction_seconds=10.0)
        run = DecompositionSMO(problem, GRAM, *limits, problem.start, settings=settings)
        run.run()
    assert len({size for _, _, size in moments}) > 2  # samples of several sizes
    for gap, bound, _ in moments:
        assert gap <= bound * 1.001 + 1e-3
