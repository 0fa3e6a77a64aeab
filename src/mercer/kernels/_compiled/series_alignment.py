"""Compiled recursion of the global alignment kernel, over several pairs of series at a time.

Series of one channel take two rows of the recursion at a time: a cell of the upper row is used for
the lower one before it is stored. The rows themselves are in `series_rows`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mercer._numba import bits_to_float, compiled, float_to_bits, larger, smaller, wide_vectors
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
from mercer.kernels._compiled.series_rows import (
    LEAST,
    LOG2_E,
    UNIT,
    one_row,
    two_near_rows,
    two_near_rows_of_lanes,
    two_rows,
    two_rows_of_lanes,
)

__all__ = ["Reach", "alignment_logs", "alignment_logs_of_pairs", "alignment_logs_within"]

# Columns for which steps of x in lanes are repeated: what is written stays in the nearest cache.
COLUMNS = 8


@dataclass(frozen=True)
class Reach:
    """What is known of all steps of two data sets.

    Attributes
    ----------
    farthest : float
        A bound on all ‖x_i − z_j‖².
    middle : float
        Of one channel: no step is farther from it than half of the root of ``farthest``.
    """

    farthest: float = math.inf
    middle: float = 0.0


UNKNOWN = Reach()


def alignment_logs(
    sides: tuple, rate: float, band: int, out: np.ndarray, reach: Reach = UNKNOWN
) -> None:
    """log Σ_π Π κ of all pairs into ``out``; a band of 0 is none, and −∞ the logarithm of 0.

    ``sides`` are values, offsets and row numbers of x, and then of z; ``reach`` tells how many rows
    need no rescaling, and whether exponents are small. Values do not depend on which side is which,
    to the last bit; the lanes are those of the side that fills them better.
    """
    x_values, x_offsets, x_rows, z_values, z_offsets, z_rows = sides
    n_x, n_z = x_rows.size, z_rows.size
    if -(-n_x // LANES) * n_z < -(-n_z // LANES) * n_x:
        sides, out = (*sides[3:], *sides[:3]), out.T
        x_values, x_offsets, x_rows, z_values, z_offsets, z_rows = sides
    order = np.argsort(z_offsets[z_rows + 1] - z_offsets[z_rows], kind="stable")
    steps = longest(x_offsets, x_rows), longest(z_offsets, z_rows)
    channels = max(x_values.shape[1], z_values.shape[1])
    memory, how = _memory(*steps, channels, band), _how(rate, band, channels, reach)
    found = np.empty((x_rows.size, LANES))
    for start in range(0, z_rows.size, LANES):
        some = order[start : start + LANES]
        columns = in_lanes(z_rows[some])
        _align_panel(x_values, x_offsets, x_rows, z_values, z_offsets, columns, how, memory, found)
        out[:, some] = found[:, : some.size]


def alignment_logs_of_pairs(
    values: np.ndarray,
    offsets: np.ndarray,
    pairs: tuple[np.ndarray, np.ndarray],
    rate: float,
    band: int,
    reach: Reach = UNKNOWN,
) -> np.ndarray:
    """The same of some pairs (numbers of x, numbers of z) of one data set."""
    x_rows, z_rows = pairs
    out = np.empty(x_rows.size)
    lengths = np.diff(offsets)
    order = np.lexsort((lengths[x_rows], lengths[z_rows]))
    steps = longest(offsets, x_rows), longest(offsets, z_rows)
    memory = _memory(*steps, values.shape[1], band)
    found, how = np.empty(LANES), _how(rate, band, values.shape[1], reach)
    for start in range(0, out.size, LANES):
        some = order[start : start + LANES]
        x, z = in_lanes(x_rows[some]), in_lanes(z_rows[some])
        _align_pairs(values, offsets, x, z, how, memory, found)
        out[some] = found[: some.size]
    return out


def alignment_logs_within(
    side: tuple, rate: float, band: int, out: np.ndarray, reach: Reach = UNKNOWN
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
        alignment_logs(sides, rate, band, found, reach)
        out[np.ix_(rest, panel)], out[np.ix_(panel, rest)] = found, found.T
    lower, upper = np.tril_indices(rows.size, -1)
    some = lower // LANES == upper // LANES
    x, z = order[lower[some]], order[upper[some]]
    pairs = rows[x], rows[z]
    out[x, z] = alignment_logs_of_pairs(values, offsets, pairs, rate, band, reach)
    out[z, x] = out[x, z]


def _how(rate: float, band: int, channels: int, reach: Reach) -> tuple:
    """Rate and band; powers of two that the largest value of a row may lose to the next row; the
    middle of the steps and their scale where exponents are small, else a scale of 0.
    """
    exponent = LOG2_E * rate * reach.farthest
    falls = 2.0 + exponent + math.log2(max(band, 1))
    is_small = channels == 1 and band == 0 and exponent <= -LEAST * (1 - 1e-12)
    scale = math.sqrt(LOG2_E * rate * UNIT) if is_small else 0.0
    return rate, band, falls, reach.middle, scale


def _memory(x_steps: int, z_steps: int, channels: int, band: int) -> tuple:
    """`scratch`; a row more; the weight of cell (t, j) in all lanes at j − t + x_steps."""
    away = np.abs(np.arange(-x_steps, z_steps + 1))
    weights = np.maximum(0.0, 1.0 - away / band) if band > 0 else np.ones(away.size)
    row = np.empty((z_steps + 2) * LANES)
    return *scratch(x_steps, z_steps, channels), row, np.repeat(weights, LANES), x_steps


@compiled
def _align_panel(x_values, x_offsets, x_rows, z_values, z_offsets, columns, how, memory, out):
    """Series of x, one after the other, with the series in the lanes of z."""
    x_steps, z_steps = memory[0], memory[1]
    lay(z_values, z_offsets, columns, z_steps)
    x_lengths, z_lengths = np.empty(LANES, np.int64), np.empty(LANES, np.int64)
    for p in range(LANES):
        z_lengths[p] = z_offsets[columns[p] + 1] - z_offsets[columns[p]]
    _scale(z_steps[: z_lengths.max() * LANES], how)
    for i in range(x_rows.size):
        transpose(x_values, x_offsets, x_rows[i], x_steps)
        _scale(x_steps[: x_offsets[x_rows[i] + 1] - x_offsets[x_rows[i]]], how)
        for p in range(LANES):
            x_lengths[p] = x_offsets[x_rows[i] + 1] - x_offsets[x_rows[i]]
        _align(x_lengths, z_lengths, x_values.shape[1], 1, how, memory, out[i])


@compiled
def _align_pairs(values, offsets, x_rows, z_rows, how, memory, out):
    """A pair of series in each lane."""
    lay(values, offsets, x_rows, memory[0])
    lay(values, offsets, z_rows, memory[1])
    x_lengths, z_lengths = np.empty(LANES, np.int64), np.empty(LANES, np.int64)
    for p in range(LANES):
        x_lengths[p] = offsets[x_rows[p] + 1] - offsets[x_rows[p]]
        z_lengths[p] = offsets[z_rows[p] + 1] - offsets[z_rows[p]]
    _scale(memory[0][: x_lengths.max() * LANES], how)
    _scale(memory[1][: z_lengths.max() * LANES], how)
    _align(x_lengths, z_lengths, values.shape[1], LANES, how, memory, out)


@compiled(inner=True)
def _scale(steps, how):
    """Where exponents are small, steps less their middle, as `series_rows` takes them.

    None is then above √(3 UNIT)/2 = 0.111, but what stands for the steps of an empty series.
    """
    middle, scale = how[3], how[4]
    if scale > 0.0:
        for k in range(steps.size):
            steps[k] = smaller(larger((steps[k] - middle) * scale, -0.12), 0.12)


@compiled
def _align(x_lengths, z_lengths, channels, width, how, memory, out):
    """M(i, j) = κ(i, j) (M(i − 1, j − 1) + M(i − 1, j) + M(i, j − 1)), rows of all lanes.

    Rows are kept within a range by powers of two: 2^exponent times what is stored is M. Row −1 is
    M(−1, −1) = 1, at index 0; index j + 1 is column j. The largest value of a row that was brought
    to 2^600 is between 2^300 and 2^900 for some rows more: a row adds 2(n_z + 1) paths at most to a
    cell, and takes the factor of the farthest steps at most.
    """
    x_steps, z_steps, costs, before, after, spread, middle, weights, origin = memory
    rate, band, falls, _, scale = how
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
            if width == 1 and scale > 0.0:
                two_near_rows(x_steps[t], x_steps[below], z_steps, n_z, before, middle, after)
            elif width == 1:
                two_rows(x_steps[t], x_steps[below], z_steps, n_z, rate, before, middle, after)
            else:
                some = min(n_z, COLUMNS) * LANES
                upper, lower = spread[:some], costs[:some]
                repeat_lanes(x_steps[t * LANES : (t + 1) * LANES], upper)
                repeat_lanes(x_steps[below * LANES : (below + 1) * LANES], lower)
                if scale > 0.0:
                    two_near_rows_of_lanes(upper, lower, z_steps, n_z, before, middle, after)
                else:
                    two_rows_of_lanes(upper, lower, z_steps, n_z, rate, before, middle, after)
            _keep(middle, t, x_lengths, z_lengths, first, last, exponent, out)
            t += 1
            room -= bits_of_row
        else:
            row_costs(x_steps, z_steps, t, n_x, n_z, channels, width, first, last, costs, spread)
            at = weights[(first - t + origin) * LANES : (last - t + origin) * LANES]
            one_row(costs, at, rate, before, after, first, last)
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
