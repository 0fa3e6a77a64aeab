"""Held-out points and the map of errors against scikit-learn's cross-validation."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_predict, cross_val_score
from sklearn.svm import SVC, SVR

from mercer.playground import State, draw
from mercer.playground._held_out import CrossValidation
from mercer.playground._held_out import validate as validate_within
from mercer.playground._presets import preset
from mercer.playground._render import axes, columns
from mercer.playground._session import Session

OVERLAPPING = State(points=preset("overlapping"), C=10.0, gamma=3.0, folds=5)
SINE = State(points=preset("sine")[::2], machine="svr", gamma=2.0, folds=4)


def validate(state: State) -> CrossValidation:
    """Without a time limit: on any machine the whole map."""
    return validate_within(state, seconds=None)


def test_predictions_are_those_of_fits_without_the_point():
    found = validate(OVERLAPPING)
    X, y = OVERLAPPING.X, OVERLAPPING.labels
    cv = StratifiedKFold(5, shuffle=True, random_state=0)
    other = SVC(C=10.0, gamma=3.0, tol=1e-6)
    assert (found.predicted == cross_val_predict(other, X, y, cv=cv)).all()
    scores = cross_val_score(other, X, y, cv=cv)
    assert found.error == pytest.approx(1 - scores.mean())
    assert found.spread == pytest.approx(scores.std(ddof=1) / np.sqrt(5))
    assert (found.wrong == (found.predicted != y)).all()


def test_regression_has_residuals():
    found = validate(SINE)
    X, y = SINE.X[:, :1], SINE.X[:, 1]
    cv = KFold(4, shuffle=True, random_state=0)
    other = SVR(C=1.0, gamma=2.0, epsilon=SINE.epsilon, tol=1e-6)
    assert np.allclose(found.predicted, cross_val_predict(other, X, y, cv=cv), atol=5e-3)
    scores = cross_val_score(other, X, y, cv=cv, scoring="neg_root_mean_squared_error")
    assert found.error == pytest.approx(-scores.mean(), abs=2e-3)
    assert not found.wrong.any()


@pytest.mark.parametrize("state", [OVERLAPPING, SINE, OVERLAPPING.with_(kernel="linear")])
def test_a_cell_of_the_map_is_the_error_of_its_setting(state):
    found = validate(state).map
    assert np.isfinite(found.error).all()
    for row, column in ((0, 3), (found.gammas.size // 2, 6), found.best):
        there = state.with_(C=float(found.Cs[column]), gamma=float(found.gammas[row]))
        alone = validate(there)
        assert found.nearest(there.C, there.gamma) == (row, column)
        close = {"abs": 2e-3} if state.machine == "svr" else {}
        assert alone.error == pytest.approx(found.error[row, column], **close)
        assert alone.spread == pytest.approx(found.spread[row, column], abs=2e-3)
        assert alone.train_error == pytest.approx(found.train_error[row, column], **close)
    row, column = found.best
    assert found.error[row, column] == pytest.approx(found.error.min())


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"C": 1000.0, "gamma": 60.0}, "Over-fitting"),
        ({"points": preset("moons"), "C": 0.01, "gamma": 0.01}, "Under-fitting"),
        ({"C": 10.0, "gamma": 0.03}, "No setting"),
    ],
)
def test_verdict(changes, word):
    found = validate(OVERLAPPING.with_(**changes))
    assert found.verdict.startswith(word), (found.error, found.train_error, found.map.error.min())


@pytest.mark.parametrize(
    ("state", "word"),
    [
        (State(machine="kmeans", folds=5), "SVC and SVR"),
        (State(points=((0.0, 0.0, 0), (1.0, 1.0, 0), (1.0, 0.0, 1)), folds=5), "2 points"),
        (State(points=SINE.points[:6], machine="svr", folds=5), "10 points"),
        (OVERLAPPING.with_(kernel="linear", C=float("inf")), "hard margin"),
    ],
)
def test_where_nothing_can_be_held_out_it_says_so(state, word):
    picture = draw(state)
    assert word in picture.held_out.refusal
    assert picture.held_out.map is None
    assert len(columns(picture, None, None)["map"]["x"]) == 0


def test_small_classes_have_fewer_folds():
    points = ((-1.0, 0.0, 0), (-1.5, 0.3, 0), (-2.0, 0.1, 0), (1.0, 0.0, 1), (1.5, 0.2, 1))
    assert validate(State(points=points, folds=5)).n_folds == 2


def test_columns_show_the_map_and_where_one_is():
    picture = draw(OVERLAPPING)
    found = columns(picture, None, None)
    for name in ("map", "map-marks", "wrong", "held-out"):
        assert len({len(column) for column in found[name].values()}) == 1, name
    assert len(found["map"]["x"]) == picture.held_out.map.error.size
    assert len(found["wrong"]["x"]) == picture.held_out.wrong.sum() > 0
    here = found["map-marks"]["x"][1], found["map-marks"]["y"][1]
    assert here == pytest.approx((1.0, np.log10(3.0)))
    shades = dict(zip(found["map"]["note"], found["map"]["colour"], strict=True))
    errors = picture.held_out.map
    worst = np.unravel_index(np.argmax(errors.error), errors.error.shape)
    red = [int(shades[picture.held_out.note(*cell)][1:3], 16) for cell in (errors.best, worst)]
    assert red[0] > red[1]  # the least error is the lightest
    for axis in axes(picture).values():
        assert len(axis.get("ticks", [])) == len(axis.get("texts", []))
    lines = columns(draw(SINE), None, None)["held-out"]
    assert len(lines["xs"]) == len(SINE.points)


def test_a_click_on_the_map_chooses_and_is_one_undo():
    session = Session("data=overlapping")
    session.handle({"do": "choose", "x": 0.0, "y": 0.0})
    assert session.is_error
    session.handle({"do": "folds", "value": 5})
    session.refresh()
    assert "folds=5" in session.state.to_query()
    session.handle({"do": "choose", "x": 1.6, "y": -1.1})
    assert (session.state.C, session.state.gamma) == (31.6, 0.1)
    session.handle({"do": "undo"})
    assert (session.state.C, session.state.gamma) == (1.0, 0.5)
    session.handle({"do": "folds", "value": 99})
    assert session.is_error
    assert "from 2 to 20" in session.message
