"""The sequential dual method for Crammer and Singer's problem, with shrinking.

Rows are visited in random order. For one row with everything else fixed, the dual in its simplex
weights a (`mercer.problems._crammer_singer`) is a parabola with the curvature q = ‖x‖² in every
direction: the best weights are the point of the simplex {a ≥ 0, Σa = C} next to a + u/q (Keerthi et
al., KDD 2008). A constant added to all u changes nothing. Each row has a list of its active
classes, ``classes[i, :count[i]]``. Free intercepts follow as in `_coordinate_descent`.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace

import numpy as np

from mercer._numba import REASSOCIATE, compiled
from mercer._result import LinearResult, Status
from mercer.problems._crammer_singer import CrammerSinger
from mercer.solvers._stopping import Progress, StallDetector, Stopping
from mercer.solvers.linear._coordinate_descent import row_slices
from mercer.solvers.linear._descent_epochs import prefetch_row
from mercer.solvers.linear._design_matrix import DenseMatrix, LocalMatrix, csr_arrays, dot_doubled

__all__ = ["SequentialDualMethod", "SequentialDualSettings"]


@dataclass(frozen=True)
class SequentialDualSettings:
    """Tuning of the sequential dual method."""

    # The true gap is evaluated when the running gap (duals still changing, active classes only)
    # falls below this fraction of the target; after a failed check the fraction is multiplied by
    # ``next_check``, down to ``min_check``.
    first_check: float = 0.7
    next_check: float = 0.5
    min_check: float = 0.05
    # All rows and classes are activated when the running gap has fallen by this factor.
    reactivate_gap: float = 0.3
    # Classes become inactive if their u is further below the largest than this fraction of the
    # largest change of a u in the last epoch.
    shrink_fraction: float = 0.3
    # A gap above this fraction after the number of epochs below: rounding stops the method.
    stall_epochs: int = 20_000
    stall_fraction: float = 0.9


@dataclass(frozen=True)
class SequentialDualMethod:
    """Settings: relative gap ``tol``, at most ``max_iter`` passes over the rows (−1: no limit).

    An epoch over the active rows counts as the part of a pass that it is.
    """

    tol: float = 1e-4
    max_iter: int = -1
    seed: int = 0
    settings: SequentialDualSettings = field(default=SequentialDualSettings(), repr=False)

    def solve(
        self,
        problem: CrammerSinger,
        design: LocalMatrix,
        stopping: Stopping,
        beta: np.ndarray | None = None,
    ) -> LinearResult:
        """The model w = βᵀX of all classes, its duals and its gap; from these duals, or zero."""
        began = time.perf_counter()
        settings = self.settings
        state = _State(problem, design, beta, settings.shrink_fraction)
        rng = np.random.default_rng(self.seed)
        best: LinearResult | None = None
        visits, passes, rounds, check, reactivate = 0, 0, 0, settings.first_check, np.inf
        status: Status | None = None
        stall = StallDetector(settings.stall_epochs, settings.stall_fraction)
        while status is None:
            rng.shuffle(state.order[: state.n_active])
            is_full = state.is_full
            visits += state.n_active
            passes = -(-visits // max(design.n, 1))
            gap = state.epoch(stopping)
            stall.add(gap, is_full)
            value = max(state.dual(), 0.0) + gap  # about the primal value
            is_check = gap <= check * self.tol * value or state.n_active == 0
            if is_check and stopping.stopped is None:
                rounds += 1
                best = _better(best, state.solution())
                if best.meets(self.tol):
                    status = Status.SOLVED
                    break
                check, reactivate = max(settings.next_check * check, settings.min_check), np.inf
            if gap <= reactivate:
                reactivate = settings.reactivate_gap * gap
                state.activate_all()
            relative_gap = gap / value if value > 0 else 0.0
            stopping.report(Progress(stopping.seconds, rounds, passes, relative_gap, self.tol))
            status = Status.ITERATION_LIMIT if 0 <= self.max_iter <= passes else stopping.stopped
            if status is None and stall.is_stalled:
                status = Status.STALLED
        else:
            best = _better(best, state.solution())
            status = Status.SOLVED if best.meets(self.tol) else status
        seconds = time.perf_counter() - began
        return replace(best, status=status, iterations=passes, rounds=rounds, seconds=seconds)


class _State:
    """The simplex weights, the model W = βᵀX, and the active rows and classes."""

    def __init__(
        self,
        problem: CrammerSinger,
        design: LocalMatrix,
        beta: np.ndarray | None,
        shrink_fraction: float,
    ):
        n, k = design.n, problem.n_classes
        self.problem, self.shrink_fraction = problem, shrink_fraction
        self.penalty = penalty = problem.intercept_penalty
        self.mean, self.design = _centred(design, penalty == 0)
        design = self.design
        sq_norm = design.sq_norms
        mean = float(sq_norm.mean())
        self.sq_ones = 0.0 if penalty is None else 1.0 / penalty if penalty else mean or 1.0
        self.a = problem.simplex_weights(np.zeros((n, k)) if beta is None else beta)
        duals = problem.duals(self.a)
        self.totals = duals.sum(axis=0)
        self.b = self.sq_ones * self.totals
        W = np.zeros((design.d, k)) if beta is None else _rmatmat(design, duals)
        self.W = W if design.is_sparse else np.ascontiguousarray(W.T)
        self.order = np.arange(n)
        self.count = np.empty(n, int)
        classes, work = np.tile(np.arange(k, dtype=np.int32), (n, 1)), np.empty((2, k))
        arrays = csr_arrays(design.X) if design.is_sparse else (design.X,)
        self.data = (*arrays, sq_norm, problem.codes, problem.C, self.sq_ones)
        # Changed in place by every epoch.
        self.variables = (self.W, self.b, self.a, classes, self.count, work)
        self.distance = np.inf
        self.activate_all()

    def activate_all(self) -> None:
        self.n_active = self.design.n
        self.count[:] = self.problem.n_classes
        self.is_full = True

    def dual(self) -> float:
        """The dual value without the terms of penalised intercepts."""
        others = float(self.problem.C.sum()) - _own_class_total(self.a, self.problem.codes)
        return others - float(np.vdot(self.W, self.W)) / 2

    def epoch(self, stopping: Stopping) -> float:
        """One visit of all active rows, or of as many as time allows; the running gap."""
        run = _csr_epoch if self.design.is_sparse else _dense_epoch
        self.is_full = False
        before, gap, worst = self.b.copy(), 0.0, 0.0
        active, inactive = [], []
        for s in row_slices(self.n_active, self.design, self.problem.n_classes):
            order = self.order[s]
            count, more, worst_here = order.size, 0.0, 0.0
            if stopping.stopped is None:
                count, more, worst_here = run(*self.data, order, self.distance, *self.variables)
            gap, worst = gap + more, max(worst, worst_here)
            active.append(order[:count])
            inactive.append(order[count:])
        self.order[: self.n_active] = np.concatenate([*active, *inactive])
        self.n_active = sum(part.size for part in active)
        if self.penalty == 0:  # b₀ of the next epoch
            self.totals += (self.b - before) / self.sq_ones
            self.b += self.sq_ones * self.totals
        self.distance = max(self.shrink_fraction * worst, 1e-12)
        return gap

    def solution(self) -> LinearResult:
        """The model of the duals, and its true gap."""
        problem, design = self.problem, self.design
        beta = problem.feasible(problem.duals(self.a))
        w = np.ascontiguousarray(_rmatmat(design, beta).T)
        b = beta.sum(axis=0) / self.penalty if self.penalty else self.b
        b = b - b.mean()
        g = np.empty((design.n, problem.n_classes))

        def scores(s: slice) -> None:
            g[s] = _float64(design.X[s]) @ w.T + b

        design.workers.map(scores, design.blocks)
        found = LinearResult(w, b, beta, g, w, *problem.primal_and_gap(w, b, beta, g, w))
        if not self.mean.any():
            return found
        shift = np.array([dot_doubled(self.mean, row) for row in w])
        return replace(found, b=(b - shift) - (b - shift).mean())


def _centred(design: LocalMatrix, is_free: bool) -> tuple[np.ndarray, LocalMatrix]:
    """Dense rows minus their mean, which free intercepts compensate; all others as they are."""
    if not is_free or not isinstance(design, DenseMatrix):
        return np.zeros(design.d), design
    mean = design.X.mean(axis=0, dtype=np.float64).astype(design.X.dtype)
    return mean.astype(np.float64), design.shifted(mean)


def _better(one: LinearResult | None, other: LinearResult) -> LinearResult:
    return one if one is not None and one.finite_gap < other.finite_gap else other


def _rmatmat(design: LocalMatrix, beta: np.ndarray) -> np.ndarray:
    """Xᵀβ, a column for each class."""
    parts = design.workers.map(lambda s: _float64(design.X[s]).T @ beta[s], design.reduction_blocks)
    return np.add.reduce(parts)


def _float64(X):
    return X.astype(np.float64, copy=False)


# ---------------------------------------------------------------------- compiled


@compiled
def _project(v, m, C):
    """The τ with Σ (v − τ)₊ = C: Newton's method from the left, exact after finitely many steps."""
    top = v[0]
    for j in range(1, m):
        top = max(top, v[j])
    tau, above = top - C, m + 1
    while True:
        total, count = 0.0, 0
        for j in range(m):
            if v[j] > tau:
                total += v[j] - tau
                count += 1
        if count >= above or count == 0:  # fewer and fewer, but for rounding
            return tau
        tau += (total - C) / count
        above = count


@compiled
def _update_row(a, kept, m, u, v, C, q, distance):
    """Set the best weights of one row; remove classes from its list of active ones.

    A class becomes inactive if it has no weight and its u is more than ``distance`` below the
    largest. Returns the number of active classes, the row's term of the gap, and the largest change
    of a u; v is the change of β.
    """
    first, mean = -1e300, 0.0
    for j in range(m):
        first = max(first, u[j])
        mean += a[kept[j]] * u[j]
    gap = max(C * first - mean, 0.0)
    j = 0
    while j < m:
        if a[kept[j]] == 0.0 and u[j] < first - distance:
            m -= 1
            kept[j], kept[m] = kept[m], kept[j]
            u[j] = u[m]
        else:
            j += 1
    if m == 1:
        return m, gap, 0.0
    if q <= 0.0:  # an empty row, which changes no model: all weight to the largest u
        for j in range(m):
            v[j] = 2 * C if u[j] == first else 0.0
    else:
        for j in range(m):
            v[j] = a[kept[j]] + u[j] / q
    tau = _project(v, m, C)
    most = 0.0
    for j in range(m):
        new = max(v[j] - tau, 0.0)
        v[j] = a[kept[j]] - new
        a[kept[j]] = new
        most = max(most, abs(v[j]))
    return m, gap, most * q


@compiled(fastmath=REASSOCIATE)
def _dot(x, w):
    total = 0.0
    for c in range(x.size):
        total += x[c] * w[c]
    return total


@compiled(fastmath=REASSOCIATE)
def _add(x, factor, w):
    for c in range(x.size):
        w[c] += factor * x[c]


@compiled(fastmath=REASSOCIATE)
def _add_rows(columns, values, W, first, last, v):
    """v += row · W, four columns of the row at a time: v is then read and written less often."""
    t = first
    while t + 3 < last:
        x0, x1, x2, x3 = values[t], values[t + 1], values[t + 2], values[t + 3]
        w0, w1 = W[columns[t]], W[columns[t + 1]]
        w2, w3 = W[columns[t + 2]], W[columns[t + 3]]
        for c in range(v.size):
            v[c] += x0 * w0[c] + x1 * w1[c] + x2 * w2[c] + x3 * w3[c]
        t += 4
    while t < last:
        _add(W[columns[t]], values[t], v)
        t += 1


@compiled
def _own_class_total(a, codes):
    """The sum of the weights of the rows for their own class."""
    total = 0.0
    for i in range(codes.size):
        total += a[i, codes[i]]
    return total


@compiled
def _dense_epoch(X, sq_norm, codes, C, sq_ones, order, distance, W, b, a, classes, count, work):
    """Visit the rows and put the active ones first; W (a row for each class), b and a change, too.

    ``sq_ones`` is s², by which a unit of β changes b; ``work`` has two numbers for each class. A
    row with one active class becomes inactive. Returns the number of active rows, the sum
    of the gap terms at the visits (the running gap), and the largest change of a u.
    """
    gap, worst, stay, u, v = 0.0, 0.0, 0, work[0], work[1]
    for step in range(order.size):
        i = order[step]
        x, kept, m = X[i], classes[i], count[i]
        for j in range(m):
            r = kept[j]
            u[j] = _dot(x, W[r]) + b[r] + (r != codes[i])
        m, term, most = _update_row(a[i], kept, m, u, v, C[i], sq_norm[i] + sq_ones, distance)
        gap += term
        count[i] = m
        if m == 1:
            continue
        order[stay], order[step] = i, order[stay]
        stay += 1
        if most > 0.0:
            worst = max(worst, most)
            for j in range(m):
                if v[j] != 0.0:
                    _add(x, v[j], W[kept[j]])
                    b[kept[j]] += sq_ones * v[j]
    return stay, gap, worst


@compiled
def _csr_epoch(
    indptr,
    columns,
    values,
    sq_norm,
    codes,
    C,
    sq_ones,
    order,
    distance,
    W,
    b,
    a,
    classes,
    count,
    work,
):
    """The same for CSR rows; W has a row for each column of X."""
    gap, worst, stay, u, v = 0.0, 0.0, 0, work[0], work[1]
    for step in range(order.size):
        i = order[step]
        kept, m = classes[i], count[i]
        if step + 3 < order.size:  # three visits ahead
            prefetch_row(indptr, columns, values, order[step + 3])
        if 3 * m > u.size:  # all classes at once are as fast as a third of them one by one
            v[:] = b
            _add_rows(columns, values, W, indptr[i], indptr[i + 1], v)
            for j in range(m):
                u[j] = v[kept[j]] + (kept[j] != codes[i])
        else:
            for j in range(m):
                u[j] = b[kept[j]] + (kept[j] != codes[i])
            for t in range(indptr[i], indptr[i + 1]):
                x, w = values[t], W[columns[t]]
                for j in range(m):
                    u[j] += x * w[kept[j]]
        m, term, most = _update_row(a[i], kept, m, u, v, C[i], sq_norm[i] + sq_ones, distance)
        gap += term
        count[i] = m
        if m == 1:
            continue
        order[stay], order[step] = i, order[stay]
        stay += 1
        if most > 0.0:
            worst = max(worst, most)
            for j in range(m):
                b[kept[j]] += sq_ones * v[j]
            for t in range(indptr[i], indptr[i + 1]):
                x, w = values[t], W[columns[t]]
                for j in range(m):
                    w[kept[j]] += x * v[j]
    return stay, gap, worst
