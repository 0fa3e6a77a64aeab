"""Rows of the recursion of the global alignment kernel: κ, and a cell from its neighbours.

A cell costs κ = g/(2 − g), whose arithmetic bounds the speed. With g = 2^e, e = k + r, k an integer
and |r| ≤ ½, 2^r = (a + rb)/(a − rb), where a and b are polynomials in r² (rb/a is the hyperbolic
tangent of r ln(2)/2; the best ones of degree 2 have an error of 8e-19), a with the leading
coefficient 1. So the exponential needs no quotient of its own: κ = n/(a − rb − n),
n = 2^(k−1) (a + rb).

If all exponents are above −3, which they are for σ of the default's size, none is split: of
s = e + 3/2, 2^s is such a quotient for all of them. s is taken in a unit in which both polynomials,
of degree 3 and 2, have that coefficient, and steps are scaled beforehand so that
e = −(x − z)² in this unit. A cell then takes sixteen operations, eight of them with a product,
instead of twenty-one and ten.
"""

from __future__ import annotations

import numpy as np

from mercer._numba import bits_to_float, compiled, float_to_bits, larger, wide_vectors
from mercer.kernels._compiled.elementwise import CONTRACT
from mercer.kernels._compiled.series_lanes import LANES

__all__ = [
    "LEAST",
    "LOG2_E",
    "UNIT",
    "one_row",
    "two_near_rows",
    "two_near_rows_of_lanes",
    "two_rows",
    "two_rows_of_lanes",
]

LOG2_E = 1.4426950408889634
# Exponents down to this need no splitting; and the unit of s.
LEAST, UNIT = -3.0, 0.016450599141410487


@compiled(inner=True)
def _plus(a, t):
    """Not contracted: one product serves for both, and additions have units of their own."""
    return a + t


@compiled(inner=True)
def _minus(a, t):
    return a - t


@compiled(fastmath=CONTRACT, inner=True)
def _kappa(e, weight):
    """κ = g/(2 − g), g = weight 2^e, for −1022.4 ≤ e ≤ 0; 0 below the normal range."""
    round_ = 1.5 * 2**52 + 1022
    t = e + round_
    r = e - (t - round_)  # exact
    w = r * r
    a = (w + 233.18420261756) * w + 4368.211481512065
    rb = r * ((0.023093349188131034 * w + 20.202065112551868) * w + 1513.9067362498347)
    half = bits_to_float(np.int64(float_to_bits(np.float64(t)) << np.int64(52)))  # 2^(k − 1)
    n = weight * (half * _plus(a, rb))
    return n / (_minus(a, rb) - n)


@compiled(fastmath=CONTRACT, inner=True)
def _near_kappa(d):
    """The same of e = −d²/UNIT ≥ −3; the quotient of the power has an error of 7e-17."""
    s = UNIT * (LEAST / -2.0) - d * d
    w = s * s
    a = ((w + 0.4754294400651824) * w + 0.024129856444245364) * w + 0.00011962152702565208
    t = s * ((w + 0.13551076129836342) * w + 0.0025201308316906913)
    n = _plus(a, t)
    return n / (5.656854249492381 * _minus(a, t) - n)  # 2^(5/2)


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
