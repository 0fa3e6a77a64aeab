"""Tiles on CSR rows.

The rows of B are cut into panels of `PANEL`. A panel is scattered into a small dense matrix, one
line of `PANEL` numbers for each column that both blocks use. Every nonzero of a row of A is then
one multiply-add of a whole line, contiguous and vectorised; lines of frequent columns stay in the
first cache levels. The cost is nnz(A) · len(B) multiply-adds and one scatter of B.

Compiled code allocates nothing and fills arrays by plain loops: array expressions would take
longer to compile than all the rest.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from mercer._numba import compiled
from mercer._precision import EPS
from mercer.kernels._compiled.elementwise import CONTRACT, exp64, flat_rows
from mercer.kernels._samples import CSR

__all__ = ["ALL_SUBSETS", "CHI2", "L1", "gather_columns", "sparse_products"]

# Rows of B in a panel: long enough to pay for finding a line, short enough for the lines of a few
# hundred columns to stay in L2. A compile-time constant, so that the inner loops have no tail.
PANEL = 128
# Sums of |x| + |z| with one rounding for each of their terms.


class ColumnKernel(IntEnum):
    """What `gather_columns` computes."""

    L1 = 0
    CHI2 = 1
    ALL_SUBSETS = 2


L1, CHI2, ALL_SUBSETS = ColumnKernel


def sparse_products(a: CSR, b: CSR, out: np.ndarray) -> None:
    """Write the dot products of CSR rows into ``out``."""
    flat, stride = flat_rows(out)
    longest = int(np.diff(a.indptr).max(initial=0))
    start, value = np.empty(longest + 3, np.int64), np.empty(longest + 3, out.dtype)
    _dot_tile(*a[:3], *b[:3], *_scratch(a, b, out.dtype), start, value, flat, stride)


def gather_columns(
    a: CSR, b: CSR, base: np.ndarray, kind: int, gamma: float, out: np.ndarray
) -> None:
    """Kernels gathered column by column, in float64 whatever the precision of ``out``.

    exp(−γ Σ_c f(x_c, z_c)) with f = |x − z| (`L1`) or (x − z)²/(x + z) (`CHI2`), or
    Π_c (1 + x_c z_c) (`ALL_SUBSETS`). Columns that a row of A does not hold are not visited: the
    Σ_c f(0, z_c) of each row of B comes as ``base``, and each visited column takes its f(0, z_c)
    away. An empty base says that the rows of A hold all columns.
    """
    flat, stride = flat_rows(out)
    scratch = _scratch(a, b, np.float64)
    _column_tile(*a[:3], *b[:3], *scratch, base, int(kind), float(gamma), flat, stride)


def _scratch(a: CSR, b: CSR, dtype: type | np.dtype) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The panel, where the line of each column starts in it (−1: not in A), and one more line."""
    line = np.full(a.d, -1, np.int32)
    line[a.columns[a.indptr[0] : a.indptr[-1]]] = 0
    fullest = int(np.diff(b.indptr[::PANEL], append=b.indptr[-1]).max())
    panel = np.zeros((min(fullest, a.nnz, a.d) + 1) * PANEL, dtype)
    return panel, line, np.zeros(PANEL, dtype)


@compiled
def _fill_panel(panel, line, indptr, columns, values, first, last):
    """Scatter rows first..last into the lines of their columns.

    ``line[c]`` becomes where the line of column c starts; it stays 0, where a line of zeros is, if
    the rows do not have that column.
    """
    used = 0
    for j in range(first, last):
        for t in range(indptr[j], indptr[j + 1]):
            start = line[columns[t]]
            if start == 0:
                used += PANEL
                start = used
                line[columns[t]] = start
            if start > 0:
                panel[start + j - first] = values[t]


@compiled
def _clear_panel(panel, line, indptr, columns, first, last):
    """Undo `_fill_panel`, touching only what it touched."""
    for j in range(first, last):
        for t in range(indptr[j], indptr[j + 1]):
            start = line[columns[t]]
            if start > 0:
                panel[start + j - first] = 0
    for t in range(indptr[first], indptr[last]):
        if line[columns[t]] > 0:
            line[columns[t]] = 0


@compiled(fastmath=CONTRACT)
def _dot_tile(
    a_indptr, a_columns, a_values, b_indptr, b_columns, b_values,
    panel, line, acc, start, value, flat, stride,
):  # fmt: skip
    n, m = a_indptr.size - 1, b_indptr.size - 1
    for first in range(0, m, PANEL):
        last = min(first + PANEL, m)
        _fill_panel(panel, line, b_indptr, b_columns, b_values, first, last)
        for i in range(n):
            shared = 0  # nonzeros of the row whose column the panel has
            for t in range(a_indptr[i], a_indptr[i + 1]):
                start[shared] = line[a_columns[t]]
                value[shared] = a_values[t]
                shared += start[shared] > 0
            for t in range(shared, shared + 3):  # fill up a group of four with zeros
                start[t] = 0
                value[t] = 0
            for p in range(PANEL):
                acc[p] = 0
            for t in range(0, shared, 4):
                v0, v1, v2, v3 = value[t], value[t + 1], value[t + 2], value[t + 3]
                line0 = panel[start[t] : start[t] + PANEL]
                line1 = panel[start[t + 1] : start[t + 1] + PANEL]
                line2 = panel[start[t + 2] : start[t + 2] + PANEL]
                line3 = panel[start[t + 3] : start[t + 3] + PANEL]
                for p in range(PANEL):
                    acc[p] += (v0 * line0[p] + v1 * line1[p]) + (v2 * line2[p] + v3 * line3[p])
            row = flat[i * stride + first : i * stride + last]
            for p in range(last - first):
                row[p] = acc[p]
        _clear_panel(panel, line, b_indptr, b_columns, first, last)


@compiled(fastmath=CONTRACT)
def _add_column(acc, line, a, kind, without):
    """Add (or multiply) the terms of one column: a against the numbers in ``line``."""
    if kind == L1:
        for p in range(PANEL):
            acc[p] += abs(a - line[p]) - without * abs(line[p])
    elif kind == CHI2:
        for p in range(PANEL):
            diff = a - line[p]
            # 1e-300 in place of a denominator of 0, where the numerator is 0 too
            acc[p] += diff * diff / max(a + line[p], 1e-300) - without * line[p]
    else:
        for p in range(PANEL):
            acc[p] *= 1.0 + a * line[p]


@compiled(fastmath=CONTRACT)
def _column_tile(
    a_indptr, a_columns, a_values, b_indptr, b_columns, b_values,
    panel, line, acc, base, kind, gamma, flat, stride,
):  # fmt: skip
    n, m = a_indptr.size - 1, b_indptr.size - 1
    without = 1.0 if base.size else 0.0
    for first in range(0, m, PANEL):
        last = min(first + PANEL, m)
        _fill_panel(panel, line, b_indptr, b_columns, b_values, first, last)
        for i in range(n):
            for p in range(PANEL):
                acc[p] = 1.0 if kind == ALL_SUBSETS else 0.0
            if base.size:
                for p in range(last - first):
                    acc[p] = base[first + p]
            size = 0.0
            for t in range(a_indptr[i], a_indptr[i + 1]):
                start = line[a_columns[t]]
                a = np.float64(a_values[t])
                size += abs(a)
                _add_column(acc, panel[start : start + PANEL], a, kind, without)
            if base.size:  # sums that are rounding alone are those of equal rows
                lost = EPS * (a_indptr[i + 1] - a_indptr[i] + 2)
                for p in range(last - first):
                    if acc[p] < lost * (size + base[first + p]):
                        acc[p] = 0.0
            row = flat[i * stride + first : i * stride + last]
            if kind == ALL_SUBSETS:
                for p in range(last - first):
                    row[p] = acc[p]
            else:
                for p in range(last - first):
                    row[p] = exp64(-gamma * max(acc[p], 0.0))
        _clear_panel(panel, line, b_indptr, b_columns, first, last)
