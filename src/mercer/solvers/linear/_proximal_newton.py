"""Newton's method for tubes: proximal steps in the dual, each a smooth problem.

A tube has no curvature. Around present duals β₀ its dual is given one, ω (β − β₀)²/(2C), which
makes the primal piecewise quadratic: near its edge, over a width ω of the scores, a row has the
curvature C/ω, elsewhere none. Semismooth Newton steps with an exact line search solve that; its
duals are the next β₀, and ω falls. This is the augmented Lagrangian method on the primal
(Rockafellar, Math. Oper. Res. 1, 1976): it ends at the optimum of the tube itself, whatever ω is.
Only rows with a free dual enter XᵀDX, at the end hardly more than columns.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mercer.problems._regularized_loss import LinearPrimal
from mercer.solvers.linear._design_matrix import Rows
from mercer.solvers.linear._proximal_core import expect, near, prox_slope, respond
from mercer.solvers.linear._smooth_newton import Smooth, unbalanced

__all__ = ["Proximal"]

STEPS = 500
# The smooth problem is solved when its gradient's part of the gap is this part of the rest.
SOLVED = 1.0
# The width falls by this factor, as far as scores in float64 can tell.
NARROWER, NARROWEST = 2.5, 1e-10


class Proximal(Smooth):
    """The point (w, b), its duals β, and those around which they are sought.

    Xᵀβ (``w_beta``) may include the duals of rows that are left out, whose sum is ``rest_b``.
    """

    def __init__(
        self, rows: Rows, problem: LinearPrimal, w: np.ndarray, b: float, g: np.ndarray,
        beta: np.ndarray | None = None, w_beta: np.ndarray | None = None, rest_b: float = 0.0,
    ):  # fmt: skip
        super().__init__(rows, problem, w, b, g)
        self.change = np.empty(rows.n)
        self.rest_b = rest_b
        self.begun, self.centred = beta is not None, False
        self.width = 0.0
        self.present = None if beta is None else beta.copy()
        self.beta[:] = 0.0 if beta is None else beta
        self.sum = np.zeros(rows.d)
        if beta is not None:
            self.sum[:] = rows.sum(beta) if w_beta is None else w_beta

    def solve(
        self, enough: float, width: float, stop: Callable[[], bool], once: bool = False
    ) -> None:
        """Newton steps and new centres until the gap is ``enough``; ``once``: to the first."""
        if self.width == 0:
            spread = 1.0 if self.begun else float(self.g.std()) or 1.0
            self.width = width = width * min(spread, 1.0)
        if self.present is None:
            self.present = np.zeros(self.rows.n)
            respond(self.g, *self.problem.arrays, self.present, width, self.present, self.change)
            self.present *= 0.5
        stuck, fresh = 0, self.begun
        for _ in range(STEPS):
            grad_w, grad_b, apart = self._look()
            left = float(grad_w @ grad_w) / 2 + unbalanced(self.problem.kappa, grad_b)
            if left + apart <= enough or stop() or stuck > 2:
                return
            done = left <= SOLVED * apart
            if not done:
                expected = fresh and self._expected(grad_w, grad_b)
                done = not expected and not self._step(grad_w, grad_b)
                fresh = False
                stuck = stuck + 1 if done else 0
                self.steps += 1
            if done:
                fresh = True
                self.present[:] = self.beta
                self.width = max(self.width / NARROWER, NARROWEST)
                self.centred = True
                if once:
                    return

    def _expected(self, grad_w: np.ndarray, grad_b: float) -> bool:
        """The step after which the rows with a free dual would be those of the present."""
        used, total = expect(
            self.g, *self.problem.arrays, self.present, self.width, self.beta, self.curvature,
            self.change,
        )  # fmt: skip
        if used == 0:
            return False
        ahead_b = 0.0 if self.problem.kappa is None else float(self.change.sum())
        return self._along(
            grad_w - self.rows.sum(self.change), grad_b - ahead_b, used, total, grad_w, grad_b
        )

    def _look(self) -> tuple[np.ndarray, float, float]:
        """The gradient, and what duals and scores leave of the gap."""
        problem = self.problem
        total, apart = respond(
            self.g, *problem.arrays, self.present, self.width, self.beta, self.change
        )
        self.sum += self.rows.sum(self.change)  # few duals change: a short pass
        grad_b = 0.0 if problem.kappa is None else problem.kappa * self.b - self.rest_b - total
        return self.w - self.sum, grad_b, apart

    def _curvatures(self) -> tuple[int, float]:
        return near(self.beta, self.problem.cost, self.width, self.curvature)

    def _slope(self, h: np.ndarray, t: float) -> tuple[float, float]:
        return prox_slope(self.g, h, t, *self.problem.arrays, self.present, self.width)
