"""One model for each fold, fitted on the other rows, and the scores of the rows it left out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _check_sample_weight, _num_samples

from mercer.exceptions import warn_user

__all__ = ["CrossFitted", "check_level"]


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


def warn_few(n: int, level: float) -> None:
    """Say so where n rows cannot tell levels that high apart."""
    least = int(np.ceil(1 / (1 - level))) - 1
    if n < least:
        warn_user(
            f"{n} rows are too few for level={level:g}: every set is the whole range. At least "
            f"{least} are needed.",
            UserWarning,
        )
