"""Compiled passes over all variables: the violation, and the choice of a working set.

v = −grad = target − f[row] says where a variable wants to go: those that may rise (β < upper) with
a large v, those that may fall (β > lower) with a small one. At the optimum no v that may rise lies
above one that may fall in the same group.
"""

from __future__ import annotations

import numpy as np

from mercer._compiled import REASSOCIATE, compiled

__all__ = ["bounded_extremes", "choose", "extremes"]

_FAR = 1e300
# Bins of the histogram that finds the worst violators in one pass.
BINS = 1024


def extremes(
    f: np.ndarray,
    row: np.ndarray,
    target: np.ndarray,
    beta: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    group: np.ndarray,
    n_groups: int,
    v: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Fill v = target − f[row]; per group its largest that may rise and smallest that may fall.

    Without groups (no equality constraint) zero stands in as a partner of every variable.
    """
    top, bottom = np.full(max(n_groups, 1), -_FAR), np.full(max(n_groups, 1), _FAR)
    _extremes(f, row, target, beta, lower, upper, group, n_groups, v, top, bottom)
    return top, bottom


@compiled(fastmath=REASSOCIATE)
def _extremes(f, row, target, beta, lower, upper, group, n_groups, v, top, bottom):
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


@compiled
def bounded_extremes(f, error, row, target, beta, lower, upper, group, n_groups, v, ends):
    """Fill v = target − f[row] and, per group, top and bottom as `extremes` has them.

    Points of an infinite error do not count there. Rows 2 and 3 of ``ends`` are the same with v at
    the worse end of v ± error. ``ends`` of shape (4, groups) comes filled with the values that
    stand for no variable.
    """
    for k in range(v.size):
        i = row[k]
        value, e = target[k] - f[i], error[i]
        v[k] = value
        g = group[k] if n_groups > 1 else 0
        known = e < np.inf
        if beta[k] < upper[k]:
            ends[0, g] = max(ends[0, g], value if known else ends[0, g])
            ends[2, g] = max(ends[2, g], value + e)
        if beta[k] > lower[k]:
            ends[1, g] = min(ends[1, g], value if known else ends[1, g])
            ends[3, g] = min(ends[3, g], value - e)
    if n_groups == 0:
        for side in range(0, 4, 2):
            ends[side, 0] = max(ends[side, 0], 0.0)
            ends[side + 1, 0] = min(ends[side + 1, 0], 0.0)


@compiled
def _edge(counts, quota, step):
    """The bin, walking from one end, in which the quota is reached."""
    b = 0 if step > 0 else BINS - 1
    total = counts[b]
    while total < quota and 0 <= b + step < BINS:
        b += step
        total += counts[b]
    return b


def choose(
    v: np.ndarray,
    beta: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    group: np.ndarray,
    n_groups: int,
    top: np.ndarray,
    bottom: np.ndarray,
    taken: np.ndarray,
    size: int,
) -> np.ndarray:
    """The working set: in each group the worst violators of both sides, about ``size`` in all.

    ``taken`` marks variables that are in already; chosen ones are marked too. A histogram of v
    between bottom and top gives the threshold of either side; among those in the bin of the
    threshold the first ones are taken.
    """
    groups = max(n_groups, 1)
    quota = max(size // (2 * groups), 1)
    scale = (BINS - 1) / np.maximum(top - bottom, 1e-300)
    counts = np.zeros((groups, 2, BINS), np.int64)
    left = np.full((groups, 2), quota)
    place, chosen = np.empty(v.size, np.int16), np.empty(2 * quota * groups, np.int64)
    n_chosen = _choose(
        v, beta, lower, upper, group, n_groups, top, bottom, taken, quota, scale, counts, left,
        place, chosen,
    )  # fmt: skip
    return chosen[:n_chosen]


@compiled
def _choose(
    v, beta, lower, upper, group, n_groups, top, bottom, taken, quota, scale, counts, left,
    place, chosen,
):  # fmt: skip
    """Fill ``chosen``, return how many. Arrays come from outside: to make them compiles slowly."""
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
    down_the_bins, up_the_bins = np.int64(-1), np.int64(1)  # literals would be types of their own
    last = counts.shape[0] - 1
    first_up = _edge(counts[0, 0], quota, down_the_bins)
    first_down = _edge(counts[0, 1], quota, up_the_bins)
    last_up = _edge(counts[last, 0], quota, down_the_bins)
    last_down = _edge(counts[last, 1], quota, up_the_bins)
    n_chosen = 0
    for at_edge in (False, True):
        for k in range(v.size):
            b = place[k]
            if b < 0 or taken[k]:
                continue
            g = group[k] if n_groups > 1 else 0
            edge_up, edge_down = (first_up, first_down) if g == 0 else (last_up, last_down)
            up = b == edge_up if at_edge else b > edge_up
            down = b == edge_down if at_edge else b < edge_down
            for side in range(2):
                may = up and beta[k] < upper[k] if side == 0 else down and beta[k] > lower[k]
                if may and left[g, side] > 0 and not taken[k]:
                    left[g, side] -= 1
                    taken[k] = True
                    chosen[n_chosen] = k
                    n_chosen += 1
    return n_chosen
