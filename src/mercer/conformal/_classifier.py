"""Conformal sets of classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin

from mercer.conformal._cross import CrossFitted, RanksByFolds, check_level

__all__ = ["ConformalClassifier"]


class ConformalClassifier(ClassifierMixin, RanksByFolds):
    """Sets of classes that contain the true one with a chosen probability.

    Cross-conformal prediction (Vovk, Annals of Mathematics and Artificial Intelligence 74, 2015):
    the model of each fold ranks a new row, with each class in turn, among the rows that the fold
    held out. A class whose p-value is at most 1 − level is left out of the set. With exchangeable
    rows the sets contain the true class in about a fraction ``level`` of the cases (at least
    2·level − 1 in the worst case of several folds; exactly, with ties drawn at random, of one
    calibration set).

    Parameters
    ----------
    estimator : classifier with ``decision_function`` or ``predict_proba``
    cv : int or splitter, default=5
        Folds; every row must be held out exactly once.
    random_state : int, RandomState or None, default=0
        For ties: p-values are randomised, and sets may be empty.

    Attributes
    ----------
    estimator_ : fitted on all rows; `predict` is its.
    classes_ : ndarray of shape (n_classes,)

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import SVC
    >>> from mercer.conformal import ConformalClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = ConformalClassifier(SVC()).fit(X, y)
    >>> model.predict_set(X[:2], level=0.9).shape
    (2, 3)
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> ConformalClassifier:
        """Fit the estimator on all rows, and once for each fold.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
            For the estimators; ranks are not weighted.

        Returns
        -------
        self : ConformalClassifier
        """
        y = np.asarray(y)
        self._fit_all(X, y, sample_weight)
        self.classes_ = self.estimator_.classes_
        folds = CrossFitted(self.estimator, X, y, self.cv, sample_weight, is_classifier=True)
        for model in folds.models:
            if not np.array_equal(model.classes_, self.classes_):
                missing = sorted(set(self.classes_) - set(model.classes_))
                raise ValueError(
                    f"A fold has no row of class {missing[0]!r} to learn from: use fewer folds, or "
                    "a stratified splitter."
                )
        codes = np.searchsorted(self.classes_, y)

        def of_own_class(model: Any, rows: Any, index: np.ndarray) -> np.ndarray:
            return np.sort(_strangeness(model, rows)[np.arange(index.size), codes[index]])

        self._models, self._n = folds.models, folds.n
        self._scores = folds.held_out(of_own_class, X)
        return self

    def p_values(self, X: Any) -> np.ndarray:
        """The p-value of every class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
        """
        return self._ranks(_strangeness, X)

    def predict_set(self, X: Any, level: float = 0.9, *, allow_empty: bool = True) -> np.ndarray:
        """Which classes are in the set of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        level : float in (0, 1), default=0.9
        allow_empty : bool, default=True
            An empty set says that the row is unlike all that was seen. With False the predicted
            class is in every set, which raises the coverage.

        Returns
        -------
        is_in : bool ndarray of shape (n_samples, n_classes)
        """
        is_in = self.p_values(X) > 1 - check_level(level)
        if not allow_empty:
            predicted = np.searchsorted(self.classes_, self.predict(X))
            is_in[np.arange(predicted.size), predicted] = True
        return is_in


def _strangeness(model: Any, X: Any) -> np.ndarray:
    """By how much the best other class is ahead of each class, shape (n, n_classes)."""
    if hasattr(model, "decision_function"):
        values = np.asarray(model.decision_function(X), dtype=np.float64)
        if values.ndim == 1:
            return np.column_stack([values, -values])
    else:
        values = np.log(np.maximum(model.predict_proba(X), 1e-300))
    if values.shape[1] != model.classes_.size:
        raise ValueError(
            f"The decision values have {values.shape[1]} columns for {model.classes_.size} classes:"
            ' set decision_function_shape="ovr".'
        )
    order = np.sort(values, axis=1)
    best, second = order[:, -1:], order[:, -2:-1]
    return np.where(values == best, second, best) - values
