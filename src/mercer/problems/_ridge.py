"""Kernel ridge regression: a linear system, the optimality condition of

    minimise  J(f) = ½ Σ sᵢ (yᵢ − f(xᵢ))² + ½ α ‖w‖²       f(x) = w·φ(x) = Σ cᵢ k(xᵢ, x)

    (K + α S⁻¹) c = y,   S = diag(s)

(Saunders, Gammerman and Vovk, "Ridge regression learning algorithm in dual variables", 1998). Its
dual is αyᵀc − ½α cᵀKc − ½α² cᵀS⁻¹c, and at any c whatsoever the gap between the two is
½ Σ sᵢ rᵢ² with the residual r = y − (K + αS⁻¹)c.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["Ridge"]


@dataclass(frozen=True, eq=False)
class Ridge:
    """(K + αS⁻¹) c = y for several targets."""

    Y: np.ndarray  # (n, m)
    alpha: np.ndarray  # (m,): one for each target
    weight: np.ndarray | None = None  # (n,): the positive s; None when all are one

    @property
    def scale(self) -> np.ndarray:
        """√s of each point: with D = diag(scale) the system is (DKD + αI) D⁻¹c = Dy."""
        return np.ones(self.Y.shape[0]) if self.weight is None else np.sqrt(self.weight)

    def norms(self, V: np.ndarray) -> np.ndarray:
        """‖Dv‖ of each column."""
        return np.linalg.norm(self.scale[:, np.newaxis] * V, axis=0)

    def residual(self, coef: np.ndarray, f: np.ndarray) -> np.ndarray:
        """y − (K + αS⁻¹)c, with f = Kc."""
        shift = coef if self.weight is None else coef / self.weight[:, np.newaxis]
        return self.Y - f - self.alpha * shift
