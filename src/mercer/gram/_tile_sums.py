"""Compiled passes over stored kernel rows."""

from __future__ import annotations

import numpy as np

from mercer._numba import REASSOCIATE, compiled, prefetch, wide_vectors
from mercer._precision import UNIT

__all__ = [
    "add_expanded",
    "add_product",
    "add_rows",
    "add_tile",
    "add_tile_bounded",
    "add_tile_mirrored",
    "pick",
    "terms_of_sum",
]

# Products that are added in any order before their sum is added to the total.
SUM_BLOCK = 64
# Terms of a float32 matrix product before its result is added up in float64.
FLOAT32_TERMS = 4 * SUM_BLOCK


def terms_of_sum(n: int, columns: int) -> int:
    """Additions one after the other in sums of n products over tiles of ``columns``, at most."""
    width = min(n, columns)
    return min(width, SUM_BLOCK) + -(-width // SUM_BLOCK) + -(-n // columns) + 4


@compiled(fastmath=REASSOCIATE)
def add_rows(rows, slots, coef, weight, first, last, total, bound):
    """total[first:last] += Σ_s coef_s · rows[slots_s, first:last], four rows at a time.

    ``bound`` gets Σ_s weight_s · |rows[slots_s]|, and the rounding of the sums. Products and sums
    are float64. Those of the bound are float32, which `SumError` allows for.
    """
    out, error = total[first:last], bound[first:last]
    n = slots.size
    adds = np.float32(UNIT * (n // 4 + 4))
    for k in range(out.size):
        error[k] += adds * np.float32(abs(out[k]))
    s = 0
    while s + 4 <= n:
        r0 = rows[slots[s], first:last]
        r1 = rows[slots[s + 1], first:last]
        r2 = rows[slots[s + 2], first:last]
        r3 = rows[slots[s + 3], first:last]
        c0, c1, c2, c3 = coef[s], coef[s + 1], coef[s + 2], coef[s + 3]
        w0, w1 = np.float32(weight[s]), np.float32(weight[s + 1])
        w2, w3 = np.float32(weight[s + 2]), np.float32(weight[s + 3])
        for k in range(out.size):
            out[k] += (c0 * r0[k] + c1 * r1[k]) + (c2 * r2[k] + c3 * r3[k])
            error[k] += (w0 * abs(r0[k]) + w1 * abs(r1[k])) + (w2 * abs(r2[k]) + w3 * abs(r3[k]))
        s += 4
    while s < n:
        r0 = rows[slots[s], first:last]
        c0, w0 = coef[s], np.float32(weight[s])
        for k in range(out.size):
            out[k] += c0 * r0[k]
            error[k] += w0 * abs(r0[k])
        s += 1


@compiled(fastmath=REASSOCIATE)
def add_tile_bounded(tile, coef, weight, total, bound):
    """total[i] += Σ_j tile[i, j] coef_j and bound[i] += Σ_j |tile[i, j]| weight_j in float64.

    Sums of SUM_BLOCK products, in any order, are added one after the other.
    """
    wide_vectors()
    n = tile.shape[1]
    whole = n - n % SUM_BLOCK
    for i in range(tile.shape[0]):
        row = tile[i]
        sum_of_blocks, error = 0.0, 0.0
        for first in range(0, whole, SUM_BLOCK):
            part = row[first : first + SUM_BLOCK]
            c, w = coef[first : first + SUM_BLOCK], weight[first : first + SUM_BLOCK]
            s, e = 0.0, 0.0
            for j in range(SUM_BLOCK):
                value = np.float64(part[j])
                s += value * c[j]
                e += abs(value) * w[j]
            sum_of_blocks += s
            error += e
        s, e = 0.0, 0.0
        for j in range(whole, n):
            value = np.float64(row[j])
            s += value * coef[j]
            e += abs(value) * weight[j]
        total[i] += sum_of_blocks + s
        bound[i] += error + e


@compiled(fastmath=REASSOCIATE)
def add_tile_mirrored(tile, coef, weight, total, bound, sums, errors):
    """`add_tile_bounded` of the transposed tile; ``sums`` and ``errors`` are scratch."""
    n, m = tile.shape
    for first in range(0, n, SUM_BLOCK):
        for j in range(m):
            sums[j] = 0.0
            errors[j] = 0.0
        for i in range(first, min(first + SUM_BLOCK, n)):
            row, c, w = tile[i], coef[i], weight[i]
            for j in range(m):
                value = np.float64(row[j])
                sums[j] += value * c
                errors[j] += abs(value) * w
        for j in range(m):
            total[j] += sums[j]
            bound[j] += errors[j]


@compiled(fastmath=REASSOCIATE)
def add_tile(tile, coef, total):
    """total[i] += Σ_j tile[i, j] coef_j in float64, for tiles of either precision."""
    for i in range(tile.shape[0]):
        row = tile[i]
        s = 0.0
        for j in range(row.size):
            s += row[j] * coef[j]
        total[i] += s


def add_product(tile: np.ndarray, V: np.ndarray, out: np.ndarray) -> None:
    """out += tile @ V for V of shape (n, m), with sums in float64."""
    if V.shape[1] == 1:
        add_tile(tile, V[:, 0], out[:, 0])
        return
    n = V.shape[0]
    step = n if tile.dtype == np.float64 else FLOAT32_TERMS
    for start in range(0, n, step):
        out += tile[:, start : start + step] @ V[start : start + step]


@compiled
def pick(rows, slots, columns, out):
    """out[i] = rows[slots_i, columns] where slots_i ≥ 0; other rows of out stay as they are.

    Each value lies on another cache line: those of the next row are prefetched.
    """
    held = np.flatnonzero(slots >= 0)
    for k in range(held.size):
        i = held[k]
        row, ahead = rows[slots[i]], rows[slots[held[min(k + 1, held.size - 1)]]]
        for j in range(columns.size):
            prefetch(ahead, columns[j])
            out[i, j] = row[columns[j]]


@compiled
def add_expanded(K, first, K_u, index):
    """K[i] += K_u[index[first + i], index] for the rows of K, a strip of a larger matrix."""
    for i in range(K.shape[0]):
        row, values = K[i], K_u[index[first + i]]
        for j in range(index.size):
            row[j] += values[index[j]]
