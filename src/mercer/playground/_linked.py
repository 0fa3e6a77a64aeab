"""Linked views: bars of α, parts of the dual value and the kernel matrix, row by row.

With f̃ = Kβ the dual value is a sum over rows, D = Σ βᵢ (targetᵢ − ½ f̃ᵢ) − ε Σ |βᵢ|; the target is
the label ±1 of an SVC, y of an SVR and 0 of a one-class SVM, ε that of an SVR, else 0.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.playground._catalogue import ESTIMATORS
from mercer.playground._fit import Fit, kernel_matrix, rows_and_targets
from mercer.playground._state import State
from mercer.plots import style

__all__ = ["LinkedViews", "link", "linked_message"]

MAX_ROWS = 160  # of the matrix: each is two pixels high or less
_LEVELS = 127  # of a byte with a sign


@dataclass(frozen=True, eq=False)
class LinkedViews:
    """What is known of each row; ``K`` has the rows and columns ``rows`` of the kernel matrix."""

    rows: np.ndarray  # numbers of points, by class, of a regression by x
    alpha: np.ndarray  # |coefficient| of each of these rows
    dual_parts: np.ndarray | None  # of all points: they sum to the dual value; None: not known
    K: np.ndarray


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
    return LinkedViews(rows, alpha[rows], _dual_parts(state, found, K), K[np.ix_(rows, rows)])


def _dual_parts(state: State, found: Fit, K: np.ndarray) -> np.ndarray | None:
    beta = found.beta
    # An iterate of SMO may have both duals of a row of an SVR: β does not tell |α| + |α*|.
    if beta is None or (state.machine == "svr" and state.step is not None):
        return None
    target, epsilon = np.zeros(beta.size), 0.0
    if state.machine == "svc":
        target = np.where(state.labels == state.labels.max(), 1.0, -1.0)
    elif state.machine == "svr":
        target, epsilon = rows_and_targets(state)[1], state.epsilon
    return beta * (target - 0.5 * (K @ beta)) - epsilon * np.abs(beta)


def linked_message(views: LinkedViews | None, labels: np.ndarray) -> dict[str, Any] | None:
    """As the page reads it: the matrix is one signed byte for each entry, in base64."""
    if views is None:
        return None
    scale = float(np.abs(views.K).max(initial=0.0)) or 1.0
    parts = views.dual_parts
    return {
        "rows": views.rows.tolist(),
        "colour": [style.class_colour(int(labels[i])) for i in views.rows],
        "alpha": [float(f"{a:.5g}") for a in views.alpha],
        "parts": None if parts is None else [float(f"{parts[i]:.5g}") for i in views.rows],
        "dual": None if parts is None else float(parts.sum()),
        "scale": scale,
        "K": base64.b64encode(
            np.rint(_LEVELS / scale * views.K).astype(np.int8).tobytes()
        ).decode(),
    }
