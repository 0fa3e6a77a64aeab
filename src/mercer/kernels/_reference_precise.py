"""Kernel values in double-double arithmetic, for the sums of `mercer.kernels._reference`.

Each function makes another, from row numbers to values (high, low, error) against the support.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.kernels import _double_double as dd
from mercer.kernels._reference_kernels import (
    Precise,
    PreciseEvaluator,
    parts_of,
    precise_evaluator,
)

__all__ = ["composite", "dot_product", "rbf"]


def dot_product(kernel: Any, X: Any, support: np.ndarray) -> PreciseEvaluator:
    """x·z of a linear kernel, (γ x·z + c₀)^degree of a polynomial one."""
    Zt = _columns(X[support])

    def values(rows: np.ndarray) -> Precise:
        high, low, error = dd.matmul(X[rows].astype(np.float64), Zt)
        if type(kernel).__name__ == "Linear":
            return high, low, error
        product = dd.multiply((high, low), (kernel.gamma, 0.0))
        t = dd.add(product, (kernel.coef0, 0.0))
        rounding = 8 * dd.UNIT * np.abs(product[0]) + 4 * dd.UNIT * np.abs(t[0])
        error = 1.01 * kernel.gamma * error + rounding
        return _power(t, error, kernel.degree)

    return values


def rbf(kernel: Any, X: Any, support: np.ndarray) -> PreciseEvaluator:
    """exp(−γ(‖x‖² + ‖z‖² − 2x·z)), where columns are centred if that is exact in float64."""
    centred = _centred(X)
    Zt, z_sq, gamma = _columns(centred(support)), _sq_norms(centred(support)), kernel.gamma

    def values(rows: np.ndarray) -> Precise:
        A = centred(rows)
        high, low, error = dd.matmul(A, Zt)
        a_high, a_low = _sq_norms(A)
        squares = dd.add((a_high[:, None], a_low[:, None]), z_sq)
        D = dd.add(squares, (-2 * high, -2 * low))
        error = 2 * error + (A.shape[1] + 16) * dd.UNIT * squares[0]
        same = rows[:, None] == support
        is_zero = (D[0] < 0) | same
        positive = np.where(is_zero, 0.0, D[0]), np.where(is_zero, 0.0, D[1])
        t = dd.multiply(positive, (-gamma, 0.0))
        error = np.where(same, 0.0, gamma * error + 8 * dd.UNIT * np.abs(t[0]))
        K, rest, relative = dd.exp_negative(t)
        return K, rest, np.minimum(K * (1.01 * np.expm1(error) + relative) + 1e-282, 1.0)

    return values


def composite(kernel: Any, X: Any, support: np.ndarray) -> PreciseEvaluator | None:
    """Sums, products, multiples and powers of kernels; None if one of them has no values here."""
    name, operands = type(kernel).__name__, parts_of(kernel)
    parts = [part for each in operands if (part := precise_evaluator(each, X, support)) is not None]
    if len(parts) < len(operands):
        return None

    def values(rows: np.ndarray) -> Precise:
        high, low, error = parts[0](rows)
        if name == "Power":
            return _power((high, low), error, kernel.power)
        if name == "Scaled":
            out = dd.multiply((high, low), (kernel.c, 0.0))
            return *out, 1.01 * kernel.c * error + 5 * dd.UNIT * np.abs(out[0])
        high2, low2, error2 = parts[1](rows)
        if name == "Sum":
            out = dd.add((high, low), (high2, low2))
            return *out, 1.01 * (error + error2) + 4 * dd.UNIT * np.abs(out[0])
        out = dd.multiply((high, low), (high2, low2))
        error = np.abs(high) * error2 + np.abs(high2) * error + error * error2
        return *out, 1.01 * error + 5 * dd.UNIT * np.abs(out[0])

    return values


def _power(t: dd.DD, error: np.ndarray, degree: int) -> Precise:
    out = dd.power(t, degree)
    slope = degree * (np.abs(t[0]) + error) ** max(degree - 1, 0)
    return *out, 1.01 * slope * error + 6 * degree * dd.UNIT * np.abs(out[0])


def _columns(Z: Any) -> Any:
    Z = Z.astype(np.float64)
    return sp.csc_matrix(Z.T) if sp.issparse(Z) else np.ascontiguousarray(Z.T)


def _centred(X: Any) -> Callable[[np.ndarray], Any]:
    """Rows less a number for each column, where no row is rounded by that."""
    if sp.issparse(X):
        return lambda rows: X[rows].astype(np.float64)
    centre = np.asarray(X[0], dtype=np.float64)
    exact = np.ones(X.shape[1], dtype=bool)
    for start in range(0, X.shape[0], 4096):
        part = np.asarray(X[start : start + 4096], dtype=np.float64)
        exact &= (dd.two_sum(part, -centre)[1] == 0).all(axis=0)
    centre = np.where(exact, centre, 0.0)
    return lambda rows: X[rows].astype(np.float64) - centre


def _sq_norms(A: Any) -> dd.DD:
    A = A.toarray() if sp.issparse(A) else A
    high, low, _ = dd.sum_rows(dd.two_product(A, A))
    return high, low
