"""Points from a small CSV file: two columns of numbers, and a class if there is a third.

`mercer.data.read_table` encodes words and needs a target; here the third column may be absent, the
first two must be numbers, and a file has at most `LIMITS.points` rows. A comma is that of decimals
where semicolons or tabs separate the cells.
"""

from __future__ import annotations

import csv
import io
from typing import Any

import numpy as np

from mercer.playground._catalogue import LABELS
from mercer.playground._presets import as_points
from mercer.playground._state import LIMITS, AxisColumn, StateError

__all__ = ["read_csv"]


def read_csv(text: str) -> tuple[dict[str, Any], str]:
    """Points, columns and classes of a `State`, and a sentence on what was read.

    The points are scaled to 80 % of the picture; the columns keep their names and units.

    Examples
    --------
    >>> from mercer.playground._upload import read_csv
    >>> found, note = read_csv("width,height,kind\\n1,10,oak\\n3,30,elm\\n")
    >>> found["points"], found["classes"]
    (((-3.2, -3.2, 1), (3.2, 3.2, 0)), ('elm', 'oak'))
    >>> found["columns"][0]
    AxisColumn(name='width', middle=2.0, unit=0.3125)
    >>> note
    'Read 2 points from width and height; classes elm, oak.'
    """
    names, rows = _rows(text)
    X = np.array([[_value(cell, line) for cell in cells[:2]] for line, cells in rows])
    marks = [cells[2].strip() if len(cells) > 2 else "" for _, cells in rows]
    classes = sorted(set(marks))
    if len(classes) > len(LABELS):
        raise StateError(
            f"the third column has {len(classes)} different values, and there are "
            f"{len(LABELS)} classes here; leave it out for a regression."
        )
    middle, half = (X.max(axis=0) + X.min(axis=0)) / 2, np.ptp(X, axis=0) / 2
    unit = np.where(half > 0, half, 1.0) / (0.8 * LIMITS.extent)
    columns = tuple(map(AxisColumn, names, middle.tolist(), unit.tolist()))
    labels = np.array([classes.index(mark) for mark in marks])
    note = f"Read {len(rows)} points from {names[0]} and {names[1]}"
    note += f"; classes {', '.join(classes)}." if len(classes) > 1 else "."
    named = tuple(name[: LIMITS.name] or "none" for name in classes) if len(classes) > 1 else ()
    found = {"points": as_points((X - middle) / unit, labels), "columns": columns, "classes": named}
    return found, note


def _rows(text: str) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """Names of two columns, and the lines that are not empty, with their numbers."""
    delimiter = _delimiter(text)
    lines = enumerate(csv.reader(io.StringIO(text, newline=None), delimiter=delimiter), 1)
    try:
        rows = [(line, cells) for line, cells in lines if any(cell.strip() for cell in cells)]
        if delimiter != ",":
            rows = [(line, [*map(_with_point, cells[:2]), *cells[2:]]) for line, cells in rows]
    except csv.Error as error:  # a cell of more than 100,000 letters
        raise StateError(f"the file cannot be read as CSV: {error}.") from None
    short = next((line for line, cells in rows if len(cells) < 2), None)
    if short is not None:
        raise StateError(f"line {short} of the file has one column only; at least two are needed.")
    names = ["column 1", "column 2"]
    if rows and not all(_is_number(cell) for cell in rows[0][1][:2]):
        found, rows = rows[0][1], rows[1:]
        names = [found[k].strip()[: LIMITS.name] or names[k] for k in (0, 1)]
    if not rows:
        raise StateError("the file has no rows of numbers.")
    if len(rows) > LIMITS.points:
        raise StateError(f"the file has {len(rows)} rows; at most {LIMITS.points} fit here.")
    return names, rows


def _delimiter(text: str) -> str:
    """A tab or a semicolon if it stands in every line, or else the most frequent mark."""
    lines = [line for line in text[:4096].splitlines() if line.strip()]
    lines = lines[:-1] or lines  # the last one may be cut off
    everywhere = [mark for mark in "\t;" if lines and all(mark in line for line in lines)]
    return everywhere[0] if everywhere else max(",;\t", key=text[:4096].count)


def _with_point(cell: str) -> str:
    """A number with a decimal comma, as Python reads it; other cells as they are."""
    number = cell.replace(",", ".")
    return number if cell.count(",") == 1 and _is_number(number) else cell


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _value(cell: str, line: int) -> float:
    value = float(cell) if _is_number(cell) else np.nan
    if not abs(value) <= 1e100:
        raise StateError(
            f"line {line} of the file has {cell.strip()[:30]!r} where a number belongs."
        )
    return value
