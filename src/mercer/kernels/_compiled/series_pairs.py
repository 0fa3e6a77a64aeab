"""Compiled recursions over two time series, several pairs at a time.

Series lie side by side in *lanes*: step t of channel c of lane p is at (c · steps + t) · LANES + p,
steps those of the longest. A row of the recursion is one flat loop over steps and lanes, in which a
cell and its left neighbour are `LANES` apart: it is vectorised, where the recursion of a single
pair would wait for each cell. Lanes of different lengths run to the end of the longest; each takes
its own result when its last cell is reached.
"""

from __future__ import annotations

import math

import numpy as np

from mercer._numba import compiled, larger, smaller
from mercer.kernels._compiled.elementwise import CONTRACT, exp64

__all__ = ["alignment_logs", "own_alignment_logs", "warping_costs"]

# A compile-time constant: four vectors of four float64, as much as hides the wait for an addition.
LANES = 16


def alignment_logs(sides: tuple, rate: float, band: int, out: np.ndarray) -> None:
    """log Σ_π Π κ of all pairs into ``out``; a band of 0 is none, and −∞ the logarithm of 0.

    ``sides`` are values, offsets and row numbers of x, and then of z.
    """
    x_values, x_offsets, x_rows, z_values, z_offsets, z_rows = sides
    order = np.argsort(z_offsets[z_rows + 1] - z_offsets[z_rows], kind="stable")
    longest = _longest(x_offsets, x_rows), _longest(z_offsets, z_rows)
    channels = max(x_values.shape[1], z_values.shape[1])
    scratch = _scratch(*longest, channels)
    columns = np.empty(LANES, np.int64)
    for start in range(0, len(z_rows), LANES):
        some = order[start : start + LANES]
        columns[: some.size], columns[some.size :] = z_rows[some], z_rows[some[-1]]
        found = np.empty((len(x_rows), LANES))
        _align_panel(
            x_values, x_offsets, x_rows, z_values, z_offsets, columns, rate, band, scratch, found
        )
        out[:, some] = found[:, : some.size]


def own_alignment_logs(
    values: np.ndarray, offsets: np.ndarray, rate: float, band: int, out: np.ndarray
) -> None:
    """The same of each series with itself."""
    n = offsets.size - 1
    order = np.argsort(np.diff(offsets), kind="stable")
    rows = np.empty(LANES, np.int64)
    for start in range(0, n, LANES):
        some = order[start : start + LANES]
        rows[: some.size], rows[some.size :] = some, some[-1]
        longest = _longest(offsets, rows)
        found = np.empty(LANES)
        scratch = _scratch(longest, longest, values.shape[1])
        _lay(values, offsets, rows, scratch[0])
        _lay(values, offsets, rows, scratch[1])
        lengths = offsets[rows + 1] - offsets[rows]
        _align(
            *scratch[:2], lengths, lengths, values.shape[1], LANES, rate, band, *scratch[2:], found
        )
        out[some] = found[: some.size]


def warping_costs(sides: tuple, window: int, out: np.ndarray) -> None:
    """min_π Σ ‖x_i − z_j‖² of all pairs into ``out``; a window below 0 is none."""
    x_values, x_offsets, x_rows, z_values, z_offsets, z_rows = sides
    order = np.argsort(z_offsets[z_rows + 1] - z_offsets[z_rows], kind="stable")
    longest = _longest(x_offsets, x_rows), _longest(z_offsets, z_rows)
    scratch = _scratch(*longest, max(x_values.shape[1], z_values.shape[1]))
    columns = np.empty(LANES, np.int64)
    for start in range(0, len(z_rows), LANES):
        some = order[start : start + LANES]
        columns[: some.size], columns[some.size :] = z_rows[some], z_rows[some[-1]]
        found = np.empty((len(x_rows), LANES))
        _warp_panel(
            x_values, x_offsets, x_rows, z_values, z_offsets, columns, window, scratch, found
        )
        out[:, some] = found[:, : some.size]


def _longest(offsets: np.ndarray, rows: np.ndarray) -> int:
    return int((offsets[rows + 1] - offsets[rows]).max(initial=0))


def _scratch(x_steps: int, z_steps: int, channels: int) -> tuple:
    """Lanes of both sides; costs or factors of a row; two rows of the recursion."""
    return (
        np.zeros(max(x_steps * channels, 1) * LANES),
        np.zeros(max(z_steps * channels, 1) * LANES),
        np.empty((z_steps + 1) * LANES),
        np.empty((z_steps + 2) * LANES),
        np.empty((z_steps + 2) * LANES),
    )


@compiled
def _lay(values, offsets, rows, lanes):
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
def _align_panel(
    x_values, x_offsets, x_rows, z_values, z_offsets, columns, rate, band, scratch, out
):
    """Series of x, one after the other, with the series in the lanes of z."""
    x_steps, z_steps, kappa, before, after = scratch
    _lay(z_values, z_offsets, columns, z_steps)
    x_lengths, z_lengths = np.empty(LANES, np.int64), np.empty(LANES, np.int64)
    for p in range(LANES):
        z_lengths[p] = z_offsets[columns[p] + 1] - z_offsets[columns[p]]
    for i in range(x_rows.size):
        _transpose(x_values, x_offsets, x_rows[i], x_steps)
        for p in range(LANES):
            x_lengths[p] = x_offsets[x_rows[i] + 1] - x_offsets[x_rows[i]]
        _align(
            x_steps, z_steps, x_lengths, z_lengths, x_values.shape[1], 1, rate, band,
            kappa, before, after, out[i],
        )  # fmt: skip


@compiled
def _transpose(values, offsets, row, steps):
    """One series, channel by channel."""
    start, length = offsets[row], offsets[row + 1] - offsets[row]
    for c in range(values.shape[1]):
        for t in range(length):
            steps[c * length + t] = values[start + t, c]


@compiled(fastmath=CONTRACT)
def _row_costs(x_steps, z_steps, t, n_x, n_z, channels, width, first, last, costs):
    """‖x_t − z_j‖² of all lanes, for first ≤ j < last; x is one series (width 1), or has lanes."""
    cost = costs[first * LANES : last * LANES]
    for c in range(channels):
        z = z_steps[(c * n_z + first) * LANES : (c * n_z + last) * LANES]
        at = (c * n_x + t) * width
        if width == 1:
            x = x_steps[at]
            if c == 0:
                for k in range(cost.size):
                    cost[k] = (x - z[k]) * (x - z[k])
            else:
                for k in range(cost.size):
                    cost[k] += (x - z[k]) * (x - z[k])
        else:
            for k in range(cost.size):
                difference = x_steps[at + k % LANES] - z[k]
                cost[k] = difference * difference + (cost[k] if c > 0 else 0.0)


@compiled
def _align(
    x_steps, z_steps, x_lengths, z_lengths, channels, width, rate, band, kappa, before, after, out
):
    """M(i, j) = κ(i, j) (M(i − 1, j − 1) + M(i − 1, j) + M(i, j − 1)), rows of all lanes.

    Rows are kept within a range by powers of two: 2^exponent times what is stored is M. Row −1 is
    M(−1, −1) = 1, at index 0; index j + 1 is column j.
    """
    n_x, n_z = 0, 0
    for p in range(LANES):
        n_x, n_z = max(n_x, x_lengths[p]), max(n_z, z_lengths[p])
    exponent = np.full(LANES, -600)
    for k in range((n_z + 2) * LANES):
        before[k] = 2.0**600 if k < LANES else 0.0
        after[k] = 0.0
    for p in range(LANES):
        out[p] = 0.0 if x_lengths[p] == 0 and z_lengths[p] == 0 else -np.inf
    for t in range(n_x):
        first = max(0, t - band + 1) if band > 0 else 0
        last = min(n_z, t + band) if band > 0 else n_z
        if first >= last:
            break
        if channels == 1 and width == 1 and band == 0:
            _align_numbers(x_steps[t], z_steps, n_z, rate, before, after)
        else:
            _row_costs(x_steps, z_steps, t, n_x, n_z, channels, width, first, last, kappa)
            _factors(kappa, t, first, last, rate, band)
            _align_row(kappa, before, after, first, last)
        _rescale(after, kappa, first, last, exponent)
        for p in range(LANES):
            if t == x_lengths[p] - 1 and first < z_lengths[p] <= last:
                value = after[z_lengths[p] * LANES + p]
                out[p] = math.log(value) + exponent[p] * math.log(2.0) if value > 0 else -np.inf
        before, after = after, before


@compiled(fastmath=CONTRACT)
def _align_numbers(x, z_steps, n_z, rate, before, after):
    """A row of the recursion for series of one channel without a band, in one pass."""
    z, above = z_steps[: n_z * LANES], before[LANES : (n_z + 1) * LANES]
    for p in range(LANES):
        after[p] = 0.0
    for k in range(z.size):
        g = exp64(-rate * ((x - z[k]) * (x - z[k])))
        after[k + LANES] = g / (2.0 - g) * ((before[k] + above[k]) + after[k])


@compiled(fastmath=CONTRACT)
def _factors(kappa, t, first, last, rate, band):
    """Costs to κ = g/(2 − g), with g of the triangular band."""
    row = kappa[first * LANES : last * LANES]
    if band == 0:
        for k in range(row.size):
            g = exp64(-rate * row[k])
            row[k] = g / (2.0 - g)
        return
    for k in range(row.size):
        row[k] = exp64(-rate * row[k])
    for j in range(last - first):
        weight = 1.0 - abs(t - first - j) / band
        for k in range(j * LANES, (j + 1) * LANES):
            row[k] *= weight
    for k in range(row.size):
        row[k] = row[k] / (2.0 - row[k])


@compiled(fastmath=CONTRACT)
def _align_row(kappa, before, after, first, last):
    """A row of the recursion."""
    for p in range(LANES):
        after[first * LANES + p] = 0.0
        after[(last + 1) * LANES + p] = 0.0
    factor = kappa[first * LANES : last * LANES]
    diagonal = before[first * LANES : last * LANES]
    above = before[(first + 1) * LANES : (last + 1) * LANES]
    row = after[first * LANES : (last + 1) * LANES]
    for k in range(factor.size):
        diagonal[k] = factor[k] * (diagonal[k] + above[k])  # row i − 1 is not needed any more
    for k in range(factor.size):
        row[k + LANES] = diagonal[k] + factor[k] * row[k]


@compiled(fastmath=CONTRACT)
def _rescale(row, scratch, first, last, exponent):
    """Bring lanes whose largest value left 2^300, …, 2^900 back into it, without rounding.

    The largest value of each lane is found by halves of the row.
    """
    n = last - first
    part = row[(first + 1) * LANES : (last + 1) * LANES]
    most = scratch[: n * LANES]
    half = n // 2
    rest = part[(n - half) * LANES :]
    for k in range((n - half) * LANES):
        most[k] = part[k]
    for k in range(half * LANES):
        most[k] = larger(most[k], rest[k])
    n -= half
    while n > 1:
        half = n // 2
        rest = most[(n - half) * LANES : n * LANES]
        for k in range(half * LANES):
            most[k] = larger(most[k], rest[k])
        n -= half
    for p in range(LANES):
        shift, value = 0, most[p]
        while value > 2.0**900:
            value *= 2.0**-512
            shift -= 1
        while 0.0 < value < 2.0**300:
            value *= 2.0**512
            shift += 1
        exponent[p] -= 512 * shift
        factor = 2.0**512 if shift > 0 else 2.0**-512
        for _ in range(abs(shift)):
            for j in range(last - first):
                part[j * LANES + p] *= factor


@compiled
def _warp_panel(x_values, x_offsets, x_rows, z_values, z_offsets, columns, window, scratch, out):
    """Series of x, one after the other, with the series in the lanes of z."""
    x_steps, z_steps, costs, before, after = scratch
    _lay(z_values, z_offsets, columns, z_steps)
    lengths, width = np.empty(LANES, np.int64), np.empty(LANES, np.int64)
    for i in range(x_rows.size):
        _transpose(x_values, x_offsets, x_rows[i], x_steps)
        n_x = x_offsets[x_rows[i] + 1] - x_offsets[x_rows[i]]
        for p in range(LANES):
            lengths[p] = z_offsets[columns[p] + 1] - z_offsets[columns[p]]
            width[p] = max(window, abs(n_x - lengths[p])) if window >= 0 else 1 << 40
        _warp(
            x_steps, z_steps, n_x, lengths, x_values.shape[1], width, costs, before, after, out[i]
        )


@compiled
def _warp(x_steps, z_steps, n_x, z_lengths, channels, width, costs, before, after, out):
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
        _row_costs(x_steps, z_steps, t, n_x, n_z, channels, 1, first, last, costs)
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
