"""Logistic regression in feature space, in signed duals β = y∘α with y = ±1:

    minimise over w, b   ½‖w‖² + Σ Cᵢ log(1 + exp(−yᵢ gᵢ)),    gᵢ = w·φ(xᵢ) + b
    maximise over β      −½ βᵀKβ − Σ Cᵢ H(pᵢ),   pᵢ = yᵢβᵢ / Cᵢ,   Σ β = 0 (with b)

where H(p) = p log p + (1 − p) log(1 − p) is minus the entropy. At the optimum pᵢ = σ(−yᵢgᵢ), the
probability that the model gives to the wrong label. Dividing by C shows λ = 1/C.

Any model w = Σ βᵢφ(xᵢ), with the b that is best for it, has a dual point β̃ᵢ = yᵢCᵢσ(−yᵢgᵢ), which
lies in its box and sums to zero. Between the two the duality gap is half the squared gradient:

    P(w, b) − D(β̃) = ½‖w − w̃‖² = ½ (β − β̃)ᵀK(β − β̃) ≥ 0

(the terms of log and H are Fenchel partners at g, and leave −β̃ᵀf). In float64 g = f̂ + b is known
up to |f̂ − f| ≤ e, and the sum of β̃ is zero up to rounding. Then any feasible β̃ has

    P(w, b) − D(β̃) = ½‖w − w̃‖² + Σ Fᵢ,    Fᵢ = ℓᵢ(gᵢ) + ℓᵢ*(−β̃ᵢ) + β̃ᵢgᵢ ≥ 0

where Fᵢ ≤ Cᵢeᵢ²/8 if β̃ᵢ is the partner of f̂ᵢ + b (ℓ'' ≤ C/4), and for the one variable that takes
up the drift δ of the sum, Fᵢ ≤ 2δ²/(Cᵢ min(p, 1 − p)), as long as δ is at most half of
Cᵢ min(p, 1 − p) (H'' = 1/(p(1 − p))). D(0) = 0 is a bound, too. Reference: Keerthi, Duan,
Shevade and Poo, Machine Learning 61, 2005.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

__all__ = ["Logistic"]


@dataclass(frozen=True, eq=False)
class Logistic:
    """One task."""

    y: np.ndarray  # ±1
    C: np.ndarray  # the weight of each point's loss
    fit_intercept: bool = True

    def duals(self, g: np.ndarray) -> np.ndarray:
        """The dual β of the model g: y C σ(−y g)."""
        return self.y * self.C * expit(-self.y * g)

    def curvature(self, g: np.ndarray) -> np.ndarray:
        """Second derivative of each loss."""
        return self.C * expit(g) * expit(-g)

    def primal(self, beta: np.ndarray, f: np.ndarray, b: float) -> float:
        """The objective of the model β, b, with f = Kβ."""
        return float(beta @ f / 2 + self.C @ np.logaddexp(0.0, -self.y * (f + b)))

    def dual_point(self, g: np.ndarray) -> tuple[np.ndarray, float]:
        """A feasible β̃ near the dual of g, and what its correction adds to the gap.

        With an intercept the sum of β̃ is zero up to one rounding; the variable with the largest
        slack takes up the drift. Infinite where no slack is large enough.
        """
        beta = self.duals(g)
        if not self.fit_intercept:
            return beta, 0.0
        drift = math.fsum(beta)
        size = np.abs(beta)
        slack = np.minimum(size, self.C - size)
        at = int(np.argmax(slack))
        if drift == 0.0:
            return beta, 0.0
        if not abs(drift) <= slack[at] / 2:
            return beta, np.inf
        beta[at] -= drift
        return beta, 2 * drift**2 / float(slack[at])

    def best_intercept(self, f: np.ndarray, b: float) -> float:
        """The b at which Σ β(f + b) = 0, from a guess: Newton's method within a bracket."""
        if not self.fit_intercept:
            return 0.0
        low, high = -np.inf, np.inf
        for _ in range(200):
            total = float(self.duals(f + b).sum())  # falls as b rises
            if total > 0:
                low = b
            else:
                high = b
            slope = float(self.curvature(f + b).sum())
            step = np.clip(total / slope, -10.0, 10.0) if slope > 0 else np.copysign(10.0, total)
            guess = b + step
            if not low < guess < high:
                guess = (low + high) / 2  # infinite where the step was lost in rounding
            if abs(guess - b) <= 1e-15 * (1 + abs(b)) or not np.isfinite(guess):
                break
            b = float(guess)
        return b
