"""Results of searches that displays draw: of a fitted search, or of one that is made here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from mercer.data._column_statistics import total_variance
from mercer.model_selection import GridSearchCV
from mercer.model_selection._plan import split_pipeline
from mercer.plots._fitted import kernel_words, title_of

__all__ = [
    "default_grid",
    "find",
    "letter",
    "metric_of",
    "own_values",
    "refuse_without_score",
    "results_of",
    "sample",
    "splits",
    "without_probabilities",
    "words_of",
]

_LETTERS = {"gamma": "γ", "nu": "ν", "epsilon": "ε", "alpha": "α"}


def _short_name(name: str) -> str:
    """A parameter without the steps of a pipeline."""
    return name.rpartition("__")[2]


def letter(name: str) -> str:
    """How a parameter is written on an axis."""
    return _LETTERS.get(_short_name(name), _short_name(name))


def metric_of(estimator: Any) -> str:
    """What the score of an estimator is called."""
    return "accuracy" if is_classifier(estimator) else "R²"


def refuse_without_score(estimator: Any) -> None:
    """Refuse a model of rows without targets: there is nothing that a curve could show."""
    if not hasattr(estimator, "score"):
        name = type(split_pipeline(estimator)[1]).__name__
        raise ValueError(f"{name} has no score, since its rows have no targets: no curve shows it.")


def splits(estimator: Any, folds: int = 5) -> Any:
    kind = StratifiedKFold if is_classifier(estimator) else KFold
    return kind(folds, shuffle=True, random_state=0)


def sample(X: Any, y: Any, most: int) -> tuple[Any, Any, str]:
    """At most ``most`` random rows, and a caveat if they are not all."""
    n = _num_samples(X)
    if n <= most:
        return X, np.asarray(y), ""
    rows = np.sort(np.random.default_rng(0).permutation(n)[:most])
    return _safe_indexing(X, rows), np.asarray(y)[rows], f"Of {n:,} rows {most:,} are used."


def without_probabilities(estimator: Any) -> Any:
    """A copy to be fitted many times, without the cost of probabilities."""
    model = clone(estimator)
    last = split_pipeline(model)[1]
    if "probability" in last.get_params(deep=False):
        last.set_params(probability=type(last)().probability)
    return model


def _search(estimator: Any, X: Any, y: Any, names: Mapping[str, Any]) -> Mapping[str, Any]:
    """``cv_results_`` of an estimator over some of its last step's parameters."""
    model = without_probabilities(estimator)
    prefix = split_pipeline(model)[2]
    grid = {f"{prefix}{name}": list(values) for name, values in names.items()}
    found = GridSearchCV(model, grid, cv=splits(estimator), refit=False, return_train_score=True)
    return found.fit(X, y).cv_results_


def results_of(
    estimator: Any, X: Any, y: Any, grid: Mapping[str, Any], most: int
) -> tuple[Mapping[str, Any], str]:
    """Results of a search that is fitted, or of one that is made here; and a caveat."""
    found = getattr(estimator, "cv_results_", None)
    if found is not None:
        return found, ""
    if X is None or y is None:
        raise ValueError(
            f"{type(estimator).__name__} is no search: X and y are needed, which it is searched on."
        )
    refuse_without_score(estimator)
    X, y, caveat = sample(X, y, most)
    caveat = caveat and f"{caveat} With more of them a larger γ may be better."
    return _search(estimator, X, y, grid), caveat


def own_values(estimator: Any) -> dict[str, float]:
    """C, γ and the like of a fitted estimator that is no search, as numbers."""
    last = split_pipeline(estimator)[1]
    own = {n: v for n, v in last.get_params(deep=False).items() if isinstance(v, (int, float))}
    kernel = getattr(last, "kernel_", None)
    gamma = getattr(kernel, "gamma", None)
    if gamma is not None:
        own["gamma"] = gamma
    return own


def default_grid(estimator: Any, X: Any, y: Any, n: int) -> dict[str, np.ndarray]:
    """The default grid of `SVCCV`, relative to the variance of the rows and of the targets."""
    refuse_without_score(estimator)
    last = split_pipeline(estimator)[1]
    unit = 1.0 if is_classifier(estimator) or y is None else float(np.std(y)) or 1.0
    grid = {"C": np.logspace(-2, 3, n) * unit} if hasattr(last, "C") else {}
    if hasattr(last, "gamma") and X is not None and getattr(last, "kernel", None) != "linear":
        before = split_pipeline(estimator)[0]
        prepared = X if before is None else clone(before).fit_transform(X, y)
        grid["gamma"] = np.logspace(-3, 1, n) / total_variance(prepared)
    if not grid:
        raise ValueError(f"{type(last).__name__} has neither C nor gamma.")
    return grid


def find(params: list[dict[str, Any]], name: str) -> str:
    """The full name of a parameter of a search."""
    names = {key for each in params for key in each}
    for key in sorted(names):
        if name in (key, _short_name(key)):
            return key
    raise ValueError(f"The search has no {name}; it has {', '.join(sorted(names))}.")


def words_of(estimator: Any, parameters: bool = False) -> str:
    """The kind of model, of a search that of its best; and its parameters."""
    model = getattr(estimator, "best_estimator_", getattr(estimator, "estimator", estimator))
    model = model.steps[-1][1] if isinstance(model, Pipeline) else model
    if parameters and hasattr(model, "certificate_"):
        return title_of(model)
    kernel = getattr(model, "kernel_", None)
    name = type(model).__name__
    return name if kernel is None else f"{name} · {kernel_words(kernel, False)}"
