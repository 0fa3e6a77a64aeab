"""Every explanation, with a situation constructed for it: it is about the picture shown."""

from __future__ import annotations

import numpy as np
import pytest

from mercer.playground import State, draw
from mercer.playground._explain import SENTENCES, Situation, explain
from mercer.playground._presets import preset

INF = float("inf")
# The lecture's two points, and two more far beyond the margin.
TWO = ((0.0, 1.0, 1), (0.0, -1.0, 0))
FOUR = (*TWO, (0.0, 3.0, 1), (0.0, -3.0, 0))
# A crowd around a single point of the other class.
CROWD = (*((x / 4, y / 4, 0) for x in range(-4, 5) for y in range(-4, 5)), (0.1, 0.1, 1))
# A thin gap between two columns: the perceptron needs ever more mistakes.
THIN = tuple((x, y / 2, c) for c, x in enumerate((3.999, 4.0)) for y in range(-8, 9))

SITUATIONS = {
    "empty": State(points=()),
    "one-class-only": State(points=TWO[:1]),
    "too-few": State(machine="kmeans", points=TWO, clusters=3),
    "step-start": State(step=0),
    "step-start-oneclass": State(machine="oneclass", step=0),
    "step-start-updates": State(machine="pegasos", step=0),
    "step-over": State(points=preset("separable"), kernel="linear", step=5000),
    "step-over-mistakes": State(
        machine="perceptron", points=preset("separable"), kernel="linear", step=5000
    ),
    "step-clipped": State(points=preset("overlapping"), kernel="linear", C=0.01, step=1),
    "step-inside": State(points=preset("separable"), kernel="linear", C=100.0, step=1),
    "step-mistake": State(machine="perceptron", step=1),
    "step-pull": State(machine="pegasos", step=1),
    "step-rest": State(machine="pegasos", points=preset("separable"), step=3),
    "not-separable": State(points=preset("overlapping"), kernel="linear", C=INF),
    "not-psd": State(kernel="sigmoid", coef0=-1.0),
    "not-converged": State(
        points=tuple((5 * x, 5 * y, c) for x, y, c in preset("moons")),
        kernel="poly",
        degree=8,
        gamma=100.0,
    ),
    "all-at-C": State(points=TWO, kernel="linear", C=0.25),
    "isolated": State(points=preset("separable"), gamma=100.0, C=10.0),
    "one-side": State(points=CROWD, gamma=0.05),
    "no-free": State(points=FOUR, kernel="linear", C=0.25),
    "hard-margin": State(points=preset("separable"), kernel="linear", C=INF),
    "several": State(points=preset("three")),
    "all-support": State(points=TWO, kernel="linear", C=1.0),
    "margin-empty": State(points=preset("separable"), kernel="linear", C=100.0),
    "errors": State(points=preset("overlapping")),
    "soft-margin": State(),
    "tube-holds-all": State(machine="svr", points=preset("sine"), epsilon=2.0),
    "curve": State(machine="svr", points=preset("sine")),
    "half-plane": State(machine="oneclass", kernel="linear"),
    "region": State(machine="oneclass"),
    "perceptron-done": State(machine="perceptron", points=preset("separable"), kernel="linear"),
    "perceptron-endless": State(machine="perceptron", points=preset("xor"), kernel="linear"),
    "perceptron-late": State(machine="perceptron", points=THIN, kernel="linear"),
    "pegasos-done": State(machine="pegasos"),
    "pegasos-early": State(machine="pegasos", points=preset("overlapping"), C=1e4),
    "logistic-certain": State(machine="logistic", C=100.0),
    "logistic": State(machine="logistic", points=preset("overlapping")),
    "kmeans-empty": State(machine="kmeans", points=((0.0, 0.0, 0),) * 4, clusters=3),
    "kmeans-one": State(machine="kmeans", clusters=1),
    "kmeans": State(machine="kmeans"),
    "ridge-interpolates": State(machine="ridge", points=preset("sine"), alpha=1e-4, gamma=100.0),
    "ridge-flat": State(machine="ridge", points=preset("sine"), alpha=100.0, kernel="linear"),
    "ridge": State(machine="ridge", points=preset("sine")),
    "refused": State(
        machine="kmeans",
        points=tuple((5 * x, 5 * y, c) for x, y, c in preset("moons")),
        kernel="poly",
        degree=8,
        gamma=100.0,
    ),
}


@pytest.mark.parametrize("key", SITUATIONS)
def test_situation(key):
    found = draw(SITUATIONS[key]).explanation
    assert found.key == key
    assert found.text.endswith(".")
    assert "nan" not in found.text
    assert found.text.count(". ") <= 1  # a sentence, or two short ones


def test_every_rule_is_reached():
    assert set(SENTENCES) == set(SITUATIONS) - {"refused"}


def test_band_of_the_lecture():
    """C = ¼ on the lecture's two points: no free vector, and b anywhere in [−½, ½]."""
    text = draw(SITUATIONS["no-free"]).explanation.text
    assert "from −0.5 to 0.5" in text


def test_sentences_follow_the_situation():
    groups = {"n_zero": 3, "n_free": 2, "n_bound": 5}
    few = explain(Situation(n=10, n_classes=2, n_wrong=1, n_inside=4, **groups))
    assert few.text.startswith("1 point on the wrong side and 4 inside")
    assert explain(Situation(n=10, n_classes=2, n_free=10, C=3.0)).key == "all-support"
    one = explain(Situation(n=10, n_classes=2, n_zero=7, n_free=2, n_bound=1, n_inside=1))
    assert one.text.startswith("All points are on their side, but 1 is inside the margin")


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_two_points_are_support_vectors_at_every_setting(kernel):
    """So no sentence may promise that another C or γ leaves one of them out."""
    found = draw(State(points=TWO, kernel=kernel, C=10.0))
    assert found.situation.n_zero == 0
    assert "γ" not in found.explanation.text
    assert "larger C" not in found.explanation.text


def test_numbers_are_written_as_a_reader_would():
    state = State(points=preset("separable"), kernel="linear")
    assert "C = 1,000 acts" in draw(state.with_(C=1000.0)).explanation.text
    assert "C = 50 acts" in draw(state.with_(C=50.0)).explanation.text


def test_proof_in_the_picture_is_one():
    """The ringed points of a hard margin that is impossible have hulls that meet at the star."""
    picture = draw(SITUATIONS["not-separable"])
    X, y = picture.state.X, picture.state.labels
    ringed = list(picture.active)
    assert len(ringed) == picture.situation.n_proof
    for side in (0, 1):  # the star is a convex combination of each class's ringed points
        corners = X[ringed][y[ringed] == side]
        A = np.vstack([corners.T, np.ones(len(corners))])
        weights = np.linalg.lstsq(A, np.array([*picture.meeting, 1.0]), rcond=None)[0]
        assert np.allclose(A @ weights, [*picture.meeting, 1.0], atol=1e-6)
        assert weights.min() > -1e-6


def test_shaded_hulls_hold_their_points_and_share_the_star():
    picture = draw(SITUATIONS["not-separable"])
    first, second, shared = picture.regions
    assert (first.label, second.label, shared.label) == (0, 1, -1)
    for region in (first, second):
        corners = np.vstack([ring for rings in region.polygons for ring in rings])
        own = picture.state.X[picture.state.labels == region.label]
        assert np.allclose(corners.min(axis=0), own.min(axis=0), atol=0.1)
        assert np.allclose(corners.max(axis=0), own.max(axis=0), atol=0.1)
    ring = np.vstack([ring for rings in shared.polygons for ring in rings])
    assert (ring.min(axis=0) <= picture.meeting).all()
    assert (ring.max(axis=0) >= picture.meeting).all()
