"""What `mercer.verify` finds about kernel ridge regression and kernel PCA: residuals in float64.

ridge  r = y − Kc − αc/s,  P = ½ Σ s (y − Kc)² + ½ α cᵀKc,  gap = ½ Σ s r²
PCA    ‖K̄v − λv‖ of each unit eigenvector, K̄ = HKH with H = I − 11ᵀ/n
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._naive import kernel_sums
from mercer.residuals import EigenCertificate, RidgeCertificate
from mercer.result import Status

__all__ = ["find_eigen", "find_ridge"]

# Float64 cannot do better than this, as a part of what is asked for or of the largest value.
_ROUNDING = 1e-13


def find_ridge(model: Any, X: Any, y: Any, weight: np.ndarray, seconds: float) -> RidgeCertificate:
    """The certificate of ridge coefficients; rows without weight have none."""
    rows = np.flatnonzero(weight > 0)
    Y = np.asarray(y, dtype=np.float64).reshape(len(weight), -1)[rows]
    s = weight[rows, np.newaxis]
    coef = np.asarray(model.dual_coef_, dtype=np.float64).reshape(len(rows), -1)
    f = kernel_sums(model.kernel_, X, rows, rows, coef)
    alpha = np.broadcast_to(np.asarray(model.alpha_, dtype=np.float64), Y.shape[1])
    r = Y - f - alpha * coef / s
    primal = float(np.sum(s * (Y - f) ** 2) + alpha @ np.sum(coef * f, axis=0)) / 2
    squares, sizes = (np.sum(s * v**2, axis=0) for v in (r, Y))
    gap = float(squares.sum()) / 2
    residual = float(np.sqrt(squares / np.where(sizes > 0, sizes, np.inf)).max(initial=0.0))
    solved = residual <= max(model.tol * 1.01, _ROUNDING)
    return RidgeCertificate(
        primal=primal, dual=primal - gap, gap=gap,
        relative_gap=gap / primal if primal > 0 else 0.0, residual=residual,
        status=Status.SOLVED if solved else Status.STALLED, solver="verify", iterations=0,
        seconds=seconds,
    )  # fmt: skip


def find_eigen(model: Any, X: Any, seconds: float) -> EigenCertificate:
    """The residuals of eigenpairs of the centred kernel matrix."""
    values = np.asarray(model.eigenvalues_, dtype=np.float64)
    V = np.asarray(model.eigenvectors_, dtype=np.float64)
    rows = np.arange(len(V))
    image = kernel_sums(model.kernel_, X, rows, rows, V - V.mean(axis=0))
    image -= image.mean(axis=0)
    residuals = np.linalg.norm(image - V * values, axis=0)
    largest = float(values.max(initial=0.0))
    relative = float(residuals.max(initial=0.0)) / largest if largest > 0 else 0.0
    stated = model.certificate_.relative_residual
    solved = relative <= max(1.01 * stated, len(V) * _ROUNDING)
    return EigenCertificate(
        residuals=tuple(residuals.tolist()), relative_residual=relative,
        status=model.certificate_.status if solved else Status.STALLED, solver="verify",
        iterations=0, seconds=seconds,
    )  # fmt: skip
