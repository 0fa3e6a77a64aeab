"""Classification: C-SVC and ν-SVC as box QPs in signed duals β = y∘α, with y = ±1.

C-SVC (Cortes and Vapnik 1995) is the dual of

    minimise over w, b, ξ ≥ 0   ½‖w‖² + Σ Cᵢ ξᵢ    subject to  yᵢ (w·φ(xᵢ) + b) ≥ 1 − ξᵢ,

with 0 ≤ yᵢβᵢ ≤ Cᵢ and Σ β = 0. Cᵢ = ∞ is the hard margin; without b the sum is free.

ν-SVC (Schölkopf et al. 2000) is the dual of

    minimise over w, b, ρ ≥ 0, ξ ≥ 0   ½‖w‖² − ν ρ Σ sᵢ + Σ sᵢ ξᵢ
    subject to  yᵢ (w·φ(xᵢ) + b) ≥ ρ − ξᵢ,

with sample weights sᵢ, 0 ≤ yᵢβᵢ ≤ sᵢ, and β summing to ±ν Σs / 2 over the two classes. The
multipliers of these sums are b − ρ (positives) and b + ρ (negatives); dividing β and b by ρ gives
the C-SVC model with C = 1/ρ.
"""

from __future__ import annotations

import numpy as np

from mercer.problems._dual_qp import BoxQP, fill_from_front

__all__ = ["nu_svc", "svc"]


def svc(y: np.ndarray, C: float | np.ndarray, *, fit_intercept: bool = True) -> BoxQP:
    """C-SVC: labels y = ±1, one bound C for all or one for each point; C may be infinite."""
    n = y.shape[0]
    signed = y * C
    return BoxQP(
        target=np.asarray(y, dtype=np.float64),
        lower=np.minimum(signed, 0.0),
        upper=np.maximum(signed, 0.0),
        start=np.zeros(n),
        group=np.zeros(n, dtype=np.int8) if fit_intercept else None,
    )


def nu_svc(y: np.ndarray, nu: float, weight: float | np.ndarray = 1.0) -> BoxQP:
    """ν-SVC: labels y = ±1, weights that scale the bounds and, through their sum, ν.

    Group 0 holds the positives, group 1 the negatives.
    """
    n = y.shape[0]
    weight = np.array(np.broadcast_to(weight, n), dtype=np.float64)
    half = nu * weight.sum() / 2
    smaller = min(weight[y > 0].sum(), weight[y <= 0].sum())
    if half > smaller * (1 + 1e-12):  # ν = ν_max itself must survive rounding
        raise ValueError(
            f"specified nu is infeasible: nu must be at most {2 * smaller / weight.sum():.6g}, "
            "twice the smaller class's share of the weight (of the rows, without weights), got "
            f"{nu:.6g}; lower nu or balance the classes."
        )
    start = np.where(y > 0, 1.0, -1.0)
    for side in (y > 0, y <= 0):
        start[side] *= fill_from_front(half, weight[side])
    return BoxQP(
        target=np.zeros(n),
        lower=np.where(y > 0, 0.0, -weight),
        upper=np.where(y > 0, weight, 0.0),
        start=start,
        group=np.where(y > 0, 0, 1).astype(np.int8),
    )
