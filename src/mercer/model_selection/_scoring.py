"""Scores from decision values: the scorer sees a model that predicts what is already known."""

from __future__ import annotations

from copy import copy
from inspect import signature
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_outlier_detector, is_regressor
from sklearn.metrics import check_scoring
from sklearn.metrics._scorer import _BaseScorer
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils.validation import _num_samples

from mercer.model_selection._held_out import HeldOutModel, predictions, right_values

__all__ = ["Scoring"]


class Scoring:
    """A scorer and the data it is given.

    Parameters
    ----------
    scoring : str, callable or None
        As in scikit-learn; None is the estimator's own score.
    estimator : estimator
    X, y
        All rows.
    weight : array or None
        Sample weights for the score.
    params : dict
        Further arrays or values for the scorer (metadata routing).
    """

    def __init__(
        self,
        scoring: Any,
        estimator: Any,
        X: Any,
        y: Any,
        weight: np.ndarray | None,
        params: dict[str, Any] | None = None,
    ):
        if scoring is None and is_outlier_detector(estimator):
            raise ValueError(
                f"{type(estimator).__name__} has no score of its own: give scoring, for example "
                "scoring='roc_auc', 'accuracy' or 'f1' with y = +1 for inliers and -1 for outliers."
            )
        self.scorer = check_scoring(estimator, scoring=scoring)
        self.X, self.y, self.weight, self.params = X, y, weight, params or {}
        name = scoring if isinstance(scoring, str) else ""
        self.is_accuracy = is_classifier(estimator) and (scoring is None or name == "accuracy")
        is_r2 = is_regressor(estimator) and (scoring is None or name == "r2")
        self.is_r2 = is_r2 and np.ndim(y) == 1
        # A user's function may ask a model for more than predictions.
        self.needs_values_only = scoring is None or isinstance(scoring, (str, _BaseScorer))
        function = getattr(self.scorer, "_score_func", None)
        self.takes_weight = scoring is None or (
            function is not None and "sample_weight" in signature(function).parameters
        )
        self._rows: dict[int, tuple[Any, Any, Any]] = {}  # by id of the row numbers, kept with it

    def check(self, estimator: Any, rows: np.ndarray) -> None:
        """Raise if right predictions do not have a finite score: it would have none at all."""
        is_known = self.is_accuracy or self.is_r2 or not self.needs_values_only
        if is_known or hasattr(estimator, "predict_proba"):
            return
        model = copy(estimator)
        y = np.asarray(self.y)[rows]
        if is_classifier(estimator):
            model.classes_ = np.unique(np.asarray(self.y))
            values = right_values(model.classes_, y)
        else:
            values = np.asarray(y, np.float64).reshape(len(rows), -1)
        try:
            score = self.of_model(HeldOutModel(model, values), rows)
        except AttributeError as error:
            name = type(estimator).__name__
            raise ValueError(
                f"scoring={self.scorer!r} asks for what {name} does not have: {error}"
            ) from error
        if not np.isfinite(score):
            raise ValueError(
                f"scoring={self.scorer!r} gives {score} for right predictions of the first split: "
                "it cannot rank candidates. Use another scorer, or another cv."
            )

    def of_values(self, estimator: Any, values: np.ndarray, rows: np.ndarray) -> float:
        """The score of a model with these decision values (or predictions) at some rows."""
        if self.is_accuracy or self.is_r2:
            return self.of_predictions(predictions(estimator, values), rows)
        return self.of_model(HeldOutModel(estimator, values), rows)

    def of_predictions(self, predicted: np.ndarray, rows: np.ndarray) -> float:
        """Accuracy or R² of predictions (`is_accuracy`, `is_r2`)."""
        y = self.y[rows]
        weight = None if self.weight is None else self.weight[rows]
        if self.is_accuracy and weight is None:
            return float(np.count_nonzero(predicted == y) / y.size)
        if self.is_accuracy:
            return float(np.average(predicted == y, weights=weight))
        return _r2(y, predicted, weight)

    def of_model(self, model: Any, rows: np.ndarray) -> float:
        """The score of a model at some rows."""
        return self.of_rows(model, *self._at(rows), rows)

    def of_rows(self, model: Any, X: Any, y: Any, rows: np.ndarray) -> float:
        """The score of a model at X and y, which are those of some rows as it takes them."""
        more = {
            key: _safe_indexing(value, rows) if _is_per_row(value, _num_samples(self.X)) else value
            for key, value in self.params.items()
        }
        if self.weight is not None and self.takes_weight:
            more["sample_weight"] = self.weight[rows]
        return _number(self.scorer(model, X, y, **more), self.scorer)

    @staticmethod
    def is_pairwise(model: Any) -> bool:
        """Whether the model takes kernel values against its training rows."""
        return bool(get_tags(model).input_tags.pairwise)

    def _at(self, rows: np.ndarray) -> tuple[Any, Any]:
        key = id(rows)
        if key not in self._rows:
            y = None if self.y is None else _safe_indexing(self.y, rows)
            self._rows[key] = rows, _safe_indexing(self.X, rows), y
        return self._rows[key][1:]


def _number(value: Any, scorer: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ValueError(
            f"scoring must give one number, but {scorer!r} returned {value!r}."
        ) from None
    return number


def _is_per_row(value: Any, n: int) -> bool:
    return hasattr(value, "__len__") and not isinstance(value, (str, dict)) and len(value) == n


def _r2(y: np.ndarray, predicted: np.ndarray, weight: np.ndarray | None) -> float:
    """As `sklearn.metrics.r2_score`; 1 or 0 where y is constant, NaN for a single row."""
    if y.size < 2:
        return float("nan")
    w = np.ones(y.size) if weight is None else weight
    residual = float(w @ (y - predicted) ** 2)
    spread = float(w @ (y - np.average(y, weights=w)) ** 2)
    if spread == 0:
        return 1.0 if residual == 0 else 0.0
    return 1.0 - residual / spread
