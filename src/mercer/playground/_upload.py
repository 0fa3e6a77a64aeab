"""Points from a small CSV file: two columns of numbers, and a class if there is a third.

`mercer.data.read_table` encodes words and needs a target; here the third column may be absent, and
a file has at most `MOST_POINTS` rows.
"""

from __future__ import annotations

import csv
import io

import numpy as np

from mercer.playground._catalogue import LABELS
from mercer.playground._presets import Point, as_points
from mercer.playground._state import EXTENT, MOST_POINTS, StateError

__all__ = ["points_of_csv"]


def points_of_csv(text: str) -> tuple[tuple[Point, ...], str]:
    """The points of a CSV text, scaled to 80 % of the picture, and a sentence on what was read.

    Examples
    --------
    >>> from mercer.playground._upload import points_of_csv
    >>> points, note = points_of_csv("width,height,kind\\n1,10,oak\\n3,30,elm\\n")
    >>> points
    ((-3.2, -3.2, 1), (3.2, 3.2, 0))
    >>> note
    'Read 2 points from width and height; classes elm, oak. Both columns were scaled.'
    """
    rows = _rows(text)
    names, rows = _header(rows)
    X = np.array([[_value(cell, line) for cell in cells[:2]] for line, cells in rows])
    marks = [cells[2].strip() if len(cells) > 2 else "" for _, cells in rows]
    classes = sorted(set(marks))
    if len(classes) > len(LABELS):
        raise StateError(
            f"the third column has {len(classes)} different values, and there are "
            f"{len(LABELS)} classes here; leave it out for a regression."
        )
    middle, half = (X.max(axis=0) + X.min(axis=0)) / 2, np.ptp(X, axis=0) / 2
    scaled = (X - middle) / np.where(half > 0, half, 1.0) * (0.8 * EXTENT)
    note = f"Read {len(rows)} points from {names[0]} and {names[1]}"
    note += f"; classes {', '.join(classes)}" if len(classes) > 1 else ""
    labels = np.array([classes.index(mark) for mark in marks])
    return as_points(scaled, labels), f"{note}. Both columns were scaled."


def _rows(text: str) -> list[tuple[int, list[str]]]:
    """Lines that are not empty, with their numbers."""
    sample = text[:4096]
    delimiter = max(",;\t", key=sample.count)
    rows = list(enumerate(csv.reader(io.StringIO(text), delimiter=delimiter), 1))
    rows = [(line, cells) for line, cells in rows if any(cell.strip() for cell in cells)]
    short = next((line for line, cells in rows if len(cells) < 2), None)
    if short is not None:
        raise StateError(f"line {short} of the file has one column only; at least two are needed.")
    return rows


def _header(rows: list) -> tuple[list[str], list]:
    try:
        [float(cell) for cell in rows[0][1][:2]]
    except (ValueError, IndexError):
        names, rows = (rows[0][1][:2] if rows else ["", ""]), rows[1:]
    else:
        names = ["column 1", "column 2"]
    if not rows:
        raise StateError("the file has no rows of numbers.")
    if len(rows) > MOST_POINTS:
        raise StateError(f"the file has {len(rows)} rows; at most {MOST_POINTS} fit here.")
    return names, rows


def _value(cell: str, line: int) -> float:
    try:
        value = float(cell)
    except ValueError:
        value = np.nan
    if not abs(value) <= 1e100:
        raise StateError(
            f"line {line} of the file has {cell.strip()[:30]!r} where a number belongs."
        )
    return value
