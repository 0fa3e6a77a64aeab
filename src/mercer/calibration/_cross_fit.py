"""Decision values of rows that were held out, on which the maps to probabilities are fitted.

They come from five-fold cross-validation: those of the training rows themselves would be too
confident.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._multiclass import Task
from mercer._result import Result
from mercer._threads import Workers, single_threaded_blas, thread_count
from mercer.gram import BlockedGram
from mercer.problems import BoxQP
from mercer.solvers import SMO, Stopping
from mercer.solvers._solution import solve_within_reach
from mercer.solvers.smo.paths._fold_paths import FoldPath, cross_decision_values

__all__ = ["held_out_values"]

FOLDS = 5


def held_out_values(
    tasks: Sequence[Task],
    gram: BlockedGram,
    pose: Callable[[Task], BoxQP],
    coefficients: Callable[[BoxQP, Result], tuple[np.ndarray, float]],
    solver: Any,
    rng: np.random.RandomState,
    n_jobs: int | None,
    stopping: Stopping,
) -> list[np.ndarray]:
    """The decision values of each task's rows, each row under a model of the other folds.

    ``pose(task)`` is the problem of some rows of a task, ``coefficients`` the model of its
    solution. All folds share the kernel matrix where ``solver`` is SMO. Values that a stopped fit
    did not come to are zero.
    """
    out = [np.zeros(task.y.size) for task in tasks]
    wanted = []
    for fold in _all_folds(tasks, rng):
        y = tasks[fold.task].y[fold.rows]
        if y.size == 0 or (y == y[0]).all():  # no second class left to learn from
            out[fold.task][fold.held_out] = 0.0 if y.size == 0 else y[0]
        else:
            wanted.append(fold)
    problems = [pose(fold.part(tasks)) for fold in wanted]
    threads = thread_count(n_jobs)
    if isinstance(solver, SMO) and all(p.n_groups < 2 for p in problems):
        paths = [
            FoldPath(fold.numbers(tasks, fold.rows), fold.numbers(tasks, fold.held_out), [p], [1.0])
            for fold, p in zip(wanted, problems, strict=True)
        ]
        found = cross_decision_values(
            gram,
            paths,
            tol=solver.tol,
            cache_bytes=solver.cache_bytes,
            n_threads=threads,
            stopping=stopping,
        )
        for fold, values in zip(wanted, found, strict=True):
            if values:
                out[fold.task][fold.held_out] = values[0].values
        return out

    def one(k: int) -> None:
        fold, problem = wanted[k], problems[k]
        rows, at = (fold.numbers(tasks, part) for part in (fold.rows, fold.held_out))
        part = gram.take(rows)
        part = part if problem.diag is None else part.with_diagonal(problem.diag)
        result = solve_within_reach(solver, problem, part, stopping, None)
        coef, b = coefficients(problem, result)
        used, f = np.flatnonzero(coef), np.zeros(gram.n)
        gram.accumulate(f, at, rows[used], coef[used])
        out[fold.task][fold.held_out] = f[at] + b

    with single_threaded_blas(), Workers(threads) as workers:
        workers.map(one, range(len(wanted)))
    return out


@dataclass(frozen=True, eq=False)
class _Fold:
    """The number of a task, and which of its rows train a model and which are held out."""

    task: int
    rows: np.ndarray
    held_out: np.ndarray

    def numbers(self, tasks: Sequence[Task], rows: np.ndarray) -> np.ndarray:
        """Rows of the task as rows of the training data."""
        of_task = tasks[self.task].rows
        return rows if of_task is None else of_task[rows]

    def part(self, tasks: Sequence[Task]) -> Task:
        """The task on its training rows."""
        task = tasks[self.task]
        return Task(self.numbers(tasks, self.rows), task.y[self.rows], task.classes)


def _all_folds(tasks: Sequence[Task], rng: np.random.RandomState) -> Iterator[_Fold]:
    for t, task in enumerate(tasks):
        number = _folds(task.y, rng)
        for fold in range(FOLDS):
            held_out = np.flatnonzero(number == fold)
            if held_out.size:
                yield _Fold(t, np.flatnonzero(number != fold), held_out)


def _folds(y: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
    """The fold of each row: both classes spread evenly, in random order."""
    fold = np.empty(y.size, dtype=np.intp)
    for side in (y > 0, y <= 0):
        rows = np.flatnonzero(side)
        fold[rng.permutation(rows)] = np.arange(rows.size) % FOLDS
    return fold
