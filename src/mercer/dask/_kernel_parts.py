"""What workers compute for kernel machines that are solved exactly, by parts.

The rows of the *joint* problem lie on one worker, which solves it with the solver of the estimator
in memory; all other rows have β = 0. Every worker evaluates that model at its rows, with bounds of
the rounding, and returns the terms of the certificate of the whole problem and the rows that
violate it most, which join the next joint problem.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from mercer._multiclass import pair_tasks
from mercer._precision import EPS
from mercer._threads import single_threaded_blas
from mercer.certificates._box_qp import _sum_rounding
from mercer.certificates._certificate import ROUNDING
from mercer.dask._chunk import Chunk
from mercer.exceptions import silent_thread
from mercer.gram import BlockedGram
from mercer.gram._bounded_products import bounded_columns
from mercer.kernels._binding import bind_samples
from mercer.problems import BoxQP, one_class, svc, svr

__all__ = [
    "JointModel", "Moments", "PassReply", "TaskTerms", "add_passes", "chunk_moments",
    "evaluate_joint", "solve_joint", "solve_part",
]  # fmt: skip

# Rows evaluated at a time.
_ROWS_AT_ONCE = 8192


@dataclass(frozen=True)
class Moments:
    """Weight, mean and sum of squared deviations of all numbers of some rows."""

    weight: float = 0.0
    mean: float = 0.0
    square: float = 0.0

    def plus(self, other: Moments) -> Moments:
        """Of both (Chan, Golub and LeVeque)."""
        total = self.weight + other.weight
        if total == 0:
            return self
        apart = other.mean - self.mean
        mean = self.mean + apart * other.weight / total
        square = self.square + other.square + apart**2 * self.weight * other.weight / total
        return Moments(total, mean, square)

    @property
    def variance(self) -> float:
        return self.square / self.weight if self.weight else 0.0


def chunk_moments(chunk: Chunk) -> Moments:
    """For γ = "scale": as `mercer.SVC` has it, rows counted by their weight."""
    if chunk.n == 0:
        return Moments()
    weight = np.ones(chunk.n) if chunk.weight is None else chunk.weight
    total = float(weight.sum()) * chunk.d
    row_sums = np.asarray(chunk.X.sum(axis=1), dtype=np.float64).ravel()
    mean = float(weight @ row_sums) / total
    if sp.issparse(chunk.X):
        squares = np.asarray(chunk.X.multiply(chunk.X).sum(axis=1), np.float64).ravel()
        square = float(weight @ squares) - total * mean**2
    else:
        square = float(weight @ np.square(chunk.X - mean, dtype=np.float64).sum(axis=1))
    return Moments(total, mean, max(square, 0.0))


def _fitted(estimator: Any, chunk: Chunk, **parameters: Any) -> Any:
    """A fit whose warnings are the distributed one's business."""
    model = clone(estimator).set_params(**parameters)
    y = np.ones(chunk.n) if chunk.y is None else chunk.y
    with silent_thread():
        return model.fit(chunk.X, y, chunk.weight)


def solve_part(chunk: Chunk, estimator: Any, k: int, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Support vectors of the chunk alone at C·k, and their duals divided by k.

    These are feasible in the whole problem. A one-class part has its own sum of duals, undivided.
    Of several classes, of a chunk of one class, and where there are none, only rows are returned;
    of more than ``most`` support vectors those with the largest duals.
    """
    nothing = np.zeros(0, np.int64), np.zeros(0)
    if chunk.n == 0:
        return nothing
    if hasattr(estimator, "class_weight") and np.unique(chunk.y).size < 2:
        return np.arange(min(chunk.n, most, 64)), np.zeros(min(chunk.n, most, 64))
    is_one_class = hasattr(estimator, "nu")
    with single_threaded_blas():
        model = _fitted(estimator, chunk, **({} if is_one_class else {"C": k * estimator.C}))
    duals = model.dual_coef_.toarray() if sp.issparse(model.dual_coef_) else model.dual_coef_
    size = np.abs(duals).max(axis=0)
    values = duals[0] if is_one_class else duals[0] / k
    values = values if duals.shape[0] == 1 else np.zeros(size.size)
    chosen = np.argsort(-size, kind="stable")[:most]
    if not size.size:  # a regression whose targets are all within ε of a constant
        return np.zeros(1, np.int64), np.zeros(1)
    order = chosen[np.argsort(model.support_[chosen])]
    return model.support_[order].astype(np.int64), values[order]


@dataclass(frozen=True, eq=False)
class JointModel:
    """The model of the joint rows: coefficients (joint rows × tasks), intercepts, drifts of Σβ."""

    model: Any
    kernel: Any
    coef: np.ndarray
    b: np.ndarray
    drift: np.ndarray


def solve_joint(joint: Chunk, estimator: Any, total_weight: float, tol: float) -> JointModel:
    """Solve the problem of the joint rows; a one-class SVM keeps the sum of duals of all rows."""
    parameters: dict[str, Any] = {"tol": tol}
    if hasattr(estimator, "nu"):
        own = joint.n if joint.weight is None else float(joint.weight.sum())
        parameters["nu"] = min(1.0, estimator.nu * total_weight / own)
    with single_threaded_blas():
        model = _fitted(estimator, joint, **parameters)
    weight = np.ones(joint.n) if joint.weight is None else joint.weight
    views = model.dual_view(joint.X, joint.y, weight)
    coef = np.zeros((joint.n, len(views)))
    for t, view in enumerate(views):
        coef[view.rows, t] = view.beta
    asked = estimator.nu * total_weight if hasattr(estimator, "nu") else 0.0
    drift = np.array([math.fsum([asked, *(-beta).tolist()]) for beta in coef.T])
    if not model.fit_intercept:
        drift[:] = 0.0
    return JointModel(model, model.kernel_, coef, np.ravel(model.intercept_).astype(float), drift)


@dataclass(frozen=True, eq=False)
class TaskTerms:
    """Sums and extremes over rows for the certificate of one task."""

    sums: np.ndarray  # loss at worst and at least, gap, βᵀf, Σ|β||f|, Σ|β|δ, and at the middle
    counts: np.ndarray  # zero, at the bound, rows
    up: float  # the largest target − f + δ of a dual that can rise
    down: float  # the smallest target − f − δ of a dual that can fall
    drift_cost: float


@dataclass(frozen=True, eq=False)
class PassReply:
    """The terms of every task, and the violating rows of each chunk."""

    terms: list[TaskTerms]
    violators: list[tuple[int, np.ndarray, np.ndarray]]


def evaluate_joint(
    chunk: Chunk,
    joint: Chunk,
    solved: JointModel,
    estimator: Any,
    places: tuple[list[np.ndarray], list[np.ndarray]],
    settings: tuple[int, float, int],
) -> PassReply | None:
    """Terms of the certificate at the rows of a chunk, and its most violating rows.

    ``places`` are, for each chunk, the numbers of its rows that are joint, and their places among
    the joint rows; ``settings`` are the number of classes, the violation from which on a row is
    reported, and how many rows at most.
    """
    if chunk.n == 0:
        return None
    n_classes, least, most = settings
    own, at = places[0][chunk.index], places[1][chunk.index]
    beta = np.zeros((chunk.n, solved.coef.shape[1]))
    beta[own] = solved.coef[at]
    with single_threaded_blas():
        f, error, diag = _values(chunk, joint, solved)
    terms, violation = [], np.zeros(chunk.n)
    for t, (rows, problem) in enumerate(_problems(chunk, estimator, n_classes)):
        if problem is None:
            terms.append(TaskTerms(np.zeros(7), np.zeros(3, int), -np.inf, np.inf, np.inf))
            continue
        take = slice(None) if rows is None else rows
        given = beta[take, t], f[take, t], error[take, t], diag[take]
        term, off = _task_terms(problem, *given, float(solved.b[t]), float(solved.drift[t]))
        terms.append(term)
        violation[take] = np.maximum(violation[take], off)
    violation[own] = 0.0
    worst = np.argsort(-violation, kind="stable")[:most]
    worst = np.sort(worst[violation[worst] > least])
    return PassReply(terms, [(chunk.index, worst, violation[worst])])


def _values(
    chunk: Chunk, joint: Chunk, solved: JointModel
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """f without intercept, the bound of its error, and an upper bound of k(x, x)."""
    f, error = np.empty((chunk.n, solved.coef.shape[1])), np.empty((chunk.n, solved.coef.shape[1]))
    diag = np.empty(chunk.n)
    used = np.flatnonzero(solved.coef.any(axis=1))
    support, coef = joint.X[used], solved.coef[used]
    for start in range(0, chunk.n, _ROWS_AT_ONCE):
        block = chunk.X[start : start + _ROWS_AT_ONCE]
        n = block.shape[0]
        both = (
            sp.vstack([block, support], "csr")
            if sp.issparse(block)
            else np.vstack([block, support])
        )
        gram = BlockedGram(solved.kernel, bind_samples(solved.kernel, both))
        chosen = np.arange(n, n + used.size)
        values, errors = bounded_columns(gram, chosen, coef)
        place = slice(start, start + n)
        f[place], error[place] = values[:n], errors[:n]
        diag[place] = np.abs(gram.diag(np.arange(n))) * ROUNDING.diagonal
    return f, error, diag


def _problems(
    chunk: Chunk, estimator: Any, n_classes: int
) -> list[tuple[np.ndarray | None, BoxQP | None]]:
    """The rows (None: all) and the box QP of every task; None of a task without rows."""
    weight = np.ones(chunk.n) if chunk.weight is None else chunk.weight
    if hasattr(estimator, "nu"):
        return [(None, one_class(estimator.nu, weight))]
    how = {"fit_intercept": estimator.fit_intercept}
    if not hasattr(estimator, "class_weight"):
        return [(None, svr(chunk.y, estimator.C * weight, estimator.epsilon, **how))]
    C = estimator.C * estimator.class_weight_[chunk.y] * weight
    return [
        (task.rows, svc(task.y, task.of_rows(C), **how) if task.y.size else None)
        for task in pair_tasks(chunk.y, n_classes)
    ]


def _task_terms(
    problem: BoxQP,
    beta: np.ndarray,
    f: np.ndarray,
    error: np.ndarray,
    diag: np.ndarray,
    b: float,
    drift: float,
) -> tuple[TaskTerms, np.ndarray]:
    """As `mercer.certificates._box_qp`, for some of the rows; and how far each row violates."""
    n = beta.size
    if problem.row is not None:
        beta = np.clip(beta[problem.row], problem.lower, problem.upper)
        f, error, diag = f[problem.row], error[problem.row], diag[problem.row]
    target, lower, upper = problem.target, problem.lower, problem.upper
    delta = error + 2 * EPS * (np.abs(target) + np.abs(f) + abs(b))
    r = target - f - b
    least, worst = problem.loss_range(r, delta)
    gap = problem.gap_terms(beta, r, delta)
    size = np.abs(beta)
    sums = [worst.sum(), least.sum(), gap.sum(), beta @ f, size @ np.abs(f), size @ delta]
    sums.append(problem.losses(r).sum())
    rise, fall = beta < upper, beta > lower
    e = target - f
    up = float(np.max((e + delta)[rise], initial=-np.inf))
    down = float(np.min((e - delta)[fall], initial=np.inf))
    room = upper - beta if drift > 0 else beta - lower
    each = abs(drift) * (np.abs(r) + delta) + drift**2 * diag / 2
    cost = float(np.min(each[room >= abs(drift)], initial=np.inf)) if drift else 0.0
    off = np.maximum(np.where(rise, r, 0.0), np.where(fall, -r, 0.0))
    coef = problem.at_points(beta, n)
    at_bound = (coef != 0) & (
        (coef <= ROUNDING.at_bound * problem.at_points(lower, n))
        | (coef >= ROUNDING.at_bound * problem.at_points(upper, n))
    )
    counts = np.array([np.count_nonzero(coef == 0), np.count_nonzero(at_bound), n])
    off = off if problem.row is None else np.maximum(off[:n], off[n:])
    return TaskTerms(np.array(sums), counts, up, down, cost), off


def add_passes(parts: Sequence[PassReply | None]) -> PassReply | None:
    """The sums of several chunks, in their order."""
    known = [part for part in parts if part is not None]
    if not known:
        return None
    terms = known[0].terms
    for part in known[1:]:
        terms = [
            TaskTerms(
                one.sums + other.sums,
                one.counts + other.counts,
                max(one.up, other.up),
                min(one.down, other.down),
                min(one.drift_cost, other.drift_cost),
            )
            for one, other in zip(terms, part.terms, strict=True)
        ]
    return PassReply(terms, [each for part in known for each in part.violators])


def bounds_of_pass(terms: TaskTerms, b: float, group_sum: float) -> tuple[float, float]:
    """An upper bound of the primal value and a lower bound of the optimum, as `_box_qp._bounds`."""
    worst, least, gap, quad, size, off, middle = (float(value) for value in terms.sums)
    n = int(terms.counts[2]) + 1
    of_sums, sizes = b * group_sum, abs(b * group_sum)
    units = 2 * _sum_rounding(2 * n)  # also along the tree over the chunks
    quad_error = off * ROUNDING.margin + units * size
    rounding = units * (worst + sizes) + EPS * sizes * ROUNDING.units
    primal = quad / 2 + worst + of_sums + quad_error / 2 + rounding
    low = quad / 2 + least + of_sums - quad_error / 2 - rounding
    gap = gap * (1 + units) + terms.drift_cost * ROUNDING.margin
    value = quad / 2 + middle + of_sums
    rest = ROUNDING.units * EPS * (abs(value) + abs(value - gap))
    return primal + rest, low - gap - rest
