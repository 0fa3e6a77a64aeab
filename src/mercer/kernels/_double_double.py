"""Double-double arithmetic on NumPy arrays: an unevaluated sum hi + lo of two float64 values.

About 106 bits, from the error-free transformations of Knuth (sum) and Dekker (product).
Matrix products follow Ozaki, Ogita, Oishi and Rump (Numerical Algorithms 59, 2012, Algorithm 3):
each factor is cut into slices of so few bits that the product of two slices is exact in float64,
whatever order BLAS sums in; the exact partial products are then added in double-double.

Every function states a bound of its relative error as a multiple of `DOUBLED_UNIT` = 2⁻¹⁰⁴.
Overflow and underflow are the caller's business: values above 1e290 or products below 1e-290 lose
the bounds.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer._precision import EPS

__all__ = [
    "DD",
    "DOUBLED_UNIT",
    "add",
    "exp_negative",
    "matmul",
    "multiply",
    "power",
    "sum_rows",
    "two_product",
    "two_sum",
]

DOUBLED_UNIT = EPS * EPS

# Arrays or numbers, which are broadcast.
DD = tuple[Any, Any]


def two_sum(a: Any, b: Any) -> DD:
    """a + b exactly, as rounded sum and error (Knuth)."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


def _quick_two_sum(a: Any, b: Any) -> DD:
    """The same where |a| ≥ |b| (Dekker)."""
    s = a + b
    return s, b - (s - a)


def _halves(a: Any) -> DD:
    t = 134217729.0 * a  # 2²⁷ + 1
    high = t - (t - a)
    return high, a - high


def two_product(a: Any, b: Any) -> DD:
    """a · b exactly, as rounded product and error (Dekker)."""
    p = a * b
    a1, a2 = _halves(a)
    b1, b2 = _halves(b)
    return p, ((a1 * b1 - p) + a1 * b2 + a2 * b1) + a2 * b2


def add(x: DD, y: DD) -> DD:
    """x + y, within 3 units of it even where the two cancel (the accurate variant)."""
    s, e = two_sum(x[0], y[0])
    t, f = two_sum(x[1], y[1])
    s, e = _quick_two_sum(s, e + t)
    return _quick_two_sum(s, e + f)


def multiply(x: DD, y: DD) -> DD:
    """x · y, within 4 units."""
    p, e = two_product(x[0], y[0])
    return _quick_two_sum(p, e + (x[0] * y[1] + x[1] * y[0]))


def power(x: DD, exponent: int) -> DD:
    """xⁿ for an integer n ≥ 0, within 5n units, by repeated squaring."""
    out: DD = (np.ones_like(x[0]), np.zeros_like(x[0]))
    while exponent:
        if exponent & 1:
            out = multiply(out, x)
        exponent >>= 1
        if exponent:
            x = multiply(x, x)
    return out


def sum_rows(x: DD) -> tuple[np.ndarray, np.ndarray, int]:
    """The sum along the last axis, by halves, and its error in units of Σ|x|."""
    high, low = x
    rounds = 0
    while high.shape[-1] > 1:
        half = high.shape[-1] // 2
        first, second, rest = (
            (high[..., part], low[..., part])
            for part in (slice(half), slice(half, 2 * half), slice(2 * half, None))
        )
        high, low = (
            np.concatenate([a, b], axis=-1) for a, b in zip(add(first, second), rest, strict=True)
        )
        rounds += 1
    if high.shape[-1] == 0:
        return np.zeros(high.shape[:-1]), np.zeros(high.shape[:-1]), 0
    return high[..., 0], low[..., 0], 4 * rounds


def exp_negative(x: DD) -> tuple[np.ndarray, np.ndarray, float]:
    """exp(x) for x ≤ 0; the last value is a bound of the relative error (x taken as exact).

    x = m ln 2 + 2⁸ t with |t| < 0.0014, exp(t) − 1 by its series, squared eight times in the form
    (1 + p)² − 1 = 2p + p², which loses nothing for small p. Below −650 it is zero, to 1e-282.
    """
    ln2 = (0.6931471804855391, 7.440617109802979e-11, 2.0941744292700725e-21)  # to 2⁻¹²²
    halvings = 8  # of the argument of the series
    tiny = x[0] < -650
    high, low = np.where(tiny, 0.0, x[0]), np.where(tiny, 0.0, x[1])
    m, r = np.rint(high / ln2[0]), (high, low)
    for part in ln2:
        r = add(r, two_product(-m, part))
    t = (r[0] / 2.0**halvings, r[1] / 2.0**halvings)
    p: DD = (np.zeros_like(high), np.zeros_like(high))
    for k in range(9, 0, -1):  # p = t (1 + p) / k
        p = _divide(multiply(add(p, (1.0, 0.0)), t), float(k))
    for _ in range(halvings):
        p = add((2 * p[0], 2 * p[1]), multiply(p, p))
    e = add(p, (1.0, 0.0))
    scale = np.exp2(m)
    return np.where(tiny, 0.0, e[0] * scale), np.where(tiny, 0.0, e[1] * scale), 1e-28


def _divide(x: DD, k: float) -> DD:
    """x / k for a small integer k."""
    q = x[0] / k
    p, e = two_product(q, k)
    return _quick_two_sum(q, ((x[0] - p) - e + x[1]) / k)


def matmul(A: Any, B: Any, kept_bits: int = 115) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A @ B of two float64 matrices (A dense or CSR, B dense or CSC), as hi, lo and error bound.

    ``kept_bits`` of each factor are kept, relative to the largest entry of a row or column.
    The bound is about d · 2⁻¹¹⁰ max|A_i| max|B_j| + 3 DOUBLED_UNIT |hi|, for d the inner dimension.
    """
    d = A.shape[1]
    dropped_bits = math.ceil((53 + math.log2(max(d, 2))) / 2)
    bits = 52 - dropped_bits  # that a slice brings at least
    count = math.ceil(kept_bits / bits)
    left, a_max = _slices(A, dropped_bits, 1, count)
    right, b_max = _slices(B, dropped_bits, 0, count)
    shape = (A.shape[0], B.shape[1])
    out: DD = (np.zeros(shape), np.zeros(shape))
    size = np.zeros(shape)
    for order in range(count - 1, -1, -1):  # small ones first
        for i in range(order + 1):
            if i < len(left) and order - i < len(right):
                part = left[i] @ right[order - i]
                part = part.toarray() if sp.issparse(part) else np.asarray(part)
                out = add(out, (part, 0.0))
                size += np.abs(part)
    error = np.multiply.outer(4.0 * d * (count + 2) * 2.0 ** (-bits * count) * a_max, b_max)
    error += 4 * count**2 * DOUBLED_UNIT * size
    return out[0], out[1], error


def _slices(A: Any, dropped_bits: int, axis: int, count: int) -> tuple[list[Any], np.ndarray]:
    """A as a sum of slices whose products are exact, largest first; max|A| along the axis.

    Adding and subtracting σ = 2^(dropped_bits + e), for 2^e above the largest entry, rounds to a
    multiple of 2^(e + dropped_bits − 53). A sparse matrix has one σ for all of its entries.
    """
    is_sparse = sp.issparse(A)
    values = A.data if is_sparse else np.asarray(A)
    along = None if is_sparse else axis
    found: list[Any] = []
    top = np.zeros(())
    for k in range(count):
        largest = np.abs(values).max(axis=along, keepdims=not is_sparse, initial=0.0)
        top = largest if k == 0 else top
        if not np.any(largest):
            break
        sigma = np.ldexp(1.0, np.frexp(largest)[1] + dropped_bits)
        part = (values + sigma) - sigma
        values = values - part
        found.append(type(A)((part, A.indices, A.indptr), shape=A.shape) if is_sparse else part)
    return found, np.broadcast_to(np.ravel(top), (A.shape[1 - axis],))
