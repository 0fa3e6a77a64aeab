"""Time series side by side in *lanes*: what recursions over pairs of series share.

Step t of channel c of lane p is at (c · steps + t) · LANES + p, steps those of the longest. A row
of a recursion is one flat loop over steps and lanes, in which a cell and its left neighbour are
`LANES` apart: it is vectorised, where the recursion of a single pair would wait for each cell.
Lanes of different lengths run to the end of the longest; each takes its own result when its last
cell is reached.
"""

from __future__ import annotations

import numpy as np

from mercer._numba import compiled, wide_vectors
from mercer.kernels._compiled.elementwise import CONTRACT

__all__ = [
    "LANES",
    "in_lanes",
    "lay",
    "longest",
    "repeat_lanes",
    "row_costs",
    "scratch",
    "transpose",
]

# A compile-time constant: two vectors of eight float64, as much as hides the wait for an addition.
LANES = 16


def longest(offsets: np.ndarray, rows: np.ndarray) -> int:
    """Steps of the longest of some series."""
    return int((offsets[rows + 1] - offsets[rows]).max(initial=0))


def in_lanes(rows: np.ndarray) -> np.ndarray:
    """At most `LANES` rows, the last one repeated."""
    out = np.empty(LANES, np.int64)
    out[: rows.size], out[rows.size :] = rows, rows[-1]
    return out


def scratch(x_steps: int, z_steps: int, channels: int) -> tuple:
    """Lanes of both sides; costs or factors of a row; two rows of the recursion; one more."""
    return (
        np.zeros(max(x_steps * channels, 1) * LANES),
        np.zeros(max(z_steps * channels, 1) * LANES),
        np.empty((z_steps + 1) * LANES),
        np.empty((z_steps + 2) * LANES),
        np.empty((z_steps + 2) * LANES),
        np.empty((z_steps + 1) * LANES),
    )


@compiled
def lay(values, offsets, rows, lanes):
    """Series into lanes; steps after the end of one repeat its last."""
    steps = 0
    for p in range(LANES):
        steps = max(steps, offsets[rows[p] + 1] - offsets[rows[p]])
    for p in range(LANES):
        start, length = offsets[rows[p]], offsets[rows[p] + 1] - offsets[rows[p]]
        for c in range(values.shape[1]):
            for t in range(steps):
                step = min(t, length - 1)
                value = values[start + step, c] if length > 0 else 0.0
                lanes[(c * steps + t) * LANES + p] = value


@compiled
def transpose(values, offsets, row, steps):
    """One series, channel by channel."""
    start, length = offsets[row], offsets[row + 1] - offsets[row]
    for c in range(values.shape[1]):
        for t in range(length):
            steps[c * length + t] = values[start + t, c]


@compiled(fastmath=CONTRACT)
def row_costs(x_steps, z_steps, t, n_x, n_z, channels, width, first, last, costs, spread):
    """‖x_t − z_j‖² of all lanes, for first ≤ j < last; x is one series (width 1), or has lanes.

    Channels of one series are taken four at a time, in the order of the sum one by one.
    """
    wide_vectors()
    cost = costs[first * LANES : last * LANES]
    fours = channels - channels % 4 if width == 1 else 0
    if fours > 0 or channels == 0:
        cost[:] = 0.0
    for c in range(0, fours, 4):
        x0, x1 = x_steps[c * n_x + t], x_steps[(c + 1) * n_x + t]
        x2, x3 = x_steps[(c + 2) * n_x + t], x_steps[(c + 3) * n_x + t]
        z0, z1 = (
            _lanes_of(z_steps, c, n_z, first, last),
            _lanes_of(z_steps, c + 1, n_z, first, last),
        )
        z2 = _lanes_of(z_steps, c + 2, n_z, first, last)
        z3 = _lanes_of(z_steps, c + 3, n_z, first, last)
        for k in range(cost.size):
            d0, d1, d2, d3 = x0 - z0[k], x1 - z1[k], x2 - z2[k], x3 - z3[k]
            cost[k] = (((cost[k] + d0 * d0) + d1 * d1) + d2 * d2) + d3 * d3
    for c in range(fours, channels):
        z = _lanes_of(z_steps, c, n_z, first, last)
        at = (c * n_x + t) * width
        if width == 1:
            x = x_steps[at]
            if c == 0:
                for k in range(cost.size):
                    cost[k] = (x - z[k]) * (x - z[k])
            else:
                for k in range(cost.size):
                    cost[k] += (x - z[k]) * (x - z[k])
            continue
        row = spread[: cost.size]
        repeat_lanes(x_steps[at : at + LANES], row)
        if c == 0:
            for k in range(cost.size):
                cost[k] = (row[k] - z[k]) * (row[k] - z[k])
        else:
            for k in range(cost.size):
                cost[k] += (row[k] - z[k]) * (row[k] - z[k])


@compiled(inner=True)
def _lanes_of(steps, c, n, first, last):
    """Some steps of a channel."""
    return steps[(c * n + first) * LANES : (c * n + last) * LANES]


@compiled
def repeat_lanes(lanes, row):
    """Repeat the lanes in all of a row."""
    done = LANES
    row[:done] = lanes
    while done < row.size:
        more = min(done, row.size - done)
        row[done : done + more] = row[:more]
        done += more
