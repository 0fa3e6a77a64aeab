"""What is searched, and what of it can be shared.

A `Search` has candidates (sets of parameters) and splits. Candidates that differ in one parameter
only, along which solutions are followed (C, ν, α), are a `Chain`. Rows after the transformers of a
pipeline, fitted on a split's training rows, are a `View`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing

from mercer.model_selection._ledger import Ledger
from mercer.model_selection._scoring import Scoring
from mercer.solvers import Stopping

__all__ = ["Chain", "Fold", "Search", "View", "chains", "middle_out", "split_pipeline", "views"]


@dataclass(frozen=True, eq=False)
class Fold:
    """A split, in row numbers of a view.

    Attributes
    ----------
    split : int
    train, test : int arrays
        Rows of the view; training rows without those of weight zero.
    rows_train, rows_test : int arrays
        The same in the user's data.
    """

    split: int
    train: np.ndarray
    test: np.ndarray
    rows_train: np.ndarray
    rows_test: np.ndarray


@dataclass(frozen=True, eq=False)
class View:
    """Rows as the last step of the estimator sees them, for some of the splits."""

    X: Any
    y: Any
    weight: np.ndarray | None
    folds: list[Fold]


@dataclass(frozen=True, eq=False)
class Chain:
    """Candidates that differ in one parameter, in increasing order of it.

    Attributes
    ----------
    estimator : estimator
        The last step, with all other parameters set.
    values : list
        Of the parameter; None where it is the estimator's own.
    candidates : list of int
    """

    estimator: Any
    values: list[Any]
    candidates: list[int]

    @cached_property
    def key_without_kernel(self) -> Any:
        """The same for chains that differ in the kernel only: their problems are the same."""
        own = self.estimator.get_params(deep=False)
        others = [(k, _hashable(v)) for k, v in own.items() if k not in _KERNEL_PARAMETERS]
        return tuple(others), tuple(self.values)


_KERNEL_PARAMETERS = {"kernel", "gamma", "degree", "coef0"}


@dataclass(frozen=True, eq=False)
class Search:
    """What is searched.

    Attributes
    ----------
    estimator : estimator
        An estimator, or a pipeline that ends with one.
    candidates : list of dict
    X, y
    weight : array or None
        Of the fits.
    folds : list of (train, test)
    scoring : Scoring
    ledger : Ledger
    stopping : Stopping
    n_threads : int
    cache_bytes : int
    """

    estimator: Any
    candidates: list[dict[str, Any]]
    X: Any
    y: Any
    weight: np.ndarray | None
    folds: list[tuple[np.ndarray, np.ndarray]]
    scoring: Scoring
    ledger: Ledger
    stopping: Stopping
    n_threads: int
    cache_bytes: int


def split_pipeline(estimator: Any) -> tuple[Any, Any, str]:
    """The steps before the last one (or None), the last one, and the prefix of its parameters."""
    if not isinstance(estimator, Pipeline):
        return None, estimator, ""
    *before, (name, last) = estimator.steps
    before = [step for step in before if step[1] not in (None, "passthrough")]
    return (Pipeline(before) if before else None), last, f"{name}__"


def chains(search: Search, path_name: str, some: Sequence[int] | None = None) -> list[Chain]:
    """The candidates (or some of them) as chains along a parameter."""
    _, last, prefix = split_pipeline(search.estimator)
    groups: dict[Any, list[tuple[Any, int]]] = {}
    own: dict[Any, dict[str, Any]] = {}
    default = getattr(last, path_name)
    for number in range(len(search.candidates)) if some is None else some:
        params = {k.removeprefix(prefix): v for k, v in search.candidates[number].items()}
        value = params.pop(path_name, default)
        key = tuple((name, _hashable(params[name])) for name in sorted(params))
        own[key] = params
        groups.setdefault(key, []).append((value, number))
    out = []
    for key, members in groups.items():
        members.sort(key=lambda pair: pair[0])
        estimator = clone(last).set_params(**clone(own[key], safe=False))
        out.append(Chain(estimator, [v for v, _ in members], [c for _, c in members]))
    return out


def _hashable(value: Any) -> Any:
    try:
        hash(value)
    except TypeError:
        return id(value)
    return value


def middle_out(items: Sequence[Any]) -> list[Any]:
    """The middle first, then the middles of what is left: a stopped search has seen all parts.

    >>> middle_out([0, 1, 2, 3, 4])
    [2, 1, 4, 0, 3]
    """
    out, waiting = [], [list(items)]
    while waiting:
        part = waiting.pop(0)
        if part:
            middle = len(part) // 2
            out.append(part[middle])
            waiting += [part[:middle], part[middle + 1 :]]
    return out


def views(search: Search) -> Iterator[View]:
    """One view for all splits, or after transformers one for each."""
    transformers, _, _ = split_pipeline(search.estimator)
    if transformers is None:
        folds = [
            Fold(i, _weighted(train, search.weight), test, _weighted(train, search.weight), test)
            for i, (train, test) in enumerate(search.folds)
        ]
        yield View(search.X, search.y, search.weight, folds)
        return
    for i, (train, test) in enumerate(search.folds):
        if search.stopping.stopped is not None:
            return
        train = _weighted(train, search.weight)
        X, y = (_safe_indexing(values, train) for values in (search.X, search.y))
        steps = clone(transformers)
        fitted = steps.fit_transform(X, y)
        others = steps.transform(_safe_indexing(search.X, test))
        both = (
            sp.vstack([fitted, others]).tocsr() if sp.issparse(fitted) else _stack(fitted, others)
        )
        order = np.concatenate([train, test])
        here, n = np.arange(order.size), train.size
        weight = None if search.weight is None else search.weight[order]
        fold = Fold(i, here[:n], here[n:], train, test)
        yield View(both, _safe_indexing(search.y, order), weight, [fold])


def _weighted(train: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
    """Without rows of weight zero."""
    return train if weight is None else train[weight[train] > 0]


def _stack(first: Any, second: Any) -> Any:
    if sp.issparse(first):
        return sp.vstack([first, second]).tocsr()
    return np.concatenate([np.asarray(first), np.asarray(second)])
