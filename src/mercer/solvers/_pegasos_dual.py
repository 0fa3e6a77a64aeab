"""Kernelised Pegasos as a solver of box QPs: classification without intercept.

The descent itself, its mathematics and its bound are in `mercer.solvers._pegasos`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mercer.gram import Gram
from mercer.problems._dual_qp import BoxQP
from mercer.solvers._base import DenseIteration, DenseSolver
from mercer.solvers._coordinate_ascent import sweep
from mercer.solvers._pegasos import Corridor, Descent, KernelRows
from mercer.solvers._stopping import Stopping

__all__ = ["Pegasos"]

# Multiplications of one round of epochs, at the most: about a tenth of a second.
EPOCH_WORK = 100_000_000
SWEEP_WORK = 20_000_000
# Below this relative gap the noise of the random order is most of what is left.
NOISE = 0.01


class _Epochs(DenseIteration):
    """Epochs of kernelised Pegasos, twice as many each round; β is the better of two roads.

    With examples visited in random order, each once in an epoch, the coefficients themselves end
    every epoch within the box.
    """

    def __init__(self, problem: BoxQP, K: np.ndarray, beta: np.ndarray, solver: Pegasos):
        self.solver = solver
        super().__init__(problem, K, beta, solver.tol)
        width = problem.upper - problem.lower
        self.corridor, self.weight = Corridor.hinge(problem.target), width / width.mean()
        self.lam = 1 / float(width.sum())
        self.rows = KernelRows(K)
        self.state = Descent(self.lam, self.rows.n, solver.batch_size, solver.project)
        self.rng = np.random.default_rng(solver.seed)
        self.epochs = 1
        if beta.any():  # as if n steps had led here
            self.state.t = self.rows.n
            self.state.u = beta * (self.lam * self.state.t)
            self.state.total = self.state.u * (self.state.t + 1) / 2

    def advance(self, room: int) -> None:
        n = self.rows.n
        if self.relative_gap() <= max(self.tol, NOISE):
            self.steps += self._ascend(room)
            return
        self.state.count_anew(n)
        for epoch in range(self.epochs):
            order = self.rng.permutation(n)[: max(room - epoch * n, 0)]
            self.rows.run(self.corridor, self.weight, order, self.state)
            self.steps += order.size
        self.epochs = min(2 * self.epochs, max(1, EPOCH_WORK // n**2))
        p, now = self.problem, (self.beta, self.f)
        for average in (True, False):
            dual = self.dual()
            self.beta = np.clip(self.state.coef(average), p.lower, p.upper)
            self.sum_f()
            if self.dual() > dual:
                now = self.beta, self.f
            self.beta, self.f = now

    def _ascend(self, room: int) -> int:
        """Coordinate ascent on the dual, some sweeps; the steps."""
        p, done = self.problem, 0
        for _ in range(max(1, SWEEP_WORK // self.rows.n**2)):
            most = min(room - done, self.rows.n)
            if most <= 0:
                break
            sweep(self.K, self.row, p.target, p.lower, p.upper, self.beta, self.f, 0.0, most)
            done += most
        return done

    def relative_gap(self) -> float:
        p = self.problem
        slack = self.corridor.loss(self.f)
        dual = self.dual()
        primal = float(self.beta @ self.f) / 2 + float((p.upper - p.lower) @ slack)
        return (primal - dual) / primal if primal > 0 else 0.0


@dataclass(frozen=True)
class Pegasos(DenseSolver):
    """Kernelised Pegasos, for classification without intercept.

    The noise of a random order stays in every coefficient, whose violations fall slowly: once the
    relative gap is at most a hundredth, sweeps of coordinate ascent on the dual go on from there.

    Parameters
    ----------
    tol : float
        Relative gap and violation at which to stop.
    max_iter : int
        Limit on examples visited; −1 for ``most_epochs`` times all.
    most_bytes
        As in `DenseSolver`.
    batch_size : int
    project : bool
        Whether w is projected onto the ball of radius 1/√λ.
    seed : int
    most_epochs : int
    """

    batch_size: int = 1
    project: bool = False
    seed: int = 0
    most_epochs: int = 1000

    name: ClassVar[str] = "pegasos"

    def refuses(self, problem: BoxQP, gram: Gram) -> str | None:
        """Why it cannot solve the problem, with a remedy, or None."""
        if problem.n_groups == 0 and (
            problem.row is not None or not (np.abs(problem.target) == 1).all()
        ):
            return (
                "it descends the hinge loss of classification, and this is a regression. "
                "Use solver='coordinate-ascent' or 'smo'."
            )
        if problem.n_groups == 0 and np.isinf(problem.upper - problem.lower).any():
            return "C=inf makes its λ = 1/(nC) zero. Use a finite C, or solver='smo'."
        return super().refuses(problem, gram)

    def _most_steps(self, n: int) -> float:
        return self.most_epochs * n if self.max_iter < 0 else self.max_iter

    def _is_solved(self, run: Any, violation: float) -> bool:
        return violation <= self.tol and run.relative_gap() <= self.tol

    def _begin(
        self, problem: BoxQP, gram: Gram, beta: np.ndarray, stopping: Stopping
    ) -> DenseIteration:
        return _Epochs(problem, gram.matrix(), beta, self)
