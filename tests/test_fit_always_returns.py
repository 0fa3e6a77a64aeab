"""Limits, Ctrl-C and callbacks: a fit returns in time with a usable model whose gap is stated."""

import os
import signal
import threading
import time
import warnings
from itertools import pairwise

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning

import mercer
from mercer import SVC, SVR, NuSVC
from mercer._multiclass import pairs
from mercer._result import Status
from mercer.estimators.svm import _after_stop
from mercer.estimators.svm._solve import FitSettings
from mercer.exceptions import InterruptWarning
from mercer.kernels import RBF
from mercer.solvers import SMO, Stopping
from tests.solvers.small import make_data, small

# Linear with an enormous C on overlapping classes: hours of pair updates.
X, y, t, _ = make_data(1200)
HARD = {"kernel": "linear", "C": 1e9, "tol": 1e-12}
pytestmark = pytest.mark.serial
DENSE = pytest.mark.parametrize("dense", [10**9, 0], ids=["dense", "decomposition"])


def smo(dense=0):
    return SMO(settings=small(dense=dense))


def now():
    return time.perf_counter(), time.process_time()


def elapsed(since):
    """Seconds, without those that other processes took from this one."""
    return min(now()[0] - since[0], now()[1] - since[1])


@pytest.fixture(autouse=True, scope="module")
def _compiled():
    """Compiling is not part of what is timed."""
    SVC(kernel="linear").fit(X[:50], y[:50])
    SVC(kernel="linear", solver=smo()).fit(X[:300], y[:300])


def check_usable(model, labels):
    """Predictions are there, and verify finds a gap no larger than stated, nor half as large."""
    assert np.isfinite(model.predict(X).astype(float)).all()
    certificate, found = model.certificate_, mercer.verify(model, X, labels)
    assert np.isfinite(certificate.gap)
    assert found.gap_low <= certificate.gap <= 2 * found.gap + 1e-9 * certificate.primal


@DENSE
@pytest.mark.parametrize(("Machine", "labels"), [(SVC, y), (SVR, t)])
def test_time_limit(dense, Machine, labels):
    model = Machine(time_limit=0.2, solver=smo(dense), **HARD)
    began = now()
    with pytest.warns(ConvergenceWarning, match=r"time limit.*violation.*gap"):
        model.fit(X, labels)
    assert time.perf_counter() - began[0] >= 0.2
    assert elapsed(began) < 0.7
    assert model.certificate_.status is Status.TIME_LIMIT
    assert model.fit_status_ == 1
    check_usable(model, labels)


def test_time_limit_covers_all_tasks_of_a_multiclass_fit():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 30, len(X))
    for _ in range(2):  # the first may compile, which no limit interrupts
        began = now()
        with pytest.warns(ConvergenceWarning, match=r"time limit.*of 435 tasks"):
            model = SVC(time_limit=0.2, **HARD).fit(X, labels)
    assert elapsed(began) < 1.2
    assert model.predict(X[:5]).shape == (5,)
    assert np.isfinite(model.certificate_.gap)


def test_tasks_that_used_up_their_share_go_on_while_there_is_time():
    """Cut short at once, all of them, they end where a fit without a limit does."""
    labels = np.digitize(X[:900, 0] + t[:900], [-0.5, 0.5])
    free = SVC(C=2.0, tol=1e-6, solver=smo()).fit(X[:900], labels).certificate_
    model = SVC(C=2.0, tol=1e-6, solver=smo(), time_limit=1000.0)
    model._fit_settings = FitSettings(task_time_fraction=1e-5)
    cut = model.fit(X[:900], labels).certificate_
    assert cut.status is Status.SOLVED
    assert cut.dual == pytest.approx(free.dual, abs=cut.gap + free.gap)


def test_a_task_has_its_share_of_the_time_that_is_left():
    stopping = Stopping(time_limit=100.0)
    assert stopping.of_task(0, 4, 0.25).time_limit == pytest.approx(25.0, abs=1.0)
    assert stopping.of_task(0, 4, 2.0).time_limit == 100.0
    part = stopping.of_task(0, 4, 0.0)
    assert part.stopped is Status.TIME_LIMIT
    assert stopping.stopped is None
    assert Stopping().of_task(0, 4, 0.0).stopped is None


@DENSE
@pytest.mark.parametrize(("Machine", "labels"), [(SVC, y), (SVR, t)])
def test_ctrl_c_answers_at_once_and_goes_through(dense, Machine, labels):
    model, pressed = Machine(solver=smo(dense), **HARD), []

    def press():
        pressed.append(now())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(0.2, press)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, labels)
    assert elapsed(pressed[0]) < 0.5
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert model.certificate_.status is Status.STOPPED
    check_usable(model, labels)


def test_tasks_not_begun_before_a_stop_are_fitted_to_samples():
    """Without it most pairs of classes would have no support vectors, and no say."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 6, 3000)
    rows = 1.5 * rng.normal(size=(6, 5))[labels] + rng.normal(size=(3000, 5))
    model = SVC(callback=lambda progress: True).fit(rows, labels)
    assert model.certificate_.status is Status.STOPPED
    assert model.score(rows, labels) > 0.9 * SVC().fit(rows, labels).score(rows, labels)
    assert all(task.n_free + task.n_bound > 0 for task in model.certificate_.tasks)
    assert np.isfinite(model.certificate_.gap)


class CountingRBF(RBF):
    """Counts the kernel values that are computed after a stop."""

    stopped = False
    values = 0

    def tile(self, A, B, out):
        super().tile(A, B, out)
        CountingRBF.values += out.size if CountingRBF.stopped else 0


@pytest.fixture
def many_pairs():
    """Eight overlapping classes of 150 rows, and four of ten rows that lie apart."""
    rng = np.random.default_rng(3)
    labels = np.repeat(np.arange(12), [150] * 8 + [10] * 4)
    rows = rng.normal(size=(labels.size, 5)) + 3.0 * np.eye(12, 5, -7)[labels]
    return rows, labels


def press_once(progress):
    if not CountingRBF.stopped:
        CountingRBF.stopped = True
        os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize("how", ["Ctrl-C", "callback"])
def test_tasks_after_a_stop_cost_kernel_values_of_samples_only(monkeypatch, many_pairs, how):
    rows, labels = many_pairs
    monkeypatch.setattr(CountingRBF, "stopped", False)
    monkeypatch.setattr(CountingRBF, "values", 0)

    def stop(progress):
        CountingRBF.stopped = True
        return True

    model = SVC(kernel=CountingRBF(gamma=0.2), n_jobs=1, on_interrupt="return")
    model._fit_settings = FitSettings(sample_points=20, sample_seconds=1000.0, sums_seconds=1000.0)
    model.set_params(callback=press_once if how == "Ctrl-C" else stop)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InterruptWarning)
        model.fit(rows, labels)
    sizes = [int(np.isin(labels, pair).sum()) for pair in pairs(12)]
    own, sample = 2 * max(sizes) ** 2, (12 * 10) ** 2  # of the task that was begun
    assert 0 < CountingRBF.values <= 20 * sum(sizes) + sample + own
    assert CountingRBF.values < 0.3 * sum(size**2 for size in sizes)
    assert model.certificate_.status is Status.STOPPED
    assert np.isfinite(model.certificate_.gap)


def test_the_message_of_ctrl_c_counts_what_was_fitted_to_samples(monkeypatch, many_pairs):
    """Pairs of small classes are their own samples: these are solved, and not counted."""
    rows, labels = many_pairs
    monkeypatch.setattr(CountingRBF, "stopped", False)
    model = SVC(gamma=0.2, n_jobs=1, on_interrupt="return", callback=press_once)
    model._fit_settings = FitSettings(sample_points=20, sample_seconds=1000.0, sums_seconds=1000.0)
    begun, small = 1, 4 * 3 // 2
    few = len(pairs(12)) - begun - small
    with pytest.warns(InterruptWarning, match=f"; {few} of 66 tasks were fitted to samples only"):
        model.fit(rows, labels)
    solved = [task.status.is_solved for task in model.certificate_.tasks]
    assert sum(solved) == small


def test_tasks_in_a_hurry_have_a_bound_of_their_gap(monkeypatch, many_pairs):
    """Without time to compute f at all rows the model is the same one, and its gap is bounded."""
    rows, labels = many_pairs
    models = []
    for seconds in (1000.0, 1e-9):
        monkeypatch.setattr(CountingRBF, "stopped", False)
        model = SVC(gamma=0.2, n_jobs=1, on_interrupt="return", callback=press_once)
        model._fit_settings = FitSettings(
            sample_points=20, sample_seconds=1000.0, sums_seconds=seconds
        )
        with pytest.warns(InterruptWarning, match="Ctrl-C"):
            models.append(model.fit(rows, labels))
    slow, fast = models
    assert (slow.support_ == fast.support_).all()
    assert (slow.dual_coef_ == fast.dual_coef_).all()
    found = mercer.verify(fast, rows, labels)
    assert np.isfinite(fast.certificate_.gap)
    assert found.gap_low <= fast.certificate_.gap
    assert slow.certificate_.gap <= fast.certificate_.gap


def test_all_samples_are_solved_before_f_is_computed_at_all_rows(monkeypatch, many_pairs):
    """Squared slack, one by one: however long the sums take, no task is without support vectors."""
    rows, labels = many_pairs
    monkeypatch.setattr(CountingRBF, "stopped", False)
    order = []

    def noted(name, function):
        def call(*arguments):
            order.append(name)
            return function(*arguments)

        return call

    for name in ("solve_within_reach", "make_result"):
        monkeypatch.setattr(_after_stop, name, noted(name, getattr(_after_stop, name)))
    model = SVC(loss="squared_hinge", n_jobs=1, on_interrupt="return", callback=press_once)
    model._fit_settings = FitSettings(sample_seconds=1000.0, task_seconds=1000.0, sums_seconds=0.0)
    with pytest.warns(InterruptWarning, match="tasks were fitted to samples only"):
        model.fit(rows, labels)
    assert order == ["solve_within_reach"] * 65 + ["make_result"] * 65
    assert all(task.n_support > 0 for task in model.certificate_.tasks)
    found = mercer.verify(model, rows, labels)
    assert found.gap_low <= model.certificate_.gap


@pytest.mark.parametrize("seconds", [1000.0, 0.0])
def test_tasks_of_nu_that_were_not_begun_keep_their_start(monkeypatch, many_pairs, seconds):
    """f = Kβ of starts that are not zero is computed while there is time, and bounded after it."""
    rows, labels = many_pairs
    monkeypatch.setattr(CountingRBF, "stopped", False)
    monkeypatch.setattr(CountingRBF, "values", 0)
    kernel = CountingRBF(gamma=0.2)
    model = NuSVC(nu=0.1, kernel=kernel, n_jobs=1, on_interrupt="return", callback=press_once)
    model._fit_settings = FitSettings(sample_points=20, sums_seconds=seconds)
    with pytest.warns(InterruptWarning, match="65 of 66 tasks kept the duals that they began with"):
        model.fit(rows, labels)
    sizes = [int(np.isin(labels, pair).sum()) for pair in pairs(12)]
    starts = sum(0.1 * size * (20 if seconds == 0 else size) for size in sizes)
    assert CountingRBF.values <= 1.1 * starts + 2 * max(sizes) ** 2
    assert all(task.n_support > 0 for task in model.certificate_.tasks)
    found = mercer.verify(model, rows, labels)
    assert found.gap_low <= model.certificate_.gap


def test_the_message_of_ctrl_c_counts_tasks_that_were_not_fitted(monkeypatch, many_pairs):
    """Squared slack: tasks are solved one by one, here none of them in time."""
    rows, labels = many_pairs
    monkeypatch.setattr(CountingRBF, "stopped", False)
    model = SVC(loss="squared_hinge", n_jobs=1, on_interrupt="return", callback=press_once)
    model._fit_settings = FitSettings(sample_seconds=1e-9)
    with pytest.warns(InterruptWarning, match="; 65 of 66 tasks were not fitted"):
        model.fit(rows, labels)


def test_the_message_of_ctrl_c_counts_the_tasks_fitted_to_samples():
    stopping = Stopping(on_interrupt="return")
    stopping.note = "12 of 21 tasks were fitted to samples only"
    with pytest.warns(InterruptWarning, match="12 of 21 tasks"), stopping:
        stopping._on_interrupt(signal.SIGINT, None)


def test_ctrl_c_outside_the_main_thread_is_left_alone():
    """Only the main thread may set a handler: a fit elsewhere works without one."""
    before, models = signal.getsignal(signal.SIGINT), []
    thread = threading.Thread(target=lambda: models.append(SVC().fit(X[:50], y[:50])))
    thread.start()
    thread.join()
    assert models[0].certificate_.status is Status.SOLVED
    assert signal.getsignal(signal.SIGINT) is before


def test_a_user_s_own_handler_is_left_alone():
    calls = []
    before = signal.signal(signal.SIGINT, lambda *args: calls.append(args))
    try:
        timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with pytest.warns(ConvergenceWarning):
            SVC(time_limit=0.3, **HARD).fit(X, y)
        assert len(calls) == 1
    finally:
        signal.signal(signal.SIGINT, before)


@DENSE
@pytest.mark.parametrize("limit", ["time_limit", "max_iter", "callback"])
@pytest.mark.parametrize(("Machine", "labels"), [(SVC, y), (SVR, t)])
def test_warm_start_goes_on_from_there(dense, limit, Machine, labels):
    """Stopped half way, then continued: solved with fewer updates than from scratch."""
    settings = {"gamma": 2.0, "C": 3.0, "tol": 1e-4, "warm_start": True, "solver": smo(dense)}
    fresh = Machine(**settings).fit(X, labels)
    assert fresh.certificate_.status is Status.SOLVED
    half = fresh.n_iter_ if isinstance(fresh.n_iter_, int) else int(fresh.n_iter_[0])
    half = half * 2 // 3
    stop = {
        "time_limit": {"time_limit": fresh.certificate_.seconds / 2},
        "max_iter": {"max_iter": half},
        "callback": {"callback": lambda progress: progress.iterations >= half // 2},
    }[limit]
    model = Machine(**settings).set_params(**stop)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, labels)
    first = model.certificate_
    if limit == "max_iter":
        assert first.status is Status.ITERATION_LIMIT
        assert first.iterations == half
    check_usable(model, labels)
    model.set_params(time_limit=None, max_iter=-1, callback=None).fit(X, labels)
    assert model.certificate_.status is Status.SOLVED
    assert model.certificate_.primal == pytest.approx(fresh.certificate_.primal, rel=1e-3)
    if limit == "max_iter":
        assert model.certificate_.iterations < fresh.certificate_.iterations


def test_max_iter_says_so_and_names_the_lever():
    model = SVC(max_iter=5)
    with pytest.warns(ConvergenceWarning, match=r"max_iter=5.*StandardScaler.*violation.*tol"):
        model.fit(X, y)
    assert model.certificate_.status is Status.ITERATION_LIMIT
    assert int(np.sum(model.n_iter_)) == 5
    check_usable(model, y)
    with pytest.warns(ConvergenceWarning, match="column 1"):
        SVC(max_iter=5).fit(X * [1, 1e4, 1], y)


def test_the_callback_is_told_of_falling_violations_and_can_stop():
    told = []
    model = SVC(gamma=2.0, C=30.0, tol=1e-5, solver=smo(), callback=told.append).fit(X, y)
    assert model.certificate_.status is Status.SOLVED
    assert len(told) > 5
    assert told[-1].violation < 0.01 * told[0].violation
    assert all(p.seconds <= q.seconds for p, q in pairwise(told))
    assert all(p.iterations <= q.iterations for p, q in pairwise(told))
    assert told[-1].iterations <= model.certificate_.iterations
    seen = len(told) // 2
    count = iter(range(10**6))
    stopped = SVC(
        gamma=2.0, C=30.0, tol=1e-5, solver=smo(), callback=lambda p: next(count) == seen
    ).fit(X, y)
    assert next(count) == seen + 1
    assert stopped.certificate_.status is Status.STOPPED
    check_usable(stopped, y)


def test_an_error_in_the_callback_goes_through():
    def fails(progress):
        raise RuntimeError("from the callback")

    with pytest.raises(RuntimeError, match="from the callback"):
        SVC(callback=fails).fit(X, y)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("gamma", [0.5, 50.0])
def test_limits_at_full_size(gamma):
    """Real constants, rows of which most are support vectors: stopping itself must be quick."""
    rows, labels = make_classification(6000, 20, n_informative=5, random_state=0)
    SVC(callback=lambda progress: True).fit(rows, labels)  # compile
    model = SVC(C=1e3, gamma=gamma, tol=1e-9, time_limit=0.05)
    began = now()
    with pytest.warns(ConvergenceWarning, match="time limit"):
        model.fit(rows, labels)
    assert elapsed(began) < 0.05 + 0.5
    assert np.isfinite(model.certificate_.gap)


def test_ctrl_c_goes_through_a_fit_that_raises():
    def fit():
        with Stopping() as stopping:
            stopping._on_interrupt(signal.SIGINT, None)
            raise ValueError("of the fit")

    with pytest.raises(KeyboardInterrupt) as caught:
        fit()
    assert isinstance(caught.value.__context__, ValueError)
