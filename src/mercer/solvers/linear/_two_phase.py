"""Coordinate descent until it slows down, then Newton's method from its duals.

Coordinates find out cheaply which duals are free, but are slow to agree on their values: each digit
takes as many epochs again. Newton's equations settle those together. Along prices few duals change
sides: of tall data Newton's method goes on from the last ones at once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from mercer._result import LinearResult, Status
from mercer.problems._regularized_loss import LinearPrimal
from mercer.solvers._stopping import Stopping
from mercer.solvers.linear._coordinate_descent import Descent
from mercer.solvers.linear._design_matrix import Rows
from mercer.solvers.linear._newton import Newton, Start, by_gap
from mercer.solvers.linear._smooth_newton import DIRECT_COLUMNS

__all__ = ["Both"]

# The relative gap at which Newton takes over, or the visits of each row after which it does; and
# the width it begins with.
HANDOVER = 3e-5
PATIENCE = 200.0
WIDTH = 0.03


@dataclass(frozen=True)
class Both:
    """Settings: relative gap ``tol``, at most ``max_iter`` epochs and steps (−1: no limit)."""

    tol: float = 1e-4
    max_iter: int = -1
    seed: int = 0

    def solve(
        self, problem: LinearPrimal, rows: Rows, stopping: Stopping, start: Start | None = None
    ) -> LinearResult:
        """The model, its duals and its gap."""
        known = None if start is None else start.known
        if known is not None and known.gap <= self.tol * known.primal:
            return replace(known, iterations=0, rounds=1, seconds=0.0)
        if known is not None and rows.n >= rows.d and rows.d <= DIRECT_COLUMNS:
            return Newton(self.tol, self.max_iter, self.seed).solve(problem, rows, stopping, start)
        coarse = Descent(max(self.tol, HANDOVER), self.max_iter, self.seed, PATIENCE)
        first = coarse.solve(problem, rows, stopping, start)
        goes_on = first.status in (Status.SOLVED, Status.STALLED)
        if not goes_on or first.gap <= self.tol * first.primal:
            return first
        left = self.max_iter - first.iterations if self.max_iter >= 0 else -1
        found = Newton(self.tol, left, self.seed).solve(
            problem, rows, stopping, Start(first.w, first.b, WIDTH, first.beta)
        )
        return replace(
            min(found, replace(first, status=found.status), key=by_gap),
            iterations=first.iterations + found.iterations,
            rounds=first.rounds + found.rounds,
            seconds=first.seconds + found.seconds,
        )
