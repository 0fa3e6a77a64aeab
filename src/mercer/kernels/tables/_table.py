"""Samples as columns: what kernels on tables read from data frames, arrays and lists of rows.

A column is an array of float64, NaN where a number is missing, or an array of objects, None where a
value is missing. Data frames are read by column. Dates are numbers: days since 1970.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.kernels.structured._sample_types import is_frame

__all__ = ["TABLES", "Table", "is_missing", "read_table"]

TABLES = "tables"


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of a table, kept as columns; indexing by a slice or an array gives some of the rows.

    To the rest of the package it is a one-dimensional array of objects.

    Attributes
    ----------
    names : tuple of str or int
        Of the columns; numbers from 0 on where they have none.
    columns : tuple of arrays
    orders : tuple of pairs
        Of names of columns and their values in order, as a data frame may state it.
    """

    names: tuple[Any, ...]
    columns: tuple[np.ndarray, ...]
    orders: tuple[tuple[Any, tuple[Any, ...]], ...] = ()

    ndim = 1
    dtype = np.dtype(object)

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", tuple(self.names))
        object.__setattr__(self, "columns", tuple(self.columns))
        object.__setattr__(self, "orders", tuple(self.orders))
        if not all(isinstance(column, np.ndarray) and column.ndim == 1 for column in self.columns):
            raise ValueError("a column of a table must be an array with one axis.")
        lengths = {len(column) for column in self.columns}
        if len(self.names) != len(self.columns) or len(lengths) > 1:
            raise ValueError("the columns of a table must be of one length, with a name each.")
        if any(column.dtype.kind not in "fO" for column in self.columns):
            raise ValueError("a column of a table must be an array of numbers or of objects.")
        if not all(isinstance(each, tuple) and len(each) == 2 for each in self.orders):
            raise ValueError("the orders of a table must be pairs of a name and values.")

    def __len__(self) -> int:
        return len(self.columns[0]) if self.columns else 0

    @property
    def shape(self) -> tuple[int]:
        return (len(self),)

    def __getitem__(self, rows: Any) -> Table:
        return Table(self.names, tuple(column[rows] for column in self.columns), self.orders)

    def column(self, name: Any, owner: str) -> np.ndarray:
        """The column of this name (of a table without names: number)."""
        if name in self.names:
            return self.columns[self.names.index(name)]
        if not self.columns:  # no rows
            return np.zeros(0)
        known = ", ".join(map(repr, self.names[:10])) + (", …" if len(self.names) > 10 else "")
        remedy = (
            "Give a data frame with this column."
            if isinstance(name, str) and all(isinstance(each, int) for each in self.names)
            else "Give a table with all columns that the kernel was made for."
        )
        raise ValueError(f"{owner}: the table has no column {name!r}; it has {known}. {remedy}")

    def some(self, names: Sequence[Any], owner: str) -> Table:
        """Some of the columns."""
        columns = tuple(self.column(name, owner) for name in names)
        return Table(tuple(names), columns, tuple(each for each in self.orders if each[0] in names))

    def numbers(self, owner: str) -> np.ndarray:
        """All columns as rows of numbers; a ValueError names a value that is none."""
        out = np.empty((len(self), len(self.names)))
        for j, (name, column) in enumerate(zip(self.names, self.columns, strict=True)):
            out[:, j] = numbers_of(column, name, owner)
            missing = np.flatnonzero(np.isnan(out[:, j]))
            if missing.size:
                raise ValueError(
                    f"{owner}: column {name!r} has no value in row {missing[0]} ({missing.size} "
                    "rows in all). Fill them, or use TableKernel or Number, which take missing "
                    "values."
                )
        return out


def numbers_of(column: np.ndarray, name: Any, owner: str) -> np.ndarray:
    """A column as numbers, NaN where they are missing; others are refused by row."""
    if column.dtype.kind == "f":
        infinite = np.flatnonzero(np.isinf(column))
        if infinite.size:
            raise ValueError(
                f"{owner}: column {name!r} is infinite in row {infinite[0]}; give finite numbers, "
                "or NaN where they are missing."
            )
        return column
    out = np.empty(len(column))
    for row, value in enumerate(column):
        if isinstance(value, Real) and math.isfinite(value):
            out[row] = value
        elif value is None:
            out[row] = np.nan
        else:
            raise ValueError(
                f"{owner}: column {name!r} has {str(value)[:40]!r} in row {row}, which is no "
                "number. Convert the column (pandas.to_numeric, pandas.to_datetime); categories "
                "are for Category or Ordered."
            )
    return out


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, or what pandas has for them."""
    if value is None:
        return True
    if isinstance(value, (float, np.floating)):
        return bool(value != value)
    return type(value).__name__ in ("NAType", "NaTType") or (
        isinstance(value, (np.datetime64, np.timedelta64)) and bool(np.isnat(value))
    )


def read_table(X: Any) -> Table:
    """A table from a data frame, a mapping of columns, an array, or a list of rows.

    A list of single values is a table of one column.
    """
    if isinstance(X, Table):
        return X
    if sp.issparse(X):
        raise ValueError("X is a sparse matrix; kernels on tables take X.toarray().")
    if isinstance(X, (str, bytes)):
        raise ValueError("X must be a table, got a single string.")
    if is_frame(X):
        names = tuple(getattr(X, "column_names", None) or X.columns)
        twice = [name for name in dict.fromkeys(names) if names.count(name) > 1]
        if twice:
            raise ValueError(f"X has two columns named {twice[0]!r}; rename one of them.")
        return _of_columns({name: X[name] for name in names})
    if isinstance(X, Mapping):
        return _of_columns(X)
    if isinstance(X, np.ndarray) and X.ndim == 2:
        return Table(tuple(range(X.shape[1])), tuple(_column(values) for values in X.T))
    if hasattr(X, "to_frame") or (isinstance(X, np.ndarray) and X.ndim == 1 and X.dtype != object):
        return Table((0,), (_column(X),))
    if not hasattr(X, "__len__"):
        raise ValueError(f"X must be a table, got {type(X).__name__}.")
    return _of_rows(list(X))


def _of_columns(columns: Mapping[Any, Any]) -> Table:
    read = {name: _column(values) for name, values in columns.items()}
    lengths = {name: len(column) for name, column in read.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"the columns of X are of different lengths: {lengths}.")
    orders = ((name, _order(values)) for name, values in columns.items())
    return Table(tuple(read), tuple(read.values()), tuple(each for each in orders if each[1]))


def _order(values: Any) -> tuple[Any, ...]:
    """The values of an ordered categorical of pandas in their order, if they are plain values."""
    dtype: Any = getattr(values, "dtype", None)
    if getattr(dtype, "ordered", False) is not True:
        return ()
    levels = tuple(dtype.categories.tolist())
    is_plain = all(isinstance(level, (str, int, float)) for level in levels)
    return levels if is_plain and len(levels) > 1 else ()


def _of_rows(rows: list[Any]) -> Table:
    """A list of rows: dicts by name, sequences by number, or single values."""
    if not rows:
        return Table((), ())
    if isinstance(rows[0], Mapping):
        names = tuple(
            dict.fromkeys(name for row in rows if isinstance(row, Mapping) for name in row)
        )
        for i, row in enumerate(rows):
            if not isinstance(row, Mapping):
                raise ValueError(f"row {i} of X is {repr(row)[:60]}, but row 0 is a dict.")
        return Table(names, tuple(_objects([row.get(name) for row in rows]) for name in names))
    if not _is_row(rows[0]):
        for i, row in enumerate(rows):
            if _is_row(row) or isinstance(row, (Mapping, set)):
                raise ValueError(f"row {i} of X is {repr(row)[:60]}, but row 0 is a single value.")
        return Table((0,), (_objects(rows),))
    d = len(rows[0])
    for i, row in enumerate(rows):
        if not _is_row(row) or len(row) != d:
            raise ValueError(
                f"row {i} of X is {repr(row)[:60]}, but row 0 has {d} values: rows must be of one "
                "length."
            )
    return Table(tuple(range(d)), tuple(_objects([row[j] for row in rows]) for j in range(d)))


def _is_row(item: Any) -> bool:
    return isinstance(item, (list, tuple)) or (isinstance(item, np.ndarray) and item.ndim == 1)


def _column(values: Any) -> np.ndarray:
    """One column from an array, a Series, a column of Arrow, or a list."""
    kind = getattr(getattr(values, "dtype", None), "kind", "")
    if not isinstance(values, np.ndarray) and kind in ("b", "i", "u", "f"):  # also nullable ones
        values = _to_numpy(values)
    if not isinstance(values, np.ndarray):
        array = values.to_numpy() if hasattr(values, "to_numpy") else values
        array = array if isinstance(array, np.ndarray) else _objects_of(values)
        values = array
    if values.ndim != 1:
        return _objects(list(values))
    if values.dtype.kind in "biuf":
        return values.astype(np.float64)
    if values.dtype.kind in "Mm":
        return _days(values)
    return _objects(values.tolist())


def _to_numpy(series: Any) -> np.ndarray:
    """A numeric Series of pandas or polars; missing values become NaN."""
    try:
        return series.to_numpy(dtype=np.float64, na_value=np.nan)
    except TypeError:
        return series.to_numpy()


def _objects_of(values: Any) -> np.ndarray:
    for name in ("to_pylist", "to_list", "tolist"):
        if hasattr(values, name):
            values = getattr(values, name)()
            break
    out = np.empty(len(values), dtype=object)
    for i, value in enumerate(values):
        out[i] = value
    return out


def _days(values: np.ndarray) -> np.ndarray:
    """Dates and durations in days."""
    unit = np.timedelta64(1, "D")
    since = values - np.datetime64(0, "s") if values.dtype.kind == "M" else values
    return np.where(np.isnat(since), np.nan, since / unit)


def _moment(value: Any) -> np.datetime64:
    """A date, or a time, which NumPy holds in UTC."""
    if isinstance(value, datetime) and value.tzinfo is not None:
        value = value.astimezone(UTC).replace(tzinfo=None)
    return np.datetime64(value)


def _objects(values: list[Any]) -> np.ndarray:
    """A list of values as numbers if all of them are (or dates), else as objects."""
    found = [None if is_missing(value) else value for value in values]
    present = [value for value in found if value is not None]
    if present and all(isinstance(value, (date, datetime, np.datetime64)) for value in present):
        days = np.array([np.datetime64("NaT") if v is None else _moment(v) for v in found])
        return _days(days.astype("datetime64[us]"))
    are_numbers = all(isinstance(v, (Real, np.bool_)) for v in present)
    if are_numbers and (present or not found):
        return np.array([np.nan if v is None else float(v) for v in found], dtype=np.float64)
    out = np.empty(len(found), dtype=object)
    for i, value in enumerate(found):
        out[i] = value.item() if isinstance(value, np.generic) else value
    return out
