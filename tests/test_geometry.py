"""Margins, distances and the three formulas for b, for any kernel."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_moons

import mercer
from mercer import SVC, NuSVC, geometry
from mercer.kernels import RBF, Linear, Polynomial

HARD = [Linear(), RBF(0.5), Polynomial(2, coef0=1.0), "precomputed"]


def separable(seed=0, n=40):
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2 == 0, 1, -1)
    return rng.normal(size=(n, 2)) + np.outer(4 * y, [1, 0]), y


@pytest.mark.parametrize("kernel", HARD, ids=repr)
def test_hard_margin(kernel):
    """ρ² = 1/‖w‖² = 1/Σα, the hyperplane is canonical, and the three formulas for b agree."""
    X, y = separable()
    K = Linear()(X) if kernel == "precomputed" else kernel(X)
    X = K if kernel == "precomputed" else X
    model = SVC(kernel=kernel, C=np.inf, tol=1e-10).fit(X, y)
    found = geometry(model, X, y)
    beta = np.zeros(40)
    beta[model.support_] = model.dual_coef_[0]
    assert found.norm**2 == pytest.approx(beta @ K @ beta, rel=1e-9)
    assert found.rho**2 == pytest.approx(1 / found.alpha_sum, rel=1e-7)
    assert found.margin == pytest.approx(model.margin_[0], rel=1e-7)
    assert found.canonical_scale == pytest.approx(1, abs=1e-7)
    np.testing.assert_allclose(found.b_free, found.b, atol=1e-7)
    assert found.b_mean == pytest.approx(found.b, abs=1e-7)
    wx = K @ beta
    assert found.b_middle == pytest.approx(-(wx[y > 0].min() + wx[y < 0].max()) / 2, abs=1e-12)
    assert found.b_middle == pytest.approx(found.b, abs=1e-7)
    np.testing.assert_allclose(np.abs(found.distances).min(), found.rho, rtol=1e-7)
    np.testing.assert_allclose(model.distance(X), found.distances, rtol=1e-6)


@pytest.mark.parametrize("kernel", [Linear(), RBF(0.8)], ids=repr)
@pytest.mark.parametrize("weighted", [False, True])
def test_soft_margin(kernel, weighted):
    """‖w‖² = Σα − ΣCξ, with weights too; b from any free vector."""
    X, y = make_moons(120, noise=0.3, random_state=1)
    rng = np.random.default_rng(0)
    weight = rng.integers(0, 3, 120).astype(float) if weighted else None
    model = SVC(kernel=kernel, C=0.7, tol=1e-10, class_weight={0: 1.0, 1: 2.0})
    model.fit(X, y, sample_weight=weight)
    found = geometry(model, X, y, weight)
    assert found.norm**2 == pytest.approx(found.alpha_sum - found.slack_cost, rel=1e-7)
    assert found.slack_cost > 0
    np.testing.assert_allclose(found.b_free, found.b, atol=1e-7)
    if not np.isnan(found.b_middle):  # the weighted linear model has free vectors on one edge only
        assert found.b_middle == pytest.approx(found.b, abs=1e-7)
    else:
        assert weighted
        assert kernel == Linear()


def test_distances_in_the_plane():
    """(3, 4)·x + 5 = 0: (0, 0) is at distance 1."""
    X = np.array([[-0.6 + 0.12, -0.8 + 0.16], [-0.6 - 0.12, -0.8 - 0.16]])
    model = SVC(kernel="linear", C=np.inf, tol=1e-12).fit(X, [1, -1])
    np.testing.assert_allclose(model.coef_, [[3, 4]], rtol=1e-9)
    np.testing.assert_allclose(model.distance([[0.0, 0.0], [3.0, 4.0]]), [1, 6], rtol=1e-9)
    np.testing.assert_allclose(model.margin_, [0.4], rtol=1e-9)


def test_several_classes_and_nu():
    X, y = load_iris(return_X_y=True)
    model = SVC(kernel="linear").fit(X, y)
    assert model.margin_.shape == (3,)
    np.testing.assert_allclose(model.margin_, 2 / np.linalg.norm(model.coef_, axis=1), rtol=1e-6)
    ovo = model.set_params(decision_function_shape="ovo").decision_function(X)
    np.testing.assert_allclose(model.distance(X), ovo * model.margin_ / 2)
    nu = NuSVC(kernel="linear", nu=0.2).fit(X[:100], y[:100])
    assert nu.margin_[0] == pytest.approx(2 / np.linalg.norm(nu.coef_), rel=1e-5)


def test_an_outlier_swings_a_hard_margin_and_not_a_soft_one():
    """One positive row among the negatives' side: the hard hyperplane turns, the soft one stays."""
    X, y = separable(3)
    outlier = np.array([[-4.0, 4.5]])

    def directions(C):
        data = [(X, y), (np.vstack([X, outlier]), [*y, 1])]
        fits = [SVC(kernel="linear", C=C, tol=1e-8).fit(*each) for each in data]
        return [m.coef_[0] / np.linalg.norm(m.coef_) for m in fits], fits

    (before, after), fits = directions(np.inf)
    hard_turn = np.degrees(np.arccos(before @ after))
    shrunk = fits[1].margin_[0] / fits[0].margin_[0]
    (before, after), _ = directions(0.01)
    soft_turn = np.degrees(np.arccos(before @ after))
    assert hard_turn > 20 > 7 > soft_turn
    assert shrunk < 0.7


def test_no_free_vector():
    """C = ¼ on two points: α = C, so no row tells b."""
    X, y = np.array([[0.0, 1.0], [0.0, -1.0]]), np.array([1, -1])
    found = geometry(SVC(kernel="linear", C=0.25).fit(X, y), X, y)
    assert found.b_free.size == 0
    assert np.isnan(found.b_mean)
    assert np.isnan(found.b_middle)
    assert found.margin == pytest.approx(4)
    assert found.slack_cost == pytest.approx(0.25)


def test_refusals():
    X, y = load_iris(return_X_y=True)
    model = SVC().fit(X, y)
    with pytest.raises(ValueError, match="two classes; got 3"):
        geometry(model, X, y)
    with pytest.raises(TypeError, match="got SVR"):
        geometry(mercer.SVR().fit(X, y), X, y)
    with pytest.raises(ValueError, match="the 100 labels"):
        geometry(SVC().fit(X[:100], y[:100]), X[:100], y[:99])
