"""Platt's SMO as in lecture notes, written to be read: for teaching, and as an oracle.

Two multipliers at a time, since one alone could not move while Σβ stays fixed. In signed duals
β = y∘α a step is β_j + δ, β_i − δ, and with the errors e = target − f

    D(δ) = δ (e_j − e_i) − ½ η δ²,      η = K_ii + K_jj − 2 K_ij,

so δ = (e_j − e_i)/η, clipped to the interval [L, H] that the box leaves β_j. For η = 0
(φ(x_i) = φ(x_j), e.g. one row twice) D is a line, for η < 0 (a kernel that is not PSD) it opens
upwards: both are highest at an end of [L, H], and the better end is taken. (The lecture notes'
formula for η = 0 has the sign reversed and would go to the wrong end.) With opposite labels on
one point this still makes progress.

The outer loop takes all points, then those strictly inside the box until none of them moves, then
all again; the partner j of i is the one with the largest |e_i − e_j| among the latter, else any.

Reference: Platt, Fast training of support vector machines using SMO, 1998, ch. 12.2 and 12.4.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from mercer.gram import Gram
from mercer.problems._dual_qp import BoxQP
from mercer.problems._kkt import intercepts
from mercer.solvers._base import DenseIteration, DenseSolver
from mercer.solvers._stopping import Stopping

__all__ = ["PairStep", "Platt"]


@dataclass(frozen=True)
class PairStep:
    """One step: which pair, the interval, slope and curvature, β before and after, b after it.

    Attributes
    ----------
    i, j : int
        Variables; j is the one that [L, H] belongs to.
    low, high : float
        The interval of β_j within the box at a fixed sum.
    slope, eta : float
        e_j − e_i and K_ii + K_jj − 2K_ij.
    before, after : pair of float
        (β_i, β_j); α = |β|.
    b : float
        The threshold after the step.
    """

    i: int
    j: int
    low: float
    high: float
    slope: float
    eta: float
    before: tuple[float, float]
    after: tuple[float, float]
    b: float

    @property
    def alpha_interval(self) -> tuple[float, float]:
        """The notes' [L, H], for α_j = |β_j|."""
        return (self.low, self.high) if self.high > 0 else (-self.high, -self.low)

    @property
    def unclipped(self) -> float:
        """β_j where D would be largest without the box; infinite where D has no such place."""
        return self.before[1] + (self.slope / self.eta if self.eta > 0 else self.slope * np.inf)


class _Pairs(DenseIteration):
    """β, the error cache e = target − f, and the threshold b."""

    def __init__(self, problem: BoxQP, K: np.ndarray, beta: np.ndarray, solver: Platt):
        super().__init__(problem, K, beta, solver.tol)
        self.solver = solver
        self.b = float(intercepts(problem, self.beta, self.f)[0][0])
        self.stream = self.all_steps()

    def advance(self, room: int) -> None:
        for _ in range(min(room, self.solver.steps_per_round)):
            if next(self.stream, None) is None:  # the end, or rounding in the errors
                self.sum_f()
                self.stream = self.all_steps()
                return

    # ------------------------------------------------------------------ the outer loop

    def all_steps(self) -> Iterator[PairStep]:
        """All points, then the free ones until none of them moves, and so on until none does."""
        everything = True
        while True:
            rows = np.arange(self.beta.size) if everything else np.flatnonzero(self.is_free())
            moved = False
            for i in rows.tolist():
                step = self.examine(i)
                if step is not None:
                    moved = True
                    yield step
            if everything and not moved:
                if not self.threshold_moved():
                    return
            else:
                everything = not everything and not moved

    def examine(self, i: int) -> PairStep | None:
        """A step for point i, if it violates its KKT condition and has a partner."""
        r = self.error(i) - self.b
        half = self.tol / 2  # two points each within half of b are a pair within tol
        may_rise = self.beta[i] < self.problem.upper[i]
        may_fall = self.beta[i] > self.problem.lower[i]
        if not ((r > half and may_rise) or (r < -half and may_fall)):
            return None
        for j in self.partners(i):
            step = self.take_step(j, i)
            if step is not None:
                return step
        return None

    def partners(self, i: int) -> Iterator[int]:
        """Second choice: the largest |e_i − e_j| among the free ones; the free; all the others."""
        difference = np.abs(self.errors() - self.error(i))
        free = np.flatnonzero(self.is_free())
        if free.size:
            yield int(free[np.argmax(difference[free])])
        yield from free.tolist()
        yield from np.argsort(-difference, kind="stable").tolist()

    # ------------------------------------------------------------------ a step

    def take_step(self, i: int, j: int) -> PairStep | None:
        if i == j:
            return None
        p, beta, (k, m) = self.problem, self.beta, (self.row[i], self.row[j])
        total = beta[i] + beta[j]
        low = max(p.lower[j], total - p.upper[i])
        high = min(p.upper[j], total - p.lower[i])
        if not low < high:
            return None
        slope = self.error(j) - self.error(i)
        if abs(slope) <= self.solver.slope_fraction * self.tol:
            return None
        eta = self.K[k, k] + self.K[m, m] - 2 * self.K[k, m]
        new = self.best_end(i, j, slope, eta, low, high)
        if not np.isfinite(new):
            self.is_unbounded = True
            return None
        delta = new - beta[j]
        if delta == 0:
            return None
        before = float(beta[i]), float(beta[j])
        beta[j] = new
        beta[i] = min(max(total - new, p.lower[i]), p.upper[i])
        self.f += delta * (self.K[m] - self.K[k])
        self.steps += 1
        self.set_threshold(i, j)
        after = float(beta[i]), float(beta[j])
        return PairStep(i, j, float(low), float(high), slope, float(eta), before, after, self.b)

    def best_end(self, i: int, j: int, slope: float, eta: float, low: float, high: float) -> float:
        """β_j where D is largest on [L, H]."""
        now = float(self.beta[j])
        scale = abs(self.K[self.row[i], self.row[i]]) + abs(self.K[self.row[j], self.row[j]])
        if eta > 1e-14 * scale:
            return min(max(now + slope / eta, low), high)
        if eta < -1e-5 * scale:
            self.met_negative_curvature = True
        if not (np.isfinite(low) and np.isfinite(high)):
            return high if slope > 0 else low

        def gain(end: float) -> float:
            return (end - now) * (slope - eta * (end - now) / 2)

        if gain(high) == gain(low):
            return now
        return high if gain(high) > gain(low) else low

    def set_threshold(self, i: int, j: int) -> None:
        """b = e on a free point; between the two where both are at a bound."""
        free = self.is_free()
        ends = [self.error(k) for k in (i, j) if free[k]] or [self.error(i), self.error(j)]
        self.b = float(ends[0] if len(ends) == 1 else (ends[0] + ends[1]) / 2)

    def threshold_moved(self) -> bool:
        """No pair can be improved: b from the KKT conditions of all points, if it was not that."""
        before, self.b = self.b, float(intercepts(self.problem, self.beta, self.f)[0][0])
        return abs(self.b - before) > self.tol / 4

    def errors(self) -> np.ndarray:
        return self.problem.target - self.problem.at_variables(self.f)

    def error(self, k: int) -> float:
        return float(self.problem.target[k] - self.f[self.row[k]])

    def is_free(self) -> np.ndarray:
        return (self.beta > self.problem.lower) & (self.beta < self.problem.upper)


@dataclass(frozen=True)
class Platt(DenseSolver):
    """The textbook's SMO, for problems with one intercept.

    Parameters
    ----------
    tol, max_iter, most_bytes
        As in `DenseSolver`; a step is a pair.
    steps_per_round : int
        Steps between two checks of the limits.
    slope_fraction : float
        Pairs whose errors differ by less than this fraction of tol are not moved: where b is
        inaccurate, rounding alone would move them for ever.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer._threads import Workers
    >>> from mercer.gram import BlockedGram
    >>> from mercer.kernels import Linear
    >>> from mercer.kernels._samples import Samples
    >>> from mercer.problems import svc
    >>> gram = BlockedGram(Linear(), Samples(np.array([[0.0, 1.0], [0.0, -1.0]])), Workers(1))
    >>> for step in Platt().steps(svc(np.array([1.0, -1.0]), C=1.0), gram):
    ...     print(step.eta, step.alpha_interval, step.after, step.b)
    4.0 (0.0, 1.0) (-0.5, 0.5) 0.0
    """

    steps_per_round: int = field(default=200, repr=False)
    slope_fraction: float = field(default=0.1, repr=False)

    name: ClassVar[str] = "platt"
    needs_psd: ClassVar[bool] = False
    takes_groups: ClassVar[tuple[int, ...]] = (1,)

    def _groups_reason(self, n_groups: int) -> str:
        if n_groups == 0:
            return (
                "the problem has no intercept, and a pair keeps a sum that is free here. "
                "Use solver='coordinate-ascent'."
            )
        return (
            "a nu problem has two equality constraints, and its pairs keep one. Use solver='smo'."
        )

    def _begin(
        self, problem: BoxQP, gram: Gram, beta: np.ndarray, stopping: Stopping
    ) -> DenseIteration:
        return _Pairs(problem, gram.matrix(), beta, self)

    def steps(self, problem: BoxQP, gram: Gram) -> Iterator[PairStep]:
        """The steps one by one, each computed on demand."""
        return _Pairs(problem, gram.matrix(), problem.start.copy(), self).all_steps()
