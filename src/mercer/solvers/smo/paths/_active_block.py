"""Compiled: the block of active variables of `_matrix_rounds`, from one selection to the next.

The block has the kernel values of its variables in float32, one row and column for each. Most
variables of a selection are in the block of the last one. They keep their places, new ones take
those of variables that have left. A row is filled when a pair step needs it; filled rows stay,
and the columns that have changed since are read from a log (`_pair_update._gather`).
"""

from __future__ import annotations

import numpy as np

from mercer._numba import compiled
from mercer.solvers._violation import _FAR

__all__ = ["arrange", "forget", "load", "select"]


@compiled(inner=True)
def _threshold(slack, side, sign, margin, most):
    """A threshold that at most ``most`` slacks of a side are below, and one that is not far above.

    Both are ``margin`` where that selects few enough.
    """
    least, count = margin, 0
    for k in range(slack.size):
        if side[k] == sign and slack[k] < margin:
            least = min(least, slack[k])
            count += 1
    if count <= most:
        return margin, margin
    low, high = least, margin
    while True:  # bisection, down to neighbouring numbers if need be
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        count = 0
        for k in range(slack.size):
            count += side[k] == sign and slack[k] < middle
        if count > most:
            high = middle
        else:
            low = middle
            if 8 * count > 7 * most:
                break
    return low, high


@compiled(inner=True)
def select(beta, lower, upper, v, level, margin, slack, side, chosen):
    """The variables whose KKT slack is below the margin, as many as ``chosen`` can hold.

    The slack of a free variable is minus its distance from the level. Of too many, those with the
    least slack are taken, half of them above the level and half below.
    """
    most, n_above, n_below = chosen.size, 0, 0
    for k in range(beta.size):  # without branches, which no processor could predict
        distance = v[k] - level
        is_above = (beta[k] < upper[k]) & ((beta[k] <= lower[k]) | (distance >= 0))
        is_below = (beta[k] > lower[k]) & (not is_above)
        side[k] = np.int64(is_above) - np.int64(is_below)
        slack[k] = -side[k] * distance if is_above | is_below else _FAR
        n_above += is_above & (slack[k] < margin)
        n_below += is_below & (slack[k] < margin)
    count = 0
    if n_above + n_below < most:
        for k in range(beta.size):
            chosen[count] = k
            count += (side[k] != 0) & (slack[k] < margin)
        return count
    for_above = max(most // 2, most - n_below)
    low, high = _threshold(slack, side, 1, margin, for_above)
    low_, high_ = _threshold(slack, side, -1, margin, most - min(for_above, n_above))
    for is_tie in (False, True):  # of equal slacks at the threshold some are left out
        for k in range(beta.size):
            first, last = (low, high) if side[k] == 1 else (low_, high_)
            is_in = first <= slack[k] < last if is_tie else slack[k] < first
            if side[k] != 0 and is_in and count < most:
                chosen[count] = k
                count += 1
    return count


@compiled
def forget(place, log, filled_at):
    """An empty block: other rows of K, another K, or another diagonal."""
    for k in range(place.size):
        place[k] = -1
    for p in range(filled_at.size):
        filled_at[p] = -1
    log[0] = 1


@compiled(inner=True)
def arrange(chosen, n, active, n_before, place, is_filled, log, filled_at, is_new):
    """Give each of the ``n`` chosen variables a place: ``active`` has the variable of each.

    ``place`` is that of each variable of the problem, or −1; ``n_before`` the size of the last
    block. Log[0] is where the log ends. With ``is_new`` nothing is kept, nor if that is little.
    """
    for p in range(max(n, n_before)):
        is_filled[p] = False
    n_kept = 0
    for s in range(n):
        p = place[chosen[s]]
        if 0 <= p < n:
            is_filled[p] = True  # it stays
            n_kept += 1
    if is_new or 2 * n_kept < n or log[0] + n - n_kept > log.size:
        forget(place, log, filled_at)
        n_kept = 0
        for p in range(n):
            is_filled[p] = False
    for p in range(n_before):
        if not is_filled[p]:
            place[active[p]] = -1
    p = 0
    for s in range(n):
        k = chosen[s]
        if place[k] < 0:
            while is_filled[p]:
                p += 1
            place[k], active[p], filled_at[p] = p, k, -1
            is_filled[p] = True
            if n_kept > 0:
                log[log[0]] = p
                log[0] += 1
    for p in range(n):
        is_filled[p] = False


@compiled(inner=True)
def load(K, row, D, beta, lower, upper, v, active, n, rows, K32, is_filled, vectors, is_kept):
    """The vectors of a block; unless it is that of the last round, diagonal and padding, too."""
    size = K32.shape[0]
    own_beta, grad, low, high = vectors[0], vectors[1], vectors[2], vectors[3]
    for k in range(size):
        if k < n:
            i = active[k]
            own_beta[k], grad[k], low[k], high[k] = beta[i], -v[i], lower[i], upper[i]
            if not is_kept:
                rows[k] = row[i]
                K32[k, k] = K[row[i], row[i]] + (0.0 if D is None else D[i])
        else:
            own_beta[k] = grad[k] = low[k] = high[k] = 0.0
            if not is_kept:
                is_filled[k] = True
                for j in range(size):
                    K32[k, j] = 0.0
