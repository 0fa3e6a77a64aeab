"""Kernelised Pegasos as a solver of box QPs: classification without intercept.

The steps, their mathematics and the dual bound are in `_subgradient`. A random order leaves noise
in every coefficient, and violations fall slowly: once the relative gap is at most ``handover_gap``,
sweeps of coordinate ascent on the dual continue from there.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from mercer.gram import Gram
from mercer.problems._dual_qp import BoxQP
from mercer.solvers._base import DenseIteration, DenseSolver
from mercer.solvers._coordinate_ascent import sweep
from mercer.solvers._stopping import Stopping
from mercer.solvers.pegasos._rows import KernelRows
from mercer.solvers.pegasos._state import LossInterval, PegasosState

__all__ = ["Pegasos"]


class _Epochs(DenseIteration):
    """Epochs of kernelised Pegasos, twice as many each round.

    β is the better of the average and the last iterate: with the rows visited in random order, each
    once in an epoch, the coefficients themselves end every epoch within the box.
    """

    def __init__(self, problem: BoxQP, K: np.ndarray, beta: np.ndarray, solver: Pegasos):
        self.solver = solver
        super().__init__(problem, K, beta, solver.tol)
        width = problem.upper - problem.lower
        self.interval, self.weight = LossInterval.hinge(problem.target), width / width.mean()
        self.lam = 1 / float(width.sum())
        self.rows = KernelRows(K)
        self.state = PegasosState(self.lam, self.rows.n, solver.batch_size, solver.project)
        self.rng = np.random.default_rng(solver.seed)
        self.epochs = 1
        if beta.any():  # as after n steps
            self.state.t = self.rows.n
            self.state.u = beta * (self.lam * self.state.t)
            self.state.total = self.state.u * (self.state.t + 1) / 2

    def advance(self, room: int) -> None:
        n = self.rows.n
        if self.relative_gap() <= max(self.tol, self.solver.handover_gap):
            self.steps += self._ascend(room)
            return
        self.state.reset_signs(n)
        for epoch in range(self.epochs):
            order = self.rng.permutation(n)[: max(room - epoch * n, 0)]
            self.rows.run(self.interval, self.weight, order, self.state)
            self.steps += order.size
        self.epochs = min(2 * self.epochs, max(1, self.solver.epoch_work // n**2))
        p, best = self.problem, (self.beta, self.f)
        for average in (True, False):
            dual = self.dual()
            self.beta = np.clip(self.state.coef(average), p.lower, p.upper)
            self.sum_f()
            if self.dual() > dual:
                best = self.beta, self.f
            self.beta, self.f = best

    def _ascend(self, max_steps: int) -> int:
        """DenseIteration of coordinate ascent on the dual; returns the steps."""
        p, done = self.problem, 0
        for _ in range(max(1, self.solver.sweep_work // self.rows.n**2)):
            most = min(max_steps - done, self.rows.n)
            if most <= 0:
                break
            sweep(self.K, self.row, p.target, p.lower, p.upper, self.beta, self.f, 0.0, most)
            done += most
        return done

    def relative_gap(self) -> float:
        p = self.problem
        slack = self.interval.loss(self.f)
        dual = self.dual()
        primal = float(self.beta @ self.f) / 2 + float((p.upper - p.lower) @ slack)
        return (primal - dual) / primal if primal > 0 else 0.0


@dataclass(frozen=True)
class Pegasos(DenseSolver):
    """Kernelised Pegasos, for classification without intercept.

    Parameters
    ----------
    tol : float
        Relative gap and violation at which to stop.
    max_iter : int
        Limit on visits of rows; −1 for ``most_epochs`` times all rows.
    most_bytes
        As in `DenseSolver`.
    batch_size : int
    project : bool
        Whether w is projected onto the ball of radius 1/√λ.
    seed : int
    most_epochs : int
    handover_gap : float
        Relative gap below which coordinate ascent continues.
    epoch_work, sweep_work : int
        Multiplications of one round of epochs, about a tenth of a second, and of sweeps.
    """

    batch_size: int = 1
    project: bool = False
    seed: int = 0
    most_epochs: int = 1000
    handover_gap: float = field(default=0.01, repr=False)
    epoch_work: int = field(default=100_000_000, repr=False)
    sweep_work: int = field(default=20_000_000, repr=False)

    name: ClassVar[str] = "pegasos"

    def refuses(self, problem: BoxQP, gram: Gram) -> str | None:
        """Why it cannot solve the problem, with a remedy, or None."""
        if problem.n_groups == 0 and (
            problem.row is not None or not (np.abs(problem.target) == 1).all()
        ):
            return (
                "it minimises the hinge loss of classification, and this is a regression. "
                "Use solver='coordinate-ascent' or 'smo'."
            )
        if problem.diag is not None:
            return "its loss is the hinge, not its square. Use solver='coordinate-ascent' or 'smo'."
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
