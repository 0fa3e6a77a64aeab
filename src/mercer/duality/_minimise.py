"""Global minimisation over a box in one or two variables: a grid, then zooming into its valleys.

Nothing is asked of the function but that the grid sees its valleys: a dip narrower than a cell of
it can be missed. A valley that is seen is followed to a width of ZOOMED of the box, where a smooth
function is right to rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy.optimize import minimize

__all__ = ["constrained_minimum", "global_minima", "grid"]

POINTS = {1: 4001, 2: 201}  # of the grid, for each variable
STARTS = 12  # the lowest valleys of the grid
ROUND = {1: 41, 2: 11}  # points of a zooming grid, for each variable
SHRINK = 0.4  # a window's width after a round: valleys may lie across the axes
ZOOMED = 1e-10
# Minima whose values differ by less, relative to the range seen on the grid, count as equal.
EQUAL = 1e-9
FEASIBLE = 1e-8

Function = Callable[[np.ndarray], np.ndarray]


def grid(box: np.ndarray, points: int | None = None) -> np.ndarray:
    """All points of a grid over the box, shape (d, points, …)."""
    d = box.shape[0]
    axes = [np.linspace(low, high, points or POINTS[d]) for low, high in box]
    return np.array(np.meshgrid(*axes, indexing="ij"))


def global_minima(function: Function, box: np.ndarray) -> tuple[float, np.ndarray]:
    """The minimum over the box and the points where it is attained, shape (d, how many).

    ``function`` takes an array of shape (d, …) and gives one of shape (…).
    """
    W = grid(box)
    values = function(W)
    centres = _valleys(W, values)
    width = (box[:, 1] - box[:, 0])[:, None] / POINTS[box.shape[0]] * 2
    relative = width / np.maximum(box[:, 1] - box[:, 0], 1e-300)[:, None]
    lowest = function(centres)
    while relative.max() > ZOOMED:
        centres, lowest = _zoom(function, centres, lowest, width, box)
        width, relative = width * SHRINK, relative * SHRINK
    best = float(lowest.min())
    near = lowest <= best + EQUAL * max(float(np.ptp(values)), 1e-300)
    return best, _distinct(centres[:, near], box)


def _valleys(W: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Grid points not above their neighbours, the lowest STARTS of them: shape (d, how many)."""
    padded = np.pad(values, 1, constant_values=np.inf)
    inside = tuple(slice(1, -1) for _ in values.shape)
    low = np.ones(values.shape, dtype=bool)
    for axis in range(values.ndim):
        for shift in (-1, 1):
            low &= values <= np.roll(padded, shift, axis)[inside]
    places = np.flatnonzero(low)
    places = places[np.argsort(values.ravel()[places], kind="stable")[:STARTS]]
    return W.reshape(W.shape[0], -1)[:, places]


def _zoom(
    function: Function, centres: np.ndarray, lowest: np.ndarray, width: np.ndarray, box: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The best point of a small grid around each centre, or the centre."""
    d, m = centres.shape
    offsets = grid(np.tile([-1.0, 1.0], (d, 1)), ROUND[d]).reshape(d, 1, -1)
    tried = centres[:, :, None] + width[:, :, None] * offsets
    tried = np.clip(tried, box[:, :1, None], box[:, 1:, None])
    values = function(tried)
    place = values.argmin(axis=1)
    found = values[np.arange(m), place]
    better = found < lowest
    moved = tried[:, np.arange(m), place]
    return np.where(better, moved, centres), np.where(better, found, lowest)


def _distinct(points: np.ndarray, box: np.ndarray) -> np.ndarray:
    """Samples that differ by more than a ten-thousandth of the box."""
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

    Starts are valleys of the objective plus a price on violations, for a range of prices; each is
    finished by sequential quadratic programming and counts if it is feasible.
    """
    W = grid(box)
    f = objective(W)
    violation = _violation(W, inequalities, equalities)
    scale = max(float(np.ptp(f)), 1e-12) / max(float(violation.max()), 1e-12)
    starts = [_valleys(W, f + price * scale * violation) for price in (1.0, 10.0, 1000.0)]
    conditions = [
        {"type": kind, "fun": lambda w, c=c, s=s: s * float(c(w))}
        for kind, s, group in (("ineq", -1.0, inequalities), ("eq", 1.0, equalities))
        for c in group
    ]
    found = _lowest_feasible(W, f, violation)
    for start in np.unique(np.hstack(starts), axis=1).T:
        done = minimize(
            lambda w: float(objective(w)), start, method="SLSQP", bounds=box,
            constraints=conditions, options={"ftol": 1e-15, "maxiter": 200},
        )  # fmt: skip
        w = np.clip(done.x, box[:, 0], box[:, 1])
        if _violation(w, inequalities, equalities) <= FEASIBLE * max(1.0, float(violation.max())):
            found.append((float(objective(w)), w))
    if not found:
        return np.inf, np.empty((box.shape[0], 0))
    best = min(value for value, _ in found)
    near = [w for value, w in found if value <= best + EQUAL * max(float(np.ptp(f)), 1e-300)]
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
