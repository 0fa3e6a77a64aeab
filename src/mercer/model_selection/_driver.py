"""From an estimator, a grid and data to scores and the best candidate.

The steps: **check** the grid and the splits, before anything is fitted; **evaluate** every
candidate on every split with as much shared work as the estimator allows; **polish** the candidates
that tie for the best score, to a tenth of the tolerance; **choose**.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier, is_outlier_detector
from sklearn.model_selection import check_cv
from sklearn.utils.validation import _num_samples

from mercer._threads import single_threaded_blas, thread_count
from mercer.exceptions import warn_user
from mercer.gram._kernel_matrices import KernelMatrices
from mercer.kernels.tables._table import read_table
from mercer.model_selection._general_search import search_each
from mercer.model_selection._ledger import Ledger, fingerprint
from mercer.model_selection._linear_search import can_share_linear, search_linear
from mercer.model_selection._plan import Search, split_pipeline
from mercer.model_selection._ridge_search import can_share_ridge, search_ridge
from mercer.model_selection._scoring import Scoring
from mercer.model_selection._svm_search import can_share, search_svm
from mercer.solvers import Stopping

__all__ = [
    "SETTINGS",
    "SearchSettings",
    "as_rows",
    "check_folds",
    "check_grid",
    "evaluate",
    "make_folds",
    "shares_work",
]


@dataclass(frozen=True)
class SearchSettings:
    """Constants of a search.

    Attributes
    ----------
    polish_tol : float
        Candidates that tie for the best score are solved again to this factor times tol.
    search_time : float
        The fraction of a time limit that the search may use; the rest is for the last fit.
    most_values : int
        Of a parameter whose grid is given by the number of its values.
    """

    polish_tol: float = 0.1
    search_time: float = 0.8
    most_values: int = 10_000


SETTINGS = SearchSettings()


def check_grid(candidates: Sequence[dict[str, Any]], estimator: Any) -> None:
    """Raise if a candidate is given twice or has a value that the estimator refuses."""
    if not candidates:
        raise ValueError("The grid is empty: give at least one value of each parameter.")
    seen: dict[Any, int] = {}
    valid = estimator.get_params()
    for number, params in enumerate(candidates):
        key = tuple((name, _key(params[name])) for name in sorted(params))
        if key in seen:
            raise ValueError(
                f"The grid has the candidate {params!r} twice (numbers {seen[key]} and {number}): "
                "remove repeated values."
            )
        seen[key] = number
    _check_values(candidates, estimator, valid)


def _check_values(candidates: Sequence[dict], estimator: Any, valid: dict[str, Any]) -> None:
    """Each value of each parameter once, by the estimator's own checks."""
    _, last, prefix = split_pipeline(estimator)
    values: dict[str, dict[Any, Any]] = {}
    for params in candidates:
        for name, value in params.items():
            values.setdefault(name, {})[_key(value)] = value
    for name, found in values.items():
        own = name.removeprefix(prefix)
        if not name.startswith(prefix) or (name in valid and not hasattr(last, "_validate_params")):
            continue
        for value in found.values():
            trial = clone(last)
            if own.startswith("kernel__"):
                continue  # of a kernel that may be another candidate's: checked when it is set
            trial.set_params(**{own: value})
            check = getattr(trial, "_validate_params", None)
            if check is not None:
                check()


def _key(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tobytes()
    try:
        hash(value)
    except TypeError:
        return repr(value)
    return value


def as_rows(X: Any) -> Any:
    """X as splits take rows of it: a mapping of columns becomes a table."""
    return read_table(X) if isinstance(X, Mapping) else X


def make_folds(
    cv: Any, X: Any, y: Any, estimator: Any, groups: Any = None, params: dict | None = None
) -> list[tuple[np.ndarray, np.ndarray]]:
    """The splits as lists of row numbers."""
    n = _num_samples(X)
    if groups is not None and _num_samples(groups) != n:
        raise ValueError(
            f"groups must have one entry for each of {n} rows, got {_num_samples(groups)}."
        )
    more = dict(params or {})
    if groups is not None:
        more["groups"] = groups
    has_labels = is_classifier(estimator) or (is_outlier_detector(estimator) and y is not None)
    splitter = check_cv(cv, y, classifier=has_labels)
    folds = [(np.asarray(train), np.asarray(test)) for train, test in splitter.split(X, y, **more)]
    return [
        (np.flatnonzero(train), np.flatnonzero(test)) if train.dtype == bool else (train, test)
        for train, test in folds
    ]


def check_folds(
    folds: Sequence[tuple[np.ndarray, np.ndarray]], y: Any, weight: Any, estimator: Any
) -> None:
    """Raise if a split has nothing to learn from or nothing to score."""
    if not folds:
        raise ValueError("cv gives no splits; at least one is needed.")
    for number, (train, test) in enumerate(folds):
        for rows, name in ((train, "training"), (test, "test")):
            if len(rows) == 0:
                raise ValueError(
                    f"Split {number} of cv has no {name} rows. Use fewer splits, or another cv."
                )
        used = train if weight is None else train[weight[train] > 0]
        if len(used) == 0:
            raise ValueError(
                f"All training rows of split {number} of cv have a weight of zero or less."
            )
        if is_classifier(estimator) and not is_outlier_detector(estimator):
            classes = np.unique(np.asarray(y)[used]).tolist()
            if len(classes) < 2:
                has_one = len(np.unique(np.asarray(y))) < 2
                raise ValueError(
                    f"y has one class only ({classes[0]!r}); a classifier needs two or more."
                    if has_one
                    else f"Split {number} of cv has training rows of one class only "
                    f"({classes[0]!r}). Use a stratified cv, fewer splits, or shuffled rows."
                )


def evaluate(
    estimator: Any,
    candidates: list[dict[str, Any]],
    X: Any,
    y: Any,
    folds: list[tuple[np.ndarray, np.ndarray]],
    scoring: Scoring,
    stopping: Stopping,
    *,
    weight: np.ndarray | None = None,
    n_jobs: int | None = None,
    cache_bytes: int = 1000 << 20,
    return_train_score: bool = False,
    resume: str | os.PathLike | None = None,
    shown: list[dict[str, Any]] | None = None,
    polish: bool = True,
) -> Ledger:
    """Scores of all candidates on all splits; with ``polish`` ties for the best are solved again.

    ``shown`` are the candidates by the names that the user knows.
    """
    ledger = Ledger(shown or candidates, len(folds), stopping, return_train_score)
    if resume is not None:
        parts = [X, y, weight, *(rows for fold in folds for rows in fold)]
        ledger.resume(resume, fingerprint(*parts, candidates, estimator, scoring.scorer))
    search = Search(
        estimator, candidates, X, y, weight, folds, scoring, ledger, stopping,
        thread_count(n_jobs), cache_bytes,
    )  # fmt: skip
    _, last, prefix = split_pipeline(estimator)
    is_own = all(name.startswith(prefix) for params in candidates for name in params)
    fits = KernelMatrices.fits(_num_samples(X), cache_bytes)
    with single_threaded_blas():
        if is_own and can_share_linear(last):
            search_linear(search)
        elif not is_own or not scoring.needs_values_only:
            search_each(search)
        elif can_share(last):
            search_svm(search)
            ties = ledger.ties()
            if polish and ties.size > 1 and stopping.stopped is None:
                search_svm(search, ties.tolist(), SETTINGS.polish_tol)
        elif can_share_ridge(last) and fits:
            search_ridge(search)
        else:
            search_each(search)
    _check_scores(ledger)
    return ledger


def shares_work(estimator: Any) -> bool:
    """Whether fits of this estimator share more than the candidates of any other."""
    return can_share(estimator) or can_share_ridge(estimator) or can_share_linear(estimator)


def _check_scores(ledger: Ledger) -> None:
    """Warn of scores that are not numbers; raise if all are."""
    bad = np.isnan(ledger.score) & ledger.is_done
    if bad.any() and (bad | ~ledger.is_done).all():
        raise ValueError(
            "scoring gives NaN for all candidates; check it on one fitted model and one test fold."
        )
    if bad.any():
        number, split = np.argwhere(bad)[0]
        warn_user(
            f"scoring gives NaN for {int(bad.any(axis=1).sum())} of {len(bad)} candidates, the "
            f"first {ledger.candidates[number]!r} on split {split}; they cannot be the best.",
            UserWarning,
        )
