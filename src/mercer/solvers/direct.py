"""Pair SMO on the whole kernel matrix, for some hundred points: one compiled call."""

from __future__ import annotations

import numpy as np

from mercer.gram import Gram
from mercer.problems.boxqp import BoxQP
from mercer.result import Status
from mercer.separability import HardMarginWatch
from mercer.solvers._pairs import LANE, MET_NEGATIVE_CURVATURE, UNBOUNDED, solve_pairs
from mercer.solvers.control import Control, Progress
from mercer.solvers.layout import lay_out, pad

__all__ = ["DirectSMO"]

# Steps of one compiled call: short enough that Ctrl-C answers within half a second, and shorter
# where a hard margin may turn out to be impossible.
STEPS_PER_CALL = 50_000
WATCHED_STEPS = 2_000
# A call that improves the dual value by less than this share of it has met the limit of float64.
NO_PROGRESS = 1e-15


class DirectSMO:
    """One run on one problem; attributes as `NestedSMO`'s."""

    def __init__(
        self,
        problem: BoxQP,
        gram: Gram,
        control: Control,
        tol: float,
        max_steps: float,
        start: np.ndarray,
    ):
        self.problem, self.gram, self.control = problem, gram, control
        self.tol, self.max_steps = tol, max_steps
        self.beta = start.copy()
        self.f = np.zeros(gram.n)
        self.f_error = 0.0
        self.watch = HardMarginWatch(problem, gram)
        self.steps = self.rounds = self.flags = 0
        self.dual = -np.inf
        self.status: Status | None = None

    def run(self) -> Status:
        p, n, m = self.problem, self.gram.n, self.problem.n_variables
        group = np.zeros(m, np.int8) if p.group is None else p.group
        simple = p.row is None and p.n_groups == 1
        ws, real, split = lay_out(np.arange(m), group, p.n_groups)
        K = self.gram.matrix(np.float64, -(-n // LANE) * LANE if simple else None)
        self.points = points = K[:n, :n]
        if not simple:
            row = ws if p.row is None else p.row[ws]
            K = K[np.ix_(row, row)]
            if p.n_groups == 0:
                K[-1] = 0
                K[:, -1] = 0
        beta, lower, upper = self.beta[ws], p.lower[ws], p.upper[ws]
        while self.status is None:
            self.f = points @ p.at_points(self.beta, n)
            grad = (p.at_variables(self.f) - p.target)[ws]
            pad(real, beta, grad, lower, upper, p.n_groups)
            per_call = STEPS_PER_CALL if self.watch.is_idle else WATCHED_STEPS
            room = int(min(self.max_steps - self.steps, per_call))
            steps, violation, flags = solve_pairs(
                K, beta, grad, lower, upper, split, self.tol, room
            )
            self.beta[ws[real]] = beta[real]
            self.steps += steps
            self.rounds += 1
            self.flags |= flags
            self._decide(steps, violation)
        self.f = points @ p.at_points(self.beta, n)  # of the last β, which the last call moved
        return self.status

    def _decide(self, steps: int, violation: float) -> None:
        """Stop if solved under a freshly summed gradient, or if a limit says so."""
        if self.control.callback is not None:
            self.control.report(
                Progress(self.control.seconds, self.rounds, self.steps, violation, self.tol)
            )
        proof = None if violation <= self.tol else self.watch(self.beta, self.f)
        if proof is not None:
            self.beta = proof.weights
        if self.flags & UNBOUNDED or proof is not None:
            self.status = Status.NOT_SEPARABLE
        elif violation <= self.tol and (steps == 0 or self.rounds > 1):
            self.status = Status.SOLVED
        elif violation <= self.tol:
            return
        elif self.steps >= self.max_steps:
            self.status = Status.ITERATION_LIMIT
        elif not self._improves():
            self.status = Status.STALLED
        else:
            self.status = self.control.stopped

    def _improves(self) -> bool:
        """Whether the dual value still grew in the last call; f is that of its start."""
        before, self.dual = self.dual, float(self.problem.target @ self.beta)
        coef = self.problem.at_points(self.beta, self.gram.n)
        self.dual -= 0.5 * float(coef @ self.points @ coef)
        return self.dual - before > NO_PROGRESS * abs(self.dual)

    @property
    def met_negative_curvature(self) -> bool:
        return bool(self.flags & MET_NEGATIVE_CURVATURE)
