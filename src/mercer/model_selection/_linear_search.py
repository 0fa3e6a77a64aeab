"""Linear models: on each split one regularisation path along C."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import _safe_indexing

from mercer._threads import Workers
from mercer.estimators.linear._classes import LinearSVC, LinearSVR
from mercer.estimators.linear._logistic_regression import LogisticRegression
from mercer.model_selection._ledger import Cell
from mercer.model_selection._plan import Chain, Fold, Search, View, chains, views

__all__ = ["can_share_linear", "search_linear"]


def can_share_linear(estimator: Any) -> bool:
    """Whether the estimator has a path along C."""
    if type(estimator) not in (LinearSVC, LinearSVR, LogisticRegression):
        return False
    return estimator.time_limit is None and estimator.callback is None


def search_linear(search: Search) -> None:
    """Score all candidates on all splits."""
    # Filters of warnings are those of all threads: they are set once, around these.
    with Workers(search.n_threads) as workers, warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for view in views(search):
            units = [
                (chain, fold)
                for chain in chains(search, "C")
                for fold in view.folds
                if not search.ledger.is_known(chain.candidates, fold.split)
            ]

            def one(unit: tuple[Chain, Fold], view: View = view) -> None:
                if search.stopping.stopped is None:
                    search.ledger.record(_score_path(search, view, *unit))

            workers.map(one, units)


def _score_path(search: Search, view: View, chain: Chain, fold: Fold) -> list[Cell]:
    X, y = (_safe_indexing(values, fold.train) for values in (view.X, view.y))
    weight = None if view.weight is None else view.weight[fold.train]
    began = time.perf_counter()
    estimator = clone(chain.estimator).set_params(n_jobs=1)
    Cs = [float(C) for C in chain.values]
    models = estimator._fit_path(X, y, weight, Cs, search.stopping.quiet())
    seconds = (time.perf_counter() - began) / max(len(models), 1)
    held_X, held_y = (_safe_indexing(values, fold.test) for values in (view.X, view.y))
    cells = []
    for candidate, model in zip(chain.candidates, models, strict=False):  # fewer if it is stopped
        began = time.perf_counter()
        score = search.scoring.of_rows(model, held_X, held_y, fold.rows_test)
        train_score = np.nan
        if search.ledger.has_train_scores:
            train_score = search.scoring.of_rows(model, X, y, fold.rows_train)
        used = time.perf_counter() - began
        cells.append(Cell(candidate, fold.split, score, train_score, seconds, used))
    return cells
