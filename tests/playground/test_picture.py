"""Pictures: what is drawn is what the estimator says, for every machine and kernel."""

from __future__ import annotations

import numpy as np
import pytest

import mercer
from mercer.estimators._dual_view import KKTGroup
from mercer.playground import State, draw
from mercer.playground._catalogue import ESTIMATORS, KERNELS
from mercer.playground._fit import fit, recipe, rows_and_targets
from mercer.playground._picture import Grid
from mercer.playground._presets import preset
from mercer.playground._render import axes, columns
from mercer.playground._words import export

TWO = ((0.0, 1.0, 1), (0.0, -1.0, 0))


def _state(machine: str, kernel: str = "rbf", **more) -> State:
    data = "sine" if ESTIMATORS[machine].kind == "curve" else "moons"
    return State(machine=machine, kernel=kernel, points=preset(data), **more)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("machine", ESTIMATORS)
def test_exported_code_makes_the_same_picture(machine, kernel, capsys):
    state = _state(machine, kernel)
    made: dict = {}
    exec(export(state), made)
    assert capsys.readouterr().out
    X, _ = rows_and_targets(state)
    grid = np.linspace(-3, 3, 40)[:, np.newaxis] * np.ones(X.shape[1])
    mine = fit(state).decide(grid)
    if machine == "kmeans":
        assert np.array_equal(made["model"].predict(grid), mine.argmax(axis=1))
        return
    ask = "predict" if ESTIMATORS[machine].kind == "curve" else "decision_function"
    assert np.allclose(getattr(made["model"], ask)(grid), mine, rtol=1e-12, atol=1e-12)


def test_code_of_three_classes_and_of_a_hard_margin():
    made: dict = {}
    state = State(points=preset("three"))
    exec(export(state), made)
    assert np.allclose(made["model"].decision_function(state.X), fit(state).decide(state.X))
    assert "C=np.inf" in export(State(C=float("inf")))


@pytest.mark.parametrize("machine", ["svc", "pegasos", "logistic", "perceptron", "oneclass"])
def test_boundary_is_where_f_is_zero(machine):
    state = _state(machine)
    picture, f = draw(state), fit(state).decide
    line = np.vstack(picture.boundary)
    scale = np.abs(f(Grid(30).rows)).max()
    assert np.abs(f(line)).max() < 0.02 * scale
    for edge in picture.edges:
        assert np.abs(np.abs(f(edge)) - 1).max() < 0.05


def _area(polygons: list) -> float:
    """Shoelace: outlines and holes turn in opposite directions."""
    total = 0.0
    for rings in polygons:
        for ring in rings:
            x, y = ring[:, 0], ring[:, 1]
            total += 0.5 * float(x[:-1] @ y[1:] - x[1:] @ y[:-1])
    return abs(total)


@pytest.mark.parametrize("data", ["moons", "three"])
def test_regions_cover_the_plane_as_predict_does(data):
    state = State(points=preset(data))
    picture = draw(state)
    model = mercer.SVC(**recipe(state)[1]).fit(state.X, state.labels)
    given = model.predict(Grid(200).rows)
    for label in np.unique(state.labels):
        area = sum(_area(r.polygons) for r in picture.regions if r.label == label)
        assert area / 64 == pytest.approx(np.mean(given == label), abs=0.02)


@pytest.mark.parametrize("machine", ["svc", "svr", "oneclass"])
def test_groups_are_the_certificates(machine):
    state = _state(machine)
    picture, proof = draw(state), fit(state).certificate
    counts = np.bincount(picture.group, minlength=3)
    assert counts.tolist() == [proof.n_zero, proof.n_free, proof.n_bound]
    assert (picture.alpha[picture.group == KKTGroup.ZERO] == 0).all()
    assert (picture.alpha[picture.group == KKTGroup.FREE] > 0).all()
    bound = 1.0 if machine == "oneclass" else state.C
    assert np.allclose(picture.alpha[picture.group == KKTGroup.BOUND], bound)


def test_band_is_all_that_the_boundary_may_be():
    """The lecture's two points with C = ¼: f = x₂/2 + b, b ∈ [−½, ½], so −1 ≤ x₂ ≤ 1."""
    picture = draw(State(points=TWO, kernel="linear", C=0.25))
    heights = np.vstack([ring for rings in picture.band for ring in rings])[:, 1]
    assert (heights.min(), heights.max()) == pytest.approx((-1.0, 1.0))
    assert draw(State(points=TWO, kernel="linear", C=1.0)).band == []


@pytest.mark.parametrize("machine", ["svc", "svr", "oneclass", "pegasos", "logistic"])
def test_trace_ends_at_the_certificate(machine):
    picture, found = draw(_state(machine)), fit(_state(machine))
    assert picture.progress.values[-1] == pytest.approx(found.certificate.relative_gap, rel=0.05)
    assert (np.diff(picture.progress.steps) > 0).all()
    assert picture.progress.values[-1] < picture.progress.values[0]


def test_perceptron_trace_counts_mistakes():
    state = State(machine="perceptron", points=preset("overlapping"), kernel="linear")
    found = fit(state)
    assert found.progress.values.sum() == found.model.mistakes_[0]


def test_pictures_are_the_same_twice():
    """A link shows the very same picture: nothing depends on time or chance."""
    for machine in ESTIMATORS:
        one, two = (columns(draw(_state(machine)), None, None) for _ in range(2))
        assert one == two


@pytest.mark.parametrize("machine", ESTIMATORS)
def test_columns_have_one_length(machine):
    for state in (_state(machine), _state(machine, step=3), State(machine=machine, points=())):
        picture = draw(state)
        for name, source in columns(picture, 0, (0.0, 0.0)).items():
            assert len({len(column) for column in source.values()}) == 1, name
        for axis in axes(picture).values():
            assert len(axis.get("ticks", [])) == len(axis.get("texts", []))


def test_notes_tell_alpha_and_group():
    picture = draw(State())
    i = int(np.flatnonzero(picture.group == KKTGroup.BOUND)[0])
    assert f"α = {picture.alpha[i]:.4g} (at its bound), f = " in picture.notes[i]


@pytest.mark.parametrize("machine", ["svc", "svr", "oneclass"])
def test_margin_and_interval_are_shown_where_they_mean_something(machine):
    rows = dict(draw(_state(machine)).rows)
    assert ("margin 2/‖w‖" in rows) == (machine == "svc")
    assert " in [" not in rows["b"]  # there are free vectors: b is unique
    band = dict(draw(State(points=TWO, kernel="linear", C=0.25)).rows)
    assert band["b"].endswith("in [−0.5, 0.5]")
    assert float(band["margin 2/‖w‖"]) == pytest.approx(4.0)  # w = (0, ½)


@pytest.mark.parametrize(
    "query",
    [
        "data=moons&kernel=linear&step=0",  # w = 0
        "data=moons&kernel=sigmoid",  # ‖w‖² may be negative
        "data=three",  # several w
    ],
)
def test_no_margin_where_there_is_no_strip_of_that_width(query):
    assert "margin 2/‖w‖" not in dict(draw(State.from_query(query)).rows)


@pytest.mark.parametrize("machine", ESTIMATORS)
def test_the_time_shown_is_that_of_the_fit(machine):
    assert draw(_state(machine)).seconds > 0.0


def test_step_mode_and_a_proof_have_no_time_of_a_fit():
    for query in ("data=moons&step=3", "data=overlapping&kernel=linear&C=inf"):
        assert draw(State.from_query(query)).seconds == 0.0
