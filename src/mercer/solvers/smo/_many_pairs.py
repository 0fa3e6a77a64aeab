"""All class pairs of a small multiclass data set in a few compiled calls.

Ten classes are 45 problems of perhaps twenty points, each solved in microseconds, so that the
overhead per problem must be as small. K of all points is computed once, sorted by class. The block
of each pair of classes is copied, aligned to lanes, and solved by pair steps (`_pair_update`),
which go on with a smaller tolerance where the gap is large (`SMOSettings.reduced_tol`). f = Kβ is
then recomputed with a bound on its error. A call makes at most `SMOSettings.steps_per_call` steps;
after it the limits are checked.

Fast path only: a pair that is not solved (its violation above tol in the worst case, a step limit,
negative curvature, an infinite bound) is left to the general solver.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from mercer._numba import compiled, larger, smaller
from mercer._result import Result, Status
from mercer.gram import BlockedGram
from mercer.gram._sum_error import SumError
from mercer.problems._dual_qp import BoxQP
from mercer.problems._kkt import AT_BOUND
from mercer.solvers._stopping import Stopping
from mercer.solvers._violation import _FAR, segment_violations
from mercer.solvers.smo._pair_update import LANE, estimated_gap, pair_scratch, pair_steps
from mercer.solvers.smo._settings import SMOSettings

__all__ = ["ClassPairs", "copy_pair", "has_pair_scale", "middle", "solve_class_pairs"]


@dataclass(frozen=True, eq=False)
class ClassPairs:
    """The problems of pairs of classes, each with one group and a start of zero.

    Attributes
    ----------
    problems : one for each pair
    gram : BlockedGram
        Of all points, sorted by class.
    starts : int64 array
        Where each class starts, and the end of the last.
    classes : the pairs
    """

    problems: Sequence[BoxQP]
    gram: BlockedGram
    starts: np.ndarray
    classes: Sequence[tuple[int, int]]

    @cached_property
    def pairs(self) -> np.ndarray:
        return np.array(self.classes, dtype=np.int64).reshape(-1, 2)

    @cached_property
    def sizes(self) -> np.ndarray:
        """Variables of each pair."""
        return np.diff(self.starts)[self.pairs].sum(axis=1)

    @property
    def side(self) -> int:
        """Variables of the largest pair, in lanes."""
        return -(-int(self.sizes.max(initial=0)) // LANE) * LANE

    @cached_property
    def box(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Target, lower and upper of all problems, one after the other."""
        target, lower, upper = (
            np.concatenate([getattr(problem, name) for problem in self.problems])
            for name in ("target", "lower", "upper")
        )
        return target, lower, upper


@compiled(inner=True)
def copy_pair(K, i, j, n_first, n, m, part):
    """Into ``part``: K of a pair of classes, whose rows begin at i and j; padding is zero."""
    for p in range(m):
        row = i + p if p < n_first else j + p - n_first
        for q in range(m):
            column = i + q if q < n_first else j + q - n_first
            part[p, q] = K[row, column] if p < n and q < n else 0.0


@compiled(inner=True)
def middle(beta, grad, low, high, n):
    """The mean of −gradient over free variables, or else the middle of the bias interval.

    Free are those whose distance from their bounds is more than rounding (`movable`).
    """
    top, bottom, total, n_free = -_FAR, _FAR, 0.0, 0
    for p in range(n):
        box = high[p] - low[p]
        near = AT_BOUND * box if box < np.inf else 0.0
        rises, falls = beta[p] < high[p] - near, beta[p] > low[p] + near
        if rises:
            top = larger(top, -grad[p])
        if falls:
            bottom = smaller(bottom, -grad[p])
        if rises and falls:
            total -= grad[p]
            n_free += 1
    return total / n_free if n_free > 0 else (top + bottom) / 2


@compiled
def _solve_some(
    K, starts, classes, target, lower, upper, scale, tols, limits, first, begin, beta, f, bound,
    b, counts, part, vectors, half_diag, g, moves,
):  # fmt: skip
    """Solve pairs from ``first`` on until the call has made its number of steps.

    ``limits`` are the steps of a pair and of the call; ``tols`` the tolerance, the least one, and
    the relative gap above which it is reduced. The variables of a pair follow those of the one
    before. Writes beta, f, bound, the intercept b and a row of counts (steps, flags). Returns the
    next pair and where its variables begin. ``part`` (for K of a pair), ``vectors`` (six) and the
    scratch of `pair_steps` have the size of the largest pair, in lanes.
    """
    pair, used = first, 0
    while pair < classes.shape[0] and used < limits[1]:
        i, j = starts[classes[pair, 0]], starts[classes[pair, 1]]
        n_first = starts[classes[pair, 0] + 1] - i
        n = n_first + starts[classes[pair, 1] + 1] - j
        m = -(-n // LANE) * LANE
        own_beta, grad, weight = vectors[0, :m], vectors[1, :m], vectors[2, :m]
        low, high, own_target = vectors[3, :m], vectors[4, :m], vectors[5, :m]
        copy_pair(K, i, j, n_first, n, m, part)
        for p in range(m):
            own_beta[p] = 0.0
            own_target[p] = target[begin + p] if p < n else 0.0
            grad[p] = -own_target[p]
            low[p] = lower[begin + p] if p < n else 0.0
            high[p] = upper[begin + p] if p < n else 0.0
        tol, steps, flags, has_ended = tols[0], 0, 0, False
        while not has_ended:
            more, left, met = pair_steps(
                part, None, None, None, None, None, None, None, own_beta, grad, low, high, None,
                tol, limits[0] - steps, half_diag, g, moves,
            )  # fmt: skip
            steps += more
            flags |= met
            has_ended = left > tol or tol <= tols[1]
            if not has_ended:
                gap = estimated_gap(own_beta, grad, own_target, low, high, None, m, True)
                has_ended = not gap > tols[2]
                tol = larger(tol * smaller(0.5, tols[2] / gap), tols[1])
        for p in range(n):
            beta[begin + p] = own_beta[p]
            weight[p] = abs(own_beta[p]) * scale[i + p if p < n_first else j + p - n_first]
        for p in range(n):  # f = Kβ with the weighted sums of its error bound (`SumError`)
            sum_f, error = 0.0, 0.0
            for q in range(n):
                sum_f += part[p, q] * own_beta[q]
                error += abs(part[p, q]) * weight[q]
            f[begin + p] = sum_f
            bound[begin + p] = error
            grad[p] = sum_f - target[begin + p]
        b[pair] = middle(own_beta, grad, low, high, n)
        counts[pair, 0], counts[pair, 1] = steps, flags
        begin += n
        used += steps + 1
        pair += 1
    return pair, begin


@dataclass(frozen=True, eq=False)
class _Solved:
    """What `_solve_some` wrote for the pairs that it came to."""

    beta: np.ndarray
    f: np.ndarray
    bound: np.ndarray
    b: np.ndarray
    steps: np.ndarray
    is_regular: np.ndarray  # neither too many steps nor negative curvature
    ends: np.ndarray  # of the variables of each pair, after a zero

    @property
    def size(self) -> int:
        return self.ends.size - 1


def _solve(
    given: ClassPairs,
    K: np.ndarray,
    scale: np.ndarray,
    tols: np.ndarray,
    stopping: Stopping,
    settings: SMOSettings,
) -> _Solved:
    """Pair steps for the problems of all pairs."""
    n_pairs, side = len(given.pairs), given.side
    beta, f, bound = np.zeros((3, given.box[0].size))
    b, counts = np.empty(n_pairs), np.empty((n_pairs, 2), np.int64)
    scratch = np.empty((side, side)), np.empty((6, side)), *pair_scratch(side, K.dtype)
    data = K, given.starts, given.pairs, *given.box, scale, tols
    limits = np.array([settings.steps_per_pair, settings.steps_per_call])
    out, done, begin = (beta, f, bound, b, counts, *scratch), 0, 0
    while done < n_pairs and stopping.stopped is None:
        done, begin = map(int, _solve_some(*data, limits, done, begin, *out))
    ends = np.concatenate([[0], np.cumsum(given.sizes[:done])])
    known, counts = slice(0, int(ends[-1])), counts[:done]
    return _Solved(
        beta[known], f[known], bound[known], b[:done], counts[:, 0], counts[:, 1] == 0, ends
    )


def has_pair_scale(K: np.ndarray, settings: SMOSettings) -> bool:
    """Whether the kernel values are neither too large nor too small for pair steps."""
    largest = float(K.diagonal().max(initial=0.0))
    return 1 / settings.max_scale <= largest <= settings.max_scale


def solve_class_pairs(
    given: ClassPairs, tol: float, stopping: Stopping, settings: SMOSettings | None = None
) -> list[Result | None]:
    """The results of all pairs; None where the general solver is needed."""
    began, settings, gram = time.perf_counter(), settings or SMOSettings(), given.gram
    results: list[Result | None] = [None] * len(given.problems)
    K = gram.matrix(lasting=False)
    if not has_pair_scale(K, settings):
        return results
    error = gram.sum_error(np.float64)
    tols = np.array([tol, settings.least_tol_factor * tol, settings.small_gap])
    found = _solve(given, K, error.weight(np.ones(gram.n)), tols, stopping, settings)
    if found.size == 0:
        return results
    seconds, ends = (time.perf_counter() - began) / found.size, found.ends
    of_class = [np.arange(first, last) for first, last in pairwise(given.starts.tolist())]
    rows = np.concatenate(
        [part for i, j in given.classes[: found.size] for part in (of_class[i], of_class[j])]
    )
    f_error = _errors(error, rows, ends, found.beta, found.bound)
    target, lower, upper = (values[: int(ends[-1])] for values in given.box)
    violation = segment_violations(target - found.f, f_error, found.beta, lower, upper, ends[:-1])
    diag = K.diagonal()[rows] * (1 + 1e-6)
    for t in np.flatnonzero((violation <= tol) & found.is_regular).tolist():
        own = slice(int(ends[t]), int(ends[t + 1]))
        results[t] = Result(
            beta=found.beta[own], f=found.f[own], f_error=f_error[own], b=found.b[t : t + 1],
            violation=float(violation[t]), status=Status.SOLVED, iterations=int(found.steps[t]),
            rounds=1, seconds=seconds, diag=diag[own],
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
