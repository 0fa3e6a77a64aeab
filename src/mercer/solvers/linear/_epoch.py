"""Compiled: one epoch of dual coordinate descent over CSR rows.

For one row with everything else fixed the dual is a parabola in β with an edge at zero; its minimum
is a clipped step from either edge (Hsieh et al., ICML 2008, eq. 9; Ho and Lin, JMLR 2012, for the
two edges of regression).
"""

from __future__ import annotations

from mercer._compiled import compiled
from mercer.problems.losses import SQUARED
from mercer.solvers.linear._passes import csr_dot

__all__ = ["epoch"]

# The curvature of a row without entries or intercept: its β goes to a bound at once.
_TINY = 1e-200


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
    kind, indptr, columns, values, sq_norm, low, high, cost, pull_b, active, blocks, block, far,
    w, beta, b, stays,
):  # fmt: skip
    """Visit the active rows, in blocks of neighbours; w and β change in place.

    ``pull_b`` is what a unit of β adds to b. A row need not stay if its β is at a bound, or zero,
    and its score is further than ``far`` on the right side. Returns b, the sum of Fenchel–Young
    terms met on the way (about the gap), and the largest such distance on the wrong side.
    """
    gap, worst = 0.0, 0.0
    for first in blocks:
        for k in range(first, min(first + block, active.size)):
            i = active[k]
            start, end = indptr[i], indptr[i + 1]
            g = b + csr_dot(columns, values, w, start, end)
            old, c = beta[i], cost[i]
            under, over = low[i] - g, g - high[i]
            stays[k] = not (old == 0.0 and under < -far and over < -far)
            if kind != SQUARED:
                up, down = max(old, 0.0), max(-old, 0.0)
                gap += (c - up) * max(under, 0.0) + up * max(-under, 0.0)
                gap += (c - down) * max(over, 0.0) + down * max(-over, 0.0)
                if (old >= c and under > far) or (old <= -c and over > far):
                    stays[k] = False
            else:
                off = old - 2 * c * (max(under, 0.0) - max(over, 0.0))
                gap += off * off / (4 * c)
            if not stays[k]:
                continue
            q = max(sq_norm[i] + pull_b, _TINY)
            change = _best(kind, old, g, low[i], high[i], c, q) - old
            if change != 0.0:
                worst = max(worst, abs(change) * q)
                beta[i] = old + change
                b += pull_b * change
                for t in range(start, end):
                    w[columns[t]] += change * values[t]
    return b, gap, worst
