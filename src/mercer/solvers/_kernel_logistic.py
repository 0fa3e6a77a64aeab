"""Kernel logistic regression by Newton's method, each step by preconditioned conjugate gradients.

Vectors of feature space are kept as coefficients c and their image Kc: products of w = Σ cᵢφ(xᵢ)
with others are cᵀ(Kc'). With D the second derivatives of the losses, and D̄ = D − D11ᵀD / 1ᵀD1
after the elimination of b, the objective has

    gradient  −R,  R = β(f + b) − β
    Hessian   c ↦ c + D̄ K c

and a step of conjugate gradients takes one product with K, for all tasks at once. f = Kβ is
updated incrementally. The preconditioner is the Hessian on the span of random landmarks and the
identity on its complement; for few points or columns it is exact.

The run ends at the gap ½ RᵀKR (`mercer.problems._logistic`). Kernel values are float32 until their
rounding prevents progress. The f and the gap of the certificate are recomputed in float64 at the
end, with bounds on their errors (`with_bounds`), and a time limit leaves time for that.

Reference: Keerthi, Duan, Shevade and Poo, Machine Learning 61, 2005 (the dual).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from mercer._precision import EPS
from mercer._result import Result, Status
from mercer.gram import BlockedGram, CachedGram
from mercer.gram._bounded_products import bounded_product
from mercer.gram._low_rank import NystromFactor, nystrom_factor, random_landmarks
from mercer.gram._machine import MACHINE, pieces
from mercer.problems import Logistic
from mercer.solvers._conjugate_gradient import column_dots, conjugate_gradient_columns
from mercer.solvers._stopping import Progress, Stopping

__all__ = ["NewtonCG", "with_bounds"]


@dataclass(frozen=True)
class NewtonCGSettings:
    """Tuning constants of `NewtonCG`."""

    # Steps are made until the relative gap is this fraction of tol: the stated one counts rounding.
    tol_fraction: float = 0.999
    # Of the preconditioner: the number, and the fraction of the largest eigenvalue of K below which
    # others are left out.
    landmarks: int = 256
    landmark_cutoff: float = 1e-10
    # A product cᵀKc below minus this fraction of |c| |Kc| is no rounding of float32 values.
    float32_rounding: float = 1e-5
    # Steps of conjugate gradients in one Newton step.
    max_cg_steps: int = 500
    # A Newton step is solved to this fraction of its first residual, or to the root of the relative
    # gap if that is smaller (Eisenstat and Walker's forcing term).
    max_forcing: float = 0.1
    # Halvings of the line search, at most, and the constant of Armijo's rule.
    max_halvings: int = 30
    armijo: float = 1e-4
    # Time that a limit leaves for the final sums, in units of the first product, and in seconds.
    products_left: float = 2.0
    seconds_left: float = 0.05
    # Time that a fit which was stopped takes for its final sums, at most.
    grace_seconds: float = 0.3


DEFAULTS = NewtonCGSettings()


class _Task:
    """The iterate of one task: β, f = Kβ and b."""

    def __init__(self, problem: Logistic):
        self.problem = problem
        self.beta, self.f = np.zeros(problem.y.size), np.zeros(problem.y.size)
        self.b = problem.best_intercept(self.f, 0.0)
        self.status: Status | None = None
        self.gap = np.inf
        self.met_negative_curvature = False
        self.steps = 0

    def residual(self) -> np.ndarray:
        """β(f + b) − β: minus the gradient."""
        return self.problem.duals(self.f + self.b) - self.beta

    @property
    def relative_gap(self) -> float:
        return self.gap / self.problem.primal(self.beta, self.f, self.b)  # the value is positive

    def move(
        self, delta: np.ndarray, K_delta: np.ndarray, slope: float, settings: NewtonCGSettings
    ) -> bool:
        """Backtracking line search along δ by Armijo's rule; False if it fails."""
        problem, before = self.problem, self.problem.primal(self.beta, self.f, self.b)
        t = 1.0
        for _ in range(settings.max_halvings):
            beta, f = self.beta + t * delta, self.f + t * K_delta
            b = problem.best_intercept(f, self.b)
            if problem.primal(beta, f, b) <= before - settings.armijo * t * slope:
                self.beta, self.f, self.b = beta, f, b
                return True
            t /= 2
        return False


@dataclass(frozen=True)
class NewtonCG:
    """Solver of `Logistic` tasks that share their points."""

    tol: float = 1e-6  # relative duality gap at which to stop
    max_iter: int = 100  # Newton steps
    settings: NewtonCGSettings = DEFAULTS

    def solve(
        self, problems: Sequence[Logistic], whole: CachedGram, stopping: Stopping
    ) -> list[Result]:
        began = time.perf_counter()
        tasks = [_Task(problem) for problem in problems]
        basis: NystromFactor | None = None
        rounds = 0
        while active := [task for task in tasks if task.status is None]:
            whole.stop = stopping.is_stopped
            R, KR, stopping = self._evaluate(active, whole, stopping, rounds)
            if stopping.stopped is not None:  # the product is incomplete
                for task in active:
                    task.status = stopping.stopped
                break
            stopped = self._why_stop(active, stopping, rounds)
            tol = self.settings.tol_fraction * self.tol
            ending = [t for t in active if stopped is not None or t.relative_gap <= tol]
            if ending and whole.dtype != np.float64:
                _recompute_f(ending, whole)
                R, KR = _residuals(active, whole, self.settings.float32_rounding)
            for task in ending:
                solved = Status.NOT_PSD if task.met_negative_curvature else Status.SOLVED
                task.status = solved if task.relative_gap <= tol else stopped
            going = [i for i, task in enumerate(active) if task.status is None]
            basis = basis or (self._basis(whole) if going else None)
            if going and basis is not None:
                moving = [active[i] for i in going]
                stuck = self._step(moving, whole, basis, R[:, going], KR[:, going], stopping)
                rounds += 1
                if stopping.is_stopped():
                    continue
                if stuck and whole.dtype != np.float64:  # its rounding may prevent progress
                    whole = CachedGram(whole.gram, 0, np.float64)
                    _recompute_f(moving, whole)
                    continue
                for t in stuck:  # the line search failed in float64
                    t.status = Status.NOT_PSD if t.met_negative_curvature else Status.STALLED
        return [_result(task, rounds, time.perf_counter() - began) for task in tasks]

    def _evaluate(
        self, tasks: Sequence[_Task], whole: CachedGram, stopping: Stopping, rounds: int
    ) -> tuple[np.ndarray, np.ndarray, Stopping]:
        """R and K R; the first time also a limit that leaves time for the final sums."""
        began = time.perf_counter()
        R, KR = _residuals(tasks, whole, self.settings.float32_rounding)
        if rounds == 0 and stopping.time_limit is not None:
            left = self.settings.products_left * (time.perf_counter() - began)
            stopping = stopping.until(stopping.time_limit - left - self.settings.seconds_left)
        return R, KR, stopping

    def _why_stop(self, active: Sequence[_Task], stopping: Stopping, rounds: int) -> Status | None:
        worst = max(task.relative_gap for task in active)
        effort = stopping.seconds, rounds, sum(task.steps for task in active)

        def state() -> list:
            return [(task.problem, _result(task, rounds, 0.0)) for task in active]

        stopping.report(Progress(*effort, worst, self.tol, state=state))
        return stopping.stopped or (Status.ITERATION_LIMIT if rounds >= self.max_iter else None)

    def _step(
        self,
        tasks: Sequence[_Task],
        whole: CachedGram,
        basis: NystromFactor,
        R: np.ndarray,
        KR: np.ndarray,
        stopping: Stopping,
    ) -> list[_Task]:
        """One Newton step of every task; returns those whose objective it did not lower."""
        D = np.column_stack([task.problem.curvature(task.f + task.b) for task in tasks])
        loosest = self.settings.max_forcing
        eta = np.array([min(loosest, np.sqrt(task.relative_gap)) for task in tasks])
        hessian = _Hessian(D, basis, whole, tasks[0].problem.fit_intercept)
        if stopping.stopped is not None:
            return []
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            delta, K_delta, steps = _newton_direction(
                whole, hessian, R, KR, eta, self.settings.max_cg_steps, stopping
            )
        if not (np.isfinite(delta).all() and np.isfinite(K_delta).all()):
            return list(tasks)
        stuck = []
        for i, task in enumerate(tasks):
            task.steps += steps
            slope = float(delta[:, i] @ KR[:, i])
            if not task.move(delta[:, i], K_delta[:, i], slope, self.settings):
                is_negative = slope < 0 or float(delta[:, i] @ K_delta[:, i]) < 0
                task.met_negative_curvature |= is_negative and whole.is_psd is not True
                stuck.append(task)
        return stuck

    def _basis(self, whole: CachedGram) -> NystromFactor | None:
        """Of the landmarks' span; None if stopped."""
        chosen = random_landmarks(whole.n, self.settings.landmarks)
        cutoff = self.settings.landmark_cutoff
        return nystrom_factor(whole.gram, chosen, cutoff=cutoff, stop=whole.stop)


def _newton_direction(
    whole: CachedGram,
    hessian: _Hessian,
    R: np.ndarray,
    KR: np.ndarray,
    eta: np.ndarray,
    max_iter: int,
    stopping: Stopping,
) -> tuple[np.ndarray, np.ndarray, int]:
    """δ with H δ ≈ R, K δ, and the steps; columns are tasks, which share the products with K.

    Vectors are pairs (c, Kc), with the inner product of feature space. The quadratic model of the
    objective falls with every step, so δ is a descent direction after any of them.
    """

    def apply(P: np.ndarray) -> np.ndarray | None:
        if stopping.stopped is not None:
            return None
        curved = hessian.curvature_product(P[1])
        image = np.stack([P[0] + curved, P[1] + whole.matvec(curved)])
        return None if stopping.is_stopped() else image

    def inner_products(A: np.ndarray, B: np.ndarray) -> np.ndarray:
        return column_dots(A[1], B[0])

    pairs = np.stack([R, KR])
    first = inner_products(hessian.precondition(pairs), pairs)
    now = conjugate_gradient_columns(
        apply,
        pairs,
        precondition=hessian.precondition,
        is_active=lambda now: now.size > eta**2 * first,
        max_iter=max_iter,
        inner=inner_products,
    )
    return now.X[0], now.X[1], now.iterations


class _Hessian:
    """c ↦ c + D̄ K c of each task, and its inverse on the span of the basis."""

    def __init__(self, D: np.ndarray, basis: NystromFactor, whole: CachedGram, fit_intercept: bool):
        self.D, self.basis = D, basis
        self.total = D.sum(axis=0) if fit_intercept else None
        V = basis.F
        cut = pieces(len(V), MACHINE.tile_rows)
        self.factors = []
        for i, d in enumerate(D.T):

            def weighted_squares(rows: slice, d: np.ndarray = d) -> np.ndarray:
                if whole.stop():
                    return np.zeros((V.shape[1], V.shape[1]))
                return V[rows].T @ (d[rows, np.newaxis] * V[rows])

            H = np.eye(V.shape[1]) + sum(whole.gram.workers.map(weighted_squares, cut))
            if self.total is not None and self.total[i] > 0:
                mean = V.T @ d
                H -= np.outer(mean, mean / self.total[i])
            self.factors.append(_factor(H))

    def curvature_product(self, Kc: np.ndarray) -> np.ndarray:
        """D̄ K c."""
        out = self.D * Kc
        if self.total is not None:
            out -= self.D * (out.sum(axis=0) / np.where(self.total > 0, self.total, 1.0))
        return out

    def precondition(self, pair: np.ndarray) -> np.ndarray:
        """Of (c, Kc): H⁻¹ on the span of the basis, the identity on its complement."""
        inside = self.basis.F.T @ pair[0]
        change = -inside
        for i, factor in enumerate(self.factors):
            change[:, i] += cho_solve(factor, inside[:, i], check_finite=False)
        out = pair.copy()
        out[0, self.basis.rows] += self.basis.coef @ change
        out[1] += self.basis.F @ change
        return out


def _factor(H: np.ndarray) -> Any:
    """The Cholesky factor of H, with multiples of the identity added where rounding requires it."""
    size = float(np.abs(H.diagonal()).max(initial=1.0))
    for shift in (1e-14, 1e-10, 1e-6, 1e-2):
        try:
            return cho_factor(H)
        except LinAlgError:
            H = H + shift * size * np.eye(len(H))
    return cho_factor(np.eye(len(H)))


def _residuals(
    tasks: Sequence[_Task], whole: CachedGram, rounding: float
) -> tuple[np.ndarray, np.ndarray]:
    """R and K R of every task; sets its gap."""
    R = np.column_stack([task.residual() for task in tasks])
    KR = whole.matvec(R)
    lengths = np.sqrt(column_dots(R, R) * column_dots(KR, KR))
    for task, squared, length in zip(tasks, column_dots(R, KR), lengths, strict=True):
        task.gap = max(float(squared), 0.0) / 2
        is_negative = bool(squared < -rounding * length)
        task.met_negative_curvature |= is_negative and whole.is_psd is not True
    return R, KR


def _recompute_f(tasks: Sequence[_Task], whole: CachedGram) -> None:
    """f = Kβ with float64 kernel values."""
    exact = whole.matvec(np.column_stack([task.beta for task in tasks]), dtype=np.float64)
    for task, f in zip(tasks, exact.T, strict=True):
        task.f = np.ascontiguousarray(f)
        task.b = task.problem.best_intercept(task.f, task.b)


def _result(task: _Task, rounds: int, seconds: float) -> Result:
    return Result(
        beta=task.beta,
        f=task.f,
        f_error=0.0,
        b=np.array([task.b]),
        violation=float(np.sqrt(2 * task.gap)),
        status=task.status or Status.STOPPED,
        iterations=task.steps,
        rounds=rounds,
        seconds=seconds,
    )


def with_bounds(
    problems: Sequence[Logistic],
    results: Sequence[Result],
    gram: BlockedGram,
    stopping: Stopping,
) -> list[Result]:
    """The results with f, a bound on its errors, and one on the length of w − w̃.

    w̃ belongs to the dual point of the model (`Logistic.dual_point`). A fit that was stopped is
    given ``grace_seconds`` for that; beyond it the errors are infinite, but for the model β = 0.
    """
    stop = stopping.grace(DEFAULTS.grace_seconds)
    R = [p.dual_point(r.f + r.b[0])[0] - r.beta for p, r in zip(problems, results, strict=True)]
    V = np.column_stack([*(r.beta for r in results), *R])
    found = bounded_product(gram, V, stop)
    out = []
    for t, (result, rest) in enumerate(zip(results, R, strict=True)):
        if found is None:
            error = np.inf if result.beta.any() else 0.0
            out.append(replace(result, f_error=np.full(rest.size, error), violation=np.inf))
            continue
        (product, lost), of_f, of_R = found, t, len(results) + t
        error = lost[:, of_f] + np.abs(product[:, of_f] - result.f)
        square = float(rest @ product[:, of_R]) + float(np.abs(rest) @ lost[:, of_R])
        square += rest.size * EPS * float(np.abs(rest) @ np.abs(product[:, of_R]))
        violation = float(np.sqrt(max(square, 0.0)))
        out.append(replace(result, f_error=error, violation=violation))
    return out
