"""The reliability diagram against its definition and scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.calibration import calibration_curve
from sklearn.datasets import load_iris, make_moons
from sklearn.metrics import brier_score_loss, log_loss

import mercer
from mercer.plots import ReliabilityDisplay
from mercer.plots._base import APART

X, y = make_moons(900, noise=0.4, random_state=0)
MODEL = mercer.SVC(probability="platt", random_state=0).fit(X[:300], y[:300])


def test_numbers_are_those_of_scikit_learn():
    display = ReliabilityDisplay.from_estimator(MODEL, X[300:], y[300:], n_bins=8, ax=APART)
    p = MODEL.predict_proba(X[300:])[:, 1]
    observed, predicted = calibration_curve(y[300:], p, n_bins=8, strategy="quantile")
    assert np.allclose(display.observed, observed)
    assert np.allclose(display.predicted, predicted)
    assert display.counts.sum() == 600
    assert display.brier == pytest.approx(brier_score_loss(y[300:], p))
    assert display.log_loss == pytest.approx(log_loss(y[300:], p))
    gaps = np.abs(display.observed - display.predicted)
    assert display.calibration_error == pytest.approx((gaps * display.counts).sum() / 600)


def test_intervals_are_clopper_and_pearson():
    """At an end of the interval the observed count is in a tail of 2.5 %."""
    rng = np.random.default_rng(0)
    p = rng.random(200)
    display = ReliabilityDisplay.from_predictions(rng.random(200) < p, p, n_bins=6, ax=APART)
    hits = np.round(display.observed * display.counts)
    n = display.counts
    inner = (hits > 0) & (hits < n)
    assert inner.any()
    assert np.allclose(binom.sf(hits - 1, n, display.low)[inner], 0.025)
    assert np.allclose(binom.cdf(hits, n, display.high)[inner], 0.025)


def test_events_that_never_or_always_happen():
    display = ReliabilityDisplay.from_predictions(
        [False] * 5 + [True] * 5, [0.1] * 5 + [0.9] * 5, n_bins=2, ax=APART
    )
    assert display.low[0] == 0.0
    assert display.high[1] == 1.0
    assert 0 < display.high[0] < 1
    assert 0 < display.low[1] < 1


def test_equal_probabilities_are_in_one_bin_and_none_is_empty():
    p = np.r_[np.full(50, 0.3), np.full(50, 0.7), 0.8]
    display = ReliabilityDisplay.from_predictions(np.arange(101) % 2 == 0, p, n_bins=10, ax=APART)
    assert display.predicted.tolist() == pytest.approx([0.3, 0.7, 0.8])
    assert display.counts.tolist() == [50, 50, 1]


def test_of_several_classes_the_most_probable_one_counts():
    rows, species = load_iris(return_X_y=True)
    model = mercer.SVC(probability="platt", random_state=0).fit(rows[::2], species[::2])
    display = ReliabilityDisplay.from_estimator(model, rows[1::2], species[1::2], ax=APART)
    right = model.predict(rows[1::2]) == species[1::2]
    assert (display.observed * display.counts).sum() == pytest.approx(right.sum())
    assert display.probabilities.min() >= 1 / 3
    assert "most probable" in display.description


def test_what_cannot_be_drawn_is_said():
    with pytest.raises(ValueError, match=r"SVC.* has no probabilities.*probability='platt'"):
        ReliabilityDisplay.from_estimator(mercer.SVC().fit(X[:50], y[:50]), X, y, ax=APART)
    with pytest.raises(ValueError, match="has the class 7"):
        ReliabilityDisplay.from_estimator(MODEL, X[:2], [0, 7], ax=APART)
    with pytest.raises(ValueError, match=r"from 0 to 1, got -0\.1 to 0\.5"):
        ReliabilityDisplay.from_predictions([True, False], [0.5, -0.1], ax=APART)
    with pytest.raises(ValueError, match="one value for each row"):
        ReliabilityDisplay.from_predictions([True], [0.5, 0.1], ax=APART)
    with pytest.raises(ValueError, match="n_bins"):
        ReliabilityDisplay.from_predictions([True], [0.5], n_bins=0, ax=APART)


def test_rows_of_the_fit_are_told():
    seen = ReliabilityDisplay.from_estimator(MODEL, X[:300], y[:300], ax=APART)
    assert "rows of the fit" in seen.caveat
    assert ReliabilityDisplay.from_estimator(MODEL, X[300:600], y[300:600], ax=APART).caveat == ""
