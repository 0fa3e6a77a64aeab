"""Compiled passes of Pegasos: sub-gradient steps on rows, and sweeps over its dual.

After t steps w = u / (λt), where u is the sum of ±weight·x over the examples whose f was outside of
its corridor [low, high] when they were met: + below it, − above (a batch counts with its mean). So
a step that meets no such example costs one dot product and changes nothing. Steps of the later and
better w weigh more in the average,

    w̄ = Σ t·w_t / Σ t = 2 Σ u_t / (λ t (t + 1)),

and Σ u_t needs no work of its own either: with v the sum up to a common factor s, a = Σ s_t, and z
the sum of what was added times the a before it, Σ s_t v_t = a v − z. The factor s is there for the
projection of w onto the ball of radius 1/√λ, which shrinks everything by a number.

The last entry of u belongs to a column of the constant ``one``: 1 with an intercept, else 0.
"""

from __future__ import annotations

import numpy as np

from mercer._numba import REASSOCIATE, compiled

__all__ = [
    "BLOCK_ROWS", "hinge_ends", "run_dense", "run_kernel", "run_sparse", "shuffle", "sweep_dense",
    "sweep_sparse",
]  # fmt: skip

# Rows that are shuffled among themselves; of any order, so many are fetched at a time.
BLOCK_ROWS = 2048
# Numbers of 4 bytes in what memory moves at a time.
CACHE_LINE = 16


@compiled
def shuffle(rows, turns, seed, out):
    """Blocks of rows in the order of ``turns``, the rows of each at random.

    Fisher and Yates with the generator SplitMix64.
    """
    start, state = 0, np.uint64(seed)
    for turn in turns:
        block = rows[turn * BLOCK_ROWS : (turn + 1) * BLOCK_ROWS]
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
def hinge_ends(is_up, low, high):
    """Where f costs nothing: [1, ∞) for labels that are up, (−∞, −1] for the others."""
    for i in range(is_up.size):
        low[i] = 1.0 if is_up[i] else -np.inf
        high[i] = np.inf if is_up[i] else -1.0


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
def _pull(f, low, high):
    """Where f has to go: up from below the corridor, down from above."""
    if f < low:
        return 1.0
    return -1.0 if f > high else 0.0


@compiled
def _shrink(norm_sq, s, lam, t):
    """The factor after the projection onto the ball of radius 1/√λ."""
    size_sq = norm_sq * (s / (lam * t)) ** 2
    return s / np.sqrt(size_sq * lam) if size_sq * lam > 1.0 else s


@compiled
def _fetch(X, lo, hi):
    """Read rows once in their order: memory is several times faster at it than in any other."""
    total = X[lo, 0]
    for i in range(lo, hi):
        for j in range(0, X.shape[1], CACHE_LINE):
            total += X[i, j]
    return total


@compiled(fastmath=REASSOCIATE)
def _step(X, one, ends, order, batch, lam, project, now, u, g, z, hits):
    """Steps over rows; their ends are in the order's.

    ``now`` is t, s, a, ‖u‖², the rows left, and of a batch that has begun how many were met and
    whether one of them pulls; g is their sum.
    """
    t, s, a, norm_sq, left, met, pulled = now
    d = X.shape[1]
    for p in range(order.size):
        i = np.uint64(order[p])
        f = one * u[d]
        for j in range(d):
            f += X[i, j] * u[j]
        # w = s u / (λt) against the corridor; before the first step it is zero, and so is f.
        reach = lam * t / s if t > 0 else 1.0
        pull = 1.0 if f < ends[0, p] * reach else (-1.0 if f > ends[1, p] * reach else 0.0)
        size = min(batch, left)
        if pull != 0.0:
            pulled = True
            c = ends[2, p] * pull / (size * s)
            for j in range(d):
                g[j] += c * X[i, j]
            g[d] += c * one
            if hits.size > 0:
                hits[order[p]] += pull
        met += 1
        if met < size:
            continue
        if pulled:
            for j in range(d + 1):
                u[j] += g[j]
                z[j] += a * g[j]
                g[j] = 0.0
            norm_sq = _dot(u, u) if project else 0.0
        t += 1
        if project:
            s = _shrink(norm_sq, s, lam, t)
        a += s
        left, met, pulled = left - size, 0, False
    return t, s, a, norm_sq, left, met, pulled


@compiled
def run_dense(X, one, low, high, weight, order, batch, lam, project, t, u, total, hits):
    """Steps over rows of an array in the given order; u, total and hits change in place.

    Hits are counted if there is room for them.
    """
    d = X.shape[1]
    g, z = np.zeros(d + 1), np.zeros(d + 1)
    ends = np.empty((3, min(BLOCK_ROWS, order.size)))
    now = t, 1.0, 0.0, _dot(u, u) if project else 0.0, order.size, 0, False
    for first in range(0, order.size, BLOCK_ROWS):
        some = order[first : first + BLOCK_ROWS]
        lo, hi = some.min(), some.max() + 1
        if hi - lo < 2 * BLOCK_ROWS:
            ends[0, 0] = _fetch(X, lo, hi)
        for e, values in enumerate((low, high, weight)):
            for p in range(some.size):
                ends[e, p] = values[np.uint64(some[p])]
        now = _step(X, one, ends, some, batch, lam, project, now, u, g, z, hits)
    for j in range(d + 1):
        total[j] += now[2] * u[j] - z[j]
        u[j] *= now[1]
    return now[0]


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
    indptr, columns, values, one, low, high, weight, order, batch, lam, project, t, u, total, hits
):
    """As `run_dense` on sparse rows."""
    d = u.size - 1
    z = np.zeros(d + 1)
    pull = np.empty(batch)
    s, a, norm_sq = 1.0, 0.0, _dot(u, u) if project else 0.0
    for first in range(0, order.size, batch):
        size = min(batch, order.size - first)
        scale = s / (lam * t) if t > 0 else 0.0
        for p in range(size):
            i = order[first + p]
            x, at = values[indptr[i] : indptr[i + 1]], columns[indptr[i] : indptr[i + 1]]
            pull[p] = _pull(scale * (_dot_sparse(x, at, u) + one * u[d]), low[i], high[i])
        for p in range(size):
            if pull[p] == 0.0:
                continue
            i = order[first + p]
            x, at = values[indptr[i] : indptr[i + 1]], columns[indptr[i] : indptr[i + 1]]
            c = weight[i] * pull[p] / (size * s)
            if project:
                norm_sq += c * (2 * (_dot_sparse(x, at, u) + one * u[d]) + c * (_dot(x, x) + one))
            _add_sparse(u, x, at, c)
            _add_sparse(z, x, at, a * c)
            u[d] += c * one
            z[d] += a * c * one
            if hits.size > 0:
                hits[i] += pull[p]
        t += 1
        if project:
            s = _shrink(norm_sq, s, lam, t)
        a += s
    for j in range(d + 1):
        total[j] += a * u[j] - z[j]
        u[j] *= s
    return t


@compiled
def run_kernel(K, f, low, high, weight, order, batch, lam, project, t, u, total, hits):
    """As `run_dense` where u holds a coefficient for each point; f = K u is carried along."""
    z = np.zeros(u.size)
    pull = np.empty(batch)
    s, a, norm_sq = 1.0, 0.0, _dot(u, f) if project else 0.0
    for first in range(0, order.size, batch):
        size = min(batch, order.size - first)
        scale = s / (lam * t) if t > 0 else 0.0
        for p in range(size):
            i = order[first + p]
            pull[p] = _pull(scale * f[i], low[i], high[i])
        for p in range(size):
            if pull[p] == 0.0:
                continue
            i = order[first + p]
            c = weight[i] * pull[p] / (size * s)
            norm_sq += c * (2 * f[i] + c * K[i, i])
            u[i] += c
            z[i] += a * c
            _add(f, K[i], c)
            hits[i] += pull[p]
        t += 1
        if project:
            s = _shrink(norm_sq, s, lam, t)
        a += s
    for j in range(u.size):
        total[j] += a * u[j] - z[j]
        u[j] *= s
        f[j] *= s
    return t


@compiled
def _best(beta, f, low, high, bound, sq_norm):
    """The coordinate that maximises the dual: at the corridor's near end, or zero within it."""
    up = beta + (low - f) / sq_norm
    if up > 0.0:
        return min(up, bound)
    down = beta + (high - f) / sq_norm
    return max(down, -bound) if down < 0.0 else 0.0


@compiled
def sweep_dense(X, one, low, high, bound, sq_norms, order, beta, w):
    """Coordinate ascent on the dual, once over the rows; w = Σ βᵢ xᵢ is carried along."""
    d = X.shape[1]
    for i in order:
        if sq_norms[i] <= 0.0:
            beta[i] = bound[i] * _pull(0.0, low[i], high[i])
            continue
        f = _dot(X[i], w) + one * w[d]
        new = _best(beta[i], f, low[i], high[i], bound[i], sq_norms[i])
        delta = new - beta[i]
        if delta != 0.0:
            beta[i] = new
            _add(w, X[i], delta)
            w[d] += delta * one


@compiled
def sweep_sparse(indptr, columns, values, one, low, high, bound, sq_norms, order, beta, w):
    """As `sweep_dense` on sparse rows."""
    d = w.size - 1
    for i in order:
        if sq_norms[i] <= 0.0:
            beta[i] = bound[i] * _pull(0.0, low[i], high[i])
            continue
        x, at = values[indptr[i] : indptr[i + 1]], columns[indptr[i] : indptr[i + 1]]
        f = _dot_sparse(x, at, w) + one * w[d]
        new = _best(beta[i], f, low[i], high[i], bound[i], sq_norms[i])
        delta = new - beta[i]
        if delta != 0.0:
            beta[i] = new
            _add_sparse(w, x, at, delta)
            w[d] += delta * one
