"""One model for each fold, fitted on the other rows, and the scores of the rows it left out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing, check_random_state, indexable
from sklearn.utils.validation import _check_sample_weight, _num_samples, check_is_fitted

from mercer.estimators._methods import WrapsEstimator
from mercer.exceptions import warn_user

__all__ = ["CrossConformal", "CrossFitted", "RanksByFolds", "check_level", "warn_few"]


def check_level(level: float) -> float:
    """The level as a number in (0, 1)."""
    if not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1, for example 0.9; got {level!r}.")
    return float(level)


class CrossFitted:
    """The models of the folds of a data set.

    Attributes
    ----------
    models : list
        One for each fold.
    rows : list of int arrays
        The rows that each of them has not seen.
    """

    def __init__(self, estimator: Any, X: Any, y: Any, cv: Any, weight: Any, is_classifier: bool):
        n = _num_samples(X)
        splitter = check_cv(cv, y, classifier=is_classifier)
        if weight is not None:
            weight = _check_sample_weight(weight, X)
        self.models, self.rows = [], []
        for seen, held_out in splitter.split(X, y):
            if held_out.size == 0:
                continue
            target = None if y is None else _safe_indexing(y, seen)
            given = {} if weight is None else {"sample_weight": weight[seen]}
            self.models.append(clone(estimator).fit(_safe_indexing(X, seen), target, **given))
            self.rows.append(np.asarray(held_out))
        left_out = np.sort(np.concatenate(self.rows)) if self.rows else np.empty(0, np.intp)
        if not np.array_equal(left_out, np.arange(n)):
            raise ValueError(
                f"cv={cv!r} does not hold out every row exactly once, which the coverage needs: "
                "use KFold, StratifiedKFold or LeaveOneOut."
            )

    @property
    def n(self) -> int:
        return sum(rows.size for rows in self.rows)

    def held_out(self, score: Callable[[Any, Any, np.ndarray], np.ndarray], X: Any) -> list:
        """``score(model, rows of X, their numbers)`` of the rows that each model has not seen."""
        return [
            score(model, _safe_indexing(X, rows), rows)
            for model, rows in zip(self.models, self.rows, strict=True)
        ]


class CrossConformal(WrapsEstimator, MetaEstimatorMixin, BaseEstimator):
    """What the conformal estimators share: one model of all rows, and one for each fold."""

    estimator: Any
    cv: Any

    def _fit_all(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any]:
        """Fit the estimator of all rows; X and y of equal length."""
        X, y = indexable(X, y)
        given = {} if sample_weight is None else {"sample_weight": sample_weight}
        self.estimator_ = clone(self.estimator).fit(X, y, **given)
        return X, y

    def predict(self, X: Any) -> np.ndarray:
        """What the estimator of all rows predicts.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        check_is_fitted(self, "estimator_")
        return self.estimator_.predict(X)


class RanksByFolds(CrossConformal):
    """p-values: ranks of a new row among those that each fold held out."""

    def __init__(self, estimator: Any, *, cv: Any = 5, random_state: Any = 0):
        self.estimator = estimator
        self.cv = cv
        self.random_state = random_state

    def _ranks(self, strangeness: Callable[[Any, Any], np.ndarray], X: Any) -> np.ndarray:
        """The p-value of each entry of ``strangeness(model, X)``, ties broken at random."""
        check_is_fitted(self, "estimator_")
        above, equal = np.zeros((2, 1))
        for model, scores in zip(self._models, self._scores, strict=True):
            of_new = strangeness(model, X)
            first = np.searchsorted(scores, of_new, side="left")
            last = np.searchsorted(scores, of_new, side="right")
            above = above + (scores.size - last)
            equal = equal + (last - first)
        draw = check_random_state(self.random_state).uniform(size=above.shape)
        return (above + draw * (equal + 1)) / (self._n + 1)


def warn_few(n: int, level: float) -> None:
    """Say so where n rows cannot tell levels that high apart."""
    least = int(np.ceil(1 / (1 - level))) - 1
    if n < least:
        warn_user(
            f"{n} rows are too few for level={level:g}: every set is the whole range. At least "
            f"{least} are needed.",
            UserWarning,
        )
