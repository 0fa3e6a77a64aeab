"""Kernel logistic regression by Newton's method, each step by preconditioned conjugate gradients.

Vectors of feature space are kept as coefficients c and their image Kc: products of w = Σ cᵢφ(xᵢ)
with others are cᵀ(Kc'). With D the second derivatives of the costs, less what the best b takes
away (D̄ = D − D11ᵀD / 1ᵀD1), the objective has

    gradient  −R,  R = β(f + b) − β (what the model asks for, less what it has)
    Hessian   c ↦ c + D̄ K c

and a step of conjugate gradients takes one product with K, for all tasks at once. f = Kβ is
carried along. The preconditioner has the Hessian on the span of some random points and the
identity beside it; for few points or columns it is exact.

The run ends at the gap ½ RᵀKR (`mercer.problems._logistic`). Kernel values may be float32 on the
way, until they hinder progress. The f and the gap that are judged are summed in float64 once more
at the end, with bounds on their errors (`with_bounds`), and a time limit leaves time for that.

Reference: Keerthi, Duan, Shevade and Poo, Machine Learning 61, 2005 (the dual).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from mercer._result import Result, Status
from mercer.gram import BlockedGram, CachedGram
from mercer.gram._blocked import pieces
from mercer.gram._bounded_products import bounded_product
from mercer.problems import Logistic
from mercer.solvers._stopping import Progress, Stopping

__all__ = ["NewtonCG", "with_bounds"]

# Samples of the preconditioner, and the smallest eigenvalue of their K against the largest.
LANDMARKS = 256
SMALLEST = 1e-10
ROWS_PER_TILE = 1024
# A product cᵀKc below minus this share of |c| |Kc| is no rounding of float32 values.
ROUNDING = 1e-5
CG_STEPS = 500
# A factorisation that rounding prevents is tried again with this share of its largest entry on the
# diagonal, and ten thousand times as much each further time.
SHIFT, SHIFT_GROWTH, MOST_SHIFTS = 1e-14, 1e4, 4
# Time that a limit leaves for the final sums, in units of the first product, and in seconds.
PRODUCTS_LEFT, SECONDS_LEFT = 2.0, 0.05
# What a fit that was stopped still takes for its final sums, at most.
GRACE_SECONDS = 0.3
# A step is solved to this share of its first residual, and better as the gap falls.
LOOSEST = 0.1
HALVINGS = 30
_EPS = float(np.finfo(np.float64).eps)


class _Task:
    """One task on its way: β, f = Kβ, b, and what a Newton step needs."""

    def __init__(self, problem: Logistic):
        n = problem.y.size
        self.problem = problem
        self.beta, self.f = np.zeros(n), np.zeros(n)
        self.b = problem.best_intercept(self.f, 0.0)
        self.status: Status | None = None
        self.gap = np.inf
        self.is_bent = False
        self.steps = 0

    def residual(self) -> np.ndarray:
        """What the model asks for, less what it has: minus the gradient."""
        return self.problem.duals(self.f + self.b) - self.beta

    @property
    def relative_gap(self) -> float:
        return self.gap / self.problem.primal(self.beta, self.f, self.b)  # the value is positive

    def move(self, delta: np.ndarray, K_delta: np.ndarray, slope: float) -> bool:
        """Go along δ until the objective falls as it should; False where it does not."""
        problem, before = self.problem, self.problem.primal(self.beta, self.f, self.b)
        t = 1.0
        for _ in range(HALVINGS):
            beta, f = self.beta + t * delta, self.f + t * K_delta
            b = problem.best_intercept(f, self.b)
            if problem.primal(beta, f, b) <= before - 1e-4 * t * slope:
                self.beta, self.f, self.b = beta, f, b
                return True
            t /= 2
        return False


@dataclass(frozen=True)
class NewtonCG:
    """Solver of `Logistic` tasks that share their points.

    Parameters
    ----------
    tol : float
        Relative duality gap at which to stop.
    max_iter : int
        Newton steps.
    """

    tol: float = 1e-6
    max_iter: int = 100

    def solve(
        self, problems: Sequence[Logistic], whole: CachedGram, stopping: Stopping
    ) -> list[Result]:
        began = time.perf_counter()
        tasks = [_Task(problem) for problem in problems]
        basis: _Basis | None = None
        rounds = 0
        while active := [task for task in tasks if task.status is None]:
            whole.stop = stopping.is_stopped
            R, KR, stopping = self._look(active, whole, stopping, rounds)
            if stopping.stopped is not None:  # the product was given up
                for task in active:
                    task.status = stopping.stopped
                break
            stopped = self._why_stop(active, stopping, rounds)
            ending = [t for t in active if stopped is not None or t.relative_gap <= self.tol]
            if ending and whole.dtype != np.float64:
                _sum_afresh(ending, whole)
                R, KR = _residuals(active, whole)
            for task in ending:
                solved = Status.NOT_PSD if task.is_bent else Status.SOLVED
                task.status = solved if task.relative_gap <= self.tol else stopped
            going = [i for i, task in enumerate(active) if task.status is None]
            if going:
                moving = [active[i] for i in going]
                basis = basis or _Basis(whole)
                stuck = self._step(moving, whole, basis, R[:, going], KR[:, going], stopping)
                rounds += 1
                if stopping.is_stopped():
                    continue
                if stuck and whole.dtype != np.float64:  # its rounding may be in the way
                    whole = CachedGram(whole.gram, 0, np.float64)
                    _sum_afresh(moving, whole)
                    continue
                for task in stuck:
                    task.status = self._verdict(task)
        seconds = time.perf_counter() - began
        return [_result(task, rounds, seconds) for task in tasks]

    @staticmethod
    def _look(
        tasks: Sequence[_Task], whole: CachedGram, stopping: Stopping, rounds: int
    ) -> tuple[np.ndarray, np.ndarray, Stopping]:
        """R and K R; the first time also the stopping that leaves time for the final sums."""
        began = time.perf_counter()
        R, KR = _residuals(tasks, whole)
        if rounds == 0 and stopping.time_limit is not None:
            left = PRODUCTS_LEFT * (time.perf_counter() - began) + SECONDS_LEFT
            stopping = stopping.until(stopping.time_limit - left)
        return R, KR, stopping

    def _why_stop(self, active: Sequence[_Task], stopping: Stopping, rounds: int) -> Status | None:
        worst = max(task.relative_gap for task in active)
        steps = sum(task.steps for task in active)
        now = Progress(
            stopping.seconds, rounds, steps, worst, self.tol,
            state=lambda: [(task.problem, _result(task, rounds, 0.0)) for task in active],
        )  # fmt: skip
        stopping.report(now)
        return stopping.stopped or (Status.ITERATION_LIMIT if rounds >= self.max_iter else None)

    def _step(
        self,
        tasks: Sequence[_Task],
        whole: CachedGram,
        basis: _Basis,
        R: np.ndarray,
        KR: np.ndarray,
        stopping: Stopping,
    ) -> list[_Task]:
        """One Newton step of every task; returns those whose objective it did not lower."""
        D = np.column_stack([task.problem.curvature(task.f + task.b) for task in tasks])
        eta = np.array([min(LOOSEST, np.sqrt(task.relative_gap)) for task in tasks])
        hessian = _Hessian(D, basis, tasks[0].problem.fit_intercept)
        if stopping.stopped is not None:
            return []
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            delta, K_delta, steps = _conjugate_gradients(whole, hessian, R, KR, eta, stopping)
        if not (np.isfinite(delta).all() and np.isfinite(K_delta).all()):
            return list(tasks)
        stuck = []
        for i, task in enumerate(tasks):
            task.steps += steps
            slope = float(delta[:, i] @ KR[:, i])
            if not task.move(delta[:, i], K_delta[:, i], slope):
                task.is_bent |= slope < 0 or float(delta[:, i] @ K_delta[:, i]) < 0
                stuck.append(task)
        return stuck

    def _verdict(self, task: _Task) -> Status:
        """The status of a task that finds no way down in float64."""
        return Status.NOT_PSD if task.is_bent else Status.STALLED


def _conjugate_gradients(
    whole: CachedGram,
    hessian: _Hessian,
    R: np.ndarray,
    KR: np.ndarray,
    eta: np.ndarray,
    stopping: Stopping,
) -> tuple[np.ndarray, np.ndarray, int]:
    """δ with H δ ≈ R, and K δ; columns are tasks, side by side.

    The quadratic model of the objective falls with every step, so δ leads downhill at any of them.
    """
    delta, K_delta = np.zeros_like(R), np.zeros_like(R)
    r, Kr = R.copy(), KR.copy()
    p, Kp = hessian.precondition(r, Kr)
    size = _dots(r, Kp)
    goal = eta**2 * size
    for step in range(CG_STEPS):
        bent = hessian.bend(Kp)
        curvature = _dots(Kp, p + bent)
        live = (size > goal) & (curvature > 0)
        if not live.any() or stopping.stopped is not None:
            return delta, K_delta, step
        alpha = np.where(live, size / np.where(live, curvature, 1.0), 0.0)
        delta += alpha * p
        K_delta += alpha * Kp
        r -= alpha * (p + bent)
        Kr -= alpha * (Kp + whole.matvec(bent))
        if stopping.is_stopped():  # the product was given up; δ and K δ belong together
            return delta, K_delta, step + 1
        z, Kz = hessian.precondition(r, Kr)
        before, size = size, np.where(live, _dots(r, Kz), 0.0)
        ratio = np.where(live, size / np.where(live, before, 1.0), 0.0)
        p, Kp = z + ratio * p, Kz + ratio * Kp
    return delta, K_delta, CG_STEPS


class _Basis:
    """An orthonormal basis of the span of some random points, always the same ones.

    ``values`` (n, r) are its vectors at all points: the coordinates of Σ cᵢφ(xᵢ) are valuesᵀ c.
    ``coef`` (m, r) are their coefficients at the m ``points``.
    """

    def __init__(self, whole: CachedGram):
        gram, n = whole.gram, whole.n
        m = min(n, LANDMARKS)
        self.whole = whole
        self.points = np.sort(np.random.default_rng(0).choice(n, m, replace=False))
        here = gram.sample_block(self.points, np.float64)
        core = gram.block(here, here)
        values, vectors = np.linalg.eigh(core)
        keep = values > SMALLEST * max(values[-1], 0.0)
        self.coef = vectors[:, keep] / np.sqrt(values[keep])
        self.values = np.empty((n, self.coef.shape[1]))

        def fill(rows: slice) -> None:
            if whole.stop():
                return
            tile = gram.scratch_block(gram.sample_block(rows, np.float64), here)
            np.matmul(tile, self.coef, out=self.values[rows])

        gram.workers.map(fill, pieces(n, ROWS_PER_TILE))

    def weighted_squares(self, d: np.ndarray) -> np.ndarray:
        """Σ dᵢ vᵢ vᵢᵀ over the values v at all points."""
        V, whole = self.values, self.whole

        def one(rows: slice) -> np.ndarray:
            if whole.stop():
                return np.zeros((V.shape[1], V.shape[1]))
            return V[rows].T @ (d[rows, np.newaxis] * V[rows])

        return sum(whole.gram.workers.map(one, pieces(whole.n, ROWS_PER_TILE)))


class _Hessian:
    """c ↦ c + D̄ K c of each task, and its inverse on the span of the basis."""

    def __init__(self, D: np.ndarray, basis: _Basis, fit_intercept: bool):
        self.D, self.basis = D, basis
        self.total = D.sum(axis=0) if fit_intercept else None
        V = basis.values
        self.factors = []
        for i, d in enumerate(D.T):
            H = np.eye(V.shape[1]) + basis.weighted_squares(d)
            if self.total is not None and self.total[i] > 0:
                mean = V.T @ d
                H -= np.outer(mean, mean / self.total[i])
            self.factors.append(_factor(H))

    def bend(self, Kc: np.ndarray) -> np.ndarray:
        """D̄ K c."""
        out = self.D * Kc
        if self.total is not None:
            out -= self.D * (out.sum(axis=0) / np.where(self.total > 0, self.total, 1.0))
        return out

    def precondition(self, c: np.ndarray, Kc: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Within the span of the basis H⁻¹ c, beside it c; and K times that."""
        inside = self.basis.values.T @ c
        change = -inside
        for i, factor in enumerate(self.factors):
            change[:, i] += cho_solve(factor, inside[:, i], check_finite=False)
        out = c.copy()
        out[self.basis.points] += self.basis.coef @ change
        return out, Kc + self.basis.values @ change


def _factor(H: np.ndarray) -> Any:
    """The Cholesky factor of H, or of H and a multiple of the identity: a preconditioner."""
    size = float(np.abs(H.diagonal()).max(initial=1.0))
    for attempt in range(MOST_SHIFTS):
        try:
            return cho_factor(H)
        except LinAlgError:
            H = H + SHIFT * SHIFT_GROWTH**attempt * size * np.eye(len(H))
    return cho_factor(np.eye(len(H)))


def _dots(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """The dot products of matching columns."""
    return np.einsum("ij,ij->j", A, B)


def _residuals(tasks: Sequence[_Task], whole: CachedGram) -> tuple[np.ndarray, np.ndarray]:
    """R and K R of every task, and the gap they say it has."""
    R = np.column_stack([task.residual() for task in tasks])
    KR = whole.matvec(R)
    lengths = np.sqrt(_dots(R, R) * _dots(KR, KR))
    for task, squared, length in zip(tasks, _dots(R, KR), lengths, strict=True):
        task.gap = max(float(squared), 0.0) / 2
        task.is_bent |= bool(squared < -ROUNDING * length)
    return R, KR


def _sum_afresh(tasks: Sequence[_Task], whole: CachedGram) -> None:
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
        b_interval=np.array([[task.b, task.b]]),
        violation=float(np.sqrt(2 * task.gap)),
        status=task.status or Status.STOPPED,
        iterations=task.steps,
        rounds=rounds,
        seconds=seconds,
    )


def with_bounds(
    problems: Sequence[Logistic], results: Sequence[Result], gram: BlockedGram, stopping: Stopping
) -> list[Result]:
    """The results with f, a bound on its errors, and one on the length of w − w̃.

    w̃ belongs to the dual point of the model (`Logistic.dual_point`). A fit that was stopped is
    given little time for that; beyond it the errors are infinite, but for the model β = 0.
    """
    stop = _Grace(stopping)
    R = [p.dual_point(r.f + r.b[0])[0] - r.beta for p, r in zip(problems, results, strict=True)]
    V = np.column_stack([*(r.beta for r in results), *R])
    found = bounded_product(gram, V, stop)
    out = []
    for t, (result, rest) in enumerate(zip(results, R, strict=True)):
        if found is None:
            error = np.inf if result.beta.any() else 0.0
            out.append(replace(result, f_error=np.full(rest.size, error), violation=np.inf))
            continue
        product, lost = found[0], found[1]
        of_f, of_R = t, len(results) + t
        error = lost[:, of_f] + np.abs(product[:, of_f] - result.f)
        square = float(rest @ product[:, of_R]) + float(np.abs(rest) @ lost[:, of_R])
        square += rest.size * _EPS * float(np.abs(rest) @ np.abs(product[:, of_R]))
        violation = float(np.sqrt(max(square, 0.0)))
        out.append(replace(result, f_error=error, violation=violation))
    return out


class _Grace:
    """Whether a fit that has been stopped has used up its last seconds."""

    def __init__(self, stopping: Stopping):
        self.stopping = stopping
        self.end: float | None = None

    def __call__(self) -> bool:
        if self.end is None:
            if self.stopping.stopped is None:
                return False
            self.end = time.perf_counter() + GRACE_SECONDS
        return time.perf_counter() >= self.end
