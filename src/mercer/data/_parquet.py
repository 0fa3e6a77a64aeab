"""Parquet files, read by columns in pieces (pyarrow)."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from mercer._numba import compiled, prefetch
from mercer._threads import thread_count
from mercer.data._files import as_file_errors
from mercer.data._read_ahead import zip_ahead
from mercer.data._stream import Batch, Stream, check_batch_rows, digest_file
from mercer.exceptions import FileError

__all__ = ["Parquet", "pyarrow_parquet"]

# Bytes read of a column at a time: a row group need not fit in memory.
BUFFER_BYTES = 1 << 16
# Rows decoded at a time.
PIECE_ROWS = 131_072
# Batches are of some megabytes and whole blocks: little to hold, and more to do in a batch than
# around it.
BATCH_CELLS, MOST_BATCH_ROWS, BLOCK_ROWS = 1 << 21, 131_072, 2048
# Rows laid out at a time, while the next are fetched; numbers that memory moves at a time.
TILE_ROWS, LINE = 128, 16
# Longer than any way between two columns in memory.
MEMORY = 1 << 48
# Columns are read in so many parts for each thread, and so many batches ahead.
PARTS_PER_THREAD, DEPTH = 2, 2


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
    batch_rows : int, optional
        By default as many as make two million numbers, at most 131,072.
    """

    reads_ahead = True

    def __init__(
        self,
        path: str | os.PathLike,
        target: str,
        columns: Sequence[str] | None = None,
        weight: str | None = None,
        batch_rows: int | None = None,
    ):
        self.path, self.target, self.weight = Path(path), target, weight
        self.files = sorted(self.path.glob("*.parquet")) if self.path.is_dir() else [self.path]
        if not self.files:
            raise FileError(str(path), None, "has no files *.parquet.")
        schema = self._open(self.files[0]).schema_arrow
        others = [name for name in schema.names if name not in (target, weight)]
        self.names = others if columns is None else list(columns)
        self.dtype = _common_type(self.files[0], schema, self.names)
        blocks = min(MOST_BATCH_ROWS, BATCH_CELLS // len(self.names)) // BLOCK_ROWS
        self.batch_rows = check_batch_rows(batch_rows or max(blocks, 1) * BLOCK_ROWS)

    def _open(self, file: Path) -> Any:
        parquet = pyarrow_parquet()
        with as_file_errors(str(file), "cannot be read as Parquet"):
            opened = parquet.ParquetFile(file, pre_buffer=False, buffer_size=BUFFER_BYTES)
        wanted = [self.target, *(self.names or []), *([self.weight] if self.weight else [])]
        missing = [name for name in wanted if name not in opened.schema_arrow.names]
        if missing:
            raise FileError(
                str(file),
                None,
                f"has no column {', '.join(map(repr, missing))}; it has "
                f"{', '.join(map(repr, opened.schema_arrow.names[:20]))}.",
            )
        return opened

    def batches(self, skip: int = 0) -> Iterator[Batch]:
        assert self.names is not None
        frames = _Frames((self.batch_rows, len(self.names)), self.dtype)
        n_threads = thread_count(None)
        parts = [self._read(names, skip) for names in self._parts(n_threads)]
        with closing(zip_ahead(parts, n_threads, DEPTH)) as ahead:
            for number, read in enumerate(ahead, start=skip):
                yield self._batch(number, [column for part in read for column in part], frames)

    def _parts(self, n_threads: int) -> list[list[str]]:
        """Columns that are read together: those of other roles first, then the features."""
        assert self.names is not None
        d = len(self.names)
        edges = np.linspace(0, d, min(PARTS_PER_THREAD * n_threads, d) + 1).astype(int).tolist()
        parts = [self.names[a:b] for a, b in pairwise(edges)]
        # The first part has the fewest columns.
        return [[self.target, *([self.weight] if self.weight else []), *parts[0]], *parts[1:]]

    def _read(self, names: list[str], skip: int) -> Iterator[list[np.ndarray]]:
        """These columns of each batch: not copied where a batch was decoded in one piece."""
        pieces: list[list[np.ndarray]] = []
        filled = 0
        for file, start, piece in self._pieces(names, skip * self.batch_rows):
            at = 0
            while at < piece.num_rows:
                some = piece.slice(at, self.batch_rows - filled)
                pieces.append(
                    [_column(some, name, file, start + at, name == self.target) for name in names]
                )
                at, filled = at + some.num_rows, filled + some.num_rows
                if filled == self.batch_rows:
                    yield _joined(pieces)
                    pieces, filled = [], 0
        if filled:
            yield _joined(pieces)

    def _batch(self, number: int, columns: list[np.ndarray], frames: _Frames) -> Batch:
        n_roles, first = 2 if self.weight else 1, number * self.batch_rows
        y, *weight = roles = columns[:n_roles]
        X = frames.free()[: len(y)]
        are_finite = _lay_out([c.astype(self.dtype, copy=False) for c in columns[n_roles:]], X)
        return Batch(
            X, y, weight[0] if weight else None,
            f"{self.path}, rows {first} to {first + len(y) - 1}",
            are_finite and all(role.dtype.kind != "f" or _are_finite(role) for role in roles),
        )  # fmt: skip

    def _pieces(self, columns: list[str], skip: int) -> Iterator[tuple[Path, int, Any]]:
        """Arrow batches with their file and first row in it, without the first ``skip`` rows.

        They run on over the ends of row groups.
        """
        size = min(self.batch_rows, PIECE_ROWS)
        for file in self.files:
            opened, row = self._open(file), 0
            groups = list(range(opened.num_row_groups))
            while groups and skip >= (rows := opened.metadata.row_group(groups[0]).num_rows):
                groups, skip, row = groups[1:], skip - rows, row + rows
            with as_file_errors(str(file), "cannot be read as Parquet"):
                pieces = iter(opened.iter_batches(size, groups, columns, use_threads=False))
            while True:
                with as_file_errors(str(file), "cannot be read as Parquet"):
                    piece = next(pieces, None)
                if piece is None:
                    break
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
            yield _column(piece, self.target, file, start, is_label=True)


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
        with as_file_errors(str(file), f"column {name!r} cannot be used"):
            kind = schema.field(name).type.to_pandas_dtype()
        if np.dtype(kind).kind not in "fiub":
            raise FileError(
                str(file),
                None,
                f"column {name!r} holds {schema.field(name).type}, not numbers. Leave it out with "
                "columns=[...], or encode it.",
            )
        types.append(np.dtype(kind))
    if not types:
        raise FileError(str(file), None, "has no column besides target and weight.")
    return np.dtype(np.float32 if set(types) == {np.dtype(np.float32)} else np.float64)


def _column(piece: Any, name: str, file: Path, start: int, is_label: bool = False) -> np.ndarray:
    column = piece.column(name)
    if column.null_count:
        row = int(np.flatnonzero(np.asarray(column.is_null()))[0])
        raise FileError(
            str(file),
            None,
            f"column {name!r} has no value in row {start + row} (and {column.null_count} in rows "
            f"{start} to {start + piece.num_rows - 1}). Fill or drop such rows first.",
        )
    with as_file_errors(str(file), f"column {name!r} cannot be read"):
        values = column.to_numpy(zero_copy_only=False)
        if values.dtype.kind not in "fiub" and not (values.dtype.kind in "OUS" and is_label):
            raise ValueError(f"it holds {column.type}, not numbers")
        if values.shape != (piece.num_rows,):
            raise ValueError(f"it has {len(values)} values for {piece.num_rows} rows")
    return values


def _joined(pieces: list[list[np.ndarray]]) -> list[np.ndarray]:
    return pieces[0] if len(pieces) == 1 else [*map(np.concatenate, zip(*pieces, strict=True))]


class _Frames:
    """Arrays for rows; fresh memory is slow, so each is used again once nobody holds it."""

    def __init__(self, shape: tuple[int, int], dtype: np.dtype):
        self._make = lambda: np.empty(shape, dtype)
        self._all = [np.empty(0)]

    def free(self) -> np.ndarray:
        alone = sys.getrefcount(self._all[0])  # nobody else has the first
        for k in range(1, len(self._all)):
            if sys.getrefcount(self._all[k]) == alone:
                return self._all[k]
        self._all.append(self._make())
        return self._all[-1]


def _lay_out(columns: list[np.ndarray], rows: np.ndarray) -> bool:
    """Columns into rows; whether all values are finite.

    Compiled code sees all columns as parts of one array, which begins with the lowest of them.
    """
    for column in columns:  # compiled code believes it
        if column.shape != rows.shape[:1] or not column.flags.c_contiguous:
            raise ValueError(f"a column has {column.shape[0]} values for {rows.shape[0]} rows.")
    places = np.array([column.__array_interface__["data"][0] for column in columns])
    lowest = int(places.argmin())
    memory = np.lib.stride_tricks.as_strided(columns[lowest], (MEMORY,), writeable=False)
    return _interleave(memory, (places - places[lowest]) // rows.itemsize, rows)


@compiled
def _interleave(memory, places, rows):
    n, d = rows.shape
    flat, last, are_finite = rows.reshape(-1), d - d % 4, True
    for lo in range(0, n, TILE_ROWS):
        m = min(TILE_ROWS, n - lo)
        # Four columns at a time: rows are written faster.
        for j in range(0, last, 4):
            p, q = memory[places[j] + lo :][:m], memory[places[j + 1] + lo :][:m]
            r, s = memory[places[j + 2] + lo :][:m], memory[places[j + 3] + lo :][:m]
            for column in (p, q, r, s):
                for i in range(0, m, LINE):
                    prefetch(column, i + TILE_ROWS)
                are_finite &= _are_finite(column)
            some = flat[lo * d + j :]
            for i in range(m):
                k, at = np.uint64(i), np.uint64(i * d)
                some[at], some[at + np.uint64(1)] = p[k], q[k]
                some[at + np.uint64(2)], some[at + np.uint64(3)] = r[k], s[k]
        for j in range(last, d):
            column = memory[places[j] + lo :][:m]
            are_finite &= _are_finite(column)
            for i in range(m):
                rows[lo + i, j] = column[i]
    return are_finite


@compiled
def _are_finite(values):
    wrong = False
    for i in range(values.size):
        wrong |= not abs(values[i]) < np.inf
    return not wrong
