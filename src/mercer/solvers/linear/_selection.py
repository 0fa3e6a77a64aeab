"""Which method fits the shape of the data, and the reason in words."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any

from mercer._result import LinearResult, Status
from mercer.problems._losses import EPSILON_INSENSITIVE, LOGISTIC
from mercer.problems._regularized_loss import L1Primal, LinearPrimal
from mercer.solvers._registry import Choice
from mercer.solvers._stopping import Stopping
from mercer.solvers.linear._coordinate_descent import CoordinateDescent
from mercer.solvers.linear._design_matrix import LocalMatrix
from mercer.solvers.linear._l1_descent import L1CoordinateDescent
from mercer.solvers.linear._newton import Newton
from mercer.solvers.linear._path_following import Start
from mercer.solvers.linear._smooth_newton import NewtonSettings

__all__ = ["CoordinateDescentThenNewton", "HandoverSettings", "choose_linear"]


@dataclass(frozen=True)
class HandoverSettings:
    """When Newton's method takes over from coordinate descent."""

    # The relative gap, or the visits per row after which it has not been reached.
    gap: float = 3e-5
    max_visits: float = 200.0
    # The same of dense float32 rows (features of kernels) whose Newton equations are factorised.
    dense_visits: float = 25.0
    # The proximal width Newton's method begins with, in units of scores.
    width: float = 0.03


@dataclass(frozen=True)
class CoordinateDescentThenNewton:
    """Coordinate descent until it becomes slow, then Newton's method from its duals.

    Coordinate descent identifies the free duals quickly but converges linearly afterwards. Along a
    path few duals change between 0, free and C: on tall data Newton's method starts at once.
    ``tol`` is the relative gap, ``max_iter`` limits epochs plus steps (−1: no limit), ``single`` is
    that of `CoordinateDescent`.
    """

    tol: float = 1e-4
    max_iter: int = -1
    seed: int = 0
    single: bool = False
    newton: NewtonSettings = field(default=NewtonSettings(), repr=False)
    handover: HandoverSettings = field(default=HandoverSettings(), repr=False)

    def solve(
        self,
        problem: LinearPrimal,
        design: LocalMatrix,
        stopping: Stopping,
        start: Start | None = None,
    ) -> LinearResult:
        """The model, its duals and its gap."""
        known = None if start is None else start.known
        if known is not None and known.meets(self.tol):
            return replace(known, iterations=0, rounds=1, seconds=0.0)
        newton = Newton(self.tol, self.max_iter, self.seed, self.newton)
        is_tall = design.n >= design.d and design.d <= self.newton.direct_columns
        if known is not None and is_tall:
            return newton.solve(problem, design, stopping, start)
        is_direct = self.single and design.d <= self.newton.direct_columns
        visits = self.handover.dense_visits if is_direct else self.handover.max_visits
        limits = self.tol, self.max_iter, self.seed, visits
        coarse = CoordinateDescent(*limits, self.single, self.handover.gap)
        first = coarse.solve(problem, design, stopping, start)
        if first.status not in (Status.SOLVED, Status.STALLED) or first.meets(self.tol):
            return first
        left = self.max_iter - first.iterations if self.max_iter >= 0 else -1
        second_start = Start(first.w, first.b, first.beta, width=self.handover.width)
        second = replace(newton, max_iter=left).solve(problem, design, stopping, second_start)
        first = replace(first, status=second.status)
        best = min(second, first, key=attrgetter("finite_gap"))
        return best.with_effort_of(first, second)


def choose_linear(
    design: LocalMatrix,
    problem: LinearPrimal,
    dual: bool | str,
    tol: float,
    max_iter: int,
    seed: int,
) -> tuple[Any, Choice]:
    """The solver, and why. ``dual`` True or False asks for one; "auto" leaves it to the shape."""
    if isinstance(problem, L1Primal):
        reason = "primal coordinate descent with Newton steps: the penalty is an L1 norm"
        return L1CoordinateDescent(tol, max_iter, seed), Choice("l1-coordinate-descent", reason)
    kind = problem.kind
    newton, descent = Newton(tol, max_iter, seed), CoordinateDescent(tol, max_iter, seed)
    direct_columns = newton.settings.direct_columns
    shape = f"{design.n:,} {'sparse' if design.is_sparse else 'dense'} rows of {design.d:,} columns"
    equations = f"{design.d:,} × {design.d:,} equations"
    if kind == LOGISTIC:
        how = equations if design.d <= direct_columns else "conjugate gradients"
        return newton, Choice("newton", f"Newton with {how}: the loss is smooth")
    if dual is True:
        return descent, Choice("coordinate-descent", "asked for (dual=True)")
    if dual is False:
        return newton, Choice("newton", "asked for (dual=False)")
    is_interval = kind == EPSILON_INSENSITIVE
    if (
        design.d <= (newton.settings.interval_columns if is_interval else direct_columns)
        and design.n >= design.d
    ):
        method = "proximal Newton" if is_interval else "semismooth Newton"
        return newton, Choice("newton", f"{method} with {equations}: {shape}")
    if is_interval:
        reason = f"dual coordinate descent, then proximal Newton: {shape}"
        both = CoordinateDescentThenNewton(tol, max_iter, seed)
        return both, Choice("coordinate-descent-then-newton", reason)
    return descent, Choice("coordinate-descent", f"dual coordinate descent: {shape}")
