"""Columns of a file, whatever its format: their numbers and words."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.data._files import fill_rows
from mercer.data._roles import Roles

if TYPE_CHECKING:
    from mercer.data._schema import Schema

__all__ = [
    "Notation",
    "Options",
    "Raw",
    "Words",
    "find_unusable",
    "from_arrow",
]

_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
# With signs of thousands, such that the other sign must be the decimal one: 2,500 may be 2.5.
_THOUSANDS = {
    ".": re.compile(r"[+-]?\d{1,3}((,\d{3})+\.\d+|(,\d{3}){2,})", re.ASCII),
    ",": re.compile(r"[+-]?\d{1,3}((\.\d{3})+,\d+|(\.\d{3}){2,})", re.ASCII),
}


@dataclass(frozen=True)
class Notation:
    """How numbers and missing values are written in a file of text.

    Attributes
    ----------
    decimal : {".", ","}
    missing : tuple of str
        What stands for a missing value, in lower case; upper case is the same.
    """

    decimal: str = "."
    missing: tuple[str, ...] = ("", "na", "n/a", "nan", "null", "none", "?", "<na>")

    def is_missing(self, text: str) -> bool:
        return text.strip().lower() in self.missing

    def number(self, text: str) -> float | None:
        """The number a text is, perhaps infinite (1e999); None if it is none.

        Signs between thousands are left out, if the text cannot be read in another way.
        """
        other = "," if self.decimal == "." else "."
        if other in text:
            if not _THOUSANDS[self.decimal].fullmatch(text.strip()):
                return None
            text = text.replace(other, "")
        if self.decimal == ",":
            text = text.replace(",", ".")
        try:
            value = float(text)
        except ValueError:
            return None
        # Python's also reads nan, inf, 1_000 and digits of all scripts
        plain = math.isfinite(value) and "_" not in text and text.isascii()
        return value if plain or _NUMBER.fullmatch(text.strip()) else None


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
    decimal: str | None = None
    na: tuple[str, ...] = ()
    may_be_wider: bool = False
    text: str | int | bool | None = None
    samples: str | None = None

    def notation(self, schema: Schema | None) -> Notation:
        """How numbers and missing values are written: as these options say, or the schema."""
        decimal, na = (".", self.na) if schema is None else (schema.decimal, schema.na)
        return Notation(
            self.decimal or decimal, Notation.missing + tuple(word.strip().lower() for word in na)
        )

    def fills_missing(self, schema: Schema | None) -> bool:
        """Whether features may be missing: they are filled in, or taken as they are."""
        if (self if schema is None else schema).samples is not None:
            return True
        if schema is None or schema.columns is None:
            return self.missing is not None
        return any(column.fill is not None for column in schema.columns)


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

    def take(self, rows: np.ndarray) -> None:
        """Keep some rows, and the words that they have."""
        codes = self.codes[rows]
        used = np.unique(codes[codes >= 0])
        place = np.full(len(self.words) + 1, -1, np.int32)  # the last is for missing values
        place[used] = np.arange(used.size)
        self.words = [self.words[code] for code in used]
        self._numbers = {word: number for number, word in enumerate(self.words)}
        self.codes = place[codes]


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
    categorical: frozenset[str] = frozenset()  # names of columns that were given as such

    @classmethod
    def of(
        cls, X: np.ndarray, columns: Mapping[int, Any], names: Sequence[str], roles: Roles
    ) -> Raw:
        """Of X, and the columns that are words or the target by their places in the file."""
        return cls(
            X,
            None if roles.target is None else columns[roles.target],
            [names[j] for j in roles.features],
            {k: columns[j] for k, j in enumerate(roles.features) if j in roles.words},
            None if roles.target is None else names[roles.target],
            categorical=frozenset(names[j] for j in roles.categorical),
        )


def find_unusable(raw: Raw, options: Options, schema: Schema | None) -> tuple[int, str, str] | None:
    """Row, column and what is wrong of a value that is infinite, or missing and not filled in."""
    names, refuses = raw.names or [], not options.fills_missing(schema)
    columns: list[tuple[str | None, Any, bool]] = [
        (names[k], words, refuses) for k, words in raw.words.items()
    ]
    if not np.isfinite(raw.X).all():
        numbers = [name for k, name in enumerate(names) if k not in raw.words]
        columns += [(name, raw.X[:, j], refuses) for j, name in enumerate(numbers)]
    if raw.y is not None:
        refuses = schema is None and not options.fills_missing(schema)
        columns.append((raw.target, raw.y, refuses))
    for name, values, refuses in columns:
        is_words = isinstance(values, Words)
        missing = values.codes < 0 if is_words else np.isnan(values)
        if refuses and missing.any():
            return int(np.argmax(missing)), str(name), "missing"
        if not is_words and np.isinf(values).any():
            return int(np.argmax(np.isinf(values))), str(name), "infinite"
    return None


def from_arrow(
    table: Any,
    columns: Mapping[int, str],
    names: Sequence[str],
    roles: Roles,
    text: Notation | None,
) -> Raw:
    """The columns of an Arrow table.

    Parameters
    ----------
    table : pyarrow.Table
    columns : dict of int to str
        The columns of ``table`` that are used, by their places in the file.
    names : sequence of str
        Of all columns of the file.
    roles : Roles
    text : Notation, optional
        Words are text as it stands in a file: blanks around them are no part of them, and some
        stand for a missing value. Numbers may be text too.

    Raises
    ------
    ValueError
        A column that must hold numbers does not; the reader of the format says where.
    """
    numbers = [j for j in roles.features if j not in roles.words]
    types = [table.schema.field(columns[j]).type for j in numbers]
    is_single = types and all(str(kind) == "float" for kind in types)
    X = np.empty((table.num_rows, len(numbers)), np.float32 if is_single else np.float64)
    floats = table.select([columns[j] for j in numbers])
    for k, kind in enumerate(types):
        if str(kind) not in ("float", "double"):
            floats = floats.set_column(k, str(k), _as_floats(floats.column(k), text))
    start = 0
    for batch in floats.to_batches():
        stop = start + batch.num_rows
        fill_rows(X[start:stop], batch.columns)
        start = stop
    found: dict[int, Any] = {
        j: _as_words(table.column(columns[j]), text) for j in columns if j in roles.words
    }
    if roles.target is not None and roles.target not in roles.words:
        found[roles.target] = _as_floats(table.column(columns[roles.target]), text).to_numpy()
    return Raw.of(X, found, names, roles)


def _as_floats(column: Any, text: Notation | None) -> Any:
    """A column of any numbers, or of text that is numbers, in float64; missing values are null."""
    import pyarrow as pa

    if not pa.types.is_dictionary(column.type):
        return column.cast("float64")
    notation = text or Notation()
    words = _as_words(column, notation)
    values = [notation.number(word) for word in words.words]
    if None in values:
        raise ValueError("a word stands among numbers")
    return pa.chunked_array([np.array([*values, math.nan], np.float64)[words.codes]])


def _as_words(column: Any, text: Notation | None) -> Words:
    import pyarrow as pa

    if pa.types.is_temporal(column.type):
        column = column.cast(pa.string())
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    column = column.unify_dictionaries()
    words = Words()
    codes = [chunk.indices.fill_null(-1).to_numpy() for chunk in column.chunks]
    found = np.concatenate(codes) if codes else np.empty(0, np.int32)
    texts = column.chunk(0).dictionary.to_pylist() if codes else []
    number = np.full(len(texts) + 1, -1, np.int32)
    for k in np.unique(found[found >= 0]).tolist():  # a dictionary may have more
        word = str(texts[k]).strip() if text else str(texts[k])
        if text and word.startswith('"'):
            raise ValueError("a quote follows blanks")
        if texts[k] is not None and not (text and text.is_missing(word)):
            number[k] = words.number(word)
    words.codes = number[found]
    return words
