"""The compiled pair solver: second-order SMO on a dense block of the kernel matrix.

Works on at most a few thousand variables whose kernel values K (float32 or float64) are at hand:

    minimise ½ βᵀKβ + (grad₀ − Kβ₀)ᵀβ   subject to   lower ≤ β ≤ upper,  Σβ kept within each group

Each step moves one pair of a group, β_i up and β_j down by the same δ, where i violates most among
those that may rise and j, of those that may fall, gives the largest decrease of the objective
(working-set selection 3 of Fan, Chen and Lin, JMLR 6, 2005, Eq. 10 to 13). In signed duals clipping
is one minimum of three numbers: the Newton step and the distance of either variable to its bound.

Reads K, lower, upper; changes beta and grad in place.
"""

from __future__ import annotations

from enum import IntFlag

import numpy as np

from mercer._numba import REASSOCIATE, compiled

__all__ = ["LANE", "PairFlags", "solve_class_pair", "solve_pairs"]


class PairFlags(IntFlag):
    """What pair steps met."""

    MET_NEGATIVE_CURVATURE = 1
    UNBOUNDED = 2


_MET_NEGATIVE_CURVATURE, _UNBOUNDED = map(int, PairFlags)

# The number of variables is a multiple of this: LLVM turns a lane into a few vector instructions
# without a remainder loop.
LANE = 32
# Smallest curvature a Newton step divides by, as LIBSVM's tau.
TINY_CURVATURE = 1e-12
# The violation of a pair must be at least this fraction of the largest one: among duplicates, whose
# curvature is zero, the rounding of equal gradients would look like an unbounded gain.
LEAST_VIOLATION = 1e-3
# Rounding of a float32 K: a curvature below minus this fraction of the diagonal is negative.
ROUNDING = 1e-5
# A step between variables without bounds is unbounded if it is longer than UNBOUNDED_STEP and its
# curvature, relative to the diagonal, is below what K of its precision can tell from zero.
UNBOUNDED_STEP = 1e11
FLOAT32_RESOLUTION, FLOAT64_RESOLUTION = 1e-7, 1e-13
_FAR = 1e300  # stands for "no such variable"
# Larger slopes count as this one: their squares must stay within float32.
_MAX_SLOPE = 1e15


@compiled(fastmath=REASSOCIATE)
def _shift(grad, Ka, Kb, delta):
    """grad += delta (Ka − Kb)."""
    for k in range(grad.size):
        grad[k] += delta * (Ka[k] - Kb[k])


@compiled(fastmath=REASSOCIATE)
def _extremes(grad, rise, fall, first, last):
    """Over some lanes: the largest −grad that may rise, its lane, the smallest that may fall."""
    top, top_lane, bottom = -_FAR, first, _FAR
    for lane in range(first, last):
        g = grad[lane * LANE : lane * LANE + LANE]
        r = rise[lane * LANE : lane * LANE + LANE]
        s = fall[lane * LANE : lane * LANE + LANE]
        high, low = -_FAR, _FAR
        for k in range(LANE):
            high = max(high, r[k] - g[k])
            low = min(low, s[k] - g[k])
        if high >= top:  # of equal ones the last, as in LIBSVM
            top, top_lane = high, lane
        bottom = min(bottom, low)
    return top, top_lane, bottom


@compiled(fastmath=REASSOCIATE)
def _gains(grad, fall, Ki, diag, kii, top, least, gain):
    """The decrease by each partner, (grad + top)² / curvature; −1 for slopes below ``least``."""
    two, none, floor = np.float32(2), np.float32(-1), np.float32(TINY_CURVATURE)
    for k in range(gain.size):
        slope = np.float32(min(grad[k] - fall[k] + top, _MAX_SLOPE))
        curvature = max(kii + diag[k] - two * np.float32(Ki[k]), floor)
        gain[k] = slope * slope / curvature if slope > least else none


@compiled(fastmath=REASSOCIATE)
def _largest(gain, first, last):
    """The position of the largest gain on lanes first..last."""
    best, best_lane = np.float32(-2), first
    for lane in range(first, last):
        part = gain[lane * LANE : lane * LANE + LANE]
        high = np.float32(-2)
        for k in range(LANE):
            high = max(high, part[k])
        if high > best:
            best, best_lane = high, lane
    k = best_lane * LANE
    while gain[k] != best:
        k += 1
    return k


@compiled
def _move(beta, lower, upper, rise, fall, i, j, newton):
    """Raise β_i and lower β_j by δ = min(newton, distance of either to its bound)."""
    room_i = upper[i] - beta[i]
    room_j = beta[j] - lower[j]
    delta = min(newton, room_i, room_j)
    beta[i] = upper[i] if delta == room_i else beta[i] + delta
    beta[j] = lower[j] if delta == room_j else beta[j] - delta
    for k in (i, j):
        rise[k] = 0.0 if beta[k] < upper[k] else -_FAR
        fall[k] = 0.0 if beta[k] > lower[k] else _FAR
    return delta


@compiled
def _fill(K, i, first, cross, second):
    """Row i of K from the blocks K₁₁, K₁₂ and K₂₂ of two classes; padding is zero.

    Loops, since assignments of slices take seconds to compile (they can fail with a message).
    """
    n_first, n_second = cross.shape
    row = K[i]
    head, tail = row[:n_first], row[n_first : n_first + n_second]
    if i < n_first:
        for j in range(n_first):
            head[j] = first[i, j]
        for j in range(n_second):
            tail[j] = cross[i, j]
    else:
        for j in range(n_first):
            head[j] = cross[j, i - n_first]
        for j in range(n_second):
            tail[j] = second[i - n_first, j]
    for j in range(n_first + n_second, row.size):
        row[j] = 0


@compiled
def solve_pairs(K, beta, grad, lower, upper, split, tol, max_steps):
    """Pair steps until the largest violating pair is at most ``tol``.

    Parameters
    ----------
    K : (m, m) array, m a multiple of LANE; padding variables have lower = upper
    split : int
        The lane where the second group starts (m // LANE with a single group).

    Returns
    -------
    steps, violation, flags
    """
    # Rows are all there; with None the code that fills them is not compiled either.
    return _solve(K, None, None, None, None, beta, grad, lower, upper, split, tol, max_steps)


@compiled
def solve_class_pair(K, is_filled, first, cross, second, beta, grad, lower, upper, tol, max_steps):
    """`solve_pairs` for two classes whose kernel values lie in blocks K₁₁, K₁₂ and K₂₂.

    K is a buffer for whole rows; its diagonal and the rows marked in ``is_filled`` are computed,
    others are assembled when a step needs them, which most never are.
    """
    split = beta.size // LANE
    return _solve(
        K, is_filled, first, cross, second, beta, grad, lower, upper, split, tol, max_steps
    )


@compiled
def _solve(
    K, is_filled, first_block, cross, second_block, beta, grad, lower, upper, split, tol, max_steps
):
    m = beta.size
    lanes = m // LANE
    diag = np.empty(m, np.float32)
    gain = np.empty(m, np.float32)
    # rise − grad is −grad where a variable may rise, else −_FAR; fall likewise.
    # (A loop: np.where takes two seconds to compile.)
    rise, fall = np.empty(m), np.empty(m)
    for k in range(m):
        diag[k] = K[k, k]
        rise[k] = 0.0 if beta[k] < upper[k] else -_FAR
        fall[k] = 0.0 if beta[k] > lower[k] else _FAR
    flags = steps = 0
    resolution = FLOAT32_RESOLUTION if K.itemsize == 4 else FLOAT64_RESOLUTION
    while True:
        first, last = np.int64(0), split  # a literal would be compiled as a type of its own
        top, top_lane, bottom = _extremes(grad, rise, fall, first, split)
        if split < lanes:
            top2, top_lane2, bottom2 = _extremes(grad, rise, fall, split, lanes)
            if top2 - bottom2 > top - bottom:
                top, top_lane, bottom, first, last = top2, top_lane2, bottom2, split, lanes
        if top - bottom <= tol or steps >= max_steps or flags & _UNBOUNDED:
            return steps, max(top - bottom, 0.0), flags
        i = top_lane * LANE + LANE - 1
        while rise[i] - grad[i] != top:
            i -= 1
        if is_filled is not None and not is_filled[i]:
            _fill(K, i, first_block, cross, second_block)
            is_filled[i] = True
        least = np.float32(min(LEAST_VIOLATION * (top - bottom), 0.1 * _MAX_SLOPE))
        _gains(grad, fall, K[i], diag, diag[i], top, least, gain)
        j = _largest(gain, first, last)
        if is_filled is not None and not is_filled[j]:
            _fill(K, j, first_block, cross, second_block)
            is_filled[j] = True
        pair_scale = abs(np.float64(K[i, i])) + abs(np.float64(K[j, j]))
        curvature = np.float64(K[i, i]) + np.float64(K[j, j]) - 2.0 * np.float64(K[i, j])
        if curvature < -ROUNDING * pair_scale:
            flags |= _MET_NEGATIVE_CURVATURE
        newton = (grad[j] - grad[i]) / max(curvature, TINY_CURVATURE)
        delta = _move(beta, lower, upper, rise, fall, i, j, newton)
        is_endless = upper[i] == np.inf and lower[j] == -np.inf
        if is_endless and delta > UNBOUNDED_STEP and curvature <= resolution * pair_scale:
            flags |= _UNBOUNDED
        _shift(grad, K[i], K[j], delta)
        steps += 1
