"""Rows of the recursion of the global alignment kernel: κ, and a cell from its neighbours.

A cell costs κ = g/(2 − g), whose arithmetic bounds the speed. With g = 2^e, e = k + r, k an integer
and |r| ≤ ½, 2^r = (a + rb)/(a − rb), where a and b are polynomials in r² (rb/a is the hyperbolic
tangent of r ln(2)/2; the best ones of degree 2 have an error of 8e-19). So the exponential needs no
quotient of its own: κ = n/(a − rb − n), n = 2^(k−1) (a + rb).

If all exponents are above −3, which they are for σ of the default's size, none is split: with
s = e + 3/2, 2^s is such a quotient for all of them, and steps are scaled beforehand so that
e = −(x − z)². A cell then takes fifteen operations, not twenty.
"""

from __future__ import annotations

import numpy as np

from mercer._numba import bits_to_float, compiled, float_to_bits, larger, wide_vectors
from mercer.kernels._compiled.elementwise import CONTRACT
from mercer.kernels._compiled.series_lanes import LANES

__all__ = [
    "HALF",
    "LOG2_E",
    "one_row",
    "two_near_rows",
    "two_near_rows_of_lanes",
    "two_rows",
    "two_rows_of_lanes",
]

LOG2_E = 1.4426950408889634
# Exponents down to −2 HALF need no splitting.
HALF, TWICE_2_HALF = 1.5, 5.656854249492381


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


@compiled(fastmath=CONTRACT, inner=True)
def _near_kappa(d):
    """The same of 2^(−d²) ≥ 2^(−2 HALF); the quotient of the power has an error of 7e-17."""
    s = HALF - d * d
    w = s * s
    a = 1.6568415495318112e-07 * w + 0.0002910741302515305
    a = (a * w + 0.05458946471625693) * w + 1.0
    b = (1.0071618275355728e-05 * w + 0.005043239611973432) * w + 0.34657359027997237
    n = a + s * b
    return n / (TWICE_2_HALF * (a - s * b) - n)


@compiled(inner=True)
def _sum(diagonal, above, left):
    """The same for (x, z) as for (z, x): no product is contracted with an addition."""
    return diagonal + (above + left)


@compiled(fastmath=CONTRACT)
def two_rows(x, y, z_steps, n_z, rate, before, middle, after):
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
def two_near_rows(x, y, z_steps, n_z, before, middle, after):
    """The same of scaled steps."""
    wide_vectors()
    z, above = z_steps[: n_z * LANES], before[LANES : (n_z + 1) * LANES]
    for p in range(LANES):
        middle[p] = after[p] = 0.0
    for k in range(z.size):
        left = middle[k]
        cell = _near_kappa(x - z[k]) * _sum(before[k], above[k], left)
        middle[k + LANES] = cell
        after[k + LANES] = _near_kappa(y - z[k]) * _sum(left, cell, after[k])


@compiled(fastmath=CONTRACT)
def two_near_rows_of_lanes(x, y, z_steps, n_z, before, middle, after):
    """The same of scaled steps, where x and y have lanes as well."""
    wide_vectors()
    for p in range(LANES):
        middle[p] = after[p] = 0.0
    for start in range(0, n_z * LANES, x.size):
        end = min(start + x.size, n_z * LANES)
        z, diagonal = z_steps[start:end], before[start:end]
        above = before[start + LANES : end + LANES]
        upper, lower = middle[start : end + LANES], after[start : end + LANES]
        for k in range(z.size):
            left = upper[k]
            cell = _near_kappa(x[k] - z[k]) * _sum(diagonal[k], above[k], left)
            upper[k + LANES] = cell
            lower[k + LANES] = _near_kappa(y[k] - z[k]) * _sum(left, cell, lower[k])


@compiled(fastmath=CONTRACT)
def two_rows_of_lanes(x, y, z_steps, n_z, rate, before, middle, after):
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
def one_row(costs, weights, rate, before, after, first, last):
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
