"""Newton's method for smooth losses.

    F(w, b) = ½‖w‖² + ½ κ b² + Σ Lᵢ(xᵢ·w + b)

Squared losses are piecewise quadratic: semismooth Newton steps with an exact line search end after
finitely many. Only rows on the wrong side of their edge have a curvature, so XᵀDX is taken over
those. Up to `DIRECT_COLUMNS` columns the equations are solved by Cholesky, beyond by conjugate
gradients.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError
from scipy.linalg.lapack import dpotrf, dpotrs

from mercer.problems._losses import curvatures, responses, slope
from mercer.problems._regularized_loss import LinearPrimal
from mercer.solvers.linear._design_matrix import Rows

__all__ = ["DIRECT_COLUMNS", "Smooth", "line_search", "newton_equations", "product", "unbalanced"]

# Up to so many columns the Newton equations are solved by Cholesky; beyond, by conjugate gradients.
DIRECT_COLUMNS = 1500
CG_STEPS = 200
# The line search ends where the slope is this part of what it was.
SLOPE_LEFT = 0.1
LINE_STEPS = 40
STEPS = 100
# XᵀDX over more rows than this is multiplied in float32: directions need few digits there, and
# later steps, over fewer rows, make up for it.
FLOAT32_ROWS = 30_000
RIDGE = {np.float32: 1e-8, np.float64: 1e-13}
RIDGE_GROWS = 30.0
# Equations are scaled where their diagonal is more uneven than this.
UNEVEN = 1e4


class Smooth:
    """The point (w, b) and its duals β = −L'(g).

    ``reach`` is by how much Xᵀβ changes where Σβ = 0 takes one unit of β, 0 if that is not known.
    """

    reduction = 0.1  # of the gradient, by conjugate gradients

    def __init__(
        self, rows: Rows, problem: LinearPrimal, w: np.ndarray, b: float, g: np.ndarray,
        reach: float = 0.0,
    ):  # fmt: skip
        self.rows, self.problem = rows, problem
        self.w, self.b, self.g = w, b, g.copy()
        self.beta, self.curvature = np.empty(rows.n), np.empty(rows.n)
        self.gram: np.ndarray | None = None
        self.steps = 0
        self.enough, self.reach = 0.0, reach

    def solve(self, enough: float, width: float, stop: Callable[[], bool]) -> None:
        """Newton steps until the gap, which is what the gradient leaves, is ``enough``."""
        self.enough = enough
        for _ in range(STEPS):
            grad_w, grad_b = self._gradient()
            if self._gap(grad_w, grad_b) <= enough or stop() or not self._step(grad_w, grad_b):
                return
            self.steps += 1

    def _gap(self, grad_w: np.ndarray, grad_b: float) -> float:
        if self.reach:
            return (float(np.sqrt(grad_w @ grad_w)) + self.reach * abs(grad_b)) ** 2 / 2
        return float(grad_w @ grad_w) / 2 + unbalanced(self.problem.kappa, grad_b)

    def _gradient(self) -> tuple[np.ndarray, float]:
        problem = self.problem
        total = responses(problem.kind, self.g, *problem.arrays, self.beta)
        grad_b = 0.0 if problem.kappa is None else problem.kappa * self.b - total
        return self.w - self.rows.sum(self.beta), grad_b

    # ------------------------------------------------------------------ a step

    def _step(self, grad_w: np.ndarray, grad_b: float) -> bool:
        """One Newton step; False where there is no way down in float64."""
        return self._along(grad_w, grad_b, *self._curvatures(), grad_w, grad_b)

    def _along(
        self, grad_w: np.ndarray, grad_b: float, used: int, total: float,
        true_w: np.ndarray, true_b: float,
    ) -> bool:  # fmt: skip
        """A step to where such a gradient, or the true one, vanishes under these curvatures."""
        if self.rows.d <= DIRECT_COLUMNS:
            step_w, step_b = self._direct(grad_w, grad_b, used)
        else:
            step_w, step_b = self._conjugate(grad_w, grad_b, total)
        h = self.rows.scores(step_w, step_b)
        t = self._line(step_w, step_b, h, float(true_w @ step_w) + true_b * step_b)
        if t == 0:
            return False
        self.w = self.w + t * step_w
        self.b += t * step_b
        self.g += t * h
        return True

    def _curvatures(self) -> tuple[int, float]:
        return curvatures(self.problem.kind, self.g, *self.problem.arrays, self.curvature)

    def _slope(self, h: np.ndarray, t: float) -> tuple[float, float]:
        return slope(self.problem.kind, self.g, h, t, *self.problem.arrays)

    def _direct(self, grad_w: np.ndarray, grad_b: float, used: int) -> tuple[np.ndarray, float]:
        self.gram, ridge = product(self.rows, self.curvature, used)
        # Where nothing holds b: a step of 1 in the scores.
        hold_b = 0.0 if used or self.problem.kappa else abs(grad_b) or 1.0
        solve = newton_equations(self.gram, self.problem.kappa, hold_b, ridge)
        return solve(-grad_w, -grad_b)

    def _conjugate(
        self, grad_w: np.ndarray, grad_b: float, total: float
    ) -> tuple[np.ndarray, float]:
        """Conjugate gradients, b measured as in the gap, or, if it is free, by its curvature.

        What is left of the gradient is what the gap will be, the losses' curve apart; what is left
        of Σβ = 0 will be scaled away.
        """
        has_b = self.problem.kappa is not None
        hold_b = self.problem.kappa or total
        if hold_b == 0:
            hold_b = abs(grad_b) or 1.0

        def apply(v: np.ndarray, v_b: float) -> tuple[np.ndarray, float]:
            out, out_b = self.rows.bend(self.curvature, v, v_b)
            out += v
            out_b += ((self.problem.kappa or 0.0) + 1e-12 * hold_b) * v_b
            return out, out_b if has_b else 0.0

        x, x_b = np.zeros_like(grad_w), 0.0
        r, r_b = -grad_w, -grad_b if has_b else 0.0
        z_b = r_b / hold_b
        p, p_b = r.copy(), z_b
        rho = r @ r + r_b * z_b
        end = self.reduction**2 * rho
        for _ in range(CG_STEPS):
            left = np.sqrt(r @ r + (r_b * z_b if self.problem.kappa else 0.0))
            if rho <= end or (left + self.reach * abs(r_b)) ** 2 <= self.enough:
                break
            q, q_b = apply(p, p_b)
            bend = p @ q + p_b * q_b
            if not 0 < bend < np.inf:  # beyond what float64 can tell
                break
            a = rho / bend
            x += a * p
            x_b += a * p_b
            q *= a
            r -= q
            r_b -= a * q_b
            z_b = r_b / hold_b
            rho, before = r @ r + r_b * z_b, rho
            p *= rho / before
            p += r
            p_b = z_b + (rho / before) * p_b
        return x, float(x_b)

    def _line(self, step_w: np.ndarray, step_b: float, h: np.ndarray, slope: float) -> float:
        """The t with a zero slope of F along the step, from its slope at 0."""
        square = float(step_w @ step_w) + (self.problem.kappa or 0.0) * step_b * step_b
        linear = slope + float(self.beta @ h)  # all but the losses of these rows

        def at(t: float) -> tuple[float, float]:
            first, second = self._slope(h, t)
            return linear + t * square + first, square + second

        return line_search(at, slope)


def line_search(at: Callable[[float], tuple[float, float]], start: float) -> float:
    """Where a rising slope, ``start`` < 0 at 0, is about zero: Newton's method between brackets.

    ``at(t)`` gives slope and curvature. Returns 0 where there is no way down in float64.
    """
    if not start < 0:
        return 0.0
    low, high, t = 0.0, np.inf, 1.0
    for _ in range(LINE_STEPS):
        first, second = at(t)
        if abs(first) <= SLOPE_LEFT * -start:
            return t
        if first < 0:
            low = t
        else:
            high = t
        new = t - first / second if second > 0 else np.inf
        if not low < new < high:
            new = (low + high) / 2 if np.isfinite(high) else 4 * t
        t = new
    return low or t


def unbalanced(kappa: float | None, grad_b: float) -> float:
    """What κ b ≠ Σβ adds to the gap: exactly for κ > 0, as an estimate for κ = 0."""
    if kappa:
        return grad_b * grad_b / (2 * kappa)
    return abs(grad_b)


def product(rows: Rows, curvature: np.ndarray, used: int) -> tuple[np.ndarray, float]:
    """XᵀDX, of which so many rows are used, and the ridge that its rounding asks for."""
    dtype = np.float32 if used > FLOAT32_ROWS else np.float64
    return rows.gram(curvature, dtype), RIDGE[dtype]


def newton_equations(
    gram: np.ndarray, kappa: float | None, hold_b: float, ridge: float
) -> Callable[[np.ndarray, float], tuple[np.ndarray, float]]:
    """Factor I + XᵀDX, bordered by the intercept; the function that solves with it."""
    d = len(gram) - 1
    H = gram.copy()
    diagonal = H.ravel()[:: d + 2]
    diagonal[:d] += 1.0
    if kappa is None:
        H = H[:d, :d]
    else:
        diagonal[d] += kappa + hold_b
    diagonal = H.diagonal()
    least, most = float(diagonal.min()), float(diagonal.max())
    if not 0 < least <= most < np.inf:
        raise LinAlgError("Newton's equations are not finite")
    scale: Any = 1.0
    if most > UNEVEN * least:
        # A diagonal of ones: rounding, and the ridge for it, are then as small as columns allow.
        scale = 1 / np.sqrt(diagonal)
        H = H * scale * scale[:, np.newaxis]
        most = 1.0
    factor = _factor(H, ridge, most)

    def solve(right_w: np.ndarray, right_b: float) -> tuple[np.ndarray, float]:
        if kappa is None:
            return scale * dpotrs(factor, scale * right_w)[0], 0.0
        step, _ = dpotrs(factor, scale * np.append(right_w, right_b))
        step = scale * step
        return step[:d], float(step[d])

    return solve


def _factor(H: np.ndarray, ridge: float, most: float) -> np.ndarray:
    """Cholesky's, of H with as much on its diagonal as rounding asks for.

    The lower half is the upper one of the transpose, which LAPACK takes without a copy.
    """
    while ridge < 1:
        stiff = H.copy()
        stiff.ravel()[:: len(H) + 1] += ridge * most
        factor, failed = dpotrf(stiff.T, lower=0, clean=0, overwrite_a=1)
        if not failed:
            return factor
        ridge *= RIDGE_GROWS
    raise LinAlgError("Newton's equations are not finite")
