"""Kernel ridge regression on features recomputed; the formulas are those of its fit.

    P = ½ Σ s (y − f)² + ½ α aᵀK_mm a,   g = K_mm⁺^½ (α K_mm a − K_mn β),  β = s (y − f)
    gap = ‖g‖²/(2α),   D = (yᵀβ)² / (2 (Σ β²/s + βᵀKβ/α))

over landmarks, with the pseudo-inverse of an eigendecomposition; of other features w and Φᵀβ take
the place of a and K_mn β.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer._precision import EPS
from mercer._result import Status
from mercer.certificates._residuals import RidgeCertificate
from mercer.kernels._reference import bounded_sums, kernel_matrix
from mercer.verification._low_rank import LANDMARK_CUTOFF
from mercer.verification._rounding import SETTINGS, total

__all__ = ["recompute_feature_ridge"]


def recompute_feature_ridge(model: Any, X: Any, y: Any, weight: np.ndarray) -> RidgeCertificate:
    """The certificate of a `KernelRidge` with ``approximation``."""
    rows = np.flatnonzero(weight > 0)
    Y = np.asarray(y, dtype=np.float64).reshape(len(weight), -1)[rows]
    s = weight[rows, np.newaxis]
    alpha = np.broadcast_to(np.asarray(model.alpha_, dtype=np.float64), Y.shape[1])
    if not model.X_fit_.shape[0]:
        return _of_map(model, X[rows], Y, s, alpha)
    kernel, n = model.kernel_, X.shape[0]
    both = sp.vstack([X, model.X_fit_]).tocsr() if sp.issparse(X) else np.vstack([X, model.X_fit_])
    landmarks = np.arange(n, both.shape[0])
    a = np.asarray(model.dual_coef_, dtype=np.float64).reshape(landmarks.size, -1)
    f, f_error = bounded_sums(kernel, both, rows, landmarks, a)[::2]
    own, own_error = bounded_sums(kernel, both, landmarks, landmarks, a)[::2]
    norms = np.sum(a * own, axis=0) + 1.01 * np.sum(np.abs(a) * own_error, axis=0)
    beta = s * (Y - f)
    h = bounded_sums(kernel, both, landmarks, rows, beta).high
    size = bounded_sums(kernel, both, landmarks, rows, s * Y).high
    values, vectors = np.linalg.eigh(kernel_matrix(kernel, both, landmarks))
    kept = values > LANDMARK_CUTOFF * values[-1]
    factor = (vectors[:, kept] / np.sqrt(values[kept])).T
    g, scale = factor @ (alpha * own - h), factor @ size
    off = np.abs(Y - f) + f_error + 2 * EPS * (np.abs(Y) + np.abs(f))
    primal = total(s * off**2) / 2 + float(alpha @ norms) / 2
    found = _certificate(model, primal, g, scale, alpha)
    if kernel.is_psd is not True:
        return found
    K_beta, error = bounded_sums(kernel, both, rows, rows, beta)[::2]
    D = 0.0
    for t in range(Y.shape[1]):
        b = beta[:, t]
        square = total(b * K_beta[:, t]) + 1.01 * float(np.abs(b) @ error[:, t])
        cost = total(b**2 / s[:, 0]) + square / float(alpha[t])
        gain = total(Y[:, t] * b)
        D += gain**2 / (2 * cost) if cost > 0 and gain > 0 else 0.0
    P = primal * (1 + SETTINGS.summed)
    distance = max(0.0, P - D * (1 - SETTINGS.summed))
    return replace(found, distance_to_exact=distance, exact_primal=P, distance_note="")


def _of_map(
    model: Any, X: Any, Y: np.ndarray, s: np.ndarray, alpha: np.ndarray
) -> RidgeCertificate:
    function = model.expansion_
    F, W = function.map.transform(X), np.asarray(function.coef).T
    f = F @ W
    g = alpha * W - F.T @ (s * (Y - f))
    primal = total(s * (Y - f) ** 2) / 2 + float(alpha @ np.sum(W**2, axis=0)) / 2
    return _certificate(model, primal, g, F.T @ (s * Y), alpha)


def _certificate(
    model: Any, primal: float, g: np.ndarray, scale: np.ndarray, alpha: np.ndarray
) -> RidgeCertificate:
    norms, sizes = np.linalg.norm(g, axis=0), np.linalg.norm(scale, axis=0)
    gap = float(np.sum(norms**2 / (2 * alpha)))
    residual = float(np.max(norms / np.where(sizes > 0, sizes, np.inf), initial=0.0))
    solved = residual <= model.tol * (1 + SETTINGS.gap_tol_slack)
    return RidgeCertificate.of(
        primal,
        primal - gap,
        gap,
        residual,
        status=Status.SOLVED if solved else Status.NOT_REACHED,
        solver=model.solver_.name,
        iterations=0,
        seconds=0.0,
        distance_note=model.certificate_.distance_note,
    )
