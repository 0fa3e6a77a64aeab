"""Candidates that are fitted one by one: estimators whose fits share nothing but their Gram."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import _safe_indexing
from sklearn.utils.metaestimators import _safe_split

from mercer._threads import Workers
from mercer.model_selection._ledger import Cell
from mercer.model_selection._plan import Search, split_pipeline

__all__ = ["search_each"]


def search_each(search: Search) -> None:
    """Fit and score every candidate on every split, over all threads."""
    pairs = [
        (candidate, split)
        for candidate in range(len(search.candidates))
        for split in range(len(search.folds))
        if not search.ledger.is_done[candidate, split]
    ]

    def one(pair: tuple[int, int]) -> None:
        if search.stopping.stopped is None:
            cell = _fit_and_score(search, *pair)
            if not (_is_limited(search) and search.stopping.stopped is not None):
                search.ledger.record([cell])  # else of a fit that was cut off

    # Filters of warnings are those of all threads: they are set once, around these.
    with Workers(search.n_threads) as workers, warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        workers.map(one, pairs)


def _is_limited(search: Search) -> bool:
    """Whether fits are given the time that is left of the search."""
    own = getattr(split_pipeline(search.estimator)[1], "time_limit", ...)
    return own is None and search.stopping.time_limit is not None


def _fit_and_score(search: Search, candidate: int, split: int) -> Cell:
    train, test = search.folds[split]
    if search.weight is not None:
        train = train[search.weight[train] > 0]
    params = clone(search.candidates[candidate], safe=False)
    model = clone(search.estimator).set_params(**params)
    if _is_limited(search):
        split_pipeline(model)[1].time_limit = search.stopping.remaining
    X, y = _safe_split(model, search.X, search.y, train)
    more: dict[str, Any] = {}
    if search.weight is not None:
        more[_weight_name(model)] = search.weight[train]
    began = time.perf_counter()
    model.fit(X, y, **more)
    fitted = time.perf_counter()
    if search.scoring.is_pairwise(model):
        score, train_score = _pairwise_scores(search, model, train, test)
    else:
        score = search.scoring.of_model(model, test)
        train_score = np.nan
        if search.ledger.has_train_scores:
            train_score = search.scoring.of_rows(model, X, y, train)
    ended = time.perf_counter()
    violation = getattr(getattr(model, "certificate_", None), "kkt_violation", np.nan)
    return Cell(
        candidate, split, score, train_score, fitted - began, ended - fitted, float(violation)
    )


def _pairwise_scores(
    search: Search, model: Any, train: np.ndarray, test: np.ndarray
) -> tuple[float, float]:
    """Of a precomputed kernel: columns are those of the training rows."""
    out = []
    for rows in (test, train) if search.ledger.has_train_scores else (test,):
        X, _ = _safe_split(model, search.X, search.y, rows, train)
        out.append(search.scoring.of_rows(model, X, _safe_indexing(search.y, rows), rows))
    return out[0], out[1] if len(out) > 1 else np.nan


def _weight_name(model: Any) -> str:
    """The name of the last step's weights, of a pipeline with the step's prefix."""
    steps = getattr(model, "steps", None)
    return f"{steps[-1][0]}__sample_weight" if steps else "sample_weight"
