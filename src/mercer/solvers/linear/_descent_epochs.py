"""Compiled epochs of dual coordinate descent (`_coordinate_descent` has the method).

Many epochs run in one call: on small data a call from Python takes as long as an epoch.

Rows are (indptr, columns, values) of CSR, or with columns=None those of a dense array: which of the
two is known at compile time, as is whether there is a diagonal D. With it the duals are those of
XXᵀ + D, and scores are (XXᵀ + D)β + b.
"""

from __future__ import annotations

from mercer._numba import REASSOCIATE, compiled, larger, prefetch
from mercer.problems._losses import SQUARED, UNBOUNDED, interval_gap
from mercer.solvers.linear._matvec import csr_add, csr_dot, dense_add, dense_dot

__all__ = ["descend", "dual_gain", "mark_active", "prefetch_row"]

# Nonzeros from which rows are prefetched, some 12 MB: smaller data are near enough in the caches.
PREFETCHED_FROM = 1 << 20


@compiled(inner=True)
def _row_gain(kind, beta, low, high, C):
    """−L*(−β) of a row, without a branch that depends on β: its sign cannot be predicted."""
    gain = larger(beta, 0.0) * low - larger(-beta, 0.0) * high
    return gain - beta * beta / (4 * C) if kind == SQUARED else gain


@compiled
def dual_gain(kind, beta, low, high, C):
    """−Σ L*(−β) = Σ (low·β₊ − high·β₋), for squared losses less β²/(4C)."""
    total = 0.0
    for i in range(beta.size):
        total += _row_gain(kind, beta[i], low[i], high[i], C[i])
    return total


@compiled(fastmath=REASSOCIATE, inner=True)
def _sq_length(w):
    total = 0.0
    for j in range(w.size):
        total += w[j] * w[j]
    return total


@compiled(inner=True)
def _maximiser(kind, beta, g, low, high, C, q):
    """The β that maximises the dual of its row."""
    if kind == SQUARED:
        q += 0.5 / C
        g += beta * 0.5 / C
        C = UNBOUNDED
    inverse = 1.0 / q  # known before g is
    up, down = beta + (low - g) * inverse, beta + (high - g) * inverse
    return larger(-larger(-up, -C), 0.0) - larger(-larger(down, -C), 0.0)  # one of them is zero


@compiled(inner=True)
def _stays_active(kind, beta, under, over, C, distance):
    """False if β is at a bound and the score further than ``distance`` on the right side."""
    is_zero = (beta == 0.0) & (under < -distance) & (over < -distance)
    if kind == SQUARED:
        return not is_zero
    at_C = ((beta >= C) & (under > distance)) | ((beta <= -C) & (over > distance))
    return not (is_zero | at_C)


@compiled
def mark_active(kind, g, beta, low, high, C, distance, out):
    """Which of all rows are active."""
    for i in range(g.size):
        out[i] = _stays_active(kind, beta[i], low[i] - g[i], g[i] - high[i], C[i], distance)


@compiled(inner=True)
def prefetch_row(indptr, columns, values, i):
    """Prefetch row i, in cache lines of 64 bytes."""
    for t in range(indptr[i], indptr[i + 1], 64 // values.itemsize):
        prefetch(values, t)
    if columns is not None:
        for t in range(indptr[i], indptr[i + 1], 64 // columns.itemsize):
            prefetch(columns, t)


@compiled(inner=True)
def _row_dot(columns, values, w, start, end):
    """x·w."""
    if columns is None:
        return dense_dot(values, w, start, end)
    else:  # noqa: RET505 (only one of the two is compiled)
        return csr_dot(columns, values, w, start, end)


@compiled(inner=True)
def _row_add(columns, values, change, w, start, end):
    """w += change · x."""
    if columns is None:
        dense_add(values, change, w, start, end)
    else:
        csr_add(columns, values, change, w, start, end)


@compiled(inner=True)
def _entry(diagonal, i):
    """D of row i; 0 without one."""
    if diagonal is None:
        return 0.0
    else:  # noqa: RET505
        return diagonal[i]


@compiled(inner=True)
def _diagonal_form(diagonal, beta):
    """βᵀDβ."""
    total = 0.0
    if diagonal is not None:
        for i in range(beta.size):
            total += diagonal[i] * beta[i] * beta[i]
    return total


@compiled(inner=True)
def _gap_term(kind, beta, under, over, C):
    """The gap of a row."""
    if kind != SQUARED:
        return interval_gap(beta, under, over, C)
    off = beta - 2 * C * (max(under, 0.0) - max(over, 0.0))
    return off * off / (4 * C)


@compiled(inner=True)
def _total(beta):
    total = 0.0
    for i in range(beta.size):
        total += beta[i]
    return total


@compiled(inner=True)
def _shuffle(order, count, random):
    """Fisher and Yates's shuffle of the first entries; ``random[0]`` is the state of xorshift64."""
    x = random[0]
    for k in range(count - 1, 0, -1):
        x ^= x << 13
        x ^= x >> 7
        x ^= x << 17
        j = ((x >> 32) * (k + 1)) >> 32
        order[k], order[j] = order[j], order[k]
    random[0] = x


@compiled
def descend(kind, rows, losses, norms, model, numbers, counts, random, limits):
    """Epochs over the active rows until the running gap is small; w, β and b change in place.

    ``norms`` are ‖x‖² of the rows, s² (by which a unit of β changes b), whether b is free, and D or
    None; the model is w, β and the active rows. ``numbers`` are b, the distance at which rows
    become inactive, the gap terms and the largest change of a score in this epoch, and the dual
    value without the term of a penalised b. ``counts`` are the next position, rows kept so far,
    active rows, rows visited in the last epoch, all epochs and all visits. ``limits`` are those of
    the visits in this call, of all visits and of all epochs, the fraction of the largest change
    that gives the distance, and the relative gap to be checked.
    Returns whether an epoch is complete, and whether its running gap is within that of the limits.
    """
    sq_norm, sq_ones, is_free, diagonal = norms
    indptr, columns, values = rows
    low, high, C = losses
    w, beta, active = model
    call_visits, all_visits, all_epochs, shrink_fraction, check = limits
    b, distance, gap, worst, dual = numbers
    k, stay, size = counts[0], counts[1], counts[2]
    visits, is_large = 0, values.size >= PREFETCHED_FROM
    if k == 0:
        dual = dual_gain(kind, beta, low, high, C)
        dual -= (_sq_length(w) + _diagonal_form(diagonal, beta)) / 2
    while True:
        if k == 0:
            _shuffle(active, size, random)  # in one order for all, twice as many epochs are needed
        while k < size and visits < call_visits:
            i = active[k]
            if is_large and k + 3 < size:  # three visits ahead
                prefetch_row(indptr, columns, values, active[k + 3])
            k += 1
            visits += 1
            start, end = indptr[i], indptr[i + 1]
            old, c, own = beta[i], C[i], _entry(diagonal, i)
            score = _row_dot(columns, values, w, start, end) + own * old
            g = b + score
            under, over = low[i] - g, g - high[i]
            gap += _gap_term(kind, old, under, over, c)
            if not _stays_active(kind, old, under, over, c, distance):
                continue
            active[stay] = i
            stay += 1
            # Of an empty row, β goes to a bound at once.
            q = max(sq_norm[i] + sq_ones + own, 1e-200)
            change = _maximiser(kind, old, g, low[i], high[i], c, q) - old
            if change != 0.0:
                worst = max(worst, abs(change) * q)
                beta[i] = old + change
                b += sq_ones * change
                dual += _row_gain(kind, beta[i], low[i], high[i], c)
                dual -= _row_gain(kind, old, low[i], high[i], c)
                dual -= change * (score + change * (sq_norm[i] + own) / 2)
                _row_add(columns, values, change, w, start, end)
        if k < size:
            numbers[0], numbers[1], numbers[2] = b, distance, gap
            numbers[3], numbers[4] = worst, dual
            counts[0], counts[1], counts[2], counts[5] = k, stay, size, counts[5] + visits
            return False, False
        if is_free:  # b₀ of the next epoch
            b += sq_ones * _total(beta)
        distance = max(shrink_fraction * worst, 1e-12)
        is_small = gap <= check * (max(dual, 0.0) + gap) or stay == 0
        counts[3], counts[4] = size, counts[4] + 1
        size = stay
        is_last = visits >= call_visits or counts[5] + visits >= all_visits
        if is_small or is_last or counts[4] >= all_epochs:
            numbers[0], numbers[1], numbers[2] = b, distance, gap
            numbers[3], numbers[4] = 0.0, dual
            counts[0], counts[1], counts[2], counts[5] = 0, 0, size, counts[5] + visits
            return True, is_small
        k, stay, gap, worst = 0, 0, 0.0, 0.0
