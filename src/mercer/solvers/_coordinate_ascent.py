"""Coordinate ascent on the dual without intercept: one β at a time, to its best value.

    maximise  D(β) = targetᵀβ − ½ βᵀKβ   subject to  lower ≤ β ≤ upper

Along one coordinate D is a parabola with slope e = target − f and curvature K_ii, so the step is
exact: β_i ← clip(β_i + e_i / K_ii). Cyclic order takes each variable in turn and skips those that
are at their best; greedy order takes the one whose step gains most, at the price of a look at all.
Without the constraint Σβ = 0 no pair is needed: that is the model without intercept.

References: the lecture notes' coordinate ascent; Hsieh et al., ICML 2008 (the linear case).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mercer._numba import REASSOCIATE, compiled
from mercer.gram import Gram
from mercer.problems._dual_qp import BoxQP
from mercer.solvers._base import DenseIteration, DenseSolver
from mercer.solvers._stopping import Stopping

__all__ = ["CoordinateAscent", "greedy", "sweep"]

# Multiplications of one compiled call, about: a few milliseconds.
WORK_PER_CALL = 4_000_000
# Less curvature than this share of the largest is none.
FLAT = 1e-15


@compiled(fastmath=REASSOCIATE)
def _add(f, K_row, delta):
    for j in range(f.size):
        f[j] += delta * K_row[j]


@compiled
def _best(e, curvature, beta, lower, upper, flat):
    """The top of the parabola or the bound before it; without curvature, the bound.

    An infinite value says that D grows without end.
    """
    if curvature > flat:
        return min(max(beta + e / curvature, lower), upper)
    if e == 0.0:
        return beta
    return upper if e > 0 else lower


@compiled
def sweep(K, row, target, lower, upper, beta, f, flat, room):
    """Every variable once, in order; f = Kβ is carried along.

    Returns the steps, −1 where D grows without end, and the steepest slope that was met.
    """
    steps, steepest = 0, 0.0
    for k in range(beta.size):
        i = row[k]
        e = target[k] - f[i]
        new = _best(e, K[i, i], beta[k], lower[k], upper[k], flat)
        if new == beta[k]:
            continue
        if steps == room:
            break
        if not np.isfinite(new):
            return -1, steepest
        _add(f, K[i], new - beta[k])
        beta[k] = new
        steepest = max(steepest, abs(e))
        steps += 1
    return steps, steepest


@compiled
def greedy(K, row, target, lower, upper, beta, f, flat, room, enough):
    """So many steps, each of the variable that gains most, while a slope is above ``enough``.

    Returns the steps, −1 where D grows without end.
    """
    for steps in range(room):
        best, best_new, best_gain, steepest = -1, 0.0, 0.0, 0.0
        for k in range(beta.size):
            i = row[k]
            e = target[k] - f[i]
            new = _best(e, K[i, i], beta[k], lower[k], upper[k], flat)
            if not np.isfinite(new):
                return -1
            delta = new - beta[k]
            gain = delta * (e - 0.5 * delta * K[i, i])
            if delta != 0.0:
                steepest = max(steepest, abs(e))
            if gain > best_gain:
                best, best_new, best_gain = k, new, gain
        if best < 0 or steepest <= enough:
            return steps
        _add(f, K[row[best]], best_new - beta[best])
        beta[best] = best_new
    return room


class _Ascent(DenseIteration):
    def __init__(
        self, problem: BoxQP, K: np.ndarray, beta: np.ndarray, tol: float, is_greedy: bool
    ):
        super().__init__(problem, K, beta, tol)
        diagonal = K.diagonal()
        self.flat = FLAT * float(np.abs(diagonal).max(initial=0.0))
        self.met_negative_curvature = bool((diagonal < -self.flat).any())
        self.is_greedy = is_greedy

    def advance(self, room: int) -> None:
        p, work = self.problem, self.K.shape[0] * self.beta.size
        arrays = (self.K, self.row, p.target, p.lower, p.upper, self.beta, self.f, self.flat)
        enough = self.tol / 4  # two slopes make a violation, and f has yet to be summed afresh
        if self.is_greedy:
            some = WORK_PER_CALL // (self.K.shape[0] + self.beta.size) + 1
            self._count(greedy(*arrays, min(room, some), enough))
            return
        for _ in range(WORK_PER_CALL // work + 1):
            steps, steepest = sweep(*arrays, room)
            self._count(steps)
            room -= steps
            if steps <= 0 or room == 0 or steepest <= enough:
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
    """

    order: str = "cyclic"

    name: ClassVar[str] = "coordinate-ascent"

    def __post_init__(self) -> None:
        if self.order not in ("cyclic", "greedy"):
            raise ValueError(f"order must be 'cyclic' or 'greedy', got {self.order!r}.")

    def _begin(
        self, problem: BoxQP, gram: Gram, beta: np.ndarray, stopping: Stopping
    ) -> DenseIteration:
        return _Ascent(problem, gram.matrix(), beta, self.tol, self.order == "greedy")
