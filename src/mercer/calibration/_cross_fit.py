"""Decision values of rows that were held out, on which the maps to probabilities are fitted.

They come from five-fold cross-validation: those of the training rows themselves would be too
confident.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from mercer._multiclass import Task
from mercer._threads import Workers, single_threaded_blas, thread_count
from mercer.gram import BlockedGram

__all__ = ["held_out_values"]

FOLDS = 5


def held_out_values(
    tasks: Sequence[Task],
    gram: BlockedGram,
    fit_part: Callable[[Task, np.ndarray], tuple[np.ndarray, float]],
    rng: np.random.RandomState,
    n_jobs: int | None,
) -> list[np.ndarray]:
    """The decision values of each task's rows, each row under a model of the other folds.

    ``fit_part(task, rows)`` fits a task on some of its rows.
    """
    folds = [_folds(task.y, rng) for task in tasks]

    def one(t: int) -> np.ndarray:
        task = tasks[t]
        values = np.empty(task.y.size)
        for fold in range(FOLDS):
            held_out = np.flatnonzero(folds[t] == fold)
            if held_out.size:
                values[held_out] = _of_fold(
                    task, gram, np.flatnonzero(folds[t] != fold), held_out, fit_part
                )
        return values

    with single_threaded_blas(), Workers(thread_count(n_jobs)) as workers:
        return workers.map(one, range(len(tasks)))


def _folds(y: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
    """The fold of each row: both classes spread evenly, in random order."""
    fold = np.empty(y.size, dtype=np.intp)
    for side in (y > 0, y <= 0):
        rows = np.flatnonzero(side)
        fold[rng.permutation(rows)] = np.arange(rows.size) % FOLDS
    return fold


def _of_fold(
    task: Task,
    gram: BlockedGram,
    rows: np.ndarray,
    held_out: np.ndarray,
    fit_part: Callable[[Task, np.ndarray], tuple[np.ndarray, float]],
) -> np.ndarray:
    """Decision values of the held-out rows under a model of the others."""
    y = task.y[rows]
    if y.size == 0 or (y == y[0]).all():  # no second class left to learn from
        return np.full(held_out.size, 0.0 if y.size == 0 else y[0])
    coef, b = fit_part(task, rows)
    numbers = np.arange(gram.n) if task.rows is None else task.rows
    out = np.zeros(gram.n)
    used = np.flatnonzero(coef)
    gram.accumulate(out, numbers[held_out], numbers[rows[used]], coef[used])
    return out[numbers[held_out]] + b
