"""Parquet files, read by columns in pieces (pyarrow)."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from mercer._compiled import compiled
from mercer._threads import thread_count
from mercer.streams.ahead import zip_ahead
from mercer.streams.source import Batch, Stream, check_batch_rows, digest_file

__all__ = ["Parquet", "pyarrow_parquet"]

# Bytes read of a column at a time: a row group need not fit in memory.
BUFFER_BYTES = 1 << 18
# Rows decoded at a time.
PIECE_ROWS = 131_072
# Batches are of some megabytes and whole blocks: little to hold, and more to do in a batch than
# around it.
BATCH_CELLS, MOST_BATCH_ROWS, BLOCK_ROWS = 1 << 21, 131_072, 2048
# Columns are this much longer than a batch: a power of two between them would make them share the
# same few places of the cache.
LINE = 16
# Columns are read in so many parts for each thread, and so many batches ahead.
PARTS_PER_THREAD, DEPTH = 2, 2


class Parquet(Stream):
    """Rows of a Parquet file, or of all in a folder in the order of their names.

    Needs pyarrow: ``pip install "mercer[stream]"``. Batches have ``batch_rows`` rows whatever the
    row groups are, and lie in memory by columns; columns of float32 alone stay float32.

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
            raise ValueError(f"{path} has no files *.parquet.")
        schema = self._open(self.files[0]).schema_arrow
        others = [name for name in schema.names if name not in (target, weight)]
        self.names = others if columns is None else list(columns)
        self.dtype = _common_type(self.files[0], schema, self.names)
        blocks = min(MOST_BATCH_ROWS, BATCH_CELLS // len(self.names)) // BLOCK_ROWS
        self.batch_rows = check_batch_rows(batch_rows or max(blocks, 1) * BLOCK_ROWS)

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
        frames = _Frames((len(self.names), self.batch_rows + LINE), self.dtype)
        n_threads = thread_count(None)
        parts = [self._fill(part, frames, skip) for part in self._parts(n_threads)]
        with closing(zip_ahead(parts, n_threads, DEPTH)) as ahead:
            for number, filled in enumerate(ahead, start=skip):
                yield self._batch(number, frames.take(number), filled)

    def _parts(self, n_threads: int) -> list[tuple[int, int, list[str]]]:
        """Columns from one to another and other roles, as they are read together."""
        assert self.names is not None
        d = len(self.names)
        edges = np.linspace(0, d, min(PARTS_PER_THREAD * n_threads, d) + 1).astype(int).tolist()
        roles = [self.target, *([self.weight] if self.weight else [])]
        # The first part has the fewest columns.
        return [(a, b, roles if a == 0 else []) for a, b in pairwise(edges)]

    def _fill(
        self, part: tuple[int, int, list[str]], frames: _Frames, skip: int
    ) -> Iterator[tuple[int, bool, list[np.ndarray]]]:
        """Of each batch the number of rows, whether this part's are finite, and other roles."""
        assert self.names is not None
        first, last, roles = part
        names = self.names[first:last]
        number, filled, finite = skip, 0, True
        others: list[list[np.ndarray]] = [[] for _ in roles]
        for file, start, piece in self._pieces([*names, *roles], skip * self.batch_rows):
            at = 0
            while at < piece.num_rows:
                some = piece.slice(at, self.batch_rows - filled)
                columns = frames.of(number)[first:last, filled : filled + some.num_rows]
                for name, column in zip(names, columns, strict=True):
                    values = _column(some, name, file, start + at)
                    column[:] = values
                    finite &= values.dtype.kind != "f" or _are_finite(values)
                for role, pieces in zip(roles, others, strict=True):
                    values = _column(some, role, file, start + at)
                    pieces.append(values)
                    finite &= values.dtype.kind != "f" or _are_finite(values)
                at, filled = at + some.num_rows, filled + some.num_rows
                if filled == self.batch_rows:
                    yield filled, finite, [np.concatenate(pieces) for pieces in others]
                    number, filled, finite = number + 1, 0, True
                    others = [[] for _ in roles]
        if filled:
            yield filled, finite, [np.concatenate(pieces) for pieces in others]

    def _batch(
        self, number: int, columns: np.ndarray, parts: Sequence[tuple[int, bool, list[np.ndarray]]]
    ) -> Batch:
        (n, _, (y, *weight)), first = parts[0], number * self.batch_rows
        return Batch(
            columns.T[:n], y, weight[0] if weight else None,
            f"{self.path}, rows {first} to {first + n - 1}", all(part[1] for part in parts),
        )  # fmt: skip

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
                    min(self.batch_rows, PIECE_ROWS), [group], columns, use_threads=False
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


class _Frames:
    """Arrays whose columns several threads fill in; fresh memory is slow, so each is used
    again as soon as nobody holds it."""

    def __init__(self, shape: tuple[int, int], dtype: np.dtype):
        self._make = lambda: np.empty(shape, dtype)
        self._lock, self._all = threading.Lock(), [np.empty(0)]
        self._of: dict[int, np.ndarray] = {}

    def of(self, number: int) -> np.ndarray:
        """The array of this batch."""
        with self._lock:
            if number not in self._of:
                self._of[number] = self._free()
            return self._of[number]

    def take(self, number: int) -> np.ndarray:
        """The array of this batch, which is complete."""
        with self._lock:
            return self._of.pop(number)

    def _free(self) -> np.ndarray:
        alone = sys.getrefcount(self._all[0])  # nobody else has the first
        for k in range(1, len(self._all)):
            if sys.getrefcount(self._all[k]) == alone:
                return self._all[k]
        self._all.append(self._make())
        return self._all[-1]


@compiled
def _are_finite(values):
    wrong = False
    for i in range(values.size):
        wrong |= not abs(values[i]) < np.inf
    return not wrong
