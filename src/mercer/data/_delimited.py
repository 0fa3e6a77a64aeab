"""CSV and its relatives: the layout is recognised from the first lines, the cells are compiled."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from mercer.data._cells import (
    DONE,
    FULL,
    FULL_LIST,
    LEFT_OUT,
    OPEN,
    TARGET,
    WIDTH,
    WORD,
    first_of_its_kind,
    parse_cells,
)  # fmt: skip
from mercer.data._files import Source, Window
from mercer.data._numbers import powers_of_ten
from mercer.data._raw import (
    Options,
    Raw,
    Roles,
    Words,
    assign,
    is_missing,
    may_be_missing,
    to_number,
)
from mercer.data._schema import Schema
from mercer.exceptions import FileError

__all__ = ["Layout", "find_layout", "read_delimited"]

DELIMITERS = ",\t;|"
# Lines that are looked at to recognise the layout.
SAMPLE = 100
# A column holds words if at least this share of its cells in the sample are words; fewer are taken
# for mistakes, which are refused with their line.
WORDS_SHARE = 0.1
# Cells that are listed at a time, at least; a power of two.
LISTED = 1 << 15
_COMMA = re.compile(r"[+-]?\d+(,\d+)+(\.\d+)?")


@dataclass(frozen=True)
class Layout:
    """How a file is laid out, and its first rows."""

    delimiter: str
    names: list[str]
    has_names: bool
    sample: list[list[str]]


def find_layout(source: Source, header: bool | None, known: Sequence[str] = ()) -> Layout:
    """Delimiter and names from the beginning of a file; ``known`` are names to expect."""
    head = source.head
    if b"\0" in head:
        raise FileError(source.name, None, "is a binary file of no kind that is read here.")
    lines = head.split(b"\n")
    if len(head) > 1000 and len(lines) > 1:
        lines = lines[:-1]  # perhaps a part of a line
    try:
        text = [line.decode("utf-8-sig") for line in lines[:SAMPLE]]
    except UnicodeDecodeError:
        line = next(i for i, line in enumerate(lines, 1) if not _is_text(line))
        raise FileError(source.name, line, "is not UTF-8 text; convert the file.") from None
    text = [line.rstrip("\r") for line in text]
    full = [line for line in text if line.strip()]
    if not full:
        raise FileError(source.name, None, "is empty.")
    delimiter = _find_delimiter(full)
    rows = _split(full, delimiter)
    if header is None:
        header = any(name in rows[0] for name in known) if known else _has_names(rows)
    names = [name if header and name else f"column_{j}" for j, name in enumerate(rows[0])]
    if len(rows) == 1 and header:
        raise FileError(source.name, None, "has a line of names, but no rows.")
    return Layout(delimiter, names, header, rows[1:] if header else rows)


def read_delimited(source: Source, options: Options, schema: Schema | None) -> Raw:
    """The columns of a file of delimited text."""
    known = [column.name for column in schema.columns] if schema and schema.columns else []
    layout = find_layout(source, options.header, known)
    roles = assign(
        source.name, layout.names, _word_columns(layout), options, schema, layout.has_names
    )
    _refuse_commas(source.name, layout, roles)
    return _Reader(source, layout, roles, may_be_missing(options, schema), schema).read()


class _Reader:
    """Reads all records into a `Raw`."""

    def __init__(
        self,
        source: Source,
        layout: Layout,
        roles: Roles,
        may_be_missing: bool,
        schema: Schema | None,
    ):
        self.name, self.layout, self.roles = source.name, layout, roles
        self.may_be_missing, self.schema = may_be_missing, schema
        self.window, self.line = Window(source), 1
        self.places = np.full(len(layout.names), LEFT_OUT)
        numbers = [j for j in roles.features if j not in roles.words]
        self.places[numbers] = np.arange(len(numbers))
        if roles.target is not None:
            self.places[roles.target] = TARGET
        self.words = {j: Words() for j in roles.words}
        self.places[list(self.words)] = WORD
        self.codes: dict[int, list[np.ndarray]] = {j: [] for j in self.words}
        self.X, self.y = np.empty((1024, len(numbers))), np.empty(1024)
        self.n = 0
        room = max(LISTED, 1 << len(layout.names).bit_length())
        self.listed, self.first = np.empty((room, 4), np.int64), np.empty(room, np.int64)
        self.table = np.empty(2 * room, np.int64)

    def read(self) -> Raw:
        if self.layout.has_names:
            self._pass_names()
        while not self.window.at_end:
            self._parse()
        self.X.resize((self.n, self.X.shape[1]), refcheck=False)
        self.y.resize(self.n, refcheck=False)
        if self.n == 0:
            raise FileError(self.name, None, "has no rows.")
        for column, codes in self.codes.items():
            self.words[column].codes = np.concatenate(codes)
        roles, names = self.roles, self.layout.names
        y: Any = None
        if roles.target is not None:
            y = self.words.get(roles.target, self.y)
        return Raw(
            self.X,
            y,
            [names[j] for j in roles.features],
            {k: self.words[j] for k, j in enumerate(roles.features) if j in self.words},
            None if roles.target is None else names[roles.target],
        )

    def _pass_names(self) -> None:
        """Move past the first line that is not empty."""
        window = self.window
        while not window.at_end:
            line = window.line(window.start)
            window.start = min(window.start + len(line) + 1, window.stop)
            self.line += 1
            if line.strip():
                return

    def _parse(self) -> None:
        window, start = self.window, self.window.start
        window.start, self.n, count, status = parse_cells(
            window.text, start, window.stop, ord(self.layout.delimiter), self.places,
            self.X, self.y, self.n, self.listed, powers_of_ten(),
        )  # fmt: skip
        if count:
            self._resolve(self.listed[:count], start)
        self.line += window.count_lines(start, window.start)
        if status == FULL:
            self.X.resize((2 * len(self.X), self.X.shape[1]), refcheck=False)
            self.y.resize(len(self.X), refcheck=False)
        elif status == OPEN and not window.is_last:
            window.fill()
        elif status not in (DONE, FULL_LIST):
            self._raise(status)

    def _resolve(self, listed: np.ndarray, start: int) -> None:
        """Cells that are no plain numbers: each different one is looked at once."""
        first = self.first[: len(listed)]
        first_of_its_kind(self.window.text, self.listed, len(listed), self.table, first)
        values = np.empty(len(listed))
        for k in np.flatnonzero(first == np.arange(len(listed))).tolist():
            _, column, begin, end = listed[k].tolist()
            text = self._text(self.window.part(begin, end), start, begin)
            values[k] = self._value(column, text, start, begin)
        values = values[first]
        for column in np.unique(listed[:, 1]).tolist():
            mine = listed[:, 1] == column
            rows, place = listed[mine, 0], self.places[column]
            if column in self.words:
                self.codes[column].append(values[mine].astype(np.int32))
            elif place >= 0:
                self.X[rows, place] = values[mine]
            else:
                self.y[rows] = values[mine]

    def _value(self, column: int, text: str, start: int, first: int) -> float:
        """The number of a cell, or of a word among those of its column."""
        is_word = column in self.words
        if is_missing(text):
            self._miss(column, start, first)
            return -1 if is_word else math.nan
        if is_word:
            return self.words[column].number(text)
        number = to_number(text)
        if number is None or not math.isfinite(number):
            self._refuse(column, text, start, first)
        return cast(float, number)

    def _text(self, cell: bytes, start: int, first: int) -> str:
        if cell.startswith(b'"'):
            cell = cell[1:-1].replace(b'""', b'"')
        try:
            return cell.decode().strip()
        except UnicodeDecodeError:
            raise self._error(start, first, "is not UTF-8 text; convert the file.") from None

    def _miss(self, column: int, start: int, first: int) -> None:
        if column == self.roles.target:
            if self.schema is None:
                raise self._error(
                    start, first, f"column {self.layout.names[column]!r}, the target, has no "
                    "value; leave such rows out."
                )  # fmt: skip
        elif not self.may_be_missing:
            raise self._error(
                start, first, f"column {self.layout.names[column]!r} has no value; fill it in, or "
                "train with missing='median'."
            )  # fmt: skip

    def _refuse(self, column: int, text: str, start: int, first: int) -> None:
        name, got = self.layout.names[column], text if len(text) <= 40 else text[:40] + "…"
        remedy = (
            f"correct it, or give categorical=[{name!r}] or drop=[{name!r}]"
            if self.schema is None
            else "correct it"
        )
        raise self._error(
            start, first, f"column {name!r} holds finite numbers, but here {got!r}; {remedy}."
        )

    def _error(self, start: int, first: int, message: str) -> FileError:
        return FileError(self.name, self.line + self.window.count_lines(start, first), message)

    def _raise(self, status: int) -> None:
        window, columns = self.window, len(self.layout.names)
        line = window.line(window.start).decode(errors="replace").rstrip("\r")
        if status == WIDTH:
            got = len(_split([line], self.layout.delimiter)[0])
            message = f"expected {columns} columns, got {got}."
        else:
            message = "a quote is not closed, or something follows where it is."
        raise FileError(self.name, self.line, message)


def _find_delimiter(lines: Sequence[str]) -> str:
    """The delimiter that divides most lines into the same number, more than one, of cells."""
    best, most = "", (0.0, 0)
    for delimiter in DELIMITERS:
        counts = [len(row) for row in _split(lines[:50], delimiter)]
        usual = max(set(counts), key=counts.count)
        score = counts.count(usual) / len(counts), usual
        if usual > 1 and score > most:
            best, most = delimiter, score
    if not best and all(len(line.split()) == len(lines[0].split()) for line in lines[:50]):
        return " "
    return best or ","


def _split(lines: Sequence[str], delimiter: str) -> list[list[str]]:
    if delimiter == " ":
        return [line.split() for line in lines]
    rows = csv.reader(lines, delimiter=delimiter, skipinitialspace=True)
    try:
        return [[cell.strip() for cell in row] for row in rows if row]
    except csv.Error:  # a quote that the sample does not close, or a cell beyond the limit
        return [line.split(delimiter) for line in lines]


def _has_names(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first line is names: a word over numbers; else, words that do not come again."""
    first, rest = rows[0], [row for row in rows[1:] if len(row) == len(rows[0])]
    words = [to_number(cell) is None for cell in first]
    again = False
    for j, column in enumerate(zip(*rest, strict=True)):
        cells = [cell for cell in column if not is_missing(cell)]
        numbers = cells and all(to_number(cell) is not None for cell in cells)
        if numbers and words[j] and not is_missing(first[j]):
            return True
        again |= first[j] in cells
    return all(words) and not again


def _word_columns(layout: Layout) -> set[int]:
    """The columns that hold words, in the sample."""
    found = set()
    for j in range(len(layout.names)):
        cells = [row[j] for row in layout.sample if j < len(row)]
        others = [cell for cell in cells if to_number(cell) is None]
        words = [cell for cell in others if not is_missing(cell)]
        if len(words) > WORDS_SHARE * (len(cells) - len(others) + len(words)):
            found.add(j)
    return found


def _refuse_commas(name: str, layout: Layout, roles: Roles) -> None:
    """Numbers written as 1,5 or 1,500 would be taken for words."""
    for j in sorted(roles.words):
        cells = [row[j] for row in layout.sample if j < len(row) and not is_missing(row[j])]
        if cells and all(_COMMA.fullmatch(cell) for cell in cells):
            raise FileError(
                name, None, f"column {layout.names[j]!r} has commas in its numbers ({cells[0]!r}); "
                "write them with points and without thousands' signs."
            )  # fmt: skip


def _is_text(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True
