"""What a sample is, and how samples are read from lists, arrays and columns of data frames.

The sample type of a kernel names what it compares: "vectors" (rows of numbers), "objects" (whatever
the user gives), or the name of a structure ("sequences"). Samples of a structure are one object
each, in a one-dimensional array of objects; the kernel itself checks them when it prepares them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

__all__ = [
    "OBJECTS",
    "VECTORS",
    "are_rows",
    "as_objects",
    "common_type",
    "is_frame",
    "is_numeric_frame",
    "may_be_array",
    "rows_of_frame",
]

VECTORS, OBJECTS = "vectors", "objects"


def common_type(first: str, second: str) -> str | None:
    """The sample type of a kernel made of two kernels; None if no sample is of both types.

    >>> common_type("objects", "sequences")
    'sequences'
    """
    if OBJECTS in (first, second):
        return second if first == OBJECTS else first
    return first if first == second else None


def is_frame(X: Any) -> bool:
    """Whether X is a data frame (pandas, polars, an Arrow table), which iterates over columns."""
    return hasattr(X, "columns") and hasattr(X, "__array__")


def is_numeric_frame(X: Any) -> bool:
    """Whether all columns of a data frame hold numbers."""
    kinds = [getattr(dtype, "kind", "") for dtype in getattr(X, "dtypes", ())]
    if kinds and all(kind and kind in "fiub" for kind in kinds):  # also nullable numbers
        return True
    return np.asarray(X).dtype.kind in "fiub"


def are_rows(X: Any) -> bool:
    """Whether X, which is no frame, is a matrix of numbers: an array, or a list of rows."""
    if isinstance(X, (list, tuple)) and not may_be_array(X):
        return False
    try:
        array = np.asarray(X)
    except ValueError:  # ragged
        return False
    return array.ndim == 2 and array.dtype.kind in "fiub"


def may_be_array(items: Sequence[Any]) -> bool:
    """Whether NumPy may make an array of a list: of numbers, texts, sequences and arrays.

    It would make a row of every object that counts and numbers its parts: of a graph of networkx,
    its nodes.
    """
    return all(
        np.isscalar(item) or isinstance(item, Sequence) or hasattr(item, "__array__")
        for item in items
    )


def rows_of_frame(X: Any) -> Any:
    """Of a data frame what kernels on anything take: an array of numbers, else an object for each
    row, which is the value of a single column, and a tuple of several. All but frames as they are.
    """
    if not is_frame(X):
        return X
    if is_numeric_frame(X):
        return np.asarray(X, dtype=np.float64)
    names = list(getattr(X, "column_names", None) or X.columns)
    if len(names) == 1:
        return as_objects(X)
    return as_objects([tuple(row) for row in np.asarray(X, dtype=object)])


def as_objects(X: Any) -> np.ndarray:
    """One object for each sample, as a one-dimensional array.

    Lists, tuples, arrays (along their first axis), Series of pandas and polars, columns of Arrow,
    and data frames of one column are read.
    """
    if isinstance(X, (str, bytes)):
        raise ValueError("X must be a list of samples, got a single string; use [text].")
    if isinstance(X, (dict, set, frozenset)) or sp.issparse(X):
        raise ValueError(
            f"X must be a list, an array or a column of samples, got a {type(X).__name__}."
        )
    if isinstance(X, np.ndarray) and X.ndim == 1 and X.dtype == object:
        return X
    items = list(_values(_single_column(X)))
    out = np.empty(len(items), dtype=object)
    for i, item in enumerate(items):  # not out[:] = items, which would unpack sequences
        out[i] = item
    return out


def _single_column(X: Any) -> Any:
    if not is_frame(X):
        return X
    columns = list(getattr(X, "column_names", None) or X.columns)
    if len(columns) != 1:
        raise ValueError(
            f"X is a data frame of {len(columns)} columns ({', '.join(map(str, columns[:5]))}), "
            "but a sample of this kernel is one value: give one column, such as "
            f"X[{columns[0] if columns else 'name'!r}]."
        )
    return X[columns[0]]


def _values(X: Any) -> Any:
    """The values of a column as Python objects where it can give them."""
    if isinstance(X, np.ndarray):
        if X.ndim == 0:
            raise ValueError("X must be a list, an array or a column of samples, got one value.")
        return X.tolist() if X.ndim == 1 else X.ravel().tolist() if _is_text_column(X) else X
    for name in ("to_pylist", "to_list", "tolist"):
        if hasattr(X, name):
            return getattr(X, name)()
    if not hasattr(X, "__len__"):
        raise ValueError(
            f"X must be a list, an array or a column of samples, got {type(X).__name__}."
        )
    return X


def _is_text_column(X: np.ndarray) -> bool:
    """Whether an array of shape (n, 1) holds one text or object for each sample."""
    return X.ndim == 2 and X.shape[1] == 1 and X.dtype.kind in "USO"
