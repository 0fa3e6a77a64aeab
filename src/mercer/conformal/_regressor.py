"""Prediction intervals: the jackknife+ and CV+."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.model_selection import LeaveOneOut
from sklearn.utils.validation import _num_samples, check_is_fitted

from mercer.conformal._cross import CrossConformal, CrossFitted, check_level, warn_few

__all__ = ["ConformalRegressor"]


class ConformalRegressor(RegressorMixin, CrossConformal):
    """Intervals that contain the target with a chosen probability.

    The jackknife+ and, with fewer folds than rows, CV+ (Barber, Candès, Ramdas and Tibshirani,
    Annals of Statistics 49, 2021): with Rᵢ the residual of row i under the model that has not seen
    it, and μᵢ(x) the value of that model, the interval is

        [ quantile of μᵢ(x) − Rᵢ,  quantile of μᵢ(x) + Rᵢ ]   over all rows i.

    With exchangeable rows the coverage is at least 2·level − 1 whatever the distribution (80 % at
    level 0.9), and close to ``level`` unless the estimator is unstable.

    Parameters
    ----------
    estimator : regressor
    cv : int, splitter or "loo", default=10
        Folds; every row must be held out exactly once. "loo" is the jackknife+.

    Attributes
    ----------
    estimator_ : fitted on all rows; `predict` is its.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import SVR
    >>> from mercer.conformal import ConformalRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, (200, 1))
    >>> y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=200)
    >>> low, high = ConformalRegressor(SVR()).fit(X, y).predict_interval([[0.0]], level=0.9)
    >>> bool(low[0] < 0.0 < high[0])
    True
    """

    def __init__(self, estimator: Any, *, cv: Any = 10):
        self.estimator = estimator
        self.cv = cv

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> ConformalRegressor:
        """Fit the estimator on all rows, and once for each fold.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
            For the estimators; quantiles are not weighted.

        Returns
        -------
        self : ConformalRegressor
        """
        y = np.asarray(y, dtype=np.float64)
        self._fit_all(X, y, sample_weight)
        cv = LeaveOneOut() if self.cv == "loo" else self.cv
        folds = CrossFitted(self.estimator, X, y, cv, sample_weight, is_classifier=False)
        self._models = folds.models
        self._residuals = folds.held_out(
            lambda model, rows, index: np.abs(y[index] - model.predict(rows)), X
        )
        return self

    def predict_interval(self, X: Any, level: float = 0.9) -> tuple[np.ndarray, np.ndarray]:
        """Both ends of the interval of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        level : float in (0, 1), default=0.9

        Returns
        -------
        low, high : ndarrays of shape (n_samples,)
            Infinite where there are too few rows for the level.
        """
        check_is_fitted(self, "estimator_")
        level = check_level(level)
        n = sum(residuals.size for residuals in self._residuals)
        warn_few(n, level)
        low, high = np.empty((2, _num_samples(X), n))
        start = 0
        for model, residuals in zip(self._models, self._residuals, strict=True):
            part = slice(start, start + residuals.size)
            values = np.asarray(model.predict(X), dtype=np.float64)[:, None]
            low[:, part], high[:, part] = values - residuals, values + residuals
            start = part.stop
        # The ⌈level (n+1)⌉-th smallest of μ + R, and as many from the other end of μ − R.
        k = int(np.ceil(level * (n + 1) * (1 - 1e-12)))
        if k > n:
            return np.full(len(low), -np.inf), np.full(len(high), np.inf)
        return np.partition(low, n - k, axis=1)[:, n - k], np.partition(high, k - 1, axis=1)[
            :, k - 1
        ]
