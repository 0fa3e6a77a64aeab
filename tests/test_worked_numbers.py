"""Numbers worked out by hand in lecture notes on support vector machines, by the estimators."""

import os
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

import mercer
from mercer import SVC, NotSeparableError
from mercer.kernels import Linear, Polynomial

TWO_POINTS = np.array([[0.0, 1.0], [0.0, -1.0]])
TWO_LABELS = np.array([1, -1])


@pytest.mark.parametrize("C", [0.5, 1.0, 100.0, np.inf])
def test_two_points_with_c_of_a_half_or_more(C):
    """α = ½ each, w = (0, 1), b = 0: margin 2, and Σα − ½‖w‖² = ½."""
    model = SVC(kernel="linear", C=C, tol=1e-9).fit(TWO_POINTS, TWO_LABELS)
    assert_allclose(np.sort(model.dual_coef_[0]), [-0.5, 0.5], atol=1e-8)
    assert_allclose(model.coef_, [[0, 1]], atol=1e-8)
    assert_allclose(model.intercept_, [0], atol=1e-8)
    certificate = model.certificate_
    assert certificate.margin == pytest.approx(2)
    assert certificate.primal == pytest.approx(0.5)
    assert certificate.dual == pytest.approx(0.5)


def test_two_points_with_c_of_a_quarter():
    """α = C, no free vector, w = (0, ½), any b in [−½, ½] is optimal, and C Σξ = ¼ for all."""
    model = SVC(kernel="linear", C=0.25, tol=1e-9).fit(TWO_POINTS, TWO_LABELS)
    assert_allclose(np.sort(model.dual_coef_[0]), [-0.25, 0.25])
    assert_allclose(model.coef_, [[0, 0.5]])
    certificate = model.certificate_
    assert (certificate.n_zero, certificate.n_free, certificate.n_bound) == (0, 0, 2)
    assert_allclose(certificate.bias_interval, (-0.5, 0.5))
    assert_allclose(mercer.verify(model, TWO_POINTS, TWO_LABELS).bias_interval, (-0.5, 0.5))
    assert certificate.margin == pytest.approx(4)
    assert certificate.gap < 1e-12
    for b in (-0.5, -0.2, 0.0, 0.5):
        slack = np.maximum(0, 1 - TWO_LABELS * (TWO_POINTS @ model.coef_[0] + b))
        assert 0.25 * slack.sum() == pytest.approx(0.25)
    assert certificate.primal == pytest.approx(0.5 * 0.25 + 0.25)


def separable(seed=0, n=40):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    y = np.where(np.arange(n) % 2 == 0, 1, -1)
    X[:, 0] += 4 * y
    return X, y


@pytest.mark.parametrize("seed", range(3))
def test_hard_margin_at_the_optimum(seed):
    """One side's margin ρ has ρ² = 1/‖w‖² = 1/Σα; b is minus the middle of the nearest points."""
    X, y = separable(seed)
    model = SVC(kernel="linear", C=np.inf, tol=1e-9).fit(X, y)
    w, b = model.coef_[0], model.intercept_[0]
    total = np.abs(model.dual_coef_).sum()
    one_side = model.certificate_.margin / 2
    assert one_side**2 == pytest.approx(1 / (w @ w), rel=1e-6)
    assert one_side**2 == pytest.approx(1 / total, rel=1e-6)
    assert one_side == pytest.approx(np.min(y * (X @ w + b)) / np.linalg.norm(w), rel=1e-6)
    projected = X @ w
    assert b == pytest.approx(-(projected[y > 0].min() + projected[y < 0].max()) / 2, abs=1e-6)
    for i in model.support_[y[model.support_] > 0]:
        for j in model.support_[y[model.support_] < 0]:
            assert b == pytest.approx(-w @ (X[i] + X[j]) / 2, abs=1e-6)


def test_soft_margin_norm_is_the_sum_of_alpha_less_the_slacks():
    """‖w‖² = Σα − CΣξ."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(60, 2))
    y = np.where(X[:, 0] + rng.normal(size=60) > 0, 1, -1)
    model = SVC(kernel="linear", C=0.7, tol=1e-10).fit(X, y)
    w = model.coef_[0]
    slack = np.maximum(0, 1 - y * model.decision_function(X)).sum()
    assert w @ w == pytest.approx(np.abs(model.dual_coef_).sum() - 0.7 * slack, rel=1e-6)


def test_three_groups_of_the_kkt_conditions():
    """α = 0: y f ≥ 1; 0 < α < C: y f = 1; α = C: y f ≤ 1; and the counts say so."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(80, 2))
    y = np.where(X[:, 0] + 0.7 * rng.normal(size=80) > 0, 1, -1)
    model = SVC(C=1.0, tol=1e-8).fit(X, y)
    alpha = np.zeros(80)
    alpha[model.support_] = np.abs(model.dual_coef_[0])
    margin = y * model.decision_function(X)
    zero, bound = alpha == 0, alpha == 1.0
    assert margin[zero].min() >= 1 - 1e-6
    assert margin[bound].max() <= 1 + 1e-6
    assert_allclose(margin[~zero & ~bound], 1, atol=1e-6)
    counts = model.certificate_
    assert (counts.n_zero, counts.n_bound) == (zero.sum(), bound.sum())
    assert counts.n_free == 80 - zero.sum() - bound.sum()


def test_the_quadratic_kernel_is_its_explicit_map():
    """(1 + x·z)² in two dimensions has φ = (1, √2x₁, √2x₂, √2x₁x₂, x₁², x₂²): the same model."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(50, 2))
    y = np.where((X**2).sum(axis=1) + 0.5 * rng.normal(size=50) > 2, 1, -1)
    root, (a, b) = np.sqrt(2), X.T
    phi = np.column_stack([np.ones(50), root * a, root * b, root * a * b, a**2, b**2])
    kernel = SVC(kernel=Polynomial(degree=2, gamma=1.0, coef0=1.0), tol=1e-8).fit(X, y)
    explicit = SVC(kernel=Linear(), tol=1e-8).fit(phi, y)
    assert_allclose(kernel.decision_function(X), explicit.decision_function(phi), atol=1e-5)
    assert kernel.certificate_.primal == pytest.approx(explicit.certificate_.primal, rel=1e-8)


def test_classes_that_meet_are_refused_with_a_point_in_both_hulls():
    X = np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 1.0], [1.0, -1.0]])
    y = np.array([1, 1, -1, -1])  # the two diagonals of a square cross at (1, 0)
    with pytest.raises(NotSeparableError) as caught:
        SVC(kernel="linear", C=np.inf).fit(X, y)
    weights = caught.value.weights
    assert weights[y == 1].sum() == pytest.approx(1)
    assert weights[y == -1].sum() == pytest.approx(-1)
    assert np.all(weights * y >= 0)
    assert_allclose(weights @ X, 0, atol=1e-5)


def heart_scale():
    """LIBSVM's heart_scale: statlog heart, each column scaled to [−1, 1]."""
    folder = os.environ.get("MERCER_DATA")
    if folder and (Path(folder) / "heart.npz").exists():
        with np.load(Path(folder) / "heart.npz", allow_pickle=False) as file:
            return file["X"].astype(np.float64), file["y"]
    from sklearn.datasets import fetch_openml

    try:
        data = fetch_openml("heart-statlog", version=1, as_frame=False, parser="liac-arff")
    except Exception as reason:
        pytest.skip(f"heart_scale is neither in MERCER_DATA nor available from OpenML: {reason}")
    X = data.data.astype(np.float64)
    low, high = X.min(axis=0), X.max(axis=0)
    return 2 * (X - low) / (high - low) - 1, data.target


def test_heart_scale():
    """The optimum 100.877291557 with 132 support vectors, 107 of them at the bound."""
    X, y = heart_scale()
    model = SVC(kernel="rbf", gamma=1 / 13, C=1.0, tol=1e-6).fit(X, y)
    certificate = model.certificate_
    assert certificate.dual <= 100.877291557 + 1e-6
    assert certificate.primal == pytest.approx(100.877291557, abs=1e-4)
    assert certificate.relative_gap < 1e-6
    assert certificate.n_support == len(model.support_) == 132
    assert certificate.n_bound == 107
    found = mercer.verify(model, X, y)
    assert found.gap_low <= certificate.gap <= 2 * found.gap + 1e-9 * certificate.primal
