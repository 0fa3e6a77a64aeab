"""Probabilities from decision values: Platt's sigmoid on held-out folds, and pairwise coupling.

    p(class i | f) = 1 / (1 + exp(A f + B)),   f the decision value of pair (i, j)

A and B minimise the cross-entropy to Platt's smoothed targets (Platt 1999) by Newton's method with
backtracking (Lin, Lin and Weng, Machine Learning 68, 2007, Algorithm 1). The decision values come
from five-fold cross-validation: those of the training rows themselves would be too confident.
A > 0 would reverse the order of the decision values, so A ≤ 0 is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from mercer._multiclass import Task, pairs
from mercer._threads import Workers, single_threaded_blas, thread_count
from mercer.gram import BlockedGram

__all__ = ["couple", "fit_sigmoid", "fit_sigmoids", "sigmoid"]

FOLDS = 5
# Newton steps, smallest ridge and step length as in Lin, Lin and Weng.
MAX_STEPS = 100
RIDGE = 1e-12
SHORTEST_STEP = 1e-10
# Pairwise probabilities of 0 or 1 would make the coupling singular (LIBSVM's bound).
LEAST = 1e-7
# Rows coupled in one go: a few k × k matrices each.
ROWS_AT_ONCE = 2048


def sigmoid(f: np.ndarray, A: float | np.ndarray, B: float | np.ndarray) -> np.ndarray:
    """1 / (1 + exp(A f + B)) without overflow."""
    z = A * f + B
    e = np.exp(-np.abs(z))
    return np.where(z >= 0, e, 1.0) / (1.0 + e)


def fit_sigmoid(
    f: np.ndarray, is_positive: np.ndarray, weight: np.ndarray | None = None
) -> tuple[float, float]:
    """A ≤ 0 and B of the sigmoid that fits decision values to labels."""
    w = np.ones(f.size) if weight is None else weight
    n_positive, n_negative = w[is_positive].sum(), w[~is_positive].sum()
    t = np.where(is_positive, (n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2))
    A, B = 0.0, float(np.log((n_negative + 1) / (n_positive + 1)))
    prior = B

    def loss(A: float, B: float) -> float:
        z = A * f + B
        return float(w @ (t * z + np.logaddexp(0.0, -z)))

    value = loss(A, B)
    for _ in range(MAX_STEPS):
        p = sigmoid(f, A, B)
        slope = w * (t - p)
        g = np.array([slope @ f, slope.sum()])
        if np.abs(g).max() < 1e-5:
            break
        curvature = w * p * (1 - p)
        H = np.array(
            [[curvature @ (f * f) + RIDGE, curvature @ f], [curvature @ f, curvature.sum() + RIDGE]]
        )
        dA, dB = -np.linalg.solve(H, g)
        slope_along, step = g[0] * dA + g[1] * dB, 1.0
        while step >= SHORTEST_STEP:
            new = loss(A + step * dA, B + step * dB)
            if new < value + 1e-4 * step * slope_along:
                break
            step /= 2
        else:
            break
        A, B, value = A + step * dA, B + step * dB, new
    return (float(A), float(B)) if A <= 0 else (0.0, prior)


def fit_sigmoids(
    tasks: Sequence[Task],
    gram: BlockedGram,
    weight: np.ndarray | None,
    fit_part: Callable[[Task, np.ndarray], tuple[np.ndarray, float]],
    rng: np.random.RandomState,
    flip: float,
    n_jobs: int | None,
) -> tuple[np.ndarray, np.ndarray]:
    """A and B of every task.

    ``fit_part(task, rows)`` fits a task on some of its rows; ``flip`` = −1 turns the sign of tasks
    whose positive class is the second one.
    """
    folds = [_folds(task.y, rng) for task in tasks]

    def one(t: int) -> tuple[float, float]:
        task = tasks[t]
        values = np.empty(task.y.size)
        for fold in range(FOLDS):
            held_out = np.flatnonzero(folds[t] == fold)
            if held_out.size:
                values[held_out] = _held_out_values(
                    task, gram, np.flatnonzero(folds[t] != fold), held_out, fit_part
                )
        w = None if weight is None else task.of_rows(weight)
        return fit_sigmoid(flip * values, flip * task.y > 0, w)

    with single_threaded_blas(), Workers(thread_count(n_jobs)) as workers:
        fitted = np.array(workers.map(one, range(len(tasks))))
    return fitted[:, 0], fitted[:, 1]


def _folds(y: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
    """The fold of each row: both classes spread evenly, in random order."""
    fold = np.empty(y.size, dtype=np.intp)
    for side in (y > 0, y <= 0):
        rows = np.flatnonzero(side)
        fold[rng.permutation(rows)] = np.arange(rows.size) % FOLDS
    return fold


def _held_out_values(
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


def couple(p: np.ndarray, n_classes: int) -> np.ndarray:
    """One distribution from pairwise probabilities p(i | i or j), row by row.

    Minimises Σ_{i≠j} (p_ji x_i − p_ij x_j)² over the simplex (Wu, Lin and Weng, JMLR 5, 2004,
    second approach): a linear system for each row.
    """
    n, k = p.shape[0], n_classes
    if n > ROWS_AT_ONCE:
        parts = (p[i : i + ROWS_AT_ONCE] for i in range(0, n, ROWS_AT_ONCE))
        return np.concatenate([couple(part, k) for part in parts])
    r = np.zeros((n, k, k))
    p = np.clip(p, LEAST, 1 - LEAST)
    for t, (i, j) in enumerate(pairs(k)):
        r[:, i, j] = p[:, t]
        r[:, j, i] = 1 - p[:, t]
    system = np.zeros((n, k + 1, k + 1))
    system[:, :k, :k] = -np.swapaxes(r, 1, 2) * r
    diagonal = np.arange(k)
    system[:, diagonal, diagonal] = (r**2).sum(axis=1)
    system[:, :k, k] = system[:, k, :k] = 1.0
    right = np.zeros((n, k + 1, 1))
    right[:, k] = 1.0
    x = np.clip(np.linalg.solve(system, right)[:, :k, 0], 0.0, None)
    return x / x.sum(axis=1, keepdims=True)
