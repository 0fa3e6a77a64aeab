"""Where every dual is at its bound, the intercept is the middle of its interval."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.model_selection import StratifiedKFold, cross_val_score

from mercer import SVC, verify
from mercer.model_selection import GridSearchCV


def three_classes(seed=0):
    rng = np.random.default_rng(seed)
    sizes, centres = (10, 40, 30), np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 3.0]])
    y = np.repeat(np.arange(3), sizes)
    return centres[y] + rng.normal(size=(y.size, 2)), y


@pytest.mark.parametrize("solver", ["auto", "platt", "qp"])
@pytest.mark.parametrize("seed", range(4))
def test_all_duals_at_their_bounds(seed, solver):
    """Balanced weights make the sums of both classes equal but for rounding."""
    X, y = three_classes(seed)
    X, y = X[y < 2], y[y < 2]
    model = SVC(C=0.01, gamma=0.01, class_weight="balanced", solver=solver).fit(X, y)
    bound = 0.01 * y.size / (2 * np.bincount(y)[y])
    beta = np.zeros(y.size)
    beta[model.support_] = model.dual_coef_[0]
    assert_allclose(np.abs(beta), bound, rtol=1e-10)
    f = model.decision_function(X) - model.intercept_[0]
    v = np.where(y == 1, 1.0, -1.0) - f
    ends = v[y == 0].max(), v[y == 1].min()
    assert_allclose(model.intercept_[0], np.mean(ends), atol=1e-10)
    assert_allclose(model.certificate_.bias_interval, ends, atol=1e-10)
    assert verify(model, X, y)


def test_a_search_scores_as_a_fit_does():
    X, y = three_classes()
    cv = StratifiedKFold(5, shuffle=True, random_state=0)
    grid = {"C": [0.01, 0.1, 1.0], "gamma": [0.01, 0.1]}
    search = GridSearchCV(SVC(class_weight="balanced"), grid, cv=cv).fit(X, y)
    for params, score in zip(
        search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True
    ):
        cold = cross_val_score(SVC(class_weight="balanced", **params), X, y, cv=cv)
        assert_allclose(score, cold.mean(), atol=1e-3)
        assert (
            score > 0.7
        )  # the intercept at an end of its interval gives the largest class's share


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("C", [np.inf, 2.0])
def test_intercepts_of_few_rows_without_upper_bounds(C, loss):
    """Boxes without an upper bound have no rounding that is relative to their size."""
    X, y = three_classes()
    X = X[::8] * 4
    model = SVC(C=C, loss=loss, gamma=1.0, tol=1e-6).fit(X, y[::8])
    assert model.certificate_.relative_gap < 1e-4
    assert verify(model, X, y[::8])
