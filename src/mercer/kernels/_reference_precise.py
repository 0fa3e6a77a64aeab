"""Kernel values in double-double arithmetic, for the sums of `mercer.kernels._reference`.

Each function takes a kernel and two blocks of rows, and returns values (high, low, error).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.kernels import _double_double as dd
from mercer.kernels._reference_kernels import Rows, Values, evaluate, parts_of

__all__ = ["composite", "dot_product", "rbf"]


def dot_product(kernel: Any, A: Rows, Z: Rows) -> Values:
    """x·z of a linear kernel, (γ x·z + c₀)^degree of a polynomial one."""
    high, low, error = dd.matmul(A.values, Z.once(_columns))
    if type(kernel).__name__ == "Linear":
        return high, low, error
    product = dd.multiply((high, low), (kernel.gamma, 0.0))
    t = dd.add(product, (kernel.coef0, 0.0))
    rounding = 8 * dd.DOUBLED_UNIT * np.abs(product[0]) + 4 * dd.DOUBLED_UNIT * np.abs(t[0])
    error = 1.01 * kernel.gamma * error + rounding
    return _power(t, error, kernel.degree)


def rbf(kernel: Any, A: Rows, Z: Rows) -> Values:
    """exp(−γ(‖x‖² + ‖z‖² − 2x·z)), where columns are centred if that is exact in float64."""
    centre, columns, z_sq = Z.once(_centred)
    rows = A.values if centre is None else A.values - centre
    high, low, error = dd.matmul(rows, columns)
    a_high, a_low = _sq_norms(rows)
    squares = dd.add((a_high[:, None], a_low[:, None]), z_sq)
    D = dd.add(squares, (-2 * high, -2 * low))
    error = 2 * error + (A.X.shape[1] + 16) * dd.DOUBLED_UNIT * squares[0]
    same = A.equals(Z)
    is_zero = (D[0] < 0) | same
    positive = np.where(is_zero, 0.0, D[0]), np.where(is_zero, 0.0, D[1])
    t = dd.multiply(positive, (-kernel.gamma, 0.0))
    error = np.where(same, 0.0, kernel.gamma * error + 8 * dd.DOUBLED_UNIT * np.abs(t[0]))
    K, rest, relative = dd.exp_negative(t)
    return K, rest, np.minimum(K * (1.01 * np.expm1(error) + relative) + 1e-282, 1.0)


def _centred(Z: Rows) -> tuple[np.ndarray | None, Any, dd.DD]:
    """A number for each column whose subtraction rounds no row; columns and squared norms of Z."""
    X = Z.X
    if sp.issparse(X):
        return None, _columns(Z), _sq_norms(Z.values)
    centre = np.asarray(X[0], dtype=np.float64)
    exact = np.ones(X.shape[1], dtype=bool)
    for start in range(0, X.shape[0], 4096):
        part = np.asarray(X[start : start + 4096], dtype=np.float64)
        exact &= (dd.two_sum(part, -centre)[1] == 0).all(axis=0)
    centre = np.where(exact, centre, 0.0)
    return centre, np.ascontiguousarray((Z.values - centre).T), _sq_norms(Z.values - centre)


def composite(kernel: Any, A: Rows, Z: Rows) -> Values:
    """Sums, products, multiples and powers of kernels."""
    name = type(kernel).__name__
    (high, low, error), *others = (evaluate(part, A, Z, precise=True) for part in parts_of(kernel))
    if name == "Power":
        return _power((high, low), error, kernel.power)
    if name == "Scaled":
        out = dd.multiply((high, low), (kernel.c, 0.0))
        return *out, 1.01 * kernel.c * error + 5 * dd.DOUBLED_UNIT * np.abs(out[0])
    ((high2, low2, error2),) = others
    if name == "Sum":
        out = dd.add((high, low), (high2, low2))
        return *out, 1.01 * (error + error2) + 4 * dd.DOUBLED_UNIT * np.abs(out[0])
    out = dd.multiply((high, low), (high2, low2))
    error = np.abs(high) * error2 + np.abs(high2) * error + error * error2
    return *out, 1.01 * error + 5 * dd.DOUBLED_UNIT * np.abs(out[0])


def _power(t: dd.DD, error: np.ndarray, degree: int) -> Values:
    out = dd.power(t, degree)
    slope = degree * (np.abs(t[0]) + error) ** max(degree - 1, 0)
    return *out, 1.01 * slope * error + 6 * degree * dd.DOUBLED_UNIT * np.abs(out[0])


def _columns(Z: Rows) -> Any:
    return sp.csc_matrix(Z.values.T) if sp.issparse(Z.X) else np.ascontiguousarray(Z.values.T)


def _sq_norms(A: Any) -> dd.DD:
    A = A.toarray() if sp.issparse(A) else A
    high, low, _ = dd.sum_rows(dd.two_product(A, A))
    return high, low
