"""Time limits against gaps: each point is the model of a fit with that limit."""

import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mercer
from mercer.plots import AnytimeDisplay
from mercer.plots._base import APART

X, y = make_moons(500, noise=0.3, random_state=0)
NEW, LABELS = make_moons(200, noise=0.3, random_state=1)


def test_the_points_are_models_and_the_last_is_solved():
    model = mercer.SVC(C=10.0)
    display = AnytimeDisplay.from_estimator(
        model, X, y, validation=(NEW, LABELS), limits=[1e-9, 100.0], ax=APART
    )
    whole = mercer.SVC(C=10.0).fit(X, y)
    assert not hasattr(model, "certificate_")
    assert display.limits.tolist() == [1e-9, 100.0, np.inf]
    assert display.gaps[0] > 0.1 > display.gaps[1] == display.gaps[2]
    assert display.gaps[2] == whole.certificate_.relative_gap
    assert display.scores[2] == whole.score(NEW, LABELS)
    assert len(display.axes_) == 2
    assert display.axes_[1].get_yscale() == "log"
    assert "Certified relative gap" in display.description


def test_limits_follow_from_a_fit_without_one_and_steps_come_before():
    machine = make_pipeline(StandardScaler(), mercer.LinearSVC())
    display = AnytimeDisplay.from_estimator(machine, X, y, validation=(NEW, LABELS), ax=APART)
    assert (display.limits[:-1] < display.seconds[-1]).all()
    assert display.scores[-1] == machine.fit(X, y).score(NEW, LABELS)
    alone = AnytimeDisplay.from_estimator(machine, X, y, limits=[1.0], ax=APART)
    assert alone.scores is None
    assert len(alone.axes_) == 1


@pytest.mark.parametrize(
    ("machine", "message"),
    [
        (StandardScaler(), "StandardScaler has no parameter time_limit"),
        (mercer.KernelRidge(), "KernelRidge has no certificate with a duality gap"),
    ],
)
def test_what_has_no_limit_or_no_gap_is_refused(machine, message):
    with pytest.raises(ValueError, match=message):
        AnytimeDisplay.from_estimator(machine, X, y, ax=APART)
