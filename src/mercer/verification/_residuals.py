"""What `mercer.verify` recomputes of kernel ridge regression and kernel PCA: residuals.

ridge  r = y − Kc − αc/s,  P = ½ Σ s (y − Kc)² + ½ α cᵀKc,  gap = ½ Σ s r², as upper bounds
PCA    ‖K̄v − λv‖ of each unit eigenvector, K̄ = HKH with H = I − 11ᵀ/n

Small problems are summed in extended precision, others in float64. Either way there is an allowance
for rounding, and a model is unsolved only if a residual less that allowance is above the tolerance.
Neither tolerance nor status are taken from the certificate of the model.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer._result import Status
from mercer.certificates._residuals import EigenCertificate, RidgeCertificate
from mercer.kernels._reference import diagonal, kernel_sums

__all__ = ["find_eigen", "find_ridge"]

_EPS = float(np.finfo(np.float64).eps)
# The tolerance that KernelPCA documents for tol=0.
_DEFAULT_EIGEN_TOL = 1e-8
# Up to this number of multiplications sums are formed in extended precision.
_EXTENDED_WORK = 200_000_000
_EXTENDED_ROWS = 256
# γ‖x − z‖² from products (`mercer.kernels._reference`) may lose this much, times (d + 10) / 8.
_LOST_IN_PRODUCTS = 1e-11


def _sums(kernel: Any, X: Any, rows: np.ndarray, V: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """K V among the rows, and an allowance for the rounding of each entry."""
    name = type(kernel).__name__
    if name in _FORMULAS and not sp.issparse(X) and len(rows) ** 2 * X.shape[1] <= _EXTENDED_WORK:
        return _extended(name, kernel, np.asarray(X), rows, V)
    u, d, n = float(np.finfo(np.float64).eps), X.shape[1], len(rows)
    image = kernel_sums(kernel, X, rows, rows, V)
    if name in ("RBF", "Laplacian", "Chi2"):
        size = kernel_sums(kernel, X, rows, rows, np.abs(V))
        spread = np.abs(V).sum(axis=0)
        lost = _LOST_IN_PRODUCTS * (d + 10) / 8 if name == "RBF" else 4 * (d + 10) * u
        return image, (n + 16) * u * size + lost * spread
    one = np.ones((1, 1))
    diagonal = [kernel_sums(kernel, X, rows[[i]], rows[[i]], one)[0, 0] for i in range(n)]
    b = np.sqrt(np.abs(diagonal))[:, np.newaxis]
    units = n + 16 + 4 * (d + 10) * getattr(kernel, "degree", 1)
    return image, units * u * b * (b[:, 0] @ np.abs(V))


_FORMULAS: dict[str, Any] = {
    "Linear": lambda k, A, B: A @ B.T,
    "Polynomial": lambda k, A, B: (_long(k.gamma) * (A @ B.T) + _long(k.coef0)) ** k.degree,
    "Sigmoid": lambda k, A, B: np.tanh(_long(k.gamma) * (A @ B.T) + _long(k.coef0)),
    "RBF": lambda k, A, B: np.exp(-_long(k.gamma) * _sq_distances(A, B)),
}


def _long(value: float) -> Any:
    return np.longdouble(value)


def _sq_distances(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Column by column, by differences."""
    out = np.zeros((len(A), len(B)), np.longdouble)
    for a, b in zip(A.T, B.T, strict=True):
        out += np.square(a[:, np.newaxis] - b)
    return out


def _extended(
    name: str, kernel: Any, X: np.ndarray, rows: np.ndarray, V: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    Z, W = X[rows].astype(np.longdouble), V.astype(np.longdouble)
    u = float(np.finfo(np.longdouble).eps)
    out, lost = np.empty(V.shape), np.empty(V.shape)
    norms = np.sqrt(np.square(Z).sum(axis=1))
    for start in range(0, len(rows), _EXTENDED_ROWS):
        part = slice(start, start + _EXTENDED_ROWS)
        K = _FORMULAS[name](kernel, Z[part], Z)
        out[part] = K @ W
        size = np.abs(K) @ np.abs(W)
        if name != "RBF":  # x·z is off by what ‖x‖‖z‖ is rounded by
            size = size + _bound(name, kernel, norms[part, np.newaxis] * norms) @ np.abs(W)
        units = (len(rows) + 4 * X.shape[1] + 64) * u + float(np.finfo(np.float64).eps) ** 2
        lost[part] = units * size
    return out, lost + float(np.finfo(np.float64).eps) * np.abs(out)


def _bound(name: str, kernel: Any, dots: np.ndarray) -> np.ndarray:
    """|k| with |x·z| at its largest, times how much rounding a power multiplies."""
    if name == "Linear":
        return dots
    inner = abs(kernel.gamma) * dots + abs(kernel.coef0)
    return kernel.degree * inner**kernel.degree if name == "Polynomial" else inner


def find_ridge(model: Any, X: Any, y: Any, weight: np.ndarray, seconds: float) -> RidgeCertificate:
    """The certificate of ridge coefficients; rows without weight have none."""
    rows = np.flatnonzero(weight > 0)
    Y = np.asarray(y, dtype=np.float64).reshape(len(weight), -1)[rows]
    s = weight[rows, np.newaxis]
    coef = np.asarray(model.dual_coef_, dtype=np.float64).reshape(len(rows), -1)
    f, lost = _sums(model.kernel_, X, rows, coef)
    alpha = np.broadcast_to(np.asarray(model.alpha_, dtype=np.float64), Y.shape[1])
    r = Y - f - alpha * coef / s
    lost = lost + 4 * float(np.finfo(np.float64).eps) * (np.abs(Y) + np.abs(f) + np.abs(r))
    rounding = 1 + (len(rows) + 8) * float(np.finfo(np.float64).eps)
    off = np.abs(Y - f) + lost
    primal = float(np.sum(s * off**2) + alpha @ np.sum(coef * f + np.abs(coef) * lost, axis=0)) / 2
    primal *= rounding if primal > 0 else 1 / rounding
    squares, sizes, errors = (np.sum(s * v**2, axis=0) for v in (r, Y, lost))
    gap = float(np.sum(s * (np.abs(r) + lost) ** 2)) / 2 * rounding
    sizes = np.sqrt(np.where(sizes > 0, sizes, np.inf))
    residual = float((np.sqrt(squares) / sizes).max(initial=0.0))
    least = (np.sqrt(squares) - np.sqrt(errors)) / sizes
    solved = Status.SOLVED if model.kernel_.is_psd is True else Status.SOLVED_IF_PSD
    is_refuted = ~(least <= model.tol * (1 + 1e-9))
    for t in np.flatnonzero(is_refuted & (alpha == 0)):  # a singular system: least squares
        is_refuted[t] = _gradient(model, X, rows, s, r[:, t], Y[:, t]) > model.tol
    return RidgeCertificate.of(
        primal,
        primal - gap,
        gap,
        residual,
        status=Status.STALLED if is_refuted.any() else solved,
        solver="verify",
        iterations=0,
        seconds=seconds,
    )


def _gradient(
    model: Any, X: Any, rows: np.ndarray, s: np.ndarray, r: np.ndarray, y: np.ndarray
) -> float:
    """‖DK S r‖ over trace(DKD) ‖Dy‖, less its rounding: a lower bound on the gradient's size."""
    image, lost = _sums(model.kernel_, X, rows, s * r[:, np.newaxis])
    root = np.sqrt(s)
    norm = float(np.linalg.norm(root * image) - np.linalg.norm(root * lost))
    trace = float(s[:, 0] @ np.abs(diagonal(model.kernel_, X, rows)))
    return norm / (trace * float(np.linalg.norm(root[:, 0] * y)) or np.inf)


def find_eigen(model: Any, X: Any, seconds: float) -> EigenCertificate:
    """The residuals of eigenpairs of the centred kernel matrix.

    Solved unless a residual is certain to be above tol λ₁ (tol = 0 stands for 1e-8) and above the
    rounding of a matrix that is zero.
    """
    values = np.asarray(model.eigenvalues_, dtype=np.float64)
    V = np.asarray(model.eigenvectors_, dtype=np.float64)
    rows = np.arange(len(V))
    image, lost = _sums(model.kernel_, X, rows, V - V.mean(axis=0))
    image -= image.mean(axis=0)
    residuals = np.linalg.norm(image - V * values, axis=0)
    largest_image = float(np.linalg.norm(image, axis=0).max(initial=0.0))
    allowed = np.linalg.norm(lost, axis=0) + 1e-13 * largest_image
    least = float((residuals - allowed).max(initial=0.0))
    rounding = _EPS * float(np.abs(diagonal(model.kernel_, X, rows)).sum())
    goal = max((model.tol or _DEFAULT_EIGEN_TOL) * float(values.max(initial=0.0)), rounding)
    return EigenCertificate.of(
        values,
        residuals,
        status=Status.SOLVED if least <= goal * (1 + 1e-9) else Status.STALLED,
        solver="verify",
        iterations=0,
        seconds=seconds,
    )
