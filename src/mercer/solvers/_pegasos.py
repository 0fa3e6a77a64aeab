"""Pegasos: stochastic sub-gradient descent on the primal of the model without equality constraint.

    minimise  (λ/2)‖w‖² + mean of weight·ξ(w·x),    ξ(f) = max(0, low − f, f − high)

A loss is the distance to a corridor (`Corridor`): [1, ∞) and (−∞, −1] for the hinge loss of y = ±1,
[y − ε, y + ε] for the ε-insensitive loss. Step t takes an example (or a small batch),
w ← (1 − 1/t) w, plus x/(λt) if f is below its corridor, minus if above, and optionally projects
onto the ball of radius 1/√λ, where the optimum of the hinge loss lies. Times 1/λ this is
½‖w‖² + Σ Cᵢξᵢ with Cᵢ = weightᵢ/(nλ), so λ = 1/(nC). (The λ = 1/C of other texts stands in
(λ/2n)‖w‖² + mean loss: the same objective.) Its dual, with w = Σ βᵢxᵢ and |βᵢ| ≤ Cᵢ:

    maximise  D(β) = Σ (lowᵢ max(0, βᵢ) + highᵢ min(0, βᵢ)) − ½‖w‖²

The way down bounds its own distance to the bottom: the mean pull of example i in its visits, in
[−1, 1], times Cᵢ, is a feasible β, and D(β) ≤ optimum ≤ P(w). `Bound` keeps the best one, improved
by a line search and by sweeps of coordinate ascent.

References: Shalev-Shwartz, Singer, Srebro and Cotter, Math. Program. 127, 2011; Lacoste-Julien,
Schmidt and Bach, arXiv:1212.2002 (the average).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from mercer._result import Status
from mercer.gram._entry_error import EntryError, gamma
from mercer.solvers._coordinate_ascent import sweep
from mercer.solvers._pegasos_core import (
    hinge_ends,
    run_dense,
    run_kernel,
    run_sparse,
    sweep_dense,
    sweep_sparse,
)

__all__ = [
    "Bound", "Corridor", "DenseRows", "Descent", "KernelRows", "Rows", "SparseRows", "descend",
    "single_steps",
]  # fmt: skip

# Each time the bound is asked for there is one sweep of coordinate ascent, and one for each so many
# epochs.
EPOCHS_PER_SWEEP = 4
# Multiplications of one compiled call, about: some ten milliseconds.
WORK_PER_CALL = 10_000_000
# What a row costs besides its multiplications.
ROW_COST = 50


@dataclass(frozen=True, eq=False)
class Corridor:
    """Where f of each example costs nothing, from ``low`` to ``high``; either may be infinite."""

    low: np.ndarray
    high: np.ndarray

    @classmethod
    def hinge(cls, y: np.ndarray) -> Corridor:
        """Labels ±1, or whether they are +1."""
        low, high = np.empty(len(y)), np.empty(len(y))
        hinge_ends(y > 0, low, high)
        return cls(low, high)

    @classmethod
    def tube(cls, y: np.ndarray, epsilon: float) -> Corridor:
        return cls(y - epsilon, y + epsilon)

    def loss(self, f: np.ndarray) -> np.ndarray:
        """How far f is outside."""
        return np.maximum(0.0, np.maximum(self.low - f, f - self.high))

    def linear(self, beta: np.ndarray) -> float:
        """The dual's linear term, Σ low·max(0, β) + high·min(0, β)."""
        end = np.where(beta > 0, self.low, np.where(beta < 0, self.high, 0.0))
        return float(end @ beta)

    def within(self, bound: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The box of β; there is no pull to an infinite end."""
        finite = np.isfinite
        return np.where(finite(self.high), -bound, 0.0), np.where(finite(self.low), bound, 0.0)


Stop = Callable[[], bool]


def never() -> bool:
    """Nothing stops this."""
    return False


def _slices(orders: Sequence[np.ndarray], size: int, stop: Stop) -> Iterator[np.ndarray]:
    """Orders one after the other in slices, until ``stop()``."""
    for order in orders:
        for start in range(0, order.size, size):
            if stop():
                return
            yield order[start : start + size]


class Rows(Protocol):
    """Examples as Pegasos needs them; a model is a vector of ``size`` coefficients."""

    n: int
    size: int
    # Examples of one compiled call: Ctrl-C must not wait for a whole epoch.
    per_call: int

    def run(
        self, corridor: Corridor, weight: np.ndarray, order: np.ndarray, state: Descent
    ) -> None:
        """Steps over the examples in this order."""

    def values(self, coef: np.ndarray) -> np.ndarray:
        """f at all examples."""

    def combine(self, beta: np.ndarray) -> np.ndarray:
        """The coefficients of w = Σ βᵢ φ(xᵢ)."""

    def norm_sq(self, coef: np.ndarray) -> float: ...

    def rounding(self, coef: np.ndarray) -> np.ndarray:
        """A bound on the errors of `values`."""

    def norm_rounding(self, beta: np.ndarray) -> float:
        """A bound on the error of ½‖w‖² of w = Σ βᵢ φ(xᵢ)."""

    def ascend(
        self,
        corridor: Corridor,
        bound: np.ndarray,
        orders: Sequence[np.ndarray],
        beta: np.ndarray,
        stop: Stop = never,
    ) -> None:
        """Sweeps of coordinate ascent from β, changed in place, one for each order.

        Once ``stop()`` is true β is left as it is then, which is feasible.
        """


@dataclass
class Descent:
    """Where Pegasos stands: all that goes on from one batch of rows to the next.

    Attributes
    ----------
    lam : float
    size : int
        Of a model's vector.
    batch_size : int
    project : bool
    t : int
        Steps taken.
    u, total : float64 arrays
        w = u/(λt), and the sum of all u.
    image : float64 array or None
        K u, of rows with a kernel matrix.
    """

    lam: float
    size: int
    batch_size: int = 1
    project: bool = False
    t: int = 0
    u: np.ndarray = field(init=False)
    total: np.ndarray = field(init=False)
    hits: np.ndarray = field(init=False)
    image: np.ndarray | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.u, self.total = np.zeros(self.size), np.zeros(self.size)
        self.hits = np.zeros(0)

    def count_anew(self, n: int) -> None:
        """Forget which of n examples were met outside of their corridors."""
        self.hits = np.zeros(n)
        self.image = None  # summed anew: steps that carry it along add their rounding to it

    def coef(self, average: bool) -> np.ndarray:
        """w, or the average of all w so far, step t with weight t."""
        t = max(self.t, 1)
        if average:
            return self.total * (2 / (self.lam * t * (t + 1)))
        return self.u / (self.lam * t)


class DenseRows:
    """Rows of an array, with a column of ones or without."""

    def __init__(self, X: Any, fit_intercept: bool, batch_size: int = 1):
        self.X, self.one = X, float(fit_intercept)
        self.n, self.size = X.shape[0], X.shape[1] + 1
        some = WORK_PER_CALL // (self._row_size() + ROW_COST) + 1
        self.per_call = -(-some // batch_size) * batch_size  # whole batches
        self._sq_norms: np.ndarray | None = None

    def run(
        self, corridor: Corridor, weight: np.ndarray, order: np.ndarray, state: Descent
    ) -> None:
        state.t = run_dense(
            self.X, self.one, corridor.low, corridor.high, weight, order, state.batch_size,
            state.lam, state.project, state.t, state.u, state.total, state.hits,
        )  # fmt: skip

    def values(self, coef: np.ndarray) -> np.ndarray:
        return self.X @ coef[:-1] + self.one * coef[-1]

    def combine(self, beta: np.ndarray) -> np.ndarray:
        return np.append(self.X.T @ beta, self.one * beta.sum())

    def norm_sq(self, coef: np.ndarray) -> float:
        return float(coef @ coef)

    def ascend(
        self,
        corridor: Corridor,
        bound: np.ndarray,
        orders: Sequence[np.ndarray],
        beta: np.ndarray,
        stop: Stop = never,
    ) -> None:
        w, ends = self.combine(beta), (corridor.low, corridor.high)
        for order in _slices(orders, self.per_call, stop):
            sweep_dense(self.X, self.one, *ends, bound, self.sq_norms, order, beta, w)

    def rounding(self, coef: np.ndarray) -> np.ndarray:
        return gamma(self.size + 4) * np.sqrt(self.sq_norms) * float(np.linalg.norm(coef))

    def norm_rounding(self, beta: np.ndarray) -> float:
        length = np.sqrt(self.norm_sq(self.combine(beta)))
        lost = gamma(self.n + 8) * float(np.abs(beta) @ np.sqrt(self.sq_norms))
        return length * lost + lost**2 + gamma(self.size + 4) * length**2

    @property
    def sq_norms(self) -> np.ndarray:
        if self._sq_norms is None:
            self._sq_norms = self._squares() + self.one
        return self._sq_norms

    def _row_size(self) -> int:
        return self.X.shape[1]

    def _squares(self) -> np.ndarray:
        return np.einsum("ij,ij->i", self.X, self.X, dtype=np.float64)


class SparseRows(DenseRows):
    """The same for CSR."""

    def _row_size(self) -> int:
        return self.X.nnz // max(self.n, 1)

    def run(
        self, corridor: Corridor, weight: np.ndarray, order: np.ndarray, state: Descent
    ) -> None:
        X = self.X
        state.t = run_sparse(
            X.indptr, X.indices, X.data, self.one, corridor.low, corridor.high, weight, order,
            state.batch_size, state.lam, state.project, state.t, state.u, state.total, state.hits,
        )  # fmt: skip

    def ascend(
        self,
        corridor: Corridor,
        bound: np.ndarray,
        orders: Sequence[np.ndarray],
        beta: np.ndarray,
        stop: Stop = never,
    ) -> None:
        w, X = self.combine(beta), self.X
        arrays, ends = (X.indptr, X.indices, X.data), (corridor.low, corridor.high)
        for order in _slices(orders, self.per_call, stop):
            sweep_sparse(*arrays, self.one, *ends, bound, self.sq_norms, order, beta, w)

    def _squares(self) -> np.ndarray:
        X = self.X.astype(np.float64)
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()


class KernelRows:
    """Samples with their kernel matrix; a model's vector has a coefficient for each."""

    def __init__(self, K: np.ndarray, batch_size: int = 1, errors: EntryError | None = None):
        self.K, self.errors = K, errors
        self.n = self.size = K.shape[0]
        some = WORK_PER_CALL // self.n + 1
        self.per_call = -(-some // batch_size) * batch_size  # whole batches

    def run(
        self, corridor: Corridor, weight: np.ndarray, order: np.ndarray, state: Descent
    ) -> None:
        if state.image is None:
            state.image = self.K @ state.u
        state.t = run_kernel(
            self.K, state.image, corridor.low, corridor.high, weight, order,
            state.batch_size, state.lam, state.project, state.t, state.u, state.total, state.hits,
        )  # fmt: skip

    def values(self, coef: np.ndarray) -> np.ndarray:
        return self.K @ coef

    def combine(self, beta: np.ndarray) -> np.ndarray:
        return beta.copy()

    def norm_sq(self, coef: np.ndarray) -> float:
        return float(coef @ (self.K @ coef))

    def rounding(self, coef: np.ndarray) -> np.ndarray:
        """With |k(x, z)|² ≤ k(x, x) k(z, z)."""
        size = np.sqrt(np.abs(self.K.diagonal()))
        V, absolute = coef[:, np.newaxis], (size * float(size @ np.abs(coef)))[:, np.newaxis]
        errors = self.errors
        if errors is None:
            return gamma(self.n + 8) * absolute[:, 0]
        near = absolute * float(errors.near.max(initial=0.0))
        return errors.of_sums(V, absolute, near, self.n + 8)[:, 0]

    def norm_rounding(self, beta: np.ndarray) -> float:
        return float(np.abs(beta) @ self.rounding(beta))

    def ascend(
        self,
        corridor: Corridor,
        bound: np.ndarray,
        orders: Sequence[np.ndarray],
        beta: np.ndarray,
        stop: Stop = never,
    ) -> None:
        """A variable for each finite end of a corridor."""
        ends = corridor.low, corridor.high
        points = [np.flatnonzero(np.isfinite(end)) for end in ends]
        row = np.concatenate(points)
        target = np.concatenate([end[i] for end, i in zip(ends, points, strict=True)])
        up, down = (bound[i] for i in points)
        lower = np.concatenate([np.zeros(up.size), -down])
        upper = np.concatenate([up, np.zeros(down.size)])
        variables, f = np.clip(beta[row], lower, upper), self.K @ beta
        cyclic = np.arange(row.size)  # rows of K in their order are cheaper
        for part in _slices([cyclic] * len(orders), self.per_call, stop):
            v = variables[part]
            sweep(
                self.K, row[part], target[part], lower[part], upper[part], v, f, 0.0, part.size
            )  # fmt: skip
            variables[part] = v
        beta[:] = np.bincount(row, variables, self.n)


class Bound:
    """The best feasible β of the dual so far: D(β) bounds every model's objective from below.

    Parameters
    ----------
    rows : Rows
    corridor : Corridor
    bound : float64 array
        The Cᵢ.
    """

    def __init__(self, rows: Rows, corridor: Corridor, bound: np.ndarray):
        self.rows, self.corridor, self.bound = rows, corridor, bound
        self.beta = np.zeros(rows.n)
        self.dual = 0.0

    def primal(self, coef: np.ndarray) -> float:
        """½‖w‖² + Σ Cᵢξᵢ."""
        f = self.rows.values(coef)
        norm_sq = float(coef @ f) if isinstance(self.rows, KernelRows) else self.rows.norm_sq(coef)
        return norm_sq / 2 + float(self.bound @ self.corridor.loss(f))

    def offer(self, share: np.ndarray) -> None:
        """A new candidate: the share, between −1 and 1, of Cᵢ; it is kept if it is better."""
        beta = self.bound * share
        norm_sq = self.rows.norm_sq(self.rows.combine(beta))
        if norm_sq > 0:  # the best multiple within the box
            linear = max(self.corridor.linear(beta), 0.0)
            factor = min(linear / norm_sq, 1 / float(np.abs(share).max()))
            beta = np.clip(beta * factor, *self.corridor.within(self.bound))
            norm_sq *= factor**2
        self._keep(beta, norm_sq)

    def improve(self, rng: np.random.Generator, sweeps: int, stop: Stop = never) -> None:
        """Coordinate ascent from the best β; once ``stop()`` is true that is all."""
        beta = self.beta.copy()
        orders = [rng.permutation(beta.size) for _ in range(sweeps)]
        self.rows.ascend(self.corridor, self.bound, orders, beta, stop)
        if stop():
            return
        self._keep(beta, self.rows.norm_sq(self.rows.combine(beta)))

    def _keep(self, beta: np.ndarray, norm_sq: float) -> None:
        dual = self.corridor.linear(beta) - norm_sq / 2
        if dual > self.dual:
            self.beta, self.dual = beta, dual


def descend(
    rows: Rows,
    state: Descent,
    bound: Bound,
    weight: np.ndarray,
    rng: np.random.Generator,
    *,
    average: bool,
    replacement: bool,
    epochs: int,
    tol: float,
    stopped: Callable[[], Status | None],
) -> tuple[Status, float, int]:
    """Epochs until the relative gap is at most ``tol``; it is looked at after 2, 4, 8, … epochs.

    Returns
    -------
    status, primal value, epochs
    """
    state.count_anew(rows.n)
    done, since, status = 0, 0, None
    while True:
        order = rng.integers(0, rows.n, rows.n) if replacement else rng.permutation(rows.n)
        for start in range(0, rows.n, rows.per_call):
            rows.run(bound.corridor, weight, order[start : start + rows.per_call], state)
            status = stopped()
            if status is not None:
                break
        done, since = done + 1, since + 1
        if status is None and done < epochs and (done & (done - 1) or done == 1):
            continue
        if status is None or bound.dual == 0.0:
            bound.offer(np.clip(state.hits / since, -1.0, 1.0))
        bound.improve(rng, 1 + since // EPOCHS_PER_SWEEP, lambda: stopped() is not None)
        status = status or stopped()
        primal = bound.primal(state.coef(average))
        if primal - bound.dual <= tol * primal:
            return Status.SOLVED, primal, done
        if status is not None or done >= epochs:
            return status or Status.ITERATION_LIMIT, primal, done
        state.count_anew(rows.n)
        since = 0


def single_steps(
    rows: Rows, state: Descent, corridor: Corridor, weight: np.ndarray, rng: np.random.Generator
) -> Iterator[tuple[int, float]]:
    """The same descent an example at a time, for ever: its number, and how f was pulled there.

    ``state`` changes in place. Epochs take the examples in the orders of a `descend` that begins
    with the same ``rng``, up to its first look at the gap.
    """
    state.count_anew(rows.n)
    while True:
        order = rng.permutation(rows.n)
        for p, i in enumerate(order.tolist()):
            before = state.hits[i]
            rows.run(corridor, weight, order[p : p + 1], state)
            yield i, float(state.hits[i] - before)
