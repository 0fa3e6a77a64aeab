"""`GridSearchCV`: scikit-learn's, with shared work where the estimator allows it."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from sklearn import get_config
from sklearn import model_selection as sklearn_search
from sklearn.base import clone
from sklearn.metrics._scorer import _BaseScorer
from sklearn.model_selection import ParameterGrid
from sklearn.utils.validation import _num_samples, indexable

from mercer.estimators._validation import _check_weight
from mercer.model_selection._driver import (
    as_rows,
    check_folds,
    check_grid,
    evaluate,
    make_folds,
    shares_work,
)
from mercer.model_selection._plan import split_pipeline
from mercer.model_selection._scoring import Scoring
from mercer.solvers import Stopping

__all__ = ["GridSearchCV"]


class GridSearchCV(sklearn_search.GridSearchCV):
    """scikit-learn's ``GridSearchCV``, faster for estimators of Mercer.

    If the estimator is an `SVC`, `SVR`, `OneClassSVM`, `KernelRidge`, `LinearSVC`, `LinearSVR` or
    `LogisticRegression` of Mercer, or a pipeline that ends with one, and the grid has parameters of
    that step only, the fits share their work as in `SVCCV`. Parameters, attributes and scores are
    scikit-learn's; ``cv_results_`` also has ``max_kkt_violation``. All other searches, those over
    steps of a pipeline, with several scorers, with a user's function as scorer or with metadata
    routing, are scikit-learn's own.

    Parameters
    ----------
    estimator : estimator
    param_grid : dict or list of dicts
    scoring, n_jobs, refit, cv, verbose, pre_dispatch, error_score, return_train_score
        As in scikit-learn. Where work is shared, ``n_jobs`` is a number of threads, and a grid with
        a value that the estimator refuses, or with a candidate twice, is an error.

    Attributes
    ----------
    shares_work_ : bool
        Whether the fits shared their work.
    cv_results_, best_estimator_, best_score_, best_params_, best_index_, scorer_, n_splits_, \
refit_time_, multimetric_, classes_, n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import SVC
    >>> from mercer.model_selection import GridSearchCV
    >>> X, y = load_iris(return_X_y=True)
    >>> search = GridSearchCV(SVC(), {"C": [0.1, 1.0, 10.0], "gamma": [0.01, 0.1]}).fit(X, y)
    >>> search.best_params_
    {'C': 1.0, 'gamma': 0.1}
    """

    def fit(self, X: Any, y: Any = None, **params: Any) -> GridSearchCV:
        """Run the search with all sets of parameters.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, n_samples)
        y : array-like of shape (n_samples,), optional
        **params : dict
            As in scikit-learn: ``groups`` for the splitter, ``sample_weight`` for the fits.

        Returns
        -------
        self : object
            The fitted search.
        """
        X = as_rows(X)
        weight_name = f"{split_pipeline(self.estimator)[2]}sample_weight"
        self.shares_work_ = y is not None and self._can_share(params, weight_name)
        if not self.shares_work_:
            return super().fit(X, y, **params)
        self._validate_params()
        X, y = indexable(X, y)
        y = np.asarray(y)
        candidates = list(ParameterGrid(self.param_grid))
        check_grid(candidates, self.estimator)
        weight = _check_weight(params.get(weight_name), (_num_samples(X),))
        last = split_pipeline(self.estimator)[1]
        scoring = Scoring(self.scoring, last, X, y, None)
        folds = make_folds(self.cv, X, y, last, params.get("groups"))
        check_folds(folds, y, weight, last)
        scoring.check(last, folds[0][1])
        with Stopping() as stopping:
            given = candidates, X, y, folds, scoring, stopping
            how = {"n_jobs": self.n_jobs, "return_train_score": self.return_train_score}
            ledger = evaluate(clone(self.estimator), *given, weight=weight, **how)
        self.cv_results_, self.n_splits_ = ledger.results(), len(folds)
        self.multimetric_, self.scorer_ = False, scoring.scorer
        self.best_index_ = ledger.best() or 0
        self.best_score_ = float(ledger.mean()[self.best_index_])
        self.best_params_ = candidates[self.best_index_]
        if self.refit:
            model = clone(self.estimator).set_params(**clone(self.best_params_, safe=False))
            began = time.perf_counter()
            more = {} if weight is None else {weight_name: weight}
            self.best_estimator_ = model.fit(X, y, **more)
            self.refit_time_ = time.perf_counter() - began
            if hasattr(model, "feature_names_in_"):
                self.feature_names_in_ = model.feature_names_in_
        return self

    def _can_share(self, params: dict[str, Any], weight_name: str) -> bool:
        is_one_score = self.scoring is None or isinstance(self.scoring, (str, _BaseScorer))
        is_plain = isinstance(self.refit, bool) and set(params) <= {"groups", weight_name}
        if not is_one_score or not is_plain or get_config()["enable_metadata_routing"]:
            return False
        prefix = split_pipeline(self.estimator)[2]
        parts = self.param_grid if isinstance(self.param_grid, list) else [self.param_grid]
        names = [name for part in parts for name in part]
        is_own = all(name.startswith(prefix) for name in names)
        is_own = is_own and f"{prefix}approximation" not in names
        return is_own and shares_work(split_pipeline(self.estimator)[1])
