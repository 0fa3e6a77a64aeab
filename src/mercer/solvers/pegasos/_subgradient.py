"""Pegasos: stochastic subgradient steps, with a dual point that bounds the optimum.

Step t visits a row (or a small batch) and sets w ← (1 − 1/t) w, plus x/(λt) if f is below its loss
interval, minus if above, and optionally projects w onto the ball of radius 1/√λ, in which the
optimum of the hinge loss lies (`_state` has the objective and its dual).

The mean subgradient sign of row i over its visits, in [−1, 1], times Cᵢ is a feasible β, so that
D(β) ≤ optimum ≤ P(w). `DualBound` keeps the best such β, improved by a line search and by sweeps of
coordinate ascent.

References: Shalev-Shwartz, Singer, Srebro and Cotter, Math. Program. 127, 2011, figures 1 and 2;
Lacoste-Julien, Schmidt and Bach, arXiv:1212.2002 (the average).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from mercer._result import Status
from mercer.solvers._stopping import Progress, Stopping
from mercer.solvers.pegasos._rows import KernelRows, PegasosRows
from mercer.solvers.pegasos._state import DEFAULTS, LossInterval, PegasosState

__all__ = ["DualBound", "RunLimits", "run", "single_steps"]


@dataclass(frozen=True)
class RunLimits:
    """When `run` ends, and which model it is about.

    Attributes
    ----------
    tol : float
        Relative gap, evaluated after 2, 4, 8, … epochs.
    epochs : int
        Most passes over the rows.
    n_steps : int or None
        Exactly this number of steps, in place of ``tol`` and ``epochs``: the algorithm of the
        paper, without a test for convergence.
    average, replacement : bool
        Whether the model is the average of the iterates; whether rows are drawn with replacement.
    epochs_per_sweep : int
        As in `PegasosSettings`.
    """

    tol: float
    epochs: int
    n_steps: int | None = None
    average: bool = True
    replacement: bool = False
    epochs_per_sweep: int = DEFAULTS.epochs_per_sweep


class DualBound:
    """The best feasible β of the dual so far: D(β) bounds every model's objective from below.

    Parameters
    ----------
    rows : PegasosRows
    interval : LossInterval
    C : float64 array
        The bound of each |βᵢ|.
    """

    def __init__(self, rows: PegasosRows, interval: LossInterval, C: np.ndarray):
        self.rows, self.interval, self.C = rows, interval, C
        self.beta = np.zeros(rows.n)
        self.dual = 0.0

    def primal(self, coef: np.ndarray) -> float:
        """½‖w‖² + Σ Cᵢξᵢ."""
        f = self.rows.values(coef)
        norm_sq = float(coef @ f) if isinstance(self.rows, KernelRows) else self.rows.norm_sq(coef)
        return norm_sq / 2 + float(self.C @ self.interval.loss(f))

    def propose(self, fraction: np.ndarray) -> None:
        """Try βᵢ = fractionᵢ Cᵢ, −1 ≤ fraction ≤ 1, times the best factor within the box."""
        beta = self.C * fraction
        norm_sq = self.rows.norm_sq(self.rows.combine(beta))
        if norm_sq > 0:
            linear = max(self.interval.dual_linear_term(beta), 0.0)
            factor = min(linear / norm_sq, 1 / float(np.abs(fraction).max()))
            beta = np.clip(beta * factor, *self.interval.dual_bounds(self.C))
            norm_sq *= factor**2
        self._keep_if_better(beta, norm_sq)

    def improve(
        self, rng: np.random.Generator, sweeps: int, stop: Callable[[], bool] = lambda: False
    ) -> None:
        """Coordinate ascent from the best β; discarded once ``stop()`` is true."""
        beta = self.beta.copy()
        orders = [rng.permutation(beta.size) for _ in range(sweeps)]
        self.rows.sweep(self.interval, self.C, orders, beta, stop)
        if stop():
            return
        self._keep_if_better(beta, self.rows.norm_sq(self.rows.combine(beta)))

    def _keep_if_better(self, beta: np.ndarray, norm_sq: float) -> None:
        dual = self.interval.dual_linear_term(beta) - norm_sq / 2
        if dual > self.dual:
            self.beta, self.dual = beta, dual


def run(
    rows: PegasosRows,
    state: PegasosState,
    bound: DualBound,
    weight: np.ndarray,
    rng: np.random.Generator,
    limits: RunLimits,
    stopping: Stopping,
) -> tuple[Status, float, int]:
    """Steps until the limits; ``state`` and ``bound`` change in place.

    Returns
    -------
    status, primal value, epochs begun
    """
    state.reset_signs(rows.n)
    done = since = 0
    batch, n_steps = state.batch_size, limits.n_steps
    while True:
        order = rng.integers(0, rows.n, rows.n) if limits.replacement else rng.permutation(rows.n)
        if n_steps is not None:  # whole batches
            order = order[: min(max(rows.n // batch, 1), n_steps - state.t) * batch]
        for start in range(0, order.size, rows.per_call):
            rows.run(bound.interval, weight, order[start : start + rows.per_call], state)
            if stopping.stopped is not None:
                break
        done, since, status = done + 1, since + 1, stopping.stopped
        is_end = done >= limits.epochs if n_steps is None else state.t >= n_steps
        if status is None and not is_end and (n_steps or done & (done - 1) or done == 1):
            continue
        if status is None or bound.dual == 0.0:
            bound.propose(np.clip(state.sign_sums / since, -1.0, 1.0))
        bound.improve(rng, 1 + since // limits.epochs_per_sweep, stopping.is_stopped)
        primal = bound.primal(state.coef(limits.average))
        gap = (primal - bound.dual) / primal if primal > 0 else 0.0
        stopping.report(Progress(stopping.seconds, done, state.t, gap, limits.tol))
        status = status or stopping.stopped
        if gap <= limits.tol and (n_steps is None or is_end):
            return Status.SOLVED, primal, done
        if status is not None or is_end:
            return status or Status.ITERATION_LIMIT, primal, done
        state.reset_signs(rows.n)
        since = 0


def single_steps(
    rows: PegasosRows,
    state: PegasosState,
    interval: LossInterval,
    weight: np.ndarray,
    rng: np.random.Generator,
) -> Iterator[tuple[int, float]]:
    """The same steps one row at a time, without end: its number and its subgradient sign.

    ``state`` changes in place. Epochs take the rows in the orders of `run` with the same
    ``rng``, up to its first evaluation of the gap.
    """
    state.reset_signs(rows.n)
    while True:
        order = rng.permutation(rows.n)
        for p, i in enumerate(order.tolist()):
            before = state.sign_sums[i]
            rows.run(interval, weight, order[p : p + 1], state)
            yield i, float(state.sign_sums[i] - before)
