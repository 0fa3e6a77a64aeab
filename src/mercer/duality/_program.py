"""A constrained problem in one or two variables, its Lagrangian and its dual function.

    p* = min f(w)  subject to  g(w) ≤ 0, h(w) = 0, w in a box
    L(w, α) = f(w) + Σ αᵢ gᵢ(w) + Σ αⱼ hⱼ(w),  α ≥ 0 for inequalities, of any sign for equalities
    q(α) = min of L over the box: concave, and q(α) ≤ p* for every admissible α
    d* = max q;  p* − d* ≥ 0 is the duality gap

Minimisation is global up to the grid it starts from (`_minimise`): about 1e-9 of the range of the
function, if no minimum is narrower than a cell (1/200 of the box; 1/4000 in one variable).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mercer.duality._maximise import maximise
from mercer.duality._minimise import constrained_minimum, global_minima, grid

__all__ = ["Program", "Solution"]


@dataclass(frozen=True, eq=False)
class Solution:
    """Both sides of a program.

    Attributes
    ----------
    primal : float
        p*, infinite if no point of the box is feasible.
    w : ndarray of shape (n_minimisers, n_variables)
        Where it is attained.
    dual : float
        d*.
    alpha : ndarray
        Where it is attained: multipliers of the inequalities, then of the equalities.
    dual_bound : float
        No α has a larger q, by concavity.
    lagrangian_w : ndarray of shape (n_minimisers, n_variables)
        Minimisers of the Lagrangian at ``alpha``: several where q has a kink.
    """

    primal: float
    w: np.ndarray
    dual: float
    alpha: np.ndarray
    dual_bound: float
    lagrangian_w: np.ndarray

    @property
    def gap(self) -> float:
        """p* − d*: zero under strong duality; NaN if nothing is feasible."""
        return self.primal - self.dual if np.isfinite(self.primal) else np.nan


class Program:
    """min f(w) subject to g(w) ≤ 0 and h(w) = 0 over a box in one or two variables.

    Parameters
    ----------
    objective : callable
        f(w₁) or f(w₁, w₂) of arrays of one shape, which it returns too.
    box : sequence of (low, high), one for each variable
    inequalities, equalities : sequences of callables
        g ≤ 0 and h = 0, as the objective.

    Examples
    --------
    >>> from mercer.duality import Program
    >>> program = Program(
    ...     lambda w1, w2: w1**2 + w2**2,
    ...     box=[(-2, 2), (-2, 2)],
    ...     inequalities=[lambda w1, w2: 1 - w2],
    ... )
    >>> found = program.solve()
    >>> round(found.primal, 6), round(found.dual, 6), found.alpha.round(6), found.w.round(6)
    (1.0, 1.0, array([2.]), array([[0., 1.]]))
    """

    def __init__(
        self,
        objective: Callable[..., Any],
        box: Sequence[tuple[float, float]],
        inequalities: Sequence[Callable[..., Any]] = (),
        equalities: Sequence[Callable[..., Any]] = (),
    ):
        self.box = _check_box(box)
        self._f = _on_arrays("objective", objective, self.box)
        self._g = [
            _on_arrays(f"inequalities[{i}]", g, self.box) for i, g in enumerate(inequalities)
        ]
        self._h = [_on_arrays(f"equalities[{i}]", h, self.box) for i, h in enumerate(equalities)]

    @property
    def n_multipliers(self) -> int:
        """One for each constraint."""
        return len(self._g) + self.n_equalities

    @property
    def n_equalities(self) -> int:
        """Number of constraints h = 0; their multipliers have any sign."""
        return len(self._h)

    def objective(self, w: Any) -> np.ndarray:
        """f at points of shape (n_variables, …)."""
        return self._f(self._points(w))

    def constraints(self, w: Any) -> np.ndarray:
        """The constraints' values at points of shape (n_variables, …), inequalities first."""
        w = self._points(w)
        return np.array([c(w) for c in (*self._g, *self._h)]).reshape(-1, *w.shape[1:])

    def lagrangian(self, w: Any, alpha: Any) -> np.ndarray:
        """f(w) + Σ αᵢ gᵢ(w) at points of shape (n_variables, …)."""
        return self._sum(self.objective(w), alpha, self.constraints(w))

    def _sum(self, f: np.ndarray, alpha: Any, constraints: np.ndarray) -> np.ndarray:
        """f + Σ αᵢ cᵢ."""
        alpha = np.atleast_1d(np.asarray(alpha, dtype=float))
        if alpha.shape != (self.n_multipliers,):
            raise ValueError(
                f"alpha must hold a multiplier for each of the {self.n_multipliers} constraints, "
                f"got shape {alpha.shape}."
            )
        return sum((a * c for a, c in zip(alpha, constraints, strict=True)), f)

    @cached_property
    def _on_grid(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The grid of the search, f and the constraints there: the same for every α."""
        W = grid(self.box)
        return W, self.objective(W), self.constraints(W)

    def dual(self, alpha: Any) -> float:
        """q(α), the smallest value of the Lagrangian over the box.

        Parameters
        ----------
        alpha : float or sequence, one for each constraint

        Returns
        -------
        q : float
        """
        return self._dual(alpha)[0]

    def _dual(self, alpha: Any) -> tuple[float, np.ndarray]:
        W, f, constraints = self._on_grid
        values = self._sum(f, alpha, constraints)
        return global_minima(lambda w: self.lagrangian(w, alpha), self.box, W, values)

    def solve(self) -> Solution:
        """p*, d* and where they are attained."""

        def oracle(alpha: np.ndarray) -> tuple[float, np.ndarray]:
            value, where = self._dual(alpha)
            return value, self.constraints(where[:, 0])

        free = np.array([False] * len(self._g) + [True] * len(self._h))
        alpha, dual, bound = maximise(oracle, free)
        primal, w = constrained_minimum(self._f, self._g, self._h, self.box)
        at = self._dual(alpha)[1] if np.isfinite(alpha).all() else np.empty((len(self.box), 0))
        return Solution(primal, w.T, dual, alpha, bound, at.T)

    def _points(self, w: Any) -> np.ndarray:
        w = np.asarray(w, dtype=float)
        if w.ndim == 0 or w.shape[0] != len(self.box):
            raise ValueError(
                f"w must have {len(self.box)} variables along its first axis, got shape {w.shape}."
            )
        return w


def _check_box(box: Any, largest: float = 1e6) -> np.ndarray:
    bounds = np.asarray(box, dtype=float)
    if bounds.ndim != 2 or bounds.shape[1:] != (2,) or bounds.shape[0] not in (1, 2):
        raise ValueError(
            f"box must hold (low, high) for each of one or two variables, got shape {bounds.shape}."
        )
    if not (np.abs(bounds) <= largest).all() or not (bounds[:, 0] < bounds[:, 1]).all():
        raise ValueError(
            f"box must have low < high, both within ±{largest:g}, got {bounds.tolist()}."
        )
    return bounds


def _on_arrays(name: str, function: Any, box: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """The function of points of shape (d, …), its values checked once on a small grid."""
    if not callable(function):
        raise ValueError(f"{name} must be callable, got {function!r}.")

    def on_points(w: np.ndarray) -> np.ndarray:
        values = np.asarray(function(*w), dtype=float)
        # constants, and functions of one of two variables only, may have fewer dimensions
        return values if values.shape == w.shape[1:] else np.broadcast_to(values, w.shape[1:])

    if not np.isfinite(on_points(grid(box, 5))).all():
        raise ValueError(f"{name} is not finite everywhere on the box {box.tolist()}.")
    return on_points
