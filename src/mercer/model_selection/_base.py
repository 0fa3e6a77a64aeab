"""The base of the estimators that choose their own parameters by cross-validation."""

from __future__ import annotations

import os
import time
from itertools import product
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import Bunch
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, column_or_1d, indexable, validate_data

from mercer.certificates._certificate import Certificate
from mercer.estimators._fields import RunParameters, estimator
from mercer.estimators._validation import _check_weight, as_numbers
from mercer.exceptions import warn_user
from mercer.model_selection._driver import (
    SETTINGS,
    as_rows,
    check_folds,
    check_grid,
    evaluate,
    make_folds,
)
from mercer.model_selection._ledger import Ledger
from mercer.model_selection._progress import SearchLines
from mercer.model_selection._scoring import Scoring
from mercer.solvers import Choice, Stopping

__all__ = ["BaseSearch", "SearchParameters", "lists_of", "log_grid", "values_of"]

_STEP = "estimator"


def values_of(name: str, given: Any, default: tuple[float, float], scale: float = 1.0) -> list:
    """The values of a grid: an integer n stands for n of them, evenly spaced in logarithms."""
    if isinstance(given, (bool, np.bool_)):
        raise ValueError(f"{name} must be a number of values, or the values; got {given}.")
    if isinstance(given, (int, np.integer)):
        most = SETTINGS.most_values
        if not 1 <= given <= most:
            raise ValueError(
                f"{name} must be a number of values from 1 to {most:,}, or the values; got {given}."
            )
        return log_grid(int(given), *default, scale)
    values = np.atleast_1d(np.asarray(given, dtype=np.float64))
    if values.ndim != 1 or values.size == 0 or not np.isfinite(values).all():
        raise ValueError(f"{name} must be a number of values, or finite values; got {given!r}.")
    return values.tolist()


def lists_of(param_grid: dict[str, Any] | None) -> dict[str, list]:
    """The values of each parameter of a ``param_grid``."""
    out = {}
    for name, values in (param_grid or {}).items():
        if isinstance(values, (str, bytes, dict)) or not np.iterable(values):
            raise ValueError(f"param_grid has {name}={values!r}: give a list of values.")
        out[name] = list(values)
        if not out[name]:
            raise ValueError(f"param_grid has no values of {name}: give at least one.")
    return out


def log_grid(n: int, first: float, last: float, scale: float = 1.0) -> list[float]:
    """n values from 10^first to 10^last, times a scale."""
    return (np.logspace(first, last, n) * scale).tolist()


@estimator
class SearchParameters(RunParameters):
    """What all searches have."""

    _parameter_constraints: ClassVar[dict] = {
        "cv": ["cv_object"],
        "scoring": [None, str, callable],
        "resume": [None, str, os.PathLike],
        "param_grid": [None, dict],
    }
    param_grid: Any = None
    cv: Any = 5
    scoring: Any = None
    refit: bool = True
    scale: bool = False
    return_train_score: bool = False
    resume: Any = None
    cache_size: float = 1000


def _refitted(attribute: str) -> Any:
    """For `available_if`: the best estimator, or the one that is searched, has the attribute."""

    def check(self: Any) -> bool:
        if hasattr(self, "cv_results_") and not hasattr(self, "best_estimator_"):
            raise AttributeError(
                f"This {type(self).__name__} has refit=False: {attribute} needs the model that is "
                "fitted to all rows."
            )
        model = getattr(self, "best_estimator_", None) or self._make_estimator()
        getattr(model, attribute)
        return True

    return check


class BaseSearch(BaseEstimator):
    """An estimator whose ``fit`` chooses its parameters.

    Subclasses make the estimator (`_make_estimator`) and the grid (`_grid`).
    """

    _parameter_constraints: ClassVar[dict] = {}
    # Names of the parameters that are passed on to the estimator as they are.
    _passed_on: ClassVar[tuple[str, ...]] = ()

    def _make_estimator(self) -> Any:
        raise NotImplementedError

    def _grid(self, X: Any) -> list[dict[str, list]]:
        """Dictionaries of values, of which all combinations are candidates."""
        raise NotImplementedError

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, groups: Any = None, **params: Any
    ) -> BaseSearch:
        """Search the grid, and fit the best candidate to all rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_samples)
            Training rows; for a precomputed kernel, the kernel matrix.
        y : array-like of shape (n_samples,)
            Class labels or targets.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the fits, and of the scores where the scorer takes them.
        groups : array-like of shape (n_samples,), optional
            For splitters that keep groups together.
        **params : dict
            For the splitter and the scorer, with metadata routing enabled.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self._validate_params()
        with Stopping(self.time_limit, self._callback(), self.on_interrupt, self) as stopping:
            X, y = indexable(as_rows(X), y)
            routed = self._routed(sample_weight, params)
            validate_data(self, X, skip_check_array=True)
            _refuse_text(X, getattr(self, "kernel", "linear"))
            weight = _check_weight(sample_weight, (X.shape[0] if hasattr(X, "shape") else len(X),))
            base = self._make_estimator()
            shown = self._candidates(X)
            whole, candidates = base, shown
            if self.scale:
                scaler = StandardScaler(with_mean=not sp.issparse(X))
                whole = Pipeline([("scaler", scaler), (_STEP, base)])
                candidates = [{f"{_STEP}__{k}": v for k, v in c.items()} for c in shown]
            check_grid(candidates, whole)
            y = self._check_y(y)
            scoring = Scoring(self.scoring, base, X, y, weight, routed.scorer.score)
            folds = make_folds(self.cv, X, y, base, groups, routed.splitter.split)
            check_folds(folds, y, weight, base)
            scoring.check(base, folds[0][1])
            self.n_splits_ = len(folds)
            limited = stopping
            if self.time_limit is not None:
                limited = stopping.until(SETTINGS.search_time * self.time_limit)
            names = "n_jobs", "return_train_score", "resume"
            how = {name: getattr(self, name) for name in names}
            how["cache_bytes"] = int(min(self.cache_size, 2**30) * 2**20)
            given = candidates, X, y, folds, scoring, limited
            ledger = evaluate(whole, *given, weight=weight, shown=shown, **how)
            self._keep(ledger, stopping)
            if self.refit:
                self._refit(whole, candidates[self.best_index_], X, y, weight, stopping)
        return self

    def _check_y(self, y: Any) -> Any:
        if y is None:
            raise ValueError(
                f"This {type(self).__name__} estimator requires y to be passed, but the target y "
                "is None."
            )
        return column_or_1d(y, warn=True)

    def _candidates(self, X: Any) -> list[dict[str, Any]]:
        out = []
        for part in self._grid(X):
            names = list(part)
            out += [dict(zip(names, values, strict=True)) for values in product(*part.values())]
        return out

    def _callback(self) -> Any:
        return SearchLines(type(self).__name__, self.callback) if self.verbose else self.callback

    def _keep(self, ledger: Ledger, stopping: Stopping) -> None:
        """Results, and the best of the candidates that are complete."""
        self.cv_results_ = ledger.results()
        best = ledger.best()
        done, total = int(ledger.is_done.sum()), ledger.is_done.size
        if done < total and not stopping.interrupted:
            kept = "best candidate so far" if best is not None else "first candidate"
            warn_user(
                f"The search was stopped after {done} of {total} fits"
                + (f" by time_limit={self.time_limit:g}" if self.time_limit is not None else "")
                + f"; the {kept} is kept. Raise time_limit, or use fewer candidates.",
                UserWarning,
            )
        self.best_index_ = 0 if best is None else best
        self.best_score_ = float(ledger.comparable()[self.best_index_])
        self.best_params_ = dict(ledger.candidates[self.best_index_])
        self.ties_ = [dict(ledger.candidates[i]) for i in ledger.ties() if i != self.best_index_]

    def _refit(
        self, whole: Any, params: dict, X: Any, y: Any, weight: Any, stopping: Stopping
    ) -> None:
        began = time.perf_counter()
        model = clone(whole).set_params(**clone(params, safe=False))
        last = model.steps[-1][1] if isinstance(model, Pipeline) else model
        limit = stopping.remaining
        if stopping.interrupted:  # whoever pressed Ctrl-C does not wait for a long fit
            limit = min(limit, max(1.0, stopping.seconds / 4))
        if np.isfinite(limit) and "time_limit" in last.get_params():
            last.set_params(time_limit=limit)
        name = f"{_STEP}__sample_weight" if last is not model else "sample_weight"
        model.fit(X, y, **({} if weight is None else {name: weight}))
        if "time_limit" in last.get_params():
            last.set_params(time_limit=None)
        self.best_estimator_ = model
        self.refit_time_ = time.perf_counter() - began

    # ------------------------------------------------------------------ the fitted model

    @property
    def scorer_(self) -> Any:
        """The scorer of the search."""
        check_is_fitted(self, "cv_results_")
        return check_scoring(self._make_estimator(), scoring=self.scoring)

    @property
    def classes_(self) -> np.ndarray:
        """The classes, of a classifier."""
        return self.best_estimator_.classes_

    @property
    def certificate_(self) -> Certificate:
        """The certificate of the best estimator on all rows."""
        return self._last_step().certificate_

    @property
    def solver_(self) -> Choice:
        """The method of solution of the best estimator, and the reason."""
        return self._last_step().solver_

    def _last_step(self) -> Any:
        model = self.best_estimator_
        return model.steps[-1][1] if isinstance(model, Pipeline) else model

    def _best(self) -> Any:
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_

    def predict(self, X: Any) -> np.ndarray:
        """Predictions of the best estimator."""
        return self._best().predict(X)

    @available_if(_refitted("decision_function"))
    def decision_function(self, X: Any) -> np.ndarray:
        """Decision values of the best estimator."""
        return self._best().decision_function(X)

    @available_if(_refitted("predict_proba"))
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the best estimator."""
        return self._best().predict_proba(X)

    @available_if(_refitted("predict_log_proba"))
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithms of the probabilities of the best estimator."""
        return self._best().predict_log_proba(X)

    @available_if(_refitted("score_samples"))
    def score_samples(self, X: Any) -> np.ndarray:
        """Scores of the best estimator, without its offset."""
        return self._best().score_samples(X)

    def score(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> float:
        """The score of the best estimator, by ``scoring``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
        **params : dict
            For the scorer, with metadata routing enabled.

        Returns
        -------
        score : float
        """
        more = {} if sample_weight is None else {"sample_weight": sample_weight}
        return self.scorer_(self._best(), X, y, **more, **params)

    # ------------------------------------------------------------------ scikit-learn's protocol

    def _routed(self, sample_weight: Any, params: dict[str, Any]) -> Any:
        """What goes to the splitter and the scorer."""
        from sklearn.utils._metadata_requests import _raise_for_params, _routing_enabled

        _raise_for_params(params, self, "fit")
        if _routing_enabled():
            return process_routing(self, "fit", **params)
        return Bunch(splitter=Bunch(split={}), scorer=Bunch(score=params))

    def get_metadata_routing(self) -> MetadataRouter:
        """What the splitter and the scorer ask for."""
        router = MetadataRouter(owner=self).add_self_request(self)
        scorer = check_scoring(self._make_estimator(), scoring=self.scoring)
        methods = MethodMapping().add(caller="fit", callee="score")
        router.add(scorer=scorer, method_mapping=methods.add(caller="score", callee="score"))
        splitter = check_cv(self.cv)
        return router.add(
            splitter=splitter, method_mapping=MethodMapping().add(caller="fit", callee="split")
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        own = self._make_estimator().__sklearn_tags__()
        tags.estimator_type, tags.classifier_tags = own.estimator_type, own.classifier_tags
        tags.regressor_tags, tags.target_tags = own.regressor_tags, own.target_tags
        tags.input_tags = own.input_tags
        return tags


def _refuse_text(X: Any, kernel: Any) -> None:
    """Text where numbers are needed: the error of the estimators, before anything is split."""
    kernels = kernel if isinstance(kernel, (list, tuple)) else [kernel]
    if any(isinstance(each, str) for each in kernels):
        as_numbers(X)
