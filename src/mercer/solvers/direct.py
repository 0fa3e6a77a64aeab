"""Pair SMO on the whole kernel matrix, for some hundred points: one compiled call."""

from __future__ import annotations

from functools import partial

import numpy as np

from mercer.gram import Gram
from mercer.problems.boxqp import BoxQP
from mercer.result import Status
from mercer.separability import HardMarginWatch
from mercer.solvers._pairs import LANE, MET_NEGATIVE_CURVATURE, UNBOUNDED, solve_pairs
from mercer.solvers.answer import so_far
from mercer.solvers.control import Control, Progress
from mercer.solvers.layout import lay_out, pad

__all__ = ["DirectSMO", "is_one_to_one"]

# Steps of one compiled call: short enough that Ctrl-C answers within half a second, and shorter
# where a hard margin may turn out to be impossible.
STEPS_PER_CALL = 50_000
WATCHED_STEPS = 2_000
# With somebody looking on, the first call makes so many steps, and each later one more by a share.
FIRST_LOOK, MORE_STEPS = 8, 1.3
# Up to so many steps f is carried along without loss that counts, unless tol is very small.
EXACT_STEPS = 10_000
EXACT_TOL = 1e-5
# A call that improves the dual value by less than this share of it has met the limit of float64.
NO_PROGRESS = 1e-15


def is_one_to_one(problem: BoxQP) -> bool:
    """Whether each point is one variable, all in one group: K of the points is K of these."""
    return problem.row is None and problem.n_groups == 1


class DirectSMO:
    """One run on one problem; attributes as `NestedSMO`'s."""

    exact_steps = EXACT_STEPS

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
        p, m = self.problem, self.problem.n_variables
        group = np.zeros(m, np.int8) if p.group is None else p.group
        late = self.control.stopped
        if late is not None and not self.beta.any():
            return late  # of many tasks those after the limit cost nothing
        ws, real, split = lay_out(np.arange(m), group, p.n_groups)
        self._bind(ws)
        beta, lower, upper = self.beta[ws], p.lower[ws], p.upper[ws]
        if self.beta.any():
            self._sum_f()
        while self.status is None:
            grad = (p.at_variables(self.f) - p.target)[ws]
            pad(real, beta, grad, lower, upper, p.n_groups)
            room = int(min(self.max_steps - self.steps, self._steps_per_call()))
            steps, violation, flags = self._pairs(beta, grad, lower, upper, split, room)
            self.beta[ws[real]] = beta[real]
            points = ws[real] if p.row is None else p.row[ws[real]]
            self.f[points] = (grad + p.target[ws])[real]
            self.steps += steps
            self.rounds += 1
            self.flags |= flags
            self._decide(steps, violation)
        return self.status

    def _steps_per_call(self) -> float:
        most = STEPS_PER_CALL if self.watch.is_idle else WATCHED_STEPS
        if self.control.callback is None:
            return most
        return min(most, FIRST_LOOK * MORE_STEPS ** min(self.rounds, 40))

    def _bind(self, ws: np.ndarray) -> None:
        """K of the variables as laid out; ``points`` is K of the points."""
        p, n = self.problem, self.gram.n
        is_simple = is_one_to_one(p)
        K = self.gram.matrix(-(-n // LANE) * LANE if is_simple else None, lasting=False)
        self.points = K[:n, :n]
        if not is_simple:
            row = ws if p.row is None else p.row[ws]
            K = K.take(row, axis=1, mode="clip").take(row, axis=0, mode="clip")
            if p.n_groups == 0:
                K[-1] = 0
                K[:, -1] = 0
        self.K = K

    def _pairs(
        self,
        beta: np.ndarray,
        grad: np.ndarray,
        lower: np.ndarray,
        upper: np.ndarray,
        split: int,
        room: int,
    ) -> tuple[int, float, int]:
        """At most ``room`` pair steps: how many, the violation left, flags."""
        return solve_pairs(self.K, beta, grad, lower, upper, split, self.tol, room)

    def _sum_f(self) -> None:
        """f = Kβ from scratch: each pair step adds its rounding to the f that is carried along."""
        self.f = self.points @ self.problem.at_points(self.beta, self.gram.n)

    def _decide(self, steps: int, violation: float) -> None:
        """Stop if solved, or if a limit says so."""
        if self.control.callback is not None:
            effort = self.control.seconds, self.rounds, self.steps
            state = partial(so_far, self.problem, self.beta, self.f)
            self.control.report(Progress(*effort, violation, self.tol, state=state))
        if violation <= self.tol:
            if steps > (self.exact_steps if self.tol >= EXACT_TOL else 0):
                self._sum_f()  # and look again
            else:
                self.status = Status.SOLVED
            return
        proof = self.watch(self.beta, self.f)
        if proof is not None:
            self.beta = proof.weights
        if self.flags & UNBOUNDED or proof is not None:
            self.status = Status.NOT_SEPARABLE
        elif self.steps >= self.max_steps:
            self.status = Status.ITERATION_LIMIT
        elif not self._improves():
            self.status = Status.STALLED
        else:
            self.status = self.control.stopped
        self._sum_f()

    def _improves(self) -> bool:
        """Whether the dual value still grew in the last call."""
        coef = self.problem.at_points(self.beta, self.gram.n)
        before, self.dual = self.dual, float(self.problem.target @ self.beta)
        self.dual -= 0.5 * float(coef @ self.f)
        return self.dual - before > NO_PROGRESS * abs(self.dual)

    @property
    def met_negative_curvature(self) -> bool:
        return bool(self.flags & MET_NEGATIVE_CURVATURE)
