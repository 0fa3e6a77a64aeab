"""A model of which only the decision values at some rows are known."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, is_outlier_detector
from sklearn.metrics import accuracy_score, r2_score

from mercer._multiclass import ovr_scores, pairs, votes

__all__ = ["HeldOutModel", "predictions", "right_values"]


def predictions(estimator: Any, values: np.ndarray) -> np.ndarray:
    """What ``predict`` makes of the decision values of all tasks, shape (n, n_tasks)."""
    if not hasattr(estimator, "classes_"):
        if is_outlier_detector(estimator):
            return np.where(values[:, 0] > 0, 1, -1).astype(np.intp)
        return values[:, 0] if values.shape[1] == 1 else values
    k = estimator.classes_.size
    if k == 2:
        return estimator.classes_[(values[:, 0] > 0).astype(np.intp)]
    score = ovr_scores(values, k) if estimator.break_ties else votes(values, k)
    return estimator.classes_[np.argmax(score, axis=1)]


def right_values(classes: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Decision values of all tasks for which every prediction is right."""
    codes = np.searchsorted(classes, y)
    if classes.size == 2:
        return np.where(codes == 1, 1.0, -1.0)[:, np.newaxis]
    tasks = pairs(classes.size)
    values = [np.where(codes == i, 1.0, np.where(codes == j, -1.0, 0.5)) for i, j in tasks]
    return np.column_stack(values)


class HeldOutModel(BaseEstimator):
    """Predictions at the rows of a split, for scorers; it knows nothing of other rows."""

    def __init__(self, estimator: Any, values: np.ndarray):
        self.estimator, self.values = estimator, values
        if hasattr(estimator, "classes_"):
            self.classes_ = estimator.classes_

    def __sklearn_tags__(self) -> Any:
        return self.estimator.__sklearn_tags__()

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def _check(self, X: Any) -> None:
        n = X.shape[0] if hasattr(X, "shape") else len(X)
        if n != len(self.values):
            raise ValueError(
                f"A scorer asked for predictions of {n} rows, but only those of the "
                f"{len(self.values)} rows of the split are known during a search."
            )

    def predict(self, X: Any) -> np.ndarray:
        """Predictions of the split's rows."""
        self._check(X)
        return predictions(self.estimator, self.values)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy, or R² of a regression."""
        measure = accuracy_score if hasattr(self, "classes_") else r2_score
        return float(measure(y, self.predict(X), sample_weight=sample_weight))

    @property
    def decision_function(self) -> Any:
        """Decision values of the split's rows; not of a regressor."""
        if not hasattr(self, "classes_") and not is_outlier_detector(self.estimator):
            raise AttributeError("decision_function")
        return self._decision_function

    def _decision_function(self, X: Any) -> np.ndarray:
        self._check(X)
        if not hasattr(self, "classes_") or self.classes_.size == 2:
            return self.values[:, 0]
        if self.estimator.decision_function_shape == "ovr":
            return ovr_scores(self.values, self.classes_.size)
        return self.values
