"""Many small problems in one compiled call: the class pairs of a small multiclass data set.

Ten classes are 45 problems of perhaps twenty points, each solved in microseconds: the way from one
to the next must take no longer. K of all points is computed once, sorted by class; each pair of
classes copies its part into whole lanes and is solved there (`_pairs`).

Only what is solved without ado is solved here. A pair that meets a limit, negative curvature or
infinite bounds is left to the general solver.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from mercer._compiled import compiled
from mercer._threads import single_threaded_blas
from mercer.gram import Gram
from mercer.problems.boxqp import BoxQP
from mercer.result import Result, Status
from mercer.solvers._pairs import LANE, solve_pairs
from mercer.solvers.direct import EXACT_STEPS, EXACT_TOL

__all__ = ["solve_class_pairs"]

_FAR = 1e300


@compiled
def _part(K, first, second, n_first, n):
    """K of the rows of two classes, which start at ``first`` and ``second``, in whole lanes."""
    m = -(-n // LANE) * LANE
    part = np.zeros((m, m))
    for p in range(n):
        row = first + p if p < n_first else second + p - n_first
        for q in range(n_first):
            part[p, q] = K[row, first + q]
        for q in range(n_first, n):
            part[p, q] = K[row, second + q - n_first]
    return part


@compiled
def _intercept(target, f, beta, lower, upper, begin, end):
    """b and its interval: b is the mean of target − f on free variables, or else the middle."""
    top, bottom, total, n_free = -_FAR, _FAR, 0.0, 0
    for p in range(begin, end):
        v = target[p] - f[p]
        rises, falls = beta[p] < upper[p], beta[p] > lower[p]
        if rises:
            top = max(top, v)
        if falls:
            bottom = min(bottom, v)
        if rises and falls:
            total += v
            n_free += 1
    return total / n_free if n_free > 0 else (top + bottom) / 2, top, bottom


@compiled
def _solve_all(K, starts, target, lower, upper, tol, max_steps, beta, f, numbers, counts):
    """All pairs one after the other; the variables of each follow those of the one before.

    Writes beta, f, a row of numbers (b, its interval, violation) and one of counts (steps, flags).
    """
    pair, begin = 0, np.int64(0)  # a literal would be compiled as a type of its own
    for i in range(starts.size - 1):
        for j in range(i + 1, starts.size - 1):
            n_first = starts[i + 1] - starts[i]
            n = n_first + starts[j + 1] - starts[j]
            part = _part(K, starts[i], starts[j], n_first, n)
            m = part.shape[0]
            own_beta, grad, low, high = np.zeros(m), np.zeros(m), np.zeros(m), np.zeros(m)
            for p in range(n):
                grad[p] = -target[begin + p]
                low[p] = lower[begin + p]
                high[p] = upper[begin + p]
            steps, violation, flags = solve_pairs(
                part, own_beta, grad, low, high, m // LANE, tol, max_steps
            )
            for p in range(n):
                beta[begin + p] = own_beta[p]
                f[begin + p] = grad[p] + target[begin + p]
            b, top, bottom = _intercept(target, f, beta, lower, upper, begin, begin + n)
            numbers[pair, 0], numbers[pair, 1], numbers[pair, 2] = b, top, bottom
            numbers[pair, 3] = violation
            counts[pair, 0], counts[pair, 1] = steps, flags
            begin += n
            pair += 1


def solve_class_pairs(
    problems: Sequence[BoxQP], gram: Gram, starts: np.ndarray, tol: float
) -> list[Result | None]:
    """Solve the problems of all pairs of classes, each with one group and a start of zero.

    Parameters
    ----------
    problems : in the order of `mercer.multiclass.pairs`
    gram : Gram
        Of all points, sorted by class.
    starts : int64 array
        Where each class starts, and the end of the last.

    Returns
    -------
    results : None where the general solver has to be asked
    """
    if tol < EXACT_TOL:
        return [None] * len(problems)
    began = time.perf_counter()
    target, lower, upper = (
        np.concatenate([getattr(problem, name) for problem in problems])
        for name in ("target", "lower", "upper")
    )
    beta, f = np.empty(target.size), np.empty(target.size)
    numbers, counts = np.empty((len(problems), 4)), np.empty((len(problems), 2), np.int64)
    with single_threaded_blas():
        K = gram.matrix(lasting=False)
    _solve_all(K, starts, target, lower, upper, tol, EXACT_STEPS, beta, f, numbers, counts)
    seconds = (time.perf_counter() - began) / len(problems)
    b, interval = numbers[:, :1], numbers[:, np.newaxis, 1:3]
    results: list[Result | None] = []
    begin = 0
    for t, (violation, (steps, flags)) in enumerate(
        zip(numbers[:, 3].tolist(), counts.tolist(), strict=True)
    ):
        own = slice(begin, begin + problems[t].n_variables)
        begin = own.stop
        if violation > tol or flags:
            results.append(None)
            continue
        results.append(
            Result(
                beta[own], f[own], 0.0, b[t], interval[t], violation, Status.SOLVED, steps, 1,
                seconds,
            )
        )  # fmt: skip
    return results
