"""The kernel perceptron: β_i += y_i, b += y_i at every point i with y_i (f_i + b) ≤ 0.

Samples are visited in turn, epoch after epoch, until an epoch has no mistake. b is the weight of a
constant feature 1, so the model with intercept is the one without under the kernel k + 1.

f is kept at all points. Where K fits into the budget an epoch is one compiled pass. Else only rows
of mistaken points are computed: a block of points that begins with a mistake is passed over with K
of the block alone, then the rows of its mistakes are added to f, from a store within the budget.
The linear kernel keeps w instead of f.

A last epoch without mistakes is believed once f has been summed afresh in float64.

References: Rosenblatt 1958; Novikoff 1962 (the bound); Freund and Schapire 1999 (voting).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._result import Status
from mercer.gram import BlockedGram, CachedGram
from mercer.gram._blocked import pieces
from mercer.kernels import Linear
from mercer.solvers._perceptron_core import first_mistake, kernel_pass, linear_pass, sparse_pass
from mercer.solvers._stopping import Progress, Stopping

__all__ = ["Perceptron", "Updates", "rows_for"]

# Up to so many points K is held whole whatever the budget.
DIRECT_POINTS = 2048
# A block has about as many points as the last epoch had mistakes, within these limits: then K of
# the block costs no more than the rows of its mistakes.
SMALLEST_BLOCK, LARGEST_BLOCK, FIRST_BLOCK = 32, 512, 256
# Multiplications of one compiled call, about: some ten milliseconds.
WORK_PER_CALL = 10_000_000


@dataclass(frozen=True, eq=False)
class Updates:
    """All that happened, from which every variant of the model is made.

    Attributes
    ----------
    rows : int array
        The point of each mistake, in order.
    visits : int array
        How many points had been visited before it.
    n_visits, epochs : int
    f : float64 array or None
        Kβ of the last model at all points, in float64; None where there was no time to sum it.
    b : float
    status : Status
    """

    rows: np.ndarray
    visits: np.ndarray
    n_visits: int
    epochs: int
    f: np.ndarray | None
    b: float
    status: Status

    @property
    def survival(self) -> np.ndarray:
        """How many visits the model after each mistake lived."""
        return np.diff(self.visits, append=self.n_visits)

    def coefficients(self, y: np.ndarray, averaged: bool) -> np.ndarray:
        """β of the last model, or of the mean over the models of all visits."""
        share = (self.n_visits - self.visits) / max(self.n_visits, 1) if averaged else None
        return y * np.bincount(self.rows, weights=share, minlength=y.size)


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
        mistaken: list[np.ndarray] = [np.zeros(0, np.intp)]
        visits: list[np.ndarray] = [np.zeros(0, np.int64)]
        f: np.ndarray | None = None
        status, epochs = Status.ITERATION_LIMIT, 0
        while epochs < self.max_iter and status is Status.ITERATION_LIMIT:
            if self.shuffle:
                rng.shuffle(order)
            hits, b = rows.epoch(y, state, b, bias, order, stopping)
            stopped = stopping.stopped
            mistaken.append(order[hits])
            visits.append(hits + epochs * n)
            epochs += 1
            if hits.size == 0 and stopped is None:
                f = rows.values(y * np.bincount(np.concatenate(mistaken), minlength=n), state)
                if (y * (f + b) > 0).all():
                    status = Status.SOLVED
                continue
            total = sum(part.size for part in mistaken)
            stopping.report(Progress(stopping.seconds, epochs, total, float(hits.size), 0.0))
            status = stopped or stopping.stopped or status
        made = np.concatenate(mistaken)
        if status in (Status.TIME_LIMIT, Status.STOPPED):
            f = None
        elif status is not Status.SOLVED:
            f = rows.values(y * np.bincount(made, minlength=n), state)
        return Updates(made, np.concatenate(visits), epochs * n, epochs, f, b, status)


def rows_for(gram: BlockedGram, cache_bytes: int) -> Any:
    """The way to kernel rows that suits the Gram; several tasks may share it."""
    if type(gram.kernel) is Linear:
        return _LinearRows(gram)
    if gram.n <= DIRECT_POINTS or 4 * gram.n**2 <= cache_bytes:
        return _WholeRows(gram, max(cache_bytes, 8 * DIRECT_POINTS**2))
    return _StoredRows(gram, cache_bytes)


class _WholeRows:
    """K as a whole."""

    def __init__(self, gram: BlockedGram, cache_bytes: int):
        self.whole = CachedGram(gram, cache_bytes)

    def start(self) -> np.ndarray:
        return np.zeros(self.whole.n)

    def epoch(
        self, y: np.ndarray, f: np.ndarray, b: float, bias: float, order: np.ndarray, stopping: Any
    ) -> tuple[np.ndarray, float]:
        """One visit to every point: positions in ``order`` of the mistakes, and the new b."""
        hits = np.empty(order.size, np.int64)
        found = [np.zeros(0, np.int64)]
        for part in pieces(order.size, 1 + WORK_PER_CALL // order.size):
            if stopping.stopped is not None:
                break
            n_hits, b = kernel_pass(self.whole.K, order[part], y, f, b, bias, hits)
            found.append(part.start + hits[:n_hits])
        return np.concatenate(found), b

    def values(self, beta: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Kβ afresh in float64, which is also what goes on from here."""
        f[:] = self.whole.matvec(beta[:, np.newaxis], dtype=np.float64)[:, 0]
        return f


class _LinearRows:
    """w = Σ β x in place of f."""

    def __init__(self, gram: BlockedGram):
        self.block = gram.sample_block(slice(0, gram.n), np.float64)

    def start(self) -> np.ndarray:
        return np.zeros(self.block.points.d)

    def epoch(
        self, y: np.ndarray, w: np.ndarray, b: float, bias: float, order: np.ndarray, stopping: Any
    ) -> tuple[np.ndarray, float]:
        hits = np.empty(order.size, np.int64)
        found = [np.zeros(0, np.int64)]
        for part in pieces(order.size, 1 + WORK_PER_CALL // max(w.size, 1)):
            if stopping.stopped is not None:
                break
            if self.block.is_sparse:
                indptr, columns, values, _ = self.block.csr
                n_hits, b = sparse_pass(indptr, columns, values, order[part], y, w, b, bias, hits)
            else:
                n_hits, b = linear_pass(self.block.X, order[part], y, w, b, bias, hits)
            found.append(part.start + hits[:n_hits])
        return np.concatenate(found), b

    def values(self, beta: np.ndarray, w: np.ndarray) -> np.ndarray:
        w[:] = self.block.X.T @ beta
        return np.asarray(self.block.X @ w)


class _StoredRows:
    """float32 rows of mistaken points, within a budget."""

    def __init__(self, gram: BlockedGram, cache_bytes: int):
        self.gram = gram
        self.store = gram.row_cache(np.arange(gram.n), gram.n, cache_bytes)
        self.K = np.empty((LARGEST_BLOCK, LARGEST_BLOCK), np.float32)
        self.bound = np.zeros(
            gram.n, np.float32
        )  # of the error of f, which nothing here depends on
        self.length = FIRST_BLOCK

    def start(self) -> np.ndarray:
        self.length = FIRST_BLOCK
        return np.zeros(self.gram.n)

    def epoch(
        self, y: np.ndarray, f: np.ndarray, b: float, bias: float, order: np.ndarray, stopping: Any
    ) -> tuple[np.ndarray, float]:
        found: list[np.ndarray] = [np.zeros(0, np.int64)]
        hits = np.empty(LARGEST_BLOCK, np.int64)
        at = first_mistake(order, y, f, b, 0)
        while at < order.size and stopping.stopped is None:
            points = order[at : at + self.length]
            K = self.K[: points.size, : points.size]
            self.store.square(points, K, 0)
            n_hits, b = kernel_pass(
                K, np.arange(points.size), y[points], f[points], b, bias, hits
            )  # fmt: skip
            wrong = points[hits[:n_hits]]
            self.store.add_to(f, self.bound, wrong, y[wrong])
            found.append(at + hits[:n_hits])
            at = first_mistake(order, y, f, b, at + points.size)
        made = np.concatenate(found)
        self.length = int(np.clip(made.size, SMALLEST_BLOCK, LARGEST_BLOCK))
        return made, b

    def values(self, beta: np.ndarray, f: np.ndarray) -> np.ndarray:
        f[:] = 0.0
        rows = np.flatnonzero(beta)
        self.gram.accumulate(f, np.arange(self.gram.n), rows, beta[rows])
        return f
