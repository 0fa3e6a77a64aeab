"""Projected gradient on the dual without intercept, accelerated.

    minimise  ½ βᵀKβ − targetᵀβ   subject to  lower ≤ β ≤ upper

A gradient step followed by a projection; onto a box, which is all there is without Σβ = 0, that is
clipping. Steps start from a point extrapolated along the last move (Nesterov's acceleration), and
the extrapolation starts afresh whenever it points uphill. The step 1/L comes from the largest
eigenvalue of K, and is halved where it proves too long.

References: Beck and Teboulle, SIAM J. Imaging Sci. 2, 2009 (FISTA); O'Donoghue and Candès, Found.
Comput. Math. 15, 2015 (adaptive restart).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mercer.gram import Gram
from mercer.problems._dual_qp import BoxQP
from mercer.solvers._base import DenseIteration, DenseSolver
from mercer.solvers._stopping import Stopping

__all__ = ["ProjectedGradient"]

STEPS_PER_ROUND = 8
POWER_STEPS = 12


class _Descent(DenseIteration):
    def __init__(self, problem: BoxQP, K: np.ndarray, beta: np.ndarray, tol: float):
        super().__init__(problem, K, beta, tol)
        # With two variables for each point Q = K[row, row] has twice the eigenvalues of K.
        self.lipschitz = _largest_eigenvalue(K) * (1 if problem.row is None else 2)
        self.momentum = 1.0
        self.ahead, self.f_ahead = self.beta, self.f  # where the next gradient is taken

    def advance(self, room: int) -> None:
        for _ in range(min(room, STEPS_PER_ROUND)):
            self._step()
            self.steps += 1

    def _step(self) -> None:
        p = self.problem
        grad = p.at_variables(self.f_ahead) - p.target
        while True:
            new = np.clip(self.ahead - grad / self.lipschitz, p.lower, p.upper)
            f_new = self.K @ p.at_points(new, self.K.shape[0])
            move = new - self.ahead
            curved = float(move @ p.at_variables(f_new - self.f_ahead))
            size = float(move @ move)
            if curved <= self.lipschitz * size * (1 + 1e-10):
                break
            self.lipschitz = max(2 * self.lipschitz, curved / size)
        if curved < -1e-8 * self.lipschitz * size:
            self.met_negative_curvature = True
        forward = new - self.beta
        if float(move @ forward) < 0:  # uphill: the last extrapolation went too far
            self.momentum = 1.0
        momentum = (1 + np.sqrt(1 + 4 * self.momentum**2)) / 2
        push = (self.momentum - 1) / momentum
        self.ahead = new + push * forward
        self.f_ahead = f_new + push * (f_new - self.f)
        self.beta, self.f, self.momentum = new, f_new, momentum


def _largest_eigenvalue(K: np.ndarray) -> float:
    """A few steps of the power method, from a fixed vector; a lower bound is enough here."""
    v: Any = np.random.default_rng(0).normal(size=K.shape[0])
    value = 0.0
    for _ in range(POWER_STEPS):
        size = float(np.linalg.norm(v))
        if size == 0:
            break
        v = K @ (v / size)
        value = max(value, float(np.linalg.norm(v)))
    return value or 1.0


@dataclass(frozen=True)
class ProjectedGradient(DenseSolver):
    """Accelerated projected gradient on the dual of a model without intercept.

    Parameters
    ----------
    tol, max_iter, most_bytes
        As in `DenseSolver`; a step is one product with K.
    """

    name: ClassVar[str] = "projected-gradient"

    def _begin(
        self, problem: BoxQP, gram: Gram, beta: np.ndarray, stopping: Stopping
    ) -> DenseIteration:
        return _Descent(problem, gram.matrix(), beta, self.tol)
