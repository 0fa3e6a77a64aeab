"""Compiled rounds of decomposition on a kernel matrix that is at hand (see `_matrix_path`).

    minimise ½ βᵀ(K[row, row] + D)β − targetᵀβ   subject to   lower ≤ β ≤ upper,  Σβ kept

A round selects the variables that are free, violate the KKT conditions or are near violating them;
gathers the rows of their block that pair steps touch, in float32; makes pair steps
(`_pair_update`); and adds the change of β to f = Kβ in float64. K is float64.

Reads K, row, target, lower, upper, D; changes beta, f and the arrays of a `Workspace` in place.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from mercer._numba import REASSOCIATE, compiled
from mercer.solvers._violation import _FAR
from mercer.solvers.smo._pair_update import LANE, pair_steps
from mercer.solvers.smo.paths._active_block import arrange, load, select

__all__ = ["Count", "RoundNumber", "add_columns", "rescale", "rounds"]


class Count(IntEnum):
    """Entries of the array of counts."""

    ACTIVE = 0
    STEPS = 1
    ROUNDS = 2
    FLAGS = 3
    IDLE = 4
    WORK = 5
    HELD = 6


class RoundNumber(IntEnum):
    """Entries of the array of numbers."""

    VIOLATION = 0
    LEAST = 1
    B = 2


_ACTIVE, _STEPS, _ROUNDS, _FLAGS, _IDLE, _WORK, _HELD = map(int, Count)
_VIOLATION, _LEAST, _B = map(int, RoundNumber)


@compiled(fastmath=REASSOCIATE, inner=True)
def _add_four(out, r0, r1, r2, r3, c0, c1, c2, c3):
    for k in range(out.size):
        out[k] += (c0 * r0[k] + c1 * r1[k]) + (c2 * r2[k] + c3 * r3[k])


@compiled(fastmath=REASSOCIATE, inner=True)
def _add_one(out, r0, c0):
    for k in range(out.size):
        out[k] += c0 * r0[k]


@compiled(fastmath=REASSOCIATE, inner=True)
def _add_one_at(out, r0, c0, at):
    for k in range(out.size):
        out[k] += c0 * r0[at[k]]


@compiled
def add_columns(K, rows, coef, n_rows, at, f):
    """f += K[at][:, rows] @ coef over the first ``n_rows`` of them; ``at`` None: all rows of K."""
    s = 0
    if at is None:
        while s + 4 <= n_rows:
            _add_four(
                f, K[rows[s]], K[rows[s + 1]], K[rows[s + 2]], K[rows[s + 3]],
                coef[s], coef[s + 1], coef[s + 2], coef[s + 3],
            )  # fmt: skip
            s += 4
        while s < n_rows:
            _add_one(f, K[rows[s]], coef[s])
            s += 1
    else:
        while s < n_rows:
            _add_one_at(f, K[rows[s]], coef[s], at)
            s += 1


@compiled(inner=True)
def _fill_sum(beta, lower, upper, target, f, position, missing):
    """Change β in place so that its sum changes by ``missing``.

    Variables are moved to a bound in the order of v = target − f, as far as is needed: of a
    one-class SVM with another ν, the points farthest outside.
    """
    sign = 1.0 if missing > 0 else -1.0
    left = abs(missing)
    while left > 0:
        best, most = -1, -_FAR
        for k in range(beta.size):
            room = upper[k] - beta[k] if sign > 0 else beta[k] - lower[k]
            v = sign * (target[k] - f[position[k]])
            if room > 0 and v > most:
                best, most = k, v
        if best < 0:
            return
        room = upper[best] - beta[best] if sign > 0 else beta[best] - lower[best]
        if room <= left:
            beta[best] = upper[best] if sign > 0 else lower[best]
            left -= room
        else:
            beta[best] += sign * left
            left = 0.0


@compiled
def rescale(
    K, row, position, at, beta, last_lower, last_upper, target, lower, upper, has_group, total,
    factor, rounding, f, out, change, changed,
):  # fmt: skip
    """Multiply f in place, and β into ``out``; what is exactly at a bound stays exactly at it.

    ``out`` is clipped to its bounds and has the sum ``total``; f is changed accordingly.
    """
    for k in range(f.size):
        f[k] *= factor
    size = missing = 0.0
    for k in range(beta.size):
        new = min(max(factor * beta[k], lower[k]), upper[k])
        if beta[k] == last_upper[k]:
            new = upper[k]
        elif beta[k] == last_lower[k]:
            new = lower[k]
        out[k] = new
        missing -= new
        size += abs(new)
    missing += total
    if has_group and abs(missing) > rounding * size:
        _fill_sum(out, lower, upper, target, f, position, missing)
    count = 0
    for k in range(beta.size):
        delta = out[k] - factor * beta[k]
        if abs(delta) > rounding * abs(out[k]):
            change[count] = delta
            changed[count] = row[k]
            count += 1
            if count == change.size:
                add_columns(K, changed, change, count, at, f)
                count = 0
    add_columns(K, changed, change, count, at, f)


@compiled(inner=True)
def _extremes(beta, lower, upper, v, some, n_some):
    """The largest v that may rise and the smallest that may fall, of some variables or of all."""
    top, bottom = -_FAR, _FAR
    for k in range(n_some):
        i = k if some is None else some[k]
        if beta[i] < upper[i] and v[i] > top:
            top = v[i]
        if beta[i] > lower[i] and v[i] < bottom:
            bottom = v[i]
    return top, bottom


@compiled(inner=True)
def _gap(beta, lower, upper, v, b):
    """The duality gap with the intercept b."""
    total = 0.0
    for k in range(beta.size):
        r = v[k] - b
        total += (upper[k] - beta[k]) * r if r > 0 else (lower[k] - beta[k]) * r
    return total


@compiled(inner=True)
def _intercept(beta, lower, upper, v, top, bottom, is_box):
    """As `problems._kkt.intercepts`: the mean of v over free variables, or the interval's middle.

    Of these the one with the smaller gap, where bounds are finite.
    """
    total, n_free = 0.0, 0
    for k in range(beta.size):
        if lower[k] < beta[k] < upper[k]:
            total += v[k]
            n_free += 1
    middle = 0.5 * top + 0.5 * bottom
    if top == -_FAR or bottom == _FAR:
        middle = bottom if top == -_FAR else top
        middle = 0.0 if abs(middle) == _FAR else middle
    if n_free == 0:
        return middle
    mean = total / n_free
    if not is_box or top == -_FAR or bottom == _FAR:
        return mean
    is_middle = _gap(beta, lower, upper, v, middle) < _gap(beta, lower, upper, v, mean)
    return middle if is_middle else mean


@compiled(inner=True)
def _store(K, row, at, beta, f, active, n, own_beta, change, changed):
    """Write the changed β back and add their change to f; how many were changed."""
    count = 0
    for k in range(n):
        i = active[k]
        delta = own_beta[k] - beta[i]
        if delta != 0.0:
            beta[i] = own_beta[k]
            change[count] = delta
            changed[count] = row[i]
            count += 1
    add_columns(K, changed, change, count, at, f)
    return count


@compiled
def rounds(
    K, row, position, at, target, lower, upper, D, has_group, tol, factors, limits,
    beta, f, v, slack, side, chosen, active, place, log, filled_at, rows, block, is_filled, vectors,
    half_diag, g, moves, change, changed, counts, numbers,
):  # fmt: skip
    """Rounds until the violation is at most ``tol``, nothing helps, or the work is done.

    f[position[k]] is the value of variable k; f holds values at the rows ``at`` of K (None: at
    all). ``factors`` are those of `PathSettings`: inner_tol, inner_reduction, margin,
    kept_violation, progress. ``limits`` are rounds without progress, and values that are read in a
    call (a few milliseconds). Returns whether it has ended. With counts[HELD] > 0 at first, rows of
    the block that the workspace holds are used again; with counts[ACTIVE] > 0 the block itself.
    """
    m, extra, work = beta.size, 0 if has_group else 1, 0
    counts[_WORK] = 0
    while True:
        for k in range(m):
            v[k] = target[k] - f[position[k]]
            if D is not None:
                v[k] -= D[k] * beta[k]
        top, bottom = _extremes(beta, lower, upper, v, None, m)
        if not has_group:
            top, bottom = max(top, 0.0), min(bottom, 0.0)
        violation = top - bottom
        if violation < factors[4] * numbers[_LEAST]:
            numbers[_LEAST] = violation
            counts[_IDLE] = 0
        else:
            counts[_IDLE] += 1
        numbers[_VIOLATION] = max(violation, 0.0)
        if violation <= tol or counts[_IDLE] > limits[0]:
            numbers[_B] = 0.0
            if has_group:
                numbers[_B] = _intercept(beta, lower, upper, v, top, bottom, D is None)
            return True
        if work > limits[1]:
            return False
        inner = max(factors[0] * tol, factors[1] * violation)
        n, is_kept = counts[_ACTIVE], False
        if n > 0:  # is most of the violation within the block of the last round?
            high, low = _extremes(beta, lower, upper, v, active, n)
            if not has_group:
                high, low = max(high, 0.0), min(low, 0.0)
            is_kept = high - low > max(factors[3] * violation, inner)
        if not is_kept:
            level = 0.5 * (top + bottom) if has_group else 0.0
            n = select(beta, lower, upper, v, level, factors[2] * violation, slack, side, chosen)
            arrange(
                chosen, n, active, counts[_HELD], place, is_filled, log, filled_at, not has_group
            )
            counts[_ACTIVE] = counts[_HELD] = n
        size = -(-(n + extra) // LANE) * LANE
        K32 = block[:size]
        load(K, row, D, beta, lower, upper, v, active, n, rows, K32, is_filled, vectors, is_kept)
        if not has_group:  # a partner for all, which moves at no cost
            vectors[2, size - 1], vectors[3, size - 1] = -np.inf, np.inf
        steps, _, flags = pair_steps(
            K32, is_filled, K, None, None, rows[:n], log, filled_at, vectors[0, :size],
            vectors[1, :size], vectors[2, :size], vectors[3, :size], None, inner,
            max(limits[1] - work, limits[1] // 4) // (3 * size) + 8, half_diag, g, moves,
        )  # fmt: skip
        n_changed = _store(K, row, at, beta, f, active, n, vectors[0], change, changed)
        work += 4 * m + 3 * steps * size + 2 * n_changed * f.size
        counts[_WORK] = work
        counts[_STEPS] += steps
        counts[_ROUNDS] += 1
        counts[_FLAGS] |= flags
