"""Passes of the pair solver over the variables of a block: shift of the gradients, and selection.

A pass over some hundred variables takes 50 ns, and so all that is not part of it counts. With one
group the passes index K by row and column. Views of its rows, which two groups need for their
halves, take twice the time at 200 variables; a loop over a range that does not begin at zero is not
vectorised.
"""

from __future__ import annotations

import numpy as np

from mercer._numba import (
    REASSOCIATE,
    compiled,
    key_value,
    larger,
    least_key,
    opposite_key,
    order_key,
    quotient_estimate,
    smaller,
    tagged_key,
)
from mercer.solvers._violation import _FAR

__all__ = [
    "TINY_CURVATURE",
    "best_in_group",
    "best_partner",
    "may_move",
    "shift",
    "shift_groups",
]

# Smallest curvature a Newton step divides by, as LIBSVM's tau.
TINY_CURVATURE = 1e-12
# The violation of a pair must be at least this fraction of the largest one: among duplicates, whose
# curvature is zero, the rounding of equal gradients would look like an unbounded gain.
LEAST_VIOLATION = 1e-3
# How a variable may move, one added if it may rise. The first is above all keys of decreases.
_FALLS, _DOES_NOT_FALL = int(np.iinfo(np.int32).max) - 1, -2


@compiled(inner=True)
def may_move(beta, lower, upper):
    """The entry of ``moves`` of a variable: positive if it may fall, odd if it may rise."""
    return (_FALLS if beta > lower else _DOES_NOT_FALL) + (1 if beta < upper else 0)


@compiled(fastmath=REASSOCIATE, inner=True)
def shift(g, K, i, j, delta, moves, index_bits):
    """g += delta (K_i − K_j); the largest −g that may rise, the least that may fall, and where.

    The last ``index_bits`` of the keys of −g are replaced by the position, so that one integer
    maximum yields the position of the largest: of those that differ by less the last (as LIBSVM).
    The two are −_FAR and 0 if one of the two has no variables.
    """
    least, factor, mask = least_key(g[0]), g.dtype.type(delta), (1 << index_bits) - 1
    top = bottom = least
    for k in range(g.size):
        x = g[k] + factor * (K[i, k] - K[j, k])
        g[k], key = x, order_key(x)
        top = larger(top, tagged_key(opposite_key(key), mask, k) if moves[k] & 1 else least)
        bottom = larger(bottom, key if moves[k] > 0 else least)
    if top == least or bottom == least:
        return -_FAR, 0.0, np.int64(0)
    at = np.int64(top & mask)
    return -np.float64(g[at]), -np.float64(key_value(bottom)), at


@compiled(fastmath=REASSOCIATE, inner=True)
def _shift_group(g, Ka, Kb, delta, moves, index_bits):
    """`shift` of one of two groups, with its parts of the rows of K."""
    least, factor, mask = least_key(g[0]), g.dtype.type(delta), (1 << index_bits) - 1
    top = bottom = least
    for k in range(g.size):
        x = g[k] + factor * (Ka[k] - Kb[k])
        g[k], key = x, order_key(x)
        top = larger(top, tagged_key(opposite_key(key), mask, k) if moves[k] & 1 else least)
        bottom = larger(bottom, key if moves[k] > 0 else least)
    if top == least or bottom == least:
        return -_FAR, 0.0, np.int64(0)
    at = np.int64(top & mask)
    return -np.float64(g[at]), -np.float64(key_value(bottom)), at


@compiled(inner=True)
def shift_groups(g, K, i, j, delta, moves, middle, index_bits):
    """`shift` of both groups, the second from ``middle`` on; the worse, and its range."""
    m = g.size
    Ka, Kb = K[i][:m], K[j][:m]
    top, bottom, at = _shift_group(
        g[:middle], Ka[:middle], Kb[:middle], delta, moves[:middle], index_bits
    )
    top2, bottom2, at2 = _shift_group(
        g[middle:], Ka[middle:], Kb[middle:], delta, moves[middle:], index_bits
    )
    if top2 - bottom2 > top - bottom:
        return top2, bottom2, middle + at2, middle, np.int64(m)
    return top, bottom, at, np.int64(0), middle


@compiled(fastmath=REASSOCIATE, inner=True)
def best_partner(g, K, i, half_diag, top, inverse, moves, index_bits):
    """The partner with the largest decrease, (g + top)² / curvature, by half the curvature.

    Slopes g + top are divided by the largest, so that their squares are within float32; those below
    `LEAST_VIOLATION` do not count.
    A non-negative float32 has the order of its bits read as an integer. The last ``index_bits`` of
    them are replaced by the position, so that one integer maximum, which is vectorised, yields the
    position; decreases that differ by less count as equal. The quotient is an estimate: where it is
    off by a thousandth the partner is nearly as good.
    """
    none, floor = np.float32(0), np.float32(TINY_CURVATURE / 2)
    best, least, half = np.int32(-1), np.float32(LEAST_VIOLATION), half_diag[i]
    position = np.int32((1 << index_bits) - 1)
    kept = np.int32(~position)
    for k in range(g.size):
        slope = np.float32((g[k] + top) * inverse)
        slope = slope if slope > least else none
        curvature = larger(half + half_diag[k] - np.float32(K[i, k]), floor)
        decrease = quotient_estimate(slope * slope, curvature)
        key = np.int32(np.int32(order_key(abs(decrease)) & kept) | np.int32(k))
        best = larger(best, smaller(key, moves[k]))
    return np.int64(best & position)


@compiled(fastmath=REASSOCIATE, inner=True)
def _best_of_row(g, Ki, half_diag, half, top, inverse, moves, index_bits):
    """`best_partner` with a part of row i of K."""
    none, floor = np.float32(0), np.float32(TINY_CURVATURE / 2)
    best, least = np.int32(-1), np.float32(LEAST_VIOLATION)
    position = np.int32((1 << index_bits) - 1)
    kept = np.int32(~position)
    for k in range(g.size):
        slope = np.float32((g[k] + top) * inverse)
        slope = slope if slope > least else none
        curvature = larger(half + half_diag[k] - np.float32(Ki[k]), floor)
        decrease = quotient_estimate(slope * slope, curvature)
        key = np.int32(np.int32(order_key(abs(decrease)) & kept) | np.int32(k))
        best = larger(best, smaller(key, moves[k]))
    return np.int64(best & position)


@compiled(inner=True)
def best_in_group(g, K, i, half_diag, top, inverse, moves, index_bits, begin, end):
    """`best_partner` among the variables of one of two groups."""
    g, row, own = g[begin:end], K[i][begin:end], half_diag[begin:end]
    of_group = _best_of_row(g, row, own, half_diag[i], top, inverse, moves[begin:end], index_bits)
    return begin + of_group
