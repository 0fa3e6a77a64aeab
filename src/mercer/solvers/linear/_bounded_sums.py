"""Compiled: passes over rows that also bound their rounding, plain and with doubled precision.

Plain sums of n products, in any order, with or without fused operations, are off by at most
γ_n Σ|x||w| with γ_n = n u / (1 − n u), u = 2⁻⁵³ (Higham, Accuracy and Stability, eq. 3.5): the
passes return Σ|x||w| beside the sum. The others carry the errors of products and sums along (Dot2
of Ogita, Rump and Oishi, SIAM J. Sci. Comput. 26, 2005, algorithm 5.3); what is left is
u |sum| + γ_n² Σ|x||w| (its theorem 5.5).

No flag that lets the compiler reorder or fuse may stand at the latter.
"""

from __future__ import annotations

from mercer._numba import REASSOCIATE, compiled

__all__ = [
    "csr_precise_scores",
    "csr_precise_sum",
    "csr_sized_scores",
    "csr_sized_sum",
    "csr_tops",
    "dense_precise_scores",
    "dense_precise_sum",
    "dense_sized_scores",
    "dense_sized_sum",
    "dense_tops",
    "precise_total",
]

# 2²⁷ + 1: halves a number of 53 digits (Dekker, Numer. Math. 18, 1971).
_SPLIT = 134217729.0


@compiled(fastmath=REASSOCIATE)
def dense_sized_scores(X, w, out, size):
    """out = X w and size = |X| |w|."""
    d = w.size
    for i in range(X.shape[0]):
        row = X[i]
        total, sizes = 0.0, 0.0
        for j in range(d):
            term = row[j] * w[j]
            total += term
            sizes += abs(term)
        out[i], size[i] = total, sizes


@compiled(fastmath=REASSOCIATE)
def csr_sized_scores(indptr, columns, values, w, out, size):
    """The same for CSR rows."""
    for i in range(indptr.size - 1):
        total, sizes = 0.0, 0.0
        for t in range(indptr[i], indptr[i + 1]):
            term = values[t] * w[columns[t]]
            total += term
            sizes += abs(term)
        out[i], size[i] = total, sizes


@compiled(fastmath=REASSOCIATE)
def dense_sized_sum(X, beta, out):
    """out[0] = Xᵀβ and out[1] = |X|ᵀ|β|; rows with β = 0 are not read."""
    out[:] = 0.0
    total, size = out[0], out[1]
    for i in range(X.shape[0]):
        c = beta[i]
        if c != 0.0:
            row = X[i]
            for j in range(row.size):
                term = c * row[j]
                total[j] += term
                size[j] += abs(term)


@compiled
def csr_sized_sum(indptr, columns, values, beta, out):
    """The same for CSR rows."""
    out[:] = 0.0
    total, size = out[0], out[1]
    for i in range(indptr.size - 1):
        c = beta[i]
        if c != 0.0:
            for t in range(indptr[i], indptr[i + 1]):
                term = c * values[t]
                total[columns[t]] += term
                size[columns[t]] += abs(term)


@compiled(fastmath=REASSOCIATE)
def dense_tops(X, out):
    """The largest |x| of each column."""
    out[:] = 0.0
    for i in range(X.shape[0]):
        row = X[i]
        for j in range(row.size):
            out[j] = max(out[j], abs(row[j]))


@compiled
def csr_tops(indptr, columns, values, out):
    """The same for CSR rows."""
    out[:] = 0.0
    for t in range(indptr[0], indptr[-1]):
        out[columns[t]] = max(out[columns[t]], abs(values[t]))


@compiled
def _two_sum(a, b):
    """The rounded sum and its error."""
    s = a + b
    z = s - a
    return s, (a - (s - z)) + (b - z)


@compiled
def _two_product(a, b):
    """The rounded product and its error."""
    p = a * b
    c = _SPLIT * a
    a_high = c - (c - a)
    a_low = a - a_high
    c = _SPLIT * b
    b_high = c - (c - b)
    b_low = b - b_high
    return p, a_low * b_low - (((p - a_high * b_high) - a_low * b_high) - a_high * b_low)


@compiled
def dense_precise_scores(X, w, b, out):
    """out = X w + b."""
    for i in range(X.shape[0]):
        row = X[i]
        total, rest = b, 0.0
        for j in range(w.size):
            p, e = _two_product(float(row[j]), w[j])
            total, more = _two_sum(total, p)
            rest += e + more
        out[i] = total + rest


@compiled
def csr_precise_scores(indptr, columns, values, w, b, out):
    """The same for CSR rows."""
    for i in range(indptr.size - 1):
        total, rest = b, 0.0
        for t in range(indptr[i], indptr[i + 1]):
            p, e = _two_product(float(values[t]), w[columns[t]])
            total, more = _two_sum(total, p)
            rest += e + more
        out[i] = total + rest


@compiled
def dense_precise_sum(X, beta, total, rest):
    """Add Xᵀβ to total + rest."""
    for i in range(X.shape[0]):
        c = beta[i]
        if c != 0.0:
            row = X[i]
            for j in range(row.size):
                p, e = _two_product(float(row[j]), c)
                total[j], more = _two_sum(total[j], p)
                rest[j] += e + more


@compiled
def csr_precise_sum(indptr, columns, values, beta, total, rest):
    """The same for CSR rows."""
    for i in range(indptr.size - 1):
        c = beta[i]
        if c != 0.0:
            for t in range(indptr[i], indptr[i + 1]):
                j = columns[t]
                p, e = _two_product(float(values[t]), c)
                total[j], more = _two_sum(total[j], p)
                rest[j] += e + more


@compiled
def precise_total(values):
    """Σ values, off by at most u |sum| + γ_n² Σ|values|, and Σ|values|."""
    total, rest, size = 0.0, 0.0, 0.0
    for i in range(values.size):
        total, more = _two_sum(total, values[i])
        rest += more
        size += abs(values[i])
    return total + rest, size
