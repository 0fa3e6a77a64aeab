"""Parquet: columns of numbers and of words by name, read whole by pyarrow."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.data._files import Source, as_file_errors
from mercer.data._parquet import pyarrow_parquet
from mercer.data._raw import Options, Raw, Roles, Words, assign, may_be_missing
from mercer.data._schema import Schema
from mercer.exceptions import FileError

__all__ = ["read_parquet"]


def read_parquet(source: Source, options: Options, schema: Schema | None) -> Raw:
    """Columns of numbers and of words by name."""
    parquet, name = pyarrow_parquet(), source.name
    with as_file_errors(name, "cannot be read as Parquet"):
        table = parquet.read_table(source.seekable_copy())
    names = [str(column) for column in table.column_names]
    kinds = [_kind(field.type) for field in table.schema]
    of_words = {j for j, kind in enumerate(kinds) if kind == "words"}
    roles = assign(name, names, of_words, options, schema, has_names=True)
    for j in (*roles.features, roles.target):
        if j is not None and kinds[j] == "other":
            raise FileError(
                name, None, f"column {names[j]!r} holds {table.schema.field(j).type}, neither "
                f"numbers nor words; leave it out with drop=[{names[j]!r}]."
            )  # fmt: skip
    if table.num_rows == 0:
        raise FileError(name, None, "has no rows.")
    filled = may_be_missing(options, schema)
    X, words = _features(name, table, names, roles, filled)
    y = _target(name, table, names, roles, schema)
    target = None if roles.target is None else names[roles.target]
    return Raw(X, y, [names[j] for j in roles.features], words, target)


def _kind(kind: Any) -> str:
    import pyarrow

    types = pyarrow.types
    if types.is_dictionary(kind) or types.is_string(kind) or types.is_large_string(kind):
        return "words"
    plain = types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)
    return "numbers" if plain else "other"


def _features(
    name: str, table: Any, names: list[str], roles: Roles, filled: bool
) -> tuple[np.ndarray, dict[int, Words]]:
    numbers = [j for j in roles.features if j not in roles.words]
    narrow = numbers and all(str(table.schema.field(j).type) == "float" for j in numbers)
    X = np.empty((table.num_rows, len(numbers)), np.float32 if narrow else np.float64)
    for place, j in enumerate(numbers):
        X[:, place] = _column_of_numbers(name, table, names, j)
        missing = np.flatnonzero(np.isnan(X[:, place]))
        if missing.size and not filled:
            _refuse_row(name, names[j], missing[0])
    words = {}
    for k, j in enumerate(roles.features):
        if j in roles.words:
            words[k] = _column_of_words(table, j)
            missing = np.flatnonzero(words[k].codes < 0)
            if missing.size and not filled:
                _refuse_row(name, names[j], missing[0])
    return X, words


def _target(name: str, table: Any, names: list[str], roles: Roles, schema: Schema | None) -> Any:
    j = roles.target
    if j is None:
        return None
    if j in roles.words:
        y: Any = _column_of_words(table, j)
        missing = -1 in y.codes
    else:
        y = _column_of_numbers(name, table, names, j)
        missing = bool(np.isnan(y).any())
    if missing and schema is None:
        raise FileError(
            name, None, f"column {names[j]!r}, the target, has rows without a value; leave them "
            "out."
        )  # fmt: skip
    return y


def _refuse_row(name: str, column: str, row: int) -> None:
    raise FileError(
        name, None, f"row {row}: column {column!r} has no value; fill it in, or train with "
        "missing='median'."
    )  # fmt: skip


def _column_of_numbers(name: str, table: Any, names: list[str], j: int) -> np.ndarray:
    column = table.column(j)
    try:
        values = column.cast("float64").to_numpy()
    except (ValueError, NotImplementedError) as error:
        raise FileError(
            name, None, f"column {names[j]!r} must hold numbers, got {column.type}."
        ) from error
    bad = np.flatnonzero(np.isinf(values))
    if bad.size:
        raise FileError(name, None, f"row {bad[0]}: column {names[j]!r} is infinite.")
    return values


def _column_of_words(table: Any, j: int) -> Words:
    words = Words()
    values = table.column(j).to_pylist()
    words.codes = np.array([-1 if value is None else words.number(str(value)) for value in values])
    return words
