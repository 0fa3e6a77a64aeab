"""Kernel sums Σ_j k(x_i, x_j) β_j for `mercer.verify`, with a bound of their rounding error.

Plain NumPy, a slice of rows at a time, and apart from `mercer.kernels`: all of its kernels are
written out here once more. Every kernel matrix comes with a bound of the error of each value, which
follows from how the value was computed:

    x·z                       (d + 2) u ‖x‖‖z‖
    ‖x‖² + ‖z‖² − 2x·z        2 (d + 8) u (‖x‖² + ‖z‖²), for centred rows
    Σ (x_c − z_c)²            (d + 4) u ‖x − z‖²

with u = 2⁻⁵³. Squared distances are computed from differences where the second bound is too large,
and k(x, x) of an RBF kernel is 1. A sum adds its own rounding, at most (128 + n/128) u Σ|β||k|. The
values of a given matrix and of functions are exact as they are given.

Where that is not enough, `precise_sums` computes values and sums in double-double arithmetic.
Sums of a linear kernel are always: Σ β_j x_j is formed first, which costs little.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist

from mercer._threads import Workers, single_threaded_blas, thread_count
from mercer.kernels import _double_double as dd
from mercer.kernels._double_double import UNIT_ROUNDOFF
from mercer.kernels._registry import kernel_entry, load_path

__all__ = [
    "UNKNOWN",
    "Sums",
    "bounded_sums",
    "diagonal",
    "kernel_matrix",
    "kernel_sums",
    "precise_sums",
]

# Kernel values held at once by each thread.
_SLICE_BYTES = 32 << 20
# The most that γ‖x − z‖² may lose to products of rows; beyond it differences are squared.
_LOST_IN_PRODUCTS = 1e-12
# Values of a row that are summed by BLAS; the sums of these blocks are added one by one.
_BLOCK = 128
# Kernel values in double-double at once.
_PRECISE_VALUES = 1 << 17
# The error of a sum that overflowed.
UNKNOWN = 1e250
# Covers what underflow loses of a kernel value.
_TINY = 1e-280

Values = tuple[np.ndarray, np.ndarray]
Evaluator = Callable[[np.ndarray], Values]
Precise = tuple[np.ndarray, np.ndarray, np.ndarray]
PreciseEvaluator = Callable[[np.ndarray], Precise]


class Sums(NamedTuple):
    """Kernel sums high + low, each within ``error`` of the exact one."""

    high: np.ndarray
    low: np.ndarray
    error: np.ndarray


def kernel_sums(
    kernel: Any, X: Any, rows: np.ndarray, support: np.ndarray, coef: np.ndarray
) -> np.ndarray:
    """Σ_j k(x_i, x_support[j]) coef[j] for the given rows: shape (len(rows), coef.shape[1])."""
    return bounded_sums(kernel, X, rows, support, coef).high


def bounded_sums(
    kernel: Any, X: Any, rows: np.ndarray, support: np.ndarray, coef: np.ndarray
) -> Sums:
    """The same with a bound of the error, in float64 (of a linear kernel in double-double)."""
    shape = (len(rows), coef.shape[1])
    out = Sums(np.zeros(shape), np.zeros(shape), np.zeros(shape))
    if len(support) == 0 or len(rows) == 0:
        return out
    if type(kernel).__name__ == "Linear":
        return _linear_sums(X, rows, support, coef)
    evaluate, size = _evaluator(kernel, X, support), np.abs(coef)
    step = max(1, _SLICE_BYTES // (8 * len(support)))
    slices = [slice(start, start + step) for start in range(0, len(rows), step)]
    blocks = range(0, len(support), _BLOCK)
    units = (_BLOCK + len(blocks) + 2) * UNIT_ROUNDOFF

    def fill(part: slice) -> None:
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            K, error = evaluate(rows[part])
            for start in blocks:
                block = slice(start, start + _BLOCK)
                out.high[part] += K[:, block] @ coef[block]
            np.abs(K, out=K)
            K *= units
            K += error
            out.error[part] = K @ size * 1.01 + _TINY * size.sum(axis=0)

    with single_threaded_blas(), Workers(thread_count(None)) as workers:
        workers.map(fill, slices)
    return _checked(out)


def precise_sums(
    kernel: Any, X: Any, rows: np.ndarray, support: np.ndarray, coef: np.ndarray
) -> Sums | None:
    """The same with values and sums in double-double; None if the kernel has no such values."""
    evaluate = precise_evaluator(kernel, X, support)
    if evaluate is None or len(support) == 0:
        return None
    out = Sums(*(np.zeros((len(rows), coef.shape[1])) for _ in range(3)))
    size, step = np.abs(coef), max(1, _PRECISE_VALUES // len(support))
    for start in range(0, len(rows), step):
        part = slice(start, start + step)
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            K, K_low, K_error = evaluate(rows[part])
            high, low, error = dd.matmul(K, coef)
            rest = K_low @ coef
            out.high[part], out.low[part] = dd.add((high, low), (rest, np.zeros_like(rest)))
            K_error = K_error + (len(support) + 2) * UNIT_ROUNDOFF * np.abs(K_low)
            error += 1.01 * (K_error @ size) + 4 * dd.UNIT * (np.abs(high) + np.abs(rest))
            out.error[part] = error + _TINY * size.sum(axis=0)
    return _checked(out)


def _checked(sums: Sums) -> Sums:
    """Sums that overflowed are unknown."""
    bad = ~np.isfinite(sums.error) | ~np.isfinite(sums.high) | ~np.isfinite(sums.low)
    if bad.any():
        for part, value in zip(sums, (0.0, 0.0, UNKNOWN), strict=True):
            part[bad] = value
    return sums


def kernel_matrix(kernel: Any, X: Any, rows: np.ndarray) -> np.ndarray:
    """k(x_i, x_j) of the given rows."""
    return np.asarray(_evaluator(kernel, X, rows)(rows)[0], dtype=np.float64)


def diagonal(kernel: Any, X: Any, rows: np.ndarray) -> np.ndarray:
    """An upper bound of |k(x_i, x_i)| of the given rows."""
    out = np.empty(len(rows))
    for i, row in enumerate(rows):
        one = np.array([row])
        K, error = _evaluator(kernel, X, one)(one)
        out[i] = abs(K[0, 0]) + error[0, 0]
    return out


def _linear_sums(X: Any, rows: np.ndarray, support: np.ndarray, coef: np.ndarray) -> Sums:
    """x_i · w with w = Σ β_j x_j, both in double-double."""
    Z = _float64(X, support)
    Z = Z.tocsc() if sp.issparse(Z) else Z
    w_high, w_low, w_error = dd.matmul(np.ascontiguousarray(coef.T), Z)
    out = Sums(*(np.empty((len(rows), coef.shape[1])) for _ in range(3)))
    step = max(1, (_SLICE_BYTES // 64) // max(X.shape[1], 1))
    for start in range(0, len(rows), step):
        part = slice(start, start + step)
        A = _float64(X, rows[part])
        high, low, error = dd.matmul(A, np.ascontiguousarray(w_high.T))
        rest = np.asarray(A @ w_low.T)
        out.high[part], out.low[part] = dd.add((high, low), (rest, np.zeros_like(rest)))
        reach = abs(A) @ (w_error + 2 * (X.shape[1] + 2) * UNIT_ROUNDOFF * np.abs(w_low)).T
        error += 1.01 * np.asarray(reach) + 4 * dd.UNIT * (np.abs(high) + np.abs(rest))
        out.error[part] = error + _TINY * np.abs(coef).sum(axis=0)
    return _checked(out)


def _evaluator(kernel: Any, X: Any, support: np.ndarray) -> Evaluator:
    """A function from row numbers to kernel values against the support, and their errors."""
    entry = kernel_entry(kernel)
    if entry is not None and entry.reference:
        return load_path(entry.reference)(kernel, X, support)

    def given(rows: np.ndarray) -> Values:
        K = np.array(kernel(X[rows], X[support]), dtype=np.float64)
        return K, 4 * UNIT_ROUNDOFF * np.abs(K)

    return given


def precomputed(kernel: Any, X: Any, support: np.ndarray) -> Evaluator:
    def values(rows: np.ndarray) -> Values:
        K = np.array(X[np.ix_(rows, support)], dtype=np.float64)
        return K, np.zeros_like(K)

    return values


def linear(kernel: Any, X: Any, support: np.ndarray) -> Evaluator:
    Z = _float64(X, support)
    z_norm, units = np.sqrt(_sq_norms(Z)), (X.shape[1] + 4) * UNIT_ROUNDOFF

    def values(rows: np.ndarray) -> Values:
        A = _float64(X, rows)
        return _dot(A, Z), np.multiply.outer(units * np.sqrt(_sq_norms(A)), z_norm)

    return values


def polynomial(kernel: Any, X: Any, support: np.ndarray) -> Evaluator:
    dots, degree = linear(kernel, X, support), kernel.degree

    def values(rows: np.ndarray) -> Values:
        t, error = _affine(kernel, *dots(rows))
        if degree == 0:
            return np.ones_like(t), np.zeros_like(t)
        return _power(t, error, degree)

    return values


def sigmoid(kernel: Any, X: Any, support: np.ndarray) -> Evaluator:
    dots = linear(kernel, X, support)

    def values(rows: np.ndarray) -> Values:
        t, error = _affine(kernel, *dots(rows))
        return np.tanh(t), error + 8 * UNIT_ROUNDOFF

    return values


def cosine(kernel: Any, X: Any, support: np.ndarray) -> Evaluator:
    dots, z_norm = linear(kernel, X, support), np.sqrt(_sq_norms(_float64(X, support)))

    def values(rows: np.ndarray) -> Values:
        K = dots(rows)[0]
        size = np.multiply.outer(np.sqrt(_sq_norms(_float64(X, rows))), z_norm)
        K = np.divide(K, size, out=np.zeros_like(K), where=size > 0)
        return K, np.full_like(K, 2 * (X.shape[1] + 8) * UNIT_ROUNDOFF)

    return values


def _affine(kernel: Any, D: np.ndarray, error: np.ndarray) -> Values:
    """γ x·z + c₀."""
    t = kernel.gamma * D
    rounding = 2 * UNIT_ROUNDOFF * (np.abs(t) + abs(kernel.coef0))
    return t + kernel.coef0, kernel.gamma * error + rounding


def _power(t: np.ndarray, error: np.ndarray, degree: int) -> Values:
    below = _raise(np.abs(t) + error, degree - 1)
    K = _raise(t, degree)
    return K, 1.01 * degree * below * error + (4 + 2 * degree) * UNIT_ROUNDOFF * np.abs(K)


def _raise(t: np.ndarray, power: int) -> np.ndarray:
    """t^power by repeated squaring."""
    out = np.ones_like(t)
    while power > 0:
        if power & 1:
            out = out * t
        power >>= 1
        if power:
            t = t * t
    return out


def rbf(kernel: Any, X: Any, support: np.ndarray) -> Evaluator:
    """exp(−γ‖x − z‖²), from products of centred rows where these keep the digits."""
    gamma, d, is_sparse = kernel.gamma, X.shape[1], sp.issparse(X)
    centre = 0.0 if is_sparse else X[support].mean(axis=0, dtype=np.float64)
    Z = _float64(X, support) if is_sparse else _float64(X, support) - centre
    z_sq = _sq_norms(Z)
    lost = 2 * (d + 8) * UNIT_ROUNDOFF

    def values(rows: np.ndarray) -> Values:
        A = _float64(X, rows) if is_sparse else _float64(X, rows) - centre
        a_sq = _sq_norms(A)
        D = _dot(A, Z)
        D *= -2.0
        D += a_sq[:, None]
        D += z_sq
        np.maximum(D, 0.0, out=D)
        E = lost * (a_sq[:, None] + z_sq)
        for far, columns in ((z_sq, True), (a_sq, False)):
            which = np.flatnonzero(~(gamma * lost * far <= _LOST_IN_PRODUCTS / 2))
            if which.size:
                part = (slice(None), which) if columns else (which, slice(None))
                pair = (rows, support[which]) if columns else (rows[which], support)
                D[part] = cdist(*(_dense(_float64(X, index)) for index in pair), "sqeuclidean")
                E[part] = (d + 4) * UNIT_ROUNDOFF * D[part]
        D[rows[:, None] == support] = 0.0
        E[rows[:, None] == support] = 0.0
        E += 4 * UNIT_ROUNDOFF * D
        return _exponential(gamma, D, E)

    return values


def _exponential(gamma: float, D: np.ndarray, E: np.ndarray) -> Values:
    """exp(−γD) and its error, for D within E; both arrays are overwritten."""
    D *= -gamma
    E *= gamma
    far = E > 1
    if far.any():
        upper = np.exp(np.minimum(D[far] + E[far], 0.0)) * (1 + 8 * UNIT_ROUNDOFF)
        E[far] = 0.0
    np.expm1(E, out=E)
    E += 8 * UNIT_ROUNDOFF * (D < 0)
    np.exp(D, out=D)
    E *= D
    if far.any():
        E[far] = upper
    np.minimum(E, 1.0, out=E)
    return D, E


def laplacian(kernel: Any, X: Any, support: np.ndarray) -> Evaluator:
    Z = _dense(_float64(X, support))

    def values(rows: np.ndarray) -> Values:
        D = cdist(_dense(_float64(X, rows)), Z, "cityblock")
        return _exponential(kernel.gamma, D, (X.shape[1] + 6) * UNIT_ROUNDOFF * D)

    return values


def chi2(kernel: Any, X: Any, support: np.ndarray) -> Evaluator:
    Z = _dense(_float64(X, support))

    def values(rows: np.ndarray) -> Values:
        A, D = _dense(_float64(X, rows)), np.zeros((len(rows), len(Z)))
        for x, z in zip(A.T, Z.T, strict=True):
            total, difference = np.add.outer(x, z), np.subtract.outer(x, z)
            D += np.divide(difference**2, total, out=np.zeros_like(D), where=total > 0)
        return _exponential(kernel.gamma, D, (X.shape[1] + 10) * UNIT_ROUNDOFF * D)

    return values


def all_subsets(kernel: Any, X: Any, support: np.ndarray) -> Evaluator:
    Z = _dense(_float64(X, support))

    def values(rows: np.ndarray) -> Values:
        A, K = _dense(_float64(X, rows)), np.ones((len(rows), len(Z)))
        size = np.ones_like(K)
        for x, z in zip(A.T, Z.T, strict=True):
            product = np.multiply.outer(x, z)
            K *= 1 + product
            size *= 1 + np.abs(product)
        return K, 4 * (X.shape[1] + 1) * UNIT_ROUNDOFF * size

    return values


def constant(kernel: Any, X: Any, support: np.ndarray) -> Evaluator:
    return lambda rows: (
        np.full((len(rows), len(support)), kernel.value),
        np.zeros((len(rows), len(support))),
    )


def add(kernel: Any, X: Any, support: np.ndarray) -> Evaluator:
    parts = [_evaluator(part, X, support) for part in (kernel.k1, kernel.k2)]

    def values(rows: np.ndarray) -> Values:
        (K1, E1), (K2, E2) = (part(rows) for part in parts)
        K = K1 + K2
        return K, E1 + E2 + 2 * UNIT_ROUNDOFF * np.abs(K)

    return values


def multiply(kernel: Any, X: Any, support: np.ndarray) -> Evaluator:
    parts = [_evaluator(part, X, support) for part in (kernel.k1, kernel.k2)]

    def values(rows: np.ndarray) -> Values:
        (K1, E1), (K2, E2) = (part(rows) for part in parts)
        K = K1 * K2
        return K, np.abs(K1) * E2 + np.abs(K2) * E1 + E1 * E2 + 2 * UNIT_ROUNDOFF * np.abs(K)

    return values


def scale(kernel: Any, X: Any, support: np.ndarray) -> Evaluator:
    part = _evaluator(kernel.k, X, support)

    def values(rows: np.ndarray) -> Values:
        K, error = part(rows)
        return kernel.c * K, kernel.c * error + 2 * UNIT_ROUNDOFF * np.abs(kernel.c * K)

    return values


def power(kernel: Any, X: Any, support: np.ndarray) -> Evaluator:
    part = _evaluator(kernel.k, X, support)
    return lambda rows: _power(*part(rows), kernel.power)


def exact_values(kernel: Any, X: Any, support: np.ndarray) -> PreciseEvaluator:
    """Kernel values that are exact as they are given."""
    evaluate = _evaluator(kernel, X, support)

    def values(rows: np.ndarray) -> Precise:
        K = evaluate(rows)[0]
        return K, np.zeros_like(K), np.zeros_like(K)

    return values


def precise_evaluator(kernel: Any, X: Any, support: np.ndarray) -> PreciseEvaluator | None:
    """A function from row numbers to kernel values (high, low, error); None if there is none."""
    entry = kernel_entry(kernel)
    return load_path(entry.precise)(kernel, X, support) if entry and entry.precise else None


def _float64(X: Any, rows: np.ndarray) -> Any:
    return X[rows].astype(np.float64)


def _dense(A: Any) -> np.ndarray:
    return A.toarray() if sp.issparse(A) else A


def _dot(A: Any, B: Any) -> np.ndarray:
    return (A @ B.T).toarray() if sp.issparse(A) else A @ B.T


def _sq_norms(A: Any) -> np.ndarray:
    if sp.issparse(A):
        return np.asarray(A.multiply(A).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", A, A)
