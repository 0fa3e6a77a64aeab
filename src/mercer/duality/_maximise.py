"""The maximum of the dual function: concave, with the constraints' values as a supergradient.

At any α a minimiser w of the Lagrangian gives q(α') ≤ f(w) + α'·g(w) for all α': a plane above q.

* One multiplier: bisection on the sign of g(w), which finds α even where q is flat.
* Several: Kelley's cutting planes. The highest point below all planes found so far is tried next.

Either way the planes bound d* from above, and the best q from below.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import linprog

__all__ = ["maximise"]

LARGEST = 1e6  # multipliers beyond this are as good as infinite: no feasible point has been found
HALVINGS = 60
PLANES = 300
CLOSE = 1e-10  # relative distance of the two bounds at which cutting planes stop

# α ↦ q(α), and at a minimiser f(w) and the constraints' values g(w)
Oracle = Callable[[np.ndarray], tuple[float, np.ndarray]]


def maximise(oracle: Oracle, free: np.ndarray) -> tuple[np.ndarray, float, float]:
    """A maximiser, q there, and a bound on the maximum; ``free`` multipliers have any sign."""
    if free.size == 0:
        value, _ = oracle(np.empty(0))
        return np.empty(0), value, value
    return _bisect(oracle, bool(free[0])) if free.size == 1 else _cutting_planes(oracle, free)


def _bisect(oracle: Oracle, free: bool) -> tuple[np.ndarray, float, float]:
    def at(a: float) -> tuple[float, float]:
        value, slope = oracle(np.array([a]))
        return value, float(slope[0])

    value, slope = at(0.0)
    if slope == 0 or (slope < 0 and not free):
        return np.zeros(1), value, value
    # outwards in the direction of growth, until the slope turns
    sign, inner, outer = np.sign(slope), 0.0, 1.0
    tried = {0.0: (value, slope)}
    while True:
        tried[sign * outer] = at(sign * outer)
        if tried[sign * outer][1] * sign <= 0:
            break
        if outer >= LARGEST:
            return np.array([sign * np.inf]), np.inf, np.inf
        inner, outer = outer, 2 * outer
    for _ in range(HALVINGS):
        middle = (inner + outer) / 2
        tried[sign * middle] = at(sign * middle)
        if tried[sign * middle][1] * sign > 0:
            inner = middle
        else:
            outer = middle
        if outer - inner <= 1e-12 * max(1.0, outer):
            break
    best = max(tried, key=lambda a: tried[a][0])
    # A flat top has many maximisers up to rounding: the one where the slope turns is meant.
    turn = sign * (inner + outer) / 2
    top = tried[best][0]
    if at(turn)[0] >= top - 1e-12 * max(1.0, abs(top)):
        best = turn
    # where the two last tangents meet is above the maximum
    (v1, s1), (v2, s2) = tried[sign * inner], tried[sign * outer]
    upper = max(v1 + s1 * sign * (outer - inner), v2 - s2 * sign * (outer - inner), top)
    return np.array([best]), top, float(upper)


def _cutting_planes(oracle: Oracle, free: np.ndarray) -> tuple[np.ndarray, float, float]:
    m = free.size
    bounds = [(-LARGEST if any_sign else 0.0, LARGEST) for any_sign in free] + [(None, None)]
    alpha = where = np.zeros(m)
    best, planes, heights = -np.inf, [], []
    for _ in range(PLANES):
        value, slope = oracle(alpha)
        if value > best:
            best, where = value, alpha
        planes.append(np.append(-slope, 1.0))  # height − slope·α' ≤ value − slope·α
        heights.append(value - slope @ alpha)
        model = linprog(
            np.append(np.zeros(m), -1.0), A_ub=np.array(planes), b_ub=heights, bounds=bounds
        )
        alpha, upper = model.x[:m], -model.fun
        if upper - best <= CLOSE * max(1.0, abs(best)):
            break
    if np.abs(where).max() >= LARGEST:
        return np.full(m, np.inf), np.inf, np.inf
    return where, best, max(best, float(upper))
