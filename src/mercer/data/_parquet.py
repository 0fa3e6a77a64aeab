"""Parquet, read by pyarrow: as a table (`read_parquet`), and as a stream of batches (`Parquet`)."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mercer.data._columns import Options, Raw, find_unusable, from_arrow
from mercer.data._files import IO, Source, as_file_errors, fill_rows
from mercer.data._roles import assign
from mercer.data._schema import Schema
from mercer.data._stream import Batch, Stream, check_batch_rows, digest_file
from mercer.exceptions import FileError

__all__ = ["Parquet", "pyarrow_parquet", "read_parquet"]


def pyarrow_parquet() -> Any:
    try:
        from pyarrow import parquet
    except ImportError as error:
        raise ImportError(
            'Parquet files need pyarrow, which is not installed: pip install "mercer[tables]".'
        ) from error
    return parquet


# ------------------------------------------------------------------ a table


def read_parquet(source: Source, options: Options, schema: Schema | None) -> Raw:
    """Columns of numbers and of words by name."""
    parquet, name = pyarrow_parquet(), source.name
    with as_file_errors(name, "cannot be read as Parquet"):
        opened = parquet.ParquetFile(source.path or source.seekable_copy())
        fields = list(opened.schema_arrow)
    names = [field.name for field in fields]
    kinds = [_kind(field.type) for field in fields]
    of_words = {j for j, kind in enumerate(kinds) if kind == "words"}
    roles = assign(name, names, of_words, options, schema, has_names=True)
    used = {j: names[j] for j in (*roles.features, roles.target) if j is not None}
    for j, column in used.items():
        if kinds[j] == "other":
            what = (
                f"column {column!r} holds {fields[j].type}, neither numbers nor words; leave it "
                f"out with drop=[{column!r}]."
            )
            raise FileError(name, None, what, drop=column)
        if kinds[j] == "words" and j not in roles.words:
            raise FileError(
                name, None, f"column {column!r} must hold numbers, got {fields[j].type}."
            )
    with as_file_errors(name, "cannot be read as Parquet"):
        raw = from_arrow(opened.read(list(used.values())), used, names, roles, None)
    if len(raw.X) == 0:
        raise FileError(name, None, "has no rows.")
    _refuse_unusable(name, raw, options, schema)
    return raw


def _kind(kind: Any) -> str:
    import pyarrow

    types = pyarrow.types
    is_time = types.is_date(kind) or types.is_timestamp(kind) or types.is_time(kind)
    if is_time or any(
        is_a(kind) for is_a in (types.is_dictionary, types.is_string, types.is_large_string)
    ):
        return "words"
    plain = types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)
    return "numbers" if plain else "other"


def _refuse_unusable(name: str, raw: Raw, options: Options, schema: Schema | None) -> None:
    found = find_unusable(raw, options, schema)
    if found is None:
        return
    row, column, what = found
    if what == "infinite":
        raise FileError(name, None, f"row {row}: column {column!r} is infinite.")
    if column == raw.target:
        what = (
            f"column {column!r}, the target, has rows without a value; missing='median' leaves "
            "them out."
        )
        raise FileError(name, None, what, missing="median")
    what = f"row {row}: column {column!r} has no value; fill it in, or train with missing='median'."
    raise FileError(name, None, what, missing="median")


# ------------------------------------------------------------------ a stream


class Parquet(Stream):
    """Rows of a Parquet file, or of all in a folder in the order of their names.

    Needs pyarrow: ``pip install "mercer[tables]"``. Batches have ``batch_rows`` rows whatever the
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
        By default as many as make two million numbers, a multiple of 2,048, at most 131,072.
    """

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
        self.names = None if columns is None else list(columns)
        schema = self._open(self.files[0]).schema_arrow
        if self.names is None:
            self.names = [name for name in schema.names if name not in (target, weight)]
        self.dtype = _common_type(self.files[0], schema, self.names)
        if batch_rows is None:
            blocks = min(131_072, (1 << 21) // len(self.names)) // 2048
            batch_rows = 2048 * max(blocks, 1)
        self.batch_rows = check_batch_rows(batch_rows)

    def _open(self, file: Path) -> Any:
        parquet = pyarrow_parquet()
        with as_file_errors(str(file), "cannot be read as Parquet"):
            opened = parquet.ParquetFile(file, pre_buffer=False, buffer_size=IO.column_bytes)
        count = Counter(opened.schema_arrow.names)
        names = count if self.names is None else self.names
        wanted = [self.target, *names, *([self.weight] if self.weight else [])]
        missing = [name for name in wanted if name not in count]
        if missing:
            what = (
                f"has no column {', '.join(map(repr, missing))}; it has "
                f"{', '.join(map(repr, opened.schema_arrow.names[:20]))}."
            )
            raise FileError(str(file), None, what)
        twice = next((name for name in wanted if count[name] > 1), None)
        if twice is not None:
            what = (
                f"has {count[twice]} columns named {twice!r}; rename them, or give columns=[...]."
            )
            raise FileError(str(file), None, what)
        return opened

    def batches(self, skip: int = 0) -> Iterator[Batch]:
        assert self.names is not None
        roles = [self.target, *([self.weight] if self.weight else [])]
        first, batch = skip * self.batch_rows, _Parts(self.batch_rows)
        for file, start, piece in self._pieces([*roles, *self.names], first):
            at = 0
            while at < piece.num_rows:
                part = piece.slice(at, batch.lacking)
                columns = [_column(part, name, file, start + at) for name in roles]
                batch.add(_rows(part, self.names, self.dtype, file, start + at), columns)
                at += part.num_rows
                if not batch.lacking:
                    yield batch.take(self.path, first)
                    first += self.batch_rows
        if batch.n:
            yield batch.take(self.path, first)

    def _pieces(self, columns: list[str], skip: int) -> Iterator[tuple[Path, int, Any]]:
        """Arrow batches with their file and first row in it, without the first ``skip`` rows."""
        for file in self.files:
            opened, row = self._open(file), 0
            groups = list(range(opened.num_row_groups))
            while groups and skip >= (rows := opened.metadata.row_group(groups[0]).num_rows):
                groups, skip, row = groups[1:], skip - rows, row + rows
            with as_file_errors(str(file), "cannot be read as Parquet"):
                pieces = iter(opened.iter_batches(self.batch_rows, groups, columns))
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
            yield _column(piece, self.target, file, start)


class _Parts:
    """A batch that is put together from parts: X, and the targets and weights."""

    def __init__(self, batch_rows: int):
        self.batch_rows = batch_rows
        self.n = 0
        self.parts: list[list[np.ndarray]] = []

    @property
    def lacking(self) -> int:
        """Rows until the batch is complete."""
        return self.batch_rows - self.n

    def add(self, X: np.ndarray, columns: list[np.ndarray]) -> None:
        self.parts.append([X, *columns])
        self.n += len(X)

    def take(self, path: Path, first: int) -> Batch:
        """The batch, which begins with row ``first`` of the stream."""
        whole = self.parts[0]
        if len(self.parts) > 1:
            whole = [np.concatenate(part) for part in zip(*self.parts, strict=True)]
        X, y, *weight = whole
        where = f"{path}, rows {first} to {first + self.n - 1}"
        is_finite = all(part.dtype.kind != "f" or _is_finite(part) for part in whole)
        self.n, self.parts = 0, []
        return Batch(X, y, weight[0] if weight else None, where, is_finite)


def _is_finite(values: np.ndarray) -> bool:
    """The sum is not finite if an entry is not; entries are tested one by one only then."""
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(values.sum()) or np.isfinite(values).all())


def _common_type(file: Path, schema: Any, names: list[str]) -> np.dtype:
    """float32 if all columns are, else float64."""
    for name in names:
        if _kind(schema.field(name).type) != "numbers":
            what = (
                f"column {name!r} holds {schema.field(name).type}, not numbers. Leave it out with "
                "columns=[...], or encode it."
            )
            raise FileError(str(file), None, what)
    if not names:
        raise FileError(str(file), None, "has no column besides target and weight.")
    is_single = all(str(schema.field(name).type) == "float" for name in names)
    return np.dtype(np.float32 if is_single else np.float64)


def _rows(piece: Any, names: list[str], dtype: np.dtype, file: Path, start: int) -> np.ndarray:
    """The features of a piece that begins with row ``start`` of the file."""
    features = piece.select(names)
    if any(column.null_count for column in features.columns):
        for name in names:
            _column(piece, name, file, start)
    with as_file_errors(str(file), "cannot be read as numbers"):
        X = np.empty((piece.num_rows, len(names)), dtype)
        fill_rows(X, features.columns)
    return X


def _column(piece: Any, name: str, file: Path, start: int) -> np.ndarray:
    """A column without missing values."""
    column = piece.column(name)
    if column.null_count:
        row = int(np.flatnonzero(np.asarray(column.is_null()))[0])
        what = (
            f"column {name!r} has no value in row {start + row} (and {column.null_count} in rows "
            f"{start} to {start + piece.num_rows - 1}). Fill or drop such rows first."
        )
        raise FileError(str(file), None, what)
    with as_file_errors(str(file), f"column {name!r} cannot be read"):
        values = column.to_numpy(zero_copy_only=False)
        if values.dtype.kind not in "fiubOUS":
            raise ValueError(f"it holds {column.type}")
        return values
