"""One-class SVM as a box QP (Schölkopf et al. 2001). The dual of

    minimise over w, ρ, ξ ≥ 0   ½‖w‖² − ν ρ Σ sᵢ + Σ sᵢ ξᵢ    subject to  w·φ(xᵢ) ≥ ρ − ξᵢ

with sample weights sᵢ (LIBSVM's scale: 0 ≤ βᵢ ≤ sᵢ, Σ β = ν Σ s). Targets are zero and the
multiplier of the sum is b = −ρ, so f(x) = Σ βᵢ k(xᵢ, x) + b is negative for outliers.
"""

from __future__ import annotations

import numpy as np

from mercer.problems._dual_qp import BoxQP, fill_from_front

__all__ = ["one_class"]


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
