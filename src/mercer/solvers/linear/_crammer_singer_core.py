"""Compiled: epochs of the sequential dual method for all classes at once.

For one row with everything else fixed, the dual in its shares a (`mercer.problems._crammer_singer`)
is a parabola with the curvature q = ‖x‖² in every direction: the best shares are the point of the
simplex {a ≥ 0, Σa = C} next to a + u/q (Keerthi et al., KDD 2008).
A constant added to all u changes nothing.

Each row has a list of the classes that are still looked at: ``classes[i, :count[i]]``.
"""

from __future__ import annotations

from mercer._numba import REASSOCIATE, compiled
from mercer.solvers.linear._coordinate_core import AHEAD, expect_row

__all__ = ["at_home", "csr_epoch", "dense_epoch"]


@compiled
def _project(v, m, C):
    """The τ with Σ (v − τ)₊ = C: Newton's method from the left, exact after finitely many steps."""
    top = v[0]
    for j in range(1, m):
        top = max(top, v[j])
    tau, above = top - C, m + 1
    while True:
        total, count = 0.0, 0
        for j in range(m):
            if v[j] > tau:
                total += v[j] - tau
                count += 1
        if count >= above or count == 0:  # fewer and fewer, but for rounding
            return tau
        tau += (total - C) / count
        above = count


@compiled
def _move(shares, kept, m, u, v, C, q, far):
    """The best shares of one row, and which of its classes stay in sight.

    A class leaves if it has no share and its u is more than ``far`` below the largest. Returns how
    many stay, the row's term of the gap, and the largest change of a u; v is the change of β.
    """
    first, met = -1e300, 0.0
    for j in range(m):
        first = max(first, u[j])
        met += shares[kept[j]] * u[j]
    gap = max(C * first - met, 0.0)
    j = 0
    while j < m:
        if shares[kept[j]] == 0.0 and u[j] < first - far:
            m -= 1
            kept[j], kept[m] = kept[m], kept[j]
            u[j] = u[m]
        else:
            j += 1
    if m == 1:
        return m, gap, 0.0
    if q <= 0.0:  # an empty row, which moves nothing: all to the largest u
        for j in range(m):
            v[j] = 2 * C if u[j] == first else 0.0
    else:
        for j in range(m):
            v[j] = shares[kept[j]] + u[j] / q
    tau = _project(v, m, C)
    most = 0.0
    for j in range(m):
        new = max(v[j] - tau, 0.0)
        v[j] = shares[kept[j]] - new
        shares[kept[j]] = new
        most = max(most, abs(v[j]))
    return m, gap, most * q


@compiled(fastmath=REASSOCIATE)
def _dot(x, w):
    total = 0.0
    for c in range(x.size):
        total += x[c] * w[c]
    return total


@compiled(fastmath=REASSOCIATE)
def _add(x, factor, w):
    for c in range(x.size):
        w[c] += factor * x[c]


@compiled(fastmath=REASSOCIATE)
def _add_rows(columns, values, W, first, last, v):
    """v += row · W, four columns of the row at a time: v is then read and written less often."""
    t = first
    while t + 3 < last:
        x0, x1, x2, x3 = values[t], values[t + 1], values[t + 2], values[t + 3]
        w0, w1 = W[columns[t]], W[columns[t + 1]]
        w2, w3 = W[columns[t + 2]], W[columns[t + 3]]
        for c in range(v.size):
            v[c] += x0 * w0[c] + x1 * w1[c] + x2 * w2[c] + x3 * w3[c]
        t += 4
    while t < last:
        _add(W[columns[t]], values[t], v)
        t += 1


@compiled
def at_home(a, codes):
    """The sum of the shares that rows keep for their own class."""
    total = 0.0
    for i in range(codes.size):
        total += a[i, codes[i]]
    return total


@compiled
def dense_epoch(
    X, sq_norm, codes, cost, pull_b, order, active, far, W, b, a, classes, count, u, v
):  # fmt: skip
    """Visit order[:active] and shrink it; W (a row for each class), b and a change in place.

    ``pull_b`` is what a unit of β adds to b; u and v are work arrays, one number for each class. A
    row leaves with the last but one of its classes. Returns how many stay, the sum of the gap's
    terms met on the way, and the largest change of a u.
    """
    gap, worst, stay = 0.0, 0.0, 0
    for step in range(active):
        i = order[step]
        x, kept, m = X[i], classes[i], count[i]
        for j in range(m):
            r = kept[j]
            u[j] = _dot(x, W[r]) + b[r] + (r != codes[i])
        m, term, most = _move(a[i], kept, m, u, v, cost[i], sq_norm[i] + pull_b, far)
        gap += term
        count[i] = m
        if m == 1:
            continue
        order[stay], order[step] = i, order[stay]
        stay += 1
        if most > 0.0:
            worst = max(worst, most)
            for j in range(m):
                if v[j] != 0.0:
                    _add(x, v[j], W[kept[j]])
                    b[kept[j]] += pull_b * v[j]
    return stay, gap, worst


@compiled
def csr_epoch(
    indptr, columns, values, sq_norm, codes, cost, pull_b, order, active, far, W, b, a,
    classes, count, u, v,
):  # fmt: skip
    """The same for CSR rows; W has a row for each column of X."""
    gap, worst, stay = 0.0, 0.0, 0
    for step in range(active):
        i = order[step]
        kept, m = classes[i], count[i]
        if step + AHEAD < active:
            expect_row(indptr, columns, values, order[step + AHEAD])
        if 3 * m > u.size:  # all classes side by side are as fast as a list of some
            v[:] = b
            _add_rows(columns, values, W, indptr[i], indptr[i + 1], v)
            for j in range(m):
                u[j] = v[kept[j]] + (kept[j] != codes[i])
        else:
            for j in range(m):
                u[j] = b[kept[j]] + (kept[j] != codes[i])
            for t in range(indptr[i], indptr[i + 1]):
                x, w = values[t], W[columns[t]]
                for j in range(m):
                    u[j] += x * w[kept[j]]
        m, term, most = _move(a[i], kept, m, u, v, cost[i], sq_norm[i] + pull_b, far)
        gap += term
        count[i] = m
        if m == 1:
            continue
        order[stay], order[step] = i, order[stay]
        stay += 1
        if most > 0.0:
            worst = max(worst, most)
            for j in range(m):
                b[kept[j]] += pull_b * v[j]
            for t in range(indptr[i], indptr[i + 1]):
                x, w = values[t], W[columns[t]]
                for j in range(m):
                    w[kept[j]] += x * v[j]
    return stay, gap, worst
