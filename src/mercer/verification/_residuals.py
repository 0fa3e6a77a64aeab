"""Kernel ridge regression and kernel PCA recomputed: residuals.

ridge  r = y − Kc − αc/s,  P = ½ Σ s (y − Kc)² + ½ α cᵀKc,  gap = ½ Σ s r², as upper bounds
PCA    ‖K̄v − λv‖ of each unit eigenvector, K̄ = HKH with H = I − 11ᵀ/n

K c and K v come with bounds of their rounding (`mercer.kernels._reference`), of small problems in
double-double. A model is unsolved only if a residual less its rounding is above the tolerance.
Neither tolerance nor status is taken from the certificate of the model.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._precision import EPS
from mercer._result import Status
from mercer.certificates._residuals import EigenCertificate, RidgeCertificate
from mercer.kernels._reference import bounded_sums, diagonal, precise_sums
from mercer.verification._rounding import SETTINGS

__all__ = ["recompute_eigenvectors", "recompute_ridge"]


def _product(kernel: Any, X: Any, rows: np.ndarray, V: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """K V among the rows, and bounds of its error."""
    sums = None
    if len(rows) ** 2 <= SETTINGS.precise_residual_values:
        sums = precise_sums(kernel, X, rows, rows, V)
    if sums is None:
        sums = bounded_sums(kernel, X, rows, rows, V)
    return sums.high, sums.error + EPS * np.abs(sums.high)


@np.errstate(over="ignore", invalid="ignore")  # what overflows is infinite
def recompute_ridge(model: Any, X: Any, y: Any, weight: np.ndarray) -> RidgeCertificate:
    """The certificate of ridge coefficients; rows without weight have none."""
    rows = np.flatnonzero(weight > 0)
    Y = np.asarray(y, dtype=np.float64).reshape(len(weight), -1)[rows]
    s = weight[rows, np.newaxis]
    coef = np.asarray(model.dual_coef_, dtype=np.float64).reshape(len(rows), -1)
    f, lost = _product(model.kernel_, X, rows, coef)
    alpha = np.broadcast_to(np.asarray(model.alpha_, dtype=np.float64), Y.shape[1])
    r = Y - f - alpha * coef / s
    lost = lost + 4 * EPS * (np.abs(Y) + np.abs(f) + np.abs(r))
    rounding = 1 + (len(rows) + 8) * EPS
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
        primal - gap if np.isfinite(gap) else -np.inf,
        gap,
        residual,
        status=Status.NOT_REACHED if is_refuted.any() else solved,
        solver="verify",
        iterations=0,
        seconds=0.0,
    )


def _gradient(
    model: Any, X: Any, rows: np.ndarray, s: np.ndarray, r: np.ndarray, y: np.ndarray
) -> float:
    """‖DK S r‖ over trace(DKD) ‖Dy‖, less its rounding: a lower bound on the gradient's size."""
    image, lost = _product(model.kernel_, X, rows, s * r[:, np.newaxis])
    root = np.sqrt(s)
    norm = float(np.linalg.norm(root * image) - np.linalg.norm(root * lost))
    trace = float(s[:, 0] @ np.abs(diagonal(model.kernel_, X, rows)))
    return norm / (trace * float(np.linalg.norm(root[:, 0] * y)) or np.inf)


def recompute_eigenvectors(model: Any, X: Any) -> EigenCertificate:
    """The residuals of eigenpairs of the centred kernel matrix.

    Solved unless a residual is certain to be above tol λ₁ (tol = 0 stands for 1e-8) and above the
    rounding of a matrix that is zero.
    """
    values = np.asarray(model.eigenvalues_, dtype=np.float64)
    V = np.asarray(model.eigenvectors_, dtype=np.float64)
    rows = np.arange(len(V))
    image, lost = _product(model.kernel_, X, rows, V - V.mean(axis=0))
    image -= image.mean(axis=0)
    residuals = np.linalg.norm(image - V * values, axis=0)
    largest_image = float(np.linalg.norm(image, axis=0).max(initial=0.0))
    with np.errstate(over="ignore"):  # nothing is known of values whose bound is beyond float64
        allowed = np.linalg.norm(lost, axis=0) + 1e-13 * largest_image
    least = float((residuals - allowed).max(initial=0.0))
    rounding = EPS * float(np.abs(diagonal(model.kernel_, X, rows)).sum())
    goal = max((model.tol or SETTINGS.default_eigen_tol) * float(values.max(initial=0.0)), rounding)
    return EigenCertificate.of(
        values,
        residuals,
        status=Status.SOLVED if least <= goal * (1 + 1e-9) else Status.NOT_REACHED,
        solver="verify",
        iterations=0,
        seconds=0.0,
    )
