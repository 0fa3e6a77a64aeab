"""LIBSVM's text format, compiled: lines ``target index:value index:value …`` to the parts of a CSR.

The arrays are the caller's, and have room for so much; where it ends, and where a line is wrong,
parsing stops at the beginning of the line and says so.
"""

from __future__ import annotations

import numpy as np

from mercer._numba import compiled
from mercer.data._numbers import GOOD, HARD, NO_NUMBER, scan_number, scan_short

__all__ = [
    "DONE", "FULL", "FULL_HARD", "FULL_PAIRS", "HARDEST", "LARGEST_INDEX", "WRONG", "ZERO",
    "parse_lines", "skip_lines",
]  # fmt: skip

# Why `parse_lines` stopped: all lines read, no room (for another row, for its pairs, for numbers
# that are hard to read), a wrong line, an index 0 counted from 1.
DONE, FULL, FULL_PAIRS, FULL_HARD, WRONG, ZERO = range(6)
# The largest index; they are kept in 32 bits.
LARGEST_INDEX = 2**31 - 2
# Numbers in one call that are left to Python's `float`.
HARDEST = 1024


@compiled
def skip_lines(text, start, stop, lines):
    """The position after so many lines (or at ``stop``), and how many of them there were."""
    found = 0
    while found < lines and start < stop:
        found += text[start] == 10
        start += 1
    return start, found


@compiled
def parse_lines(
    text, start, stop, lines, first, d, y, indptr, indices, values, row, hard, powers
):  # fmt: skip
    """At most ``lines`` lines from ``start``, appended to the CSR of ``row`` rows.

    ``first`` is what indices begin with, ``d`` their number or −1. Numbers that only Python's
    `float` can read are listed in ``hard`` as (slot, start, stop), slot −1 − row for a target.

    Returns
    -------
    position, lines read, rows, hard numbers, status
    """
    read, n_hard = 0, 0
    while start < stop and read < lines:
        i = _skip_blanks(text, start, stop)
        if i < stop and text[i] != 10 and text[i] != 35:  # neither empty nor a comment
            nnz, before = indptr[row], n_hard
            if row == y.size:
                return start, read, row, n_hard, FULL
            if n_hard == hard.shape[0]:
                return start, read, row, n_hard, FULL_HARD
            value, end, status = scan_number(text, i, stop, powers)
            if status == NO_NUMBER or not _ends(text, end, stop):
                return start, read, row, n_hard, WRONG
            y[row] = value
            if status == HARD:
                hard[n_hard, 0], hard[n_hard, 1], hard[n_hard, 2] = -1 - row, i, end
                n_hard += 1
            i, nnz, n_hard, problem = _parse_pairs(
                text, end, stop, first, d, indices, values, nnz, hard, n_hard, powers
            )
            if problem != DONE:
                return start, read, row, before, problem
            row += 1
            indptr[row] = nnz
        while i < stop and text[i] != 10:
            i += 1
        start = i + 1
        read += 1
    return min(start, stop), read, row, n_hard, DONE


@compiled
def _parse_pairs(text, i, stop, first, d, indices, values, nnz, hard, n_hard, powers):
    """The pairs of a line from its target on: position, nonzeros, hard numbers, problem."""
    last = first - 1
    while True:
        i = _skip_blanks(text, i, stop)
        if i >= stop or text[i] == 10 or text[i] == 35:
            return i, nnz, n_hard, DONE
        if text[i] == 113:  # qid:7
            if i + 4 >= stop or text[i + 1] != 105 or text[i + 2] != 100 or text[i + 3] != 58:
                return i, nnz, n_hard, WRONG
            while not _ends(text, i, stop):
                i += 1
            continue
        index, digits = 0, 0
        while i < stop and 48 <= text[i] <= 57 and index <= LARGEST_INDEX:
            index = 10 * index + (text[i] - 48)
            digits += 1
            i += 1
        if digits == 0 or i >= stop or text[i] != 58 or index > LARGEST_INDEX:
            return i, nnz, n_hard, WRONG
        value, end = scan_short(text, i + 1, stop)
        status = GOOD
        if end == i + 1:
            value, end, status = scan_number(text, i + 1, stop, powers)
        if status == NO_NUMBER or not _ends(text, end, stop):
            return i, nnz, n_hard, WRONG
        if index == 0 and first == 1:
            return i, nnz, n_hard, ZERO
        if index <= last or (d >= 0 and index - first >= d):
            return i, nnz, n_hard, WRONG
        if nnz == indices.size:
            return i, nnz, n_hard, FULL_PAIRS
        if n_hard == hard.shape[0]:
            return i, nnz, n_hard, FULL_HARD
        if status != GOOD:
            hard[n_hard, 0], hard[n_hard, 1], hard[n_hard, 2] = nnz, i + 1, end
            n_hard += 1
        indices[nnz], values[nnz] = np.int32(index - first), value
        nnz, last, i = nnz + 1, index, end


@compiled
def _skip_blanks(text, i, stop):
    while i < stop and (text[i] == 32 or text[i] == 9 or text[i] == 13):
        i += 1
    return i


@compiled
def _ends(text, i, stop):
    """Whether a word ends before this byte."""
    if i >= stop:
        return True
    c = text[i]
    return c == 32 or c == 10 or c == 9 or c == 13 or c == 35
