"""Decision values of rows that were held out, on which the maps to probabilities are fitted.

They come from cross-validation: those of the training rows themselves would be too confident. The
maps are applied to the model of all rows, to which models of nine tenths are closer than those of
four fifths: ten folds where they take little time, else five.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._multiclass import PosedTasks, Task
from mercer._result import Result
from mercer._threads import Workers, single_threaded_blas, thread_count
from mercer.gram import BlockedGram
from mercer.problems import BoxQP
from mercer.solvers import SMO, ClassPairs, Stopping
from mercer.solvers._solution import solve_within_reach
from mercer.solvers.smo.paths._fold_paths import FoldPath, cross_decision_values
from mercer.solvers.smo.paths._held_out_pairs import held_out_pairs

__all__ = ["held_out_values"]


@dataclass(frozen=True)
class CrossFitSettings:
    """How many folds there are, and which are solved on one matrix."""

    # Folds; and those of two classes with at most that number of rows.
    folds: int = 5
    folds_of_few: int = 10
    few_rows: int = 1536
    # Up to that number of rows, and of steps of the fit for each row, the folds of a task are
    # solved on the matrix of all its rows, together with those of other tasks. Beyond, blocks of
    # the active variables take less time.
    rows_at_once: int = 4096
    steps_per_row: int = 5
    # Of several tasks each thread copies a matrix: they have to be smaller.
    rows_of_a_copy: int = 1536


SETTINGS = CrossFitSettings()


def held_out_values(
    posed: PosedTasks,
    results: Sequence[Result],
    pose: Callable[[Task], BoxQP],
    coefficients: Callable[[BoxQP, Result], tuple[np.ndarray, float]],
    solver: Any,
    rng: np.random.RandomState,
    n_jobs: int | None,
    rows_at_once: int = SETTINGS.rows_at_once,
) -> list[np.ndarray]:
    """The decision values of each task's rows, each row under a model of the other folds.

    ``results`` are the solutions of the tasks, ``pose(task)`` the problem of some rows of one,
    ``coefficients`` the model of its solution. All folds share the kernel matrix where ``solver``
    is SMO. Values that a stopped fit did not come to are zero.
    """
    tasks = posed.tasks
    out = [np.zeros(task.y.size) for task in tasks]
    folds, threads, wanted = _folds(tasks, rng), thread_count(n_jobs), []
    is_known = [np.zeros(task.y.size, bool) for task in tasks]
    if isinstance(solver, SMO):
        if len(tasks) > 1:
            rows_at_once = min(rows_at_once, SETTINGS.rows_of_a_copy)
        effort = [(task.y.size, r.iterations) for task, r in zip(tasks, results, strict=True)]
        small = [
            t
            for t, (n, steps) in enumerate(effort)
            if n <= rows_at_once and steps <= SETTINGS.steps_per_row * n
        ]
        some = _SmallTasks(
            [tasks[t] for t in small],
            [posed.problems[t] for t in small],
            [results[t] for t in small],
            [folds[t] for t in small],
        )
        found = some.held_out(posed.gram, solver, threads, posed.stopping)
        for t, values, known in zip(small, *found, strict=True):
            out[t], is_known[t] = values, known
    for fold in _all_folds(tasks, folds, is_known):
        y = tasks[fold.task].y[fold.rows]
        if y.size == 0 or (y == y[0]).all():  # no second class left to learn from
            out[fold.task][fold.held_out] = 0.0 if y.size == 0 else y[0]
        else:
            wanted.append(fold)
    if wanted:
        _solve_alone(out, wanted, posed, pose, coefficients, solver, threads)
    return out


def _solve_alone(
    out: Sequence[np.ndarray],
    wanted: Sequence[_Fold],
    posed: PosedTasks,
    pose: Callable[[Task], BoxQP],
    coefficients: Callable[[BoxQP, Result], tuple[np.ndarray, float]],
    solver: Any,
    threads: int,
) -> None:
    """Write the values of folds that are problems of their own."""
    tasks, gram, stopping = posed.tasks, posed.gram, posed.stopping
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
        return

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


@dataclass(frozen=True, eq=False)
class _SmallTasks:
    """Tasks whose folds are solved in compiled calls, if K of their classes fits into the cache."""

    tasks: Sequence[Task]
    problems: Sequence[BoxQP]
    results: Sequence[Result]
    folds: Sequence[np.ndarray]

    def held_out(
        self, gram: BlockedGram, solver: SMO, threads: int, stopping: Stopping
    ) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Of every task the values of its rows, and which of them are known."""
        nothing = [np.zeros(task.y.size) for task in self.tasks]
        if not self._have_form:
            return nothing, [values.astype(bool) for values in nothing]
        rows, starts, pairs = self._points(gram.n)
        if 8 * rows.size**2 > solver.cache_bytes:
            return nothing, [values.astype(bool) for values in nothing]
        part = gram if self.tasks[0].rows is None else gram.take(rows)
        if 8 * gram.n**2 <= 4 * gram.machine.l2_bytes:  # less time than the start of a thread
            threads = 1
        given, folds = ClassPairs(self.problems, part, starts, pairs), np.concatenate(self.folds)
        solutions = [(result.beta, result.f) for result in self.results]
        with single_threaded_blas(), part.threads(threads):
            found = held_out_pairs(given, solutions, folds, solver.tol, stopping)
        ends = np.cumsum([values.size for values in self.folds])[:-1]
        values, known = (np.split(each, ends) for each in found)
        return values, known

    @property
    def _have_form(self) -> bool:
        """Whether there are some, all of the form that `held_out_pairs` solves."""
        solvable = (
            p.n_groups == 1 and p.diag is None and p.is_finite and not p.start.any()
            for p in self.problems
        )
        return bool(self.tasks) and all(solvable)

    def _points(self, n_rows: int) -> tuple[np.ndarray, np.ndarray, list[tuple[int, int]]]:
        """The rows of all classes, where each starts among them, and the classes of each task.

        A task on all rows is a pair of these with no others.
        """
        if self.tasks[0].rows is None:
            return np.arange(n_rows), np.array([0, n_rows, n_rows]), [(0, 1)]
        of_class: dict[int, np.ndarray] = {}
        for task in self.tasks:
            (first, n_first), (second, _) = task.parts
            rows = task.of_rows(np.arange(n_rows))
            of_class[first], of_class[second] = rows[:n_first], rows[n_first:]
        place = {c: k for k, c in enumerate(of_class)}
        pairs = [(place[task.classes[0]], place[task.classes[1]]) for task in self.tasks]
        starts = np.cumsum([0, *(rows.size for rows in of_class.values())])
        return np.concatenate(list(of_class.values())), starts, pairs


def _all_folds(
    tasks: Sequence[Task], folds: Sequence[np.ndarray], is_known: Sequence[np.ndarray]
) -> Iterator[_Fold]:
    """Those whose values are not known, and those that leave one class: no model knows these."""
    for t, number in enumerate(folds):
        n_first = int(np.count_nonzero(tasks[t].y > 0))
        leaves_both = min(n_first, number.size - n_first) > 1  # its rows are in several folds
        if leaves_both and is_known[t].all():
            continue
        for fold in range(int(number.max(initial=-1)) + 1):
            held_out = np.flatnonzero(number == fold)
            if held_out.size and not (leaves_both and is_known[t][held_out].all()):
                yield _Fold(t, np.flatnonzero(number != fold), held_out)


def _folds(tasks: Sequence[Task], rng: np.random.RandomState) -> list[np.ndarray]:
    """The fold of each row of every task: each class is spread evenly, in random order.

    A row is in the same fold in all tasks of its class.
    """
    of_class: dict[int, np.ndarray] = {}
    folds = []
    is_small = len(tasks) == 1 and tasks[0].y.size <= SETTINGS.few_rows
    n_folds = SETTINGS.folds_of_few if is_small else SETTINGS.folds
    for task in tasks:
        fold = np.empty(task.y.size, dtype=np.intp)
        is_positive = task.y > 0
        for c, side in zip(task.classes, (is_positive, ~is_positive), strict=True):
            if c not in of_class:
                n = np.count_nonzero(side)
                of_class[c] = np.empty(n, dtype=np.intp)
                of_class[c][rng.permutation(n)] = np.arange(n) % n_folds
            fold[side] = of_class[c]
        folds.append(fold)
    return folds
