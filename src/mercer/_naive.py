"""Kernel sums in float64 for `mercer.verify`: plain NumPy, a slice of rows at a time.

The common kernels are written out here once more, apart from `mercer.kernels`; all others are
called as ``kernel(X, Z)``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist

from mercer._threads import Workers, single_threaded_blas, thread_count

__all__ = ["kernel_matrix", "kernel_sums"]

# Kernel values held at once by each thread.
_SLICE_BYTES = 32 << 20
# ‖x‖² + ‖z‖² − 2x·z loses this much of γ‖x − z‖² at most, or differences are squared one by one.
_LOST_IN_PRODUCTS = 1e-11


def kernel_sums(
    kernel: Any, X: Any, rows: np.ndarray, support: np.ndarray, coef: np.ndarray
) -> np.ndarray:
    """Σ_j k(x_i, x_support[j]) coef[j] for the given rows: shape (len(rows), coef.shape[1])."""
    out = np.zeros((len(rows), coef.shape[1]))
    if len(support) == 0:
        return out
    evaluate = _evaluator(kernel, X, support)
    step = max(1, _SLICE_BYTES // (8 * len(support)))
    slices = [slice(start, start + step) for start in range(0, len(rows), step)]

    def fill(part: slice) -> None:
        out[part] = evaluate(rows[part]) @ coef

    with single_threaded_blas(), Workers(thread_count(None)) as workers:
        workers.map(fill, slices)
    return out


def kernel_matrix(kernel: Any, X: Any, rows: np.ndarray) -> np.ndarray:
    """k(x_i, x_j) of the given rows."""
    return np.asarray(_evaluator(kernel, X, rows)(rows), dtype=np.float64)


def _evaluator(kernel: Any, X: Any, support: np.ndarray) -> Any:
    """A function from row numbers to their float64 kernel values against the support vectors."""
    name = type(kernel).__name__
    if name == "Precomputed":
        return lambda rows: np.asarray(X[np.ix_(rows, support)], dtype=np.float64)
    if name == "RBF":
        return _rbf(kernel.gamma, X, support)
    maps = {
        "Linear": lambda D: D,
        "Polynomial": lambda D: (kernel.gamma * D + kernel.coef0) ** kernel.degree,
        "Sigmoid": lambda D: np.tanh(kernel.gamma * D + kernel.coef0),
    }
    if name in maps:
        Z = _float64(X, support)
        return lambda rows: maps[name](_dot(_float64(X, rows), Z))
    return lambda rows: kernel(X[rows], X[support])


def _rbf(gamma: float, X: Any, support: np.ndarray) -> Any:
    """exp(−γ‖x − z‖²), from products of centred rows where these keep the digits."""
    centre = 0.0 if sp.issparse(X) else X[support].mean(axis=0, dtype=np.float64)
    Z = _float64(X, support) - centre if not sp.issparse(X) else _float64(X, support)
    z_sq = _sq_norms(Z)

    def by_products(rows: np.ndarray) -> np.ndarray:
        A = _float64(X, rows)
        A = A if sp.issparse(A) else A - centre
        a_sq = _sq_norms(A)
        if gamma * (a_sq.max() + z_sq.max()) * 8 * np.finfo(np.float64).eps > _LOST_IN_PRODUCTS:
            A, B = (M.toarray() if sp.issparse(M) else M for M in (A, Z))
            D = cdist(A, B, "sqeuclidean")
        else:
            D = _dot(A, Z)
            D *= -2.0
            D += a_sq[:, None]
            D += z_sq
            np.maximum(D, 0.0, out=D)
        D *= -gamma
        return np.exp(D, out=D)

    return by_products


def _float64(X: Any, rows: np.ndarray) -> Any:
    return X[rows].astype(np.float64)


def _dot(A: Any, B: Any) -> np.ndarray:
    return (A @ B.T).toarray() if sp.issparse(A) else A @ B.T


def _sq_norms(A: Any) -> np.ndarray:
    if sp.issparse(A):
        return np.asarray(A.multiply(A).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", A, A)
