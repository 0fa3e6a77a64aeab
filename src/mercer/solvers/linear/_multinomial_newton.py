"""Newton's method for multinomial logistic regression (`mercer.problems._multinomial`).

The Newton equations of all classes, coupled by the probabilities,

    (I + Xᵀ [C (diag p − p pᵀ)] X) step = −gradient

are solved by conjugate gradients (Lin, Weng and Keerthi, JMLR 9, 2008). They are preconditioned by
the blocks I + XᵀD_rX of single classes, D_r = C p_r (1 − p_r), where X has few columns; by one such
matrix for all classes, D = C (1 − Σ p²)/(K − 1), up to ``direct_columns``; and by the diagonal
beyond. A random subsample gives the start, as in `_newton`.

With β = C ([r = y] − p) the gap is half the squared gradient ½ Σ_r ‖w_r − Xᵀβ_r‖², once free
intercepts are the best ones for w.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.linalg import LinAlgError
from scipy.linalg.lapack import dpotrs

from mercer._result import Halted, LinearResult, Status
from mercer.problems._multinomial import Multinomial, softmax
from mercer.problems._regularized_loss import half_square
from mercer.solvers._conjugate_gradient import conjugate_gradient
from mercer.solvers._stopping import Progress, Stopping
from mercer.solvers.linear._class_products import ClassProducts
from mercer.solvers.linear._design_matrix import LocalMatrix, halting
from mercer.solvers.linear._newton_equations import newton_factor, weighted_gram
from mercer.solvers.linear._path_following import Start
from mercer.solvers.linear._smooth_newton import NewtonSettings, line_search

__all__ = ["MultinomialNewton", "MultinomialSettings"]


@dataclass(frozen=True)
class MultinomialSettings:
    """Tuning beside that of `NewtonSettings`."""

    # With at most this number of columns the preconditioner has a block for each class.
    block_columns: int = 48
    # The residual at which conjugate gradients stop, as a fraction of the first one, and as a
    # fraction of the gradient whose gap is the target.
    cg_reduction: float = 0.1
    cg_target: float = 0.5
    # Newton steps without a smaller gap after which the status is "stalled".
    idle_steps: int = 8
    newton: NewtonSettings = field(default=NewtonSettings(), repr=False)


@dataclass(frozen=True)
class MultinomialNewton:
    """Settings: relative gap ``tol``, at most ``max_iter`` Newton steps (−1: no limit)."""

    tol: float = 1e-4
    max_iter: int = -1
    seed: int = 0
    settings: MultinomialSettings = field(default=MultinomialSettings(), repr=False)

    def solve(
        self,
        problem: Multinomial,
        design: LocalMatrix,
        stopping: Stopping,
        start: Start | None = None,
    ) -> LinearResult:
        """The model of all classes, its duals and its gap."""
        began, before = time.perf_counter(), 0
        if start is None:
            start, before = self._solve_subsample(problem, design, stopping)
        found = _Run(self, problem, design, stopping, before).solve(start)
        return replace(found, seconds=time.perf_counter() - began)

    def _solve_subsample(
        self, problem: Multinomial, design: LocalMatrix, stopping: Stopping
    ) -> tuple[Start, int]:
        """The model of a subsample and its steps, or zero where all rows are few enough."""
        k, settings = problem.n_classes, self.settings.newton
        zero = Start(np.zeros((k, design.d)), np.zeros(k))  # type: ignore[arg-type]
        index = settings.subsample(design.n, design.d, self.seed)
        if index is None:
            return zero, 0
        some = problem.take(index, float(problem.C.sum() / problem.C[index].sum()))
        if np.bincount(some.codes, minlength=k).min() == 0:  # its intercept would be −∞
            return zero, 0
        inner = replace(self, tol=max(settings.subsample_gap, self.tol))
        found = inner.solve(some, design.take(index), stopping.quiet())
        return Start(found.w, found.b), found.iterations


class _Run:
    """One run: the model (w, b), its scores, and the best model so far."""

    best: LinearResult

    def __init__(
        self,
        solver: MultinomialNewton,
        problem: Multinomial,
        design: LocalMatrix,
        stopping: Stopping,
        before: int,
    ):
        self.solver, self.settings = solver, solver.settings
        self.problem, self.design, self.stopping = problem, design, stopping
        self.products = ClassProducts(design)
        self.penalty = problem.intercept_penalty
        self.steps, self.rounds, self.idle = before, 0, 0
        self.k, self.d = problem.n_classes, design.d

    def solve(self, start: Start) -> LinearResult:
        self.w, self.b = start.w, np.asarray(start.b)
        self.g = self.products.matmat(self.w, self.b)
        self._evaluate()
        status = None
        while status is None:
            status = Status.SOLVED if self.best.meets(self.solver.tol) else self._limit()
            if status is None and self.idle >= self.settings.idle_steps:
                status = Status.STALLED
            if status is None:
                before = self.best.gap
                status = self._advance()
                self.idle = 0 if self.best.gap < before else self.idle + 1
                self._report()
        return replace(self.best, status=status, iterations=self.steps, rounds=self.rounds)

    def _advance(self) -> Status | None:
        """One Newton step; a status where there can be no other."""
        try:
            with halting(self.design, self.stopping):
                is_descent = self._step()
                self._evaluate()
        except Halted:
            return self._limit()
        except LinAlgError:
            return Status.STALLED
        return None if is_descent else Status.STALLED

    def _limit(self) -> Status | None:
        if 0 <= self.solver.max_iter <= self.steps:
            return Status.ITERATION_LIMIT
        return self.stopping.stopped

    def _report(self) -> None:
        if self.stopping.callback is not None:
            effort = self.stopping.seconds, self.rounds, self.steps
            best = self.best
            self.stopping.report(
                Progress(
                    *effort,
                    best.relative_gap,
                    self.solver.tol,
                    state=lambda: [(self.problem, best)],
                )
            )

    def _evaluate(self) -> None:
        """Gradient and gap of the model, with its best intercepts where they are free."""
        problem = self.problem
        self.rounds += 1
        if self.penalty == 0:
            shift = problem.best_intercepts(self.g)
            self.b, self.g = self.b + shift, self.g + shift
        self.beta = problem.gradient_duals(self.g)
        w_beta = self.products.rmatmat(self.beta)
        self.grad_w = self.w - w_beta
        total = self.beta.sum(axis=0)
        self.grad_b = np.zeros(self.k) if self.penalty is None else (self.penalty * self.b - total)
        primal = half_square(self.w) + problem.loss(self.g)
        gap = half_square(self.grad_w)
        if self.penalty:
            primal += self.penalty * float(self.b @ self.b) / 2
            gap += float(self.grad_b @ self.grad_b) / (2 * self.penalty)
        found = LinearResult(
            self.w,
            self.b - self.b.mean(),
            self.beta,
            self.g,
            w_beta,
            primal,
            gap,
            is_gradient_dual=True,
        )
        if not hasattr(self, "best") or found.finite_gap < self.best.finite_gap:
            self.best = found

    def _step(self) -> bool:
        """A Newton step with a line search; False where float64 knows no descent."""
        problem = self.problem
        p = softmax(self.g)
        weighted = problem.C[:, np.newaxis] * p
        step = self._direction(p, weighted)
        step -= step.mean(axis=0)  # the optimum has Σ_r w_r = 0
        step_w, step_b = np.ascontiguousarray(step[:, :-1]), step[:, -1].copy()
        h = self.products.matmat(step_w, step_b)
        penalty = self.penalty or 0.0
        square = float(np.vdot(step_w, step_w)) + penalty * float(step_b @ step_b)
        linear = float(np.vdot(self.w, step_w)) + penalty * float(self.b @ step_b)

        def derivatives(t: float) -> tuple[float, float]:
            first, second = problem.directional_derivatives(self.g, h, t)
            return linear + t * square + first, square + second

        slope = float(np.vdot(self.grad_w, step_w)) + float(self.grad_b @ step_b)
        t = line_search(derivatives, slope)
        if t == 0:
            return False
        self.w = self.w + t * step_w
        self.b, self.g = self.b + t * step_b, self.g + t * h
        self.steps += 1
        return True

    def _direction(self, p: np.ndarray, weighted: np.ndarray) -> np.ndarray:
        """The Newton step (w, b), a row for each class, by conjugate gradients."""
        k, d, settings = self.k, self.d, self.settings
        has_b, penalty = self.penalty is not None, self.penalty or 0.0
        rhs = np.column_stack([-self.grad_w, -self.grad_b if has_b else np.zeros(k)])

        def apply(v: np.ndarray) -> np.ndarray:
            V = v.reshape(k, d + 1)
            b = V[:, d].copy() if has_b else np.zeros(k)
            out = self.products.hessian_product(p, weighted, V[:, :d], b)
            out[:, :d] += V[:, :d]
            out[:, d] = out[:, d] + penalty * b if has_b else 0.0
            return out.ravel()

        target = settings.cg_target * self.solver.tol * self.best.primal
        scale = np.ones((k, d + 1))  # of squares in the gap
        scale[:, d] = 1 / penalty if penalty else 1.0
        scale = scale.ravel()
        precondition = self._preconditioner(p, weighted)
        end = settings.cg_reduction**2 * float(rhs.ravel() @ precondition(rhs.ravel()))

        def stop(x: np.ndarray, r: np.ndarray, rho: float) -> bool:
            return rho <= end or float(r @ (scale * r)) / 2 <= target

        steps = settings.newton.cg_steps
        found = conjugate_gradient(apply, rhs.ravel(), stop, steps, precondition)
        return found.reshape(k, d + 1)

    def _preconditioner(
        self, p: np.ndarray, weighted: np.ndarray
    ) -> Callable[[np.ndarray], np.ndarray]:
        k, d, settings = self.k, self.d, self.settings
        if d > settings.newton.direct_columns:
            return self._diagonal(p, weighted)
        if d <= settings.block_columns:
            weights = [weighted[:, r] * (1 - p[:, r]) for r in range(k)]
        else:
            weights = [(weighted * (1 - p)).sum(axis=1) / (k - 1)]
        factors = []
        for D in weights:
            gram, ridge = weighted_gram(self.design, D, self.design.n, settings.newton)
            extra = 1e-12 * float(D.sum()) + 1e-300 if not self.penalty else 0.0
            factors.append(newton_factor(gram, self.penalty, extra, ridge))
        size = len(factors[0])  # d, and one more with an intercept

        def precondition(v: np.ndarray) -> np.ndarray:
            V = v.reshape(k, d + 1)[:, :size]
            out = np.zeros((k, d + 1))
            if len(factors) == 1:
                out[:, :size] = dpotrs(factors[0], V.T)[0].T
            else:
                for r, factor in enumerate(factors):
                    out[r, :size] = dpotrs(factor, V[r])[0]
            return out.ravel()

        return precondition

    def _diagonal(self, p: np.ndarray, weighted: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """1 + Σ D x² of every column, for rows with many columns."""
        D = weighted * (1 - p)
        penalty = self.penalty or 0.0
        diagonal = np.empty((self.k, self.d + 1))
        diagonal[:, :-1] = 1.0 + self.products.squares(D)
        diagonal[:, -1] = np.maximum(D.sum(axis=0) + penalty, 1e-300)
        flat = diagonal.ravel()
        return lambda v: v / flat
