"""Compiled passes of the perceptron: a mistake is y (f + b) ≤ 0, and moves f by y K[i], b by y."""

from __future__ import annotations

from mercer._numba import REASSOCIATE, compiled

__all__ = ["count_votes", "first_mistake", "kernel_pass", "linear_pass", "sparse_pass"]


@compiled
def first_mistake(order, y, f, b, start):
    """The first position from ``start`` on whose point is on the wrong side."""
    for t in range(start, order.size):
        i = order[t]
        if y[i] * (f[i] + b) <= 0.0:
            return t
    return order.size


@compiled(fastmath=REASSOCIATE)
def kernel_pass(K, order, y, f, b, bias, hits):
    """Visit points in order; returns how many mistakes (their positions in ``hits``), and b."""
    n_hits = 0
    for t in range(order.size):
        i = order[t]
        if y[i] * (f[i] + b) <= 0.0:
            hits[n_hits] = t
            n_hits += 1
            row, s = K[i], y[i]
            for j in range(f.size):
                f[j] += s * row[j]
            b += s * bias
    return n_hits, b


@compiled(fastmath=REASSOCIATE)
def linear_pass(X, order, y, w, b, bias, hits):
    """The same with w itself, for the linear kernel."""
    n_hits = 0
    for t in range(order.size):
        i = order[t]
        row = X[i]
        f = 0.0
        for j in range(w.size):
            f += row[j] * w[j]
        if y[i] * (f + b) <= 0.0:
            hits[n_hits] = t
            n_hits += 1
            for j in range(w.size):
                w[j] += y[i] * row[j]
            b += y[i] * bias
    return n_hits, b


@compiled
def sparse_pass(indptr, columns, values, order, y, w, b, bias, hits):
    """`linear_pass` on CSR rows."""
    n_hits = 0
    for t in range(order.size):
        i = order[t]
        f = 0.0
        for k in range(indptr[i], indptr[i + 1]):
            f += values[k] * w[columns[k]]
        if y[i] * (f + b) <= 0.0:
            hits[n_hits] = t
            n_hits += 1
            for k in range(indptr[i], indptr[i + 1]):
                w[columns[k]] += y[i] * values[k]
            b += y[i] * bias
    return n_hits, b


@compiled
def count_votes(K, slots, signs, bias, survival, out):
    """out_r += Σ_s survival_s · sign(f_s), where f_s at row r is the sum of the first s updates."""
    for r in range(K.shape[0]):
        row = K[r]
        f = 0.0
        for s in range(slots.size):
            f += signs[s] * (row[slots[s]] + bias)
            if f > 0.0:
                out[r] += survival[s]
            elif f < 0.0:
                out[r] -= survival[s]
