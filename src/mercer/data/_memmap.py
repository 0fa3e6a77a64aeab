"""`to_memmap`: rows of any source as a memory-mapped file, from which every estimator can fit.

The file is NumPy's ``.npy``: a header of fixed size, written again once the number of rows is
known, and the rows in C order. Only one batch of rows is in memory at a time.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import scipy.sparse as sp

from mercer.data._files import as_file_errors
from mercer.data._stream import as_stream

__all__ = ["to_memmap"]

# The header of a .npy file, padded: enough for any shape.
_HEADER_BYTES = 128


def to_memmap(
    source: Any,
    folder: str | os.PathLike,
    y: Any = None,
    *,
    dtype: Any = None,
    batch_bytes: float = 64e6,
) -> tuple[np.memmap, np.ndarray | None]:
    """Copy rows into ``folder/X.npy``, in batches, and map that file into memory.

    Estimators take the array as any other. They read it in tiles, and the system keeps in memory
    what has room: data may be larger than memory. Files stay until they are deleted.

    Parameters
    ----------
    source : stream, path or array
        A `Stream` (such as `Parquet`) or what `as_stream` makes one of; or an array that is larger
        than memory, of NumPy, Zarr, HDF5 or dask: an object with ``shape`` and slices of rows.
    folder : path
        It is made if it does not exist.
    y : array, optional
        Targets, if the source is an array; those of a stream are taken from it.
    dtype : {float32, float64}, optional
        Of the file; by default that of the source, or float64.
    batch_bytes : float, default=64e6
        Of an array: bytes of the rows that are read at a time.

    Returns
    -------
    X : memmap of shape (n_samples, n_features)
        Read-only.
    y : ndarray or None

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from mercer import SVC
    >>> from mercer.data import to_memmap
    >>> rows = np.random.default_rng(0).normal(size=(200, 2))
    >>> low = SVC(approximation="nystroem", n_components=20, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     X, y = to_memmap(rows, folder, rows[:, 0] > 0)
    ...     low.fit(X, y).score(X, y) > 0.9
    True
    """
    path = Path(folder)
    path.mkdir(parents=True, exist_ok=True)
    is_array = hasattr(source, "shape") and hasattr(source, "dtype")
    if y is not None and not is_array:
        raise ValueError(
            "y is for arrays: the targets of a stream are its own, as in "
            'mercer.data.Parquet("rows.parquet", target="label").'
        )
    batches = _slices(source, y, batch_bytes) if is_array else _stream(source)
    name = path / "X.npy"
    n, labels = _write_rows(batches, name, dtype)
    if labels is not None and labels.shape[0] != n:
        raise ValueError(f"{labels.shape[0]:,} targets were given for {n:,} rows.")
    return np.load(name, mmap_mode="r"), labels


def _write_rows(
    batches: Iterator[tuple[Any, Any]], name: Path, dtype: Any
) -> tuple[int, np.ndarray | None]:
    """The number of rows, and the targets that come with them.

    Only what fails in writing is an error of the file: what a source raises goes through.
    """
    targets: list[np.ndarray] = []
    writing = partial(as_file_errors, str(name), "cannot be written")
    with ExitStack() as stack:
        with writing():
            file = stack.enter_context(open(name, "wb"))
        d, n, kind = None, 0, None if dtype is None else _float(np.dtype(dtype))
        for X, part in batches:
            X = X.toarray() if sp.issparse(X) else np.asarray(X)
            if X.ndim != 2 or (d is not None and X.shape[1] != d):
                raise ValueError(f"rows {n:,} and on have the shape {X.shape}, not (…, {d}).")
            if kind is None:
                kind = np.dtype(np.float32 if X.dtype == np.float32 else np.float64)
            with writing():
                if d is None:
                    d = X.shape[1]
                    _write_header(file, kind, (0, d))
                file.write(np.ascontiguousarray(X, kind).data)
            n += X.shape[0]
            if part is not None:
                targets.append(np.asarray(part))
        if d is None or kind is None:
            raise ValueError("the source has no rows.")
        with writing():
            file.seek(0)
            _write_header(file, kind, (n, d))
            file.flush()
    return n, np.concatenate(targets) if targets else None


def _float(dtype: np.dtype) -> np.dtype:
    if dtype not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise ValueError(f"dtype must be float32 or float64, got {dtype}.")
    return dtype


def _write_header(file: BinaryIO, dtype: np.dtype, shape: tuple[int, int]) -> None:
    """Version 1.0 of the format (numpy.lib.format), padded with spaces to a fixed size."""
    text = repr({"descr": dtype.str, "fortran_order": False, "shape": shape}).encode()
    length = _HEADER_BYTES - 10
    file.write(b"\x93NUMPY\x01\x00" + length.to_bytes(2, "little"))
    file.write(text + b" " * (length - len(text) - 1) + b"\n")


def _slices(X: Any, y: Any, batch_bytes: float) -> Iterator[tuple[Any, Any]]:
    """Rows of an array in slices; dask and Zarr compute them when they are asked for."""
    n, d = X.shape
    if not isinstance(n, (int, np.integer)):
        raise ValueError(
            f"the number of rows of {type(X).__name__} is not known: call compute_chunk_sizes() "
            "first."
        )
    if y is not None and y.shape[0] != n:
        raise ValueError(f"{y.shape[0]:,} targets were given for {n:,} rows.")
    step = max(1, int(batch_bytes / max(1, 8 * d)))
    for start in range(0, n, step):
        part = slice(start, min(start + step, n))
        rows = X[part]
        yield rows if sp.issparse(rows) else np.asarray(rows), None if y is None else y[part]


def _stream(source: Any) -> Iterator[tuple[Any, Any]]:
    for batch in as_stream(source).batches():
        yield batch.X, batch.y
