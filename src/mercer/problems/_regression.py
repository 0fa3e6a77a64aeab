"""Regression: ε-SVR and ν-SVR as box QPs in signed duals.

ε-SVR (Drucker et al. 1997) is the dual of

    minimise over w, b, ξ, ξ* ≥ 0   ½‖w‖² + Σ Cᵢ (ξᵢ + ξᵢ*)
    subject to  yᵢ − w·φ(xᵢ) − b ≤ ε + ξᵢ   and   w·φ(xᵢ) + b − yᵢ ≤ ε + ξᵢ*.

Each data point has two variables: 0 ≤ βᵢ ≤ Cᵢ for the upper edge of the tube (target y − ε) and
−Cᵢ ≤ βᵢ₊ₙ ≤ 0 for the lower edge (target y + ε). Σ β = 0; its multiplier is b. The coefficient of
the point in f is the sum of the two.

ν-SVR (Schölkopf et al. 2000) makes ε a variable at the price ν ε Σ Cᵢ. Both targets are y, the two
edges are groups of their own with sums ±ν Σ C / 2, and the multipliers are b + ε and b − ε.
"""

from __future__ import annotations

import numpy as np

from mercer.problems._dual_qp import BoxQP, fill_from_front

__all__ = ["nu_svr", "svr"]


def svr(
    y: np.ndarray, C: float | np.ndarray, epsilon: float, *, fit_intercept: bool = True
) -> BoxQP:
    """ε-SVR: targets y, one bound C for all or one for each point."""
    n = y.shape[0]
    lower, upper = np.zeros(2 * n), np.zeros(2 * n)
    lower[n:] = -C
    upper[:n] = C
    points = np.arange(n, dtype=np.int64)
    return BoxQP(
        target=np.concatenate([y - epsilon, y + epsilon]).astype(np.float64, copy=False),
        lower=lower,
        upper=upper,
        start=np.zeros(2 * n),
        row=np.concatenate([points, points]),
        group=np.zeros(2 * n, dtype=np.int8) if fit_intercept else None,
    )


def nu_svr(y: np.ndarray, C: float | np.ndarray, nu: float) -> BoxQP:
    """ν-SVR: targets y, one finite bound C for all or one for each point.

    Group 0 holds the upper edge of the tube, group 1 the lower one.
    """
    n = y.shape[0]
    bound = np.array(np.broadcast_to(C, n), dtype=np.float64)
    if not np.isfinite(bound).all():
        raise ValueError("C must be finite for nu-SVR (the price of epsilon is nu * C), got inf.")
    half = fill_from_front(nu * bound.sum() / 2, bound)
    return BoxQP(
        target=np.concatenate([y, y]).astype(np.float64),
        lower=np.concatenate([np.zeros(n), -bound]),
        upper=np.concatenate([bound, np.zeros(n)]),
        start=np.concatenate([half, -half]),
        row=np.tile(np.arange(n, dtype=np.int64), 2),
        group=np.repeat(np.array([0, 1], dtype=np.int8), n),
    )
