"""The optimality conditions of a box QP: group sums, intercepts, violation.

With v = target − f[row], the KKT conditions of a group hold with the multiplier b if v ≤ b where
β < upper and v ≥ b where β > lower: the *bias interval* of b lies between the largest v that may
rise and the smallest that may fall; its length, if negative, is the violation (Keerthi et al.,
Neural Computation 13, 2001). Reads β and f; only `restore_sums` changes β.
"""

from __future__ import annotations

import math

import numpy as np

from mercer.problems._dual_qp import BoxQP, gap_terms

__all__ = ["intercepts", "movable", "restore_sums"]

# Stands for "no such variable".
FAR = np.finfo(np.float64).max
# A variable this close to a bound, relative to its box, is at it: the rounding of a sum of duals.
AT_BOUND = 1e-12


def movable(problem: BoxQP, beta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Which variables may rise and which may fall by more than the rounding of their bounds.

    Where all duals are at their bounds (small C with balanced weights, say), the group's sum leaves
    one of them off by rounding. It must not decide where in its interval the intercept is.
    """
    box = problem.upper - problem.lower
    near = AT_BOUND * (box if problem.is_finite else np.where(np.isfinite(box), box, 0.0))
    return beta < problem.upper - near, beta > problem.lower + near


def restore_sums(problem: BoxQP, beta: np.ndarray) -> dict[int, float]:
    """Move the rounding of each group's sum onto its variable with the most room, in place.

    Returns the variables that were changed, and by how much.
    """
    changed = {}
    for g, drift in enumerate(problem.drift(beta)):
        if drift == 0:
            continue
        members = np.flatnonzero(problem.group == g)
        room = np.minimum(beta - problem.lower, problem.upper - beta)[members]
        k = int(members[np.argmax(room)])
        before = beta[k]
        beta[k] = min(max(before + drift, problem.lower[k]), problem.upper[k])
        changed[k] = float(beta[k] - before)
    return changed


def intercepts(
    problem: BoxQP, beta: np.ndarray, f: np.ndarray, f_error: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray, float]:
    """The multiplier of each group, the interval KKT leaves it, and the largest violation.

    On free variables target − f equals b: their mean, where there are any; else, or where that
    leaves a smaller gap, the middle of the interval between the largest that may rise and the
    smallest that may fall (`movable`). The violation is an upper bound: f may be off by
    ``f_error``, and where that is infinite f counts for nothing else.
    """
    v = problem.target - problem.at_variables(f)
    above, below, known = v, v, True
    if f_error is not None:
        error = problem.at_variables(f_error)
        above, below, known = v + error, v - error, np.isfinite(error)
    rises, falls = beta < problem.upper, beta > problem.lower
    if problem.n_groups == 0:  # zero stands in as a partner of every variable
        top, bottom = above[rises].max(initial=0.0), below[falls].min(initial=0.0)
        return np.zeros(0), np.empty((0, 2)), float(top - bottom)
    b, interval, violation = np.zeros(problem.n_groups), np.empty((problem.n_groups, 2)), 0.0
    may_rise, may_fall = movable(problem, beta)
    for g in range(problem.n_groups):
        own = True if problem.n_groups == 1 else problem.group == g
        up, down = rises & own, falls & own
        most = above[up].max(initial=-FAR) - below[down].min(initial=FAR)
        violation = float(np.maximum(violation, most))
        up, down = may_rise & own & known, may_fall & own & known
        low, high = float(v[up].max(initial=-np.inf)), float(v[down].min(initial=np.inf))
        interval[g] = low, high
        ends = [end for end in (low, high) if math.isfinite(end)]
        middle = sum(ends) / max(len(ends), 1)
        free = v[up & down]
        b[g] = free.mean() if free.size else middle
        is_box = problem.is_finite and problem.diag is None
        if free.size and problem.n_groups == 1 and len(ends) == 2 and is_box:
            r = v - np.array([[b[g]], [middle]])
            of_mean, of_middle = gap_terms(beta, r, problem.lower, problem.upper).sum(axis=1)
            b[g] = middle if of_middle < of_mean else b[g]
    return b, interval, violation
