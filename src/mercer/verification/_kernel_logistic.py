"""Kernel logistic regression recomputed: objective and gap as bounds.

With f = Kβ and g = f + b

    P = ½βᵀf + Σ s log(1 + exp(−y g))    gap = ½(β − β̃)ᵀK(β − β̃),  β̃ = y s σ(−y g)

If there is an intercept, β̃ is that of g + δ with Σβ̃ = 0, which adds the gap terms of the loss.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.optimize import brentq

from mercer._precision import EPS
from mercer._result import Status
from mercer.certificates._certificate import relative
from mercer.kernels._reference import Sums
from mercer.verification._dual_svm import VerifiedCertificate, overflow_is_infinite, refined
from mercer.verification._formulations import ModelTask
from mercer.verification._losses import LOGISTIC
from mercer.verification._rounding import SETTINGS

__all__ = ["recompute_logistic"]


@overflow_is_infinite
def recompute_logistic(model: Any, task: ModelTask) -> VerifiedCertificate:
    """The certificate of one logistic task; all rows are computed again where rounding matters."""
    found, n = _logistic_certificate(model, task), len(task.y)
    if found.status is Status.STALLED and n * n <= SETTINGS.precise_residual_values:
        sums = task.refine(np.arange(n))
        if sums is not None:
            return _logistic_certificate(model, refined(task, np.arange(n), sums))
    return found


def _balancing_shift(y: np.ndarray, s: np.ndarray, a: np.ndarray) -> float:
    """The δ at which the duals of g + δ sum to zero; their sum falls as δ rises."""

    def total(shift: float) -> float:
        return math.fsum(y * LOGISTIC.dual(s, a - y * shift))

    if total(0.0) == 0 or not np.isfinite(a).all():
        return 0.0
    # Beyond it the duals of one class are below those of the other by more than weights differ.
    far = 2 * float(np.abs(a).max()) + 1500.0
    if not total(-far) > 0 > total(far):
        return 0.0
    return float(brentq(total, -far, far, xtol=1e-300, maxiter=400, disp=False))


def _primal_nearby(
    task: ModelTask, s: np.ndarray, a: np.ndarray, error: np.ndarray, away: np.ndarray, image: Sums
) -> float:
    """An upper bound of the least P at β + t (β̃ − β): the optimal value is below it."""
    values = []
    for t in 0.5 ** np.arange(24):
        beta, f = task.beta + t * away, task.f.high + t * image.high
        own_error = error + t * image.error + 8 * EPS * (np.abs(f) + t * np.abs(image.high))
        quad = float(beta @ f) + float(np.abs(beta) @ own_error)
        size = float(np.abs(beta) @ np.abs(f))
        loss = math.fsum(LOGISTIC.value(s, a - t * task.y * image.high + own_error))
        values.append((quad + (beta.size + 8) * EPS * size) / 2 + loss * (1 + SETTINGS.summed))
    return float(np.nanmin(values, initial=np.inf))


def _logistic_certificate(model: Any, task: ModelTask) -> VerifiedCertificate:
    y, beta, b, one = task.y, task.beta, task.b, SETTINGS.summed
    v, error = task.residuals(np.zeros(len(y)))
    a, s = y * v, model.C * task.weight  # a = −y g
    closing = y * LOGISTIC.dual(s, a)
    if model.fit_intercept:  # a feasible dual point: what rounding leaves of the sum is scaled off
        closing = y * LOGISTIC.dual(s, a - y * _balancing_shift(y, s, a))
        sums = [math.fsum(closing[side]) for side in (closing > 0, closing < 0)]
        least = min(abs(part) for part in sums)
        factors = [least / abs(part) if part else 1.0 for part in sums]
        closing = closing * np.where(closing > 0, *factors)
    wrong = s * (error / 4 + 4 * EPS)  # of β̃: the slope of σ is at most ¼
    quad, quad_error = task.squared_norm()
    loss = [math.fsum(LOGISTIC.value(s, a + k * error)) for k in (-1, 1)]
    away = closing - beta
    image = task.product(away)
    squared = max(float(away @ image.high), 0.0)
    open_part = float(np.abs(away) @ image.error)
    root = float(wrong @ np.sqrt(task.diag(np.arange(len(y))))) if np.any(wrong) else 0.0
    norms = [max(0.0, np.sqrt(max(0.0, squared + k * open_part)) + k * root) for k in (-1, 1)]
    drift = abs(b * math.fsum(closing)) if model.fit_intercept else 0.0
    drift_error = abs(b) * float(wrong.sum()) if model.fit_intercept else 0.0
    primal_low = ((quad - quad_error) / 2 + loss[0]) * (1 - one)
    primal = ((quad + quad_error) / 2 + loss[1]) * (1 + one)
    gap = (norms[1] * norms[1] / 2 + drift + drift_error) * (1 + one)
    if model.fit_intercept:  # what scaling costs
        terms = [LOGISTIC.gap_terms(s, np.abs(closing), a + k * error) for k in (-1, 1)]
        gap += math.fsum(np.maximum(*terms)) * (1 + one)
    gap_low = max(0.0, primal_low - _primal_nearby(task, s, a, error, away, image))
    status = Status.STALLED if relative(gap_low, primal) <= model.tol else Status.NOT_REACHED
    if relative(gap, primal) <= model.tol * (1 + SETTINGS.gap_tol_slack):
        status = Status.SOLVED
    values = primal, primal_low - gap, gap, np.sqrt(max(quad, 0.0))
    return VerifiedCertificate.of(
        *values,
        (np.count_nonzero(beta == 0), 0, beta.size),
        kkt_violation=float(np.sqrt(squared)),
        bias_interval=(b, b),
        status=status,
        name=task.name,
        unit="products with K",
        primal_low=primal_low,
        gap_low=gap_low,
        violation_low=norms[0],
        violation_high=norms[1],
        precision=task.precision,
    )
