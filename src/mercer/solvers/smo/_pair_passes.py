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
    order_key,
    smaller,
    tagged_key,
)
from mercer.solvers._violation import _FAR

__all__ = [
    "TINY_CURVATURE",
    "best_in_group",
    "best_partner",
    "shift",
    "shift_groups",
]

# Smallest curvature a Newton step divides by, as LIBSVM's tau.
TINY_CURVATURE = 1e-12
# The violation of a pair must be at least this fraction of the largest one: among duplicates, whose
# curvature is zero, the rounding of equal gradients would look like an unbounded gain.
LEAST_VIOLATION = 1e-3
# In the masks of variables that may rise or fall; also above all keys of gains.
_YES = int(np.iinfo(np.int32).max)


@compiled(fastmath=REASSOCIATE, inner=True)
def shift(g, K, i, j, delta, rise, fall, index_bits):
    """g += delta (K_i − K_j); the largest −g that may rise, the least that may fall, and where.

    The last ``index_bits`` of the keys of −g are replaced by the position, so that one integer
    maximum yields the position of the largest: of those that differ by less the last (as LIBSVM).
    The two are −_FAR and 0 if one of the two has no variables.
    """
    least, factor, mask = least_key(g[0]), g.dtype.type(delta), (1 << index_bits) - 1
    top = bottom = least
    for k in range(g.size):
        x = g[k] + factor * (K[i, k] - K[j, k])
        g[k] = x
        top = larger(top, tagged_key(order_key(-x), mask, k) if rise[k] > 0 else least)
        bottom = larger(bottom, order_key(x) if fall[k] > 0 else least)
    if top == least or bottom == least:
        return -_FAR, 0.0, np.int64(0)
    at = np.int64(top & mask)
    return -np.float64(g[at]), -np.float64(key_value(bottom)), at


@compiled(fastmath=REASSOCIATE, inner=True)
def _shift_group(g, Ka, Kb, delta, rise, fall, index_bits):
    """`shift` of one of two groups, with its parts of the rows of K."""
    least, factor, mask = least_key(g[0]), g.dtype.type(delta), (1 << index_bits) - 1
    top = bottom = least
    for k in range(g.size):
        x = g[k] + factor * (Ka[k] - Kb[k])
        g[k] = x
        top = larger(top, tagged_key(order_key(-x), mask, k) if rise[k] > 0 else least)
        bottom = larger(bottom, order_key(x) if fall[k] > 0 else least)
    if top == least or bottom == least:
        return -_FAR, 0.0, np.int64(0)
    at = np.int64(top & mask)
    return -np.float64(g[at]), -np.float64(key_value(bottom)), at


@compiled(inner=True)
def shift_groups(g, K, i, j, delta, rise, fall, middle, index_bits):
    """`shift` of both groups, the second from ``middle`` on; the worse, and its range."""
    m = g.size
    Ka, Kb = K[i][:m], K[j][:m]
    top, bottom, at = _shift_group(
        g[:middle], Ka[:middle], Kb[:middle], delta, rise[:middle], fall[:middle], index_bits
    )
    top2, bottom2, at2 = _shift_group(
        g[middle:], Ka[middle:], Kb[middle:], delta, rise[middle:], fall[middle:], index_bits
    )
    if top2 - bottom2 > top - bottom:
        return top2, bottom2, middle + at2, middle, np.int64(m)
    return top, bottom, at, np.int64(0), middle


@compiled(fastmath=REASSOCIATE, inner=True)
def best_partner(g, K, i, diag, top, inverse, fall, index_bits):
    """The partner with the largest decrease, (g + top)² / curvature.

    Slopes g + top are divided by the largest, so that their squares are within float32; those below
    `LEAST_VIOLATION` do not count.
    A non-negative float32 has the order of its bits read as an integer. The last ``index_bits`` of
    them are replaced by the position, so that one integer maximum, which is vectorised, yields the
    position; decreases that differ by less count as equal.
    """
    two, none, floor = np.float32(2), np.float32(0), np.float32(TINY_CURVATURE)
    best, least, kii = np.int32(-1), np.float32(LEAST_VIOLATION), diag[i]
    position = np.int32((1 << index_bits) - 1)
    kept = np.int32(~position)
    for k in range(g.size):
        slope = np.float32((g[k] + top) * inverse)
        slope = slope if slope > least else none
        curvature = larger(kii + diag[k] - two * np.float32(K[i, k]), floor)
        key = np.int32(np.int32(order_key(abs(slope * slope / curvature)) & kept) | np.int32(k))
        best = larger(best, smaller(key, fall[k]))
    return np.int64(best & position)


@compiled(fastmath=REASSOCIATE, inner=True)
def _best_of_row(g, Ki, diag, kii, top, inverse, fall, index_bits):
    """`best_partner` with a part of row i of K."""
    two, none, floor = np.float32(2), np.float32(0), np.float32(TINY_CURVATURE)
    best, least = np.int32(-1), np.float32(LEAST_VIOLATION)
    position = np.int32((1 << index_bits) - 1)
    kept = np.int32(~position)
    for k in range(g.size):
        slope = np.float32((g[k] + top) * inverse)
        slope = slope if slope > least else none
        curvature = larger(kii + diag[k] - two * np.float32(Ki[k]), floor)
        key = np.int32(np.int32(order_key(abs(slope * slope / curvature)) & kept) | np.int32(k))
        best = larger(best, smaller(key, fall[k]))
    return np.int64(best & position)


@compiled(inner=True)
def best_in_group(g, K, i, diag, top, inverse, fall, index_bits, begin, end):
    """`best_partner` among the variables of one of two groups."""
    g, row, own = g[begin:end], K[i][begin:end], diag[begin:end]
    of_group = _best_of_row(g, row, own, diag[i], top, inverse, fall[begin:end], index_bits)
    return begin + of_group
