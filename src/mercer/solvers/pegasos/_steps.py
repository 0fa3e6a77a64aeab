"""Compiled passes of Pegasos: subgradient steps on rows, and coordinate ascent on its dual.

After t steps w = u / (λt), where u is the sum of ±weight·x over the visits at which f was outside
its loss interval [low, high]: + below it, − above (a batch counts with its mean). So a step without
such a row costs one dot product and changes nothing. The average of the iterates, step t with
weight t, is

    w̄ = Σ t·w_t / Σ t = 2 Σ u_t / (λ t (t + 1)),

and Σ u_t needs no pass of its own: with v the sum up to a common factor s, a = Σ s_t, and z the sum
of the increments times the value of a before them, Σ s_t v_t = a v − z. The factor s belongs to the
projection of w onto the ball of radius 1/√λ, which multiplies w by a number.

The last entry of u belongs to a column of the constant ``one``: 1 with an intercept, else 0.
"""

from __future__ import annotations

import numpy as np

from mercer._numba import REASSOCIATE, compiled
from mercer.solvers._coordinate_ascent import best_coordinate

__all__ = [
    "BLOCK_ROWS",
    "fill_hinge_intervals",
    "run_dense",
    "run_kernel",
    "run_sparse",
    "shuffle",
    "sweep_dense",
    "sweep_sparse",
]

# Rows of a block: shuffled among themselves, and read ahead together.
BLOCK_ROWS = 2048


@compiled
def shuffle(rows, blocks, seed, out):
    """Blocks of rows in the order ``blocks``, the rows of each at random.

    Fisher and Yates with the generator SplitMix64.
    """
    start, state = 0, np.uint64(seed)
    for number in blocks:
        block = rows[number * BLOCK_ROWS : (number + 1) * BLOCK_ROWS]
        out[start : start + block.size] = block
        for k in range(block.size - 1, 0, -1):
            state += np.uint64(0x9E3779B97F4A7C15)
            x = state
            x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            x ^= x >> np.uint64(31)
            other = start + np.int64(((x >> np.uint64(32)) * np.uint64(k + 1)) >> np.uint64(32))
            out[start + k], out[other] = out[other], out[start + k]
        start += block.size


@compiled
def fill_hinge_intervals(is_positive, low, high):
    """[1, ∞) of positive labels, (−∞, −1] of the others."""
    for i in range(is_positive.size):
        low[i] = 1.0 if is_positive[i] else -np.inf
        high[i] = np.inf if is_positive[i] else -1.0


@compiled(fastmath=REASSOCIATE)
def _dot(x, v):
    total = 0.0
    for j in range(x.size):
        total += x[j] * v[j]
    return total


@compiled(fastmath=REASSOCIATE)
def _add(v, x, factor):
    for j in range(x.size):
        v[j] += factor * x[j]


@compiled
def _sign(f, low, high):
    """Minus the subgradient of the loss: +1 below the interval, −1 above, 0 within."""
    if f < low:
        return 1.0
    return -1.0 if f > high else 0.0


@compiled
def _projected(norm_sq, s, lam, t):
    """The common factor after the projection of w = s u/(λt) onto the ball of radius 1/√λ."""
    size_sq = norm_sq * (s / (lam * t)) ** 2
    return s / np.sqrt(size_sq * lam) if size_sq * lam > 1.0 else s


@compiled
def _prefetch(X, lo, hi):
    """Read rows once in memory order, several times faster than in a random one.

    One number of each cache line (64 bytes).
    """
    total = X[lo, 0]
    for i in range(lo, hi):
        for j in range(0, X.shape[1], 64 // X.itemsize):
            total += X[i, j]
    return total


@compiled(fastmath=REASSOCIATE)
def _run_block(X, one, intervals, order, batch, lam, project, state, u, g, z, sign_sums):
    """Steps over the rows ``order``, whose low, high and weight are the rows of ``intervals``.

    ``state`` is t, s, a, ‖u‖², the rows left, and of the current batch how many rows were visited
    and whether one of them has a subgradient, whose sum is g.
    """
    t, s, a, norm_sq, left, visited, has_gradient = state
    d = X.shape[1]
    for p in range(order.size):
        i = np.uint64(order[p])
        f = one * u[d]
        for j in range(d):
            f += X[i, j] * u[j]
        # w·x = s f/(λt) against the interval; before the first step w = 0, and f = 0.
        scale = lam * t / s if t > 0 else 1.0
        sign = (
            1.0 if f < intervals[0, p] * scale else (-1.0 if f > intervals[1, p] * scale else 0.0)
        )
        size = min(batch, left)
        if sign != 0.0:
            has_gradient = True
            c = intervals[2, p] * sign / (size * s)
            for j in range(d):
                g[j] += c * X[i, j]
            g[d] += c * one
            if sign_sums.size > 0:
                sign_sums[order[p]] += sign
        visited += 1
        if visited < size:
            continue
        if has_gradient:
            for j in range(d + 1):
                u[j] += g[j]
                z[j] += a * g[j]
                g[j] = 0.0
            norm_sq = _dot(u, u) if project else 0.0
        t += 1
        if project:
            s = _projected(norm_sq, s, lam, t)
        a += s
        left, visited, has_gradient = left - size, 0, False
    return t, s, a, norm_sq, left, visited, has_gradient


@compiled
def run_dense(X, one, low, high, weight, order, batch, lam, project, t, u, total, sign_sums):
    """Steps over rows of an array in the given order; returns t.

    ``u``, ``total`` and, unless it is empty, ``sign_sums`` change in place.
    """
    d = X.shape[1]
    g, z = np.zeros(d + 1), np.zeros(d + 1)
    intervals = np.empty((3, min(BLOCK_ROWS, order.size)))
    state = t, 1.0, 0.0, _dot(u, u) if project else 0.0, order.size, 0, False
    for first in range(0, order.size, BLOCK_ROWS):
        block = order[first : first + BLOCK_ROWS]
        lo, hi = block.min(), block.max() + 1
        if hi - lo < 2 * BLOCK_ROWS:
            intervals[0, 0] = _prefetch(X, lo, hi)
        for e, values in enumerate((low, high, weight)):
            for p in range(block.size):
                intervals[e, p] = values[np.uint64(block[p])]
        state = _run_block(X, one, intervals, block, batch, lam, project, state, u, g, z, sign_sums)
    for j in range(d + 1):
        total[j] += state[2] * u[j] - z[j]
        u[j] *= state[1]
    return state[0]


@compiled
def _dot_sparse(values, columns, v):
    total = 0.0
    for p in range(values.size):
        total += values[p] * v[columns[p]]
    return total


@compiled
def _add_sparse(v, values, columns, factor):
    for p in range(values.size):
        v[columns[p]] += factor * values[p]


@compiled
def run_sparse(
    indptr,
    columns,
    values,
    one,
    low,
    high,
    weight,
    order,
    batch,
    lam,
    project,
    t,
    u,
    total,
    sign_sums,
):
    """As `run_dense` on CSR rows."""
    d = u.size - 1
    z = np.zeros(d + 1)
    sign = np.empty(batch)
    s, a, norm_sq = 1.0, 0.0, _dot(u, u) if project else 0.0
    for first in range(0, order.size, batch):
        size = min(batch, order.size - first)
        scale = s / (lam * t) if t > 0 else 0.0
        for p in range(size):
            i = order[first + p]
            x, at = values[indptr[i] : indptr[i + 1]], columns[indptr[i] : indptr[i + 1]]
            sign[p] = _sign(scale * (_dot_sparse(x, at, u) + one * u[d]), low[i], high[i])
        for p in range(size):
            if sign[p] == 0.0:
                continue
            i = order[first + p]
            x, at = values[indptr[i] : indptr[i + 1]], columns[indptr[i] : indptr[i + 1]]
            c = weight[i] * sign[p] / (size * s)
            if project:
                norm_sq += c * (2 * (_dot_sparse(x, at, u) + one * u[d]) + c * (_dot(x, x) + one))
            _add_sparse(u, x, at, c)
            _add_sparse(z, x, at, a * c)
            u[d] += c * one
            z[d] += a * c * one
            if sign_sums.size > 0:
                sign_sums[i] += sign[p]
        t += 1
        if project:
            s = _projected(norm_sq, s, lam, t)
        a += s
    for j in range(d + 1):
        total[j] += a * u[j] - z[j]
        u[j] *= s
    return t


@compiled
def run_kernel(K, f, low, high, weight, order, batch, lam, project, t, u, total, sign_sums):
    """As `run_dense` with a coefficient u for each row of K; f = K u is updated incrementally."""
    z = np.zeros(u.size)
    sign = np.empty(batch)
    s, a, norm_sq = 1.0, 0.0, _dot(u, f) if project else 0.0
    for first in range(0, order.size, batch):
        size = min(batch, order.size - first)
        scale = s / (lam * t) if t > 0 else 0.0
        for p in range(size):
            i = order[first + p]
            sign[p] = _sign(scale * f[i], low[i], high[i])
        for p in range(size):
            if sign[p] == 0.0:
                continue
            i = order[first + p]
            c = weight[i] * sign[p] / (size * s)
            norm_sq += c * (2 * f[i] + c * K[i, i])
            u[i] += c
            z[i] += a * c
            _add(f, K[i], c)
            sign_sums[i] += sign[p]
        t += 1
        if project:
            s = _projected(norm_sq, s, lam, t)
        a += s
    for j in range(u.size):
        total[j] += a * u[j] - z[j]
        u[j] *= s
        f[j] *= s
    return t


@compiled
def _best_dual(beta, f, low, high, C, sq_norm):
    """The β that maximises the dual along one coordinate, with a kink at zero."""
    up = best_coordinate(low - f, sq_norm, beta, 0.0, C, 0.0)
    return up if up > 0.0 else best_coordinate(high - f, sq_norm, beta, -C, 0.0, 0.0)


@compiled
def sweep_dense(X, one, low, high, C, sq_norms, order, beta, w):
    """Coordinate ascent on the dual, once over the rows; w = Σ βᵢ xᵢ is updated."""
    d = X.shape[1]
    for i in order:
        f = _dot(X[i], w) + one * w[d]
        new = _best_dual(beta[i], f, low[i], high[i], C[i], sq_norms[i])
        delta = new - beta[i]
        if delta != 0.0:
            beta[i] = new
            _add(w, X[i], delta)
            w[d] += delta * one


@compiled
def sweep_sparse(indptr, columns, values, one, low, high, C, sq_norms, order, beta, w):
    """As `sweep_dense` on CSR rows."""
    d = w.size - 1
    for i in order:
        x, at = values[indptr[i] : indptr[i + 1]], columns[indptr[i] : indptr[i + 1]]
        f = _dot_sparse(x, at, w) + one * w[d]
        new = _best_dual(beta[i], f, low[i], high[i], C[i], sq_norms[i])
        delta = new - beta[i]
        if delta != 0.0:
            beta[i] = new
            _add_sparse(w, x, at, delta)
            w[d] += delta * one
