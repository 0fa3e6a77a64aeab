"""Linked views: the dual value row by row, and the kernel matrix as the page reads it."""

from __future__ import annotations

import base64

import numpy as np
import pytest

from mercer.playground import State, draw
from mercer.playground._fit import kernel_of
from mercer.playground._linked import MAX_ROWS, linked_message
from mercer.playground._presets import as_points, preset
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


def test_the_parts_of_an_iterate_too():
    state = OVERLAPPING.with_(step=17)
    certificate = step_history(state).step(17).certificate
    assert draw(state).linked.dual_parts.sum() == pytest.approx(certificate.dual)
    no_split = State(points=preset("sine"), machine="svr", step=5)  # both duals may be positive
    assert draw(no_split).linked.dual_parts is None


@pytest.mark.parametrize("machine", ["logistic", "pegasos", "perceptron", "kmeans", "ridge"])
def test_estimators_without_a_box_have_no_parts(machine):
    assert draw(State().with_machine(machine)).linked.dual_parts is None


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
    message = linked_message(picture.linked, picture.labels)
    n = len(message["rows"])
    levels = np.frombuffer(base64.b64decode(message["K"]), np.int8).reshape(n, n)
    K = kernel_of(state)(state.X[message["rows"]])
    error = np.abs(levels * (message["scale"] / 127) - K).max()
    assert error <= 0.5 * message["scale"] / 127 * (1 + 1e-9)
    assert message["dual"] == pytest.approx(picture.linked.dual_parts.sum())


def test_without_a_model_there_are_no_views():
    picture = draw(State(points=()))
    assert linked_message(picture.linked, picture.labels) is None
