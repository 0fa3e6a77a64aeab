"""Sums over columns of kernels of single columns, in one pass over a tile.

A group is one or more columns of numbers with a factor γ: its kernel is exp(−γ ‖x − z‖²). A
category is a code: its kernel adds a gain where two codes are equal. B is transposed, so that the
innermost loops run over its rows and are vectorised.
"""

from __future__ import annotations

import numpy as np

from mercer._numba import compiled
from mercer.kernels._compiled.elementwise import CONTRACT, exp32, exp64

__all__ = ["column_sums32", "column_sums64"]

_f32 = np.float32


@compiled(fastmath=CONTRACT, inner=True)
def _sq_distances_of_group(x, BT, start, stop, sq_dist):
    """‖x − z‖² over the columns of a group."""
    x0, b0 = x[start], BT[start]
    for j in range(sq_dist.size):
        difference = x0 - b0[j]
        sq_dist[j] = difference * difference
    for c in range(start + 1, stop):
        xc, bc = x[c], BT[c]
        for j in range(sq_dist.size):
            difference = xc - bc[j]
            sq_dist[j] += difference * difference


@compiled(fastmath=CONTRACT)
def column_sums32(flat, stride, base, A, BT, starts, gammas, weight, a_codes, bt_codes, gains):
    """base + Σ_groups weight · exp(−γ‖x − z‖²) + Σ_categories gain · [equal], in float32.

    Group g has the columns ``starts[g]`` to ``starts[g + 1]``.
    """
    m = BT.shape[1]
    sq_dist = np.empty(m, np.float32)
    for i in range(A.shape[0]):
        row = flat[i * stride : i * stride + m]
        for j in range(m):
            row[j] = base
        for c in range(gains.size):
            code, others, gain = a_codes[i, c], bt_codes[c], gains[c]
            for j in range(m):
                row[j] += gain if others[j] == code else _f32(0.0)
        for g in range(gammas.size):
            _sq_distances_of_group(A[i], BT, starts[g], starts[g + 1], sq_dist)
            gamma = gammas[g]
            for j in range(m):
                row[j] += weight * exp32(-gamma * sq_dist[j])


@compiled(fastmath=CONTRACT)
def column_sums64(flat, stride, base, A, BT, starts, gammas, weight, a_codes, bt_codes, gains):
    """The same in float64."""
    m = BT.shape[1]
    sq_dist = np.empty(m, np.float64)
    for i in range(A.shape[0]):
        row = flat[i * stride : i * stride + m]
        for j in range(m):
            row[j] = base
        for c in range(gains.size):
            code, others, gain = a_codes[i, c], bt_codes[c], gains[c]
            for j in range(m):
                row[j] += gain if others[j] == code else 0.0
        for g in range(gammas.size):
            _sq_distances_of_group(A[i], BT, starts[g], starts[g + 1], sq_dist)
            gamma = gammas[g]
            for j in range(m):
                row[j] += weight * exp64(-gamma * sq_dist[j])
