"""What the pages say of the playground's states, which no example of theirs computes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mercer import SVC, SVR, KernelKMeans, KernelLogisticRegression, KernelPerceptron
from mercer.kernels import RBF
from mercer.playground import State
from mercer.playground._held_out import validate

PAGES = Path(__file__).parent.parent.parent / "docs" / "companion"


def said(page: str, words: str, query: str) -> State:
    """The state of a link, of which the page says the words."""
    text = " ".join((PAGES / f"{page}.md").read_text("utf-8").split())
    assert words in text
    assert f'"?{query}"' in text
    return State.from_query(query)


def test_an_overfit_machine_has_no_training_error_and_a_quarter_when_held_out():
    words = "no training error, and a quarter of the points are wrong when they are held out"
    query = "data=overlapping&C=1000.0&gamma=30.0&folds=5"
    found = validate(said("tuning", words, query), seconds=None)
    assert found.train_error == 0
    assert found.error == pytest.approx(0.25, abs=0.04)


def test_no_C_separates_rings_by_a_line_and_a_conic_does():
    rings = said("kernels", "no C helps", "data=rings&kernel=linear")
    X, y = rings.X, rings.labels
    assert all(SVC(kernel="linear", C=C).fit(X, y).score(X, y) < 0.8 for C in (0.1, 1, 100, 1e4))
    said("kernels", "the boundary is a conic", "data=rings&kernel=poly&degree=2")
    conic = SVC(kernel="poly", degree=2, coef0=1.0, gamma=1.0).fit(X, y)
    assert conic.score(X, y) > 0.95


def test_k_means_does_not_find_the_rings_of_the_playground():
    rings = said(
        "k-means", "none of the γ we tried recovers them", "data=rings&machine=kmeans&clusters=2"
    )
    X, truth = rings.X, rings.labels == rings.labels[0]
    for gamma in np.logspace(-2, 2, 13):
        found = KernelKMeans(2, kernel=RBF(float(gamma)), random_state=0).fit_predict(X)
        assert max(np.mean(found == truth), np.mean(found != truth)) < 0.95


def test_C_lies_among_its_own_class_and_across_the_logistic_line():
    """The two nearest rows have its label, and the logistic line is right about them."""
    text = (PAGES / "why-a-margin.md").read_text("utf-8")
    assert "**C** lies among its own class, on its own side of the axis" in text
    code = text[text.index(">>> x1 =") : text.index(">>> logistic")].replace(">>> ", "")
    names = {"np": np}
    exec(code, names)
    rows, labels = names["rows"], names["labels"]
    model = KernelLogisticRegression(kernel="linear", C=0.01).fit(rows, labels)
    nearest = np.argsort(((rows - [1, -3]) ** 2).sum(axis=1))[:3]
    assert labels[nearest].tolist() == [1, 1, 1]
    assert model.predict(rows[nearest]).tolist() == [-1, 1, 1]


def test_the_perceptron_of_the_playground_makes_one_mistake():
    query = "data=separable&machine=perceptron&kernel=linear&step=1"
    rows = said("perceptron", "here the first is the last", query)
    model = KernelPerceptron(kernel="linear", shuffle=False).fit(rows.X, rows.labels)
    assert model.mistakes_.tolist() == [1]


def test_a_tube_wider_than_the_targets_has_no_support_vectors():
    words = "at ε larger than half the range of the targets none is left"
    sine = said("svr", words, "data=sine&machine=svr")
    x, t = sine.X[:, :1], sine.X[:, 1]
    half = float(np.ptp(t)) / 2
    assert len(SVR(gamma=1.0, epsilon=1.01 * half).fit(x, t).support_) == 0
    assert len(SVR(gamma=1.0, epsilon=0.9 * half).fit(x, t).support_) > 0


def test_the_sigmoid_function_is_not_said_to_be_solved():
    moons = said("mercer", "the certificate does not say", "data=moons&kernel=sigmoid")
    with pytest.warns(UserWarning, match=r"semidefinite|PSD|curvature"):
        model = SVC(kernel="sigmoid", gamma=1.0, coef0=1.0).fit(moons.X, moons.labels)
    assert str(model.certificate_.status) != "solved"
