"""A primal–dual interior point method for tubes with d × d equations.

Mehrotra's predictor and corrector (SIAM J. Optim. 2, 1992), with everything but (w, b) eliminated:
each step solves d × d equations I + XᵀDX (Ferris and Munson, SIAM J. Optim. 13, 2002). For any w
there are duals and slacks exactly centred, so that an old model is a good start: damped Newton
steps on the barrier function bring it onto the path, predictor and corrector then follow it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mercer.problems.linear import LinearPrimal
from mercer.problems.losses import FAR
from mercer.solvers.linear._interior import (
    advance,
    barrier_slope,
    centre,
    directions,
    weights,
)
from mercer.solvers.linear.rows import Rows
from mercer.solvers.linear.smooth import line_search, newton_equations, unbalanced

__all__ = ["Interior"]

STEPS = 300
# Of the way to the boundary.
NEARLY_ALL = 0.995
# Newton steps that bring w to the path's point of a width, and how near is near enough.
CENTRING_STEPS = 30
CENTRED = 0.05
# One edge of very many would make every step short. So many of all edges, and of those near (whose
# weight is this part of the largest), may be held back instead: they keep this part of their α,
# C − α, ξ and z, and what their β lacks stays in the gradient for the next step.
HELD_BACK, HELD_NEAR, NEAR = 0.003, 0.05, 0.01
KEPT = 0.1
# So many steps in a row that leave more than this part of Σ α z + (C − α) ξ are the end.
SHORT_STEPS, TOO_LITTLE = 12, 0.97
# Rows whose weight in XᵀDX is below this part of the largest are left out of it.
NEGLIGIBLE = 1e-6


class Interior:
    """The point (w, b), and α, ξ and z at the edges of all rows."""

    def __init__(self, rows: Rows, problem: LinearPrimal, w: np.ndarray, b: float, g: np.ndarray):
        self.rows, self.problem = rows, problem
        self.w, self.b, self.g = w, b, g
        lower, upper = np.flatnonzero(problem.low > -FAR), np.flatnonzero(problem.high < FAR)
        self.row = np.concatenate([lower, upper])
        self.sign = np.repeat([1.0, -1.0], [lower.size, upper.size])
        self.edge = np.concatenate([problem.low[lower], problem.high[upper]])
        self.cost = problem.cost[self.row]
        size = self.row.size
        self.alpha, self.xi, self.z = np.empty(size), np.empty(size), np.empty(size)
        self.D, self.pull, self.bend = np.empty(size), np.empty(size), np.zeros(size)
        self.d_alpha, self.d_xi, self.reach = np.zeros(size), np.zeros(size), np.empty(size)
        self.beta, self.right, self.curvature = (np.empty(rows.n) for _ in range(3))
        self.steps = 0
        self.hold = True

    def solve(self, enough: float, width: float, stop: Callable[[], bool]) -> None:
        """Follow the path, at first from a width in scores, until the gap is ``enough``."""
        if self.steps == 0:
            together, grad_w, grad_b, left = self._onto_the_path(width, enough, stop)
        else:
            self.d_alpha[:] = self.d_xi[:] = 0.0
            together = self._advance(0.0)
            grad_w, grad_b, left = self._gradient()
        short = 0
        for _ in range(STEPS):
            if together + left <= enough or stop() or short > SHORT_STEPS:
                return
            before = together
            together = self._step(grad_w, grad_b, together)
            self.steps += 1
            grad_w, grad_b, left = self._gradient()
            short = short + 1 if together > TOO_LITTLE * before else 0
            if short == SHORT_STEPS // 2 and self.hold:  # back onto the path, and in plain steps
                self.hold = False
                width = together / (2 * float(self.cost.sum()))
                together, grad_w, grad_b, left = self._onto_the_path(width, enough, stop)

    def _onto_the_path(self, width: float, enough: float, stop: Callable[[], bool]) -> tuple:
        """Damped Newton steps on ½‖w‖² + ½κb² + the barrier's smooth loss."""
        mu = width * float(self.cost.mean())
        for _ in range(CENTRING_STEPS):
            centre(
                self.g, self.row, self.sign, self.edge, self.cost, mu, self.alpha, self.xi, self.z
            )
            together = self._advance(0.0)
            grad_w, grad_b, left = self._gradient()
            if together + left <= enough or stop():
                break
            self._weigh(0.0)
            step_w, step_b = self._equations()(-grad_w, -grad_b)
            decrease = -(step_w @ grad_w + step_b * grad_b)
            if decrease <= CENTRED * together:
                break
            h = self.rows.scores(step_w, step_b)
            t = self._line(step_w, step_b, h, mu, -decrease)
            self._move(t, step_w, step_b, h)
            self.steps += 1
        return together, grad_w, grad_b, left

    def _line(
        self, step_w: np.ndarray, step_b: float, h: np.ndarray, mu: float, start: float
    ) -> float:
        kappa = self.problem.kappa or 0.0
        square = float(step_w @ step_w) + kappa * step_b * step_b
        linear = float(self.w @ step_w) + kappa * self.b * step_b

        def at(t: float) -> tuple[float, float]:
            first, second = barrier_slope(
                self.g, h, t, self.row, self.sign, self.edge, self.cost, mu
            )
            return linear + t * square + first, square + second

        return line_search(at, start)

    def _gradient(self) -> tuple[np.ndarray, float, float]:
        """Of w and b, and what it adds to the gap."""
        kappa = self.problem.kappa
        grad_w, grad_b = self.w - self.rows.sum(self.beta), 0.0
        if kappa is not None:
            grad_b = kappa * self.b - float(self.beta.sum())
        return grad_w, grad_b, float(grad_w @ grad_w) / 2 + unbalanced(kappa, grad_b)

    def _equations(self) -> Callable:
        curvature = self.curvature
        curvature[curvature < NEGLIGIBLE * curvature.max()] = 0.0
        return newton_equations(
            self.rows, curvature, int(np.count_nonzero(curvature)), self.problem
        )

    def _step(self, grad_w: np.ndarray, grad_b: float, together: float) -> float:
        """Predictor, corrector, step; Σ α z + (C − α) ξ after it."""
        size = self.row.size
        mu = together / (2 * size)
        self.bend[:] = 0.0
        self.d_xi[:] = 0.0
        self._weigh(0.0)
        equations = self._equations()
        linear, square = self._direction(equations, grad_w, grad_b, 0.0)[:2]
        t = self._length()
        after = max(together + t * linear + t * t * square, 0.0) / (2 * size)
        mu *= (after / mu) ** 3
        np.multiply(self.d_alpha, self.d_xi, out=self.d_xi)  # what ξ's equation is corrected by
        self._weigh(mu)
        _, _, step_w, step_b, h = self._direction(equations, grad_w, grad_b, mu)
        t = self._length()
        self._move(t, step_w, step_b, h)
        return self._advance(t)

    def _move(self, t: float, step_w: np.ndarray, step_b: float, h: np.ndarray) -> None:
        self.w = self.w + t * step_w
        self.b += t * step_b
        self.g = self.g + t * h

    def _weigh(self, mu: float) -> None:
        weights(
            self.row, self.sign, self.cost, self.alpha, self.xi, self.z, mu, self.bend,
            self.D, self.pull, self.curvature, self.right,
        )  # fmt: skip

    def _direction(
        self, equations: Callable, grad_w: np.ndarray, grad_b: float, mu: float
    ) -> tuple:
        right_b = float(self.right.sum()) - grad_b
        step_w, step_b = equations(self.rows.sum(self.right) - grad_w, right_b)
        h = self.rows.scores(step_w, step_b)
        found = directions(
            h, self.row, self.sign, self.cost, self.alpha, self.xi, self.z, mu,
            self.D, self.pull, self.bend, self.d_alpha, self.d_xi, self.reach,
        )  # fmt: skip
        return *found, step_w, step_b, h

    def _advance(self, t: float) -> float:
        return advance(
            self.g, self.row, self.sign, self.edge, t, KEPT, self.d_alpha, self.d_xi, self.cost,
            self.alpha, self.xi, self.z, self.beta,
        )  # fmt: skip

    def _length(self) -> float:
        """The longest step at which no more than a small share of the edges are held back."""
        near = np.count_nonzero(NEAR * self.D.max() < self.D)
        held = int(min(HELD_BACK * self.row.size, HELD_NEAR * near)) if self.hold else 0
        return min(1.0, NEARLY_ALL * float(np.partition(self.reach, held)[held]))
