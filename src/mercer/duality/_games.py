"""Max–min on a matrix, and coordinate ascent on a concave quadratic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["Minimax", "coordinate_ascent", "minimax"]


@dataclass(frozen=True)
class Minimax:
    """The two orders of min and max on a matrix.

    Attributes
    ----------
    min_max : float
        The smallest of the columns' largest entries.
    max_min : float
        The largest of the rows' smallest entries; never above ``min_max``.
    column, row : int
        Where they are.
    """

    min_max: float
    max_min: float
    column: int
    row: int

    @property
    def gap(self) -> float:
        """min_max − max_min ≥ 0; zero at a saddle point."""
        return self.min_max - self.max_min


def minimax(M: Any) -> Minimax:
    """min over columns of the column maximum ≥ max over rows of the row minimum.

    It is weak duality in small: the entry where the row crosses the column lies between both.

    Parameters
    ----------
    M : array-like of shape (rows, columns)

    Returns
    -------
    Minimax

    Examples
    --------
    >>> from mercer.duality import minimax
    >>> minimax([[1, 5, 8], [2, 1, 4], [6, 3, 2]])
    Minimax(min_max=5.0, max_min=2.0, column=1, row=2)
    """
    M = np.asarray(M, dtype=float)
    if M.ndim != 2 or M.size == 0 or np.isnan(M).any():
        raise ValueError(f"M must be a matrix without NaN, got shape {M.shape}.")
    largest, smallest = M.max(axis=0), M.min(axis=1)
    column, row = int(largest.argmin()), int(smallest.argmax())
    return Minimax(float(largest[column]), float(smallest[row]), column, row)


def coordinate_ascent(
    Q: Any,
    c: Any = 0.0,
    start: Any = 0.0,
    *,
    steps: int = 20,
    box: tuple[float, float] = (-np.inf, np.inf),
    order: str = "cyclic",
) -> np.ndarray:
    """The path of coordinate ascent on W(α) = cᵀα − ½ αᵀQα over a box.

    Each step sets one coordinate to its best value, the others held:
    αᵢ ← αᵢ + (c − Qα)ᵢ / Qᵢᵢ, clipped to the box.

    Parameters
    ----------
    Q : symmetric matrix of shape (m, m) with a positive diagonal
    c, start : arrays of shape (m,), or one number for all
    steps : int, default=20
    box : (low, high)
        For every coordinate: (0, C) for the dual of an SVM without intercept.
    order : {"cyclic", "greedy"}, default="cyclic"
        "greedy" takes the coordinate whose step gains most.

    Returns
    -------
    path : ndarray of shape (steps + 1, m)

    Examples
    --------
    >>> from mercer.duality import coordinate_ascent
    >>> coordinate_ascent([[4, 1], [1, 2]], start=[1, -1], steps=2)  # −2a² − b² − ab
    array([[ 1.   , -1.   ],
           [ 0.25 , -1.   ],
           [ 0.25 , -0.125]])
    """
    Q = np.asarray(Q, dtype=float)
    if Q.ndim != 2 or Q.shape[0] != Q.shape[1] or not np.allclose(Q, Q.T):
        raise ValueError(f"Q must be a symmetric matrix, got shape {Q.shape}.")
    if not (np.diag(Q) > 0).all():
        raise ValueError(f"Q must have a positive diagonal, got {np.diag(Q)}.")
    if order not in ("cyclic", "greedy"):
        raise ValueError(f"order must be 'cyclic' or 'greedy', got {order!r}.")
    m = Q.shape[0]
    target = np.broadcast_to(np.asarray(c, dtype=float), m)
    alpha = np.array(np.broadcast_to(np.asarray(start, dtype=float), m))
    path = [alpha.copy()]
    for step in range(steps):
        best = np.clip(alpha + (target - Q @ alpha) / np.diag(Q), *box)
        i = step % m if order == "cyclic" else int(_gains(Q, target, alpha, best).argmax())
        alpha[i] = best[i]
        path.append(alpha.copy())
    return np.array(path)


def _gains(Q: np.ndarray, c: np.ndarray, alpha: np.ndarray, best: np.ndarray) -> np.ndarray:
    """How much W rises if one coordinate goes to its best value."""
    change = best - alpha
    return change * (c - Q @ alpha) - 0.5 * np.diag(Q) * change**2
