"""Conformal sets, jackknife+ and Venn–Abers against MAPIE, crepes and venn-abers.

These are written by others from the same papers. Cross-conformal p-values are sums over the folds
of the ranks that crepes gives on each fold's calibration rows.
"""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.model_selection import KFold, LeaveOneOut, StratifiedKFold

from mercer import SVC, SVR, OneClassSVM
from mercer.calibration._step_maps import fit_steps
from mercer.conformal import ConformalClassifier, ConformalOutlierDetector, ConformalRegressor


@pytest.fixture
def crepes_ranks():
    """How many calibration scores are at least as large as each score, by crepes."""
    p_values_batch = pytest.importorskip("crepes.base", reason="crepes").p_values_batch

    def ranks(calibration: np.ndarray, scores: np.ndarray) -> np.ndarray:
        p = p_values_batch(calibration, scores, smoothing=False)
        return (calibration.size + 1) * p - 1

    return ranks


@pytest.fixture
def calc():
    """The functions of venn-abers; importing it changes NumPy's handling of errors."""
    before = np.geterr()
    try:
        module = pytest.importorskip("venn_abers", reason="venn-abers")
    finally:
        np.seterr(**before)

    def interval(f: np.ndarray, y: np.ndarray, new: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        with np.errstate(all="ignore"):
            p0, p1, c = module.calc_p0p1(np.c_[-f, f], y.astype(float))
            found = module.calc_probs(p0, p1, c, np.c_[-new, new])[1]
        return found[:, 0], found[:, 1]

    return interval


def strangeness(model, X, classes):
    """By how much the best other class is ahead, one row and class at a time."""
    values = model.decision_function(X)
    if classes == 2:
        return np.column_stack([values, -values])
    return np.array([[np.delete(v, c).max() - v[c] for c in range(classes)] for v in values])


@pytest.mark.parametrize("classes", [2, 3])
def test_p_values_of_classes(crepes_ranks, classes):
    X, y = load_iris(return_X_y=True)
    X, y = X[y < classes] + np.random.default_rng(0).normal(size=(50 * classes, 4)), y[y < classes]
    seen, new = np.arange(y.size) % 3 > 0, np.arange(y.size) % 3 == 0
    cv = StratifiedKFold(4, shuffle=True, random_state=1)
    p = ConformalClassifier(SVC(), cv=cv).fit(X[seen], y[seen]).p_values(X[new])
    total = np.zeros(p.shape)
    rows, own = X[seen], y[seen]
    for train, held_out in cv.split(rows, own):
        model = SVC().fit(rows[train], own[train])
        scores = strangeness(model, rows[held_out], classes)
        calibration = scores[np.arange(held_out.size), own[held_out]]
        total += crepes_ranks(calibration, strangeness(model, X[new], classes))
    # Without ties p is the number of stranger rows and a random fraction, over n + 1.
    assert np.array_equal(np.floor(p * (seen.sum() + 1) + 1e-9), np.round(total))


def test_p_values_of_outliers(crepes_ranks):
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(80, 2)), 2 * rng.normal(size=(30, 2))
    cv = KFold(5)
    p = ConformalOutlierDetector(OneClassSVM(nu=0.3), cv=cv).fit(X).p_values(new)
    total = np.zeros(30)
    for train, held_out in cv.split(X):
        f = OneClassSVM(nu=0.3).fit(X[train]).decision_function
        total += crepes_ranks(-f(X[held_out]), -f(new))
    assert np.array_equal(np.floor(p * 81 + 1e-9), np.round(total))


@pytest.mark.filterwarnings("ignore")  # of MAPIE
@pytest.mark.parametrize("cv", [KFold(6), LeaveOneOut()])
@pytest.mark.parametrize("level", [0.6, 0.9])
def test_intervals(cv, level):
    regression = pytest.importorskip("mapie.regression", reason="MAPIE")
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, (42, 1))
    y = np.sin(X[:, 0]) + 0.3 * rng.normal(size=42)
    new = np.linspace(-3, 3, 9)[:, None]
    other = regression.CrossConformalRegressor(
        SVR(C=5.0), confidence_level=level, method="plus", cv=cv
    )
    expected = other.fit_conformalize(X, y).predict_interval(new)[1][:, :, 0]
    found = ConformalRegressor(SVR(C=5.0), cv=cv).fit(X, y).predict_interval(new, level)
    np.testing.assert_allclose(np.column_stack(found), expected, atol=1e-10)


@pytest.mark.parametrize("digits", [8, 1])
def test_venn_abers(calc, digits):
    """With one digit many calibration values are equal, and equal to new ones."""
    rng = np.random.default_rng(3)
    f = np.round(rng.normal(size=200), digits)
    y = rng.random(200) < 1 / (1 + np.exp(-2 * f))
    new = np.round(np.r_[rng.normal(size=60), -9.0, 9.0], digits)
    low, high = fit_steps("venn_abers", [f], [y], [None])(new[:, None])
    p0, p1 = calc(f, y, new)
    np.testing.assert_allclose(low[:, 0], p0, atol=1e-12)
    np.testing.assert_allclose(high[:, 0], p1, atol=1e-12)
