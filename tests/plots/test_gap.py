"""Traces: every state that a solver shows has a gap, and the last one is the certificate's."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_moons
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mercer
from mercer.plots import GapDisplay, Trace
from mercer.solvers import Progress, Stopping

X, y = make_moons(150, noise=0.3, random_state=0)

MACHINES = [
    mercer.SVC(C=10.0),
    mercer.SVC(solver="platt"),
    mercer.SVC(solver="projected-gradient", fit_intercept=False, kernel="linear", C=0.1),
    mercer.NuSVC(),
    mercer.SVR(),
    mercer.NuSVR(),
    mercer.OneClassSVM(nu=0.2),
    mercer.LinearSVC(),
    mercer.LinearSVC(loss="hinge"),
    mercer.LinearSVC(loss="hinge", dual=True),
    mercer.LinearSVR(epsilon=0.2),
    mercer.LogisticRegression(),
    mercer.KernelLogisticRegression(),
]


@pytest.mark.parametrize("machine", MACHINES, ids=repr)
def test_gaps_close_and_end_at_the_certificate(machine):
    display = GapDisplay.from_estimator(machine, X, y)
    points = display.trace.points
    assert len(points) >= 3
    assert not hasattr(machine, "n_features_in_")
    last = display.certificate
    assert (points[-1].primal, points[-1].gap) == (last.primal, last.gap)
    for point in points:
        assert point.gap >= 0
        assert point.primal - point.dual == pytest.approx(point.gap, rel=1e-9, abs=1e-9)
        assert point.dual <= last.primal * (1 + 1e-12)  # no model is below any dual value
        assert point.primal >= last.dual * (1 - 1e-12)  # and no state below the last one
    assert points[-1].gap < 0.05 * points[0].gap
    assert np.all(np.diff([point.seconds for point in points]) >= 0)


def test_working_sets_show_their_state_too():
    from mercer.solvers.smo import SMO, SMOSettings

    solver = SMO(settings=SMOSettings(dense_variables=10))
    big, labels = make_moons(600, noise=0.3, random_state=1)
    display = GapDisplay.from_estimator(mercer.SVC(C=10.0, solver=solver), big, labels)
    gaps = [point.relative_gap for point in display.trace.points]
    assert len(gaps) >= 3
    assert min(gaps) >= 0
    assert gaps[-1] < 1e-3 < gaps[0]


def test_recording_does_not_change_the_model():
    alone = mercer.SVC(C=10.0, tol=1e-6).fit(X, y)
    watched = mercer.SVC(C=10.0, tol=1e-6, callback=Trace()).fit(X, y)
    assert np.allclose(alone.decision_function(X), watched.decision_function(X), atol=1e-4)


@pytest.mark.parametrize(
    "machine",
    [mercer.SVC(C=100.0), mercer.LinearSVC(), mercer.KernelLogisticRegression()],
    ids=repr,
)
def test_several_tasks_keep_their_numbers(machine):
    data = load_iris()
    display = GapDisplay.from_estimator(machine, data.data, data.target)
    proofs = display.certificate.tasks
    assert display.names == [proof.name for proof in proofs]
    for task, proof in enumerate(proofs):
        mine = [point for point in display.trace.points if point.task == task]
        assert mine[-1].primal == proof.primal
        # The states of a task are states of that task: their values enclose its optimum.
        assert all(point.dual <= proof.primal * (1 + 1e-9) for point in mine)
        assert all(point.primal >= proof.dual * (1 - 1e-9) for point in mine)


def test_reports_of_several_tasks_tell_which():
    data = load_iris()
    seen = []
    mercer.SVC(C=100.0, callback=seen.append).fit(data.data, data.target)
    assert {(progress.task, progress.n_tasks) for progress in seen} == {(0, 3), (1, 3), (2, 3)}


def test_control_of_a_task_stops_the_whole_fit():
    control = Stopping(callback=lambda progress: True)
    part = control.of_task(1, 3)
    part.report(Progress(0.0, 1, 1, 1.0, 1e-3))
    assert control.stopped is not None
    assert part.stopped is control.stopped


def test_machines_that_tell_no_duals_are_drawn_by_their_measure():
    for machine in (
        mercer.KernelKMeans(2, random_state=0),
        mercer.KernelRidge(kernel="rbf", solver="cg"),
        mercer.SVC(solver="qp"),
        mercer.PegasosClassifier(max_iter=20, tol=0.5, random_state=0),
    ):
        display = GapDisplay.from_estimator(machine, X, y)
        assert not display.has_gaps
        assert len(display.axes_) == 1


def test_a_pipeline_weights_and_options():
    weight = np.where(y == 1, 2.0, 0.5)
    pipeline = make_pipeline(StandardScaler(), mercer.SVC())
    display = GapDisplay.from_estimator(pipeline, X, y, sample_weight=weight, against="seconds")
    expected = mercer.SVC().fit(StandardScaler().fit_transform(X), y, sample_weight=weight)
    assert display.certificate.primal == pytest.approx(expected.certificate_.primal, rel=1e-3)
    with pytest.raises(ValueError, match="against must be"):
        display.plot(against="epochs")


def test_the_user_s_own_callback_is_told_and_can_stop():
    told = []
    trace = Trace(lambda progress: told.append(progress) or len(told) == 2)
    model = mercer.SVC(C=1e3, tol=1e-8, callback=trace).fit(X, y)
    assert len(told) == len(trace.violation) == 2
    assert model.certificate_.status is mercer.Status.STOPPED


def test_machines_that_report_nothing_are_refused():
    """Direct solutions have nothing to report before their end."""
    for machine in (mercer.KernelRidge(), mercer.KernelPCA(2)):
        with pytest.raises(ValueError, match="without iterations"):
            GapDisplay.from_estimator(machine, X, y)
    with pytest.raises(ValueError, match="StandardScaler has no parameter callback"):
        GapDisplay.from_estimator(StandardScaler(), X, y)
