"""Samples of kernels on structures: rows of mixed columns, time series, and columns of texts."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer.data._columns import Notation, Options, Raw, Words
from mercer.data._csv import records
from mercer.data._dates import find_order, to_days
from mercer.data._files import Source
from mercer.data._layout import find_layout
from mercer.data._learn import learn_target, leave_out_untargeted
from mercer.data._parquet import pyarrow_parquet
from mercer.data._roles import find_column, find_target
from mercer.data._schema import Column, Schema, known_target, left_out_note, no_dates_note
from mercer.exceptions import FileError

__all__ = ["read_samples", "read_texts"]

_BETWEEN = re.compile(r"[\s,;|]+")  # what stands between the elements of a set


def read_samples(
    name: str, raw: Raw, options: Options, schema: Schema | None
) -> tuple[Any, Any, Schema, list[str]]:
    """Samples, the target, the schema, and what is worth telling.

    Without a schema, rows without a target are left out, and the schema is that of the file.
    """
    if schema is not None:
        X, notes = _samples(name, raw, schema)
        return X, known_target(raw.y, schema), schema, notes
    notes = leave_out_untargeted(raw)
    y, task = learn_target(name, raw, options.task)
    columns = _columns(raw, notes)
    made = Schema(
        columns,
        len(columns),
        target=raw.target,
        task=task,
        labels=tuple(np.unique(y).tolist()) if task == "classification" else None,
        decimal=options.decimal or ".",
        na=options.na,
        samples=options.samples,
    )
    return _samples(name, raw, made)[0], y, made, notes


def _columns(raw: Raw, notes: list[str]) -> tuple[Column, ...]:
    """What the columns hold: numbers, dates, or words."""
    found = []
    for k, column in enumerate(raw.names or ()):
        words = raw.words[k].words if k in raw.words else None
        order, is_certain = (None, True) if words is None else find_order(words)
        if words is None:
            found.append(Column(column))
        elif order and column not in raw.categorical:
            found.append(Column(column, parts=("day",), order=order))
            if not is_certain:
                read = {"dmy": "day/month", "mdy": "month/day"}[order]
                notes.append(f"column {column!r}: {words[0]!r} is read as {read}")
        else:
            found.append(Column(column, tuple(sorted(words))))
    return tuple(found)


def _samples(name: str, raw: Raw, schema: Schema) -> tuple[Any, list[str]]:
    """The rows of a table, or series."""
    if schema.samples == "series":
        return _series(name, raw, schema), []
    from mercer.kernels.tables._table import Table as Rows

    columns: list[np.ndarray] = []
    notes: list[str] = []
    numbers = iter(np.asarray(raw.X, dtype=np.float64).T)
    for k, column in enumerate(schema.columns or ()):
        if k not in raw.words:
            columns.append(np.ascontiguousarray(next(numbers)))
        elif column.parts is not None:
            columns.append(_days(raw.words[k], column, notes))
        else:
            columns.append(_words(raw.words[k], column, notes))
    return Rows(tuple(column.name for column in schema.columns or ()), tuple(columns)), notes


def _words(words: Words, column: Column, notes: list[str]) -> np.ndarray:
    """Words, and None where they are missing; those that training did not have are told."""
    unknown = [word for word in words.words if word not in set(column.categories or ())]
    if unknown:
        shown = ", ".join(map(repr, unknown[:3])) + (", …" if len(unknown) > 3 else "")
        notes.append(
            f"column {column.name!r}: {shown} not seen in training; equal to none of its categories"
        )
    return np.array([*words.words, None], dtype=object)[words.codes]  # −1, missing, is the last


def _days(words: Words, column: Column, notes: list[str]) -> np.ndarray:
    """Dates as days since 1970; words that are none count as missing."""
    days = to_days(words.words, str(column.order))
    wrong = [word for word, day in zip(words.words, days, strict=True) if np.isnan(day)]
    if wrong:
        notes.append(no_dates_note(column.name, wrong))
    return np.append(days, np.nan)[words.codes]


def _series(name: str, raw: Raw, schema: Schema) -> np.ndarray:
    """Rows without the missing values at their ends."""
    if raw.words:
        column = (raw.names or [])[min(raw.words)]
        what = f"column {column!r} holds words, but time series are numbers; see drop=."
        raise FileError(name, None, what, drop=column)
    X = np.asarray(raw.X, dtype=np.float64)
    out = np.empty(len(X), dtype=object)
    for i, row in enumerate(X):
        present = np.flatnonzero(~np.isnan(row))
        if present.size == 0:
            raise FileError(name, None, f"row {i} (from 0) has no value; leave it out.")
        out[i] = row[: present[-1] + 1]
    return out


def read_texts(
    source: Source, format: str, options: Options, schema: Schema | None
) -> tuple[np.ndarray, Any, Schema, list[str]]:
    """Texts (or the sets of their words), the target, the schema, and what is worth telling.

    Without a schema, rows without a target are left out; missing texts are empty.
    """
    notation = options.notation(schema)
    names, rows, has_names = _cells(source, format, options, schema, notation)
    text, target = _text_column(source.name, names, options, schema, has_names)
    texts: list[Any] = [row[text] for row in rows]
    samples = options.samples if schema is None else schema.samples
    if samples == "sets":
        texts = [frozenset(filter(None, _BETWEEN.split(each))) for each in texts]
    raw = None if target is None else _target([row[target] for row in rows], notation)
    if schema is not None:
        return _objects(texts), known_target(raw, schema), schema, []
    notes = []
    if raw is not None:
        is_missing = raw.codes < 0 if isinstance(raw, Words) else np.isnan(raw)
        if is_missing.any():
            notes.append(left_out_note(int(np.count_nonzero(is_missing))))
            texts = [t for t, missing in zip(texts, is_missing, strict=True) if not missing]
            raw = _kept(raw, ~is_missing)
    name = None if target is None else names[target]
    y, task = learn_target(source.name, Raw(np.empty((0, 0)), raw, None, target=name), options.task)
    labels = tuple(np.unique(y).tolist()) if task == "classification" else None
    made = Schema(
        None,
        0,
        target=name,
        task=task,
        labels=labels,
        decimal=notation.decimal,
        na=options.na,
        text=names[text],
        samples=samples,
    )
    return _objects(texts), y, made, notes


def _cells(
    source: Source, format: str, options: Options, schema: Schema | None, notation: Notation
) -> tuple[list[str], list[Sequence[str]], bool]:
    """Names of the columns, rows of texts, and whether the file has the names."""
    if format == "parquet":
        table = pyarrow_parquet().ParquetFile(source.path or source.seekable_copy()).read()
        columns = [["" if v is None else str(v) for v in c.to_pylist()] for c in table.columns]
        return list(table.column_names), list(zip(*columns, strict=True)), True
    if format != "csv":
        what = f"is {format}; a kernel on texts needs a file with names, CSV or Parquet."
        raise FileError(source.name, None, what)
    known = () if schema is None else tuple(filter(None, (schema.text, schema.target)))
    layout = find_layout(source, options.header, known, notation)
    lines = records(source.name, io.BufferedReader(source), layout)
    found: list[Sequence[str]] = [cells for _, cells in lines]
    return list(layout.names), found, layout.has_names


def _text_column(
    name: str, names: Sequence[str], options: Options, schema: Schema | None, has_names: bool
) -> tuple[int, int | None]:
    """Which columns are the text and the target."""
    if schema is not None and schema.text is not None:
        text = find_column(name, names, schema.text, "text")
        target = names.index(schema.target) if schema.target in names else None
        return text, None if target == text else target
    target = find_target(name, names, options.target, has_names)
    dropped = {find_column(name, names, column, "drop") for column in options.drop}
    if options.text is not None and options.text is not True:
        return find_column(name, names, options.text, "text"), target
    left = [j for j in range(len(names)) if j != target and j not in dropped]
    if len(left) != 1:
        shown = ", ".join(repr(names[j]) for j in left[:10]) or "none"
        what = f"has {len(left)} columns besides the target ({shown}); name the text= column."
        raise FileError(name, None, what)
    return left[0], target


def _target(cells: list[str], notation: Notation) -> Any:
    """Numbers if all of them are, else words."""
    numbers = [np.nan if notation.is_missing(cell) else notation.number(cell) for cell in cells]
    if all(number is not None for number in numbers):
        return np.array(numbers, dtype=np.float64)
    words = Words()
    words.codes = np.array(
        [-1 if notation.is_missing(cell) else words.number(cell.strip()) for cell in cells],
        dtype=np.int32,
    )
    return words


def _kept(raw: Any, rows: np.ndarray) -> Any:
    if isinstance(raw, Words):
        raw.take(rows)
        return raw
    return raw[rows]


def _objects(texts: list[Any]) -> np.ndarray:
    out = np.empty(len(texts), dtype=object)
    out[:] = texts
    return out
