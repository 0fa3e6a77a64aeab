"""The maximum of the dual function: concave, with the constraints' values as a supergradient.

At any α a minimiser w of the Lagrangian gives q(α') ≤ f(w) + α'·g(w) for all α': a plane above q.

* One multiplier: bisection on the sign of g(w), which converges to α even where q is flat.
* Several: Kelley's cutting planes. The maximiser of the minimum of all planes is tried next.

Either way the planes bound d* from above, and the best q from below.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import bisect, linprog

from mercer.duality._minimise import SETTINGS

__all__ = ["maximise"]

LARGEST, FLAT = SETTINGS.largest_multiplier, SETTINGS.flat

# α ↦ q(α), and at a minimiser f(w) and the constraints' values g(w)
Oracle = Callable[[np.ndarray], tuple[float, np.ndarray]]


def maximise(oracle: Oracle, free: np.ndarray) -> tuple[np.ndarray, float, float]:
    """A maximiser, q there, and a bound on the maximum; ``free`` multipliers have any sign."""
    if free.size == 0:
        value, _ = oracle(np.empty(0))
        return np.empty(0), value, value
    if free.size == 1:
        return _bisection(oracle, bool(free[0]))
    return _cutting_planes(oracle, free)


def _bisection(oracle: Oracle, free: bool) -> tuple[np.ndarray, float, float]:
    tried: dict[float, tuple[float, float]] = {}

    def slope(a: float) -> float:
        if a not in tried:
            value, gradient = oracle(np.array([a]))
            tried[a] = value, float(gradient[0])
        return tried[a][1]

    sign = np.sign(slope(0.0))
    if sign == 0 or (sign < 0 and not free):
        return np.zeros(1), tried[0.0][0], tried[0.0][0]
    outer = sign
    while sign * slope(outer) > 0:  # in the direction of growth, until the slope changes its sign
        if abs(outer) >= LARGEST:
            value, left = tried[outer][0], abs(tried[outer][1])
            if left > FLAT:  # no feasible point: q grows without bound
                value = np.inf
            # else without Slater's condition: the supremum is approached, not attained
            return np.array([sign * np.inf]), value, value + left * LARGEST
        outer *= 2
    inner = outer / 2 if abs(outer) > 1 else 0.0
    turn = float(outer)
    if slope(outer) != 0:
        turn = bisect(slope, inner, outer, xtol=1e-12 * max(1.0, abs(outer)), disp=False)
    slope(turn)
    best = max(tried, key=lambda a: tried[a][0])
    top = tried[best][0]
    # Up to rounding a flat maximum has many maximisers: the one where the slope changes its sign.
    if tried[turn][0] >= top - 1e-12 * max(1.0, abs(top)):
        best = turn
    # The last tangents on both sides of the maximum meet above it.
    a = max((a for a, (_, s) in tried.items() if s * sign > 0), key=lambda a: sign * a)
    b = min((b for b, (_, s) in tried.items() if s * sign <= 0), key=lambda b: sign * b)
    (value_a, slope_a), (value_b, slope_b) = tried[a], tried[b]
    meet = (value_b - value_a - slope_b * (b - a)) / (slope_a - slope_b)  # from a on
    upper = max(value_a + slope_a * meet, top)
    return np.array([best]), top, float(upper)


def _cutting_planes(
    oracle: Oracle, free: np.ndarray, most: int = 300, tol: float = 1e-9
) -> tuple[np.ndarray, float, float]:
    m = free.size
    bounds = [(-LARGEST if any_sign else 0.0, LARGEST) for any_sign in free] + [(None, None)]
    alpha = where = np.zeros(m)
    best, planes, heights = -np.inf, [], []
    for _ in range(most):
        value, slope = oracle(alpha)
        if value > best:
            best, where = value, alpha
        planes.append(np.append(-slope, 1.0))  # height − slope·α' ≤ value − slope·α
        heights.append(value - slope @ alpha)
        model = linprog(
            np.append(np.zeros(m), -1.0), A_ub=np.array(planes), b_ub=heights, bounds=bounds
        )
        alpha, upper = model.x[:m], -model.fun
        if upper - best <= tol * max(1.0, abs(best)):
            break
    if np.abs(where).max() >= LARGEST:
        return np.full(m, np.inf), np.inf, np.inf
    return where, best, max(best, float(upper))
