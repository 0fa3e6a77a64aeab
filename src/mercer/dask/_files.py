"""Parquet and CSV files as Dask collections, with the schema that brings other files into form."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer.dask._client import require_dask
from mercer.data import Column, Schema
from mercer.data._roles import find_column, find_target
from mercer.exceptions import FileError

__all__ = ["MACHINES", "LazyTable", "read_lazily"]

# Machines of the command line that `mercer.dask` has.
MACHINES = {
    "linear-svc": "LinearSVC",
    "logistic": "LogisticRegression",
    "linear-svr": "LinearSVR",
    "svc": "SVC",
    "svr": "SVR",
    "oneclass": "OneClassSVM",
}
# More distinct numbers than this are no labels.
_MAX_LABELS = 100


@dataclass(frozen=True, eq=False)
class LazyTable:
    """A file as Dask collections, with the schema of its rows."""

    name: str
    X: Any
    y: Any
    schema: Schema


def read_lazily(options: dict[str, Any], task: str | None) -> LazyTable:
    """The columns of a Parquet or CSV file (or folder) as Dask collections, scaled."""
    name = options["data"]
    frame = _frame(name, options)
    names = [str(column) for column in frame.columns]
    asked = options["target"]
    without = (asked or "").lower() == "none" or options["machine"] == "oneclass"
    target = find_target(name, names, False if without else asked, True)
    dropped = {find_column(name, names, column, "drop") for column in options["drop"] or ()}
    features = [j for j in range(len(names)) if j != target and j not in dropped]
    words = [names[j] for j in features if getattr(frame.dtypes.iloc[j], "kind", "O") not in "fiub"]
    if words or not features:
        what = f"column {words[0]!r} holds no numbers" if words else "has no columns of numbers"
        raise FileError(name, None, f"{what}; with --dask give --drop {words[0] if words else ''}")
    X = frame[[frame.columns[j] for j in features]].astype("float64")
    y = None if target is None else frame[frame.columns[target]]
    labels, task = _labels(y, task)
    scale = options["scale"] or "standard"
    schema = Schema(
        tuple(Column(names[j]) for j in features),
        len(features),
        target=None if target is None else names[target],
        task=task,
        labels=labels,
    )
    if scale != "none":
        X, schema = _scaled(X, schema, scale)
    return LazyTable(name, X, y, schema)


def _frame(name: str, options: dict[str, Any]) -> Any:
    require_dask()
    import dask.dataframe as dd

    is_csv = options["format"] == "csv" or name.endswith((".csv", ".csv.gz"))
    if options["format"] not in (None, "csv", "parquet"):
        raise FileError(name, None, "Dask reads Parquet and CSV only.")
    if not os.path.exists(name) and "*" not in name and "://" not in name:
        raise FileError(name, None, "there is no such file or folder.")
    try:
        return dd.read_csv(name) if is_csv else dd.read_parquet(name)
    except (OSError, ValueError) as error:
        raise FileError(name, None, f"cannot be read by Dask: {error}") from error


def _labels(y: Any, task: str | None) -> tuple[tuple[Any, ...] | None, str | None]:
    """The classes of the target, sorted, if it is one of a classification."""
    if y is None:
        return None, None
    is_number = getattr(y.dtype, "kind", "O") in "fiu"
    if task == "regression" or (task is None and getattr(y.dtype, "kind", "O") == "f"):
        return None, "regression"
    found = np.unique(np.asarray(y.map_partitions(_distinct, meta=y._meta).compute()))
    if task is None and is_number and found.size > _MAX_LABELS:
        return None, "regression"
    return tuple(found.tolist()), "classification"


def _scaled(X: Any, schema: Schema, scale: str) -> tuple[Any, Schema]:
    """The columns scaled by statistics of all chunks."""
    import dask

    if scale == "standard":
        shift, spread = dask.compute(X.mean(), X.std(ddof=0))
    elif scale == "minmax":
        shift, top = dask.compute(X.min(), X.max())
        spread = top - shift
    else:
        spread = abs(X).max().compute()
        shift = 0 * spread
    shift, spread = np.asarray(shift, np.float64), np.asarray(spread, np.float64)
    if not np.isfinite(shift).all():
        raise ValueError("a column is empty or has infinite values.")
    factor = 1 / np.where(spread > 0, spread, 1.0)
    rows = X.map_partitions(_scale_part, shift, factor, meta=X._meta)
    return rows, replace(schema, scaling=scale, shift=shift, factor=factor)


def _scale_part(part: Any, shift: np.ndarray, factor: np.ndarray) -> Any:
    return (part - shift) * factor


def _distinct(part: Any) -> Any:
    return part.drop_duplicates()
