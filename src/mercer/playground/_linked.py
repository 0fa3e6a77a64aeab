"""Linked views: bars of α, parts of the dual value, the kernel matrix, and f as a height.

The dual value is a sum over rows, D = Σ βᵢ (targetᵢ − ½ fᵢ) − ε Σ |βᵢ|; the target is the label ±1
of an SVC, y of an SVR and 0 of a one-class SVM, ε that of an SVR, else 0. f = Kβ + b where Σβ = 0,
so that any b gives the same sum: with the model's own the part of a row is αᵢ (1 − ½ yᵢ fᵢ) for an
SVC, wherever the origin is. f = Kβ for a one-class SVM.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.playground._catalogue import ESTIMATORS
from mercer.playground._fit import Fit, kernel_matrix, rows_and_targets
from mercer.playground._state import LIMITS, State
from mercer.plots import style

__all__ = ["Lift", "LinkedViews", "lift_message", "link", "linked_message"]

MAX_ROWS = 160  # of the matrix: each is two pixels high or less
_LEVELS = 32_767  # of two bytes with a sign


@dataclass(frozen=True, eq=False)
class LinkedViews:
    """What is known of each row; ``K`` has the rows and columns ``rows`` of the kernel matrix."""

    rows: np.ndarray  # numbers of points, by class, of a regression by x
    alpha: np.ndarray  # |coefficient| of each of these rows
    coefficient: str  # what that is called; empty where the fit has none
    dual_parts: np.ndarray | None  # of all points: they sum to the dual value; None: not known
    K: np.ndarray


@dataclass(frozen=True, eq=False)
class Lift:
    """Heights f(x) = ⟨w, φ(x)⟩ + b: a coordinate of feature space, with the hyperplane f = 0."""

    f: np.ndarray  # over the plane, row by row of x₂ from below
    points: np.ndarray  # at the points
    sides: tuple[int, int]  # classes below and above 0; −1: none
    edge: float | None  # |f| of the margin's edges, where they mean something

    @property
    def limit(self) -> float:
        """The largest |f| that is drawn: a polynomial has values a thousand times others."""
        sizes = np.abs(self.points)
        at_points = min(1.1 * float(sizes.max()), 3.0 * float(np.median(sizes)))
        return max(at_points, 1.5 * (self.edge or 0.0)) or 1.0


def link(state: State, found: Fit) -> LinkedViews:
    """The rows of a fit; of many points, those with the largest α."""
    K = kernel_matrix(state)
    rows = np.arange(K.shape[0])
    alpha = np.nan_to_num(found.alpha)
    if rows.size > MAX_ROWS:
        rows = np.sort(np.argsort(-alpha, kind="stable")[:MAX_ROWS])
    is_curve = ESTIMATORS[state.machine].kind == "curve"
    key = state.X[rows, 0] if is_curve else state.labels[rows]
    rows = rows[np.argsort(key, kind="stable")]
    # A fit of Pegasos is an average, which keeps no coefficients; its iterates have them.
    has_none = found.decide is None or (state.machine == "pegasos" and state.step is None)
    name = "" if has_none else ESTIMATORS[state.machine].coefficient
    parts = _dual_parts(state, found, K)
    return LinkedViews(rows, alpha[rows], name, parts, K[np.ix_(rows, rows)])


def _dual_parts(state: State, found: Fit, K: np.ndarray) -> np.ndarray | None:
    beta = found.beta
    # An iterate of SMO may have both duals of a row of an SVR: β does not tell |α| + |α*|.
    if beta is None or (state.machine == "svr" and state.step is not None):
        return None
    target, epsilon, f = np.zeros(beta.size), 0.0, K @ beta
    if state.machine != "oneclass":
        f += found.b
    if state.machine == "svc":
        target = np.where(state.labels == state.labels.max(), 1.0, -1.0)
    elif state.machine == "svr":
        target, epsilon = rows_and_targets(state)[1], state.epsilon
    return beta * (target - 0.5 * f) - epsilon * np.abs(beta)


def linked_message(views: LinkedViews | None, shown: np.ndarray) -> dict[str, Any] | None:
    """As the page reads it: the lower triangle of the matrix, two bytes an entry, in base64."""
    if views is None:
        return None
    lower = views.K[np.tril_indices(len(views.K))]
    scale = float(np.abs(lower).max(initial=0.0)) or 1.0
    parts = views.dual_parts
    return {
        "rows": views.rows.tolist(),
        "colour": [style.class_colour(int(shown[i])) for i in views.rows],
        "coefficient": views.coefficient,
        "alpha": [float(f"{a:.5g}") for a in views.alpha],
        "parts": None if parts is None else [float(f"{parts[i]:.5g}") for i in views.rows],
        "dual": None if parts is None else float(parts.sum()),
        "scale": scale,
        "K": base64.b64encode(np.rint(_LEVELS / scale * lower).astype("<i2").tobytes()).decode(),
    }


def lift_message(lift: Lift | None, shown: np.ndarray) -> dict[str, Any] | None:
    """As the page reads it; colours are those of the plane."""
    if lift is None:
        return None
    hues = [style.GREY if side < 0 else style.class_colour(side) for side in lift.sides]
    limit = lift.limit
    return {
        "across": lift.f.shape[0],
        "extent": LIMITS.extent,
        "f": [float(f"{f:.3g}") for f in np.clip(lift.f, -2 * limit, 2 * limit).ravel()],
        "points": [float(f"{f:.4g}") for f in lift.points],
        "limit": limit,
        "edge": limit if lift.edge is None else lift.edge,
        "fills": [style.tint(hue, part) for hue in hues for part in (0.22, 0.5)],
        "colours": [style.class_colour(int(c)) for c in shown],
    }
