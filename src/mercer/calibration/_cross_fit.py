"""Decision values of rows that were held out, on which the maps to probabilities are fitted.

They come from five-fold cross-validation: those of the training rows themselves would be too
confident.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mercer._multiclass import Task
from mercer._result import Result
from mercer._threads import Workers, single_threaded_blas, thread_count
from mercer.gram import BlockedGram
from mercer.problems import BoxQP
from mercer.solvers import SMO, Stopping
from mercer.solvers.smo._fold_paths import FoldPath, cross_decision_values

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
    folds = [_folds(task.y, rng) for task in tasks]
    parts = [
        (t, np.flatnonzero(folds[t] != fold), np.flatnonzero(folds[t] == fold))
        for t in range(len(tasks))
        for fold in range(FOLDS)
    ]
    out = [np.zeros(task.y.size) for task in tasks]
    wanted = []
    for t, rows, held_out in parts:
        y = tasks[t].y[rows]
        if held_out.size == 0:
            continue
        if y.size == 0 or (y == y[0]).all():  # no second class left to learn from
            out[t][held_out] = 0.0 if y.size == 0 else y[0]
            continue
        wanted.append((t, rows, held_out))

    def part(t: int, rows: np.ndarray) -> Task:
        return Task(_numbers(tasks[t], gram)[rows], tasks[t].y[rows], tasks[t].classes)

    problems = [pose(part(t, rows)) for t, rows, _ in wanted]
    threads = thread_count(n_jobs)
    if isinstance(solver, SMO) and all(p.n_groups < 2 for p in problems):
        paths = [
            FoldPath(part(t, rows).rows, _numbers(tasks[t], gram)[held_out], [problem], [1.0])
            for (t, rows, held_out), problem in zip(wanted, problems, strict=True)
        ]
        found = cross_decision_values(
            gram, paths, tol=solver.tol, cache_bytes=solver.cache_bytes, n_threads=threads,
            stopping=stopping,
        )  # fmt: skip
        for (t, _, held_out), values in zip(wanted, found, strict=True):
            if values:
                out[t][held_out] = values[0].values
        return out

    def one(k: int) -> None:
        t, rows, held_out = wanted[k]
        numbers = _numbers(tasks[t], gram)
        result = solver.solve(problems[k], gram.take(numbers[rows]), stopping)
        coef, b = coefficients(problems[k], result)
        used, f = np.flatnonzero(coef), np.zeros(gram.n)
        gram.accumulate(f, numbers[held_out], numbers[rows[used]], coef[used])
        out[t][held_out] = f[numbers[held_out]] + b

    with single_threaded_blas(), Workers(threads) as workers:
        workers.map(one, range(len(wanted)))
    return out


def _numbers(task: Task, gram: BlockedGram) -> np.ndarray:
    return np.arange(gram.n) if task.rows is None else task.rows


def _folds(y: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
    """The fold of each row: both classes spread evenly, in random order."""
    fold = np.empty(y.size, dtype=np.intp)
    for side in (y > 0, y <= 0):
        rows = np.flatnonzero(side)
        fold[rng.permutation(rows)] = np.arange(rows.size) % FOLDS
    return fold
