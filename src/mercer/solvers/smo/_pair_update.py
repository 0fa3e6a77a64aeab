"""The compiled pair solver: second-order SMO on a dense block of the kernel matrix.

Works on at most a few thousand variables whose kernel values K (float32 or float64) are at hand:

    minimise ½ βᵀKβ + (grad₀ − Kβ₀)ᵀβ   subject to   lower ≤ β ≤ upper,  Σβ kept within each group

Each step moves one pair of a group, β_i up and β_j down by the same δ, where i violates most among
those that may rise and j, of those that may fall, gives the largest decrease of the objective
(working-set selection 3 of Fan, Chen and Lin, JMLR 6, 2005, Eq. 10 to 13). In signed duals clipping
is one minimum of three numbers: the Newton step and the distance of either variable to its bound.

Reads K, lower, upper; changes beta and grad in place. Gradients are kept in the precision of K.
"""

from __future__ import annotations

from enum import IntFlag
from typing import Any

import numpy as np

from mercer._numba import compiled, larger, reciprocal_estimates, smaller
from mercer.solvers._violation import _FAR
from mercer.solvers.smo._pair_passes import (
    TINY_CURVATURE,
    best_in_group,
    best_partner,
    may_move,
    shift,
    shift_groups,
)

__all__ = [
    "LANE", "PairFlags", "estimated_gap", "gap_estimate", "pair_scratch", "pair_steps",
    "solve_class_pair", "solve_pairs",
]  # fmt: skip


class PairFlags(IntFlag):
    """What pair steps met."""

    MET_NEGATIVE_CURVATURE = 1
    UNBOUNDED = 2


_MET_NEGATIVE_CURVATURE, _UNBOUNDED = map(int, PairFlags)

# The number of variables is a multiple of this: LLVM turns a lane into a few vector instructions
# without a remainder loop.
LANE = 32
# Rounding of a float32 K: a curvature below minus this fraction of the diagonal is negative.
ROUNDING = 1e-5
# A step between variables without bounds is unbounded if it is longer than UNBOUNDED_STEP and its
# curvature, relative to the diagonal, is below what K of its precision can tell from zero.
UNBOUNDED_STEP = 1e11
FLOAT32_RESOLUTION, FLOAT64_RESOLUTION = 1e-7, 1e-13
# With a float32 K the violation is reduced by this factor at most: gradients are float32, too.
FLOAT32_REDUCTION = 1e-5
_FLOAT32_MAX = 1e37  # larger gradients count as this one where K is float32


@compiled(inner=True)
def _level(beta, grad, lower, upper, first, last):
    """The middle of −grad between the largest that may rise and the smallest that may fall."""
    top, bottom = -_FAR, _FAR
    for k in range(first, last):
        if beta[k] < upper[k]:
            top = larger(top, -grad[k])
        if beta[k] > lower[k]:
            bottom = smaller(bottom, -grad[k])
    return 0.5 * top + 0.5 * bottom if top > -_FAR and bottom < _FAR else 0.0


@compiled(inner=True)
def _assemble(K, i, first, cross, second):
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


@compiled(inner=True)
def _gather(K, i, whole, index, log, filled_at):
    """Row i of K from the matrix ``whole`` at the rows ``index``; padding is zero.

    A row that was filled before needs only the columns that have got another variable since, which
    are in the log. The diagonal is kept: it may have more than the matrix (squared slack).
    """
    n, begin, end = index.size, filled_at[i], log[0]
    row, values = K[i], whole[index[i]]
    if begin >= 0 and 2 * (end - begin) < n:
        for s in range(begin, end):
            j = log[s]
            if j < n:
                row[j] = values[index[j]]
    else:
        own = row[i]
        for j in range(n):
            row[j] = values[index[j]]
        for j in range(n, K.shape[0]):
            row[j] = 0
        row[i] = own
    filled_at[i] = end


@compiled(inner=True)
def _fill(K, i, is_filled, first, cross, second, index, log, filled_at):
    """Row i of K: of the class blocks, or of the matrix ``first`` at the rows ``index``."""
    is_filled[i] = True
    if cross is not None:  # what is None is not compiled
        _assemble(K, i, first, cross, second)
    if index is not None:
        _gather(K, i, first, index, log, filled_at)


@compiled(inner=True)
def _clear_first_row(K, m):
    """Zeros beside the diagonal, before the row is filled."""
    for k in range(1, m):
        K[0, k] = 0.0


@compiled(inner=True)
def _start(K, begin, end, beta, grad, lower, upper, half_diag, g, moves):
    """Half of the diagonal, gradients and moves of a group; returns what its gradients gained.

    Only differences within a group matter. Measured from the middle of the violating interval, the
    gradients that matter are small, and so is their rounding to the precision of K.
    """
    level = _level(beta, grad, lower, upper, begin, end)
    for k in range(begin, end):
        half_diag[k] = 0.5 * K[k, k]
        shifted = grad[k] + level
        if K.itemsize == 4:
            shifted = smaller(larger(shifted, -_FLOAT32_MAX), _FLOAT32_MAX)
        g[k] = shifted
        moves[k] = may_move(beta[k], lower[k], upper[k])
    return level


@compiled(inner=True)
def pair_steps(
    K, is_filled, first, cross, second, index, log, filled_at, beta, grad, lower, upper, split, tol,
    max_steps, half_diag, g, moves,
):  # fmt: skip
    """Pair steps on the first beta.size rows of K; see `solve_pairs` and `solve_class_pair`.

    ``half_diag``, ``g`` and ``moves`` are scratch memory (`pair_scratch`): a function that makes no
    arrays is compiled in less time. With None for the blocks, and for the lane where a second
    group starts, no code that uses them is compiled. With an ``index`` rows are those of the whole
    matrix ``first`` at these rows (`_gather`); entries that are not filled must be finite.
    """
    reciprocal_estimates()
    m = beta.size
    half_diag, g, moves = half_diag[:m], g[:m], moves[:m]
    index_bits = 1
    while 1 << index_bits < m:
        index_bits += 1
    first_group = m if split is None else split * LANE
    state = beta, grad, lower, upper, half_diag, g, moves
    level = other_level = _start(K, np.int64(0), first_group, *state)
    if split is not None:
        other_level = _start(K, first_group, m, *state)
    resolution = FLOAT32_RESOLUTION if K.itemsize == 4 else FLOAT64_RESOLUTION
    delta, i, j, flags, steps = 0.0, np.int64(0), np.int64(0), 0, 0  # the first shift is by zero
    if is_filled is not None and index is None:  # noqa: SIM102 (else nothing of this is compiled)
        if not is_filled[0]:  # its entries need not be numbers yet
            _clear_first_row(K, m)
    while True:
        if split is None:
            top, bottom, at = shift(g, K, i, j, delta, moves, index_bits)
        else:
            top, bottom, at, begin, end = shift_groups(
                g, K, i, j, delta, moves, first_group, index_bits
            )
        if steps == 0 and K.itemsize == 4:  # gradients in float32 cannot tell less apart
            tol = larger(tol, FLOAT32_REDUCTION * (top - bottom))
        if top - bottom <= tol or steps >= max_steps or flags & _UNBOUNDED:
            for k in range(m):
                grad[k] = np.float64(g[k]) - (level if k < first_group else other_level)
            return steps, larger(top - bottom, 0.0), flags
        slope, inverse = g.dtype.type(top), g.dtype.type(1.0 / (top - bottom))
        i = at
        if is_filled is not None and not is_filled[i]:
            _fill(K, i, is_filled, first, cross, second, index, log, filled_at)
        if split is None:
            j = best_partner(g, K, i, half_diag, slope, inverse, moves, index_bits)
        else:
            j = best_in_group(g, K, i, half_diag, slope, inverse, moves, index_bits, begin, end)
        if is_filled is not None and not is_filled[j]:
            _fill(K, j, is_filled, first, cross, second, index, log, filled_at)
        K_ii, K_jj = np.float64(K[i, i]), np.float64(K[j, j])
        pair_scale, curvature = abs(K_ii) + abs(K_jj), K_ii + K_jj - 2.0 * np.float64(K[i, j])
        if curvature < -ROUNDING * pair_scale:
            flags |= _MET_NEGATIVE_CURVATURE
        newton = (np.float64(g[j]) - np.float64(g[i])) / larger(curvature, TINY_CURVATURE)
        # β_i rises and β_j falls by the Newton step, or by what either bound leaves.
        room_i, room_j = upper[i] - beta[i], beta[j] - lower[j]
        delta = smaller(smaller(newton, room_i), room_j)
        beta[i] = upper[i] if delta == room_i else beta[i] + delta
        beta[j] = lower[j] if delta == room_j else beta[j] - delta
        for moved in (i, j):
            how = may_move(beta[moved], lower[moved], upper[moved])
            if moves[moved] != how:  # a vector that is read after a store into it has to wait
                moves[moved] = how
        if delta > UNBOUNDED_STEP and curvature <= resolution * pair_scale:
            flags |= _UNBOUNDED if upper[i] == np.inf and lower[j] == -np.inf else 0
        steps += 1


@compiled(inner=True)
def _gap_term(beta, r, lower, upper, D, k):
    """`BoxQP.gap_terms` of variable k; r is less Dβ with squared slack."""
    if D is not None:  # noqa: SIM102 (else nothing of this is compiled)
        if D[k] != 0.0:
            e = r if upper > 0.0 else -r
            d, alpha = D[k], abs(beta)
            return (
                e * e / (2.0 * d) if e + d * alpha > 0.0 else -alpha * e - d * alpha * alpha / 2.0
            )
    return (upper - beta) * larger(r, 0.0) + (beta - lower) * larger(-r, 0.0)


@compiled(inner=True)
def estimated_gap(beta, grad, target, lower, upper, D, first_group, has_group):
    """The relative duality gap, about.

    For each group (the second starts at ``first_group``) b is the mean of −grad over the free
    variables or the middle of the bias interval, whichever leaves the smaller gap; 0 without
    groups. ``D`` is the diagonal of squared slack, or None; other variables with infinite bounds
    are not counted.
    """
    gap = dual = 0.0
    begin, m = np.int64(0), beta.size
    while begin < m:
        end = first_group if begin < first_group else m
        middle = mean = 0.0
        if has_group:
            middle = mean = _level(beta, grad, lower, upper, begin, end)
            total, n_free = 0.0, 0
            for k in range(begin, end):
                if lower[k] < beta[k] < upper[k]:
                    total -= grad[k]
                    n_free += 1
            if n_free > 0:
                mean = total / n_free
        of_middle = of_mean = 0.0
        for k in range(begin, end):
            d = 0.0 if D is None else D[k]
            if d > 0.0 or (lower[k] > -np.inf and upper[k] < np.inf):
                of_middle += _gap_term(beta[k], -grad[k] - middle, lower[k], upper[k], D, k)
                of_mean += _gap_term(beta[k], -grad[k] - mean, lower[k], upper[k], D, k)
                dual += 0.5 * beta[k] * (target[k] - grad[k])
        gap += smaller(of_middle, of_mean)
        begin = end
    return gap / larger(abs(dual + gap), 1e-300)


@compiled
def _pair_steps(
    K, is_filled, first, cross, second, beta, grad, lower, upper, split, tol, max_steps, half_diag,
    g, moves,
):  # fmt: skip
    """`pair_steps`, to be called from Python."""
    return pair_steps(
        K, is_filled, first, cross, second, None, None, None, beta, grad, lower, upper, split, tol,
        max_steps, half_diag, g, moves,
    )  # fmt: skip


@compiled
def gap_estimate(beta, grad, target, lower, upper, D, first_group, has_group):
    """`estimated_gap`, to be called from Python."""
    return estimated_gap(beta, grad, target, lower, upper, D, first_group, has_group)


def solve_pairs(
    K: np.ndarray,
    beta: np.ndarray,
    grad: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    split: int,
    tol: float,
    max_steps: int,
) -> tuple[int, float, int]:
    """Pair steps until the largest violating pair is at most ``tol``.

    With a float32 K they may end before: see `FLOAT32_REDUCTION`.

    Parameters
    ----------
    K : (m, m) array, m a multiple of LANE; padding variables have lower = upper
    split : int
        The lane where the second group starts (m // LANE with a single group).

    Returns
    -------
    steps, violation, flags
    """
    lane = None if split * LANE == beta.size else split
    state, limits = (beta, grad, lower, upper), (lane, tol, max_steps)
    scratch = pair_scratch(beta.size, K.dtype)
    return _pair_steps(K, None, None, None, None, *state, *limits, *scratch)


def solve_class_pair(
    K: np.ndarray,
    is_filled: np.ndarray,
    blocks: tuple[np.ndarray, np.ndarray, np.ndarray],
    beta: np.ndarray,
    grad: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    tol: float,
    max_steps: int,
) -> tuple[int, float, int]:
    """`solve_pairs` for two classes whose kernel values lie in blocks K₁₁, K₁₂ and K₂₂.

    K is a buffer for whole rows; its diagonal and the rows marked in ``is_filled`` are computed,
    others are assembled when a step needs them, which most never are.
    """
    state, limits = (beta, grad, lower, upper), (None, tol, max_steps)
    scratch = pair_scratch(beta.size, K.dtype)
    return _pair_steps(K, is_filled, *blocks, *state, *limits, *scratch)


def pair_scratch(m: int, dtype: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scratch memory of `pair_steps` for m variables and a K of this precision."""
    return np.empty(m, np.float32), np.empty(m, dtype), np.empty(m, np.int32)
