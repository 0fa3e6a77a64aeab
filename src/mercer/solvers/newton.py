"""Kernel logistic regression by Newton's method, each step by preconditioned conjugate gradients.

Vectors of feature space are kept as coefficients c and their image Kc: products of w = Σ cᵢφ(xᵢ)
with others are cᵀ(Kc'). With D the second derivatives of the costs, less what the best b takes
away (D̄ = D − D11ᵀD / 1ᵀD1), the objective has

    gradient  −R,  R = β(f + b) − β (what the model asks for, less what it has)
    Hessian   c ↦ c + D̄ K c

and a step of conjugate gradients takes one product with K, for all tasks at once. f = Kβ is
carried along. The preconditioner has the Hessian on the span of some random points and the
identity beside it; for few points or columns it is exact.

The run ends at the gap ½ RᵀKR (`mercer.problems.logistic`). Kernel values may be float32 on the
way, until they hinder progress; the f that is judged is summed in float64.

Reference: Keerthi, Duan, Shevade and Poo, Machine Learning 61, 2005 (the dual).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from mercer.gram import WholeGram
from mercer.gram.gram import pieces
from mercer.problems import Logistic
from mercer.result import Result, Status
from mercer.solvers.control import Control, Progress

__all__ = ["NewtonCG"]

# Points of the preconditioner, and the smallest eigenvalue of their K against the largest.
LANDMARKS = 256
SMALLEST = 1e-10
ROWS_PER_TILE = 1024
# A product cᵀKc below minus this share of |c| |Kc| is no rounding of float32 values.
ROUNDING = 1e-5
CG_STEPS = 500
# A step is solved to this share of its first residual, and better as the gap falls.
LOOSEST = 0.1
HALVINGS = 30
# Where no progress is left, a gap of up to so many times tol is almost a solution.
ALMOST = 10


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
        self, problems: Sequence[Logistic], whole: WholeGram, control: Control
    ) -> list[Result]:
        began = time.perf_counter()
        tasks = [_Task(problem) for problem in problems]
        basis = _Basis(whole)
        rounds = 0
        while active := [task for task in tasks if task.status is None]:
            R, KR = _residuals(active, whole)
            stopped = self._why_stop(active, control, rounds)
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
                stuck = self._step(moving, whole, basis, R[:, going], KR[:, going], control)
                rounds += 1
                if stuck and whole.dtype != np.float64:  # its rounding may be in the way
                    whole = WholeGram(whole.gram, 0, np.float64)
                    _sum_afresh(moving, whole)
                    continue
                for task in stuck:
                    task.status = self._verdict(task)
        seconds = time.perf_counter() - began
        return [_result(task, rounds, seconds) for task in tasks]

    def _why_stop(self, active: Sequence[_Task], control: Control, rounds: int) -> Status | None:
        worst = max(task.relative_gap for task in active)
        steps = sum(task.steps for task in active)
        now = Progress(
            control.seconds, rounds, steps, worst, self.tol,
            state=lambda: [(task.problem, _result(task, rounds, 0.0)) for task in active],
        )  # fmt: skip
        control.report(now)
        return control.stopped or (Status.ITERATION_LIMIT if rounds >= self.max_iter else None)

    def _step(
        self,
        tasks: Sequence[_Task],
        whole: WholeGram,
        basis: _Basis,
        R: np.ndarray,
        KR: np.ndarray,
        control: Control,
    ) -> list[_Task]:
        """One Newton step of every task; returns those whose objective it did not lower."""
        D = np.column_stack([task.problem.curvature(task.f + task.b) for task in tasks])
        eta = np.array([min(LOOSEST, np.sqrt(task.relative_gap)) for task in tasks])
        hessian = _Hessian(D, basis, tasks[0].problem.fit_intercept)
        delta, K_delta, steps = _conjugate_gradients(whole, hessian, R, KR, eta, control)
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
        if task.is_bent:
            return Status.NOT_PSD
        return Status.ALMOST_SOLVED if task.relative_gap <= ALMOST * self.tol else Status.STALLED


def _conjugate_gradients(
    whole: WholeGram,
    hessian: _Hessian,
    R: np.ndarray,
    KR: np.ndarray,
    eta: np.ndarray,
    control: Control,
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
        if not live.any() or control.stopped is not None:
            return delta, K_delta, step
        alpha = np.where(live, size / np.where(live, curvature, 1.0), 0.0)
        delta += alpha * p
        K_delta += alpha * Kp
        r -= alpha * (p + bent)
        Kr -= alpha * (Kp + whole.product(bent))
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

    def __init__(self, whole: WholeGram):
        gram, n = whole.gram, whole.n
        m = min(n, LANDMARKS)
        self.points = np.sort(np.random.default_rng(0).choice(n, m, replace=False))
        K = np.empty((n, m))
        here = gram.block(self.points, np.float64)

        def fill(rows: slice) -> None:
            gram.kernel.tile(gram.block(rows, np.float64), here, K[rows])

        gram.workers.map(fill, pieces(n, ROWS_PER_TILE))
        values, vectors = np.linalg.eigh(K[self.points])
        keep = values > SMALLEST * max(values[-1], 0.0)
        self.coef = vectors[:, keep] / np.sqrt(values[keep])
        self.values = K @ self.coef


class _Hessian:
    """c ↦ c + D̄ K c of each task, and its inverse on the span of the basis."""

    def __init__(self, D: np.ndarray, basis: _Basis, fit_intercept: bool):
        self.D, self.basis = D, basis
        self.total = D.sum(axis=0) if fit_intercept else None
        V = basis.values
        self.factors = []
        for i, d in enumerate(D.T):
            H = np.eye(V.shape[1]) + V.T @ (d[:, np.newaxis] * V)
            if self.total is not None and self.total[i] > 0:
                mean = V.T @ d
                H -= np.outer(mean, mean / self.total[i])
            self.factors.append(cho_factor(H, overwrite_a=True))

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
            change[:, i] += cho_solve(factor, inside[:, i])
        out = c.copy()
        out[self.basis.points] += self.basis.coef @ change
        return out, Kc + self.basis.values @ change


def _dots(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """The dot products of matching columns."""
    return np.einsum("ij,ij->j", A, B)


def _residuals(tasks: Sequence[_Task], whole: WholeGram) -> tuple[np.ndarray, np.ndarray]:
    """R and K R of every task, and the gap they say it has."""
    R = np.column_stack([task.residual() for task in tasks])
    KR = whole.product(R)
    lengths = np.sqrt(_dots(R, R) * _dots(KR, KR))
    for task, squared, length in zip(tasks, _dots(R, KR), lengths, strict=True):
        task.gap = max(float(squared), 0.0) / 2
        task.is_bent |= bool(squared < -ROUNDING * length)
    return R, KR


def _sum_afresh(tasks: Sequence[_Task], whole: WholeGram) -> None:
    """f = Kβ with float64 kernel values."""
    exact = whole.product(np.column_stack([task.beta for task in tasks]), np.float64)
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
