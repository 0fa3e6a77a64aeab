"""Compiled passes over all variables: the violation, and the choice of a working set.

v = −grad = target − f[row] says where a variable wants to go: those that may rise (β < upper) with
a large v, those that may fall (β > lower) with a small one. At the optimum no v that may rise lies
above one that may fall in the same group.
"""

from __future__ import annotations

import numpy as np

from mercer._compiled import REASSOCIATE, compiled

__all__ = ["choose", "extremes"]

_FAR = 1e300
# Bins of the histogram that finds the worst violators in one pass.
BINS = 1024


@compiled(fastmath=REASSOCIATE)
def extremes(f, row, target, beta, lower, upper, group, n_groups, v):
    """Fill v = target − f[row]; per group its largest that may rise and smallest that may fall.

    Without groups (no equality constraint) zero stands in as a partner of every variable.
    """
    slots = max(n_groups, 1)
    top, bottom = np.empty(slots), np.empty(slots)
    for g in range(slots):
        top[g], bottom[g] = -_FAR, _FAR
    for k in range(v.size):
        v[k] = target[k] - f[row[k]]
    if n_groups <= 1:
        high, low = -_FAR, _FAR
        for k in range(v.size):
            high = max(high, v[k] if beta[k] < upper[k] else -_FAR)
            low = min(low, v[k] if beta[k] > lower[k] else _FAR)
        top[0], bottom[0] = high, low
    else:
        for k in range(v.size):
            g = group[k]
            if beta[k] < upper[k]:
                top[g] = max(top[g], v[k])
            if beta[k] > lower[k]:
                bottom[g] = min(bottom[g], v[k])
    if n_groups == 0:
        top[0] = max(top[0], 0.0)
        bottom[0] = min(bottom[0], 0.0)
    return top, bottom


@compiled
def _edge(counts, quota, step):
    """The bin, walking from one end, in which the quota is reached."""
    b = 0 if step > 0 else BINS - 1
    total = counts[b]
    while total < quota and 0 <= b + step < BINS:
        b += step
        total += counts[b]
    return b


@compiled
def choose(v, beta, lower, upper, group, n_groups, top, bottom, taken, size):
    """The working set: in each group the worst violators of both sides, about ``size`` in all.

    ``taken`` marks variables that are in already; chosen ones are marked too. A histogram of v
    between bottom and top gives the threshold of either side; among those in the bin of the
    threshold the first ones are taken.
    """
    groups = max(n_groups, 1)
    quota = max(size // (2 * groups), 1)
    counts = np.zeros((groups, 2, BINS), np.int64)
    scale = np.empty(groups)
    left = np.empty((groups, 2), np.int64)
    for g in range(groups):
        scale[g] = (BINS - 1) / max(top[g] - bottom[g], 1e-300)
        left[g, 0] = left[g, 1] = quota
    place = np.empty(v.size, np.int16)
    for k in range(v.size):
        g = group[k] if n_groups > 1 else 0
        rises = beta[k] < upper[k] and v[k] > bottom[g]
        falls = beta[k] > lower[k] and v[k] < top[g]
        place[k] = -1
        if taken[k] or not (rises or falls):
            continue
        b = int(min(max((v[k] - bottom[g]) * scale[g], 0.0), BINS - 1.0))
        place[k] = b
        counts[g, 0, b] += rises
        counts[g, 1, b] += falls
    edge = np.empty((groups, 2), np.int64)
    for g in range(groups):
        edge[g, 0] = _edge(counts[g, 0], quota, np.int64(-1))
        edge[g, 1] = _edge(counts[g, 1], quota, np.int64(1))
    chosen = np.empty(2 * quota * groups, np.int64)
    n_chosen = 0
    for at_edge in (False, True):
        for k in range(v.size):
            b = place[k]
            if b < 0 or taken[k]:
                continue
            g = group[k] if n_groups > 1 else 0
            up = b == edge[g, 0] if at_edge else b > edge[g, 0]
            down = b == edge[g, 1] if at_edge else b < edge[g, 1]
            for side in range(2):
                may = up and beta[k] < upper[k] if side == 0 else down and beta[k] > lower[k]
                if may and left[g, side] > 0 and not taken[k]:
                    left[g, side] -= 1
                    taken[k] = True
                    chosen[n_chosen] = k
                    n_chosen += 1
    return chosen[:n_chosen]
