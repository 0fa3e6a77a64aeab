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
from mercer.solvers.smo._many_pairs import held_out_pairs
from mercer.solvers.smo.paths._fold_paths import FoldPath, cross_decision_values

__all__ = ["held_out_values"]

FOLDS = 5
# Up to that number of rows the folds of a class pair are solved on all its rows, together with
# those of other pairs: of more rows, a problem without its held-out rows takes less time.
ROWS_AT_ONCE = 400


def held_out_values(
    tasks: Sequence[Task],
    posed: Sequence[BoxQP],
    gram: BlockedGram,
    pose: Callable[[Task], BoxQP],
    coefficients: Callable[[BoxQP, Result], tuple[np.ndarray, float]],
    solver: Any,
    rng: np.random.RandomState,
    n_jobs: int | None,
    stopping: Stopping,
    rows_at_once: int = ROWS_AT_ONCE,
) -> list[np.ndarray]:
    """The decision values of each task's rows, each row under a model of the other folds.

    ``posed`` are the problems of the tasks, ``pose(task)`` that of some rows of one,
    ``coefficients`` the model of its solution. All folds share the kernel matrix where ``solver``
    is SMO. Values that a stopped fit did not come to are zero.
    """
    out = [np.zeros(task.y.size) for task in tasks]
    folds, threads, wanted = [_folds(task.y, rng) for task in tasks], thread_count(n_jobs), []
    is_known = [np.zeros(task.y.size, bool) for task in tasks]
    if isinstance(solver, SMO):
        small = [t for t, task in enumerate(tasks) if task.parts and task.y.size <= rows_at_once]
        limits = solver.tol, solver.cache_bytes, threads, stopping
        _fill_small_pairs(out, is_known, small, tasks, posed, folds, gram, *limits)
    for fold in _all_folds(tasks, folds, is_known):
        y = tasks[fold.task].y[fold.rows]
        if y.size == 0 or (y == y[0]).all():  # no second class left to learn from
            out[fold.task][fold.held_out] = 0.0 if y.size == 0 else y[0]
        else:
            wanted.append(fold)
    if not wanted:
        return out
    problems = [pose(fold.part(tasks)) for fold in wanted]
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


def _fill_small_pairs(
    out: Sequence[np.ndarray],
    is_known: Sequence[np.ndarray],
    some: Sequence[int],
    tasks: Sequence[Task],
    problems: Sequence[BoxQP],
    folds: Sequence[np.ndarray],
    gram: BlockedGram,
    tol: float,
    cache_bytes: int,
    threads: int,
    stopping: Stopping,
) -> None:
    """Held-out values of some class pairs, in compiled calls, if K of their classes fits."""
    posed = [problems[t] for t in some]
    if not some or not all(p.n_groups == 1 and p.diag is None and p.is_finite for p in posed):
        return
    of_class: dict[int, np.ndarray] = {}
    for t in some:
        (first, n_first), (second, _) = tasks[t].parts
        rows = tasks[t].of_rows(np.arange(gram.n))
        of_class[first], of_class[second] = rows[:n_first], rows[n_first:]
    if 8 * sum(rows.size for rows in of_class.values()) ** 2 > cache_bytes:
        return
    place = {c: k for k, c in enumerate(of_class)}
    pairs = [(place[tasks[t].classes[0]], place[tasks[t].classes[1]]) for t in some]
    part, fold = gram.take(np.concatenate(list(of_class.values()))), [folds[t] for t in some]
    starts = np.cumsum([0, *(rows.size for rows in of_class.values())])
    if 8 * gram.n**2 <= 4 * gram.machine.l2_bytes:  # less time than the start of a thread
        threads = 1
    with single_threaded_blas(), part.threads(threads):
        found = held_out_pairs(posed, np.concatenate(fold), part, starts, pairs, tol, stopping)
    ends = np.cumsum([values.size for values in fold])[:-1]
    for t, values, known in zip(some, *(np.split(each, ends) for each in found), strict=True):
        out[t][:], is_known[t][:] = values, known


def _all_folds(
    tasks: Sequence[Task], folds: Sequence[np.ndarray], is_known: Sequence[np.ndarray]
) -> Iterator[_Fold]:
    """Those whose values are not known, and those that leave one class: no model knows these."""
    for t, number in enumerate(folds):
        n_first = int(np.count_nonzero(tasks[t].y > 0))
        leaves_both = min(n_first, number.size - n_first) > 1  # its rows are in several folds
        if leaves_both and is_known[t].all():
            continue
        for fold in range(FOLDS):
            held_out = np.flatnonzero(number == fold)
            if held_out.size and not (leaves_both and is_known[t][held_out].all()):
                yield _Fold(t, np.flatnonzero(number != fold), held_out)


def _folds(y: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
    """The fold of each row: both classes spread evenly, in random order."""
    fold = np.empty(y.size, dtype=np.intp)
    for side in (y > 0, y <= 0):
        rows = np.flatnonzero(side)
        fold[rng.permutation(rows)] = np.arange(rows.size) % FOLDS
    return fold
