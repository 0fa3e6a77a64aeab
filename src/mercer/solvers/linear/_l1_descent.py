"""Coordinate descent for ‖w‖₁ + Σ C max(0, 1 − y g)², with Newton steps on the nonzero weights.

Each coordinate takes a Newton step with a line search (Chang, Hsieh and Lin, JMLR 2008; Yuan et
al., JMLR 2010), and columns whose weight is zero, with a derivative well below the penalty, become
inactive. In rounds: the duals −L'(g), scaled to be feasible, give the gap and the columns to be
active; the weights that are not zero take Newton steps up to their first change of sign; epochs
over the active columns follow. The Newton steps make the end fast where columns are correlated, the
epochs find which weights are zero. Large C are reached from small ones, where few weights are not
zero.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from functools import partial
from operator import attrgetter
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
import scipy.sparse.linalg

from mercer._precision import UNIT
from mercer._result import LinearResult, Status
from mercer.problems._losses import UNBOUNDED, directional_derivatives, negative_gradient
from mercer.problems._regularized_loss import L1Primal
from mercer.solvers._stopping import Progress, Stopping
from mercer.solvers.linear._coordinate_descent import StallDetector
from mercer.solvers.linear._design_matrix import LocalMatrix
from mercer.solvers.linear._l1_epochs import column_curvatures, descend
from mercer.solvers.linear._path_following import Start
from mercer.solvers.linear._smooth_newton import line_search

__all__ = ["L1CoordinateDescent", "L1DescentSettings"]


@dataclass(frozen=True)
class L1DescentSettings:
    """Tuning of coordinate descent for the L1 penalty."""

    # Numbers read in one call of compiled code: some milliseconds.
    numbers_per_call: int = 1 << 21
    # Epochs of a round at the most; it ends when the sum of violations is below this fraction.
    epochs: int = 5
    violation_fraction: float = 0.1
    # Columns of zero weight become inactive if their derivative is below the penalty by more than
    # this fraction of the largest violation.
    shrink_fraction: float = 0.1
    # A step of a coordinate counts as a decrease from the fraction ``decrease`` of the model's. It
    # is made of at most ``coordinate_steps`` Newton steps, until one is below the fraction
    # ``accuracy``.
    decrease: float = 0.1
    accuracy: float = 0.1
    coordinate_steps: float = 12.0
    # Newton steps of a round; up to ``newton_columns`` nonzero weights they are solved for by
    # Cholesky, with a ridge that is a fraction of the trace. ``newton_speed`` of their products are
    # as fast as one number of an epoch.
    newton_steps: int = 20
    newton_columns: int = 1000
    ridge: float = 1e-13
    newton_speed: float = 16.0
    # Conjugate gradients for more: number, relative residual, ridge of columns of length one.
    cg_steps: int = 100
    cg_tol: float = 1e-3
    cg_ridge: float = 1e-8
    # Without a start C grows by the factor ``C_growth``, from where the weights are zero, but not
    # from less than C / ``max_violation``; each is solved to the relative gap ``coarse_tol``, in
    # ``coarse_rounds`` rounds at the most.
    C_growth: float = 3.0
    max_violation: float = 1e12
    coarse_tol: float = 0.1
    coarse_rounds: int = 20
    # A gap above this fraction after the number of epochs below: rounding stops the method.
    stall_epochs: int = 3000
    stall_fraction: float = 0.9

    def C_factors(self, violation: float) -> np.ndarray:
        """Fractions of C below one, where weights are zero up to the fraction 1/(1 + violation)."""
        violation = violation if violation < self.max_violation else self.max_violation  # also nan
        stages = np.ceil(np.log1p(violation) / np.log(self.C_growth)) - 1
        return self.C_growth ** -np.arange(max(stages, 0.0), 0.0, -1.0)


@dataclass(frozen=True)
class L1CoordinateDescent:
    """Settings: relative gap ``tol``, at most ``max_iter`` epochs and Newton steps (−1: any)."""

    tol: float = 1e-4
    max_iter: int = -1
    seed: int = 0
    settings: L1DescentSettings = field(default=L1DescentSettings(), repr=False)

    def solve(
        self,
        problem: L1Primal,
        design: LocalMatrix,
        stopping: Stopping,
        start: Start | None = None,
    ) -> LinearResult:
        """The model, its duals and its gap; without a start, from models of smaller C."""
        began, settings, rounds = time.perf_counter(), self.settings, 0
        state = _State(problem, design, start, self)
        best = state.solution()
        if start is None:
            for factor in settings.C_factors(state.worst):
                state.solve_coarsely(float(factor), stopping)
            best = min(state.solution(), best, key=attrgetter("finite_gap"))
        stall = StallDetector(settings.stall_epochs, settings.stall_fraction)
        seen, status = 0, stopping.stopped
        if best.meets(self.tol) and state.is_stationary:
            status = Status.SOLVED
        while status is None:
            rounds += 1
            state.newton_steps(stopping)
            state.epochs_of_round(stopping)
            found = state.solution()
            best = min(found, best, key=attrgetter("finite_gap"))
            stall.add(found.finite_gap, True, state.iterations - seen)
            seen = state.iterations
            done = Progress(stopping.seconds, rounds, seen, best.relative_gap, self.tol)
            stopping.report(replace(done, state=partial(list, [(problem, best)])))
            if best.meets(self.tol):
                status = Status.SOLVED
            elif 0 <= self.max_iter <= seen:
                status = Status.ITERATION_LIMIT
            elif stall.is_stalled or not np.isfinite(found.primal):
                status = Status.STALLED
            else:
                status = stopping.stopped
        seconds = time.perf_counter() - began
        return replace(
            best, status=status, iterations=state.iterations, rounds=rounds, seconds=seconds
        )


class _State:
    """The model (w, b), how far margins are short, and the active columns."""

    def __init__(
        self,
        problem: L1Primal,
        design: LocalMatrix,
        start: Start | None,
        solver: L1CoordinateDescent,
    ):
        self.problem, self.design, self.settings = problem, design, solver.settings
        n, d, penalty = design.n, design.d, problem.intercept_penalty
        self.y = np.where(problem.low > -UNBOUNDED, 1.0, np.where(problem.high < UNBOUNDED, -1, 0))
        self.columns = _signed_columns(design, self.y)
        self.C = np.where(self.y == 0, 0.0, problem.C)
        self.penalties = np.append(np.ones(d), penalty or 0.0)
        self.curvatures = np.empty(d + 1)
        column_curvatures(*self.columns, self.C, self.curvatures[:d])
        self.curvatures[d] = 2 * float(self.C.sum())
        self.has_intercept = penalty is not None
        self.w = np.zeros(d + 1)
        if start is not None:
            self.w[:d], self.w[d] = start.w, start.b if self.has_intercept else 0.0
        self.slack = np.empty(n)
        self.active = np.arange(d + self.has_intercept)
        self.is_stationary, self.worst, self.tol = False, 0.0, solver.tol
        # Changed by `descend`, which says what they are.
        self.numbers, self.counts = np.zeros(5), np.zeros(6, np.int64)
        self.counts[5] = np.random.default_rng(solver.seed).integers(1, 1 << 62)
        self.max_iter = solver.max_iter if solver.max_iter >= 0 else np.iinfo(np.int64).max
        self.newton_count, self.newton_work = 0, 0.0

    @property
    def iterations(self) -> int:
        return int(self.counts[2]) + self.newton_count

    def solution(self) -> LinearResult:
        """The model with feasible duals; the columns that violate, or nearly, become active.

        The duals are those of the scores or, where it is not small enough and these give a smaller
        gap, of the updated margins: steps below the rounding of w change them as well.
        """
        design, d = self.design, self.design.d
        w, b = self.w[:d].copy(), float(self.w[d])
        g, updated = design.matvec(w, b), self.slack.copy()
        self.slack[:] = 1 - self.y * g
        found, sums = self._with_duals(w, b, g, g)
        if self.iterations and not found.meets(self.tol):
            other, _ = self._with_duals(w, b, g, self.y * (1 - updated))
            found = min(found, other, key=attrgetter("finite_gap"))
        self._activate(sums)
        return found

    def _with_duals(
        self, w: np.ndarray, b: float, g: np.ndarray, dual_g: np.ndarray
    ) -> tuple[LinearResult, np.ndarray]:
        """The model with the duals −L'(dual_g), scaled to be feasible; before that, Xᵀβ and Σβ."""
        problem, beta = self.problem, np.empty(self.design.n)
        negative_gradient(problem.kind, dual_g, *problem.arrays, beta)
        beta = problem.feasible(beta)
        w_beta = self.design.rmatvec(beta)
        sums, scale = np.append(w_beta, beta.sum()), problem.best_scale(beta, w_beta)
        beta, w_beta = scale * beta, scale * w_beta
        values = problem.primal_and_gap(w, b, beta, g, w_beta)
        return LinearResult(w, b, beta, g, w_beta, *values), sums

    def _activate(self, sums: np.ndarray) -> None:
        """From Xᵀβ and Σβ of the duals −L'(g)."""
        w, penalties = self.w, self.penalties
        off = np.where(w != 0, np.abs(sums - penalties * np.sign(w)), np.abs(sums) - penalties)
        off = off / np.where(penalties > 0, penalties, 1.0)
        off = off if self.has_intercept else off[:-1]
        worst = float(np.max(off, initial=0.0))
        self.worst, self.is_stationary = worst, worst <= (self.design.n + 8) * UNIT
        self.active = np.flatnonzero(
            (off >= -self.settings.shrink_fraction * worst) | (w[: off.size] != 0)
        )
        if self.has_intercept and penalties[-1] == 0 and not (self.active == self.design.d).any():
            self.active = np.append(self.active, self.design.d)
        self.counts[:2] = 0, self.active.size
        total = float(np.maximum(off, 0.0).sum())
        self.numbers[:] = worst, 0.0, 0.0, 0.0, self.settings.violation_fraction * total

    def solve_coarsely(self, factor: float, stopping: Stopping) -> None:
        """Some rounds on the problem with C times a factor, in the first half of the iterations."""
        given = self.problem, self.C, self.curvatures
        self.problem = replace(self.problem, C=factor * self.problem.C)
        self.C, self.curvatures = factor * self.C, factor * self.curvatures
        for _ in range(self.settings.coarse_rounds):
            if 2 * self.iterations >= self.max_iter or stopping.stopped is not None:
                break
            if self.solution().meets(self.settings.coarse_tol):
                break
            self.newton_steps(stopping)
            self.epochs_of_round(stopping)
        self.problem, self.C, self.curvatures = given

    def epochs_of_round(self, stopping: Stopping) -> None:
        """Epochs over the active columns, or a part of one if time is up."""
        settings, counts = self.settings, self.counts
        left = max(self.max_iter - self.iterations, 0)
        if left == 0 or self.active.size == 0:
            return
        counts[3] = counts[2] + min(left, settings.epochs)
        limits = (
            float(settings.numbers_per_call),
            settings.shrink_fraction,
            settings.decrease,
            settings.accuracy,
            settings.coordinate_steps,
        )
        model = self.w, self.slack, self.C
        y = self.y.astype(self.columns[2].dtype)
        given = self.columns, y, self.penalties, self.curvatures, model, self.active
        while not descend(*given, self.numbers, counts, limits):
            if stopping.stopped is not None:
                return

    def newton_steps(self, stopping: Stopping) -> None:
        """Newton steps on the nonzero weights, as long as they have cost no more than epochs."""
        settings, d = self.settings, self.design.d
        for _ in range(settings.newton_steps):
            free = np.flatnonzero(self.w)
            if self.has_intercept and self.w[d] == 0 and self.penalties[d] == 0:
                free = np.append(free, d)
            used = np.flatnonzero((self.slack > 0) & (self.C > 0))
            per_row = self.design.nnz / self.design.n
            cost = used.size * min(float(free.size) ** 2, settings.cg_steps * 2 * per_row)
            self.newton_work += cost / settings.newton_speed
            if not free.size or self.newton_work > self.counts[4]:
                self.newton_work -= cost / settings.newton_speed
                return
            if self.iterations >= self.max_iter or stopping.stopped is not None:
                return
            self.newton_count += 1
            V = self._free_columns(free)
            A, C = V[used], self.C[used]
            signs = self.penalties[free] * np.sign(self.w[free])
            gradient = signs - 2 * (A.T @ (C * self.slack[used]))
            step = _newton_direction(A, 2 * C, gradient, settings)
            if step is None or not self._take_step(V, free, step, signs, gradient):
                return

    def _take_step(
        self,
        V: np.ndarray | sp.csr_matrix,
        free: np.ndarray,
        step: np.ndarray,
        signs: np.ndarray,
        gradient: np.ndarray,
    ) -> bool:
        """A step up to the first change of sign or, where it is lower, one with weights cut at 0.

        Returns whether another Newton step may help: the value has fallen, by more than rounding.
        """
        w, h, kind = self.w[free], V @ step, self.problem.kind
        ends, linear = (np.ones_like(h), np.full_like(h, UNBOUNDED)), float(signs @ step)

        def derivatives(t: float) -> tuple[float, float]:
            first, second = directional_derivatives(kind, 1 - self.slack, h, t, *ends, self.C)
            return linear + first, second

        slope, old = float(gradient @ step), self._value(free, w, self.slack)
        t = line_search(derivatives, slope)
        crossing = np.full(free.size, np.inf)
        falls = (w * step < 0) & (self.penalties[free] > 0)
        crossing[falls] = -w[falls] / step[falls]
        first = float(crossing.min())
        if not t > 0:
            return False
        if first > t:
            self.w[free] += t * step
            self.slack -= t * h
            return -slope * t > UNIT * free.size * old
        best = np.where(crossing == first, 0.0, w + first * step), self.slack - first * h
        value = self._value(free, *best)
        while t > 4 * first:
            moved = np.where(crossing <= t, 0.0, w + t * step)
            slack = self.slack - V @ (moved - w)
            if self._value(free, moved, slack) < value:
                best = moved, slack
                break
            t /= 4
        self.w[free], self.slack[:] = best
        return True

    def _value(self, free: np.ndarray, w: np.ndarray, slack: np.ndarray) -> float:
        penalty = float(self.penalties[free] @ np.abs(w))
        return penalty + float(self.C @ np.square(np.maximum(slack, 0.0)))

    def _free_columns(self, free: np.ndarray) -> np.ndarray | sp.csr_matrix:
        """Some of the signed columns, that of b as the last."""
        indptr, rows, values = self.columns
        n, d = self.design.n, self.design.d
        of_w = free[free < d]
        ones = [self.y[:, np.newaxis]] if of_w.size < free.size else []
        if not self.design.is_sparse:
            return np.hstack([values.reshape(d, n)[of_w].T.astype(np.float64), *ones])
        some = sp.csc_matrix((values, rows, indptr), shape=(n, d))[:, of_w]
        return sp.csr_matrix(sp.hstack([some, *ones]) if ones else some, dtype=np.float64)


def _signed_columns(design: LocalMatrix, y: np.ndarray) -> tuple:
    """indptr, rows and values of the columns, each row times its label; of dense ones no rows."""
    if not design.is_sparse:
        values = np.ascontiguousarray(design.X.T * y.astype(design.X.dtype))
        indptr = design.n * np.arange(design.d + 1)
        return indptr, np.empty(0, np.int32), values.ravel()
    csc = design.csr.tocsc()
    values = csc.data * y[csc.indices].astype(csc.dtype)
    return csc.indptr.astype(np.int64), csc.indices.astype(np.int32), values


def _newton_direction(
    A: Any, D: np.ndarray, gradient: np.ndarray, settings: L1DescentSettings
) -> np.ndarray | None:
    """−H⁻¹ gradient with H = Aᵀ diag(D) A, by Cholesky or conjugate gradients; None: no direction.

    Columns are scaled to one, and a ridge is added.
    """
    size, is_direct = gradient.size, gradient.size <= settings.newton_columns
    if is_direct:
        roots = np.sqrt(D)
        weighted = sp.diags(roots) @ A if sp.issparse(A) else roots[:, np.newaxis] * A
        H = weighted.T @ weighted
        H = H.toarray() if sp.issparse(H) else H
        scale = np.sqrt(np.diag(H))
    else:
        squares = A.multiply(A) if sp.issparse(A) else A * A
        scale = np.sqrt(np.asarray(squares.T @ D).ravel())
    if not (np.isfinite(scale).all() and (scale > 0).all()):
        return None
    right = -gradient / scale
    if is_direct:
        H /= scale
        H /= scale[:, np.newaxis]
        H[np.diag_indices(size)] += settings.ridge * size
        try:
            step = scipy.linalg.cho_solve(scipy.linalg.cho_factor(H), right)
        except (scipy.linalg.LinAlgError, ValueError):  # not definite, or not finite
            return None
    else:
        operator = scipy.sparse.linalg.LinearOperator(
            (size, size),
            matvec=lambda v: (A.T @ (D * (A @ (v / scale)))) / scale + settings.cg_ridge * v,
            dtype=np.float64,
        )
        step, _ = scipy.sparse.linalg.cg(
            operator, right, rtol=settings.cg_tol, maxiter=settings.cg_steps
        )
    step = step / scale
    return step if np.isfinite(step).all() else None
