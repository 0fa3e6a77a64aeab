"""Kernel ridge regression on features: one pass for the normal equations, one for the certificate.

    minimise  P(w) = ½ Σ sᵢ (yᵢ − w·φ(xᵢ))² + ½ α‖w‖²,    (FᵀSF + αI) w = FᵀSy

With the gradient g = αw − FᵀS(y − Fw), P(w) − P* ≤ ‖g‖²/(2α). The distance from the exact optimum
is P(w) − D(β), P with ‖w‖² = aᵀK_mm a over landmarks, and the exact dual value of tβ, β = S(y − f),

    D(tβ) = t yᵀβ − ½ t² (Σ β²/s + βᵀKβ/α),  which is (yᵀβ)² / (2 (Σ β²/s + βᵀKβ/α)) at the best t.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from mercer._precision import EPS
from mercer._result import Status, final_status
from mercer.certificates._certificate import ROUNDING
from mercer.certificates._residuals import RidgeCertificate
from mercer.estimators.low_rank._embedding import Embedding, FeatureSums
from mercer.estimators.low_rank._svm import NO_RKHS, NOT_PSD, OUT_OF_TIME
from mercer.problems import Ridge
from mercer.solvers import Stopping

__all__ = ["FeatureRidge", "solve_ridge"]

TOO_MANY = "none: it takes {:.0e} kernel values; mercer.verify computes it"


@dataclass(frozen=True)
class FeatureRidgeSettings:
    """Tuning constants.

    Attributes
    ----------
    distance_rows : int
        Rows up to which the distance is computed: it takes n²/2 kernel values.
    refinements : int
        Steps of iterative refinement of the normal equations.
    grace_seconds : float
        For the certificate of a fit that was stopped.
    """

    distance_rows: int = 30_000
    refinements: int = 2
    grace_seconds: float = 0.3


SETTINGS = FeatureRidgeSettings()


@dataclass(frozen=True, eq=False)
class FeatureRidge:
    """W of shape (r, targets), and its certificate."""

    W: np.ndarray
    certificate: RidgeCertificate


def solve_ridge(
    problem: Ridge, embedding: Embedding, tol: float, stopping: Stopping
) -> FeatureRidge:
    """Solve and certify; features are computed in tiles and never kept."""
    s = problem.scale**2
    S = s[:, np.newaxis]

    r = embedding.n_features
    n_lanes = min(embedding.gram.machine.lanes, len(embedding.tiles))
    A, rhs = np.zeros((n_lanes, r, r)), np.zeros((n_lanes, r, problem.Y.shape[1]))

    def normal(lane: int) -> int:
        """FᵀSF and FᵀSy over some tiles, the same for any number of threads; their number."""
        for done, part in enumerate(embedding.tiles[lane::n_lanes]):
            if stopping.is_stopped():
                return done
            F = embedding.features(part)
            weighted = F * S[part]
            A[lane] += F.T @ weighted
            rhs[lane] += weighted.T @ problem.Y[part]
        return len(embedding.tiles[lane::n_lanes])

    n_tiles = sum(embedding.gram.workers.map(normal, range(n_lanes)))
    A, rhs = A.sum(axis=0), rhs.sum(axis=0)
    W = np.empty_like(rhs)
    for t, alpha in enumerate(problem.alpha):
        system = A + alpha * np.eye(r)
        factor = linalg.cho_factor(system)
        W[:, t] = linalg.cho_solve(factor, rhs[:, t])
        for _ in range(SETTINGS.refinements):
            W[:, t] += linalg.cho_solve(factor, rhs[:, t] - system @ W[:, t])
    stop = stopping.grace(SETTINGS.grace_seconds)
    f = embedding.sums(W, np.zeros((embedding.n, W.shape[1])), stop).f
    beta = S * (problem.Y - f)
    sums = embedding.sums(W, beta, stop)
    is_whole = n_tiles == len(embedding.tiles)
    sizes = np.linalg.norm(rhs, axis=0) * is_whole  # not known of a part of the rows
    return FeatureRidge(W, _certify(problem, embedding, W, beta, sums, sizes, tol, stopping))


def _certify(
    problem: Ridge,
    embedding: Embedding,
    W: np.ndarray,
    beta: np.ndarray,
    sums: FeatureSums,
    sizes: np.ndarray,
    tol: float,
    stopping: Stopping,
) -> RidgeCertificate:
    s, alpha = problem.scale[:, np.newaxis] ** 2, problem.alpha
    off = np.abs(problem.Y - sums.f) + sums.f_error + 2 * EPS * (np.abs(problem.Y) + np.abs(sums.f))
    units = (embedding.n + W.shape[0] + 8) * EPS
    # Fᵀ S of the residual: β is rounded, and f is off by its error.
    moved = np.linalg.norm(s * sums.f_error + 4 * EPS * np.abs(beta), axis=0)
    spread = np.sqrt(float(np.sum(np.abs(embedding.gram.diag()))) * ROUNDING.norms)
    g = np.abs(alpha * W - sums.v) + sums.v_error + 2 * EPS * (np.abs(alpha * W) + np.abs(sums.v))
    norms = (np.linalg.norm(g, axis=0) + spread * moved) * ROUNDING.norms
    gap = float(np.sum(norms**2 / (2 * alpha))) * ROUNDING.norms
    loss = 0.5 * np.sum(s * off**2, axis=0)
    primal = float(np.sum(loss + alpha * np.sum(W**2, axis=0) / 2)) * (1 + units)
    ratio = np.where(norms > 0, np.inf, 0.0)
    np.divide(norms, sizes, out=ratio, where=sizes > 0)
    residual = float(ratio.max(initial=0.0))
    stopped = stopping.stopped or Status.SOLVED
    distance, exact, note = _distance(problem, embedding, W, beta, loss, stopping)
    return RidgeCertificate.of(
        primal,
        max(primal * (1 - 2 * units) - gap, 0.0) if np.isfinite(primal) else 0.0,
        gap,
        residual,
        status=final_status(stopped, residual, tol),
        solver="normal equations",
        iterations=0,
        seconds=stopping.seconds,
        distance_to_exact=distance,
        exact_primal=exact,
        distance_note=note,
    )


def _distance(
    problem: Ridge,
    embedding: Embedding,
    W: np.ndarray,
    beta: np.ndarray,
    loss: np.ndarray,
    stopping: Stopping,
) -> tuple[float | None, float, str]:
    """P − D(β) of the exact kernel, P itself, and why there is none."""
    gram, n = embedding.gram, embedding.n
    if embedding.landmarks is None:
        return None, np.nan, NO_RKHS
    A, _ = embedding.coefficients(W)
    norms = [sum(embedding.norm(a)) for a in A.T]
    P = float(np.sum(loss + problem.alpha * np.array(norms) / 2)) * (1 + (n + 8) * EPS)
    if gram.is_psd is not True:
        return None, P, NOT_PSD
    if n > SETTINGS.distance_rows:
        return None, P, TOO_MANY.format(n**2 / 2)
    s, D, rows = problem.scale**2, 0.0, np.arange(n)
    for t, alpha in enumerate(problem.alpha):
        b = beta[:, t]
        f, error = gram.bounded_sums(b, rows, np.float64, stopping.is_stopped)
        if stopping.stopped is not None:
            return None, P, OUT_OF_TIME
        square = float(b @ f) + float(np.abs(b) @ error) + n * EPS * float(np.abs(b) @ np.abs(f))
        gain = float(problem.Y[:, t] @ b) - n * EPS * float(np.abs(problem.Y[:, t]) @ np.abs(b))
        cost = (float(np.sum(b**2 / s)) + square / float(alpha)) * (1 + (n + 8) * EPS)
        D += max(gain, 0.0) ** 2 / (2 * cost) * (1 - 8 * EPS) if cost > 0 else 0.0
    return max(0.0, P - D), P, ""
