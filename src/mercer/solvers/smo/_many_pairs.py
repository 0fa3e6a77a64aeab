"""Many small problems in compiled calls: the class pairs of a small multiclass data set.

Ten classes are 45 problems of perhaps twenty points, each solved in microseconds: what lies
between two of them must take no longer. K of all points is computed once, sorted by class; each
pair of classes copies its part into whole lanes and is solved there (`_pairs`). f = Kβ is then
computed from scratch, with a bound on its error. A call makes at most STEPS_PER_CALL steps, then
the limits are asked.

Fast path only: a pair that is not solved (its violation above tol in the worst case, a step limit,
negative curvature, an infinite bound) is left to the general solver.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from mercer._numba import compiled
from mercer._result import Result, Status
from mercer._threads import single_threaded_blas
from mercer.gram import BlockedGram
from mercer.gram._sum_error import SumError
from mercer.problems._dual_qp import BoxQP
from mercer.solvers._stopping import Stopping
from mercer.solvers.smo._dense import MOST_SCALE
from mercer.solvers.smo._pair_update import LANE, solve_pairs

__all__ = ["solve_class_pairs"]

_FAR = 1e300
# Steps of one pair before it is left to the general solver, and of one compiled call.
STEPS_PER_PAIR = 10_000
STEPS_PER_CALL = 50_000


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
def _fresh_sums(part, beta, weight, n, f, bound):
    """f = Kβ, and the weighted sums of its error bound (`SumError`)."""
    for p in range(n):
        total, error = 0.0, 0.0
        for q in range(n):
            total += part[p, q] * beta[q]
            error += abs(part[p, q]) * weight[q]
        f[p] = total
        bound[p] = error


@compiled
def _solve_some(
    K, starts, classes, target, lower, upper, scale, tol, first, begin, beta, f, bound, numbers,
    counts,
):  # fmt: skip
    """Pairs from ``first`` on, one after the other, until the steps of a call are spent.

    The variables of each follow those of the one before. Writes beta, f, bound, a row of numbers
    (b, its interval) and one of counts (steps, flags). Returns the next pair and where it begins.
    """
    pair, used = first, 0
    while pair < classes.shape[0] and used < STEPS_PER_CALL:
        i, j = classes[pair, 0], classes[pair, 1]
        n_first = starts[i + 1] - starts[i]
        n = n_first + starts[j + 1] - starts[j]
        part = _part(K, starts[i], starts[j], n_first, n)
        m = part.shape[0]
        own_beta, grad, low, high = np.zeros(m), np.zeros(m), np.zeros(m), np.zeros(m)
        for p in range(n):
            grad[p] = -target[begin + p]
            low[p] = lower[begin + p]
            high[p] = upper[begin + p]
        steps, _, flags = solve_pairs(
            part, own_beta, grad, low, high, m // LANE, tol, STEPS_PER_PAIR
        )
        weight = np.zeros(m)
        for p in range(n):
            beta[begin + p] = own_beta[p]
            row = starts[i] + p if p < n_first else starts[j] + p - n_first
            weight[p] = abs(own_beta[p]) * scale[row]
        _fresh_sums(part, own_beta, weight, n, f[begin : begin + n], bound[begin : begin + n])
        b, top, bottom = _intercept(target, f, beta, lower, upper, begin, begin + n)
        numbers[pair, 0], numbers[pair, 1], numbers[pair, 2] = b, top, bottom
        counts[pair, 0], counts[pair, 1] = steps, flags
        begin += n
        used += steps + 1
        pair += 1
    return pair, begin


def solve_class_pairs(
    problems: Sequence[BoxQP],
    gram: BlockedGram,
    starts: np.ndarray,
    classes: Sequence[tuple[int, int]],
    tol: float,
    stopping: Stopping,
) -> list[Result | None]:
    """Solve the problems of all pairs of classes, each with one group and a start of zero.

    Parameters
    ----------
    problems : one for each pair
    gram : BlockedGram
        Of all points, sorted by class.
    starts : int64 array
        Where each class starts, and the end of the last.
    classes : the pairs

    Returns
    -------
    results : None where the general solver has to be asked
    """
    began = time.perf_counter()
    target, lower, upper = (
        np.concatenate([getattr(problem, name) for problem in problems])
        for name in ("target", "lower", "upper")
    )
    beta, f, bound = np.zeros(target.size), np.zeros(target.size), np.zeros(target.size)
    numbers, counts = np.empty((len(problems), 3)), np.empty((len(problems), 2), np.int64)
    with single_threaded_blas():
        K = gram.matrix(lasting=False)
    largest = float(K.diagonal().max(initial=0.0))
    if not 1 / MOST_SCALE <= largest <= MOST_SCALE:
        return [None] * len(problems)
    of_class = [np.arange(a, b) for a, b in pairwise(starts.tolist())]
    diag = K.diagonal() * (1 + 1e-6)
    error = gram.sum_error(np.float64)
    scale = error.weight(np.ones(gram.n))
    pairs = np.array(classes, dtype=np.int64).reshape(-1, 2)
    done = begin = 0
    while done < len(problems) and stopping.stopped is None:
        done, begin = map(int, _solve_some(
            K, starts, pairs, target, lower, upper, scale, tol, done, begin, beta, f, bound,
            numbers, counts,
        ))  # fmt: skip
    seconds = (time.perf_counter() - began) / max(done, 1)
    ends = np.cumsum([0, *(problem.n_variables for problem in problems[:done])])
    if done == 0:
        return [None] * len(problems)
    rows = np.concatenate([part for i, j in classes[:done] for part in (of_class[i], of_class[j])])
    known = slice(0, int(ends[-1]))
    f_error = _errors(error, rows, ends, beta[known], bound[known])
    violation = _violations(
        target[known] - f[known], f_error, beta[known], lower[known], upper[known], ends[:-1]
    )
    results: list[Result | None] = [None] * len(problems)
    for t in range(done):
        if not violation[t] <= tol or counts[t, 1]:
            continue
        own = slice(int(ends[t]), int(ends[t + 1]))
        results[t] = Result(
            beta[own], f[own], f_error[own], numbers[t, :1], numbers[t : t + 1, 1:3],
            float(violation[t]), Status.SOLVED, int(counts[t, 0]), 1, seconds, diag[rows[own]],
        )  # fmt: skip
    return results


def _errors(
    error: SumError, rows: np.ndarray, ends: np.ndarray, beta: np.ndarray, bound: np.ndarray
) -> np.ndarray:
    """The bound of `SumError` for all pairs at once."""
    sizes = np.diff(ends)
    out = bound * error.factor[rows]
    size = np.abs(beta)
    for p, q in error.rows.pairs:
        for mine, other in ((p, q), (q, p)):
            sums = np.add.reduceat(size * other[rows], ends[:-1])
            out += mine[rows] * np.repeat(sums, sizes) * (1 + 1e-6)
    return out


def _violations(
    v: np.ndarray,
    error: np.ndarray,
    beta: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    begins: np.ndarray,
) -> np.ndarray:
    """The largest violating pair of each problem, f within its error."""
    top = np.maximum.reduceat(np.where(beta < upper, v + error, -_FAR), begins)
    bottom = np.minimum.reduceat(np.where(beta > lower, v - error, _FAR), begins)
    return np.maximum(top - bottom, 0.0)
