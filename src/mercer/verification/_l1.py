"""The L1 penalty of linear models in `mercer.verify`.

    P = ‖w‖₁ + κ|b| + Σ L,    gap = Σ (L + L*(−β) + βg) + Σ (|w| − w Xᵀβ) + κ|b| − bΣβ

for duals with |Xᵀβ| ≤ 1 in every column and |Σβ| ≤ κ (κ = 0: the sum is zero). Where these are
exceeded by a factor m > 1, β/m is feasible; the dual value is concave and 0 at β = 0, so that at
most (1 − 1/m) P is lost.
"""

from __future__ import annotations

import numpy as np

from mercer._precision import UNIT
from mercer.verification._rounding import total

__all__ = ["excess", "feasible_factor", "norm_terms"]


def excess(w_beta: np.ndarray, beta_sum: float, kappa: float | None) -> float:
    """The largest of |Xᵀβ| and |Σβ|/κ."""
    largest = float(np.abs(w_beta).max(initial=0.0))
    return max(largest, abs(beta_sum) / kappa) if kappa else largest


def feasible_factor(alpha: np.ndarray, C: np.ndarray, largest: float) -> float:
    """The t ≤ 1/m with the largest dual value t Σα − t² Σα²/(4C)."""
    square = total(alpha * (alpha / C)) / 2
    best = total(alpha) / square if square > 0 else 1.0
    return min(best, 1.0 / largest) if largest > 0 else best


def norm_terms(
    w: np.ndarray,
    b: float,
    w_beta: np.ndarray,
    error: np.ndarray,
    beta_sum: float,
    kappa: float | None,
    loss: float,
) -> tuple[float, float, float]:
    """‖w‖₁ + κ|b|; the upper bound of all terms but those of the losses, and it without rounding.

    ``loss`` is an upper bound of Σ L.
    """
    below = 1 - np.sign(w) * w_beta
    wider = np.maximum(below + error + 2 * UNIT * (1 + np.abs(w_beta)), 0.0)
    norm, plain, high = total(np.abs(w)), total(np.abs(w) * below), total(np.abs(w) * wider)
    if kappa:
        norm += kappa * abs(b)
        apart = kappa - np.sign(b) * beta_sum
        plain += abs(b) * apart
        high += abs(b) * max(apart + 8 * UNIT * (kappa + abs(beta_sum)), 0.0)
    value = norm + loss
    largest = excess(np.abs(w_beta) + error, beta_sum, kappa) * (1 + 8 * UNIT)
    outside = max(1 - 1 / max(largest, 1.0), 0.0) + 16 * UNIT
    plain += (1 - 1 / max(excess(w_beta, beta_sum, kappa), 1.0)) * value
    return norm, high * (1 + 8 * UNIT) + outside * value, plain
