"""The layout of delimited text, recognised from the first lines: delimiter, names, a sample."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from mercer.data._columns import Notation
from mercer.data._files import Source
from mercer.data._roles import distinct_names
from mercer.exceptions import FileError

__all__ = ["HINT", "SETTINGS", "Layout", "LayoutSettings", "decoded", "find_layout"]

DELIMITERS = ",\t;|"
HINT = "if it is not delimited text, give format="
# The first line of files for spreadsheets, which names the delimiter.
_SEPARATOR = re.compile(r'"?sep=(.)"?')


@dataclass(frozen=True)
class LayoutSettings:
    """How a layout is recognised, and how much is read at a time.

    Attributes
    ----------
    least_lines : at the beginning of a file, however long they are: names, records, a part of one
    sample_lines : at the beginning of a file, from which names and text columns are recognised
    delimiter_lines : of these, from which the delimiter is
    text_ratio : a column is text if at least this ratio of its cells in the sample is; fewer cells
        are taken for mistakes, which are refused with their line
    most_columns : in a line; compressed, more than that fit in a kilobyte
    block_bytes : text that pyarrow parses at a time, in one thread; no record may be longer
    chunk_records : records that `_by_cell` converts at a time
    """

    least_lines: int = 4
    sample_lines: int = 100
    delimiter_lines: int = 50
    text_ratio: float = 0.5
    most_columns: int = 1_000_000
    block_bytes: int = 1 << 21
    chunk_records: int = 4096


SETTINGS = LayoutSettings()


@dataclass(frozen=True)
class Layout:
    """How a file is laid out, and its first records.

    Attributes
    ----------
    delimiter : str
        A space stands for any number of blanks.
    names : list of str
        Distinct.
    given : list of str
        The names as they are in the file, some of which may be equal.
    has_names : bool
        Whether the file gives them.
    header_lines : int, before the first record
    lines_before : int
        Lines before the names or the first record: one such as ``sep=;``, and comments.
    sample : list of lists of str
    notation : Notation
    """

    delimiter: str
    names: list[str]
    given: list[str]
    has_names: bool
    header_lines: int
    sample: list[list[str]]
    notation: Notation
    lines_before: int = 0

    def cells(self, j: int) -> list[str]:
        """Those of a column in the sample that are not missing."""
        is_missing = self.notation.is_missing
        return [row[j] for row in self.sample if j < len(row) and not is_missing(row[j])]


def find_layout(
    source: Source,
    header: bool | None,
    known: Sequence[str] = (),
    notation: Notation = Notation(),  # noqa: B008 (frozen)
    settings: LayoutSettings = SETTINGS,
) -> Layout:
    """Delimiter and names from the beginning of a file; ``known`` are names to expect."""
    source.extend_head(settings.least_lines)
    head = source.head
    if b"\0" in head:
        raise FileError(
            source.name, None, f"is a binary file of no kind that is read here; {HINT}."
        )
    lines = head.split(b"\n")
    if max(lines[0].count(delimiter.encode()) for delimiter in DELIMITERS) > settings.most_columns:
        what = f"has more than {settings.most_columns:,} columns in its first line; {HINT}."
        raise FileError(source.name, 1, what)
    if len(head) > 1000 and len(lines) > 1:
        lines = lines[:-1]  # perhaps a part of a line
    text = [line.rstrip("\r") for line in decoded(source.name, lines[: settings.sample_lines])]
    full = [line for line in text if line.strip()]
    if not full:
        raise FileError(source.name, None, "is empty.")
    separator, before = _SEPARATOR.fullmatch(full[0]), 0
    if separator and len(full) > 1:
        before, delimiter = 1, separator[1]
    else:
        before, delimiter = _find_comments(full, settings)
    full = full[before:]
    rows = _split(full, delimiter)
    if header is None:
        header = any(name in rows[0] for name in known) or _has_names(rows, notation)
    names = [name if header and name else f"column_{j}" for j, name in enumerate(rows[0])]
    if len(rows) == 1 and header:
        raise FileError(source.name, None, "has a line of names, but no rows.")
    header_lines = text.index(full[0]) + header if header or before else 0
    sample = rows[1:] if header else rows
    found = distinct_names(names), names, header, header_lines, sample, notation, before
    return Layout(delimiter, *found)


def decoded(name: str, lines: Iterable[bytes]) -> Iterator[str]:
    for number, line in enumerate(lines, 1):
        try:
            yield line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError:
            what = (
                "is not UTF-8 text; convert it, for example with iconv -f WINDOWS-1252 -t UTF-8 "
                f"({HINT})."
            )
            raise FileError(name, number, what) from None


def _find_comments(lines: Sequence[str], settings: LayoutSettings) -> tuple[int, str]:
    """How many lines at the beginning are comments (``# …``), and the delimiter of the others.

    The last of them holds the names if it has as many cells as the line after it.
    """
    count = next((i for i, line in enumerate(lines) if not line.startswith("#")), 0)
    delimiter = _find_delimiter(lines[count : count + settings.delimiter_lines])
    if count:
        names, row = _split(lines[count - 1 : count + 1], delimiter)
        count -= len(names) == len(row)
    return count, delimiter


def _find_delimiter(lines: Sequence[str]) -> str:
    """The delimiter that divides most lines into the same number, more than one, of cells."""
    best, most = "", (0.0, 0)
    for delimiter in DELIMITERS:
        counts = [len(row) for row in _split(lines, delimiter)]
        usual = max(set(counts), key=counts.count)
        score = counts.count(usual) / len(counts), usual
        if usual > 1 and score > most:
            best, most = delimiter, score
    is_even = all(len(line.split()) == len(lines[0].split()) for line in lines)
    return best or (" " if is_even else ",")


def _split(lines: Sequence[str], delimiter: str) -> list[list[str]]:
    if delimiter == " ":
        return [line.split() for line in lines]
    try:
        rows = csv.reader(lines, delimiter=delimiter, skipinitialspace=True)
        return [[cell.strip() for cell in row] for row in rows if row]
    except csv.Error:  # a quote that the sample does not close, or a cell beyond the limit
        return [line.split(delimiter) for line in lines]


def _has_names(rows: Sequence[Sequence[str]], notation: Notation) -> bool:
    """Whether the first line is names: a word over numbers; else, words that do not come again."""
    first, rest = rows[0], [row for row in rows[1:] if len(row) == len(rows[0])]
    words, again = [notation.number(cell) is None for cell in first], False
    for j, column in enumerate(zip(*rest, strict=True)):
        cells = [cell for cell in column if not notation.is_missing(cell)]
        numbers = cells and all(notation.number(cell) is not None for cell in cells)
        if numbers and words[j] and not notation.is_missing(first[j]):
            return True
        again |= first[j] in cells
    return all(words) and not again
