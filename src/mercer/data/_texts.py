"""A column of texts as the samples of a kernel on sequences, and the target beside it."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer.data._columns import Notation, Options, Raw, Words, find_column, find_target
from mercer.data._csv import records
from mercer.data._files import Source
from mercer.data._layout import find_layout
from mercer.data._learn import learn_target
from mercer.data._parquet import pyarrow_parquet
from mercer.data._schema import Schema, known_target, left_out_note
from mercer.exceptions import FileError

__all__ = ["read_texts"]

_BETWEEN = re.compile(r"[\s,;|]+")  # what stands between the elements of a set


def read_texts(
    source: Source, format: str, options: Options, schema: Schema | None
) -> tuple[np.ndarray, Any, Schema, list[str]]:
    """Texts (or the sets of their words), the target, the schema, and what is worth telling.

    Without a schema, rows without a target are left out; missing texts are empty.
    """
    notation = options.notation(schema)
    names, rows, has_names = _cells(source, format, options, schema, notation)
    text, target = _columns(source.name, names, options, schema, has_names)
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


def _columns(
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
