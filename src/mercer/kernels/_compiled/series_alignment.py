"""Compiled recursion of the global alignment kernel, over several pairs of series at a time.

A cell costs an exponential and a quotient, and it is their arithmetic that bounds the speed: 2^e of
the rounded exponent e = k + r is 2^k and a polynomial in r, |r| ≤ ½, which is the best one of its
degree (2.1e-16); the division by 2 − g, which lies between 1 and 2, starts from a polynomial
(1.7e-3) whose error is cubed and then squared (5e-9, 3e-17) by multiplications, which two units do
side by side, where a divider takes sixteen cycles for a vector.
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

__all__ = ["alignment_logs", "alignment_logs_of_pairs"]

LOG2_E = 1.4426950408889634


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
    memory, falls = scratch(*steps, channels), _falls(rate, band, farthest)
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
    memory = scratch(longest(offsets, x_rows), longest(offsets, z_rows), values.shape[1])
    found, falls = np.empty(LANES), _falls(rate, band, farthest)
    for start in range(0, out.size, LANES):
        some = order[start : start + LANES]
        x, z = in_lanes(x_rows[some]), in_lanes(z_rows[some])
        _align_pairs(values, offsets, x, z, rate, band, falls, memory, found)
        out[some] = found[: some.size]
    return out


def _falls(rate: float, band: int, farthest: float) -> float:
    """Powers of two that the largest value of a row may lose to the next row."""
    return 2.0 + LOG2_E * rate * farthest + math.log2(max(band, 1))


@compiled
def _align_panel(
    x_values, x_offsets, x_rows, z_values, z_offsets, columns, rate, band, falls, memory, out
):
    """Series of x, one after the other, with the series in the lanes of z."""
    x_steps, z_steps, kappa, before, after, spread = memory
    lay(z_values, z_offsets, columns, z_steps)
    x_lengths, z_lengths = np.empty(LANES, np.int64), np.empty(LANES, np.int64)
    for p in range(LANES):
        z_lengths[p] = z_offsets[columns[p] + 1] - z_offsets[columns[p]]
    for i in range(x_rows.size):
        transpose(x_values, x_offsets, x_rows[i], x_steps)
        for p in range(LANES):
            x_lengths[p] = x_offsets[x_rows[i] + 1] - x_offsets[x_rows[i]]
        _align(
            x_steps, z_steps, x_lengths, z_lengths, x_values.shape[1], 1, rate, band, falls,
            kappa, before, after, spread, out[i],
        )  # fmt: skip


@compiled
def _align_pairs(values, offsets, x_rows, z_rows, rate, band, falls, memory, out):
    """A pair of series in each lane."""
    x_steps, z_steps, kappa, before, after, spread = memory
    lay(values, offsets, x_rows, x_steps)
    lay(values, offsets, z_rows, z_steps)
    x_lengths, z_lengths = np.empty(LANES, np.int64), np.empty(LANES, np.int64)
    for p in range(LANES):
        x_lengths[p] = offsets[x_rows[p] + 1] - offsets[x_rows[p]]
        z_lengths[p] = offsets[z_rows[p] + 1] - offsets[z_rows[p]]
    _align(
        x_steps, z_steps, x_lengths, z_lengths, values.shape[1], LANES, rate, band, falls,
        kappa, before, after, spread, out,
    )  # fmt: skip


@compiled
def _align(
    x_steps, z_steps, x_lengths, z_lengths, channels, width, rate, band, falls,
    kappa, before, after, spread, out,
):  # fmt: skip
    """M(i, j) = κ(i, j) (M(i − 1, j − 1) + M(i − 1, j) + M(i, j − 1)), rows of all lanes.

    Rows are kept within a range by powers of two: 2^exponent times what is stored is M. Row −1 is
    M(−1, −1) = 1, at index 0; index j + 1 is column j. The largest value of a row that was brought
    to 2^600 is between 2^300 and 2^900 for some rows more: a row adds 2(n_z + 1) paths at most to a
    cell, and takes the factor of the farthest steps at most.
    """
    n_x, n_z = 0, 0
    for p in range(LANES):
        n_x, n_z = max(n_x, x_lengths[p]), max(n_z, z_lengths[p])
    bits_of_row = max(falls, 2.0 + math.log2(n_z + 1.0))
    exponent, room = np.full(LANES, -600), 300.0
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
        elif channels == 1 and band == 0:
            repeat_lanes(x_steps[t * LANES : (t + 1) * LANES], spread[: n_z * LANES])
            _align_lanes(spread, z_steps, n_z, rate, before, after)
        else:
            row_costs(x_steps, z_steps, t, n_x, n_z, channels, width, first, last, kappa, spread)
            if band == 0:
                _align_costs(kappa, rate, before, after, n_z)
            else:
                _band_factors(kappa, t, first, last, rate, band)
                _align_factors(kappa, before, after, first, last)
        room -= bits_of_row
        if room < bits_of_row:
            _rescale(after, kappa, first, last, exponent)
            room = 300.0
        for p in range(LANES):
            if t == x_lengths[p] - 1 and first < z_lengths[p] <= last:
                value, power = math.frexp(after[z_lengths[p] * LANES + p])  # whatever the scale
                out[p] = math.log(value) + (power + exponent[p]) * math.log(2.0)
        before, after = after, before


@compiled(fastmath=CONTRACT, inner=True)
def _power_of_two(e):
    """2^e for e ≤ 0; 0 below the normal range."""
    round_ = 1.5 * 2**52 + 1023
    e = larger(e, -1022.9)  # rounds to k = −1023, whose exponent bits are 0
    t = e + round_
    r = e - (t - round_)  # exact
    p = 7.037278170481727e-09
    p = p * r + 1.0208537950682938e-07
    p = p * r + 1.321566284045561e-06
    p = p * r + 1.525265811630148e-05
    p = p * r + 0.00015403529961116556
    p = p * r + 0.0013333558228561943
    p = p * r + 0.009618129108034607
    p = p * r + 0.05550410866445883
    p = p * r + 0.24022650695908768
    p = p * r + 0.6931471805599497
    p = p * r + 1.0
    return p * bits_to_float(np.int64(float_to_bits(np.float64(t)) << np.int64(52)))


@compiled(fastmath=CONTRACT, inner=True)
def _halved(g):
    """κ = g/(2 − g) for 0 ≤ g ≤ 1."""
    d = 2.0 - g
    y = (0.2218370883882149 * (g * g) + 0.2772963604852686) * g + 0.49913344887348354
    e = 1.0 - d * y
    y = y + y * (e * e + e)
    q = g * y
    return q + y * (g - d * q)


@compiled(fastmath=CONTRACT)
def _align_numbers(x, z_steps, n_z, rate, before, after):
    """A row of the recursion for series of one channel without a band, in one pass."""
    wide_vectors()
    z, above = z_steps[: n_z * LANES], before[LANES : (n_z + 1) * LANES]
    scale = -LOG2_E * rate
    for p in range(LANES):
        after[p] = 0.0
    for k in range(z.size):
        kappa = _halved(_power_of_two(scale * ((x - z[k]) * (x - z[k]))))
        after[k + LANES] = kappa * (before[k] + (above[k] + after[k]))


@compiled(fastmath=CONTRACT)
def _align_lanes(x_steps, z_steps, n_z, rate, before, after):
    """The same where x has lanes as well."""
    wide_vectors()
    x, z, above = x_steps[: n_z * LANES], z_steps[: n_z * LANES], before[LANES : (n_z + 1) * LANES]
    scale = -LOG2_E * rate
    for p in range(LANES):
        after[p] = 0.0
    for k in range(z.size):
        kappa = _halved(_power_of_two(scale * ((x[k] - z[k]) * (x[k] - z[k]))))
        after[k + LANES] = kappa * (before[k] + (above[k] + after[k]))


@compiled(fastmath=CONTRACT)
def _align_costs(costs, rate, before, after, n_z):
    """The same from the costs of the row."""
    wide_vectors()
    cost, above = costs[: n_z * LANES], before[LANES : (n_z + 1) * LANES]
    scale = -LOG2_E * rate
    for p in range(LANES):
        after[p] = 0.0
    for k in range(cost.size):
        kappa = _halved(_power_of_two(scale * cost[k]))
        after[k + LANES] = kappa * (before[k] + (above[k] + after[k]))


@compiled(fastmath=CONTRACT)
def _band_factors(kappa, t, first, last, rate, band):
    """Costs to the g of the triangular band."""
    wide_vectors()
    row = kappa[first * LANES : last * LANES]
    scale = -LOG2_E * rate
    for k in range(row.size):
        row[k] = _power_of_two(scale * row[k])
    for j in range(last - first):
        weight = 1.0 - abs(t - first - j) / band
        for k in range(j * LANES, (j + 1) * LANES):
            row[k] *= weight


@compiled(fastmath=CONTRACT)
def _align_factors(factors, before, after, first, last):
    """A row of the recursion from its g, within the band."""
    wide_vectors()
    for p in range(LANES):
        after[first * LANES + p] = 0.0
        after[(last + 1) * LANES + p] = 0.0
    factor = factors[first * LANES : last * LANES]
    diagonal = before[first * LANES : last * LANES]
    above = before[(first + 1) * LANES : (last + 1) * LANES]
    row = after[first * LANES : (last + 1) * LANES]
    for k in range(factor.size):
        row[k + LANES] = _halved(factor[k]) * (diagonal[k] + (above[k] + row[k]))


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
