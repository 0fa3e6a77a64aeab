"""The step *solve* of a fit: binary tasks side by side, within the budgets of cache and time."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer._multiclass import PosedTasks
from mercer._result import Result, Status
from mercer._threads import Workers, thread_count
from mercer.estimators._validation import Data
from mercer.estimators._warm_start import feasible, warm_starts
from mercer.estimators.svm._after_stop import StoppedTasks
from mercer.estimators.svm._checkpoint import FitCheckpoint
from mercer.gram import BlockedGram
from mercer.gram._cached import MEGABYTE
from mercer.problems import BoxQP
from mercer.solvers import Stopping, choose, make_solver, require
from mercer.solvers._solution import solve_within_reach

__all__ = ["FitSettings", "SolvesTasks"]


@dataclass(frozen=True)
class FitSettings:
    """Tuning constants of a fit with several tasks.

    Attributes
    ----------
    cache_divisor : int
        Tasks share the cache budget: each has at least budget / cache_divisor, whatever the number
        of threads (else the model would depend on it); no more tasks run at once than that allows.
    task_time_fraction : float
        With a time limit, a task may use at most this multiple of its proportional part of the
        remaining time. Tasks stopped early are resumed if time remains.
    threads_from : int
        Multiply-adds of all kernel values from which on threads are started (a millisecond).
    map_cost : int
        Multiply-adds that the map from a dot product to a kernel value counts as.
    sample_points : int
        After a stop: points to which a task that was not begun is fitted, at most.
    sample_values : int
        After a stop: kernel values that these tasks compute together, in some tenths of a second.
        Where they are many, their samples are smaller.
    sample_seconds : float
        After a stop: time for the solutions of all samples. A task that is not reached within it
        has no support vectors. Solved one by one, a sample takes one or two milliseconds.
    sums_seconds : float
        After a stop: time for f at all rows of these tasks. Where it is over, f is bounded only.
    task_seconds : float
        Of ``sample_seconds``, at most for one task.
    checkpoint_seconds : float
        Between two checkpoints of a task; writing one takes milliseconds.
    certified_from : int
        Variables from which on the certificate is computed in ``fit``, so that the arrays it needs
        are freed; for smaller problems it is computed at the first access.
    """

    cache_divisor: int = 4
    task_time_fraction: float = 0.8
    threads_from: int = 100_000_000
    map_cost: int = 50
    sample_points: int = 200
    sample_values: int = 25_000_000
    sample_seconds: float = 0.25
    sums_seconds: float = 0.15
    task_seconds: float = 0.01
    checkpoint_seconds: float = 3.0
    certified_from: int = 20_000


class SolvesTasks:
    """Solves the box QPs of an estimator's tasks."""

    _fit_settings = FitSettings()
    C: float
    tol: float
    gap_tol: float | None
    max_iter: int
    cache_size: float
    shrinking: bool
    solver: Any
    solver_: Any
    n_jobs: int | None
    checkpoint: Any

    def _solve(
        self, data: Data, bound: PosedTasks, given: Sequence[np.ndarray] | None = None
    ) -> list[Result]:
        """Several tasks run side by side, a single one with threads inside."""
        posed = _with_slack(bound)
        tasks, problems, gram, stopping = posed.tasks, posed.problems, posed.gram, posed.stopping
        if given is None:
            starts = warm_starts(self, data.X, problems)
        else:
            starts = [feasible(p, beta) for p, beta in zip(problems, given, strict=True)]
        settings, budget = self._fit_settings, int(self.cache_size * MEGABYTE)
        file: FitCheckpoint | None = None
        if self.checkpoint is not None:
            path, callback = self.checkpoint, stopping.callback
            file = FitCheckpoint(path, self, data, problems, callback, settings.checkpoint_seconds)
            starts, stopping.callback = file.starts(starts), file
        largest, work, cells = 0, 0, 0
        for problem in problems:
            largest = max(largest, problem.n_variables)
            cells += problem.n_variables**2
            work += problem.n_variables**2 * (gram.points.d + settings.map_cost)
        is_large = work > settings.threads_from
        is_costly = cells * gram.object_cost > settings.threads_from
        threads = thread_count(self.n_jobs) if is_large or is_costly else 1
        share = budget
        if len(tasks) > 1:
            share = min(budget, max(4 * largest**2, budget // settings.cache_divisor))
        solver = self._make_solver(share)
        self.solver_ = choose(self.solver, largest)
        if self.solver_.name != "smo":
            for t, problem in enumerate(problems):  # before any work is done
                require(solver, problem, posed.gram_of(t), f"the problem of {type(self).__name__}")
        if len(tasks) == 1:
            with gram.threads(threads) if threads > 1 else nullcontext():
                results = [solve_within_reach(solver, problems[0], gram, stopping, starts[0])]
        else:
            answers: dict[int, Result] = {}
            if self.solver_.name == "smo" and not is_large and starts[0] is None:
                with gram.threads(threads) if threads > 1 else nullcontext():
                    answers = self._solve_at_once(problems, gram, stopping, np.arange(gram.n))
            if len(answers) < len(tasks):
                self._solve_each(answers, solver, share, posed, starts, threads, file)
            results = [answers[t] for t in range(len(tasks))]
        if file is not None:
            stopping.callback = file.callback
            for task, result in enumerate(results):
                file.finished(task, result)
            file.close(all(result.status.is_solved for result in results))
        if posed is not bound:
            gram.release()
        return results

    def _make_solver(self, cache_bytes: int) -> Any:
        return make_solver(
            self.solver, self.tol, self.max_iter, cache_bytes, self.shrinking, self.gap_tol
        )

    def _solve_at_once(
        self, problems: Sequence[BoxQP], gram: BlockedGram, stopping: Stopping, rows: np.ndarray
    ) -> dict[int, Result]:
        """Answers to those of many small tasks that can be solved together; here, to none.

        The problems are those of all tasks on some of the rows.
        """
        return {}

    def _solve_each(
        self,
        answers: dict[int, Result],
        solver: Any,
        share: int,
        posed: PosedTasks,
        starts: Sequence[np.ndarray | None],
        threads: int,
        file: FitCheckpoint | None,
    ) -> None:
        """Fill in the answers that are missing, with ``share`` bytes of cache for each task."""
        tasks, problems, gram, stopping = posed.tasks, posed.problems, posed.gram, posed.stopping
        # Longest first, so that no thread is left alone with the last long task.
        order = [t for t in range(len(tasks)) if t not in answers]
        order.sort(key=lambda t: -problems[t].n_variables)
        budget = int(self.cache_size * MEGABYTE)
        at_once = min(threads, len(order), max(1, budget // share))

        # Tasks of a class share K within it, if all classes together fit into the budget.
        sizes = {c: n for task in tasks for c, n in task.parts}
        shared = 4 * sum(n**2 for n in sizes.values()) <= budget // 2

        fair, waiting = self._fit_settings.task_time_fraction, itertools.count(len(order), -1)

        def one(t: int) -> Result | None:
            last = answers.get(t)
            if stopping.is_stopped():
                return last
            rows, parts = tasks[t].rows, tasks[t].parts if shared else ()
            assert rows is not None  # each of several tasks has rows of its own
            part = gram.take(rows, inner, parts)
            mine = stopping.of_task(t, len(tasks), fair * at_once / next(waiting))
            start = last.furthest if last else starts[t]
            result = solve_within_reach(solver, problems[t], part, mine, start)
            if file is not None:
                file.finished(t, result)
            return result if last is None else result.after(last)

        with Workers(at_once) as outer, gram.threads(threads if at_once == 1 else 1) as inner:
            while order:
                waiting = itertools.count(len(order), -1)
                found = zip(order, outer.map(one, order), strict=True)
                answers |= {t: result for t, result in found if result is not None}
                if stopping.is_stopped() or self.max_iter != -1:
                    break
                order = [t for t in order if answers[t].status is Status.TIME_LIMIT]
                fair *= 2  # going on takes time, too
            if len(answers) < len(tasks) or stopping.is_stopped():
                left = StoppedTasks(posed, starts, solver, self._fit_settings)
                left.fit(answers, self._solve_at_once, outer)


def _with_slack(posed: PosedTasks) -> PosedTasks:
    """With squared slack on the Gram of K + D; D of a row is the same in all tasks."""
    if posed.problems[0].diag is None:
        return posed
    d = np.zeros(posed.gram.n)
    for task, problem in zip(posed.tasks, posed.problems, strict=True):
        d[slice(None) if task.rows is None else task.rows] = problem.diag
    return replace(posed, gram=posed.gram.with_diagonal(d))
