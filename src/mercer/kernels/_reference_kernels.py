"""The kernels written out once more for `mercer.kernels._reference`, with bounds of their rounding.

Each function makes another, from row numbers to values against the support and their errors; the
registry of kernels names it. A kernel without one is evaluated itself: the values of functions are
exact as they are given.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist

from mercer.kernels._double_double import UNIT_ROUNDOFF
from mercer.kernels._registry import kernel_entry, load_path

__all__ = [
    "Evaluator",
    "Precise",
    "PreciseEvaluator",
    "Values",
    "evaluator",
    "float64_rows",
    "parts_of",
    "precise_evaluator",
]

Values = tuple[np.ndarray, np.ndarray]
Evaluator = Callable[[np.ndarray], Values]
Precise = tuple[np.ndarray, np.ndarray, np.ndarray]
PreciseEvaluator = Callable[[np.ndarray], Precise]


def evaluator(kernel: Any, X: Any, support: np.ndarray) -> Evaluator:
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
    Z = float64_rows(X, support)
    z_norm, units = np.sqrt(_sq_norms(Z)), (X.shape[1] + 4) * UNIT_ROUNDOFF

    def values(rows: np.ndarray) -> Values:
        A = float64_rows(X, rows)
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
    dots, z_norm = linear(kernel, X, support), np.sqrt(_sq_norms(float64_rows(X, support)))

    def values(rows: np.ndarray) -> Values:
        K = dots(rows)[0]
        size = np.multiply.outer(np.sqrt(_sq_norms(float64_rows(X, rows))), z_norm)
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
    Z = float64_rows(X, support) if is_sparse else float64_rows(X, support) - centre
    z_sq = _sq_norms(Z)
    lost = 2 * (d + 8) * UNIT_ROUNDOFF

    def values(rows: np.ndarray) -> Values:
        A = float64_rows(X, rows) if is_sparse else float64_rows(X, rows) - centre
        a_sq = _sq_norms(A)
        D = _dot(A, Z)
        D *= -2.0
        D += a_sq[:, None]
        D += z_sq
        np.maximum(D, 0.0, out=D)
        E = lost * (a_sq[:, None] + z_sq)
        for far, columns in ((z_sq, True), (a_sq, False)):
            # An error of γ‖x − z‖² beyond 1e-12: the differences of the rows are squared.
            which = np.flatnonzero(~(gamma * lost * far <= 1e-12 / 2))
            if which.size:
                part = (slice(None), which) if columns else (which, slice(None))
                pair = (rows, support[which]) if columns else (rows[which], support)
                D[part] = cdist(*(_dense(float64_rows(X, index)) for index in pair), "sqeuclidean")
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
    Z = _dense(float64_rows(X, support))

    def values(rows: np.ndarray) -> Values:
        D = cdist(_dense(float64_rows(X, rows)), Z, "cityblock")
        return _exponential(kernel.gamma, D, (X.shape[1] + 6) * UNIT_ROUNDOFF * D)

    return values


def chi2(kernel: Any, X: Any, support: np.ndarray) -> Evaluator:
    Z = _dense(float64_rows(X, support))

    def values(rows: np.ndarray) -> Values:
        A, D = _dense(float64_rows(X, rows)), np.zeros((len(rows), len(Z)))
        for x, z in zip(A.T, Z.T, strict=True):
            total, difference = np.add.outer(x, z), np.subtract.outer(x, z)
            D += np.divide(difference**2, total, out=np.zeros_like(D), where=total > 0)
        return _exponential(kernel.gamma, D, (X.shape[1] + 10) * UNIT_ROUNDOFF * D)

    return values


def all_subsets(kernel: Any, X: Any, support: np.ndarray) -> Evaluator:
    Z = _dense(float64_rows(X, support))

    def values(rows: np.ndarray) -> Values:
        A, K = _dense(float64_rows(X, rows)), np.ones((len(rows), len(Z)))
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


def parts_of(kernel: Any) -> list[Any]:
    """The kernels that a sum, product, multiple or power is made of."""
    return [kernel.k1, kernel.k2] if hasattr(kernel, "k1") else [kernel.k]


def composite(kernel: Any, X: Any, support: np.ndarray) -> Evaluator:
    """Sums, products, multiples and powers of kernels."""
    name, parts = type(kernel).__name__, [evaluator(k, X, support) for k in parts_of(kernel)]

    def values(rows: np.ndarray) -> Values:
        K, error = parts[0](rows)
        if name == "Power":
            return _power(K, error, kernel.power)
        if name == "Scaled":
            K, error = kernel.c * K, kernel.c * error
            return K, error + 2 * UNIT_ROUNDOFF * np.abs(K)
        K2, error2 = parts[1](rows)
        if name == "Sum":
            K, error = K + K2, error + error2
        else:
            error = np.abs(K) * error2 + np.abs(K2) * error + error * error2
            K = K * K2
        return K, error + 2 * UNIT_ROUNDOFF * np.abs(K)

    return values


def exact_values(kernel: Any, X: Any, support: np.ndarray) -> PreciseEvaluator:
    """Kernel values that are exact as they are given."""
    evaluate = evaluator(kernel, X, support)

    def values(rows: np.ndarray) -> Precise:
        K = evaluate(rows)[0]
        return K, np.zeros_like(K), np.zeros_like(K)

    return values


def precise_evaluator(kernel: Any, X: Any, support: np.ndarray) -> PreciseEvaluator | None:
    """A function from row numbers to kernel values (high, low, error); None if there is none."""
    entry = kernel_entry(kernel)
    return load_path(entry.precise)(kernel, X, support) if entry and entry.precise else None


def float64_rows(X: Any, rows: np.ndarray) -> Any:
    return X[rows].astype(np.float64)


def _dense(A: Any) -> np.ndarray:
    return A.toarray() if sp.issparse(A) else A


def _dot(A: Any, B: Any) -> np.ndarray:
    return (A @ B.T).toarray() if sp.issparse(A) else A @ B.T


def _sq_norms(A: Any) -> np.ndarray:
    if sp.issparse(A):
        return np.asarray(A.multiply(A).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", A, A)
