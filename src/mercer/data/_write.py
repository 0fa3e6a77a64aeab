"""Predictions and tables written to files, whole or not at all."""

from __future__ import annotations

import csv
import io
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.data._files import compressing, replacing
from mercer.data._table import Table
from mercer.exceptions import FileError

__all__ = ["write_predictions", "write_table"]

_COMPRESSED = (".gz", ".bz2", ".xz", ".zst")
_FORMATS = {
    ".svm": "svmlight",
    ".libsvm": "svmlight",
    ".svmlight": "svmlight",
    ".txt": "svmlight",
    ".csv": "csv",
    ".tsv": "tsv",
    ".npz": "npz",
    ".parquet": "parquet",
}
# Rows made into text at a time.
ROWS_AT_ONCE = 1024


def write_predictions(
    path: str | os.PathLike,
    predictions: Any,
    *,
    decision: Any = None,
    probabilities: Any = None,
    classes: Sequence[Any] | None = None,
    keep: Mapping[str, Sequence[Any]] = MappingProxyType({}),
) -> None:
    """Write predictions as CSV with a header, to a file or (``"-"``) to standard output.

    Parameters
    ----------
    path : path or "-"
        A name that ends in ``.gz``, ``.bz2``, ``.xz`` or ``.zst`` is compressed.
    predictions : array of shape (n,)
        The column ``prediction``.
    decision : array of shape (n,) or (n, k), optional
        Decision values: the column ``decision``, or one ``decision:CLASS`` for each class (pairs
        of classes are numbered).
    probabilities : array of shape (n, k), optional
        Columns ``probability:CLASS``.
    classes : sequence of k labels, optional
    keep : mapping of str to sequences of n values, optional
        Columns that are written before the predictions, such as an id.

    Examples
    --------
    >>> from mercer.data import write_predictions
    >>> write_predictions("-", ["a", "b"], decision=[0.5, -2.0])
    prediction,decision
    a,0.5
    b,-2.0
    """
    names = [*keep, "prediction"]
    columns = [*(np.asarray(values) for values in keep.values()), np.asarray(predictions)]
    for what, values in (("decision", decision), ("probability", probabilities)):
        if values is None:
            continue
        values = np.asarray(values)
        if values.ndim == 1:
            names.append(what)
            columns.append(values)
            continue
        fits = classes is not None and len(classes) == values.shape[1]
        labels = classes if classes is not None and fits else range(values.shape[1])
        names += [f"{what}:{label}" for label in labels]
        columns += list(values.T)
    if len({len(column) for column in columns}) > 1:
        raise ValueError(
            "predictions, decision and probabilities must have the same number of rows, got "
            f"{[len(column) for column in columns]}."
        )
    with _writing(path) as file:
        _write_rows(file, names, columns, ",")


def write_table(path: str | os.PathLike, table: Table, *, format: str | None = None) -> None:
    """Write the rows and targets of a table in another format, by default by the name's suffix.

    Numbers are written with all their digits: reading them again gives the same ones.

    Parameters
    ----------
    path : path or "-"
        ``.svm``, ``.libsvm``, ``.svmlight`` or ``.txt``: svmlight; ``.csv``, ``.tsv``, ``.npz``,
        ``.parquet``; after it ``.gz``, ``.bz2``, ``.xz`` or ``.zst``.
    table : Table
    format : {"svmlight", "csv", "tsv", "npz", "parquet"}, optional
        For names without such a suffix, and for standard output.
    """
    suffixes = [s.lower() for s in Path(path).suffixes if s.lower() not in _COMPRESSED]
    format = format or _FORMATS.get(suffixes[-1] if suffixes else "", "")
    if format not in _FORMATS.values():
        raise FileError(
            os.fspath(path), None, f"which format? The name should end in {', '.join(_FORMATS)}."
        )
    write = {"svmlight": _svmlight, "npz": _npz, "parquet": _parquet}.get(format)
    with _writing(path) as file:
        if write is not None:
            write(file, table)
        else:
            names, columns = _columns(table)
            _write_rows(file, names, columns, "," if format == "csv" else "\t")


@contextmanager
def _writing(path: str | os.PathLike) -> Iterator[Any]:
    name = os.fspath(path)
    if name == "-":
        # through the text layer: what was printed before stays before
        buffer = io.BytesIO()
        yield buffer
        if hasattr(sys.stdout, "buffer"):
            sys.stdout.flush()
            sys.stdout.buffer.write(buffer.getvalue())
            sys.stdout.buffer.flush()
        else:
            sys.stdout.write(buffer.getvalue().decode())
        return
    suffix = Path(name).suffix.lower()
    try:
        with replacing(name) as file:
            if suffix in _COMPRESSED:
                with compressing(file, suffix, "wb") as compressed:
                    yield compressed
            else:
                yield file
    except OSError as error:
        raise FileError(name, None, f"cannot be written: {error.strerror or error}.") from error


def _write_rows(
    file: Any, names: Sequence[str], columns: Sequence[np.ndarray], delimiter: str
) -> None:
    n = len(columns[0]) if columns else 0
    for start in range(0, max(n, 1), ROWS_AT_ONCE):
        text = io.StringIO()
        writer = csv.writer(text, delimiter=delimiter, lineterminator="\n")
        if start == 0:
            writer.writerow(names)
        parts = [column[start : start + ROWS_AT_ONCE].tolist() for column in columns]
        writer.writerows(zip(*parts, strict=True))
        file.write(text.getvalue().encode())


def _columns(table: Table) -> tuple[list[str], list[np.ndarray]]:
    """Names and columns of X and y."""
    X = table.X.toarray() if sp.issparse(table.X) else table.X
    names = table.schema.feature_names or [f"column_{j}" for j in range(X.shape[1])]
    columns = list(X.T)
    if table.y is not None:
        names, columns = [*names, _target_name(table, names)], [*columns, table.y]
    return list(names), columns


def _target_name(table: Table, names: Sequence[str]) -> str:
    name = table.schema.target or "target"
    return name if name not in names else "target"


def _svmlight(file: Any, table: Table) -> None:
    y = np.zeros(table.X.shape[0]) if table.y is None else table.y
    if y.dtype.kind not in "fiub":
        raise FileError(
            table.name, None, f"labels such as {y[0]!r} are no numbers, which svmlight files need."
        )
    X, first = sp.csr_matrix(table.X), int(not table.schema.zero_based)
    for start in range(0, X.shape[0], ROWS_AT_ONCE):
        part = X[start : start + ROWS_AT_ONCE]
        part.eliminate_zeros()
        indices, values = (part.indices + first).tolist(), part.data.tolist()
        lines = []
        for i, label in enumerate(y[start : start + ROWS_AT_ONCE].tolist()):
            where = range(part.indptr[i], part.indptr[i + 1])
            lines.append(" ".join([repr(label), *(f"{indices[k]}:{values[k]!r}" for k in where)]))
        file.write(("\n".join(lines) + "\n").encode())


def _npz(file: Any, table: Table) -> None:
    arrays: dict[str, Any] = {} if table.y is None else {"y": table.y}
    if sp.issparse(table.X):
        X = table.X
        arrays |= {"data": X.data, "indices": X.indices, "indptr": X.indptr}
        arrays |= {"shape": np.array(X.shape), "format": np.array("csr")}
    else:
        arrays["X"] = table.X
    np.savez_compressed(file, **arrays)


def _parquet(file: Any, table: Table) -> None:
    from mercer.data._parquet import pyarrow_parquet

    parquet = pyarrow_parquet()
    import pyarrow

    names, columns = _columns(table)
    parquet.write_table(pyarrow.table(dict(zip(names, columns, strict=True))), file)
