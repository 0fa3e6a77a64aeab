"""LinearSVC(C=inf): against worked numbers, the linear kernel, and the proof of inseparability."""

from __future__ import annotations

import copy
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

import mercer
from mercer import LinearSVC, verify
from mercer.exceptions import NotSeparableError
from tests.read_only import read_only


def _data():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(80, 3))
    return read_only(X)


X = _data()
SIDE = X @ [1.0, -2.0, 0.5] + 0.3
KEEP = np.abs(SIDE) > 0.4
X, Y = X[KEEP], np.where(SIDE[KEEP] > 0, "yes", "no")


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_worked_numbers(loss):
    """(±1, 1) with +1 and (±1, −1) with −1: w = (0, 1), b = 0, Σα = 1, margin 2."""
    points, y = [[-1, 1], [1, 1], [-1, -1], [1, -1]], [1, 1, -1, -1]
    model = LinearSVC(loss=loss, C=np.inf, tol=1e-9).fit(points, y)
    assert_allclose(model.coef_, [[0.0, 1.0]], atol=1e-6)
    assert_allclose(model.intercept_, 0.0, atol=1e-6)
    assert_allclose(np.abs(model.dual_coef_.toarray()).sum(), 1.0, rtol=1e-6)
    assert model.certificate_.primal == pytest.approx(0.5, rel=1e-6)
    assert model.certificate_.margin == pytest.approx(2.0, rel=1e-6)


@pytest.mark.parametrize("rows", ["dense", "sparse", "float32"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_is_the_linear_kernel_and_verified(rows, fit_intercept):
    y = Y if fit_intercept else np.where(X @ [1.0, -2.0, 0.5] > 0, "yes", "no")
    data = {"dense": X, "sparse": sp.csr_matrix(X), "float32": X.astype(np.float32)}[rows]
    tol = 1e-3 if rows == "float32" else 1e-6
    model = LinearSVC(C=np.inf, tol=tol, fit_intercept=fit_intercept).fit(data, y)
    kernel = mercer.SVC(kernel="linear", C=np.inf, tol=1e-8, fit_intercept=fit_intercept)
    kernel.fit(data, y)
    certificate = model.certificate_
    assert certificate.status.is_solved
    assert certificate.relative_gap <= tol
    assert_allclose(certificate.primal, kernel.certificate_.primal, rtol=2 * tol)
    assert certificate.dual <= kernel.certificate_.primal * (1 + 1e-12)
    assert_array_equal(model.predict(data), y)
    found = verify(model, data, y)
    assert found.status.is_solved
    assert found.gap == pytest.approx(certificate.gap, rel=0.5, abs=1e-10)
    moved = copy.deepcopy(model)
    moved.coef_ = model.coef_ + 0.1
    assert verify(moved, data, y).gap > 2 * certificate.gap


def test_one_against_the_rest(rng):
    centres = np.array([[0.0, 4.0], [4.0, -3.0], [-4.0, -3.0]])
    codes = np.arange(60) % 3
    points = centres[codes] + 0.5 * rng.normal(size=(60, 2))
    model = LinearSVC(C=np.inf, tol=1e-6).fit(points, codes)
    assert model.coef_.shape == (3, 2)
    assert_array_equal(model.predict(points), codes)
    assert [task.name for task in model.certificate_.tasks] == ["0 / rest", "1 / rest", "2 / rest"]
    for c in range(3):
        alone = LinearSVC(C=np.inf, tol=1e-6).fit(points, codes == c)
        assert_allclose(model.coef_[c], alone.coef_[0], rtol=1e-2, atol=1e-3)
    assert verify(model, points, codes).status.is_solved


def test_inseparable_classes_are_refused_with_the_proof():
    """Weights of each class sum to ±1, and Σ weights x = 0."""
    points = np.array([[0.0], [1.0], [2.0], [3.0], [9.0]])
    y = np.array([0, 1, 0, 1, 1])
    weight = np.array([1.0, 1.0, 1.0, 1.0, 0.0])
    with pytest.raises(NotSeparableError) as caught:
        LinearSVC(C=np.inf).fit(points, y, sample_weight=weight)
    weights = caught.value.weights
    assert weights.shape == (5,)
    assert weights[4] == 0
    assert_allclose(weights @ points, 0.0, atol=1e-6)
    assert_allclose(abs(weights[y == 1].sum()), 1.0, rtol=1e-6)
    assert_allclose(weights.sum(), 0.0, atol=1e-9)


@pytest.mark.parametrize(
    "other",
    [
        {"multi_class": "crammer_singer"},
        {"intercept_scaling": 2.0},
        {"class_weight": "balanced"},
        {"dual": True},
    ],
    ids=str,
)
def test_what_means_another_problem_is_refused(other):
    (name,) = other
    with pytest.raises(ValueError, match=rf"C=inf .* {name}"):
        LinearSVC(C=np.inf, **other).fit(X, Y)
    with pytest.raises(ValueError, match="C"):
        mercer.LinearSVR(C=np.inf).fit(X, np.arange(len(X)))


@pytest.mark.parametrize("offset", [0.0, 1e4, 1e6])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_bounds_hold_in_rational_numbers(offset, fit_intercept):
    """P = ½‖w‖²/min(y g)² of the stored model, and D = Σα − ½‖Xᵀβ‖² where Σβ is free."""
    labels = np.where(Y == "yes", 1, -1)
    data = X + offset * fit_intercept
    if not fit_intercept:
        labels = np.where(X @ [1.0, -2.0, 0.5] > 0, 1, -1)
    model = LinearSVC(C=np.inf, tol=1e-4, fit_intercept=fit_intercept).fit(data, labels)
    rows = [[Fraction(v) for v in row] for row in data]
    w, b = [Fraction(v) for v in model.coef_[0]], Fraction(float(model.intercept_[0]))
    g = [sum((x * v for x, v in zip(row, w, strict=True)), b) for row in rows]
    least = min(int(y) * value for y, value in zip(labels, g, strict=True))
    primal = sum(v * v for v in w) / 2 / least**2
    certificate = model.certificate_
    assert certificate.status.is_solved
    assert primal <= Fraction(certificate.primal) <= primal * (1 + Fraction(1, 1000))
    if not fit_intercept:
        beta = [Fraction(v) for v in model.dual_coef_.toarray()[0]]
        sums = [sum(c * row[j] for c, row in zip(beta, rows, strict=True)) for j in range(3)]
        dual = sum(abs(c) for c in beta) - sum(v * v for v in sums) / 2
        assert primal - dual <= Fraction(certificate.gap)
        assert Fraction(certificate.dual) <= dual


def test_verify_states_no_dual_value_where_there_is_none():
    """Of a model that is zero: P = ∞, and nothing is known of P*."""
    model = LinearSVC(C=np.inf).fit(X, Y)
    model.coef_, model.intercept_ = 0 * model.coef_, 0 * model.intercept_
    model.dual_coef_ = 0 * model.dual_coef_
    certificate = verify(model, X, Y)
    assert certificate.primal == np.inf
    assert certificate.dual == -np.inf
    assert certificate.gap == np.inf
    assert not certificate.status.is_solved
