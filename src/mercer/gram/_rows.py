"""Compiled passes over stored kernel rows."""

from __future__ import annotations

import numpy as np

from mercer._compiled import REASSOCIATE, compiled
from mercer._prefetch import prefetch

__all__ = ["add_rows", "add_tile", "pick"]


@compiled(fastmath=REASSOCIATE)
def add_rows(rows, slots, coef, first, last, total):
    """total[first:last] += Σ_s coef_s · rows[slots_s, first:last], four rows at a time.

    Products and sums are float64: reading the rows takes longer than that does.
    """
    out = total[first:last]
    n = slots.size
    s = 0
    while s + 4 <= n:
        r0 = rows[slots[s], first:last]
        r1 = rows[slots[s + 1], first:last]
        r2 = rows[slots[s + 2], first:last]
        r3 = rows[slots[s + 3], first:last]
        c0, c1, c2, c3 = coef[s], coef[s + 1], coef[s + 2], coef[s + 3]
        for k in range(out.size):
            out[k] += (c0 * r0[k] + c1 * r1[k]) + (c2 * r2[k] + c3 * r3[k])
        s += 4
    while s < n:
        r0 = rows[slots[s], first:last]
        c0 = coef[s]
        for k in range(out.size):
            out[k] += c0 * r0[k]
        s += 1


@compiled(fastmath=REASSOCIATE)
def add_tile(tile, coef, total):
    """total[i] += Σ_j tile[i, j] coef_j in float64, for tiles of either precision."""
    for i in range(tile.shape[0]):
        row = tile[i]
        s = 0.0
        for j in range(row.size):
            s += row[j] * coef[j]
        total[i] += s


@compiled
def pick(rows, slots, columns, out):
    """out[i] = rows[slots_i, columns] where slots_i ≥ 0; other rows of out stay as they are.

    Each number lies on another cache line: those of the next row are asked for ahead.
    """
    held = np.flatnonzero(slots >= 0)
    for k in range(held.size):
        i = held[k]
        row, ahead = rows[slots[i]], rows[slots[held[min(k + 1, held.size - 1)]]]
        for j in range(columns.size):
            prefetch(ahead, columns[j])
            out[i, j] = row[columns[j]]
