"""Every status is reached, on the whole matrix and by decomposition, with a sound result."""

import os
import signal
import time

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer._result import Status
from mercer.kernels import RBF, Linear, Precomputed
from mercer.problems import one_class, svc
from mercer.solvers import Stopping
from mercer.solvers.smo._decomposition import DecompositionSMO
from tests.solvers.small import make_data, make_gram, small, solve

X, y, t, w = make_data(240)
ROUGH = RBF(gamma=3.0)
BOTH = pytest.mark.parametrize("dense", [10**9, 0], ids=["dense", "decomposition"])


def check_answer(problem, result, gram):
    """For every status: β feasible, f = Kβ."""
    assert np.all((result.beta >= problem.lower) & (result.beta <= problem.upper))
    size = np.abs(result.beta).sum()
    assert result.beta.sum() == pytest.approx(problem.start.sum(), abs=1e-11 * size)
    assert_allclose(
        result.f, gram.matrix() @ result.beta, atol=1e-11 * size + np.max(result.f_error)
    )


@BOTH
def test_solved(dense):
    result = solve(svc(y, 1.0), make_gram(ROUGH, X), settings=small(dense=dense))
    assert result.status is Status.SOLVED
    assert result.status.is_solved
    assert str(result.status) == "solved"


@BOTH
@pytest.mark.parametrize("max_iter", [0, 1, 50])
@pytest.mark.parametrize("problem", [svc(y, 10.0), one_class(0.5, w)], ids=["svc", "one-class"])
def test_iteration_limit(dense, max_iter, problem):
    gram = make_gram(ROUGH, X)
    result = solve(problem, gram, max_iter=max_iter, tol=1e-6, settings=small(dense=dense))
    assert result.status is Status.ITERATION_LIMIT
    assert result.iterations == max_iter
    assert result.violation > 1e-6
    check_answer(problem, result, gram)


@BOTH
@pytest.mark.parametrize("time_limit", [0.0, 0.1])
def test_time_limit(dense, time_limit):
    """The callback takes its time: how fast the machine is does not matter."""
    gram, problem = make_gram(Linear(), X), svc(y, 1e9)
    stopping = Stopping(time_limit, callback=lambda progress: time.sleep(0.06))
    result = solve(problem, gram, stopping=stopping, tol=1e-13, settings=small(dense=dense))
    assert result.status is Status.TIME_LIMIT
    assert time_limit <= result.seconds < time_limit + 0.3
    assert (result.iterations > 0) == (time_limit > 0)
    check_answer(problem, result, gram)


NO_RECONSTRUCTION = small(reconstruction_seconds=0.0)


def test_when_time_is_up_among_samples_the_last_answer_is_kept(monkeypatch):
    """Also where f of it at all points takes long: time was kept for that."""
    solve_sample, answers = DecompositionSMO._solve_sample, []

    def two_samples(run):
        solve_sample(run)
        answers.append(run.beta.copy())
        if len(answers) == 2:
            run.stopping.time_limit = 0.0

    monkeypatch.setattr(DecompositionSMO, "_solve_sample", two_samples)
    gram, problem = make_gram(ROUGH, X), svc(y, 1.0)
    stopping = Stopping(time_limit=1000.0)
    result = solve(problem, gram, stopping=stopping, settings=NO_RECONSTRUCTION)
    assert result.status is Status.TIME_LIMIT
    assert np.count_nonzero(answers[1]) > np.count_nonzero(answers[0]) > 0
    assert_allclose(result.beta, answers[1], rtol=0, atol=1e-12)  # but for the rounding of Σβ
    check_answer(problem, result, gram)
    assert result.furthest.size == y.size


def test_a_warm_start_goes_on_from_the_last_step_though_the_answer_is_an_earlier_one():
    """Its dual value is at least as large: steps only raise it."""
    gram, problem = make_gram(Linear(), X), svc(y, 1e4)
    K, told = gram.matrix(), []
    stopping = Stopping(callback=lambda progress: told.append(progress) or len(told) == 30)
    settings = NO_RECONSTRUCTION
    result = solve(problem, gram, stopping=stopping, tol=1e-12, settings=settings)
    assert result.status is Status.STOPPED

    def dual(beta):
        return problem.target @ beta - beta @ K @ beta / 2

    assert dual(result.reached) > dual(result.beta)
    assert np.all((result.reached >= problem.lower) & (result.reached <= problem.upper))
    goes_on = solve(problem, gram, start=result.reached, max_iter=0, settings=settings)
    assert_allclose(goes_on.beta, result.reached, rtol=1e-12, atol=1e-9)


@BOTH
def test_stopped_by_the_callback(dense):
    problem, gram, told = svc(y, 1e9), make_gram(Linear(), X), []
    stopping = Stopping(callback=lambda progress: told.append(progress) or len(told) == 3)
    result = solve(problem, gram, stopping=stopping, tol=1e-12, settings=small(dense=dense))
    assert result.status is Status.STOPPED
    assert len(told) == 3
    assert [p.rounds for p in told] == sorted(p.rounds for p in told)
    assert [p.iterations for p in told] == sorted(p.iterations for p in told)
    assert all(p.tol == 1e-12 and p.violation > 1e-12 for p in told)
    check_answer(problem, result, gram)


@BOTH
def test_stopped_by_ctrl_c_which_goes_through_at_the_end(dense):
    problem, gram = svc(y, 1e9), make_gram(Linear(), X)
    before, answers, told = signal.getsignal(signal.SIGINT), [], []

    def interrupted():
        def send(progress):
            told.append(progress)
            if len(told) == 3:
                os.kill(os.getpid(), signal.SIGINT)

        with Stopping(callback=send) as stopping:
            answers.append(
                solve(problem, gram, stopping=stopping, tol=1e-14, settings=small(dense=dense))
            )

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert answers[0].status is Status.STOPPED
    assert 3 <= len(told) <= 4  # it ends in the round after the signal at the latest
    check_answer(problem, answers[0], gram)
    assert signal.getsignal(signal.SIGINT) is before


def test_stalled():
    """float64 ends near 1e-15: a tolerance far below is out of reach, and never called solved."""
    problem, gram = svc(y, 100.0), make_gram(ROUGH, X)
    stalled = solve(problem, gram, tol=1e-18)
    assert stalled.status is Status.STALLED
    assert not stalled.status.is_solved
    assert 1e-17 < stalled.violation < 1e-9
    check_answer(problem, stalled, gram)


@BOTH
@pytest.mark.parametrize("C", [1.0, 1e4])
def test_kernel_not_psd(dense, C):
    """A symmetric matrix with random signs: ends at a stationary point inside the box."""
    A = np.random.default_rng(3).normal(size=(240, 240))
    problem, gram = svc(y, C), make_gram(Precomputed(), (A + A.T) / 2)
    result = solve(problem, gram, stopping=Stopping(time_limit=5.0), settings=small(dense=dense))
    assert result.status is Status.NOT_PSD
    check_answer(problem, result, gram)


@BOTH
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_not_separable(dense, fit_intercept):
    """Hard margin on overlapping classes, and on one point with both labels."""
    problem = svc(y, np.inf, fit_intercept=fit_intercept)
    result = solve(
        problem,
        make_gram(Linear(), X),
        stopping=Stopping(time_limit=5.0),
        settings=small(dense=dense),
    )
    assert result.status is Status.NOT_SEPARABLE
    twins = X.copy()
    i, j = np.flatnonzero(y > 0)[0], np.flatnonzero(y < 0)[0]
    twins[i] = twins[j]
    result = solve(
        problem,
        make_gram(ROUGH, twins),
        stopping=Stopping(time_limit=5.0),
        settings=small(dense=dense),
    )
    assert result.status is Status.NOT_SEPARABLE


@BOTH
def test_hard_margin_where_the_classes_can_be_separated(dense):
    """The margin is that of the two nearest points of a gap: 2/‖w‖ = 2."""
    apart = X.copy()
    apart[:, 0] = y * (1 + np.abs(X[:, 0]))
    apart[:2], labels = [[1, 0, 0], [-1, 0, 0]], y.copy()
    labels[:2] = 1, -1
    gram = make_gram(Linear(), apart)
    result = solve(svc(labels, np.inf), gram, tol=1e-6, settings=small(dense=dense))
    assert result.status is Status.SOLVED
    assert result.beta @ result.f <= 1 + 1e-5  # ‖w‖² ≤ that of w = (1, 0, 0)
    assert np.min(labels * (result.f + result.b[0])) >= 1 - 1e-5
