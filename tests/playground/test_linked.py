"""Linked views: the dual value row by row, and the kernel matrix as the page reads it."""

from __future__ import annotations

import base64

import numpy as np
import pytest

from mercer.playground import State, draw
from mercer.playground._fit import fit, kernel_of
from mercer.playground._linked import MAX_ROWS, lift_message, linked_message
from mercer.playground._presets import as_points, preset
from mercer.playground._render import columns
from mercer.playground._state import LIMITS
from mercer.playground._steps import step_history

OVERLAPPING = State(points=preset("overlapping"))


@pytest.mark.parametrize(
    "state",
    [
        OVERLAPPING,
        OVERLAPPING.with_(kernel="sigmoid", C=10.0),
        State(points=preset("separable"), kernel="linear", C=np.inf),
        State(points=preset("sine"), machine="svr"),
        State(points=preset("rings"), machine="oneclass"),
    ],
)
def test_the_parts_sum_to_the_dual_value(state):
    views = draw(state).linked
    shown = dict(draw(state).rows)["dual"].replace("−", "-")
    assert views.dual_parts.shape == (len(state.points),)
    assert views.dual_parts.sum() == pytest.approx(float(shown), rel=2e-5, abs=1e-12)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_the_part_of_a_row_is_alpha_times_one_less_half_its_margin(kernel):
    """Not negative, and the same wherever the origin of the plane is."""
    state = State(points=preset("overlapping"), kernel=kernel)
    moved = State(points=as_points(state.X - [0.5, 0.3], state.labels), kernel=kernel)
    picture, found = draw(state), fit(state)
    margin = np.where(state.labels == 1, 1, -1) * found.decide(state.X)
    parts = picture.linked.dual_parts
    assert parts == pytest.approx(picture.alpha * (1 - margin / 2), rel=1e-9, abs=1e-12)
    assert parts.min() >= 0
    assert draw(moved).linked.dual_parts == pytest.approx(parts, abs=2e-3)  # tol of the fit


def test_the_parts_of_an_iterate_too():
    state = OVERLAPPING.with_(step=17)
    certificate = step_history(state).step(17).certificate
    assert draw(state).linked.dual_parts.sum() == pytest.approx(certificate.dual)
    no_split = State(points=preset("sine"), machine="svr", step=5)  # both duals may be positive
    assert draw(no_split).linked.dual_parts is None


@pytest.mark.parametrize("machine", ["logistic", "pegasos", "perceptron", "kmeans", "ridge"])
def test_estimators_without_a_box_have_no_parts(machine):
    assert draw(State().with_machine(machine)).linked.dual_parts is None


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("data=moons", "α"),
        ("data=moons&machine=logistic", "α"),
        ("data=sine&machine=ridge", "|c|"),
        ("data=moons&machine=perceptron", "mistakes"),
        ("data=moons&machine=pegasos&step=3", "α"),
        ("data=moons&machine=pegasos", ""),  # an average, without coefficients
        ("data=three&machine=kmeans", ""),
        ("data=overlapping&kernel=linear&C=inf", ""),  # a proof that there is no fit
    ],
)
def test_bars_are_named_and_only_shown_where_there_are_coefficients(query, name):
    picture = draw(State.from_query(query))
    assert linked_message(picture.linked, picture.shown)["coefficient"] == name


@pytest.mark.parametrize("query", ["data=sine&machine=svr", "data=moons&machine=oneclass"])
def test_bars_and_points_of_one_kind_have_one_colour(query):
    """Labels do not count in a regression and in one class: nothing is drawn by them."""
    picture = draw(State.from_query(query))
    assert len(set(picture.labels)) == 2 or "sine" in query
    bars = linked_message(picture.linked, picture.shown)["colour"]
    points = columns(picture, None, None)["discs"]["colour"]
    assert len({*bars, *points}) == 1


def test_several_classes_have_no_parts():
    assert draw(State(points=preset("three"))).linked.dual_parts is None


def test_rows_are_ordered_by_class_and_of_a_regression_by_x():
    state = State(points=preset("three")[::-1])
    rows = draw(state).linked.rows
    assert sorted(rows) == list(range(len(state.points)))
    assert (np.diff(state.labels[rows]) >= 0).all()
    sine = State(points=preset("sine"), machine="svr")
    assert (np.diff(sine.X[draw(sine).linked.rows, 0]) >= 0).all()


def test_of_many_points_those_with_the_largest_alpha_are_shown():
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, (MAX_ROWS + 90, 2))
    picture = draw(State(points=as_points(X, (X.sum(axis=1) > 0).astype(int)), C=0.1))
    rows = picture.linked.rows
    assert rows.size == MAX_ROWS
    others = np.setdiff1d(np.arange(len(X)), rows)
    assert picture.alpha[rows].min() >= picture.alpha[others].max()
    np.testing.assert_array_equal(picture.linked.alpha, picture.alpha[rows])


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
def test_the_page_reads_the_kernel_matrix_to_half_a_level(kernel):
    state = OVERLAPPING.with_(kernel=kernel)
    picture = draw(state)
    message = linked_message(picture.linked, picture.shown)
    n = len(message["rows"])
    levels = np.frombuffer(base64.b64decode(message["K"]), "<i2")
    K = kernel_of(state)(state.X[message["rows"]])
    error = np.abs(levels * (message["scale"] / 32767) - K[np.tril_indices(n)]).max()
    assert error <= 0.5 * message["scale"] / 32767 * (1 + 1e-9)
    assert message["dual"] == pytest.approx(picture.linked.dual_parts.sum())


def test_without_a_model_there_are_no_views():
    picture = draw(State(points=()))
    assert linked_message(picture.linked, picture.shown) is None


@pytest.mark.parametrize("machine", ["svc", "oneclass", "logistic", "pegasos", "perceptron"])
def test_the_lift_has_the_height_f(machine):
    state = State(points=preset("overlapping"), machine=machine)
    lift = draw(state).lift
    decide = fit(state).decide
    ticks = np.linspace(-LIMITS.extent, LIMITS.extent, lift.f.shape[0])
    for i, j in ((0, 0), (3, 20), (lift.f.shape[0] - 1, 11)):
        assert lift.f[i, j] == pytest.approx(decide(np.array([[ticks[j], ticks[i]]]))[0])
    np.testing.assert_allclose(lift.points, decide(state.X))


def test_the_lift_of_a_homogeneous_square_is_a_paraboloid():
    """(x·z)² of rings about the origin: f is a quadratic form in x, plus b."""
    state = State(points=preset("rings"), kernel="poly", degree=2, coef0=0.0, gamma=1.0)
    f = draw(state).lift.f
    middle = f.shape[0] // 2
    b = f[middle, middle]
    outer, inner = f[middle, -1] - b, f[middle, middle + middle // 2] - b
    assert outer == pytest.approx(inner * (middle / (middle // 2)) ** 2)


def test_what_is_no_single_function_of_two_columns_has_no_lift():
    for query in ("data=three", "data=sine&machine=svr", "machine=kmeans", "kernel=sigmoid"):
        picture = draw(State.from_query(query))
        assert picture.lift is None
        assert lift_message(picture.lift, picture.shown) is None


def test_the_page_reads_the_lift():
    picture = draw(OVERLAPPING.with_(kernel="poly", degree=8, C=10.0))
    message = lift_message(picture.lift, picture.shown)
    assert len(message["f"]) == message["across"] ** 2
    assert len(message["points"]) == len(message["colours"]) == len(OVERLAPPING.points)
    # A polynomial of degree 8 is huge here and there; the edges ±1 must still be told apart.
    assert message["edge"] < message["limit"] < 0.05 * np.abs(picture.lift.points).max()
    assert np.abs(message["f"]).max() <= 2 * message["limit"]
