"""The compiled pair solver: second-order SMO on a dense block of the kernel matrix.

Works on at most a few thousand variables whose kernel values K (float32 or float64) are at hand:

    minimise ½ βᵀKβ + (grad₀ − Kβ₀)ᵀβ   subject to   lower ≤ β ≤ upper,  Σβ kept within each group

Each step moves one pair of a group, β_i up and β_j down by the same δ, where i violates most among
those that may rise and j promises the largest decrease among those that may fall (working-set
selection 3 of Fan, Chen and Lin, JMLR 6, 2005, Eq. 10 to 13). In signed duals the clipping block is
one minimum of three numbers: the Newton step and the room of either variable.

Reads K, lower, upper; changes beta and grad in place.
"""

from __future__ import annotations

import numpy as np

from mercer._compiled import REASSOCIATE, compiled

__all__ = ["LANE", "MET_NEGATIVE_CURVATURE", "UNBOUNDED", "solve_pairs"]

# Variables come in whole lanes: LLVM turns a lane into a few vector instructions without a remainder.
LANE = 32
MET_NEGATIVE_CURVATURE = 1
UNBOUNDED = 2
# Smallest curvature a Newton step divides by, as LIBSVM's tau.
TINY_CURVATURE = 1e-12
# Rounding of a float32 K: curvature below minus this share of the diagonal is truly negative.
ROUNDING = 1e-5
_FAR = 1e300


@compiled(fastmath=REASSOCIATE)
def _step_and_scan(grad, beta, lower, upper, Ka, Kb, delta, first, last):
    """Add ``delta`` (Ka − Kb) to grad on lanes first..last; the extremes of −grad there.

    Returns the largest −grad that may rise, its lane, and the smallest that may fall.
    """
    top, top_lane, bottom = -_FAR, first, _FAR
    for lane in range(first, last):
        high, low = -_FAR, _FAR
        for k in range(lane * LANE, lane * LANE + LANE):
            g = grad[k] + delta * (Ka[k] - Kb[k])
            grad[k] = g
            high = max(high, -g if beta[k] < upper[k] else -_FAR)
            low = min(low, -g if beta[k] > lower[k] else _FAR)
        if high > top:
            top, top_lane = high, lane
        bottom = min(bottom, low)
    return top, top_lane, bottom


@compiled(fastmath=REASSOCIATE)
def _best_partner(grad, beta, lower, Ki, diag, i, top, gain, first, last):
    """The j that may fall and promises most: (grad_j + top)² / curvature."""
    best, best_lane = np.float32(-1), first
    kii = np.float32(diag[i])
    floor = np.float32(TINY_CURVATURE)
    for lane in range(first, last):
        high = np.float32(-1)
        for k in range(lane * LANE, lane * LANE + LANE):
            slope = np.float32(grad[k] + top)
            curvature = max(kii + diag[k] - np.float32(2) * np.float32(Ki[k]), floor)
            may = slope > 0 and beta[k] > lower[k]
            score = slope * slope / curvature if may else np.float32(-1)
            gain[k] = score
            high = max(high, score)
        if high > best:
            best, best_lane = high, lane
    for k in range(best_lane * LANE, best_lane * LANE + LANE):
        if gain[k] == best:
            return k
    return best_lane * LANE


@compiled
def _move(beta, lower, upper, i, j, newton):
    """Raise β_i and lower β_j by min(newton, the room of either); bounds are met exactly."""
    room_i = upper[i] - beta[i]
    room_j = beta[j] - lower[j]
    delta = min(newton, room_i, room_j)
    beta[i] = upper[i] if delta == room_i else beta[i] + delta
    beta[j] = lower[j] if delta == room_j else beta[j] - delta
    return delta


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
    m = beta.size
    lanes = m // LANE
    diag = np.empty(m, np.float32)
    for k in range(m):
        diag[k] = K[k, k]
    gain = np.empty(m, np.float32)
    flags = 0
    i = j = 0
    delta = 0.0
    steps = 0
    while True:
        first, last = 0, split
        top, top_lane, bottom = _step_and_scan(
            grad, beta, lower, upper, K[i], K[j], delta, 0, split
        )
        if split < lanes:
            top2, top_lane2, bottom2 = _step_and_scan(
                grad, beta, lower, upper, K[i], K[j], delta, split, lanes
            )
            if top2 - bottom2 > top - bottom:
                top, top_lane, bottom, first, last = top2, top_lane2, bottom2, split, lanes
        if top - bottom <= tol or steps >= max_steps or flags & UNBOUNDED:
            return steps, max(top - bottom, 0.0), flags
        i = top_lane * LANE
        while not (beta[i] < upper[i] and -grad[i] == top):
            i += 1
        j = _best_partner(grad, beta, lower, K[i], diag, i, top, gain, first, last)
        pair_scale = abs(np.float64(K[i, i])) + abs(np.float64(K[j, j]))
        curvature = np.float64(K[i, i]) + np.float64(K[j, j]) - 2.0 * np.float64(K[i, j])
        if curvature < -ROUNDING * pair_scale:
            flags |= MET_NEGATIVE_CURVATURE
        delta = _move(
            beta, lower, upper, i, j, (grad[j] - grad[i]) / max(curvature, TINY_CURVATURE)
        )
        if delta > 1e11 and curvature <= 1e-7 * pair_scale:
            flags |= UNBOUNDED
        steps += 1
