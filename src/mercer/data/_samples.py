"""Rows of a file as kernels on structures take them: tables of mixed columns, and time series."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.data._columns import Options, Raw, Words
from mercer.data._dates import find_order, to_days
from mercer.data._learn import learn_target, leave_out_untargeted
from mercer.data._schema import Column, Schema, known_target, no_dates_note
from mercer.exceptions import FileError

__all__ = ["read_samples"]


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
