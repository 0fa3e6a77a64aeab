"""Kernel sums Σ_j k(x_i, x_j) β_j for `mercer.verify`, with a bound of their rounding error.

Plain NumPy, a slice of rows at a time, and independent of the kernels that fits use, which are
written out once more (`_reference_kernels`). Every kernel matrix comes with a bound of the error of
each value, which follows from how the value was computed:

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

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from mercer._precision import UNIT
from mercer._threads import Workers, single_threaded_blas, thread_count
from mercer.kernels import _double_double as dd
from mercer.kernels._reference_kernels import Rows, evaluate, has_precise

__all__ = [
    "SETTINGS",
    "ReferenceSettings",
    "Sums",
    "bounded_sums",
    "diagonal",
    "kernel_matrix",
    "kernel_sums",
    "precise_sums",
]


@dataclass(frozen=True)
class ReferenceSettings:
    """Sizes of the sums, and what overflow and underflow do to them."""

    # Kernel values held at once by each thread, and, as a number of values, in double-double.
    slice_bytes: int = 32 << 20
    precise_values: int = 1 << 17
    # Values of a row that are summed by BLAS; the sums of these blocks are added one by one.
    block: int = 128
    # The error of a sum that overflowed.
    unknown: float = 1e250
    # Covers what underflow loses of a kernel value.
    tiny: float = 1e-280


SETTINGS = ReferenceSettings()


class Sums(NamedTuple):
    """Kernel sums high + low, each within ``error`` of the exact one."""

    high: np.ndarray
    low: np.ndarray
    error: np.ndarray

    def column(self, column: int) -> Sums:
        return Sums(*(part[:, column] for part in self))


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
    Z, size = Rows(X, support), np.abs(coef)
    step = max(1, SETTINGS.slice_bytes // (8 * len(support)))
    slices = [slice(start, start + step) for start in range(0, len(rows), step)]
    blocks = range(0, len(support), SETTINGS.block)
    units = (SETTINGS.block + len(blocks) + 2) * UNIT

    def fill(part: slice) -> None:
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            K, error = evaluate(kernel, Rows(X, rows[part]), Z)
            for start in blocks:
                block = slice(start, start + SETTINGS.block)
                out.high[part] += K[:, block] @ coef[block]
            np.abs(K, out=K)
            K *= units
            K += error
            out.error[part] = K @ size * 1.01 + SETTINGS.tiny * size.sum(axis=0)

    with single_threaded_blas(), Workers(thread_count(None)) as workers:
        workers.map(fill, slices)
    return _checked(out)


def precise_sums(
    kernel: Any, X: Any, rows: np.ndarray, support: np.ndarray, coef: np.ndarray
) -> Sums | None:
    """The same with values and sums in double-double; None if the kernel has no such values."""
    if not has_precise(kernel) or len(support) == 0:
        return None
    Z = Rows(X, support)
    out = Sums(*(np.zeros((len(rows), coef.shape[1])) for _ in range(3)))
    size, step = np.abs(coef), max(1, SETTINGS.precise_values // len(support))
    for start in range(0, len(rows), step):
        part = slice(start, start + step)
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            K, K_low, K_error = evaluate(kernel, Rows(X, rows[part]), Z, precise=True)
            K_error = K_error + (len(support) + 2) * UNIT * np.abs(K_low)
            _set(out, part, dd.matmul(K, coef), K_low @ coef, K_error @ size, size)
    return _checked(out)


def _set(out: Sums, part: slice, product: Any, rest: Any, error: Any, size: np.ndarray) -> None:
    """Sums of a slice: a product in double-double and the rest of it, in float64."""
    high, low, lost = product
    out.high[part], out.low[part] = dd.add((high, low), (rest, 0.0))
    lost += 1.01 * error + 4 * dd.DOUBLED_UNIT * (np.abs(high) + np.abs(rest))
    out.error[part] = lost + SETTINGS.tiny * size.sum(axis=0)


def _checked(sums: Sums) -> Sums:
    """Sums that overflowed are unknown."""
    bad = ~np.isfinite(sums.error) | ~np.isfinite(sums.high) | ~np.isfinite(sums.low)
    if bad.any():
        for part, value in zip(sums, (0.0, 0.0, SETTINGS.unknown), strict=True):
            part[bad] = value
    return sums


def kernel_matrix(kernel: Any, X: Any, rows: np.ndarray) -> np.ndarray:
    """k(x_i, x_j) of the given rows."""
    return np.asarray(evaluate(kernel, Rows(X, rows), Rows(X, rows))[0], dtype=np.float64)


def diagonal(kernel: Any, X: Any, rows: np.ndarray) -> np.ndarray:
    """An upper bound of |k(x_i, x_i)| of the given rows."""
    out = np.empty(len(rows))
    for i, row in enumerate(rows):
        one = Rows(X, np.array([row]))
        K, error = evaluate(kernel, one, one)
        out[i] = abs(K[0, 0]) + error[0, 0]
    return out


def _linear_sums(X: Any, rows: np.ndarray, support: np.ndarray, coef: np.ndarray) -> Sums:
    """x_i · w with w = Σ β_j x_j, both in double-double."""
    Z = Rows(X, support).values
    Z = Z.tocsc() if sp.issparse(Z) else Z
    w_high, w_low, w_error = dd.matmul(np.ascontiguousarray(coef.T), Z)
    out = Sums(*(np.empty((len(rows), coef.shape[1])) for _ in range(3)))
    step = max(1, (SETTINGS.slice_bytes // 64) // max(X.shape[1], 1))
    for start in range(0, len(rows), step):
        part = slice(start, start + step)
        A = Rows(X, rows[part]).values
        product = dd.matmul(A, np.ascontiguousarray(w_high.T))
        reach = abs(A) @ (w_error + 2 * (X.shape[1] + 2) * UNIT * np.abs(w_low)).T
        _set(out, part, product, np.asarray(A @ w_low.T), np.asarray(reach), np.abs(coef))
    return _checked(out)
