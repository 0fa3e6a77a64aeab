"""NumPy's ``.npy`` and ``.npz``: arrays of numbers, dense or CSR; nothing else is loaded."""

from __future__ import annotations

import math
import zipfile
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.data._columns import Options, Raw, Words
from mercer.data._files import Source
from mercer.data._schema import Schema
from mercer.exceptions import FileError

__all__ = ["check_csr", "check_sizes", "read_npy", "read_npz"]

_ROWS, _TARGETS = ("X", "x", "data", "features"), ("y", "target", "targets", "labels", "label")
_CSR = {"data", "indices", "indptr", "shape"}
# The largest product of the sides of an array without entries.
EMPTY_SIDES = 1 << 20


def read_npy(source: Source, options: Options, schema: Schema | None) -> Raw:
    """One array: the rows, of which a column may be the target."""
    return _from_matrix(source.name, _load(source), options, schema)


def read_npz(source: Source, options: Options, schema: Schema | None) -> Raw:
    """Arrays by name: X and y, a sparse matrix of SciPy (with y beside it), or one array."""
    arrays = _load(source)
    name = source.name
    if set(arrays) >= _CSR:
        X = _sparse(name, arrays)
    else:
        found = [key for key in _ROWS if key in arrays] or list(arrays)
        if (len(arrays) > 1 and found[0] not in _ROWS) or not arrays:
            what = (
                f"has the arrays {', '.join(map(repr, arrays))}; rows must be named "
                "'X' and targets 'y'."
            )
            raise FileError(name, None, what)
        X = arrays[found[0]]
    target = options.target
    is_named = isinstance(target, str) and not target.lstrip("-").isdecimal()
    wanted = (str(target),) if is_named else _TARGETS
    key = next((key for key in wanted if key in arrays), None)
    if key is None or target is False:
        if is_named:
            raise FileError(name, None, f"has no array {target!r}.")
        return _from_matrix(name, X, options, schema)
    y = arrays[key]
    X = X if sp.issparse(X) else _numbers(name, X)
    if y.shape != (X.shape[0],):
        what = f"{key} has shape {y.shape}, but X has {X.shape[0]} rows: give one target for each."
        raise FileError(name, None, what)
    return Raw(X, _target(name, key, y), None, target=key)


def check_csr(data: Any, indices: Any, indptr: Any, shape: Any) -> None:
    """Raise a ValueError if these are not the parts of a CSR matrix of this shape.

    SciPy's own check takes differences of ``indptr`` in its own integers, which overflow: rows that
    end before they begin can pass it.
    """
    if not (
        isinstance(shape, (list, tuple))
        and len(shape) == 2
        and all(type(size) is int and 0 <= size < 2**62 for size in shape)
    ):
        raise ValueError(f"{shape!r} is no shape of a matrix")
    for name, part in (("data", data), ("indices", indices), ("indptr", indptr)):
        if not isinstance(part, np.ndarray) or part.ndim != 1:
            raise ValueError(f"{name} of a sparse matrix must be an array of one dimension")
    if indices.dtype.kind not in "iu" or indptr.dtype.kind not in "iu":
        raise ValueError("indices of a sparse matrix must be whole numbers")
    if data.dtype.kind not in "fiub":
        raise ValueError(f"a sparse matrix cannot hold {data.dtype}")
    if len(indptr) != shape[0] + 1 or len(data) != len(indices):
        raise ValueError("the parts of a sparse matrix do not fit each other")
    if indptr[0] != 0 or indptr[-1] != len(data) or np.any(indptr[1:] < indptr[:-1]):
        raise ValueError("the rows of a sparse matrix do not follow each other")
    if len(indices) and not (indices.min() >= 0 and int(indices.max()) < shape[1]):
        raise ValueError("an index of a sparse matrix is out of its columns")


def _load(source: Source) -> Any:
    """The array of an ``.npy`` file, or a dict of those of an ``.npz`` file."""
    try:
        copy = source.seekable_copy()
        if not zipfile.is_zipfile(copy):
            copy.seek(0)
            _check_size(copy, len(copy.getbuffer()))
            copy.seek(0)
            return np.load(copy, allow_pickle=False)
        check_sizes(copy)
        with np.load(copy, allow_pickle=False) as loaded:
            arrays = {key: loaded[key] for key in loaded.files}
        others = [key for key, array in arrays.items() if not isinstance(array, np.ndarray)]
        if others:
            raise ValueError(f"{others[0]!r} in it is no array")
        return arrays
    except Exception as error:
        if isinstance(error, FileError):
            raise
        raise FileError(
            source.name, None, f"is not a file of plain arrays ({error}); nothing else is loaded."
        ) from error


def check_sizes(file: Any) -> None:
    """Refuse an archive of arrays that claim more than there is; ``file`` is at its beginning."""
    with zipfile.ZipFile(file) as archive:
        for entry in archive.infolist():
            with archive.open(entry) as part:
                _check_size(part, entry.file_size)
    file.seek(0)


def _check_size(file: Any, size: int) -> None:
    """Refuse a header that claims more than there is, before memory is asked for."""
    version = np.lib.format.read_magic(file)
    read = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }
    if version not in read:
        return
    shape, _, dtype = read[version](file)
    # Without entries each side can be any number, which is what a loop over it would take.
    sides = math.prod(max(side, 1) for side in shape)
    is_too_large = math.prod(shape) * dtype.itemsize > size or sides > max(size, EMPTY_SIDES)
    if is_too_large and not dtype.hasobject:
        raise ValueError(f"its header claims an array of shape {shape}, but it has {size:,} bytes")


def _sparse(name: str, arrays: dict[str, np.ndarray]) -> sp.csr_matrix:
    kind = arrays.get("format")
    if kind is not None and kind.item() not in (b"csr", "csr"):
        raise FileError(
            name, None, f"is a sparse matrix of the kind {kind.item()!r}; save it as CSR."
        )
    try:
        data, indices, indptr = (arrays[part] for part in ("data", "indices", "indptr"))
        shape = [int(size) for size in arrays["shape"].tolist()]
        check_csr(data, indices, indptr, shape)
        X = sp.csr_matrix((data, indices, indptr), shape=tuple(shape))
    except Exception as error:
        raise FileError(name, None, f"is not a whole CSR matrix ({error}).") from error
    if X.dtype.kind not in "fiub" or not np.isfinite(X.data).all():
        raise FileError(name, None, "must hold finite numbers alone.")
    return X if X.dtype == np.float32 else X.astype(np.float64)


def _numbers(name: str, X: Any) -> np.ndarray:
    """Rows in float64, or float32 where they are."""
    if X.ndim != 2 or X.dtype.kind not in "fiub":
        raise FileError(name, None, f"must hold rows of numbers, got shape {X.shape} of {X.dtype}.")
    if not len(X):
        raise FileError(name, None, "has no rows.")
    X = np.array(X, dtype=np.float32 if X.dtype == np.float32 else np.float64)
    bad = np.argwhere(np.isinf(X))
    if bad.size:
        raise FileError(name, None, f"row {bad[0, 0]}, column {bad[0, 1]} is infinite.")
    return X


def _target(name: str, key: str, y: np.ndarray) -> Any:
    if y.dtype.kind == "U":
        words = Words()
        words.codes = np.array([words.number(word) for word in y.tolist()])
        return words
    missing = np.flatnonzero(np.isnan(y)) if y.dtype.kind == "f" else np.empty(0, int)
    if missing.size:
        what = (
            f"{key} has no value (NaN) in row {missing[0]}, and {missing.size - 1} more; leave "
            "such rows out."
        )
        raise FileError(name, None, what)
    if y.dtype.kind not in "fiub" or not np.isfinite(y).all():
        raise FileError(name, None, f"{key} must hold finite numbers or texts, got {y.dtype}.")
    return y.astype(np.float64)


def _from_matrix(name: str, X: Any, options: Options, schema: Schema | None) -> Raw:
    """A matrix without names, of which one column may be the target."""
    sparse = sp.issparse(X)
    X = X if sparse else _numbers(name, X)
    place = _target_place(name, X.shape[1], options.target, schema)
    y = None
    if place is not None:
        y = X[:, place : place + 1].toarray().ravel() if sparse else X[:, place].copy()
        y = _target(name, "the target", y)
        parts = X[:, :place], X[:, place + 1 :]
        X = sp.hstack(parts, format="csr") if sparse else np.hstack(parts)
    if not sparse:
        _refuse_missing(name, X)
    return Raw(X, y, None, target=None if place is None else str(place))


def _target_place(name: str, d: int, target: Any, schema: Schema | None) -> int | None:
    """The number of the target's column; nothing is made for each column, of which a file of a few
    bytes can state any number."""
    trained = None
    if schema is not None:
        trained = schema.n_features if schema.columns is None else len(schema.columns)
    place = None
    if target is None and d != trained:
        what = (
            f"which column is the target? It has {d} columns without names. Give target= a number "
            "(-1 is the last column); where there is none, target=False."
        )
        raise FileError(name, None, what)
    if target is not None and target is not False:
        is_number = str(target).removeprefix("-").isdecimal()
        if not (is_number and -d <= int(target) < d):
            what = f"there is no column target={target!r}; it has {d} columns without names."
            raise FileError(name, None, what)
        place = int(target) % d
    n_features = d if place is None else d - 1
    if trained is not None and n_features != trained:
        what = f"has {n_features} columns of features, but the model was trained on {trained}."
        raise FileError(name, None, what)
    if n_features < 1:
        raise FileError(name, None, "has no column besides the target.")
    return place


def _refuse_missing(name: str, X: np.ndarray) -> None:
    bad = np.argwhere(np.isnan(X))
    if bad.size:
        what = (
            f"row {bad[0, 0]}, column {bad[0, 1]} has no value (NaN), and "
            f"{len(bad) - 1} more; fill them in."
        )
        raise FileError(name, None, what)
