"""The mixture of two models with the smallest primal value.

With f = Kβ known at all points for β₁ and β₂, so is that of (1 − s)β₁ + sβ₂, which is feasible for
0 ≤ s ≤ 1; P is convex in (s, b). The model of a sample and what a sweep makes of it err to opposite
sides (too small and too large a norm), so that the best of them lies between.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mercer._precision import EPS
from mercer.problems._dual_qp import BoxQP
from mercer.problems._kkt import intercepts
from mercer.solvers.smo._gradient import Settled

__all__ = ["MixtureSettings", "mixed"]


@dataclass(frozen=True)
class MixtureSettings:
    """How s and b are searched for.

    Attributes
    ----------
    points : int
        The search sums the losses of at most so many, drawn at random; the sum over all decides.
    rounds : int
        Each searches for s and then for b.
    steps : int
        Of ternary search, each of which takes a third of the interval away.
    """

    points: int = 30_000
    rounds: int = 3
    steps: int = 12


SETTINGS = MixtureSettings()


def mixed(
    problem: BoxQP, first: Settled, second: Settled, settings: MixtureSettings = SETTINGS
) -> tuple[Settled, np.ndarray | None]:
    """The best mixture of two states whose f is known at all points, and its intercept.

    For problems of at most one intercept. The first one with None if nothing better is found.
    """
    states, start = (first, second), intercepts(problem, first.beta, first.gradient.f)[0]
    coefs = [each.gradient.coefficients(each.beta) for each in states]
    forms = np.array([[float(c @ each.gradient.f) for each in states] for c in coefs])

    def primal(part: BoxQP, f: list[np.ndarray], times: float, s: float, b: float) -> float:
        share = np.array([1 - s, s])
        r = part.target - part.at_variables(share[0] * f[0] + share[1] * f[1]) - b
        return float(share @ forms @ share) / 2 + times * float(part.losses(r).sum())

    n = coefs[0].size
    some = np.sort(np.random.default_rng(0).permutation(n)[: settings.points])
    of_some = problem.take(some), [each.gradient.f[some] for each in states], n / some.size
    of_all = problem, [each.gradient.f for each in states], 1.0
    first_b = float(start[0]) if start.size else 0.0
    s, b, reach = 0.0, first_b, 1.0 + float(np.ptp(problem.target))
    for _ in range(settings.rounds):
        s = _minimum(lambda x, b=b: primal(*of_some, x, b), 0.0, 1.0, settings.steps)  # type: ignore[misc]
        if start.size:
            ends = b - reach, b + reach
            b = _minimum(lambda x, s=s: primal(*of_some, s, x), *ends, settings.steps)  # type: ignore[misc]
            reach /= 4
    if not primal(*of_all, s, b) < primal(*of_all, 0.0, first_b):
        return first, None
    state = first if s == 0 else second if s == 1 else _mixture(problem, first, second, s)
    return state, np.array([b]) if start.size else None


def _minimum(value: Callable[[float], float], low: float, high: float, steps: int) -> float:
    """Of a convex function, by ternary search; an end of the interval if that is as good."""
    ends = [(value(x), x) for x in (low, high)]
    for _ in range(steps):
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
