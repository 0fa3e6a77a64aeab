"""After a stop: tasks that were not begun are fitted to samples, so that they vote as well."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer._multiclass import PosedTasks, Task
from mercer._result import Result, Status
from mercer._threads import SERIAL, Workers
from mercer.gram import BlockedGram
from mercer.problems import BoxQP
from mercer.problems._kkt import intercepts
from mercer.solvers import Stopping
from mercer.solvers._solution import make_result, solve_within_reach, upper_diagonal

if TYPE_CHECKING:
    from mercer.estimators.svm._solve import FitSettings

__all__ = ["StoppedTasks"]

# The bound of a sum is computed with rounding, too.
BOUND_ROUNDING = 1.001


@dataclass(frozen=True, eq=False)
class StoppedTasks:
    """The tasks of a fit that was stopped.

    First the samples of all tasks are solved, then f is computed at all rows of as many as there is
    time for. A problem whose start is not zero (of ν, or of a warm start) keeps its start: the
    solution of a sample is not feasible there.
    """

    posed: PosedTasks
    starts: Sequence[np.ndarray | None]
    solver: Any
    settings: FitSettings

    def fit(
        self,
        answers: dict[int, Result],
        solve_at_once: Callable[..., dict[int, Result]],
        workers: Workers,
    ) -> None:
        """Fill in the answers that are missing, and replace those that are zero."""
        problems, stopping = self.posed.problems, self.posed.stopping
        early = (Status.STOPPED, Status.TIME_LIMIT)
        rest = [
            t
            for t in range(len(problems))
            if t not in answers or (answers[t].status in early and not answers[t].beta.any())
        ]
        if not rest:
            return
        began, stopped = time.perf_counter(), stopping.stopped or Status.STOPPED
        samples, found = self._solutions(rest, solve_at_once, workers)
        limit = Stopping(self.settings.sums_seconds)

        def whole(t: int) -> Result:
            run = self._on_all_rows(t, samples[t], found.get(t), limit.is_stopped())
            return make_result(problems[t], run.gram, run, stopped, self.solver.tol, began)

        answers |= dict(zip(rest, workers.map(whole, rest), strict=True))
        few = [answers[t] for t in rest if not answers[t].status.is_solved]
        sampled = sum(t in found for t in rest if not answers[t].status.is_solved)
        empty = sum(not result.beta.any() for result in few)
        counts = {
            "were fitted to samples only": sampled,
            "kept the duals that they began with": len(few) - sampled - empty,
            "were not fitted": empty,
        }
        stopping.note = "; ".join(
            f"{count} of {len(problems)} tasks {what}" for what, count in counts.items() if count
        )

    def _start(self, t: int) -> np.ndarray:
        start = self.starts[t]
        return self.posed.problems[t].start if start is None else start

    def _part(self, t: int) -> BlockedGram:
        posed = self.posed
        return posed.gram.take(posed.tasks[t].of_rows(np.arange(posed.gram.n)), SERIAL)

    def _solutions(
        self, rest: Sequence[int], solve_at_once: Callable[..., dict[int, Result]], workers: Workers
    ) -> tuple[list[np.ndarray], dict[int, Result]]:
        """The rows of the samples of all tasks, and the solutions that there was time for."""
        settings, tasks, gram = self.settings, self.posed.tasks, self.posed.gram
        n_values = sum(self.posed.problems[t].n_variables for t in rest)
        n_points = min(settings.sample_points, settings.sample_values // n_values)
        chosen = _sample_of_classes(tasks, gram.n, max(n_points // 2, 1))
        samples = [np.flatnonzero(task.of_rows(chosen)) for task in tasks]
        from_zero = [t for t in rest if not self._start(t).any()]
        if not from_zero:
            return samples, {}
        limit, rows = Stopping(settings.sample_seconds), np.flatnonzero(chosen)
        parts = [p.take(at) for p, at in zip(self.posed.problems, samples, strict=True)]
        found = {}
        if len(from_zero) == len(rest):
            found = solve_at_once(parts, gram.take(rows), limit, rows)

        def one(t: int) -> Result | None:
            if limit.is_stopped():
                return None
            mine, part = limit.until(limit.seconds + settings.task_seconds), self._part(t)
            return solve_within_reach(self.solver, parts[t], part.take(samples[t]), mine, None)

        left = [t for t in from_zero if t not in found]
        solved = zip(left, workers.map(one, left), strict=True)
        return samples, found | {t: result for t, result in solved if result is not None}

    def _on_all_rows(
        self, t: int, sample: np.ndarray, found: Result | None, bound_only: bool
    ) -> _OnAllRows:
        problem, gram, beta = self.posed.problems[t], self._part(t), self._start(t).copy()
        if found is not None:
            beta[sample] = found.beta
        if not bound_only or not beta.any():
            return _OnAllRows(problem, gram, beta, found, None)
        if found is not None:
            return _OnAllRows(problem, gram, beta, found, found.b)
        at_sample = gram.bounded_sums(beta, sample)
        b = intercepts(problem.take(sample), beta[sample], *at_sample)[0]
        return _OnAllRows(problem, gram, beta, None, b)


def _sample_of_classes(tasks: Sequence[Task], n: int, n_points: int) -> np.ndarray:
    """A mask over the n rows: at most ``n_points`` of each class, the same in all its tasks."""
    rng, chosen, seen = np.random.default_rng(0), np.zeros(n, bool), set()
    for task in tasks:
        start = 0
        for key, count in task.parts:
            if key not in seen:
                seen.add(key)
                rows = task.of_rows(np.arange(n))[start : start + count]
                chosen[rng.permutation(rows)[:n_points]] = True
            start += count
    return chosen


class _OnAllRows:
    """β as an answer to a whole task (a `Run` of `make_result`).

    f at all rows is computed, or where the intercepts b are given, |f| ≤ Σ |βⱼ| √(kᵢᵢ kⱼⱼ) of a
    positive semidefinite kernel.
    """

    def __init__(
        self,
        problem: BoxQP,
        gram: BlockedGram,
        beta: np.ndarray,
        found: Result | None,
        b: np.ndarray | None,
    ):
        self.beta, self.gram = beta, gram
        self.steps, self.rounds = (0, 0) if found is None else (found.iterations, found.rounds)
        self.met_negative_curvature = found is not None and found.status is Status.NOT_PSD
        self.f, self.f_error = np.zeros((2, gram.n))
        if b is None and beta.any():
            self.f, self.f_error = gram.bounded_sums(beta, np.arange(gram.n))
        elif b is not None and gram.is_psd is True:
            size = np.sqrt(upper_diagonal(gram))
            self.f_error += BOUND_ROUNDING * size * (size @ np.abs(beta))
        elif b is not None:
            self.f_error += np.inf
        self.kkt = intercepts(problem, beta, self.f, self.f_error)
        if b is not None:
            self.kkt = b, *self.kkt[1:]
