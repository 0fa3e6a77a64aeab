"""Delimited text, compiled: numbers go to their place, all other cells are listed for Python.

The arrays are the caller's, and have room for so much; where it ends, and where a record is wrong,
parsing stops at the beginning of the record and says so.
"""

from __future__ import annotations

import numpy as np

from mercer._numba import compiled
from mercer.data._numbers import GOOD, scan_number, scan_short

__all__ = [
    "DONE",
    "FULL",
    "FULL_LIST",
    "LEFT_OUT",
    "OPEN",
    "TARGET",
    "WIDTH",
    "WORD",
    "first_of_its_kind",
    "parse_cells",
]

# Why `parse_cells` stopped: all records read, no room for another row, none for another cell in the
# list, another number of cells than columns, a quote that is not closed or not at a cell's end.
DONE, FULL, FULL_LIST, WIDTH, OPEN = range(5)
# Where a column goes: to this column of X, to y, nowhere, or as text to the list.
TARGET, LEFT_OUT, WORD = -1, -2, -3

_NEWLINE, _RETURN, _QUOTE, _SPACE, _TAB = 10, 13, 34, 32, 9


@compiled
def parse_cells(text, start, stop, delimiter, places, X, y, row, listed, powers):
    """Records from ``start``, appended to X and y of ``row`` rows.

    ``places`` says where each column goes. Cells that are no plain numbers, and all of columns of
    words, are listed as (row, column, start, stop), blanks around them left out. Empty lines are
    passed over. A space as delimiter stands for any number of blanks.

    Returns
    -------
    position, rows, cells listed, status
    """
    count = 0
    while start < stop:
        i = _skip(text, start, stop, delimiter)
        if i < stop and text[i] == _NEWLINE:
            start = i + 1
            continue
        if i >= stop:
            return stop, row, count, DONE
        if row == y.size:
            return start, row, count, FULL
        before = count
        i, count, status = _parse_record(
            text, i, stop, delimiter, places, X, y, row, listed, count, powers
        )
        if status != DONE:
            return start, row, before, status
        start, row = i, row + 1
    return start, row, count, DONE


@compiled
def _parse_record(text, i, stop, delimiter, places, X, y, row, listed, count, powers):
    column = 0
    while True:
        i = _skip(text, i, stop, delimiter)
        place = places[column]
        first, value, status = i, 0.0, GOOD + 1
        if i < stop and text[i] == _QUOTE:
            i = _closing(text, i + 1, stop)
            if i < 0:
                return i, count, OPEN
            end = i
            i = _skip(text, i, stop, delimiter)
            if not _at_end(text, i, stop, delimiter) and not (delimiter == _SPACE and i > end):
                return i, count, OPEN
        else:
            if place >= TARGET:
                value, i = scan_short(text, first, stop)
                status = GOOD
                if i == first:
                    value, i, status = scan_number(text, first, stop, powers)
                end = i
                i = _skip(text, i, stop, delimiter)
                if not _at_end(text, i, stop, delimiter) and not (delimiter == _SPACE and i > end):
                    status = GOOD + 1
            if status != GOOD:
                i, end = _cell_end(text, first, stop, delimiter)
        if status == GOOD:
            if place >= 0:
                X[row, place] = value
            else:
                y[row] = value
        elif place != LEFT_OUT:
            if count == listed.shape[0]:
                return i, count, FULL_LIST
            listed[count, 0], listed[count, 1] = row, column
            listed[count, 2], listed[count, 3] = first, end
            count += 1
        column += 1
        if i >= stop or text[i] == _NEWLINE:
            return min(i + 1, stop), count, (DONE if column == places.size else WIDTH)
        if column == places.size:
            return i, count, WIDTH
        if delimiter != _SPACE:
            i += 1


@compiled
def _is_blank(c, delimiter):
    if c in (_SPACE, _RETURN):
        return True
    return c == _TAB and delimiter != _TAB


@compiled
def _skip(text, i, stop, delimiter):
    while i < stop and _is_blank(text[i], delimiter):
        i += 1
    return i


@compiled
def _at_end(text, i, stop, delimiter):
    return i >= stop or text[i] == _NEWLINE or text[i] == delimiter


@compiled
def _cell_end(text, i, stop, delimiter):
    """Where the cell that begins here ends, and where its last byte that is no blank is."""
    end = i
    while not _at_end(text, i, stop, delimiter):
        blank = _is_blank(text[i], delimiter)
        i += 1
        if not blank:
            end = i
        elif delimiter == _SPACE:
            break
    if delimiter == _SPACE:
        i = _skip(text, i, stop, delimiter)
    return i, end


@compiled
def _closing(text, i, stop):
    """The position after the quote that closes; doubled ones do not; −1 if there is none."""
    while i < stop:
        if text[i] == _QUOTE:
            if i + 1 < stop and text[i + 1] == _QUOTE:
                i += 1
            else:
                return i + 1
        i += 1
    return -1


@compiled
def first_of_its_kind(text, listed, count, table, first):
    """For each of the cells listed, the number of the first with the same column and bytes.

    ``table`` is room for a hash table: a power of two, at least twice ``count``.
    """
    table[:] = -1
    mask = table.size - 1
    for k in range(count):
        column, start, stop = listed[k, 1], listed[k, 2], listed[k, 3]
        h = np.uint32(2166136261) ^ np.uint32(column)
        for i in range(start, stop):  # FNV-1a
            h = np.uint32((h ^ text[i]) * np.uint32(16777619))
        place = (h ^ (h >> np.uint32(15))) & mask
        while table[place] >= 0 and not _same_cell(text, listed, table[place], k):
            place = (place + 1) & mask
        if table[place] < 0:
            table[place] = k
        first[k] = table[place]


@compiled
def _same_cell(text, listed, k, m):
    length = listed[k, 3] - listed[k, 2]
    if listed[k, 1] != listed[m, 1] or listed[m, 3] - listed[m, 2] != length:
        return False
    a, b, i = listed[k, 2], listed[m, 2], 0
    while i < length and text[a + i] == text[b + i]:
        i += 1
    return i == length
