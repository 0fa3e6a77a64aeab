"""The model of a fit at any moment: `Progress.model`, and the callback that records it."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_moons

import mercer
from mercer.plots import AnytimeDisplay, AnytimeTrace
from mercer.plots._base import APART

# From 1,536 variables on SMO decomposes the problem.
SIZES = {"whole matrix": 300, "decomposition": 2400}
MACHINES = {
    "svc": mercer.SVC(C=100.0),
    "squared hinge": mercer.SVC(C=10.0, loss="squared_hinge"),
    "nu-svc": mercer.NuSVC(nu=0.3),
    "svr": mercer.SVR(C=10.0, epsilon=0.05),
    "nu-svr": mercer.NuSVR(nu=0.3),
    "one-class": mercer.OneClassSVM(nu=0.2),
}
NEW, LABELS = make_moons(300, noise=0.3, random_state=1)


def data_of(size):
    return make_moons(SIZES[size], noise=0.3, random_state=0)


class Asks:
    """A callback that asks for the model at every ``step``-th report."""

    def __init__(self, step):
        self.step, self.seen, self.models = step, 0, []

    def __call__(self, progress):
        if self.seen % self.step == 0:
            self.models.append(progress.model())
        self.seen += 1


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", MACHINES)
def test_the_model_of_a_moment_states_what_is_true(name, size):
    X, y = data_of(size)
    machine = MACHINES[name]
    asks = Asks(1 if size == "whole matrix" else 6)
    clone(machine).set_params(callback=asks).fit(X, y)
    exact = clone(machine).set_params(tol=1e-6).fit(X, y)
    optimum, size_of_it = exact.certificate_, abs(exact.certificate_.primal)
    assert len(asks.models) > 1
    for model in asks.models:
        found = model.certificate_
        assert found.dual <= optimum.primal + 1e-9 * size_of_it
        assert found.primal >= optimum.dual - 1e-9 * size_of_it
        assert np.isfinite(model.predict(X[:5])).all()
    verified = mercer.verify(asks.models[-1], X, y)
    assert verified.gap <= asks.models[-1].certificate_.gap * (1 + 1e-6) + 1e-9 * size_of_it


@pytest.mark.parametrize("size", SIZES)
def test_a_fit_does_not_depend_on_who_asks(size):
    X, y = data_of(size)
    asked = mercer.SVC(C=100.0, callback=Asks(1)).fit(X, y)
    alone = mercer.SVC(C=100.0, callback=lambda progress: None).fit(X, y)
    assert np.array_equal(asked.support_, alone.support_)
    assert np.array_equal(asked.dual_coef_, alone.dual_coef_)
    assert asked.certificate_.gap == alone.certificate_.gap


def test_the_model_of_a_moment_is_that_of_a_stop_then():
    """A stop takes effect after the working set, before the next report."""
    X, y = data_of("decomposition")
    asks, stops = Asks(1), []
    mercer.SVC(C=100.0, callback=asks).fit(X, y)
    for k in (4, 5, 8):
        stops.clear()
        stopped = mercer.SVC(C=100.0, callback=lambda _, k=k: stops.append(1) or len(stops) == k)
        stopped.fit(X, y)
        then = asks.models[k]
        assert np.array_equal(then.support_, stopped.support_)
        assert np.array_equal(then.dual_coef_, stopped.dual_coef_)
        assert then.certificate_.gap == pytest.approx(stopped.certificate_.gap, rel=1e-12)


def test_best_and_moments():
    X, y = data_of("whole matrix")
    trace = AnytimeTrace((NEW, LABELS), free_seconds=100.0)
    model = mercer.SVC(C=100.0, callback=trace).fit(X, y)
    trace.finish(model)
    gaps = [each.gap for each in trace.moments]
    assert trace.best.certificate_.relative_gap == min(gaps) == gaps[-1]
    assert trace.moments[-1].score == model.score(NEW, LABELS)
    assert [each.seconds for each in trace.moments] == sorted(
        each.seconds for each in trace.moments
    )
    display = AnytimeDisplay.from_trace(trace, ax=APART)
    assert display.gaps.tolist() == [min(gaps[: k + 1]) for k in range(len(gaps))]
    assert display.scores[-1] == trace.best.score(NEW, LABELS)
    assert display.axes_[1].get_xlabel() == "seconds of the fit"


def test_a_fit_stops_when_the_held_out_scores_are_settled():
    X, y = data_of("decomposition")
    trace = AnytimeTrace(
        (NEW, LABELS), stop_when="validation settled", within=1.0, free_seconds=100.0
    )
    model = mercer.SVC(C=1e4, callback=trace).fit(X, y)
    assert trace.has_settled
    assert str(model.certificate_.status) == "stopped by the user"
    now = trace.moments[-1].seconds
    assert sum(each.seconds >= now / 2 for each in trace.moments) >= 3
    narrow = AnytimeTrace((NEW, LABELS), stop_when="validation settled", within=-1.0)
    solved = mercer.SVC(callback=narrow).fit(X, y)
    assert not narrow.has_settled
    assert str(solved.certificate_.status) == "solved"


def test_what_cannot_be_asked_is_told():
    X, y = data_of("whole matrix")
    with pytest.raises(ValueError, match="stop_when must be None or 'validation settled'"):
        AnytimeTrace(stop_when="gap settled")
    with pytest.raises(ValueError, match="needs validation"):
        AnytimeTrace(stop_when="validation settled")
    with pytest.raises(ValueError, match="The trace has no moments"):
        AnytimeDisplay.from_trace(AnytimeTrace(), ax=APART)
    three = np.arange(len(y)) % 3
    with pytest.raises(ValueError, match="of one task"):
        mercer.SVC(callback=AnytimeTrace()).fit(X, three)
    with pytest.raises(ValueError, match="of one task"):
        mercer.LinearSVC(callback=AnytimeTrace()).fit(X, y)
