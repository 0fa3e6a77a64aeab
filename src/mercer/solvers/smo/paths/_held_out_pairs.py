"""The folds of class pairs, solved on the kernel matrix of all rows of a pair.

Held-out rows are variables whose bounds are zero: the matrix of a pair is copied once for all its
folds, and the gradient that pair steps keep is the decision value at every row. A fold starts from
the solution of all rows: the coefficients of its held-out rows are set to zero, and their sum is
given to the rows that violate the KKT conditions most.

Fast path only, as `solve_class_pairs`: a fold that is not solved is left to the general solver.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mercer._numba import compiled
from mercer.solvers._stopping import Stopping
from mercer.solvers._violation import _FAR
from mercer.solvers.smo._many_pairs import ClassPairs, copy_pair, has_pair_scale, middle
from mercer.solvers.smo._pair_update import LANE, pair_scratch, pair_steps
from mercer.solvers.smo._settings import SMOSettings

__all__ = ["held_out_pairs"]

# Each thread has several parts of the work, so that none waits long for the last one.
PARTS_PER_THREAD = 4


@compiled(inner=True)
def _leave_out(K, n, m, is_held, start, start_f, target, beta, grad, low, high):
    """β and gradient of a solution, with zeros for what is held out and the same sum of β.

    The sum is restored by the variables that violate most: the gradient is kept up to date.
    """
    missing = 0.0
    for p in range(m):
        beta[p] = start[p] if p < n else 0.0
        grad[p] = start_f[p] - target[p] if p < n else 0.0
    for q in range(n):
        if is_held[q] and beta[q] != 0.0:
            coef = beta[q]
            missing += coef
            beta[q] = 0.0
            for p in range(m):
                grad[p] -= coef * K[q, p]
    while missing != 0.0:
        best, most = -1, -_FAR
        for p in range(n):
            gain = -grad[p] if missing > 0.0 else grad[p]
            has_room = beta[p] < high[p] if missing > 0.0 else beta[p] > low[p]
            if has_room and gain > most:
                best, most = p, gain
        if best < 0:
            return
        bound = high[best] if missing > 0.0 else low[best]
        change = bound - beta[best]
        if abs(change) < abs(missing):
            beta[best] = bound
            missing -= change
        else:
            change = missing
            beta[best] += change
            missing = 0.0
        for p in range(m):
            grad[p] += change * K[best, p]


@compiled
def _solve_folds(
    K, copies, starts, classes, begins, target, lower, upper, start, start_f, folds, n_folds, tol,
    limits, unit, last, values, is_known, part, vectors, half_diag, g, moves,
):  # fmt: skip
    """Solve the folds ``unit`` to ``last`` of all pairs until the call has made its steps.

    The folds of a pair follow each other, and its variables begin at ``begins[pair]``. ``limits``
    are the steps of a fold and of the call. Without ``copies``, ``part`` is K of the only pair.
    Writes the decision values of the rows of each fold. Returns the next fold.
    """
    copied, used = -1, 0
    while unit < last and used < limits[1]:
        pair, fold = unit // n_folds, unit % n_folds
        i, j = starts[classes[pair, 0]], starts[classes[pair, 1]]
        n_first = starts[classes[pair, 0] + 1] - i
        n = n_first + starts[classes[pair, 1] + 1] - j
        m = -(-n // LANE) * LANE
        if copies and copied != pair:
            copy_pair(K, i, j, n_first, n, m, part)
            copied = pair
        begin = begins[pair]
        own = target[begin : begin + n]
        is_held = folds[begin : begin + n] == fold
        beta, grad, low, high = vectors[0, :m], vectors[1, :m], vectors[2, :m], vectors[3, :m]
        for p in range(m):
            is_kept = p < n and not is_held[p]
            low[p] = lower[begin + p] if is_kept else 0.0
            high[p] = upper[begin + p] if is_kept else 0.0
        _leave_out(
            part, n, m, is_held, start[begin : begin + n], start_f[begin : begin + n], own, beta,
            grad, low, high,
        )  # fmt: skip
        steps, left, flags = pair_steps(
            part, None, None, None, None, None, None, None, beta, grad, low, high, None, tol,
            limits[0], half_diag, g, moves,
        )  # fmt: skip
        b = middle(beta, grad, low, high, n)
        for p in range(n):
            if is_held[p]:
                values[begin + p] = grad[p] + own[p] + b
                is_known[begin + p] = left <= tol and flags == 0
        used += steps + 1
        unit += 1
    return unit


def held_out_pairs(
    given: ClassPairs,
    solutions: Sequence[tuple[np.ndarray, np.ndarray]],
    folds: np.ndarray,
    tol: float,
    stopping: Stopping,
    settings: SMOSettings | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Decision values of every row of every pair under the solution without its fold.

    Parameters
    ----------
    given : ClassPairs
        A single pair is all rows of the Gram, in any order.
    solutions : sequence of (β, Kβ)
        Those of the problems, or zeros.
    folds : int array
        The fold of each variable, those of all pairs one after the other, from 0 on.

    Returns
    -------
    values : float64 array
        f + b, one for each variable.
    is_known : bool array
        False where the general solver is needed, or the fit was stopped.
    """
    settings = settings or SMOSettings()
    values, is_known = np.zeros(folds.size), np.zeros(folds.size, bool)
    pairs, gram, side = given.pairs, given.gram, given.side
    copies = len(pairs) > 1
    K = gram.matrix(None if copies else side, lasting=False)
    if not has_pair_scale(K, settings):
        return values, is_known
    begins, n_folds = np.cumsum([0, *given.sizes[:-1]]), int(folds.max(initial=-1)) + 1
    start, start_f = (np.concatenate(parts) for parts in zip(*solutions, strict=True))
    data = K, copies, given.starts, pairs, begins, *given.box, start, start_f, folds, n_folds, tol
    limits = np.array([settings.steps_per_pair, settings.steps_per_call])
    n_units, threads = len(pairs) * n_folds, gram.workers.n_threads
    n_parts = min(n_units, PARTS_PER_THREAD * threads) if threads > 1 else 1
    cuts = [k * n_units // n_parts for k in range(n_parts + 1)]

    def one(k: int) -> None:
        part = np.empty((side, side)) if copies else K
        scratch = part, np.empty((4, side)), *pair_scratch(side, K.dtype)
        unit, last = cuts[k], cuts[k + 1]
        while unit < last and stopping.stopped is None:
            unit = int(_solve_folds(*data, limits, unit, last, values, is_known, *scratch))

    gram.workers.map(one, range(n_parts))
    return values, is_known
