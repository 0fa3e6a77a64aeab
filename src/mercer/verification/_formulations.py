"""The formulations of kernel SVMs as `mercer.verify` poses them: dual variables and their sums.

See `_dual_svm` for the formulas. Each function takes the parameters of an estimator and a task, and
uses nothing of how the model was fitted.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer._precision import EPS
from mercer.kernels import _double_double as dd
from mercer.kernels._reference import Sums, bounded_sums, diagonal, precise_sums
from mercer.verification._losses import HINGE, SQUARED_HINGE, EdgeLoss
from mercer.verification._rounding import SETTINGS, total

__all__ = ["Formulation", "ModelTask", "Posed", "nu_svc", "nu_svr", "one_class", "svc", "svr"]


Move = tuple[float, np.ndarray, np.ndarray]


@dataclass(frozen=True, eq=False)
class ModelTask:
    """One binary task of a model, restricted to ``rows`` of X, of positive weight."""

    name: str
    y: np.ndarray
    beta: np.ndarray
    weight: np.ndarray
    f: Sums
    b: float
    kernel: Any
    X: Any
    rows: np.ndarray
    refined: str = ""  # how f was recomputed

    @property
    def _is_linear(self) -> bool:
        """Then sums are in double-double already."""
        return type(self.kernel).__name__ == "Linear"

    @property
    def precision(self) -> str:
        return self.refined or ("double-double" if self._is_linear else "float64")

    def refine(self, which: np.ndarray) -> Sums | None:
        """f of some of the rows in double-double; None where there is no such."""
        used = np.flatnonzero(self.beta)
        pair = self.rows[which], self.rows[used], self.beta[used][:, np.newaxis]
        sums = None if self._is_linear else precise_sums(self.kernel, self.X, *pair)
        return None if sums is None else sums.column(0)

    def diag(self, which: np.ndarray) -> np.ndarray:
        """Bounds of |k(x, x)| of some of the rows."""
        return diagonal(self.kernel, self.X, self.rows[which])

    def product(self, v: np.ndarray) -> Sums:
        """K v."""
        coef = v[:, np.newaxis]
        return bounded_sums(self.kernel, self.X, self.rows, self.rows, coef).column(0)

    def residuals(self, target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """target − f − b and its error."""
        high, _ = dd.add(dd.two_sum(target, -self.b), (-self.f.high, -self.f.low))
        size = np.abs(target) + abs(self.b) + np.abs(self.f.high)
        return high, self.f.error + EPS * np.abs(high) + 8 * dd.DOUBLED_UNIT * size

    def squared_norm(self) -> tuple[float, float]:
        """βᵀf and its error."""
        high, low = dd.two_product(self.beta, self.f.high)
        value = total(high) + total(low) + float(self.beta @ self.f.low)
        rounding = 4 * EPS * abs(value) + 8 * dd.DOUBLED_UNIT * float(np.abs(high).sum())
        return value, float(np.abs(self.beta) @ self.f.error) * 1.01 + rounding


@dataclass(frozen=True, eq=False)
class Posed:
    """The dual variables of a formulation: one per row, or two (the edges of `_losses`).

    ``sign`` is that of β, ``a`` and ``error`` the distances from the edges, ``target`` what f + b
    has to reach. ``groups`` are the variables of each equality constraint, ``moves`` (amount,
    variables, slack) of its drift; an infinite amount takes all of the slack. ``off`` is the
    relative violation of bounds and sums (``drift``: of sums), ``rest`` the part of P that is no
    sum over variables, ``excess`` what another ε could take from it, ``unpaid`` a part of the gap.
    β, f, b of the problem are ``scale`` times the published ones. ``must_be_negative``: the model
    is degenerate unless P < 0. With squared slack there is no bound ``s``, and the loss has the
    weights ``C``.
    """

    a: np.ndarray
    error: np.ndarray
    alpha: np.ndarray
    s: np.ndarray
    sign: np.ndarray
    target: np.ndarray
    row: np.ndarray
    groups: list[np.ndarray]
    moves: list[Move]
    off: float
    scale: float = 1.0
    rest: float = 0.0
    excess: float = 0.0
    unpaid: float = 0.0
    must_be_negative: bool = False
    drift: float = 0.0
    C: np.ndarray | None = None

    @property
    def loss(self) -> EdgeLoss:
        return HINGE if self.C is None else SQUARED_HINGE

    @property
    def diag(self) -> np.ndarray:
        """1/(2C), the curvature of squared slack in the dual; else zero."""
        return np.zeros(len(self.a)) if self.C is None else 0.5 / self.C

    def squared(self, params: dict) -> Posed:
        """The same with squared slack where the parameters say so."""
        if not str(params.get("loss", "")).startswith("squared") or np.isinf(self.s).all():
            return self
        off = max(self.drift, _outside(self.alpha, np.full(len(self.s), np.inf)))
        return replace(self, s=np.full(len(self.s), np.inf), C=self.s, off=off)


Formulation = Callable[[dict, ModelTask], Posed]


def svc(params: dict, task: ModelTask) -> Posed:
    alpha = task.y * task.beta
    moves, drift = _zero_sum(params, alpha, task.y)
    s = params["C"] * task.weight
    return _one_sided(task, alpha, s, task.y, task.y, moves, drift).squared(params)


def nu_svc(params: dict, task: ModelTask) -> Posed:
    y, s = task.y, task.weight
    nu_sum = params["nu"] * math.fsum(s)
    rho = nu_sum / _size(task.beta)
    alpha = y * task.beta * rho
    groups = [np.flatnonzero(y > 0), np.flatnonzero(y < 0)]
    found = [_to_sum(alpha, s, group, nu_sum / 2) for group in groups]
    moves, drift = found[0][0] + found[1][0], max(found[0][1], found[1][1]) / max(nu_sum, 1e-300)
    unit = 0.0 if _is_unscaled(task, rho, nu_sum) else 1.0
    posed = _one_sided(task, alpha, s, y, unit * y, moves, drift, groups)
    # Only P < 0 shows that ρ > 0 at the optimum.
    return replace(posed, scale=rho, rest=-nu_sum * rho * unit, must_be_negative=True)


def _is_unscaled(task: ModelTask, rho: float, nu_sum: float) -> bool:
    """Whether a model of ν-SVC was published with ρ = 0, its coefficients not divided by it.

    Such are those of fits stopped far from the optimum. Σα = νΣs then says ρ = 1, for which P is
    larger.
    """
    if abs(rho - 1) > SETTINGS.unscaled:
        return False
    margin = -task.y * task.residuals(np.zeros(len(task.y)))[0]
    losses = [task.weight @ np.maximum(unit - margin, 0) for unit in (0.0, 1.0)]
    return bool(losses[0] < losses[1] - nu_sum)


def one_class(params: dict, task: ModelTask) -> Posed:
    s, n = task.weight, len(task.weight)
    nu_sum = params["nu"] * math.fsum(s)
    moves, drift = _to_sum(task.beta, s, np.arange(n), nu_sum)
    drift = max(0.0, drift - 4 * EPS * nu_sum) / max(nu_sum, 1e-300)
    posed = _one_sided(task, task.beta, s, np.ones(n), np.zeros(n), moves, drift)
    return replace(posed, rest=task.b * nu_sum)


def _one_sided(
    task: ModelTask,
    alpha: np.ndarray,
    s: np.ndarray,
    sign: np.ndarray,
    target: np.ndarray,
    moves: list[Move],
    drift: float,
    groups: list[np.ndarray] | None = None,
) -> Posed:
    """One variable per row."""
    v, error = task.residuals(target)
    row = np.arange(len(s))
    off = max(_outside(alpha, s), drift)
    return Posed(
        sign * v, error, alpha, s, sign, target, row, groups or [row], moves, off, drift=drift
    )


def svr(params: dict, task: ModelTask) -> Posed:
    alpha, sign, sides = _two_sided(task)
    moves, drift = _zero_sum(params, alpha, sign)
    every, epsilon = [np.concatenate(sides)], float(params["epsilon"])
    residuals = task.residuals(task.y)
    return _regression(params, task, *residuals, epsilon, every, moves, drift).squared(params)


def nu_svr(params: dict, task: ModelTask) -> Posed:
    """ε is not a parameter but part of the objective."""
    s = params["C"] * task.weight
    v, error = task.residuals(task.y)
    nu_sum = params["nu"] * math.fsum(s)
    epsilon = _best_epsilon(np.abs(v), s, nu_sum)
    alpha, _, sides = _two_sided(task)
    sums = [math.fsum(alpha[side]) for side in sides]
    least = min(*sums, nu_sum / 2)
    if least <= 8 * EPS * max(sums):  # all of α is rounding: 0 is feasible
        least = 0.0
    moves = [
        (part - least + 8 * EPS * part if least else np.inf, side, alpha)
        for part, side in zip(sums, sides, strict=True)
        if part > 0
    ]
    drift = max(abs(sums[0] - sums[1]), *(part - nu_sum / 2 for part in sums))
    drift = max(drift, 0.0) / max(nu_sum, 1e-300)
    posed = _regression(params, task, v, error, epsilon, sides, moves, drift)
    return replace(
        posed,
        rest=nu_sum * epsilon,
        unpaid=epsilon * (nu_sum - 2 * least),
        excess=_excess(np.maximum(np.abs(v) - error, 0), s, nu_sum, epsilon),
    )


def _two_sided(task: ModelTask) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
    """α of the two edges of every row, their signs, and the variables of either side."""
    n = len(task.y)
    alpha = np.concatenate([np.maximum(task.beta, 0), np.maximum(-task.beta, 0)])
    return alpha, np.repeat([1.0, -1.0], n), [np.arange(n), np.arange(n, 2 * n)]


def _regression(
    params: dict,
    task: ModelTask,
    v: np.ndarray,
    error: np.ndarray,
    epsilon: float,
    groups: list[np.ndarray],
    moves: list[Move],
    drift: float,
) -> Posed:
    """Two variables per row."""
    s = params["C"] * task.weight
    alpha, sign, _ = _two_sided(task)
    row = np.tile(np.arange(len(task.y)), 2)
    a, target = sign * v[row] - epsilon, task.y[row] - sign * epsilon
    error = error[row] + EPS * (np.abs(a) + epsilon)
    off = max(_outside(np.abs(task.beta), s), drift)
    return Posed(a, error, alpha, s[row], sign, target, row, groups, moves, off, drift=drift)


def _best_epsilon(distance: np.ndarray, s: np.ndarray, nu_sum: float) -> float:
    """The ε that minimises ν Σs ε + Σ s (distance − ε)₊: a weighted quantile of the distances."""
    order = np.argsort(distance)[::-1]
    beyond = np.cumsum(s[order])
    enough = np.flatnonzero(beyond >= nu_sum * (1 - 1e-14))
    return float(distance[order[enough[0] if enough.size else -1]])


def _excess(distance: np.ndarray, s: np.ndarray, nu_sum: float, epsilon: float) -> float:
    """ν Σs ε + Σ s (distance − ε)₊ less its minimum over ε."""
    values = [
        nu_sum * width + math.fsum(s * np.maximum(distance - width, 0))
        for width in (epsilon, _best_epsilon(distance, s, nu_sum))
    ]
    return max(0.0, values[0] - values[1]) + SETTINGS.summed * values[0]


def _outside(alpha: np.ndarray, bound: np.ndarray) -> float:
    """How far α is below zero or above its bound, relatively."""
    scale = np.where(np.isfinite(bound), bound, np.maximum(np.max(np.abs(alpha), initial=0), 1.0))
    above = np.where(np.isfinite(bound), alpha - bound, 0.0)
    return float(np.max(np.maximum(above, -alpha) / scale, initial=0.0))


def _size(alpha: np.ndarray) -> float:
    return max(math.fsum(np.abs(alpha)), 1e-300)


def _zero_sum(params: dict, alpha: np.ndarray, sign: np.ndarray) -> tuple[list[Move], float]:
    """Σβ = 0 by lowering α of the side with the larger sum; the move, and its relative size."""
    if not params.get("fit_intercept", True):
        return [], 0.0
    drift = math.fsum(sign * alpha)
    side = np.flatnonzero(sign * drift > 0)
    return [(abs(drift), side, np.maximum(alpha, 0.0))], abs(drift) / _size(alpha)


def _to_sum(
    alpha: np.ndarray, s: np.ndarray, group: np.ndarray, required: float
) -> tuple[list[Move], float]:
    """The moves that give α of a group the required sum, and its drift.

    The required sum was rounded, so that small moves may be needed in either direction. There are
    feasible α: what a move lacks beyond all that is available is rounding.
    """
    drift, rounding = math.fsum([*alpha[group], -required]), 4 * EPS * required
    moves: list[Move] = []
    for amount, available in ((drift + rounding, alpha), (rounding - drift, s - alpha)):
        if amount > 0:
            slack = np.maximum(available, 0.0)
            lacking = amount - math.fsum(slack[group])
            moves.append((np.inf if 0 < lacking <= 2 * rounding else amount, group, slack))
    return moves, abs(drift)
