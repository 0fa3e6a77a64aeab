"""What the readers of the formats have in common: columns of numbers and of words."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer.data._schema import Schema
from mercer.exceptions import FileError

__all__ = [
    "Options",
    "Raw",
    "Roles",
    "Words",
    "assign",
    "is_missing",
    "may_be_missing",
    "to_number",
]

# Names that say that a column is the target.
TARGET_NAMES = {"target", "label", "labels", "class", "y", "outcome"}
MISSING = {"", "na", "n/a", "nan", "null", "none", "?", "<na>"}
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
# Columns named in a message.
SHOWN = 20


@dataclass(frozen=True)
class Options:
    """What `read_table` was asked for, where there is no schema."""

    target: str | int | bool | None = None
    task: str | None = None
    scale: str | None = None
    missing: str | None = None
    header: bool | None = None
    categorical: tuple[str | int, ...] = ()
    drop: tuple[str | int, ...] = ()


class Words:
    """A column of words: the number of each, and the words by their numbers; −1 is missing."""

    def __init__(self) -> None:
        self.codes = np.empty(0, np.int32)
        self.words: list[str] = []
        self._numbers: dict[str, int] = {}

    def number(self, word: str) -> int:
        """The number of a word, a new one for a new word."""
        if word not in self._numbers:
            self._numbers[word] = len(self.words)
            self.words.append(word)
        return self._numbers[word]


@dataclass(eq=False)
class Raw:
    """Columns as they are in a file.

    Attributes
    ----------
    X : array or CSR of shape (n, number of columns of numbers)
        NaN stands for a missing number.
    y : float64 array, Words or None
        The target.
    names : list of str or None
        Of the features, numbers and words in the file's order.
    words : dict of int to Words
        The features that are words, by their place in ``names``.
    """

    X: Any
    y: Any
    names: list[str] | None
    words: dict[int, Words] = field(default_factory=dict)
    target: str | None = None
    zero_based: bool = False


@dataclass(frozen=True)
class Roles:
    """What columns of a file are for: features in their order, which are words, the target."""

    features: list[int]
    words: set[int]
    target: int | None


def may_be_missing(options: Options, schema: Schema | None) -> bool:
    """Whether missing values are filled in."""
    if schema is None or schema.columns is None:
        return options.missing is not None
    return any(column.fill is not None for column in schema.columns)


def is_missing(text: str) -> bool:
    return text.strip().lower() in MISSING


def to_number(text: str) -> float | None:
    """The number a text is, perhaps infinite (1e999); None if it is none."""
    try:
        value = float(text)
    except ValueError:
        return None
    # Python's also reads nan, inf, 1_000 and digits of all scripts
    plain = math.isfinite(value) and "_" not in text and text.isascii()
    return value if plain or _NUMBER.fullmatch(text.strip()) else None


def assign(
    name: str,
    names: Sequence[str],
    words: set[int],
    options: Options,
    schema: Schema | None,
    has_names: bool,
) -> Roles:
    """Roles of the columns of the file ``name``, of which ``words`` seem to hold words."""
    if len(set(names)) < len(names):
        twice = next(n for n in names if list(names).count(n) > 1)
        raise FileError(name, 1, f"two columns are named {twice!r}; rename one.")
    if schema is not None and schema.columns is not None:
        return _assign_as_trained(name, names, options, schema, has_names)
    if schema is not None:
        return _assign_by_place(name, names, options, schema)
    target = _find_target(name, names, options.target, has_names)
    dropped = {_find(name, names, column, "drop") for column in options.drop}
    forced = {_find(name, names, column, "categorical") for column in options.categorical}
    features = [j for j in range(len(names)) if j != target and j not in dropped]
    if not features:
        raise FileError(name, None, "has no column besides the target.")
    return Roles(features, (words | forced) & {*features, target}, target)


def _assign_as_trained(
    name: str, names: Sequence[str], options: Options, schema: Schema, has_names: bool
) -> Roles:
    assert schema.columns is not None
    wanted = [column.name for column in schema.columns]
    lacking = [column for column in wanted if column not in names]
    target = names.index(schema.target) if schema.target in names else None
    if lacking and not has_names and len(names) == len(wanted):
        features, target = list(range(len(wanted))), None  # by their places
    elif lacking:
        raise FileError(
            name,
            None,
            f"lacks {_listed(lacking)} that the model was trained on; it has {_listed(names)}.",
        )
    else:
        features = [names.index(column) for column in wanted]
    if options.target is not None:
        target = _find_target(name, names, options.target, has_names)
    kinds = {j for j, column in zip(features, schema.columns, strict=True) if column.categories}
    if target is not None and schema.labels and isinstance(schema.labels[0], str):
        kinds.add(target)
    return Roles(features, kinds, target)


def _assign_by_place(name: str, names: Sequence[str], options: Options, schema: Schema) -> Roles:
    """The model was trained on rows without names: all columns but the target, in their order."""
    target = None
    if options.target is not None or len(names) != schema.n_features:
        target = _find_target(name, names, options.target, True)
    features = [j for j in range(len(names)) if j != target]
    if len(features) != schema.n_features:
        raise FileError(
            name,
            None,
            f"has {len(features)} columns of features, but the model was trained on "
            f"{schema.n_features}.",
        )
    return Roles(features, set(), target)


def _find_target(
    name: str, names: Sequence[str], target: str | int | bool | None, has_names: bool
) -> int | None:
    if target is False:
        return None
    if target is not None:
        return _find(name, names, target, "target")
    likely = [j for j, column in enumerate(names) if column.strip().lower() in TARGET_NAMES]
    if has_names and len(likely) == 1:
        return likely[0]
    which = f"the columns {_listed(names)}" if has_names else f"{len(names)} columns without names"
    raise FileError(
        name,
        None,
        f"which column is the target? It has {which}. Give target= a name or a number (-1 is the "
        "last column); where there is none, target=False.",
    )


def _find(name: str, names: Sequence[str], column: str | int, option: str) -> int:
    if isinstance(column, str) and column in names:
        return names.index(column)
    try:
        number = int(column)
    except ValueError:
        number = len(names)
    if not -len(names) <= number < len(names):
        raise FileError(
            name, None, f"there is no column {option}={column!r}; it has {_listed(names)}."
        )
    return number % len(names)


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(map(repr, names[:SHOWN])) + more
