"""Compiled: one epoch of dual coordinate descent over CSR rows.

For one row with everything else fixed the dual is a parabola in β with an edge at zero; its minimum
is a clipped step from either edge (Hsieh et al., ICML 2008, eq. 9; Ho and Lin, JMLR 2012, for the
two edges of regression).
"""

from __future__ import annotations

from mercer._numba import compiled, prefetch
from mercer.problems._losses import SQUARED
from mercer.solvers.linear._matvec import csr_add, csr_dot

__all__ = ["AHEAD", "epoch", "expect_row", "gains", "in_sight"]

# The curvature of a row without entries or intercept: its β goes to a bound at once.
_TINY = 1e-200
# Rows are asked for this many visits ahead, by lines of so many bytes.
AHEAD, LINE = 3, 64


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
def _stays(kind, beta, under, over, cost, far):
    """Whether to visit a row again: not if its β is zero, or at a bound, and its score further than
    ``far`` on the right side.
    """
    if beta == 0.0:
        return under >= -far or over >= -far
    if kind == SQUARED:
        return True
    return not ((beta >= cost and under > far) or (beta <= -cost and over > far))


@compiled
def in_sight(kind, g, beta, low, high, cost, far, stays):
    """Which of all rows to visit again."""
    for i in range(g.size):
        stays[i] = _stays(kind, beta[i], low[i] - g[i], g[i] - high[i], cost[i], far)


@compiled
def expect_row(indptr, columns, values, i):
    """Have row i brought into the cache."""
    for t in range(indptr[i], indptr[i + 1], LINE // values.itemsize):
        prefetch(values, t)
    for t in range(indptr[i], indptr[i + 1], LINE // columns.itemsize):
        prefetch(columns, t)


@compiled
def epoch(
    kind, indptr, columns, values, sq_norm, low, high, cost, pull_b, active, far, w, beta, b,
    stays,
):  # fmt: skip
    """Visit the active rows in their order; w and β change in place.

    ``pull_b`` is what a unit of β adds to b. Returns b, the sum of Fenchel–Young terms met on the
    way (about the gap), and the furthest that a score was on the wrong side.
    """
    gap, worst = 0.0, 0.0
    for k in range(active.size):
        i = active[k]
        if k + AHEAD < active.size:
            expect_row(indptr, columns, values, active[k + AHEAD])
        start, end = indptr[i], indptr[i + 1]
        g = b + csr_dot(columns, values, w, start, end)
        old, c = beta[i], cost[i]
        under, over = low[i] - g, g - high[i]
        stays[k] = _stays(kind, old, under, over, c, far)
        if kind != SQUARED:
            up, down = max(old, 0.0), max(-old, 0.0)
            gap += (c - up) * max(under, 0.0) + up * max(-under, 0.0)
            gap += (c - down) * max(over, 0.0) + down * max(-over, 0.0)
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
            csr_add(columns, values, change, w, start, end)
    return b, gap, worst


@compiled
def gains(kind, beta, low, high, cost):
    """−Σ L*(−β), what duals gain before their w costs: low·β₊ − high·β₋, squared less β²/4C."""
    total = 0.0
    for i in range(beta.size):
        total += beta[i] * (low[i] if beta[i] > 0.0 else high[i]) if beta[i] != 0.0 else 0.0
        if kind == SQUARED:
            total -= beta[i] * beta[i] / (4 * cost[i])
    return total
