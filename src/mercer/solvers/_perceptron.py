"""The kernel perceptron: β_i += y_i, b += y_i at every point i with y_i (f_i + b) ≤ 0.

Samples are visited in turn, epoch after epoch, until an epoch has no mistake. b is the weight of a
constant feature 1, so the model with intercept is the one without under the kernel k + 1.

f is kept at all points. Where K fits into the budget an epoch is one compiled pass. Else only rows
of misclassified points are computed: a block of points that begins with a mistake is visited with K
of the block alone, then the rows of its mistakes are added to f, from a cache within the budget.
The linear kernel keeps w instead of f.

An epoch without mistakes ends the iteration only if f recomputed in float64 has none either.

References: Rosenblatt 1958; Novikoff 1962 (the bound); Freund and Schapire 1999 (voting).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._numba import REASSOCIATE, compiled
from mercer._result import Status
from mercer.gram import BlockedGram, CachedGram
from mercer.gram._machine import pieces
from mercer.kernels import Linear
from mercer.solvers._stopping import Progress, Stopping

__all__ = ["Perceptron", "Updates", "count_votes", "rows_for"]


@dataclass(frozen=True)
class PerceptronSettings:
    """Tuning constants of the perceptron."""

    # Up to this number of rows K is held whole at any budget.
    direct_rows: int = 2048
    # A block has about as many rows as the last epoch had mistakes, within these limits: then K of
    # the block costs no more than the rows of its mistakes.
    min_block: int = 32
    max_block: int = 512
    first_block: int = 256
    # Multiplications of one compiled call, about ten milliseconds.
    work_per_call: int = 10_000_000


DEFAULTS = PerceptronSettings()


@compiled
def first_mistake(order, y, f, b, start):
    """The first position from ``start`` on whose point is on the wrong side."""
    for t in range(start, order.size):
        i = order[t]
        if y[i] * (f[i] + b) <= 0.0:
            return t
    return order.size


@compiled(fastmath=REASSOCIATE)
def kernel_pass(K, order, y, f, b, bias, mistakes):
    """Visit points in order; returns how many mistakes (their positions in ``mistakes``), and b."""
    n_mistakes = 0
    for t in range(order.size):
        i = order[t]
        if y[i] * (f[i] + b) <= 0.0:
            mistakes[n_mistakes] = t
            n_mistakes += 1
            row, s = K[i], y[i]
            for j in range(f.size):
                f[j] += s * row[j]
            b += s * bias
    return n_mistakes, b


@compiled(fastmath=REASSOCIATE)
def linear_pass(X, order, y, w, b, bias, mistakes):
    """The same with w itself, for the linear kernel."""
    n_mistakes = 0
    for t in range(order.size):
        i = order[t]
        row = X[i]
        f = 0.0
        for j in range(w.size):
            f += row[j] * w[j]
        if y[i] * (f + b) <= 0.0:
            mistakes[n_mistakes] = t
            n_mistakes += 1
            for j in range(w.size):
                w[j] += y[i] * row[j]
            b += y[i] * bias
    return n_mistakes, b


@compiled
def sparse_pass(indptr, columns, values, order, y, w, b, bias, mistakes):
    """`linear_pass` on CSR rows."""
    n_mistakes = 0
    for t in range(order.size):
        i = order[t]
        f = 0.0
        for k in range(indptr[i], indptr[i + 1]):
            f += values[k] * w[columns[k]]
        if y[i] * (f + b) <= 0.0:
            mistakes[n_mistakes] = t
            n_mistakes += 1
            for k in range(indptr[i], indptr[i + 1]):
                w[columns[k]] += y[i] * values[k]
            b += y[i] * bias
    return n_mistakes, b


@compiled
def count_votes(K, slots, signs, bias, survival, out):
    """out_r += Σ_s survival_s · sign(f_s), where f_s at row r is the sum of the first s updates."""
    for r in range(K.shape[0]):
        row = K[r]
        f = 0.0
        for s in range(slots.size):
            f += signs[s] * (row[slots[s]] + bias)
            if f > 0.0:
                out[r] += survival[s]
            elif f < 0.0:
                out[r] -= survival[s]


@dataclass(frozen=True, eq=False)
class Updates:
    """All updates, from which every variant of the model is computed."""

    rows: np.ndarray  # the point of each mistake, in order
    visits: np.ndarray  # how many points had been visited before it
    n_visits: int
    epochs: int
    f: np.ndarray | None  # Kβ of the last model in float64; None if there was no time for it
    b: float
    status: Status

    @property
    def survival(self) -> np.ndarray:
        """The number of visits until the next mistake."""
        return np.diff(self.visits, append=self.n_visits)

    def coefficients(self, y: np.ndarray, averaged: bool) -> np.ndarray:
        """β of the last model, or of the mean over the models of all visits."""
        weight = (self.n_visits - self.visits) / max(self.n_visits, 1) if averaged else None
        return y * np.bincount(self.rows, weights=weight, minlength=y.size)


@dataclass(frozen=True)
class Perceptron:
    """Settings: ``max_iter`` epochs, points in random order or in their own, intercept or none."""

    max_iter: int
    shuffle: bool = True
    fit_intercept: bool = True

    def solve(self, y: np.ndarray, rows: Any, stopping: Stopping, rng: Any) -> Updates:
        """Labels y = ±1; ``rows`` is what `rows_for` made of the Gram."""
        n, bias = y.size, float(self.fit_intercept)
        order = np.arange(n)
        state, b = rows.start(), 0.0
        made_at: list[np.ndarray] = [np.zeros(0, np.intp)]
        visits: list[np.ndarray] = [np.zeros(0, np.int64)]
        f: np.ndarray | None = None
        status, epochs = Status.ITERATION_LIMIT, 0
        while epochs < self.max_iter and status is Status.ITERATION_LIMIT:
            if self.shuffle:
                rng.shuffle(order)
            mistakes, b = rows.epoch(y, state, b, bias, order, stopping)
            stopped = stopping.stopped
            made_at.append(order[mistakes])
            visits.append(mistakes + epochs * n)
            epochs += 1
            if mistakes.size == 0 and stopped is None:
                f = rows.values(y * np.bincount(np.concatenate(made_at), minlength=n), state)
                if (y * (f + b) > 0).all():
                    status = Status.SOLVED
                continue
            total = sum(part.size for part in made_at)
            stopping.report(Progress(stopping.seconds, epochs, total, float(mistakes.size), 0.0))
            status = stopped or stopping.stopped or status
        made = np.concatenate(made_at)
        if status in (Status.TIME_LIMIT, Status.STOPPED):
            f = None
        elif status is not Status.SOLVED:
            f = rows.values(y * np.bincount(made, minlength=n), state)
        return Updates(made, np.concatenate(visits), epochs * n, epochs, f, b, status)


def rows_for(gram: BlockedGram, cache_bytes: int, settings: PerceptronSettings = DEFAULTS) -> Any:
    """How kernel rows are held; several tasks may share it."""
    if type(gram.kernel) is Linear:
        return _LinearRows(gram, settings)
    if gram.n <= settings.direct_rows or 4 * gram.n**2 <= cache_bytes:
        return _WholeRows(gram, max(cache_bytes, 8 * settings.direct_rows**2), settings)
    return _StoredRows(gram, cache_bytes, settings)


class _PassedRows:
    """Epochs by compiled passes over the matrix ``rows``; ``state`` is f, or w."""

    rows: tuple
    visit: Any
    settings: PerceptronSettings

    def epoch(
        self,
        y: np.ndarray,
        state: np.ndarray,
        b: float,
        bias: float,
        order: np.ndarray,
        stopping: Any,
    ) -> tuple[np.ndarray, float]:
        """One visit to every point: positions in ``order`` of the mistakes, and the new b."""
        mistakes = np.empty(order.size, np.int64)
        found = [np.zeros(0, np.int64)]
        for part in pieces(order.size, 1 + self.settings.work_per_call // max(state.size, 1)):
            if stopping.stopped is not None:
                break
            n_mistakes, b = self.visit(*self.rows, order[part], y, state, b, bias, mistakes)
            found.append(part.start + mistakes[:n_mistakes])
        return np.concatenate(found), b


class _WholeRows(_PassedRows):
    """K as a whole."""

    def __init__(self, gram: BlockedGram, cache_bytes: int, settings: PerceptronSettings):
        self.whole, self.settings = CachedGram(gram, cache_bytes), settings
        self.rows, self.visit = (self.whole.K,), kernel_pass

    def start(self) -> np.ndarray:
        return np.zeros(self.whole.n)

    def values(self, beta: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Kβ recomputed in float64, written over f."""
        f[:] = self.whole.matvec(beta[:, np.newaxis], dtype=np.float64)[:, 0]
        return f


class _LinearRows(_PassedRows):
    """w = Σ β x in place of f."""

    def __init__(self, gram: BlockedGram, settings: PerceptronSettings):
        self.block, self.settings = gram.sample_block(slice(0, gram.n), np.float64), settings
        is_sparse = self.block.is_sparse
        self.rows = self.block.csr[:3] if is_sparse else (self.block.X,)
        self.visit = sparse_pass if is_sparse else linear_pass

    def start(self) -> np.ndarray:
        return np.zeros(self.block.points.d)

    def values(self, beta: np.ndarray, w: np.ndarray) -> np.ndarray:
        w[:] = self.block.X.T @ beta
        return np.asarray(self.block.X @ w)


class _StoredRows:
    """float32 rows of mistaken points, within a budget."""

    def __init__(self, gram: BlockedGram, cache_bytes: int, settings: PerceptronSettings):
        self.gram, self.settings = gram, settings
        self.store = gram.row_cache(np.arange(gram.n), gram.n, cache_bytes)
        self.K = np.empty((settings.max_block, settings.max_block), np.float32)
        self.bound = np.zeros(gram.n, np.float32)  # of the error of f, not used here
        self.length = settings.first_block

    def start(self) -> np.ndarray:
        self.length = self.settings.first_block
        return np.zeros(self.gram.n)

    def epoch(
        self, y: np.ndarray, f: np.ndarray, b: float, bias: float, order: np.ndarray, stopping: Any
    ) -> tuple[np.ndarray, float]:
        found: list[np.ndarray] = [np.zeros(0, np.int64)]
        mistakes = np.empty(self.settings.max_block, np.int64)
        at = first_mistake(order, y, f, b, 0)
        while at < order.size and stopping.stopped is None:
            points = order[at : at + self.length]
            K = self.K[: points.size, : points.size]
            self.store.square(points, K, 0)
            own = np.arange(points.size), y[points], f[points]
            n_mistakes, b = kernel_pass(K, *own, b, bias, mistakes)
            wrong = points[mistakes[:n_mistakes]]
            self.store.add_to(f, self.bound, wrong, y[wrong])
            found.append(at + mistakes[:n_mistakes])
            at = first_mistake(order, y, f, b, at + points.size)
        made = np.concatenate(found)
        self.length = int(np.clip(made.size, self.settings.min_block, self.settings.max_block))
        return made, b

    def values(self, beta: np.ndarray, f: np.ndarray) -> np.ndarray:
        f[:] = 0.0
        rows = np.flatnonzero(beta)
        self.gram.accumulate(f, np.arange(self.gram.n), rows, beta[rows])
        return f
