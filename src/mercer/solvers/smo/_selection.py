"""Compiled: working-set selection (Joachims 1999, section 3): the largest violators of either side.

v = −grad = target − f[row], as in `mercer.solvers._violation`. In each group the variables that may
rise with the largest v and those that may fall with the smallest are selected. Reads v, β and the
bounds; marks the selected variables in ``taken``.
"""

from __future__ import annotations

import numpy as np

from mercer._numba import compiled

__all__ = ["select_working_set"]

# Bins of the histogram that finds the worst violators in one pass.
BINS = 1024


@compiled
def _edge(counts, quota, step):
    """The bin, walking from one end, in which the quota is reached."""
    b = 0 if step > 0 else BINS - 1
    total = counts[b]
    while total < quota and 0 <= b + step < BINS:
        b += step
        total += counts[b]
    return b


def select_working_set(
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
    box, ends, work = (beta, lower, upper), (top, bottom), (scale, counts, left, place)
    n_chosen = _select(v, *box, group, n_groups, *ends, taken, quota, *work, chosen)
    return chosen[:n_chosen]


@compiled
def _select(
    v,
    beta,
    lower,
    upper,
    group,
    n_groups,
    top,
    bottom,
    taken,
    quota,
    scale,
    counts,
    left,
    place,
    chosen,
):
    """Fill ``chosen``, return how many. Arrays are made outside, where it takes no compile time."""
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
