"""What a stopped fit states is true, and its gap falls from one stop to the next."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from mercer._result import Status
from mercer.certificates._box_qp import LATER_DUAL, certify
from mercer.kernels import RBF
from mercer.problems import svc
from mercer.solvers._solution import snapshot, upper_diagonal
from mercer.solvers._stopping import Stopping
from mercer.solvers.smo import SMO
from mercer.solvers.smo._decomposition import DecompositionSMO
from mercer.solvers.smo._early_stop import Settled, dual_bound
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
        assert dual_bound(problem, run.gradient, diag, settled, later) == -np.inf
        run.gradient.deactivate(np.arange(1, len(X), 2), run.beta)
        change = problem.at_points(later - run.beta, len(X))
        run.gradient.record_change(np.arange(len(X)), change)
        run.gradient.update(later)
        bound = dual_bound(problem, run.gradient, diag, settled, later)
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
