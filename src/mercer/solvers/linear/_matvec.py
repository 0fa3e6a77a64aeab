"""Compiled passes over rows, dense or CSR: scores X w + b, sums Xᵀβ, and XᵀDX of sparse rows.

Data may be float32 or float64; sums are float64 always. Compiled code allocates nothing. Columns
are unsigned: compiled code then need not ask whether they count from the end.
"""

from __future__ import annotations

import math

from mercer._numba import REASSOCIATE, compiled

CONTRACT = frozenset({"contract"})

__all__ = [
    "count_nonzeros",
    "csr_add",
    "csr_bend",
    "csr_dot",
    "csr_gram",
    "csr_scores",
    "csr_sides",
    "csr_sum",
    "dense_bend",
    "dense_scale",
    "dense_scores",
    "dense_sides",
    "dense_sum",
    "sq_norms_csr",
    "take_nonzeros",
]


@compiled(fastmath=REASSOCIATE)
def dense_scores(X, w, b, out):
    """out = X w + b."""
    d = w.size
    for i in range(X.shape[0]):
        row = X[i]
        total = 0.0
        for j in range(d):
            total += row[j] * w[j]
        out[i] = total + b


@compiled(fastmath=REASSOCIATE)
def dense_sum(X, beta, out):
    """out = Xᵀβ; rows with β = 0 are not read."""
    d = out.size
    for j in range(d):
        out[j] = 0.0
    for i in range(X.shape[0]):
        c = beta[i]
        if c != 0.0:
            row = X[i]
            for j in range(d):
                out[j] += c * row[j]


@compiled(fastmath=REASSOCIATE)
def dense_sides(X, beta, out):
    """Two sums Xᵀβ: over β above and below zero."""
    out[:] = 0.0
    for i in range(X.shape[0]):
        c = beta[i]
        if c != 0.0:
            row, to = X[i], out[0 if c > 0.0 else 1]
            for j in range(row.size):
                to[j] += c * row[j]


@compiled(fastmath=REASSOCIATE)
def dense_bend(X, curvature, w, b, out):
    """out = XᵀD(X w + b); return the sum of D(X w + b). Rows without curvature are not read."""
    d = out.size
    for j in range(d):
        out[j] = 0.0
    total = 0.0
    for i in range(X.shape[0]):
        if curvature[i] != 0.0:
            row = X[i]
            bent = b
            for j in range(d):
                bent += row[j] * w[j]
            bent *= curvature[i]
            total += bent
            for j in range(d):
                out[j] += bent * row[j]
    return total


@compiled(fastmath=REASSOCIATE)
def dense_scale(X, curvature, first, last, out):
    """Rows first..last with a curvature, times its root, with a 1 at their end; how many."""
    used, d = 0, X.shape[1]
    for i in range(first, last):
        if curvature[i] != 0.0:
            root = math.sqrt(curvature[i])
            row, to = X[i], out[used]
            for j in range(d):
                to[j] = root * row[j]
            to[d] = root
            used += 1
    return used


@compiled(fastmath=CONTRACT)
def csr_dot(columns, values, w, first, last):
    """One row times w, in four sums: one would wait for itself, vectors for slow gathers."""
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    t = first
    while t + 3 < last:
        s0 += values[t] * w[columns[t]]
        s1 += values[t + 1] * w[columns[t + 1]]
        s2 += values[t + 2] * w[columns[t + 2]]
        s3 += values[t + 3] * w[columns[t + 3]]
        t += 4
    while t < last:
        s0 += values[t] * w[columns[t]]
        t += 1
    return (s0 + s1) + (s2 + s3)


@compiled
def csr_add(columns, values, factor, w, first, last):
    """w += factor · row, four columns at a time: no two of them are the same."""
    t = first
    while t + 3 < last:
        j0, j1, j2, j3 = columns[t], columns[t + 1], columns[t + 2], columns[t + 3]
        w0, w1 = w[j0] + factor * values[t], w[j1] + factor * values[t + 1]
        w2, w3 = w[j2] + factor * values[t + 2], w[j3] + factor * values[t + 3]
        w[j0], w[j1], w[j2], w[j3] = w0, w1, w2, w3
        t += 4
    while t < last:
        w[columns[t]] += factor * values[t]
        t += 1


@compiled
def csr_scores(indptr, columns, values, w, b, out):
    """out = X w + b."""
    for i in range(indptr.size - 1):
        out[i] = csr_dot(columns, values, w, indptr[i], indptr[i + 1]) + b


@compiled
def csr_sum(indptr, columns, values, beta, out):
    """out = Xᵀβ."""
    for j in range(out.size):
        out[j] = 0.0
    for i in range(indptr.size - 1):
        c = beta[i]
        if c != 0.0:
            csr_add(columns, values, c, out, indptr[i], indptr[i + 1])


@compiled
def csr_sides(indptr, columns, values, beta, out):
    """Two sums Xᵀβ: over β above and below zero."""
    out[:] = 0.0
    for i in range(indptr.size - 1):
        c = beta[i]
        if c != 0.0:
            csr_add(columns, values, c, out[0 if c > 0.0 else 1], indptr[i], indptr[i + 1])


@compiled
def csr_bend(indptr, columns, values, curvature, w, b, out):
    """out = XᵀD(X w + b); return the sum of D(X w + b). Rows without curvature are not read."""
    for j in range(out.size):
        out[j] = 0.0
    total = 0.0
    for i in range(indptr.size - 1):
        if curvature[i] != 0.0:
            first, last = indptr[i], indptr[i + 1]
            bent = curvature[i] * (csr_dot(columns, values, w, first, last) + b)
            total += bent
            csr_add(columns, values, bent, out, first, last)
    return total


@compiled
def csr_gram(indptr, columns, values, curvature, out):
    """Add Xᵀ D X, with a 1 at the end of each row, to the lower half of ``out``."""
    d = out.shape[0] - 1
    for i in range(indptr.size - 1):
        c = curvature[i]
        if c != 0.0:
            for t in range(indptr[i], indptr[i + 1]):
                scaled, row = c * values[t], out[columns[t]]
                for u in range(indptr[i], t + 1):  # columns are sorted
                    row[columns[u]] += scaled * values[u]
                out[d, columns[t]] += scaled
            out[d, d] += c


@compiled
def sq_norms_csr(indptr, values, out):
    for i in range(indptr.size - 1):
        total = 0.0
        for t in range(indptr[i], indptr[i + 1]):
            total += values[t] * values[t]
        out[i] = total


@compiled
def count_nonzeros(X, out):
    for i in range(X.shape[0]):
        row = X[i]
        count = 0
        for j in range(row.size):
            count += row[j] != 0
        out[i] = count


@compiled
def take_nonzeros(X, indptr, columns, values):
    for i in range(X.shape[0]):
        row = X[i]
        t = indptr[i]
        for j in range(row.size):
            if row[j] != 0:
                columns[t], values[t] = j, row[j]
                t += 1
