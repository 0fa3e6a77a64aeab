"""CSV and its relatives: text with a delimiter.

`_layout` recognises the delimiter and the names from the first lines. pyarrow
reads the records. Where it is not installed, and wherever it meets something unusual, `_by_cell`
reads them with the standard library's `csv`: it is the reference, and knows the line of each cell
that it refuses.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, product
from mmap import ACCESS_READ, mmap
from typing import Any

import numpy as np

from mercer.data._columns import Notation, Options, Raw, Words, find_unusable, from_arrow
from mercer.data._dates import find_order
from mercer.data._files import Source
from mercer.data._layout import HINT, SETTINGS, Layout, decoded, find_layout
from mercer.data._roles import Roles, assign, find_column
from mercer.data._schema import Schema
from mercer.exceptions import FileError

__all__ = ["read_cells", "read_csv", "records"]

_COMMA = re.compile(r"[+-]?\d+(,\d+)+(\.\d+)?|[+-]?\d{1,3}(\.\d{3})+,\d+")
_POINT = re.compile(r"[+-]?\d+(\.\d+)+(,\d+)?|[+-]?\d{1,3}(,\d{3})+\.\d+")
_GROUPED = re.compile(r"[+-]?\d{1,3}(,\d{3})+")


def read_csv(source: Source, options: Options, schema: Schema | None) -> Raw:
    """The columns of a file of delimited text."""
    known = [column.name for column in schema.columns] if schema and schema.columns else []
    layout = find_layout(source, options.header, known, options.notation(schema))
    text = _text_columns(layout)
    names, given = layout.names, layout.given
    roles = assign(source.name, names, text, options, schema, layout.has_names, given)
    _refuse_commas(source.name, layout, roles)
    file: Any = source.path
    if file is None or layout.delimiter == " ":
        file = source.seekable_copy()
    raw = _by_arrow(file, layout, roles)
    if raw is None or find_unusable(raw, options, schema):
        lines = io.BufferedReader(source) if file == source.path else file
        raw = _by_cell(source.name, lines, layout, roles, options, schema)
    return raw


def read_cells(source: Source, names: Sequence[str]) -> dict[str, list[str]]:
    """The texts of some columns."""
    layout = find_layout(source, None)
    chosen = [find_column(source.name, layout.names, column, "keep") for column in names]
    rows = [cells for _, cells in records(source.name, io.BufferedReader(source), layout)]
    return {layout.names[j]: [cells[j] for cells in rows] for j in chosen}


def _by_arrow(file: Any, layout: Layout, roles: Roles) -> Raw | None:
    """All records, read by pyarrow; None if it is not installed or refuses something."""
    try:
        import pyarrow as pa
        from pyarrow import csv as arrow_csv
    except ImportError:
        return None
    text = {j for j in range(len(layout.names)) if not _is_plain(layout, j)} | roles.words
    used = [j for j in (*roles.features, roles.target) if j is not None]
    types = {
        str(j): pa.dictionary(pa.int32(), pa.string()) if j in text else pa.float64() for j in used
    }
    # Only quoted cells may hold line ends; without quotes blocks are found faster.
    if isinstance(file, io.BytesIO):
        content = file.getvalue()
        has_quotes = b'"' in content
        file = pa.BufferReader(_with_single_blanks(content) if layout.delimiter == " " else content)
    else:
        with open(file, "rb") as opened, mmap(opened.fileno(), 0, access=ACCESS_READ) as text_bytes:
            has_quotes = text_bytes.find(b'"') >= 0
    try:
        table = arrow_csv.read_csv(
            file,
            arrow_csv.ReadOptions(
                skip_rows=layout.header_lines,
                column_names=[str(j) for j in range(len(layout.names))],
                block_size=SETTINGS.block_bytes,
            ),
            arrow_csv.ParseOptions(delimiter=layout.delimiter, newlines_in_values=has_quotes),
            arrow_csv.ConvertOptions(
                column_types=types,
                include_columns=list(types),
                null_values=list(_spellings(layout.notation.missing)),
                strings_can_be_null=False,
                decimal_point=layout.notation.decimal,
            ),
        )
        return from_arrow(table, {j: str(j) for j in used}, layout.names, roles, layout.notation)
    except (pa.ArrowInvalid, ValueError):
        return None


def _is_plain(layout: Layout, j: int) -> bool:
    """Whether pyarrow reads what the sample has in a column as numbers: it refuses +1, 1,000.0."""
    cells = [row[j] for row in layout.sample if j < len(row)]
    other = "," if layout.notation.decimal == "." else "."
    return not any(cell.startswith("+") or other in cell for cell in cells)


def _spellings(missing: Sequence[str]) -> set[str]:
    """What stands for a missing value; short words in all mixtures of upper and lower case."""
    found = {form for word in missing for form in (word, word.upper(), word.capitalize())}
    for word in Notation.missing:
        found |= set(map("".join, product(*({a.lower(), a.upper()} for a in word))))
    return found


def _with_single_blanks(text: bytes) -> bytes:
    return b"\n".join(b" ".join(line.split()) for line in text.split(b"\n"))


def _by_cell(
    name: str,
    file: Iterable[bytes],
    layout: Layout,
    roles: Roles,
    options: Options,
    schema: Schema | None,
) -> Raw:
    """All records, read by the standard library; a FileError names the line of what is wrong."""
    cells = _Cells(name, layout, roles, options, schema)
    used = [j for j in (*roles.features, roles.target) if j is not None]
    parts: dict[int, list[np.ndarray]] = {j: [] for j in used}
    left = records(name, file, layout)
    while chunk := list(islice(left, SETTINGS.chunk_records)):
        lines, rows = zip(*chunk, strict=True)
        columns = list(zip(*rows, strict=True))
        for j in used:
            parts[j].append(cells.convert(j, columns[j], lines))
    if not used or not parts[used[0]]:
        raise FileError(name, None, "has no rows.")
    values = {j: np.concatenate(arrays) for j, arrays in parts.items()}
    for j, words in cells.words.items():
        words.codes = values[j].astype(np.int32)
    numbers = [values[j] for j in roles.features if j not in cells.words]
    X = np.column_stack(numbers) if numbers else np.empty((len(values[used[0]]), 0))
    return Raw.of(X, {**values, **cells.words}, layout.names, roles)


class _Cells:
    """Converts cells to numbers, or to the numbers of words; refuses others with their line."""

    def __init__(
        self, name: str, layout: Layout, roles: Roles, options: Options, schema: Schema | None
    ):
        self.name, self.names, self.target, self.schema = name, layout.names, roles.target, schema
        self.may_be_missing, self.notation = options.fills_missing(schema), layout.notation
        self.words = {j: Words() for j in roles.words}

    def convert(self, j: int, cells: Sequence[str], lines: Sequence[int]) -> np.ndarray:
        """The numbers of the cells of column ``j``, which are in these lines."""
        if j not in self.words:
            joined = "".join(cells)
            # Python's float reads more than that
            if joined.isascii() and "_" not in joined and self.notation.decimal == ".":
                try:
                    values = np.array([float(cell) for cell in cells])
                except ValueError:
                    values = np.array([math.nan])
                if np.isfinite(values).all():
                    return values
        return np.array(
            [self._value(j, cell, line) for cell, line in zip(cells, lines, strict=True)],
            dtype=np.float64,
        )

    def _value(self, j: int, cell: str, line: int) -> float:
        if self.notation.is_missing(cell):
            self._refuse_missing(j, line)
            return -1 if j in self.words else math.nan
        if j in self.words:
            return self.words[j].number(cell)
        number = self.notation.number(cell)
        if number is None or not math.isfinite(number):
            name, got = self.names[j], cell if len(cell) <= 40 else cell[:40] + "…"
            remedy = "correct it"
            if self.schema is None:
                meant = (
                    "decimal=',' where commas are points"
                    if _COMMA.fullmatch(cell)
                    else f"na=[{got!r}] if it stands for a missing value"
                )
                remedy += f", or give {meant}, or categorical=[{name!r}] or drop=[{name!r}]"
            raise FileError(
                self.name,
                line,
                f"column {name!r} holds finite numbers, but here {got!r}; {remedy}.",
                **({"decimal": ","} if _COMMA.fullmatch(cell) else {"na": cell}),
            )
        return number

    def _refuse_missing(self, j: int, line: int) -> None:
        if self.may_be_missing or (j == self.target and self.schema is not None):
            return
        role, remedy = " has no value", "fill it in, or train with missing='median'"
        if j == self.target:
            role, remedy = ", the target, has no value", "missing='median' leaves such rows out"
        what = f"column {self.names[j]!r}{role}; {remedy}."
        raise FileError(self.name, line, what, missing="median")


def records(name: str, file: Iterable[bytes], layout: Layout) -> Iterator[tuple[int, list[str]]]:
    """The first line and the cells of each record."""
    lines: Iterable[str] = decoded(name, file)
    if layout.delimiter == " ":
        lines = (" ".join(line.split()) + "\n" for line in lines)
    last = [""]  # the line that was read last
    reader = csv.reader(
        _noted(lines, last), delimiter=layout.delimiter, skipinitialspace=True, strict=True
    )
    skipped, columns = layout.has_names + layout.lines_before, len(layout.names)
    while True:
        line = reader.line_num + 1
        try:
            cells = next(reader, None)
        except csv.Error as error:
            what = f"a quote is not closed, or something follows where it is ({error})"
            raise FileError(name, line, f"{what}; {HINT}.") from error
        if cells is None:
            return
        cells = [cell.strip() for cell in cells]
        if cells in ([], [""]) and not last[0].strip():  # an empty line; "" is an empty cell
            continue
        if skipped:
            skipped -= 1
        elif len(cells) != columns:
            raise FileError(name, line, f"expected {columns} columns, got {len(cells)}; {HINT}.")
        else:
            yield line, cells


def _noted(lines: Iterable[str], last: list[str]) -> Iterator[str]:
    """The lines, each of which is put into ``last`` as well."""
    for last[0] in lines:
        yield last[0]


def _text_columns(layout: Layout) -> set[int]:
    """The columns that hold words, in the sample."""

    def is_text(j: int) -> bool:
        cells = layout.cells(j)
        words = sum(layout.notation.number(cell) is None for cell in cells)
        return words >= max(SETTINGS.text_ratio * len(cells), 1)

    return set(filter(is_text, range(len(layout.names))))


def _refuse_commas(name: str, layout: Layout, roles: Roles) -> None:
    """Numbers written as 1,5 or 1,500 would be taken for words."""
    number, has_points = layout.notation.number, layout.notation.decimal == "."
    pattern, sign = (_COMMA, "commas") if has_points else (_POINT, "points")
    for j in sorted(roles.words - roles.categorical):
        cells = layout.cells(j)
        signs = [c for c in cells if pattern.fullmatch(c)]
        if not signs or not all(c in signs or number(c) is not None for c in cells):
            continue
        if find_order(cells)[0]:  # 27.05.2023
            continue
        column, more = layout.names[j], {}
        if not has_points:
            remedy = "decimal=',' needs decimal commas in all columns, and no thousands' signs"
        elif all(map(_GROUPED.fullmatch, signs)) and any(
            "." in c and number(c) is not None for c in _other_cells(layout, roles, j)
        ):
            remedy = "since other columns have decimal points, write them without thousands' signs"
            if j != roles.target:
                remedy, more = f"{remedy}, or leave it out with drop=[{column!r}]", {"drop": column}
        else:
            remedy, more = "give decimal=',' if they are decimal commas, else ", {"decimal": ","}
            remedy += "write them without thousands' signs"
        what = f"column {column!r} has {sign} in its numbers ({signs[0]!r}); {remedy}."
        raise FileError(name, None, what, **more)


def _other_cells(layout: Layout, roles: Roles, j: int) -> Iterator[str]:
    """The cells in the sample of all columns that are used, but one."""
    for k in (*roles.features, roles.target):
        if k is not None and k != j:
            yield from layout.cells(k)
