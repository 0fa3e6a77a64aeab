"""Proximal steps on the rows near their edges, for a start that is near the answer.

Along prices few rows change sides. Those whose score is within reach of an edge, judged by how far
it moved the last time, and those with a free dual are solved for; the others keep their duals,
which enter as a constant of the gradient. After the first smooth problem all scores are looked at,
and rows that came to the wrong side join. The gap of the whole is checked by the caller, who may
ask again: then all rows take part.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mercer._result import LinearResult
from mercer.problems._regularized_loss import LinearPrimal
from mercer.solvers.linear._design_matrix import Rows
from mercer.solvers.linear._proximal_core import misplaced, reach
from mercer.solvers.linear._proximal_newton import Proximal

__all__ = ["Nearby"]

# Rows within this part of the mean way are near, too; and more rows than this share are all.
SLACK = 0.5
MOST = 0.5


class Nearby:
    """The point (w, b) and its duals, as `Proximal`."""

    def __init__(self, rows: Rows, problem: LinearPrimal, first: LinearResult, step_g: np.ndarray):
        self.rows, self.problem = rows, problem
        self.near = np.empty(rows.n, np.bool_)
        count = reach(first.g, *problem.arrays, first.beta, step_g, SLACK, self.near)
        self.near[:] |= count > MOST * rows.n
        self.before = 0
        self._begin(first.w, first.b, first.g, first.beta, first.w_beta)

    def _begin(
        self, w: np.ndarray, b: float, g: np.ndarray, beta: np.ndarray, w_beta: np.ndarray
    ) -> None:
        """Solve for the rows that are near."""
        self.index = np.flatnonzero(self.near)
        self.fixed = beta
        if self.index.size == self.rows.n:
            self.part = Proximal(self.rows, self.problem, w, b, g, beta, w_beta)
            return
        near, own = self.rows.take(self.index), beta[self.index]
        self.part = Proximal(
            near, self.problem.take(self.index), w, b, g[self.index], own, w_beta,
            float(beta.sum() - own.sum()),
        )  # fmt: skip

    @property
    def w(self) -> np.ndarray:
        return self.part.w

    @property
    def b(self) -> float:
        return self.part.b

    @property
    def beta(self) -> np.ndarray:
        beta = self.fixed.copy()
        beta[self.index] = self.part.beta
        return beta

    @property
    def steps(self) -> int:
        return self.before + self.part.steps

    def solve(self, enough: float, width: float, stop: Callable[[], bool]) -> None:
        """Proximal steps until the gap is ``enough``, as far as the rows that are near can tell."""
        part = self.part
        if part.width:  # asked again
            self.near[:] = True
            self._begin_again(self.rows.scores(self.w, self.b))
            width = part.width
        elif self.index.size < self.rows.n:
            part.solve(enough, width, stop, once=True)
            if not part.centred:
                return
            g = self.rows.scores(self.w, self.b)
            width = part.width
            if misplaced(g, *self.problem.arrays, self.fixed, self.near):
                self._begin_again(g)
        self.part.solve(enough, width, stop)

    def _begin_again(self, g: np.ndarray) -> None:
        self.before += self.part.steps
        self._begin(self.w, self.b, g, self.beta, self.part.sum)
