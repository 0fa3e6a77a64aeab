"""Global minimisation over a box in one or two variables: a grid, then SciPy from its valleys.

Nothing is required of the function but that the grid has a point in its valleys: a minimum narrower
than a cell of it can be missed. From the lowest grid points that are local minima of the grid
Nelder and Mead's method, which needs no derivatives, goes on to rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.ndimage import minimum_filter
from scipy.optimize import minimize

__all__ = ["SETTINGS", "constrained_minimum", "global_minima", "grid"]

Function = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class MinimiserSettings:
    """Resolution and tolerances.

    Attributes
    ----------
    line_points, plane_points : int
        Points of the grid for each of one or two variables.
    equal : float
        Minima whose values differ by less, relative to the range of the function, are equal.
    largest_multiplier, flat : float
        Multipliers beyond this size count as infinite. If the slope of q there, the constraint's
        value, is above ``flat``, no feasible point exists; else q approaches its supremum.
    """

    line_points: int = 4001
    plane_points: int = 201
    equal: float = 1e-9
    largest_multiplier: float = 1e6
    flat: float = 1e-9

    def points(self, d: int) -> int:
        return self.line_points if d == 1 else self.plane_points


SETTINGS = MinimiserSettings()


def grid(box: np.ndarray, points: int | None = None) -> np.ndarray:
    """All points of a grid over the box, shape (d, points, …)."""
    d = box.shape[0]
    axes = [np.linspace(low, high, points or SETTINGS.points(d)) for low, high in box]
    return np.array(np.meshgrid(*axes, indexing="ij"))


def global_minima(
    function: Function, box: np.ndarray, W: np.ndarray, values: np.ndarray
) -> tuple[float, np.ndarray]:
    """The minimum over the box and the points where it is attained, shape (d, number of them).

    ``function`` takes an array of shape (d, …) and gives one of shape (…); ``values`` are those at
    the points W of the `grid`.
    """
    scale = max(float(np.ptp(values)), 1e-300)
    best, found = np.inf, []
    for place in _valleys(values):
        # A descent gains less than the variation to the neighbours on the grid.
        around = tuple(slice(max(i - 1, 0), i + 2) for i in place)
        if values[place] - np.ptp(values[around]) > best:
            continue
        found.append(_descend(function, np.array([axis[place] for axis in W]), box, scale))
        best = min(best, found[-1][0])
    near = [w for value, w in found if value <= best + SETTINGS.equal * scale]
    return best, _distinct(np.array(near).T, box)


def _valleys(values: np.ndarray, most: int = 12) -> list[tuple[int, ...]]:
    """Indices of grid points not above their neighbours, the lowest ``most`` of them."""
    places = np.argwhere(values == minimum_filter(values, 3, mode="nearest"))
    lowest = np.argsort(values[tuple(places.T)], kind="stable")[:most]
    return [tuple(place) for place in places[lowest].tolist()]


def _descend(
    function: Function, start: np.ndarray, box: np.ndarray, scale: float
) -> tuple[float, np.ndarray]:
    """The local minimum from a grid point, by Nelder and Mead's method within the box."""
    size = box[:, 1] - box[:, 0]
    step = size / SETTINGS.points(box.shape[0])
    # A simplex of one cell, inwards from the ends of the box.
    corners = start + np.diag(np.where(start + step <= box[:, 1], step, -step))
    options = {
        "initial_simplex": np.vstack([start, corners]),
        "xatol": 1e-10 * float(size.max()),
        "fatol": 1e-15 * scale,
        "maxiter": 400,
    }
    done = minimize(
        lambda w: float(function(w)), start, method="Nelder-Mead", bounds=box, options=options
    )
    return float(done.fun), np.clip(done.x, box[:, 0], box[:, 1])


def _distinct(points: np.ndarray, box: np.ndarray) -> np.ndarray:
    """Points that differ by more than a ten-thousandth of the box."""
    size = np.maximum(box[:, 1] - box[:, 0], 1e-300)
    kept: list[np.ndarray] = []
    for point in points.T:
        if all(np.abs((point - other) / size).max() > 1e-4 for other in kept):
            kept.append(point)
    return np.array(kept).T


def constrained_minimum(
    objective: Function,
    inequalities: Sequence[Function],
    equalities: Sequence[Function],
    box: np.ndarray,
) -> tuple[float, np.ndarray]:
    """The minimum of the objective over the feasible part of the box; (∞, empty) if there is none.

    Starts are valleys of the objective plus a penalty on violations, for a range of penalties; each
    is refined by sequential quadratic programming and counts if it is feasible.
    """
    W = grid(box)
    f = objective(W)
    violation = _violation(W, inequalities, equalities)
    scale = max(float(np.ptp(f)), 1e-12) / max(float(violation.max()), 1e-12)
    starts = {
        place
        for penalty in (1.0, 10.0, 1000.0)
        for place in _valleys(f + penalty * scale * violation)
    }
    conditions = [
        {"type": kind, "fun": lambda w, c=c, s=s: s * float(c(w))}
        for kind, s, group in (("ineq", -1.0, inequalities), ("eq", 1.0, equalities))
        for c in group
    ]
    options = {"ftol": 1e-15, "maxiter": 200}
    found = _lowest_feasible(W, f, violation)
    for place in sorted(starts):
        done = minimize(
            lambda w: float(objective(w)),
            np.array([axis[place] for axis in W]),
            method="SLSQP",
            bounds=box,
            constraints=conditions,
            options=options,
        )
        w = np.clip(done.x, box[:, 0], box[:, 1])
        if _violation(w, inequalities, equalities) <= 1e-8 * max(1.0, float(violation.max())):
            found.append((float(objective(w)), w))
    if not found:
        return np.inf, np.empty((box.shape[0], 0))
    best = min(value for value, _ in found)
    near = [
        w for value, w in found if value <= best + SETTINGS.equal * max(float(np.ptp(f)), 1e-300)
    ]
    return best, _distinct(np.array(near).T, box)


def _violation(
    w: np.ndarray, inequalities: Sequence[Function], equalities: Sequence[Function]
) -> np.ndarray:
    """Σ max(0, g) + Σ |h|."""
    parts = [np.maximum(0.0, g(w)) for g in inequalities] + [np.abs(h(w)) for h in equalities]
    return sum(parts, np.zeros(w.shape[1:]))


def _lowest_feasible(
    W: np.ndarray, f: np.ndarray, violation: np.ndarray
) -> list[tuple[float, np.ndarray]]:
    """The lowest point of the grid that keeps the constraints, if any does."""
    inside = np.where(violation <= 0, f, np.inf).ravel()
    place = int(inside.argmin())
    if not np.isfinite(inside[place]):
        return []
    return [(float(inside[place]), W.reshape(W.shape[0], -1)[:, place])]
