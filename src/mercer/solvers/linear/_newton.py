"""Newton's method for linear models: from a subsample of the rows to all of them.

A random subsample is solved to low accuracy, with C scaled by ΣC / ΣC of the subsample; its model
is the start on all rows. Then follow Newton's method, plain for smooth losses (`SmoothNewton`) and
with proximal steps for the ε-insensitive loss (`ProximalNewton`), and an evaluation of the gap from
the model alone.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError

from mercer._result import Halted, LinearResult, Status, WarmStartState
from mercer.problems._losses import EPSILON_INSENSITIVE
from mercer.problems._regularized_loss import LinearPrimal
from mercer.solvers._stopping import Progress, Stopping
from mercer.solvers.linear._design_matrix import DesignMatrix, halting
from mercer.solvers.linear._gradient_dual import evaluate
from mercer.solvers.linear._path_following import Start, follow_path
from mercer.solvers.linear._proximal_newton import ActiveRows, ProximalNewton, location_and_scale
from mercer.solvers.linear._smooth_newton import NewtonSettings, SmoothNewton

__all__ = ["Newton"]


@dataclass(frozen=True)
class Newton:
    """Settings: relative gap ``tol``, at most ``max_iter`` Newton steps (−1: no limit)."""

    tol: float = 1e-4
    max_iter: int = -1
    seed: int = 0
    settings: NewtonSettings = field(default=NewtonSettings(), repr=False)

    def solve(
        self,
        problem: LinearPrimal,
        design: DesignMatrix,
        stopping: Stopping,
        start: Start | None = None,
    ) -> LinearResult:
        """The model, its duals and its gap."""
        steps_before = 0
        if start is None:
            start = Start(np.zeros(design.d), 0.0)
            with suppress(Halted):
                start, steps_before = self._solve_subsample(problem, design, stopping)
        return _Run(self, problem, design, stopping, steps_before).solve(start)

    def _solve_subsample(
        self, problem: LinearPrimal, design: DesignMatrix, stopping: Stopping
    ) -> tuple[Start, int]:
        """The model of a subsample and its steps, or zero where all rows are few enough."""
        settings = self.settings
        index = settings.subsample(design.n, design.d, self.seed)
        if index is None:
            is_free = problem.kind == EPSILON_INSENSITIVE and problem.intercept_penalty == 0
            b = location_and_scale(problem)[0] if is_free else 0.0
            return Start(np.zeros(design.d), b, width=settings.cold_width), 0
        factor = float(problem.C.sum() / problem.C[index].sum())
        inner = replace(self, tol=max(settings.subsample_gap, self.tol))
        found = inner.solve(problem.take(index, factor), design.take(index), stopping.quiet())
        return Start(found.w, found.b), found.iterations


class _Run:
    """One run of `Newton.solve`: the method, and the best solution so far."""

    method: Any
    best: LinearResult

    def __init__(
        self,
        solver: Newton,
        problem: LinearPrimal,
        design: DesignMatrix,
        stopping: Stopping,
        steps_before: int,
    ):
        self.solver, self.settings, self.tol = solver, solver.settings, solver.tol
        self.problem, self.design, self.stopping = problem, design, stopping
        self.is_smooth = problem.kind != EPSILON_INSENSITIVE
        self.steps_before, self.rounds = steps_before, 0

    def solve(self, start: Start) -> LinearResult:
        began = time.perf_counter()
        found = start.known or self._evaluate(start.w, start.b, start.beta)
        if found is None:
            return self._unknown(start, time.perf_counter() - began)
        first, state = found, start.state
        self.best = first
        if not first.meets(self.tol) and state is not None and state.gram is not None:
            with suppress(Halted, LinAlgError), halting(self.design, self.stopping):
                self.best, self.steps_before = follow_path(
                    self.problem, self.design, first, state, self.tol, self.settings
                )
        if self.best.meets(self.tol):
            seconds = time.perf_counter() - began
            return replace(self.best, iterations=self.steps_before, rounds=1, seconds=seconds)
        self.method = self._choose_method(start)
        width = start.width
        if width is None:
            width = self.settings.path_width if start.is_path else self.settings.warm_width
        status, best = self._iterate(width), self.best
        return replace(
            best,
            status=status,
            iterations=self.steps_before + self.method.steps,
            rounds=self.rounds,
            seconds=time.perf_counter() - began,
            warm_start=replace(
                best.warm_start or WarmStartState(),
                delta_w=best.w - first.w,
                delta_b=best.b - first.b,
                delta_g=best.g - first.g,
                C_ratio=start.C_ratio,
                gram=self.method.gram if self.is_smooth else None,
            ),
        )

    def _iterate(self, width: float) -> Status:
        """Rounds of the method, each to a smaller gap, and the gap of all rows after each."""
        method, settings, tol = self.method, self.settings, self.tol
        for self.rounds in range(1, settings.max_rounds + 1):
            status = Status.SOLVED if self.best.meets(tol) else self._limit()
            if status is not None:
                return status
            reduction = settings.round_gap * settings.round_gap_reduction ** (self.rounds - 1)
            with suppress(Halted, LinAlgError), halting(self.design, self.stopping):
                method.solve(reduction * tol * self.best.primal, width, self._stop)
            found = self._evaluate(method.w, method.b, method.beta)
            if found is not None:
                self.best = min(self.best, found, key=attrgetter("finite_gap"))
            self._report(lambda: self.best)
        return Status.SOLVED if self.best.meets(tol) else self._limit() or Status.STALLED

    def _evaluate(self, w: np.ndarray, b: float, beta: np.ndarray | None) -> LinearResult | None:
        """Value and gap over all rows; None where their products have to stop before the end."""
        try:
            return evaluate(self.problem, self.design, w, b, None if self.is_smooth else beta)
        except Halted:
            return None

    def _unknown(self, start: Start, seconds: float) -> LinearResult:
        """A model whose value at the rows is not known."""
        beta, w_beta = np.zeros(self.design.n), np.zeros(self.design.d)
        return LinearResult(
            start.w,
            start.b,
            beta,
            beta,
            w_beta,
            np.inf,
            np.inf,
            self.stopping.stopped or Status.TIME_LIMIT,
            self.steps_before,
            seconds=seconds,
        )

    def _limit(self) -> Status | None:
        if 0 <= self.solver.max_iter <= self.steps_before + self.method.steps:
            return Status.ITERATION_LIMIT
        return self.stopping.stopped

    def _stop(self) -> bool:
        """Between two steps: report, and say whether a limit is reached."""
        method = self.method
        self._report(lambda: self._evaluate(method.w, method.b, method.beta))
        return self._limit() is not None

    def _report(self, result: Callable[[], LinearResult | None]) -> None:
        if self.stopping.callback is not None:
            self.stopping.report(
                Progress(
                    self.stopping.seconds,
                    self.rounds,
                    self.steps_before + self.method.steps,
                    self.best.relative_gap,
                    self.tol,
                    state=lambda: [(self.problem, result())],
                )
            )

    def _choose_method(self, start: Start) -> SmoothNewton | ProximalNewton | ActiveRows:
        """Newton's method for the loss and for what is known."""
        problem, design, settings = self.problem, self.design, self.settings
        first, state = self.best, start.state
        w, b, g = first.w, first.b, first.g
        if self.is_smooth:
            if design.d > settings.direct_columns and state is not None and state.C_ratio > 1:
                assert state.delta_w is not None
                assert state.delta_g is not None
                t = math.log(start.C_ratio) / math.log(state.C_ratio)
                t = min(t, settings.max_extrapolation)
                w, b, g = w + t * state.delta_w, b + t * state.delta_b, g + t * state.delta_g
            sum_norm = _sum_norm(problem, first.warm_start)
            return SmoothNewton(design, problem, w, b, g, sum_norm, settings)
        if state is not None and state.C_ratio and state.delta_g is not None:
            return ActiveRows(design, problem, first, state.delta_g, settings)
        return ProximalNewton(design, problem, w, b, g, start.beta, settings=settings)


def _sum_norm(problem: LinearPrimal, state: WarmStartState | None) -> float:
    """By how much √(2 gap) grows for each unit of Σβ ≠ 0, if that is known."""
    if problem.intercept_penalty != 0 or state is None or state.signed_totals is None:
        return 0.0
    assert state.signed_sums is not None
    totals = np.maximum(state.signed_totals, 1e-300)
    square = np.sum(state.signed_sums**2, axis=1) / totals**2
    return math.sqrt(np.max(square + 2 / totals))  # the latter by the terms of the losses
