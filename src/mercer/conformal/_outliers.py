"""p-values of new rows under a one-class model."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.conformal._cross import CrossFitted, RanksByFolds

__all__ = ["ConformalOutlierDetector"]


class ConformalOutlierDetector(RanksByFolds):
    """p-values: how unlike the training rows a new row is.

    The model of each fold ranks a new row among the rows that the fold held out
    (cross-conformal prediction). Of rows from the distribution of the training rows about a
    fraction α has a p-value of at most α.

    Parameters
    ----------
    estimator : one-class estimator with ``decision_function``, larger for rows that are normal
    cv : int or splitter, default=5
        Folds; every row must be held out exactly once.
    random_state : int, RandomState or None, default=0
        For ties.

    Attributes
    ----------
    estimator_ : fitted on all rows

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import OneClassSVM
    >>> from mercer.conformal import ConformalOutlierDetector
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> model = ConformalOutlierDetector(OneClassSVM(nu=0.1)).fit(X)
    >>> bool(model.p_values([[6.0, 6.0]])[0] < 0.01)
    True
    """

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> ConformalOutlierDetector:
        """Fit the estimator on all rows, and once for each fold.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            For the estimators; ranks are not weighted.

        Returns
        -------
        self : ConformalOutlierDetector
        """
        self._fit_all(X, None, sample_weight)
        folds = CrossFitted(self.estimator, X, None, self.cv, sample_weight, is_classifier=False)
        self._models, self._n = folds.models, folds.n
        self._scores = folds.held_out(
            lambda model, rows, index: np.sort(_strangeness(model, rows)), X
        )
        return self

    def p_values(self, X: Any) -> np.ndarray:
        """The fraction of training rows that are as unusual as each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        p : ndarray of shape (n_samples,)
        """
        return self._ranks(_strangeness, X)


def _strangeness(model: Any, X: Any) -> np.ndarray:
    return -model.decision_function(X)
