"""Worked examples of Lagrange duality, and what holds for every program."""

from __future__ import annotations

import sys
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer import SVC
from mercer.duality import (
    Program,
    coordinate_ascent,
    draw_dual,
    draw_image,
    draw_path,
    minimax,
)

SQUARE = [(-2, 2), (-2, 2)]


def norm(a, b):
    return a**2 + b**2


def strong():
    return Program(norm, SQUARE, [lambda a, b: 1 - b])


def weak():
    """The notes print −½w₁²; the derivation needs −½w₁⁴."""
    return Program(norm, SQUARE, [lambda a, b: -b - 0.5 * a**4 + a**2 + 1])


def test_strong_duality():
    """min w₁² + w₂² with w₂ ≥ 1: p* = d* = 1, α* = 2, w* = (0, 1); q(α) = α − α²/4."""
    program = strong()
    found = program.solve()
    assert found.primal == pytest.approx(1, abs=1e-9)
    assert found.dual == pytest.approx(1, abs=1e-9)
    assert found.gap == pytest.approx(0, abs=1e-9)
    np.testing.assert_allclose(found.alpha, [2], atol=1e-6)
    np.testing.assert_allclose(found.w, [[0, 1]], atol=1e-6)
    np.testing.assert_allclose(found.lagrangian_w, [[0, 1]], atol=1e-6)
    for alpha in (0.0, 0.5, 2.0, 3.5):
        assert program.dual(alpha) == pytest.approx(alpha - alpha**2 / 4, abs=1e-9)


def test_a_duality_gap():
    """p* = 1 and d* = ¾ at α* = 1, where three points share the Lagrangian's minimum."""
    program = weak()
    found = program.solve()
    assert found.primal == pytest.approx(1, abs=1e-9)
    assert found.dual == pytest.approx(0.75, abs=1e-9)
    assert found.gap == pytest.approx(0.25, abs=1e-9)
    assert 0.75 - 1e-9 <= found.dual_bound <= 0.75 + 1e-6
    np.testing.assert_allclose(found.alpha, [1], atol=1e-6)
    order = np.argsort(found.lagrangian_w[:, 0])
    np.testing.assert_allclose(
        found.lagrangian_w[order], [[-2, 0.5], [0, 0.5], [2, 0.5]], atol=1e-4
    )
    # below the kink w₁ = 0 is best, above it w₁ = ±2: q = α − α²/4 and 4 − 3α − α²/4
    for alpha in (0.3, 1.0, 1.7):
        expected = min(alpha, 4 - 3 * alpha) - alpha**2 / 4
        assert program.dual(alpha) == pytest.approx(expected, abs=1e-9)


def test_an_equality():
    """min w₁² + w₂² with w₂ = w₁ + 1: (−½, ½), and the multiplier is ∓1 by the sign of h."""
    found = Program(norm, SQUARE, equalities=[lambda a, b: b - a - 1]).solve()
    np.testing.assert_allclose(found.w, [[-0.5, 0.5]], atol=1e-7)
    assert found.primal == pytest.approx(0.5)
    assert found.dual == pytest.approx(0.5)
    np.testing.assert_allclose(found.alpha, [-1], atol=1e-6)


def test_several_constraints():
    """w₁ ≥ ½, w₂ ≥ 1: multipliers 1 and 2; with w₁ + w₂ = 2 added, by the KKT conditions."""
    constraints = [lambda a, b: 1 - b, lambda a, b: 0.5 - a]
    found = Program(norm, SQUARE, constraints).solve()
    assert found.primal == pytest.approx(1.25)
    assert found.dual == pytest.approx(1.25, abs=1e-8)
    np.testing.assert_allclose(found.alpha, [2, 1], atol=1e-3)
    both = Program(norm, SQUARE, constraints, [lambda a, b: a + b - 2]).solve()
    np.testing.assert_allclose(both.w, [[1, 1]], atol=1e-6)
    assert both.dual == pytest.approx(2, abs=1e-7)


def test_one_variable_and_none_feasible():
    found = Program(lambda w: (w - 1) ** 2, [(-3, 3)], [lambda w: w]).solve()
    np.testing.assert_allclose(found.w, [[0]], atol=1e-7)
    np.testing.assert_allclose(found.alpha, [2], atol=1e-6)
    nothing = Program(norm, SQUARE, [lambda a, b: 5 - b]).solve()
    assert nothing.primal == np.inf
    assert nothing.dual == np.inf
    assert np.isnan(nothing.gap)
    free = Program(norm, SQUARE).solve()
    assert free.primal == pytest.approx(0, abs=1e-12)
    assert free.dual == pytest.approx(0, abs=1e-12)


@settings(max_examples=6)
@given(st.integers(0, 2**16))
def test_weak_duality_and_concavity(seed):
    """q ≤ p* for every α ≥ 0, and q is concave, for any functions."""
    c = np.random.default_rng(seed).normal(size=8)
    program = Program(
        lambda a, b: c[0] * a**2 + c[1] * np.sin(3 * b) + c[2] * a * b,
        SQUARE,
        [lambda a, b: c[3] * a + c[4] * b**2 + c[5] * np.cos(2 * a) + c[6]],
    )
    found = program.solve()
    alphas = np.linspace(0, 4, 7)
    q = np.array([program.dual(a) for a in alphas])
    assert (q <= found.primal + 1e-7).all()
    assert (q <= found.dual + 1e-7).all()
    assert (np.diff(q, 2) <= 1e-7).all()
    if found.w.size:
        assert program.constraints(found.w.T).max() <= 1e-6


def test_weak_duality_with_kinks_across_the_axes():
    """f = |a − 0.3| + |b + 0.7a| has a narrow valley along b = −0.7a."""
    program = Program(
        lambda a, b: abs(a - 0.3) + abs(b + 0.7 * a), SQUARE, [lambda a, b: 1 - b + np.sin(5 * a)]
    )
    found = program.solve()
    assert found.dual <= found.primal + 1e-9
    assert found.dual <= found.dual_bound
    # No point of a fine grid around the minimiser is below q at the best multiplier.
    centre = found.lagrangian_w[0]
    rows = centre[:, None] + np.random.default_rng(0).normal(scale=1e-3, size=(2, 100_000))
    assert program.lagrangian(rows, found.alpha).min() >= found.dual - 1e-9


def test_the_lagrangian_is_its_formula():
    program = strong()
    w = np.array([[0.5, 1.0], [2.0, 0.0]])
    np.testing.assert_allclose(program.lagrangian(w, 3.0), norm(*w) + 3 * (1 - w[1]))


def test_max_min():
    """min over columns of the column maximum, 5 ≥ 2, max over rows of the row minimum."""
    found = minimax([[1, 5, 8], [2, 1, 4], [6, 3, 2]])
    assert (found.min_max, found.max_min, found.gap) == (5, 2, 3)


@given(st.lists(st.lists(st.integers(-9, 9), min_size=3, max_size=3), min_size=1, max_size=5))
def test_max_min_inequality(rows):
    found = minimax(rows)
    crossing = rows[found.row][found.column]
    assert found.max_min <= crossing <= found.min_max


def test_coordinate_ascent_on_the_worked_quadratic():
    """W = −2α₁² − α₂² − α₁α₂: α₁ ← −α₂/4, α₂ ← −α₁/2, to 0."""
    path = coordinate_ascent([[4, 1], [1, 2]], start=[1.0, -1.5], steps=20)
    for step, (before, after) in enumerate(pairwise(path)):
        if step % 2 == 0:
            np.testing.assert_allclose(after, [-before[1] / 4, before[1]])
        else:
            np.testing.assert_allclose(after, [before[0], -before[0] / 2])
    np.testing.assert_allclose(path[-1], 0, atol=1e-8)


@pytest.mark.parametrize("order", ["cyclic", "greedy"])
def test_coordinate_ascent_reaches_the_dual_of_an_svm_without_intercept(order):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 2))
    y = np.where(X[:, 0] > 0.2 * rng.normal(size=12), 1.0, -1.0)
    Q = np.outer(y, y) * (X @ X.T + 1)
    path = coordinate_ascent(Q, 1.0, steps=4000, box=(0, 2.0), order=order)
    W = path.sum(axis=1) - 0.5 * np.einsum("ij,jk,ik->i", path, Q, path)
    assert (np.diff(W) >= -1e-12).all()
    model = SVC(kernel=lambda A, B: A @ B.T + 1, C=2.0, fit_intercept=False, tol=1e-10).fit(X, y)
    assert W[-1] == pytest.approx(model.certificate_.dual, rel=1e-6)


def test_pictures():
    """What is drawn: the supporting line touches the image from below and passes through d*."""
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    for program in (strong(), weak(), Program(lambda w: w**2, [(-2, 2)], [lambda w: 1 - w])):
        found = program.solve()
        ax = draw_image(program, found, others=[0.5])
        labels = [text.get_text() for text in ax.get_legend().get_texts()]
        assert any(label.startswith("d* = ") for label in labels)
        line = next(each for each in ax.lines if each.get_label().startswith("f + "))
        g, f = line.get_data()
        assert np.interp(0, g, f) == pytest.approx(found.dual)
        top = draw_dual(program, found)
        q = top.lines[0].get_ydata()
        assert max(q) <= found.dual + 1e-9
        plt.close("all")
    ax = draw_path([[4, 1], [1, 2]], coordinate_ascent([[4, 1], [1, 2]], start=[1, 1]))
    assert ax.get_xlabel() == "α₁"
    plt.close("all")


def test_a_missing_library_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r'pip install "mercer\[plots\]"'):
        draw_image(strong())


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Program(norm, [(0, 1)] * 3), "one or two variables"),
        (lambda: Program(norm, [(1, 0), (0, 1)]), "low < high"),
        (lambda: Program(norm, [(0, np.inf), (0, 1)]), "low < high"),
        (lambda: Program(3, SQUARE), "objective must be callable"),
        (lambda: Program(lambda a, b: a * np.nan, SQUARE), "not finite"),
        (lambda: strong().dual([1.0, 2.0]), "each of the 1 constraints"),
        (lambda: strong().objective([1.0]), "2 variables along its first axis"),
        (lambda: draw_image(Program(norm, SQUARE)), "one constraint, the program has 0"),
        (lambda: minimax([1, 2]), "must be a matrix"),
        (lambda: coordinate_ascent([[1, 2], [3, 4]]), "symmetric"),
        (lambda: coordinate_ascent([[0.0]]), "positive diagonal"),
        (lambda: coordinate_ascent([[1.0]], order="any"), "'cyclic' or 'greedy'"),
        (lambda: draw_path(np.eye(3), np.zeros((2, 3))), "two coordinates"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_a_dual_that_is_not_attained_without_slaters_condition():
    """min w subject to w² ≤ 0: p* = 0, q(α) = −1/(4α) approaches d* = 0 and has no maximiser."""
    found = Program(lambda w: w, [(-2, 2)], inequalities=[lambda w: w**2]).solve()
    assert found.primal == pytest.approx(0.0, abs=1e-6)
    assert found.dual == pytest.approx(0.0, abs=1e-5)
    assert found.alpha[0] == np.inf


def test_without_a_feasible_point_the_dual_is_infinite():
    found = Program(lambda w: w, [(-2, 2)], inequalities=[lambda w: w**2 + 1]).solve()
    assert found.dual == np.inf
