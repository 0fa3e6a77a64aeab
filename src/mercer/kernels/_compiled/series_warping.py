"""Compiled recursion of dynamic time warping, over several pairs of series at a time."""

from __future__ import annotations

import numpy as np

from mercer._numba import compiled, smaller, wide_vectors
from mercer.kernels._compiled.series_lanes import (
    LANES,
    in_lanes,
    lay,
    longest,
    row_costs,
    scratch,
    transpose,
)

__all__ = ["warping_costs"]


def warping_costs(sides: tuple, window: int, out: np.ndarray) -> None:
    """min_π Σ ‖x_i − z_j‖² of all pairs into ``out``; a window below 0 is none."""
    x_values, x_offsets, x_rows, z_values, z_offsets, z_rows = sides
    order = np.argsort(z_offsets[z_rows + 1] - z_offsets[z_rows], kind="stable")
    steps = longest(x_offsets, x_rows), longest(z_offsets, z_rows)
    memory = scratch(*steps, max(x_values.shape[1], z_values.shape[1]))
    for start in range(0, len(z_rows), LANES):
        some = order[start : start + LANES]
        columns = in_lanes(z_rows[some])
        found = np.empty((len(x_rows), LANES))
        _warp_panel(
            x_values, x_offsets, x_rows, z_values, z_offsets, columns, window, memory, found
        )
        out[:, some] = found[:, : some.size]


@compiled
def _warp_panel(x_values, x_offsets, x_rows, z_values, z_offsets, columns, window, memory, out):
    """Series of x, one after the other, with the series in the lanes of z."""
    x_steps, z_steps, costs, before, after, spread = memory
    lay(z_values, z_offsets, columns, z_steps)
    lengths, width = np.empty(LANES, np.int64), np.empty(LANES, np.int64)
    for i in range(x_rows.size):
        transpose(x_values, x_offsets, x_rows[i], x_steps)
        n_x = x_offsets[x_rows[i] + 1] - x_offsets[x_rows[i]]
        for p in range(LANES):
            lengths[p] = z_offsets[columns[p] + 1] - z_offsets[columns[p]]
            width[p] = max(window, abs(n_x - lengths[p])) if window >= 0 else 1 << 40
        _warp(
            x_steps,
            z_steps,
            n_x,
            lengths,
            x_values.shape[1],
            width,
            costs,
            before,
            after,
            spread,
            out[i],
        )


@compiled
def _warp(x_steps, z_steps, n_x, z_lengths, channels, width, costs, before, after, spread, out):
    """D(i, j) = ‖x_i − z_j‖² + min(D(i − 1, j − 1), D(i − 1, j), D(i, j − 1)) of all lanes."""
    n_z, widest, narrowest = 0, 0, width[0]
    for p in range(LANES):
        n_z, widest = max(n_z, z_lengths[p]), max(widest, width[p])
        narrowest = min(narrowest, width[p])
    for k in range((n_z + 2) * LANES):
        before[k] = 0.0 if k < LANES else np.inf
        after[k] = np.inf
    for p in range(LANES):
        out[p] = 0.0 if n_x == 0 and z_lengths[p] == 0 else np.inf
    for t in range(n_x):
        first, last = max(0, t - widest), min(n_z, t + widest + 1)
        if first >= last:
            break
        row_costs(x_steps, z_steps, t, n_x, n_z, channels, 1, first, last, costs, spread)
        if narrowest < widest:
            for j in range(first, last):
                for p in range(LANES):
                    if abs(t - j) > width[p]:
                        costs[j * LANES + p] = np.inf
        _warp_row(costs, before, after, first, last)
        before, after = after, before
    for p in range(LANES):
        if n_x > 0 and z_lengths[p] > 0:
            out[p] = before[z_lengths[p] * LANES + p]


@compiled
def _warp_row(costs, before, after, first, last):
    """A row of the recursion."""
    wide_vectors()
    for p in range(LANES):
        after[first * LANES + p] = np.inf
        after[(last + 1) * LANES + p] = np.inf
    cost = costs[first * LANES : last * LANES]
    diagonal = before[first * LANES : last * LANES]
    above = before[(first + 1) * LANES : (last + 1) * LANES]
    row = after[first * LANES : (last + 1) * LANES]
    for k in range(cost.size):
        diagonal[k] = smaller(diagonal[k], above[k])  # row i − 1 is not needed any more
    for k in range(cost.size):
        row[k + LANES] = cost[k] + smaller(diagonal[k], row[k])
