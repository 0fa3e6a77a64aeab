"""Projected gradient on the dual without intercept, accelerated or plain.

    minimise  ½ βᵀKβ − targetᵀβ   subject to  lower ≤ β ≤ upper

A gradient step followed by a projection; onto a box, the only constraint without Σβ = 0, that is
clipping: β ← clip(β − (Kβ − target)/L). Accelerated steps start from a point extrapolated along the
last step (Nesterov), and the extrapolation restarts whenever it is an ascent direction. L is an
estimate of the largest eigenvalue of K by the power method, doubled where it is too small.

References: Bertsekas, Nonlinear Programming, 1999, section 2.3 (plain); Beck and Teboulle, SIAM J.
Imaging Sci. 2, 2009 (FISTA); O'Donoghue and Candès, Found. Comput. Math. 15, 2015 (restart).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from mercer.problems._dual_qp import BoxQP
from mercer.solvers._base import DenseIteration, DenseSolver

__all__ = ["PlainProjectedGradient", "ProjectedGradient"]


class _Steps(DenseIteration):
    def __init__(self, problem: BoxQP, K: np.ndarray, beta: np.ndarray, solver: ProjectedGradient):
        super().__init__(problem, K, beta, solver.tol)
        self.solver = solver
        # With two variables for each point Q = K[row, row] has twice the eigenvalues of K.
        largest = _largest_eigenvalue(K, solver.power_steps)
        self.lipschitz = largest * (1 if problem.row is None else 2)
        self.momentum = 1.0
        self.point, self.f_point = self.beta, self.f  # where the next gradient is taken

    def advance(self, room: int) -> None:
        for _ in range(min(room, self.solver.steps_per_round)):
            self._step()
            self.steps += 1

    def _step(self) -> None:
        p = self.problem
        grad = p.at_variables(self.f_point) - p.target
        while True:
            new = np.clip(self.point - grad / self.lipschitz, p.lower, p.upper)
            f_new = self.K @ p.at_points(new, self.K.shape[0])
            move = new - self.point
            curved = float(move @ p.at_variables(f_new - self.f_point))
            size = float(move @ move)
            if curved <= self.lipschitz * size * (1 + 1e-10):
                break
            self.lipschitz = max(2 * self.lipschitz, curved / size)
        if curved < -1e-8 * self.lipschitz * size:
            self.met_negative_curvature = True
        forward = new - self.beta
        if float(move @ forward) < 0:  # an ascent direction: restart
            self.momentum = 1.0
        momentum = (1 + np.sqrt(1 + 4 * self.momentum**2)) / 2
        factor = (self.momentum - 1) / momentum if self.solver.accelerated else 0.0
        self.point = new + factor * forward
        self.f_point = f_new + factor * (f_new - self.f)
        self.beta, self.f, self.momentum = new, f_new, momentum


def _largest_eigenvalue(K: np.ndarray, steps: int) -> float:
    """A lower bound by the power method from a fixed vector."""
    v: Any = np.random.default_rng(0).normal(size=K.shape[0])
    value = 0.0
    for _ in range(steps):
        size = float(np.linalg.norm(v))
        if size == 0:
            break
        v = K @ (v / size)
        value = max(value, float(np.linalg.norm(v)))
    return value or 1.0


@dataclass(frozen=True)
class ProjectedGradient(DenseSolver):
    """Projected gradient on the dual of a model without intercept.

    Parameters
    ----------
    tol, max_iter, most_bytes
        As in `DenseSolver`; a step is one product with K.
    accelerated : bool
        Whether steps are extrapolated (FISTA with restarts), or plain gradient steps.
    steps_per_round : int
        Steps between two checks of the limits.
    power_steps : int
        Products with K for the estimate of its largest eigenvalue.
    """

    accelerated: bool = True
    steps_per_round: int = field(default=8, repr=False)
    power_steps: int = field(default=12, repr=False)

    name: ClassVar[str] = "projected-gradient"
    iteration: ClassVar[type] = _Steps


@dataclass(frozen=True)
class PlainProjectedGradient(ProjectedGradient):
    """The same without acceleration, under a name of its own."""

    accelerated: bool = False

    name: ClassVar[str] = "projected-gradient-plain"
