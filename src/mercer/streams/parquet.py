"""Parquet files, read by columns in pieces (pyarrow) and laid out in rows."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mercer._compiled import compiled
from mercer.streams.source import BATCH_ROWS, Batch, Stream, check_batch_rows, digest_file

__all__ = ["Parquet", "pyarrow_parquet"]

# Bytes read of a column at a time: a row group need not fit in memory.
BUFFER_BYTES = 1 << 20
# Rows whose columns are interleaved at a time: they stay in the processor's cache.
ROWS_AT_ONCE = 128


class Parquet(Stream):
    """Rows of a Parquet file, or of all in a folder in the order of their names.

    Needs pyarrow: ``pip install "mercer[stream]"``. Batches have ``batch_rows`` rows whatever the
    row groups are; columns of float32 alone stay float32.

    Parameters
    ----------
    path : path
    target : str
        The column of targets.
    columns : list of str, optional
        The features, in this order; by default all others.
    weight : str, optional
        The column of sample weights.
    batch_rows : int
    """

    def __init__(
        self,
        path: str | os.PathLike,
        target: str,
        columns: Sequence[str] | None = None,
        weight: str | None = None,
        batch_rows: int = BATCH_ROWS,
    ):
        self.path, self.target, self.weight = Path(path), target, weight
        self.batch_rows = check_batch_rows(batch_rows)
        self.files = sorted(self.path.glob("*.parquet")) if self.path.is_dir() else [self.path]
        if not self.files:
            raise ValueError(f"{path} has no files *.parquet.")
        schema = self._open(self.files[0]).schema_arrow
        others = [name for name in schema.names if name not in (target, weight)]
        self.names = others if columns is None else list(columns)
        self.dtype = _common_type(self.files[0], schema, self.names)

    def _open(self, file: Path) -> Any:
        parquet = pyarrow_parquet()
        try:
            opened = parquet.ParquetFile(file, pre_buffer=False, buffer_size=BUFFER_BYTES)
        except (OSError, ValueError) as error:  # pyarrow's own are ValueErrors
            raise type(error)(f"{file}: {error}") from error
        wanted = [self.target, *(self.names or []), *([self.weight] if self.weight else [])]
        missing = [name for name in wanted if name not in opened.schema_arrow.names]
        if missing:
            raise ValueError(
                f"{file} has no column {', '.join(map(repr, missing))}; it has "
                f"{', '.join(map(repr, opened.schema_arrow.names[:20]))}."
            )
        return opened

    def batches(self, skip: int = 0) -> Iterator[Batch]:
        assert self.names is not None
        roles = [self.target, *([self.weight] if self.weight else [])]
        X, filled, first = self._empty(), 0, skip * self.batch_rows
        others: list[list[np.ndarray]] = [[] for _ in roles]
        for file, start, piece in self._pieces([*self.names, *roles], first):
            at = 0
            while at < piece.num_rows:
                some = piece.slice(at, self.batch_rows - filled)
                _interleave(some, self.names, X[filled : filled + some.num_rows], file, start + at)
                for role, parts in zip(roles, others, strict=True):
                    parts.append(_column(some, role, file, start + at))
                at, filled = at + some.num_rows, filled + some.num_rows
                if filled == self.batch_rows:
                    yield self._batch(X, others, first)
                    X, filled, first = self._empty(), 0, first + filled
                    others = [[] for _ in roles]
        if filled:
            yield self._batch(X[:filled], others, first)

    def _empty(self) -> np.ndarray:
        assert self.names is not None
        return np.empty((self.batch_rows, len(self.names)), self.dtype)

    def _batch(self, X: np.ndarray, others: list[list[np.ndarray]], first: int) -> Batch:
        y, *weight = (np.concatenate(parts) for parts in others)
        where = f"{self.path}, rows {first} to {first + len(X) - 1}"
        return Batch(X, y, weight[0] if weight else None, where)

    def _pieces(self, columns: list[str], skip: int) -> Iterator[tuple[Path, int, Any]]:
        """Arrow batches with their file and first row in it, without the first ``skip`` rows."""
        for file in self.files:
            opened, row = self._open(file), 0
            for group in range(opened.num_row_groups):
                rows = opened.metadata.row_group(group).num_rows
                if skip >= rows:
                    skip, row = skip - rows, row + rows
                    continue
                for piece in opened.iter_batches(
                    self.batch_rows, row_groups=[group], columns=columns
                ):
                    if skip < piece.num_rows:
                        yield file, row + skip, piece.slice(skip)
                    row, skip = row + piece.num_rows, max(skip - piece.num_rows, 0)

    def fingerprint(self) -> dict[str, Any]:
        return {
            "source": "parquet",
            "files": [digest_file(file) for file in self.files],
            "columns": self.names,
            "target": self.target,
            "weight": self.weight,
            "batch_rows": self.batch_rows,
        }

    def targets(self) -> Iterator[np.ndarray]:
        for file, start, piece in self._pieces([self.target], 0):
            yield _column(piece, self.target, file, start)


def pyarrow_parquet() -> Any:
    try:
        from pyarrow import parquet
    except ImportError as error:
        raise ImportError(
            'Parquet files need pyarrow, which is not installed: pip install "mercer[stream]".'
        ) from error
    return parquet


def _common_type(file: Path, schema: Any, names: list[str]) -> np.dtype:
    """float32 if all columns are, else float64."""
    types = []
    for name in names:
        kind = schema.field(name).type.to_pandas_dtype()
        if np.dtype(kind).kind not in "fiub":
            raise ValueError(
                f"{file}: column {name!r} holds {schema.field(name).type}, not numbers. Leave it "
                "out with columns=[...], or encode it."
            )
        types.append(np.dtype(kind))
    if not types:
        raise ValueError(f"{file} has no column besides target and weight.")
    return np.dtype(np.float32 if set(types) == {np.dtype(np.float32)} else np.float64)


def _column(piece: Any, name: str, file: Path, start: int) -> np.ndarray:
    column = piece.column(name)
    if column.null_count:
        row = int(np.flatnonzero(np.asarray(column.is_null()))[0])
        raise ValueError(
            f"{file}: column {name!r} has no value in row {start + row} (and {column.null_count} "
            f"in rows {start} to {start + piece.num_rows - 1}). Fill or drop such rows first."
        )
    return column.to_numpy(zero_copy_only=False)


def _interleave(piece: Any, names: list[str], out: np.ndarray, file: Path, start: int) -> None:
    columns = np.empty((len(names), len(out)), out.dtype)
    for j, name in enumerate(names):
        columns[j] = _column(piece, name, file, start)
    _transpose(columns, out)


@compiled
def _transpose(columns, out):
    """One call without Python's lock, which whoever works on the last batch needs."""
    for first in range(0, out.shape[0], ROWS_AT_ONCE):
        for j in range(out.shape[1]):
            for i in range(first, min(first + ROWS_AT_ONCE, out.shape[0])):
                out[i, j] = columns[j, i]
