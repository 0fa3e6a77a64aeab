"""Compiled recursion of the global alignment kernel, over several pairs of series at a time.

A cell costs κ = g/(2 − g), whose arithmetic bounds the speed. With g = 2^e, e = k + r, k an integer
and |r| ≤ ½, 2^r = (a + rb)/(a − rb), where a and b are polynomials in r² (rb/a is the hyperbolic
tangent of r ln(2)/2; the best ones of degree 2 have an error of 8e-19). So the exponential needs no
quotient of its own: κ = n/(a − rb − n), n = 2^(k−1) (a + rb).

Series of one channel take two rows of the recursion at a time: a cell of the upper row is used for
the lower one before it is stored.
"""

from __future__ import annotations

import math

import numpy as np

from mercer._numba import bits_to_float, compiled, float_to_bits, larger, wide_vectors
from mercer.kernels._compiled.elementwise import CONTRACT
from mercer.kernels._compiled.series_lanes import (
    LANES,
    in_lanes,
    lay,
    longest,
    repeat_lanes,
    row_costs,
    scratch,
    transpose,
)

__all__ = ["alignment_logs", "alignment_logs_of_pairs", "alignment_logs_within"]

LOG2_E = 1.4426950408889634
# Columns for which steps of x in lanes are repeated: what is written stays in the nearest cache.
COLUMNS = 8


def alignment_logs(
    sides: tuple, rate: float, band: int, out: np.ndarray, farthest: float = np.inf
) -> None:
    """log Σ_π Π κ of all pairs into ``out``; a band of 0 is none, and −∞ the logarithm of 0.

    ``sides`` are values, offsets and row numbers of x, and then of z; ``farthest`` is a bound on
    all ‖x_i − z_j‖², which tells how many rows need no rescaling. Values do not depend on which
    side is which, to the last bit; the lanes are those of the side that fills them better.
    """
    x_values, x_offsets, x_rows, z_values, z_offsets, z_rows = sides
    n_x, n_z = x_rows.size, z_rows.size
    if -(-n_x // LANES) * n_z < -(-n_z // LANES) * n_x:
        sides, out = (*sides[3:], *sides[:3]), out.T
        x_values, x_offsets, x_rows, z_values, z_offsets, z_rows = sides
    order = np.argsort(z_offsets[z_rows + 1] - z_offsets[z_rows], kind="stable")
    steps = longest(x_offsets, x_rows), longest(z_offsets, z_rows)
    channels = max(x_values.shape[1], z_values.shape[1])
    memory, falls = _memory(*steps, channels, band), _falls(rate, band, farthest)
    found = np.empty((x_rows.size, LANES))
    for start in range(0, z_rows.size, LANES):
        some = order[start : start + LANES]
        columns = in_lanes(z_rows[some])
        _align_panel(
            x_values,
            x_offsets,
            x_rows,
            z_values,
            z_offsets,
            columns,
            rate,
            band,
            falls,
            memory,
            found,
        )
        out[:, some] = found[:, : some.size]


def alignment_logs_of_pairs(
    values: np.ndarray,
    offsets: np.ndarray,
    pairs: tuple[np.ndarray, np.ndarray],
    rate: float,
    band: int,
    farthest: float = np.inf,
) -> np.ndarray:
    """The same of some pairs (numbers of x, numbers of z) of one data set."""
    x_rows, z_rows = pairs
    out = np.empty(x_rows.size)
    lengths = np.diff(offsets)
    order = np.lexsort((lengths[x_rows], lengths[z_rows]))
    steps = longest(offsets, x_rows), longest(offsets, z_rows)
    memory = _memory(*steps, values.shape[1], band)
    found, falls = np.empty(LANES), _falls(rate, band, farthest)
    for start in range(0, out.size, LANES):
        some = order[start : start + LANES]
        x, z = in_lanes(x_rows[some]), in_lanes(z_rows[some])
        _align_pairs(values, offsets, x, z, rate, band, falls, memory, found)
        out[some] = found[: some.size]
    return out


def alignment_logs_within(
    side: tuple, rate: float, band: int, out: np.ndarray, farthest: float = np.inf
) -> None:
    """The same of series (values, offsets, row numbers) with each other, but not with themselves.

    Each pair once: panels of series of like length against those after them, pairs within a panel.
    """
    values, offsets, rows = side
    order = np.argsort(offsets[rows + 1] - offsets[rows], kind="stable")
    for start in range(0, rows.size, LANES):
        panel, rest = order[start : start + LANES], order[start + LANES :]
        found = np.empty((rest.size, panel.size))
        sides = values, offsets, rows[rest], values, offsets, rows[panel]
        alignment_logs(sides, rate, band, found, farthest)
        out[np.ix_(rest, panel)], out[np.ix_(panel, rest)] = found, found.T
    lower, upper = np.tril_indices(rows.size, -1)
    some = lower // LANES == upper // LANES
    x, z = order[lower[some]], order[upper[some]]
    pairs = rows[x], rows[z]
    out[x, z] = alignment_logs_of_pairs(values, offsets, pairs, rate, band, farthest)
    out[z, x] = out[x, z]


def _falls(rate: float, band: int, farthest: float) -> float:
    """Powers of two that the largest value of a row may lose to the next row."""
    return 2.0 + LOG2_E * rate * farthest + math.log2(max(band, 1))


def _memory(x_steps: int, z_steps: int, channels: int, band: int) -> tuple:
    """`scratch`; a row more; the weight of cell (t, j) in all lanes at j − t + x_steps."""
    away = np.abs(np.arange(-x_steps, z_steps + 1))
    weights = np.maximum(0.0, 1.0 - away / band) if band > 0 else np.ones(away.size)
    row = np.empty((z_steps + 2) * LANES)
    return *scratch(x_steps, z_steps, channels), row, np.repeat(weights, LANES), x_steps


@compiled
def _align_panel(
    x_values, x_offsets, x_rows, z_values, z_offsets, columns, rate, band, falls, memory, out
):
    """Series of x, one after the other, with the series in the lanes of z."""
    x_steps, z_steps = memory[0], memory[1]
    lay(z_values, z_offsets, columns, z_steps)
    x_lengths, z_lengths = np.empty(LANES, np.int64), np.empty(LANES, np.int64)
    for p in range(LANES):
        z_lengths[p] = z_offsets[columns[p] + 1] - z_offsets[columns[p]]
    for i in range(x_rows.size):
        transpose(x_values, x_offsets, x_rows[i], x_steps)
        for p in range(LANES):
            x_lengths[p] = x_offsets[x_rows[i] + 1] - x_offsets[x_rows[i]]
        _align(x_lengths, z_lengths, x_values.shape[1], 1, rate, band, falls, memory, out[i])


@compiled
def _align_pairs(values, offsets, x_rows, z_rows, rate, band, falls, memory, out):
    """A pair of series in each lane."""
    lay(values, offsets, x_rows, memory[0])
    lay(values, offsets, z_rows, memory[1])
    x_lengths, z_lengths = np.empty(LANES, np.int64), np.empty(LANES, np.int64)
    for p in range(LANES):
        x_lengths[p] = offsets[x_rows[p] + 1] - offsets[x_rows[p]]
        z_lengths[p] = offsets[z_rows[p] + 1] - offsets[z_rows[p]]
    _align(x_lengths, z_lengths, values.shape[1], LANES, rate, band, falls, memory, out)


@compiled
def _align(x_lengths, z_lengths, channels, width, rate, band, falls, memory, out):
    """M(i, j) = κ(i, j) (M(i − 1, j − 1) + M(i − 1, j) + M(i, j − 1)), rows of all lanes.

    Rows are kept within a range by powers of two: 2^exponent times what is stored is M. Row −1 is
    M(−1, −1) = 1, at index 0; index j + 1 is column j. The largest value of a row that was brought
    to 2^600 is between 2^300 and 2^900 for some rows more: a row adds 2(n_z + 1) paths at most to a
    cell, and takes the factor of the farthest steps at most.
    """
    x_steps, z_steps, costs, before, after, spread, middle, weights, origin = memory
    n_x, n_z = 0, 0
    for p in range(LANES):
        n_x, n_z = max(n_x, x_lengths[p]), max(n_z, z_lengths[p])
        out[p] = 0.0 if x_lengths[p] == 0 and z_lengths[p] == 0 else -np.inf
    bits_of_row = max(falls, 2.0 + math.log2(n_z + 1.0))
    in_twos = channels == 1 and band == 0 and bits_of_row <= 150.0
    exponent, room = np.full(LANES, -600), 300.0
    for k in range((n_z + 2) * LANES):
        before[k] = 2.0**600 if k < LANES else 0.0
        after[k] = 0.0
    t = 0
    while t < n_x:
        first = max(0, t - band + 1) if band > 0 else 0
        last = min(n_z, t + band) if band > 0 else n_z
        if first >= last:
            break
        if in_twos:
            below = min(t + 1, n_x - 1)  # of an odd number of rows the last one twice
            if width == 1:
                _two_rows(x_steps[t], x_steps[below], z_steps, n_z, rate, before, middle, after)
            else:
                some = min(n_z, COLUMNS) * LANES
                upper, lower = spread[:some], costs[:some]
                repeat_lanes(x_steps[t * LANES : (t + 1) * LANES], upper)
                repeat_lanes(x_steps[below * LANES : (below + 1) * LANES], lower)
                _two_rows_of_lanes(upper, lower, z_steps, n_z, rate, before, middle, after)
            _keep(middle, t, x_lengths, z_lengths, first, last, exponent, out)
            t += 1
            room -= bits_of_row
        else:
            row_costs(x_steps, z_steps, t, n_x, n_z, channels, width, first, last, costs, spread)
            at = weights[(first - t + origin) * LANES : (last - t + origin) * LANES]
            _row(costs, at, rate, before, after, first, last)
        _keep(after, t, x_lengths, z_lengths, first, last, exponent, out)
        t += 1
        room -= bits_of_row
        if room < 2 * bits_of_row:
            _rescale(after, costs, first, last, exponent)
            room = 300.0
        before, after = after, before


@compiled(inner=True)
def _keep(row, t, x_lengths, z_lengths, first, last, exponent, out):
    """The logarithms of the last cells that are in this row."""
    for p in range(LANES):
        if t == x_lengths[p] - 1 and first < z_lengths[p] <= last:
            value, power = math.frexp(row[z_lengths[p] * LANES + p])  # whatever the scale
            out[p] = math.log(value) + (power + exponent[p]) * math.log(2.0)


@compiled(fastmath=CONTRACT, inner=True)
def _kappa(e, weight):
    """κ = g/(2 − g), g = weight 2^e, for −1022.4 ≤ e ≤ 0; 0 below the normal range."""
    round_ = 1.5 * 2**52 + 1022
    t = e + round_
    r = e - (t - round_)  # exact
    w = r * r
    a = (0.00022892664520304958 * w + 0.05338207721958618) * w + 1.0
    b = (5.2866829561414055e-06 * w + 0.004624790992390067) * w + 0.34657359027997264
    half = bits_to_float(np.int64(float_to_bits(np.float64(t)) << np.int64(52)))  # 2^(k − 1)
    n = weight * (half * (a + r * b))
    return n / ((a - r * b) - n)


@compiled(inner=True)
def _sum(diagonal, above, left):
    """The same for (x, z) as for (z, x): no product is contracted with an addition."""
    return diagonal + (above + left)


@compiled(fastmath=CONTRACT)
def _two_rows(x, y, z_steps, n_z, rate, before, middle, after):
    """Rows of the steps x and y of one series; one channel, no band, exponents above −150."""
    wide_vectors()
    z, above = z_steps[: n_z * LANES], before[LANES : (n_z + 1) * LANES]
    scale = -LOG2_E * rate
    for p in range(LANES):
        middle[p] = after[p] = 0.0
    for k in range(z.size):
        upper = _kappa(scale * ((x - z[k]) * (x - z[k])), 1.0)
        lower = _kappa(scale * ((y - z[k]) * (y - z[k])), 1.0)
        left = middle[k]
        cell = upper * _sum(before[k], above[k], left)
        middle[k + LANES] = cell
        after[k + LANES] = lower * _sum(left, cell, after[k])


@compiled(fastmath=CONTRACT)
def _two_rows_of_lanes(x, y, z_steps, n_z, rate, before, middle, after):
    """The same where x and y have lanes as well, which are repeated for some columns."""
    wide_vectors()
    scale = -LOG2_E * rate
    for p in range(LANES):
        middle[p] = after[p] = 0.0
    for start in range(0, n_z * LANES, x.size):
        end = min(start + x.size, n_z * LANES)
        z, diagonal = z_steps[start:end], before[start:end]
        above = before[start + LANES : end + LANES]
        upper, lower = middle[start : end + LANES], after[start : end + LANES]
        for k in range(z.size):
            of_x = _kappa(scale * ((x[k] - z[k]) * (x[k] - z[k])), 1.0)
            of_y = _kappa(scale * ((y[k] - z[k]) * (y[k] - z[k])), 1.0)
            left = upper[k]
            cell = of_x * _sum(diagonal[k], above[k], left)
            upper[k + LANES] = cell
            lower[k + LANES] = of_y * _sum(left, cell, lower[k])


@compiled(fastmath=CONTRACT)
def _row(costs, weights, rate, before, after, first, last):
    """A row from its costs and the weights of the band."""
    wide_vectors()
    for p in range(LANES):
        after[first * LANES + p] = 0.0
        after[(last + 1) * LANES + p] = 0.0
    cost = costs[first * LANES : last * LANES]
    weight = weights[: cost.size]
    diagonal = before[first * LANES : last * LANES]
    above = before[(first + 1) * LANES : (last + 1) * LANES]
    row = after[first * LANES : (last + 1) * LANES]
    scale = -LOG2_E * rate
    for k in range(cost.size):
        kappa = _kappa(larger(scale * cost[k], -1022.4), weight[k])
        row[k + LANES] = kappa * _sum(diagonal[k], above[k], row[k])


@compiled(fastmath=CONTRACT)
def _rescale(row, scratch, first, last, exponent):
    """Bring the largest value of each lane to 2^600, without rounding.

    It is found by halves of the row. Of a subnormal value only a part of the way.
    """
    wide_vectors()
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
    factor = most[:LANES]
    for p in range(LANES):
        shift = 0
        if most[p] > 0.0:
            shift = min(600 + 1023 - (float_to_bits(most[p]) >> np.int64(52)), 1000)
        exponent[p] -= shift
        factor[p] = bits_to_float(np.int64((shift + 1023) << np.int64(52)))
    for j in range(last - first):
        for p in range(LANES):
            part[j * LANES + p] *= factor[p]
