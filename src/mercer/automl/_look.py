"""What the data are: task, kinds of columns, and the transformers that each kind may need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    QuantileTransformer,
    StandardScaler,
)
from sklearn.utils import _safe_indexing, check_array, check_consistent_length, column_or_1d
from sklearn.utils.validation import _num_samples

from mercer.automl._settings import AutofitSettings
from mercer.data._column_statistics import Columns, survey, uneven
from mercer.diagnostics._doctor import _are_labels, _is_numeric
from mercer.diagnostics._settings import Thresholds
from mercer.estimators._validation import as_numbers
from mercer.kernels._registry import KERNELS

__all__ = ["Look", "array_of", "look", "stratified_order"]


@dataclass(frozen=True, eq=False)
class Look:
    """Rows, targets, and what they are.

    Attributes
    ----------
    X, y
    n : int
    task : {"classification", "regression"}
    kinds : tuple of str
        "numbers" and "categories" (also 0/1 columns), or the type of samples that are no rows of
        numbers, as kernels name it.
    preparations : list of lists of transformers
        Each is what may stand before an estimator; the first is the usual one.
    words : str
        The data in a few words.
    """

    X: Any
    y: np.ndarray
    n: int
    task: str
    kinds: tuple[str, ...]
    preparations: list[list[Any]]
    words: str

    @property
    def is_structured(self) -> bool:
        """Whether samples are no rows of numbers and categories."""
        return not {"numbers", "categories"} & set(self.kinds)

    def take(self, rows: np.ndarray) -> tuple[Any, np.ndarray]:
        """Some of the rows."""
        return _safe_indexing(self.X, rows), self.y[rows]


def look(
    X: Any, y: Any, task: str | None, settings: AutofitSettings, sample_type: str | None = None
) -> Look:
    """Read X and y, and decide what may stand before a kernel."""
    if y is None:
        raise ValueError("autofit needs y; for the shape of one class use OneClassSVM.")
    y = column_or_1d(y, warn=True)
    check_consistent_length(X, y)
    if task is None:
        is_class = _are_labels(y, None, Thresholds().max_label_values)
        task = "classification" if is_class else "regression"
    elif task not in ("classification", "regression"):
        raise ValueError(f"task must be 'classification' or 'regression', got {task!r}.")
    if task == "regression":
        y = np.asarray(y, np.float64)
        if not np.isfinite(y).all():
            at = int(np.argmin(np.isfinite(y)))
            raise ValueError(f"y is missing or infinite, first in row {at}: leave such rows out.")
    if task == "classification":
        _check_classes(y)
    n = _num_samples(X)
    told = f"{np.unique(y).size:,} classes" if task == "classification" else "a numeric target"
    known = {kind for entry in KERNELS.values() for kind in entry.tried_on}
    known -= {"numbers", "categories"}
    if sample_type is not None and sample_type not in known:
        raise ValueError(f"sample_type must be one of {sorted(known)}, got {sample_type!r}.")
    if sample_type is not None or _are_texts(X):
        words = f"{n:,} {sample_type or 'texts'}, {told}"
        return Look(X, y, n, task, (sample_type or "sequences",), [[]], words)
    if hasattr(X, "columns") and not sp.issparse(X):
        names = list(X.columns)
        dates = [str(name) for name in names if np.asarray(X[name]).dtype.kind in "mM"]
        if dates:
            raise ValueError(
                f"Columns that hold dates: {', '.join(dates)}. Turn them into numbers (days since "
                "some day, day of the year, hour), or leave them out."
            )
        others = [name for name in names if not _is_numeric(X[name])]
        if others:
            numeric = [name for name in names if name not in others]
            found = _mixed(X, numeric, others)
            words = f"{n:,} rows, {len(numeric)} numeric columns, {len(others)} categories, {told}"
            return Look(X, y, n, task, ("numbers",) * bool(numeric) + ("categories",), found, words)
    kinds, found = _numeric(array_of(as_numbers(X)), settings)
    if not hasattr(X, "columns") or sp.issparse(X):
        X = X.tocsr() if sp.issparse(X) else as_numbers(X)
    words = f"{n:,} {'sparse ' if sp.issparse(X) else ''}rows of {X.shape[1]:,} columns, {told}"
    return Look(X, y, n, task, kinds, found, words)


def _check_classes(y: np.ndarray) -> None:
    """Raise if the rows outside some fold have one class only."""
    classes, counts = np.unique(y, return_counts=True)
    if classes.size == 2 and counts.min() < 2:
        rare = classes[np.argmin(counts)].item()
        raise ValueError(
            f"The class {rare!r} has one row: cross-validation of two classes needs two of each."
        )


def array_of(X: Any) -> Any:
    """A frame of numbers as an array, its missing values as NaN; all else as it is."""
    if sp.issparse(X) or not hasattr(X, "columns"):
        return X
    return check_array(X, dtype=np.float64, ensure_all_finite=False)


def _are_texts(X: Any) -> bool:
    """Whether samples are texts: a list, array or column of str."""
    if sp.issparse(X) or getattr(X, "ndim", 1) != 1 or hasattr(X, "columns"):
        return False
    return all(isinstance(value, str) for value in X)


def _mixed(X: Any, numbers: Sequence[str], others: Sequence[str]) -> list[list[Any]]:
    """A table of numbers and categories: the numbers scaled, an indicator for each category."""
    has_gaps = bool(numbers) and not np.isfinite(np.asarray(X[numbers], np.float64)).all()
    encoder = OneHotEncoder(handle_unknown="ignore")
    out = []
    for scaler in (StandardScaler(), MinMaxScaler()) if numbers else (None,):
        parts: list[tuple[str, Any, Sequence[str]]] = [("categories", clone(encoder), others)]
        if numbers:
            scale = make_pipeline(SimpleImputer(strategy="median"), scaler) if has_gaps else scaler
            parts.insert(0, ("numbers", scale, numbers))
        out.append([ColumnTransformer(parts)])
    return out


def _numeric(X: Any, settings: AutofitSettings) -> tuple[tuple[str, ...], list[list[Any]]]:
    """Kinds of numeric columns, and scalers for them."""
    if X.ndim != 2:
        raise ValueError(f"X must have rows and columns, or be texts; got {X.ndim} dimension(s).")
    found = survey(X)
    has_gaps = bool(found.n_bad.any())
    if has_gaps and sp.issparse(X):
        raise ValueError("X is sparse and has NaN or infinite entries; fill them first.")
    if has_gaps and np.isinf(X).any():
        raise ValueError("X has infinite entries: autofit fills in missing values (NaN) only.")
    is_indicator = (found.low == 0) & (found.high == 1)
    if is_indicator.any():
        values = X[:, is_indicator]
        values = values.data if sp.issparse(X) else values[np.isfinite(values)]
        if not np.isin(values, (0, 1)).all():
            is_indicator[:] = False
    has_others = not is_indicator.all()
    kinds = ("numbers",) * has_others + ("categories",) * bool(is_indicator.any())
    if sp.issparse(X):
        is_small = not has_others or float(np.abs(found.high).max(initial=0)) <= 1
        return kinds, [[]] if is_small else [[MaxAbsScaler()], []]
    scalers: list[list[Any]] = [[StandardScaler()]]
    if "categories" in kinds and has_others:
        scalers.append([MinMaxScaler()])
    if uneven(found, None) is None:
        scalers.append([])  # columns of one unit, such as pixels
    if _has_heavy_tail(X, found, settings):
        n = settings.n_quantiles
        scalers.append(
            [QuantileTransformer(n_quantiles=n, output_distribution="normal", random_state=0)]
        )
    if has_gaps:
        scalers = [[SimpleImputer(strategy="median"), *each] for each in scalers]
    return kinds, scalers


def _has_heavy_tail(X: np.ndarray, found: Columns, settings: AutofitSettings) -> bool:
    """Whether a column that is not rare has entries far from its mean."""
    if X.shape[0] < 2 * settings.n_quantiles:
        return False
    used = (found.sd > 0) & (found.n_nonzero > settings.n_quantiles)
    reach = np.maximum(found.high, -found.low)[used] / found.sd[used]
    return bool((reach > settings.heavy_tail).any())


def stratified_order(
    y: np.ndarray, is_class: bool, least: int, rng: np.random.Generator
) -> np.ndarray:
    """A random order of the rows: first ``least`` of each class, then classes in proportion."""
    n = y.shape[0]
    order = rng.permutation(n)
    if not is_class:
        return order
    _, codes, counts = np.unique(y[order], return_inverse=True, return_counts=True)
    by_class = np.argsort(codes, kind="stable")
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    rank = np.empty(n)
    rank[by_class] = np.arange(n) - np.repeat(starts, counts)
    place = np.where(rank < least, rank - least, (rank + 0.5) / counts[codes])
    return order[np.argsort(place, kind="stable")]
