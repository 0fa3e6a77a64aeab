"""The five formulations of support vector machines as box QPs in signed duals β.

**C-SVC** (Cortes and Vapnik 1995), β = y∘α with y = ±1, is the dual of

    minimise over w, b, ξ ≥ 0   ½‖w‖² + Σ Cᵢ ξᵢ    subject to  yᵢ (w·φ(xᵢ) + b) ≥ 1 − ξᵢ,

with 0 ≤ yᵢβᵢ ≤ Cᵢ and Σ β = 0. Cᵢ = ∞ is the hard margin; without b the sum is free. With squared
slack, Σ Cᵢ ξᵢ², there is no upper bound, and 1/(2Cᵢ) is added to the diagonal of K.

**ν-SVC** (Schölkopf et al. 2000) is the dual of

    minimise over w, b, ρ ≥ 0, ξ ≥ 0   ½‖w‖² − ν ρ Σ sᵢ + Σ sᵢ ξᵢ
    subject to  yᵢ (w·φ(xᵢ) + b) ≥ ρ − ξᵢ,

with sample weights sᵢ, 0 ≤ yᵢβᵢ ≤ sᵢ, and β summing to ±ν Σs / 2 over the two classes. The
multipliers of these sums are b − ρ (positives) and b + ρ (negatives); dividing β and b by ρ gives
the C-SVC model with C = 1/ρ.

**ε-SVR** (Drucker et al. 1997) is the dual of

    minimise over w, b, ξ, ξ* ≥ 0   ½‖w‖² + Σ Cᵢ (ξᵢ + ξᵢ*)
    subject to  yᵢ − w·φ(xᵢ) − b ≤ ε + ξᵢ   and   w·φ(xᵢ) + b − yᵢ ≤ ε + ξᵢ*.

Each data point has two variables: 0 ≤ βᵢ ≤ Cᵢ for errors above the ε-insensitive interval (target
y − ε) and −Cᵢ ≤ βᵢ₊ₙ ≤ 0 for errors below it (target y + ε). Σ β = 0; its multiplier is b. The
coefficient of the point in f is the sum of the two. Squared slack is as above.

**ν-SVR** (Schölkopf et al. 2000) adds the term ν ε Σ Cᵢ and makes ε a variable. Both targets are y,
the two sides are groups of their own with sums ±ν Σ C / 2, and the multipliers are b + ε and b − ε.

**One-class SVM** (Schölkopf et al. 2001) is the dual of

    minimise over w, ρ, ξ ≥ 0   ½‖w‖² − ν ρ Σ sᵢ + Σ sᵢ ξᵢ    subject to  w·φ(xᵢ) ≥ ρ − ξᵢ

with sample weights sᵢ (LIBSVM's scale: 0 ≤ βᵢ ≤ sᵢ, Σ β = ν Σ s). Targets are zero and the
multiplier of the sum is b = −ρ, so f(x) = Σ βᵢ k(xᵢ, x) + b is negative for outliers.
"""

from __future__ import annotations

import numpy as np

from mercer.problems._dual_qp import BoxQP, fill_from_front

__all__ = ["nu_svc", "nu_svr", "one_class", "svc", "svr"]


def svc(
    y: np.ndarray, C: float | np.ndarray, *, fit_intercept: bool = True, squared: bool = False
) -> BoxQP:
    """C-SVC: labels y = ±1, one C for all or one for each point; C may be infinite."""
    n = y.shape[0]
    bound, diag = _slack(C, n, squared)
    return BoxQP(
        target=np.asarray(y, dtype=np.float64),
        lower=np.where(y > 0, 0.0, -bound),
        upper=np.where(y > 0, bound, 0.0),
        start=np.zeros(n),
        group=np.zeros(n, dtype=np.int8) if fit_intercept else None,
        diag=diag,
    )


def _slack(C: float | np.ndarray, n: int, squared: bool) -> tuple[np.ndarray, np.ndarray | None]:
    """The bound of each point, and with squared slack what is added to the diagonal of K."""
    bound = np.array(np.broadcast_to(C, n), dtype=np.float64)
    if not squared or np.isinf(bound).all():
        return bound, None
    return np.full(n, np.inf), 0.5 / bound


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


def svr(
    y: np.ndarray,
    C: float | np.ndarray,
    epsilon: float,
    *,
    fit_intercept: bool = True,
    squared: bool = False,
) -> BoxQP:
    """ε-SVR: targets y, one C for all or one for each point; C may be infinite."""
    n = y.shape[0]
    bound, diag = _slack(C, n, squared)
    points = np.arange(n, dtype=np.int64)
    return BoxQP(
        target=np.concatenate([y - epsilon, y + epsilon]).astype(np.float64, copy=False),
        lower=np.concatenate([np.zeros(n), -bound]),
        upper=np.concatenate([bound, np.zeros(n)]),
        start=np.zeros(2 * n),
        row=np.concatenate([points, points]),
        group=np.zeros(2 * n, dtype=np.int8) if fit_intercept else None,
        diag=diag,
    )


def nu_svr(y: np.ndarray, C: float | np.ndarray, nu: float) -> BoxQP:
    """ν-SVR: targets y, one finite bound C for all or one for each point.

    Group 0 holds the errors above the interval, group 1 those below.
    """
    n = y.shape[0]
    bound = np.array(np.broadcast_to(C, n), dtype=np.float64)
    if not np.isfinite(bound).all():
        raise ValueError(
            "C must be finite for nu-SVR (the coefficient of epsilon is nu * C), got inf."
        )
    half = fill_from_front(nu * bound.sum() / 2, bound)
    return BoxQP(
        target=np.concatenate([y, y]).astype(np.float64),
        lower=np.concatenate([np.zeros(n), -bound]),
        upper=np.concatenate([bound, np.zeros(n)]),
        start=np.concatenate([half, -half]),
        row=np.tile(np.arange(n, dtype=np.int64), 2),
        group=np.repeat(np.array([0, 1], dtype=np.int8), n),
    )


def one_class(nu: float, weight: np.ndarray) -> BoxQP:
    """One-class SVM: one weight per point scales its bound and, through their sum, ν."""
    weight = np.array(weight, dtype=np.float64)
    n = weight.shape[0]
    return BoxQP(
        target=np.zeros(n),
        lower=np.zeros(n),
        upper=weight,
        start=fill_from_front(nu * weight.sum(), weight),
        group=np.zeros(n, dtype=np.int8),
    )
