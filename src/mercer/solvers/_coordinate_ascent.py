"""Coordinate ascent on the dual without intercept: one β at a time, to its best value.

    maximise  D(β) = targetᵀβ − ½ βᵀKβ   subject to  lower ≤ β ≤ upper

Along one coordinate D is a parabola with slope e = target − f and curvature K_ii, so the step is
exact: β_i ← clip(β_i + e_i / K_ii). Cyclic order takes each variable in turn and skips those that
are optimal; greedy order takes the one with the largest gain, which evaluates all of them.
Without the constraint Σβ = 0 no pair is needed: that is the model without intercept.

References: the lecture notes' coordinate ascent; Hsieh et al., ICML 2008 (the linear case).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from mercer._numba import REASSOCIATE, compiled
from mercer.problems._dual_qp import BoxQP
from mercer.solvers._base import DenseIteration, DenseSolver

__all__ = ["CoordinateAscent", "best_coordinate", "greedy", "sweep"]


@compiled(fastmath=REASSOCIATE)
def _add(f: np.ndarray, K_row: np.ndarray, delta: float) -> None:
    for j in range(f.size):
        f[j] += delta * K_row[j]


@compiled
def best_coordinate(
    e: float, curvature: float, beta: float, lower: float, upper: float, flat: float
) -> float:
    """The maximiser of the parabola within the bounds; a curvature up to ``flat`` is zero.

    An infinite value says that D is unbounded.
    """
    if curvature > flat:
        return min(max(beta + e / curvature, lower), upper)
    if e == 0.0:
        return beta
    return upper if e > 0 else lower


@compiled
def sweep(
    K: np.ndarray,
    row: np.ndarray,
    target: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    beta: np.ndarray,
    f: np.ndarray,
    flat: float,
    max_steps: int,
) -> tuple[int, float]:
    """Every variable once, in order, at most ``max_steps`` steps; f = Kβ is updated.

    Returns the steps, −1 where D is unbounded, and the largest slope of a variable that moved.
    """
    steps, steepest = 0, 0.0
    for k in range(beta.size):
        i = row[k]
        e = target[k] - f[i]
        new = best_coordinate(e, K[i, i], beta[k], lower[k], upper[k], flat)
        if new == beta[k]:
            continue
        if steps == max_steps:
            break
        if not np.isfinite(new):
            return -1, steepest
        _add(f, K[i], new - beta[k])
        beta[k] = new
        steepest = max(steepest, abs(e))
        steps += 1
    return steps, steepest


@compiled
def greedy(
    K: np.ndarray,
    row: np.ndarray,
    target: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    beta: np.ndarray,
    f: np.ndarray,
    flat: float,
    max_steps: int,
    slope_tol: float,
) -> int:
    """At most ``max_steps`` steps, each of the variable with the largest gain.

    Returns the steps, −1 where D is unbounded. Ends once no slope exceeds ``slope_tol``.
    """
    for steps in range(max_steps):
        best, best_new, best_gain, steepest = -1, 0.0, 0.0, 0.0
        for k in range(beta.size):
            i = row[k]
            e = target[k] - f[i]
            new = best_coordinate(e, K[i, i], beta[k], lower[k], upper[k], flat)
            if not np.isfinite(new):
                return -1
            delta = new - beta[k]
            gain = delta * (e - 0.5 * delta * K[i, i])
            if delta != 0.0:
                steepest = max(steepest, abs(e))
            if gain > best_gain:
                best, best_new, best_gain = k, new, gain
        if best < 0 or steepest <= slope_tol:
            return steps
        _add(f, K[row[best]], best_new - beta[best])
        beta[best] = best_new
    return max_steps


class _Ascent(DenseIteration):
    def __init__(self, problem: BoxQP, K: np.ndarray, beta: np.ndarray, solver: CoordinateAscent):
        super().__init__(problem, K, beta, solver.tol)
        diagonal = K.diagonal()
        self.flat = solver.flat_curvature * float(np.abs(diagonal).max(initial=0.0))
        self.met_negative_curvature = bool((diagonal < -self.flat).any())
        self.solver = solver

    def advance(self, room: int) -> None:
        p, work_per_call = self.problem, self.solver.work_per_call
        arrays = (self.K, self.row, p.target, p.lower, p.upper, self.beta, self.f, self.flat)
        slope_tol = self.tol / 4  # two slopes make a violation, and f is not yet recomputed
        n, size = self.K.shape[0], self.beta.size
        if self.solver.order == "greedy":
            some = work_per_call // (n + size) + 1
            self._count(greedy(*arrays, min(room, some), slope_tol))
            return
        for _ in range(work_per_call // (n * size) + 1):
            steps, steepest = sweep(*arrays, room)
            self._count(steps)
            room -= steps
            if steps <= 0 or room == 0 or steepest <= slope_tol:
                return

    def _count(self, steps: int) -> None:
        self.is_unbounded = steps < 0
        self.steps += max(steps, 0)


@dataclass(frozen=True)
class CoordinateAscent(DenseSolver):
    """Coordinate ascent on the dual of a model without intercept.

    Parameters
    ----------
    tol, max_iter, most_bytes
        As in `DenseSolver`; a step is a change of one β.
    order : {"cyclic", "greedy"}
    work_per_call : int
        Multiplications of one compiled call, a few milliseconds.
    flat_curvature : float
        A curvature K_ii up to this fraction of the largest counts as zero.
    """

    order: str = "cyclic"
    work_per_call: int = field(default=4_000_000, repr=False)
    flat_curvature: float = field(default=1e-15, repr=False)

    name: ClassVar[str] = "coordinate-ascent"
    iteration: ClassVar[type] = _Ascent

    def __post_init__(self) -> None:
        if self.order not in ("cyclic", "greedy"):
            raise ValueError(f"order must be 'cyclic' or 'greedy', got {self.order!r}.")
