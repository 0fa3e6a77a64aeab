"""The mixture of two models with the smallest primal value.

With f = Kβ known at all points for β₁ and β₂, so is that of (1 − s)β₁ + sβ₂, which is feasible for
0 ≤ s ≤ 1; P is convex in (s, b). The model of a sample and what a pass of block ascent makes of it
err to opposite sides (too small and too large a norm), so that the best of them lies between.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mercer._precision import EPS
from mercer.problems._dual_qp import BoxQP
from mercer.problems._kkt import intercepts
from mercer.solvers.smo._gradient import Settled

__all__ = ["mixed"]

# Rounds of the search for (s, b), and the halvings of each interval.
ROUNDS, HALVINGS = 3, 12


def mixed(problem: BoxQP, first: Settled, second: Settled) -> tuple[Settled, np.ndarray | None]:
    """The best mixture of two states whose f is known at all points, and its intercept.

    For at most one intercept; None where there is none.
    """
    values = [problem.at_variables(each.gradient.f) for each in (first, second)]
    b = 0.0
    if problem.n_groups:
        b = float(intercepts(problem, first.beta, first.gradient.f)[0][0])
    coefs = [each.gradient.coefficients(each.beta) for each in (first, second)]
    forms = [[float(c @ each.gradient.f) for each in (first, second)] for c in coefs]

    def primal(s: float, b: float) -> float:
        t = 1 - s
        quad = t * t * forms[0][0] + t * s * (forms[0][1] + forms[1][0]) + s * s * forms[1][1]
        r = problem.target - (t * values[0] + s * values[1]) - b
        return quad / 2 + float(problem.losses(r).sum())

    s, reach = 0.0, 1.0 + float(np.ptp(problem.target))
    for _ in range(ROUNDS):
        s = _minimum(lambda x, b=b: primal(x, b), 0.0, 1.0)  # type: ignore[misc]
        if problem.n_groups:
            b = _minimum(lambda x, s=s: primal(s, x), b - reach, b + reach)  # type: ignore[misc]
            reach /= 4
    state = first if s == 0 else second if s == 1 else _mixture(problem, first, second, s)
    return state, np.array([b]) if problem.n_groups else None


def _minimum(value: Callable[[float], float], low: float, high: float) -> float:
    """Of a convex function, by ternary search; an end of the interval if that is as good."""
    ends = [(value(x), x) for x in (low, high)]
    for _ in range(HALVINGS):
        third = (high - low) / 3
        if value(low + third) < value(high - third):
            high -= third
        else:
            low += third
    middle = (low + high) / 2
    return min([*ends, (value(middle), middle)])[1]


def _mixture(problem: BoxQP, first: Settled, second: Settled, s: float) -> Settled:
    """(1 − s)β₁ + sβ₂ with f and a bound on its error.

    The error of a sum of m terms is bounded with (m + 2) units for each, of which rounding of the
    mixture takes at most two more: twice the bound contains it.
    """
    one, other = first.gradient, second.gradient
    f = (1 - s) * one.f + s * other.f
    error = 2 * ((1 - s) * one.error + s * other.error)
    error += 4 * EPS * (np.abs(one.f) + np.abs(other.f))
    gradient = one.copy()
    gradient.set_exact(np.arange(f.size), f, error)
    gradient.is_fresh[:] = False
    beta = (1 - s) * first.beta + s * second.beta
    return Settled(np.clip(beta, problem.lower, problem.upper), gradient)
