"""Compiled: one epoch of dual coordinate descent over CSR rows.

For one row with everything else fixed the dual is a parabola in β with an edge at zero; its minimum
is a clipped step from either edge (Hsieh et al., ICML 2008, eq. 9; Ho and Lin, JMLR 2012, for the
two edges of regression).
"""

from __future__ import annotations

from mercer._compiled import compiled
from mercer.problems.losses import SQUARED

__all__ = ["epoch"]


@compiled
def _best(kind, beta, g, low, high, cost, q):
    """The β that is best for its row."""
    if kind == SQUARED:
        q += 0.5 / cost
        g += beta * 0.5 / cost
        cost = 1e300
    up = beta + (low - g) / q
    if up > 0.0:
        return min(up, cost)
    down = beta + (high - g) / q
    return max(down, -cost) if down < 0.0 else 0.0


@compiled
def epoch(
    kind, indptr, columns, values, sq_norm, low, high, cost, pull_b, order, active, far,
    w, beta, b,
):  # fmt: skip
    """Visit order[:active] and shrink it; w and β change in place.

    ``pull_b`` is what a unit of β adds to b. A row leaves if its β is at a bound, or zero, and its
    score is further than ``far`` on the right side. Returns how many stay, b, the sum of
    Fenchel–Young terms met on the way (about the gap), and the largest such distance on the wrong
    side.
    """
    gap, worst = 0.0, 0.0
    stay = 0
    for k in range(active):
        i = order[k]
        g = b
        for t in range(indptr[i], indptr[i + 1]):
            g += values[t] * w[columns[t]]
        old, c = beta[i], cost[i]
        under, over = low[i] - g, g - high[i]
        if kind != SQUARED:
            up, down = max(old, 0.0), max(-old, 0.0)
            gap += (c - up) * max(under, 0.0) + up * max(-under, 0.0)
            gap += (c - down) * max(over, 0.0) + down * max(-over, 0.0)
            if old == 0.0 and under < -far and over < -far:
                continue
            if (old >= c and under > far) or (old <= -c and over > far):
                continue
        else:
            off = old - 2 * c * (max(under, 0.0) - max(over, 0.0))
            gap += off * off / (4 * c)
            if old == 0.0 and under < -far and over < -far:
                continue
        order[stay], order[k] = i, order[stay]
        stay += 1
        q = sq_norm[i] + pull_b
        new = _best(kind, old, g, low[i], high[i], c, q) if q > 0 else old
        change = new - old
        if change != 0.0:
            worst = max(worst, abs(change) * q)
            beta[i] = new
            b += pull_b * change
            for t in range(indptr[i], indptr[i + 1]):
                w[columns[t]] += change * values[t]
    return stay, b, gap, worst
