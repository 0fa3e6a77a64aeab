"""The formulations of kernel machines as `mercer.verify` writes them out: variables and their sums.

See `_dual_svm` for the formulas. Each function takes the parameters of an estimator and a task,
and knows nothing of how the model was fitted.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.kernels import _double_double as dd
from mercer.kernels._reference import Sums

__all__ = ["EPS", "SUMMED", "Posed", "Task", "formulation"]

EPS = float(np.finfo(np.float64).eps)
# A sum of non-negative float64 terms, each a product of a few factors, is this accurate.
SUMMED = 1e-14


@dataclass(frozen=True, eq=False)
class Task:
    """One binary task of a model, rows with a weight only.

    ``refine`` gives the sums of some of the rows in double-double (None where it cannot), ``diag``
    bounds |k(x, x)| of some of them.
    """

    name: str
    y: np.ndarray
    beta: np.ndarray
    f: Sums
    b: float
    weight: np.ndarray
    n_support: int
    refine: Callable[[np.ndarray], Sums | None]
    diag: Callable[[np.ndarray], np.ndarray]
    precision: str = "float64"

    def residuals(self, target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """target − f − b and its error."""
        high, _ = dd.add(dd.two_sum(target, -self.b), (-self.f.high, -self.f.low))
        size = np.abs(target) + abs(self.b) + np.abs(self.f.high)
        return high, self.f.error + EPS * np.abs(high) + 8 * dd.UNIT * size

    def squared_norm(self) -> tuple[float, float]:
        """βᵀf and its error."""
        high, low = dd.two_product(self.beta, self.f.high)
        value = math.fsum(high) + math.fsum(low) + float(self.beta @ self.f.low)
        rounding = 4 * EPS * abs(value) + 8 * dd.UNIT * float(np.abs(high).sum())
        return value, float(np.abs(self.beta) @ self.f.error) * 1.01 + rounding


@dataclass(frozen=True, eq=False)
class Posed:
    """The variables of a formulation: one per row, or two (the edges of a tube).

    ``sign`` is that of β, ``a`` and ``error`` the distances, ``target`` what f + b is to be.
    ``groups`` are the variables of each equality constraint, ``moves`` (amount, variables, room)
    of its drift. ``rest`` is the part of P that is no sum over variables, ``excess`` what another
    ε could take from it, ``unpaid`` a part of the gap. β, f, b of the problem are ``scale`` times
    the published ones.
    """

    a: np.ndarray
    error: np.ndarray
    alpha: np.ndarray
    s: np.ndarray
    sign: np.ndarray
    target: np.ndarray
    row: np.ndarray
    groups: list[np.ndarray]
    moves: list[tuple[float, np.ndarray, np.ndarray]]
    off: float
    scale: float = 1.0
    rest: float = 0.0
    excess: float = 0.0
    unpaid: float = 0.0


def formulation(model: Any, params: dict) -> Callable[[dict, Task], Posed]:
    if hasattr(model, "classes_"):
        return _svc if "C" in params else _nu_svc
    return _svr if "C" in params else _one_class


def _svc(params: dict, task: Task) -> Posed:
    y, s, alpha = task.y, params["C"] * task.weight, task.y * task.beta
    v, error = task.residuals(y)
    moves, off = _balance(alpha, y) if params.get("fit_intercept", True) else ([], 0.0)
    every = np.arange(len(y))
    return Posed(
        a=y * v, error=error, alpha=alpha, s=s, sign=y, target=y, row=every, groups=[every],
        moves=moves, off=max(_outside(alpha, s), off),
    )  # fmt: skip


def _nu_svc(params: dict, task: Task) -> Posed:
    y, s = task.y, task.weight
    price = params["nu"] * math.fsum(s)
    rho = price / _size(task.beta)
    alpha = y * task.beta * rho
    v, error = task.residuals(y)
    groups = [np.flatnonzero(y > 0), np.flatnonzero(y < 0)]
    moves = [_to_sum(alpha, s, group, price / 2) for group in groups]
    off = max(move[0] for move in moves) / max(price, 1e-300)
    return Posed(
        a=y * v, error=error, alpha=alpha, s=s, sign=y, target=y, row=np.arange(len(y)),
        groups=groups, moves=moves, off=max(_outside(alpha, s), off), scale=rho, rest=-price * rho,
    )  # fmt: skip


def _svr(params: dict, task: Task) -> Posed:
    """ε-SVR, and ν-SVR (where ``epsilon`` is not a parameter but part of the objective)."""
    n, s = len(task.y), params["C"] * task.weight
    v, error = task.residuals(task.y)
    with_nu = "epsilon" not in params
    price = params["nu"] * math.fsum(s) if with_nu else 0.0
    epsilon = _best_epsilon(np.abs(v), s, price) if with_nu else float(params["epsilon"])
    alpha = np.concatenate([np.maximum(task.beta, 0), np.maximum(-task.beta, 0)])
    sign, both = np.repeat([1.0, -1.0], n), np.concatenate([s, s])
    sides = [np.arange(n), np.arange(n, 2 * n)]
    has_bias = params.get("fit_intercept", True)
    moves, off = _balance(alpha, sign) if has_bias else ([], 0.0)
    if with_nu:
        sums = [math.fsum(alpha[side]) for side in sides]
        least = min(*sums, price / 2)
        excess = [part - least + 4 * EPS * price for part in sums]
        moves = [
            (m, side, alpha) for m, side in zip(excess, sides, strict=True) if _any(alpha[side])
        ]
        off = max(off, max(part - price / 2 for part in sums) / max(price, 1e-300))
    a = np.concatenate([v, -v]) - epsilon
    return Posed(
        a=a, error=np.concatenate([error, error]) + EPS * (np.abs(a) + epsilon), alpha=alpha,
        s=both, sign=sign, target=np.concatenate([task.y, task.y]) - sign * epsilon,
        row=np.concatenate([np.arange(n), np.arange(n)]),
        groups=sides if with_nu else [np.arange(2 * n)], moves=moves,
        off=max(_outside(np.abs(task.beta), s), off), rest=price * epsilon,
        unpaid=epsilon * (price - 2 * least) if with_nu else 0.0,
        excess=_excess(np.maximum(np.abs(v) - error, 0), s, price, epsilon) if with_nu else 0.0,
    )  # fmt: skip


def _one_class(params: dict, task: Task) -> Posed:
    s, every = task.weight, np.arange(len(task.weight))
    price = params["nu"] * math.fsum(s)
    v, error = task.residuals(np.zeros(len(s)))
    move = _to_sum(task.beta, s, every, price)
    off = max(0.0, move[0] - 8 * EPS * price) / max(price, 1e-300)
    return Posed(
        a=v, error=error, alpha=task.beta, s=s, sign=np.ones(len(s)), target=np.zeros(len(s)),
        row=every, groups=[every], moves=[move], off=max(_outside(task.beta, s), off),
        rest=task.b * price,
    )  # fmt: skip


def _any(alpha: np.ndarray) -> bool:
    return bool(np.any(alpha > 0))


def _best_epsilon(distance: np.ndarray, s: np.ndarray, price: float) -> float:
    """The ε that minimises price·ε + Σ s (distance − ε)₊: where the bounds beyond it pay for it."""
    order = np.argsort(distance)[::-1]
    beyond = np.cumsum(s[order])
    enough = np.flatnonzero(beyond >= price * (1 - 1e-14))
    return float(distance[order[enough[0] if enough.size else -1]])


def _excess(distance: np.ndarray, s: np.ndarray, price: float, epsilon: float) -> float:
    """How much more than with the best ε price·ε + Σ s (distance − ε)₊ is."""
    values = [
        price * width + math.fsum(s * np.maximum(distance - width, 0))
        for width in (epsilon, _best_epsilon(distance, s, price))
    ]
    return max(0.0, values[0] - values[1]) + SUMMED * values[0]


def _outside(alpha: np.ndarray, bound: np.ndarray) -> float:
    """How far α is below zero or above its bound, relatively."""
    scale = np.where(np.isfinite(bound), bound, np.maximum(np.max(np.abs(alpha), initial=0), 1.0))
    above = np.where(np.isfinite(bound), alpha - bound, 0.0)
    return float(np.max(np.maximum(above, -alpha) / scale, initial=0.0))


def _size(alpha: np.ndarray) -> float:
    return max(math.fsum(np.abs(alpha)), 1e-300)


def _balance(alpha: np.ndarray, sign: np.ndarray) -> tuple[list, float]:
    """Σβ = 0 by lowering α of the heavier side; the move, and how far off it was."""
    drift = math.fsum(sign * alpha)
    side = np.flatnonzero(sign * drift > 0)
    room = np.maximum(alpha, 0.0)
    return [(abs(drift), side, room)], abs(drift) / _size(alpha)


def _to_sum(alpha: np.ndarray, s: np.ndarray, group: np.ndarray, wanted: float) -> tuple:
    """The move that gives α of a group the sum that is wanted, up to the rounding of that."""
    drift = math.fsum([*alpha[group], -wanted])
    room = np.maximum(alpha if drift > 0 else s - alpha, 0.0)
    return abs(drift) + 4 * EPS * wanted, group, room
