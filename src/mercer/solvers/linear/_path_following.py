"""Smooth losses along prices: quasi-Newton steps with the equations of the last fit.

XᵀDX grows with the prices, and changes little otherwise: the old one, in their proportion, is where
BFGS's begins (Nocedal and Wright, Numerical Optimization, algorithm 7.4), corrected by what the
last few steps taught, at these prices and at those before. A step is one product Xw and one Xᵀβ:
the gradient where it begins is known, and the gap comes with the gradient where it ends. A line is
searched only where the gap would not fall. Where steps do not bring it down fast, XᵀDX is taken
again; where not even then, that is for Newton's method.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mercer._result import LinearResult, Wake
from mercer.problems._losses import curvatures
from mercer.problems._regularized_loss import LinearPrimal
from mercer.solvers.linear._design_matrix import Rows
from mercer.solvers.linear._gradient_dual import Own
from mercer.solvers.linear._smooth_newton import RIDGE, newton_equations, product

__all__ = ["along"]

# Steps with one XᵀDX at one price: so many, or as many as it is worth, which is one for so many
# numbers in a row. A third of them may leave more than this part of the gap.
STEPS, ROW_PER_STEP, LEFT = 3, 6, 0.4
# XᵀDX is taken so many times.
GRAMS = 2
# Steps that are remembered.
MEMORY = 5


def along(
    problem: LinearPrimal, rows: Rows, first: LinearResult, wake: Wake, tol: float
) -> tuple[LinearResult, int]:
    """A model that is better than the first, if there is one, and the steps taken."""
    assert wake.sums is not None
    assert wake.totals is not None
    here = Own(problem, first.w, first.b, first.g, wake.sums, wake.totals)
    chord, gap, steps = _Chord.of(problem, wake), first.gap, 0
    enough = tol * first.primal
    most = max(STEPS, rows.stored // (ROW_PER_STEP * rows.n))
    grams, left, patience = 0, most, most // 3
    while True:
        step = chord.step(here.gradient())
        h = rows.scores(step[:-1], float(step[-1]))
        there = here.moved(rows, step, h, 1.0)
        steps, left = steps + 1, left - 1
        if not there.gap() < gap:
            t = here.line(step, h)
            if t == 0:
                break
            step *= t
            there = here.moved(rows, step, h, t)
        before, gap = gap, there.gap()
        patience -= gap > LEFT * before
        chord.learn(step, there.gradient() - here.gradient())
        here = there
        if gap <= enough:
            found = here.result
            if found.gap <= tol * found.primal:
                return _left(found, chord), steps
            enough *= 0.5
        if left == 0 or patience <= 0:
            if grams == GRAMS:
                break
            chord, grams, left, patience = _Chord.at(here, rows), grams + 1, most, most // 3
    if here.beta is None:
        return _left(first, chord), steps
    found = here.result
    return _left(found if found.gap < first.gap else first, chord), steps


def _left(result: LinearResult, chord: _Chord) -> LinearResult:
    assert result.wake is not None
    return replace(result, wake=replace(
        result.wake, gram=chord.gram, steps=chord.steps, bends=chord.bends
    ))  # fmt: skip


class _Chord:
    """The equations: XᵀDX of some point, and what steps from there on taught."""

    def __init__(
        self, problem: LinearPrimal, gram: np.ndarray, steps: np.ndarray, bends: np.ndarray
    ):
        self.problem, self.gram, self.steps, self.bends = problem, gram, steps, bends
        self.solve = newton_equations(gram, problem.kappa, 0.0, RIDGE[np.float32])

    @classmethod
    def of(cls, problem: LinearPrimal, wake: Wake) -> _Chord:
        assert wake.gram is not None
        nothing = np.empty((0, len(wake.gram)))
        steps, bends = (nothing if known is None else known for known in (wake.steps, wake.bends))
        return cls(problem, wake.gram, steps, bends)

    @classmethod
    def at(cls, here: Own, rows: Rows) -> _Chord:
        curvature = np.empty(rows.n)
        used, _ = curvatures(here.problem.kind, here.g, *here.problem.arrays, curvature)
        gram, _ = product(rows, curvature, used)
        return cls.of(here.problem, Wake(gram=gram))

    def step(self, gradient: np.ndarray) -> np.ndarray:
        """BFGS's: corrections by what was learnt, the last first, around Newton's equations."""
        changes = self.steps * self._price + self.bends
        right = -gradient
        pairs = [
            (step, change, 1.0 / (step @ change))
            for step, change in zip(self.steps, changes, strict=True)
            if step @ change > 0
        ]
        shares = []
        for step, change, scale in reversed(pairs):
            shares.append(scale * (step @ right))
            right -= shares[-1] * change
        out = np.append(*self.solve(right[:-1], float(right[-1])))
        for step, change, scale in pairs:
            out += (shares.pop() - scale * (change @ out)) * step
        return out

    def learn(self, step: np.ndarray, change: np.ndarray) -> None:
        """That such a step changed the gradient by so much."""
        if step @ change > 0:
            self.steps = np.vstack([self.steps, step])[-MEMORY:]
            self.bends = np.vstack([self.bends, change - self._price * step])[-MEMORY:]

    @property
    def _price(self) -> np.ndarray:
        """What the regularizer adds to a change of the gradient."""
        price = np.ones(len(self.gram))
        price[-1] = self.problem.kappa or 0.0
        return price
