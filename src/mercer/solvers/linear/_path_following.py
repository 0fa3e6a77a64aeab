"""Warm starts: where a fit begins after another one, and path following for smooth losses.

XᵀDX scales almost linearly with C. Along a regularisation path L-BFGS (Nocedal and Wright,
Numerical Optimization, algorithm 7.4) starts from XᵀDX of an earlier C, scaled, and uses the last
``lbfgs_memory`` steps, of this C and of those before. A step is one product Xw and one Xᵀβ: the
gradient where it begins is known, and the gap comes with the gradient where it ends. A line search
is done only where the gap would not fall. Where the gap falls slowly XᵀDX is computed again; where
not even that helps, Newton's method takes over.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from mercer._result import LinearResult, Status, WarmStartState
from mercer.problems._losses import EPSILON_INSENSITIVE, hessian_diagonal, scale_duals
from mercer.problems._regularized_loss import LinearPrimal
from mercer.solvers.linear._design_matrix import DesignMatrix
from mercer.solvers.linear._gradient_dual import GradientDual, evaluate, regularizer_diagonal
from mercer.solvers.linear._newton_equations import factor_newton_equations, weighted_gram
from mercer.solvers.linear._smooth_newton import NewtonSettings

__all__ = ["Start", "follow_path", "restart", "warm_start"]

# All C have changed by one factor if the ratios differ by rounding only; scores of the same rows
# agree to this relative accuracy.
_SAME_RATIO, _SAME_SCORES = 1e-12, 1e-9


@dataclass(frozen=True, eq=False)
class Start:
    """The start of a fit: a model, duals, and what is known of them.

    ``known`` is what `evaluate` would return; ``state`` is that of the last fit, whose C were
    smaller by the factor ``C_ratio``; ``is_path`` says that the fit differs in C only. ``width`` is
    that of the first smooth problem of the proximal method; None: by `NewtonSettings`.
    """

    w: np.ndarray
    b: float
    beta: np.ndarray | None = None
    known: LinearResult | None = None
    state: WarmStartState | None = None
    C_ratio: float = 0.0
    is_path: bool = False
    width: float | None = None


def restart(
    problem: LinearPrimal, design: DesignMatrix, last: LinearResult, C: np.ndarray
) -> Start | None:
    """The start after a fit, with these C, to rows that may have been others.

    Value and gap of the old model are evaluated on these rows; the warm-start state is used if the
    scores are still the same. A model that is worse than w = 0 is discarded.
    """
    if last.w.size != design.d or not np.isfinite(last.w).all():
        return None
    zero, zero_w = np.zeros(problem.n), np.zeros(design.d)
    at_zero = problem.primal_and_gap(zero_w, 0.0, zero, zero, zero_w)[0]
    if last.beta.shape != (problem.n,):
        found = evaluate(problem, design, last.w, last.b)
        return Start(last.w, last.b) if found.primal < at_zero else None
    beta = np.empty(problem.n)
    scale_duals(last.beta, C, problem.C, beta)
    beta = problem.clipped(beta)
    is_smooth = problem.kind != EPSILON_INSENSITIVE
    found = evaluate(problem, design, last.w, last.b, None if is_smooth else beta)
    if not found.primal < at_zero:
        return None
    start = warm_start(problem, last, C)
    size = float(np.abs(last.g).max(initial=1.0))
    if start.known is None or np.abs(found.g - last.g).max() > _SAME_SCORES * size:
        return Start(last.w, last.b, beta, found)
    state = start.state
    if state is not None and is_smooth:  # the changes of the scores are those of other rows
        new = found.warm_start or WarmStartState()
        state = replace(
            state, C_ratio=0.0, signed_sums=new.signed_sums, signed_totals=new.signed_totals
        )
        found = replace(found, warm_start=state)
    return replace(start, beta=beta, known=found, state=state)


def warm_start(problem: LinearPrimal, last: LinearResult, C: np.ndarray) -> Start:
    """The start after a fit to the same rows with other C: its model.

    Duals keep their fraction of C; but those of wide data their value, which separable rows keep
    whatever C is.
    """
    if last.beta.size != problem.n:
        return Start(last.w, last.b, is_path=True)
    beta = np.empty(problem.n)
    least, most = scale_duals(last.beta, C, problem.C, beta)
    is_one_ratio = most - least <= _SAME_RATIO * most
    if problem.kind == EPSILON_INSENSITIVE and last.w.size > problem.n:
        return _with_clipped_duals(problem, last, most if is_one_ratio else 0.0)
    if not is_one_ratio:
        return Start(last.w, last.b, beta, is_path=True)
    state = last.warm_start
    if state is not None and problem.kind != EPSILON_INSENSITIVE:
        names = ("signed_sums", "signed_totals", "gram", "curvature_pairs")
        old = {name: getattr(state, name) for name in names}
        state = replace(state, **{k: most * v for k, v in old.items() if v is not None})
    known = replace(_scaled_solution(problem, last, beta, most), warm_start=state)
    return Start(last.w, last.b, beta, known, state, most, is_path=True)


def _with_clipped_duals(problem: LinearPrimal, last: LinearResult, C_ratio: float) -> Start:
    """The last model and its duals, which remain feasible where no C fell."""
    beta, known = np.clip(last.beta, -problem.C, problem.C), None
    if np.array_equal(beta, last.beta):
        primal, gap = problem.primal_and_gap(last.w, last.b, beta, last.g, last.w_beta)
        known = replace(last, primal=primal, gap=gap, status=Status.SOLVED, direct=False)
    return Start(last.w, last.b, beta, known, last.warm_start, C_ratio, is_path=True)


def _scaled_solution(
    problem: LinearPrimal, last: LinearResult, beta: np.ndarray, ratio: float
) -> LinearResult:
    """The last model with all C and duals times a ratio: its losses grow by just that factor."""
    penalty = problem.intercept_penalty or 0.0

    def quadratic_gap(w_beta: np.ndarray, total: float) -> float:
        off = last.w - w_beta
        off_b = last.b - total / penalty if penalty else 0.0
        return float(off @ off + penalty * off_b * off_b) / 2

    total = float(last.beta.sum()) if penalty else 0.0
    square = float(last.w @ last.w + penalty * last.b * last.b) / 2
    w_beta = ratio * last.w_beta
    primal = square + ratio * (last.primal - square)
    loss_gap = max(last.gap - quadratic_gap(last.w_beta, total), 0.0)
    gap = ratio * loss_gap + quadratic_gap(w_beta, ratio * total)
    known = replace(last, beta=beta, w_beta=w_beta, primal=primal, gap=gap)
    return replace(known, status=Status.SOLVED, direct=False)


def follow_path(
    problem: LinearPrimal,
    design: DesignMatrix,
    first: LinearResult,
    state: WarmStartState,
    tol: float,
    settings: NewtonSettings,
) -> tuple[LinearResult, int]:
    """L-BFGS steps from the first model; the better of both models, and the number of steps."""
    assert state.signed_sums is not None
    assert state.signed_totals is not None
    here = GradientDual(problem, first.w, first.b, first.g, state.signed_sums, state.signed_totals)
    lbfgs, gap, steps = _LBFGS.from_state(problem, state, settings), first.gap, 0
    target = tol * first.primal
    numbers_per_row = design.nnz // (settings.lbfgs_numbers_per_step * design.n)
    max_steps = max(settings.lbfgs_steps, numbers_per_row)
    grams, left, slow_left = 0, max_steps, max_steps // 3
    while True:
        step = lbfgs.step(here.gradient())
        h = design.matvec(step[:-1], float(step[-1]))
        there = here.after_step(design, step, h)
        steps, left = steps + 1, left - 1
        if not there.partial_gap() < gap:
            t = here.line_search(step, h)
            if t == 0:
                break
            step *= t
            there = here.after_step(design, step, t * h)
        before, gap = gap, there.partial_gap()
        slow_left -= gap > settings.lbfgs_slow_reduction * before
        lbfgs.update(step, there.gradient() - here.gradient())
        here = there
        if gap <= target:
            found = here.result
            if found.meets(tol):
                return lbfgs.keep_in(found), steps
            target *= 0.5
        if left == 0 or slow_left <= 0:
            if grams == settings.lbfgs_grams:
                break
            lbfgs = _LBFGS.at(here, design, settings)
            grams, left, slow_left = grams + 1, max_steps, max_steps // 3
    if here.beta is not None and here.result.gap < first.gap:
        return lbfgs.keep_in(here.result), steps
    return lbfgs.keep_in(first), steps


class _LBFGS:
    """XᵀDX of some point, and the last steps with the changes of the gradient along them."""

    def __init__(
        self,
        problem: LinearPrimal,
        gram: np.ndarray,
        steps: np.ndarray,
        curvature_pairs: np.ndarray,
        settings: NewtonSettings,
    ):
        self.gram, self.steps, self.curvature_pairs = gram, steps, curvature_pairs
        self.memory = settings.lbfgs_memory
        self.regularizer = regularizer_diagonal(problem, len(gram) - 1)
        self.solve = factor_newton_equations(gram, problem.intercept_penalty)

    @classmethod
    def from_state(
        cls, problem: LinearPrimal, state: WarmStartState, settings: NewtonSettings
    ) -> _LBFGS:
        assert state.gram is not None
        none = np.empty((0, len(state.gram)))
        steps = none if state.steps is None else state.steps
        changes = none if state.curvature_pairs is None else state.curvature_pairs
        return cls(problem, state.gram, steps, changes, settings)

    @classmethod
    def at(cls, here: GradientDual, design: DesignMatrix, settings: NewtonSettings) -> _LBFGS:
        problem, D = here.problem, np.empty(design.n)
        used, _ = hessian_diagonal(problem.kind, here.g, *problem.arrays, D)
        gram, _ = weighted_gram(design, D, used, settings)
        return cls.from_state(problem, WarmStartState(gram=gram), settings)

    def step(self, gradient: np.ndarray) -> np.ndarray:
        """−H⁻¹ gradient by the two-loop recursion, with the Newton equations as the initial H."""
        changes = self.steps * self.regularizer + self.curvature_pairs
        right = -gradient
        pairs = [
            (step, change, 1.0 / (step @ change))
            for step, change in zip(self.steps, changes, strict=True)
            if step @ change > 0
        ]
        factors = []
        for step, change, rho in reversed(pairs):
            factors.append(rho * (step @ right))
            right -= factors[-1] * change
        out = np.append(*self.solve(right[:-1], float(right[-1])))
        for step, change, rho in pairs:
            out += (factors.pop() - rho * (change @ out)) * step
        return out

    def update(self, step: np.ndarray, change: np.ndarray) -> None:
        """Remember a step and the change of the gradient along it, if the curvature is positive."""
        if step @ change > 0:
            of_losses = change - self.regularizer * step
            self.steps = np.vstack([self.steps, step])[-self.memory :]
            self.curvature_pairs = np.vstack([self.curvature_pairs, of_losses])[-self.memory :]

    def keep_in(self, result: LinearResult) -> LinearResult:
        """The result with these equations as a warm start."""
        assert result.warm_start is not None
        state = replace(
            result.warm_start,
            gram=self.gram,
            steps=self.steps,
            curvature_pairs=self.curvature_pairs,
        )
        return replace(result, warm_start=state)
