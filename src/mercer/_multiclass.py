"""Binary tasks out of class labels, one against one, and back again.

Classes are numbered 0..k−1 in sorted order. Task (i, j), i < j, separates class i (+1) from class j
(−1); with two classes there is one task and scikit-learn's sign, class 1 is +1. Tasks come in the
order (0,1), (0,2), …, (1,2), …

The coefficients of all tasks fit in an array with k−1 rows and one column per support vector, the
columns sorted by class (LIBSVM's layout): a support vector of class c takes part in k−1 tasks, and
its coefficient against class o stands in row o if o < c, else in row o−1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer._threads import Workers, single_threaded_blas
from mercer.gram import BlockedGram
from mercer.problems import BoxQP
from mercer.solvers import Stopping

__all__ = [
    "PosedTasks",
    "Task",
    "block_outputs",
    "by_class",
    "dual_layout",
    "ovr_scores",
    "pair_tasks",
    "pairs",
    "votes",
    "winner_is_certain",
]


@dataclass(frozen=True, eq=False)
class Task:
    """One binary problem: which rows, and their labels ±1 (or targets).

    Attributes
    ----------
    rows : int array or None
        Rows of the training data; None for all of them.
    y : float64 array
    classes : pair of int
        The classes of the task, the positive one first; (0, 0) where there are no classes.
    """

    rows: np.ndarray | None
    y: np.ndarray
    classes: tuple[int, int] = (0, 0)

    @property
    def parts(self) -> tuple[tuple[int, int], ...]:
        """Its rows are those of one class after the other: (class, how many)."""
        if self.rows is None:
            return ()
        first = int(np.count_nonzero(self.y > 0))
        return (self.classes[0], first), (self.classes[1], self.y.size - first)

    def of_rows(self, values: np.ndarray) -> np.ndarray:
        """The entries of an array over all training rows that belong to this task."""
        return values if self.rows is None else values[self.rows]


@dataclass(frozen=True, eq=False)
class PosedTasks:
    """The tasks of a fit, each posed as a problem on its rows of one Gram.

    Attributes
    ----------
    tasks : sequence of Task
    problems : sequence of BoxQP
    gram : BlockedGram
        Of all rows.
    stopping : Stopping
        The limits of the fit.
    """

    tasks: Sequence[Task]
    problems: Sequence[BoxQP]
    gram: BlockedGram
    stopping: Stopping

    def gram_of(self, t: int, workers: Workers | None = None) -> BlockedGram:
        """The Gram of the rows of a task."""
        rows = self.tasks[t].rows
        return self.gram if rows is None else self.gram.take(rows, workers)


def pairs(n_classes: int) -> list[tuple[int, int]]:
    """All (i, j) with i < j, in the order of the tasks."""
    return [(i, j) for i in range(n_classes) for j in range(i + 1, n_classes)]


def by_class(codes: np.ndarray, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """The rows sorted by class, and where each class starts (and the last one ends)."""
    starts = np.zeros(n_classes + 1, dtype=np.int64)
    np.cumsum(np.bincount(codes, minlength=n_classes), out=starts[1:])
    return np.argsort(codes, kind="stable"), starts


def pair_tasks(codes: np.ndarray, n_classes: int) -> list[Task]:
    """The binary tasks of rows labelled 0..k−1; rows of a task are sorted by class."""
    if n_classes == 2:
        return [Task(None, np.where(codes == 1, 1.0, -1.0), (1, 0))]
    order, starts = by_class(codes, n_classes)
    of_class = [order[a:b] for a, b in pairwise(starts.tolist())]
    n = codes.size
    signs = np.repeat([1.0, -1.0], n)  # the labels of every task are a part of these
    return [
        Task(
            np.concatenate([of_class[i], of_class[j]]),
            signs[n - of_class[i].size : n + of_class[j].size],
            (i, j),
        )
        for i, j in pairs(n_classes)
    ]


def dual_layout(
    tasks: Sequence[Task], coefs: Sequence[np.ndarray], codes: np.ndarray, n_classes: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Gather the coefficients of all tasks in LIBSVM's layout.

    Returns
    -------
    support : int32 array
        Rows with a coefficient in any task, by class, then by row.
    dual_coef : (k−1, n_support) array
    n_support : int32 array
        Support vectors of each class.
    """
    if n_classes == 2:  # coefficients of class 1 are positive
        of_class = [np.flatnonzero(coefs[0] < 0), np.flatnonzero(coefs[0] > 0)]
        support = np.concatenate(of_class).astype(np.int32)
        n_support = np.array([rows.size for rows in of_class], dtype=np.int32)
        return support, coefs[0][support][np.newaxis], n_support
    order, starts = by_class(codes, n_classes)
    full = np.zeros((n_classes - 1, codes.size))
    ends = starts.tolist()
    for task, coef in zip(tasks, coefs, strict=True):
        i, j = task.classes
        n_first = ends[i + 1] - ends[i]
        full[j - 1, ends[i] : ends[i + 1]] = coef[:n_first]
        full[i, ends[j] : ends[j + 1]] = coef[n_first:]
    columns = np.flatnonzero(full.any(axis=0))
    n_support = np.diff(np.searchsorted(columns, starts))
    return order[columns].astype(np.int32), full[:, columns], n_support.astype(np.int32)


def block_outputs(n_support: np.ndarray) -> list[tuple[int, int, np.ndarray]]:
    """For each class: its columns of the dual layout (start, stop), and the task of each row."""
    k = n_support.size
    if k == 2:  # one task, one row, all columns
        return [(0, int(n_support.sum()), np.zeros(1, dtype=np.intp))]
    stops = [0, *np.cumsum(n_support).tolist()]
    return [(*ends, tasks) for ends, tasks in zip(pairwise(stops), _tasks_of_class(k), strict=True)]


@lru_cache(maxsize=16)
def _tasks_of_class(n_classes: int) -> np.ndarray:
    """The numbers of the k−1 tasks of each class, by the other class; shape (k, k−1)."""
    number = np.zeros((n_classes, n_classes), dtype=np.intp)
    first, second = np.triu_indices(n_classes, 1)
    number[first, second] = number[second, first] = np.arange(first.size)
    number = number[~np.eye(n_classes, dtype=bool)].reshape(n_classes, n_classes - 1)
    number.flags.writeable = False
    return number


def votes(decisions: np.ndarray, n_classes: int) -> np.ndarray:
    """How many tasks each class wins, from the decision values of all tasks."""
    first_wins = decisions > 0
    return _count(first_wins, ~first_wins, n_classes)


def _count(first: np.ndarray, second: np.ndarray, n_classes: int) -> np.ndarray:
    """How many tasks count for each class: for their first class, and for their second one.

    As products with matrices of zeros and ones: float32 has the numbers of tasks exactly.
    """
    of_first, of_second = _classes_of_tasks(n_classes)
    with single_threaded_blas():
        count = first.astype(np.float32) @ of_first
        count += second.astype(np.float32) @ of_second
    return count.astype(np.int32)


@lru_cache(maxsize=16)
def _classes_of_tasks(n_classes: int, most_dense: int = 1 << 20) -> list[Any]:
    """Whether a class is the first, and whether it is the second one of a task; (tasks, k) each.

    Sparse where a dense matrix has more than ``most_dense`` entries: from some 128 classes on.
    """
    found: list[Any] = []
    for classes in np.triu_indices(n_classes, 1):
        shape, ones = (classes.size, n_classes), np.ones(classes.size, dtype=np.float32)
        if classes.size * n_classes > most_dense:
            found.append(sp.csr_matrix((ones, classes, np.arange(classes.size + 1)), shape))
        else:
            found.append(np.eye(n_classes, dtype=np.float32)[classes])
    return found


def winner_is_certain(decisions: np.ndarray, error: np.ndarray, n_classes: int) -> np.ndarray:
    """Whether the class with most votes is the same for all decision values within ± error."""
    first, second = decisions > error, decisions < -error
    sure, possible = _count(first, second, n_classes), _count(~second, ~first, n_classes)
    rows, leader = np.arange(decisions.shape[0]), np.argmax(sure, axis=1)
    most = sure[rows, leader]
    possible[rows, leader] = -1
    return most > possible.max(axis=1)


def ovr_scores(decisions: np.ndarray, n_classes: int) -> np.ndarray:
    """One score per class: its votes, ties ordered by the sum of its decision values.

    The sum s moves a score by s / (3(|s|+1)), less than a third, so it never outweighs a vote
    (scikit-learn's one-vs-rest shape).
    """
    sums = np.zeros((n_classes, decisions.shape[0]))
    for values, (i, j) in zip(np.ascontiguousarray(decisions.T), pairs(n_classes), strict=True):
        sums[i] += values
        sums[j] -= values
    total = sums.T
    # A decision value of exactly zero is a win of the first class here, of the second in `votes`
    # (and so in predict): both as in scikit-learn.
    count = votes(np.where(decisions == 0, 1.0, decisions), n_classes)
    return count + total / (3 * (np.abs(total) + 1))
