"""Compiled products with the data matrix, dense or CSR: X w + b, Xᵀβ, XᵀDX.

Data may be float32 or float64; sums are float64 always. Compiled code allocates nothing. Columns
are unsigned: negative indices need not be handled.

Products with a bound of their rounding come in two precisions. Plain sums of n products, in any
order, with or without fused operations, are off by at most γ_n Σ|x||w| with γ_n = n u / (1 − n u),
u = 2⁻⁵³ (Higham, Accuracy and Stability, eq. 3.5): ``*_with_size`` return Σ|x||w| beside the sum.
``*_doubled`` add the errors of products and sums (Dot2 of Ogita, Rump and Oishi, SIAM J. Sci.
Comput. 26, 2005, algorithm 5.3); what is left is u |sum| + γ_n² Σ|x||w| (its theorem 5.5). No flag
that lets the compiler reorder or fuse may stand at the latter. They take CSR rows only: blocks of
dense rows are handed over as CSR.
"""

from __future__ import annotations

import math

from mercer._numba import REASSOCIATE, compiled

__all__ = [
    "count_nonzeros",
    "csr_add",
    "csr_dot",
    "csr_hessian_product",
    "csr_matvec",
    "csr_matvec_doubled",
    "csr_matvec_with_size",
    "csr_rmatvec",
    "csr_rmatvec_doubled",
    "csr_rmatvec_with_size",
    "csr_signed_rmatvec",
    "csr_sq_norms",
    "csr_weighted_gram",
    "dense_add",
    "dense_dot",
    "dense_hessian_product",
    "dense_matvec",
    "dense_matvec_with_size",
    "dense_rmatvec",
    "dense_rmatvec_with_size",
    "dense_signed_rmatvec",
    "dense_sq_norms",
    "scaled_rows",
    "sum_doubled",
    "take_nonzeros",
]

_CONTRACT = frozenset({"contract"})
# 2²⁷ + 1 splits a significand of 53 bits in two halves (Dekker, Numer. Math. 18, 1971).
_SPLIT = 134217729.0


# ---------------------------------------------------------------------- dense rows


@compiled(fastmath=REASSOCIATE)
def dense_matvec(X, w, b, out):
    """out = X w + b."""
    d = w.size
    for i in range(X.shape[0]):
        row = X[i]
        total = 0.0
        for j in range(d):
            total += row[j] * w[j]
        out[i] = total + b


@compiled(fastmath=REASSOCIATE)
def dense_rmatvec(X, beta, out):
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
def dense_signed_rmatvec(X, beta, out):
    """out[0] = Xᵀβ over the positive β, out[1] over the negative ones."""
    out[:] = 0.0
    for i in range(X.shape[0]):
        c = beta[i]
        if c != 0.0:
            row, to = X[i], out[0 if c > 0.0 else 1]
            for j in range(row.size):
                to[j] += c * row[j]


@compiled(fastmath=REASSOCIATE)
def dense_hessian_product(X, D, w, b, out):
    """out = XᵀD(X w + b); return the sum of D(X w + b). Rows with D = 0 are not read."""
    d = out.size
    for j in range(d):
        out[j] = 0.0
    total = 0.0
    for i in range(X.shape[0]):
        if D[i] != 0.0:
            row = X[i]
            product = b
            for j in range(d):
                product += row[j] * w[j]
            product *= D[i]
            total += product
            for j in range(d):
                out[j] += product * row[j]
    return total


@compiled(fastmath=REASSOCIATE)
def scaled_rows(X, D, first, last, out):
    """√D (x, 1) of the rows first..last with D ≠ 0; return how many they are."""
    used, d = 0, X.shape[1]
    for i in range(first, last):
        if D[i] != 0.0:
            root = math.sqrt(D[i])
            row, to = X[i], out[used]
            for j in range(d):
                to[j] = root * row[j]
            to[d] = root
            used += 1
    return used


@compiled(fastmath=REASSOCIATE)
def dense_matvec_with_size(X, w, out, size):
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
def dense_rmatvec_with_size(X, beta, out):
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


@compiled(fastmath=REASSOCIATE)
def dense_sq_norms(X, out):
    """‖x‖² of each row."""
    for i in range(X.shape[0]):
        row = X[i]
        total = 0.0
        for j in range(row.size):
            value = float(row[j])
            total += value * value
        out[i] = total


@compiled
def count_nonzeros(X, out):
    """The number of nonzeros of each row."""
    for i in range(X.shape[0]):
        row = X[i]
        count = 0
        for j in range(row.size):
            count += row[j] != 0
        out[i] = count


@compiled
def take_nonzeros(X, indptr, columns, values):
    """Write the nonzeros of dense rows as CSR."""
    for i in range(X.shape[0]):
        row = X[i]
        t = indptr[i]
        for j in range(row.size):
            if row[j] != 0:
                columns[t], values[t] = j, row[j]
                t += 1


# ---------------------------------------------------------------------- CSR rows


@compiled(inner=True, fastmath=REASSOCIATE)
def dense_dot(values, w, first, last):
    """One row of an array, values[first:last], times w; summed in the precision of w."""
    s = w.dtype.type(0)
    for j in range(last - first):
        s += values[first + j] * w[j]
    return s


@compiled(inner=True)
def dense_add(values, factor, w, first, last):
    """w += factor · row, in the precision of w."""
    change = w.dtype.type(factor)
    for j in range(last - first):
        w[j] += change * values[first + j]


@compiled(fastmath=_CONTRACT, inner=True)
def csr_dot(columns, values, w, first, last):
    """One CSR row times w. Four sums hide the latency of additions; SIMD gathers were slower."""
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


@compiled(inner=True)
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
def csr_matvec(indptr, columns, values, w, b, out):
    """out = X w + b."""
    for i in range(indptr.size - 1):
        out[i] = csr_dot(columns, values, w, indptr[i], indptr[i + 1]) + b


@compiled
def csr_rmatvec(indptr, columns, values, beta, out):
    """out = Xᵀβ; rows with β = 0 are not read."""
    for j in range(out.size):
        out[j] = 0.0
    for i in range(indptr.size - 1):
        c = beta[i]
        if c != 0.0:
            csr_add(columns, values, c, out, indptr[i], indptr[i + 1])


@compiled
def csr_signed_rmatvec(indptr, columns, values, beta, out):
    """out[0] = Xᵀβ over the positive β, out[1] over the negative ones."""
    out[:] = 0.0
    for i in range(indptr.size - 1):
        c = beta[i]
        if c != 0.0:
            csr_add(columns, values, c, out[0 if c > 0.0 else 1], indptr[i], indptr[i + 1])


@compiled
def csr_hessian_product(indptr, columns, values, D, w, b, out):
    """out = XᵀD(X w + b); return the sum of D(X w + b). Rows with D = 0 are not read."""
    for j in range(out.size):
        out[j] = 0.0
    total = 0.0
    for i in range(indptr.size - 1):
        if D[i] != 0.0:
            first, last = indptr[i], indptr[i + 1]
            product = D[i] * (csr_dot(columns, values, w, first, last) + b)
            total += product
            csr_add(columns, values, product, out, first, last)
    return total


@compiled
def csr_weighted_gram(indptr, columns, values, D, out):
    """Add XᵀDX, with a 1 at the end of each row, to the lower triangle of ``out``."""
    d = out.shape[0] - 1
    for i in range(indptr.size - 1):
        c = D[i]
        if c != 0.0:
            for t in range(indptr[i], indptr[i + 1]):
                scaled, row = c * values[t], out[columns[t]]
                for u in range(indptr[i], t + 1):  # columns are sorted
                    row[columns[u]] += scaled * values[u]
                out[d, columns[t]] += scaled
            out[d, d] += c


@compiled(fastmath=REASSOCIATE)
def csr_sq_norms(indptr, columns, values, out):
    """‖x‖² of each row."""
    for i in range(indptr.size - 1):
        total = 0.0
        for t in range(indptr[i], indptr[i + 1]):
            value = float(values[t])
            total += value * value
        out[i] = total


@compiled(fastmath=REASSOCIATE)
def csr_matvec_with_size(indptr, columns, values, w, out, size):
    """out = X w and size = |X| |w|."""
    for i in range(indptr.size - 1):
        total, sizes = 0.0, 0.0
        for t in range(indptr[i], indptr[i + 1]):
            term = values[t] * w[columns[t]]
            total += term
            sizes += abs(term)
        out[i], size[i] = total, sizes


@compiled
def csr_rmatvec_with_size(indptr, columns, values, beta, out):
    """out[0] = Xᵀβ and out[1] = |X|ᵀ|β|."""
    out[:] = 0.0
    total, size = out[0], out[1]
    for i in range(indptr.size - 1):
        c = beta[i]
        if c != 0.0:
            for t in range(indptr[i], indptr[i + 1]):
                term = c * values[t]
                total[columns[t]] += term
                size[columns[t]] += abs(term)


# ---------------------------------------------------------------------- doubled precision


@compiled(inner=True)
def _two_sum(a, b):
    """The rounded sum and its error."""
    s = a + b
    z = s - a
    return s, (a - (s - z)) + (b - z)


@compiled(inner=True)
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
def csr_matvec_doubled(indptr, columns, values, w, b, out):
    """out = X w + b."""
    for i in range(indptr.size - 1):
        total, rest = b, 0.0
        for t in range(indptr[i], indptr[i + 1]):
            p, e = _two_product(float(values[t]), w[columns[t]])
            total, more = _two_sum(total, p)
            rest += e + more
        out[i] = total + rest


@compiled
def csr_rmatvec_doubled(indptr, columns, values, beta, total, rest):
    """Add Xᵀβ to total + rest."""
    for i in range(indptr.size - 1):
        c = beta[i]
        if c != 0.0:
            for t in range(indptr[i], indptr[i + 1]):
                j = columns[t]
                p, e = _two_product(float(values[t]), c)
                total[j], more = _two_sum(total[j], p)
                rest[j] += e + more


@compiled
def sum_doubled(values):
    """Σ values, off by at most u |sum| + γ_n² Σ|values|, and Σ|values|."""
    total, rest, size = 0.0, 0.0, 0.0
    for i in range(values.size):
        total, more = _two_sum(total, values[i])
        rest += more
        size += abs(values[i])
    return total + rest, size
