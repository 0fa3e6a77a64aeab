"""Ranges of C that cannot be better: against fits at many C within them."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_iris, make_classification
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import scale

from mercer import SVC, LinearSVC, LogisticRegression
from mercer.model_selection import ranges_of_C

NOISY = make_classification(160, 6, flip_y=0.15, class_sep=0.7, random_state=0)
CANCER = load_breast_cancer(return_X_y=True)
CANCER = scale(CANCER[0])[:200], CANCER[1][:200]
MODELS = {
    "hinge": LinearSVC(loss="hinge", tol=1e-8),
    "squared hinge": LinearSVC(tol=1e-8),
    "intercept without penalty": LinearSVC(tol=1e-8, intercept_scaling=None),
    "logistic": LogisticRegression(tol=1e-8),
    "no intercept": LinearSVC(tol=1e-8, fit_intercept=False),
    "loose": LinearSVC(tol=1e-2),
}
CV = StratifiedKFold(3, shuffle=True, random_state=0)


def error(model, X, y, C):
    """The error rate over all folds, by a close fit at C."""
    wrong = 0
    for train, test in CV.split(X, y):
        fitted = type(model)(**(model.get_params() | {"C": C, "tol": 1e-10})).fit(
            X[train], y[train]
        )
        wrong += int((fitted.predict(X[test]) != y[test]).sum())
    return wrong / len(y)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("data", [NOISY, CANCER], ids=["noisy", "cancer"])
def test_no_C_within_the_ranges_is_better(name, data):
    X, y = data
    model = MODELS[name]
    epsilon = 0.03
    found = ranges_of_C(model, X, y, Cs=np.logspace(-5, 0, 6), cv=CV, epsilon=epsilon)
    assert found.errors.min() == found.best_error
    if name != "loose":
        assert found.ranges  # informative somewhere below C = 1
        assert 0 < found.covered <= 1
    for low, high in found.ranges:
        for C in np.geomspace(max(low, 1e-7), min(high, 1e3), 7):
            assert error(model, X, y, C) >= found.best_error - epsilon - 1e-12


def test_the_ball_contains_the_solutions():
    """w at C is in the ball with the diameter from w₀ to (C / C₀) w₀."""
    X, y = NOISY
    plain = LinearSVC(loss="hinge", tol=1e-10, intercept_scaling=None)
    for model in (plain, LogisticRegression(tol=1e-10)):
        w0 = model.set_params(C=0.1).fit(X, y).coef_.ravel()
        for t in (0.2, 0.7, 1.5, 8.0):
            w = model.set_params(C=0.1 * t).fit(X, y).coef_.ravel()
            assert (
                np.linalg.norm(w - (1 + t) / 2 * w0) <= abs(1 - t) / 2 * np.linalg.norm(w0) + 1e-4
            )


def test_a_larger_epsilon_gives_larger_ranges():
    X, y = NOISY
    covered = [
        ranges_of_C(LinearSVC(tol=1e-6), X, y, Cs=np.logspace(-5, 1, 5), cv=CV, epsilon=e).covered
        for e in (0.0, 0.02, 0.1, 1.0)
    ]
    assert covered == sorted(covered)
    assert covered[-1] == 1


def test_sparse_rows_give_the_same():
    X, y = NOISY
    Cs = np.logspace(-4, -1, 4)
    dense, sparse = (
        ranges_of_C(LinearSVC(tol=1e-8), rows, y, Cs=Cs, cv=CV, epsilon=0.05)
        for rows in (X, sp.csr_matrix(X))
    )
    assert np.allclose(dense.ranges, sparse.ranges, rtol=0.05)
    assert dense.best_C == sparse.best_C


def test_where_nothing_is_said():
    X, y = NOISY
    found = ranges_of_C(LinearSVC(), X, y, Cs=[100.0, 1000.0], cv=CV)
    assert "say nothing" in repr(found) or found.ranges
    with pytest.raises(TypeError, match="got SVC"):
        ranges_of_C(SVC(), X, y, Cs=[1.0])
    with pytest.raises(ValueError, match="two classes"):
        ranges_of_C(LinearSVC(), *load_iris(return_X_y=True), Cs=[1.0])
    with pytest.raises(ValueError, match="penalty"):
        ranges_of_C(LinearSVC(penalty="l1"), X, y, Cs=[1.0])
    with pytest.raises(ValueError, match="class_weight"):
        ranges_of_C(LinearSVC(class_weight="balanced"), X, y, Cs=[1.0])
