"""Rows as Pegasos reads them: of an array, CSR, or with their kernel matrix.

Each has its passes (`run`, `sweep`), the products with a model, and bounds on their rounding.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from mercer.gram._entry_error import EntryError, gamma
from mercer.solvers._coordinate_ascent import sweep
from mercer.solvers.pegasos._state import DEFAULTS, LossInterval, PegasosSettings, PegasosState
from mercer.solvers.pegasos._steps import (
    run_dense,
    run_kernel,
    run_sparse,
    sweep_dense,
    sweep_sparse,
)

__all__ = ["DenseRows", "KernelRows", "PegasosRows", "SparseRows"]


class PegasosRows(ABC):
    """The contract: a model is a vector of ``size`` coefficients.

    ``per_call`` is the number of rows of one compiled call.
    """

    n: int
    size: int
    per_call: int

    def run(
        self, interval: LossInterval, weight: np.ndarray, order: np.ndarray, state: PegasosState
    ) -> None:
        """Steps over the rows in this order."""
        arguments = interval.low, interval.high, weight, order
        settings = state.batch_size, state.lam, state.project
        arrays = state.u, state.total, state.sign_sums
        state.t = self._run(state, *arguments, *settings, state.t, *arrays)

    @abstractmethod
    def _run(self, state: PegasosState, *arguments: Any) -> int:
        """The compiled steps; returns t."""

    @abstractmethod
    def values(self, coef: np.ndarray) -> np.ndarray:
        """f at all rows."""

    @abstractmethod
    def combine(self, beta: np.ndarray) -> np.ndarray:
        """The coefficients of w = Σ βᵢ φ(xᵢ)."""

    @abstractmethod
    def norm_sq(self, coef: np.ndarray) -> float:
        """‖w‖²."""

    @abstractmethod
    def rounding(self, coef: np.ndarray) -> np.ndarray:
        """A bound on the errors of `values`."""

    @abstractmethod
    def norm_rounding(self, beta: np.ndarray) -> float:
        """A bound on the error of ½‖w‖² of w = Σ βᵢ φ(xᵢ)."""

    @abstractmethod
    def sweep(
        self,
        interval: LossInterval,
        C: np.ndarray,
        orders: Sequence[np.ndarray],
        beta: np.ndarray,
        stop: Callable[[], bool],
    ) -> None:
        """Coordinate ascent on the dual from β, in place, one sweep for each order.

        Once ``stop()`` is true it ends; β is feasible at any time.
        """

    def _slices(
        self, orders: Sequence[np.ndarray], stop: Callable[[], bool]
    ) -> Iterator[np.ndarray]:
        """The rows of one compiled call after the other, until ``stop()``."""
        for order in orders:
            for start in range(0, order.size, self.per_call):
                if stop():
                    return
                yield order[start : start + self.per_call]


class DenseRows(PegasosRows):
    """Rows of an array, with a column of ones or without."""

    def __init__(
        self,
        X: Any,
        fit_intercept: bool,
        batch_size: int = 1,
        settings: PegasosSettings = DEFAULTS,
    ):
        self.X, self.one = X, float(fit_intercept)
        self.n, self.size = X.shape[0], X.shape[1] + 1
        self.per_call = settings.rows_per_call(self._row_size() + settings.row_cost, batch_size)
        self._sq_norms: np.ndarray | None = None

    def _run(self, state: PegasosState, *arguments: Any) -> int:
        return run_dense(self.X, self.one, *arguments)

    def values(self, coef: np.ndarray) -> np.ndarray:
        return self.X @ coef[:-1] + self.one * coef[-1]

    def combine(self, beta: np.ndarray) -> np.ndarray:
        return np.append(self.X.T @ beta, self.one * beta.sum())

    def norm_sq(self, coef: np.ndarray) -> float:
        return float(coef @ coef)

    def sweep(
        self, interval: Any, C: Any, orders: Any, beta: np.ndarray, stop: Callable[[], bool]
    ) -> None:
        w = self.combine(beta)
        for order in self._slices(orders, stop):
            self._sweep(interval.low, interval.high, C, self.sq_norms, order, beta, w)

    def _sweep(self, *arguments: Any) -> None:
        sweep_dense(self.X, self.one, *arguments)

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

    def _run(self, state: PegasosState, *arguments: Any) -> int:
        return run_sparse(self.X.indptr, self.X.indices, self.X.data, self.one, *arguments)

    def _sweep(self, *arguments: Any) -> None:
        sweep_sparse(self.X.indptr, self.X.indices, self.X.data, self.one, *arguments)

    def _squares(self) -> np.ndarray:
        X = self.X.astype(np.float64)
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()


class KernelRows(PegasosRows):
    """Samples with their kernel matrix; a model has a coefficient for each sample."""

    def __init__(
        self,
        K: np.ndarray,
        batch_size: int = 1,
        errors: EntryError | None = None,
        settings: PegasosSettings = DEFAULTS,
    ):
        self.K, self.errors = K, errors
        self.n = self.size = K.shape[0]
        self.per_call = settings.rows_per_call(self.n, batch_size)

    def _run(self, state: PegasosState, *arguments: Any) -> int:
        if state.Ku is None:
            state.Ku = self.K @ state.u
        return run_kernel(self.K, state.Ku, *arguments)

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

    def sweep(
        self, interval: Any, C: Any, orders: Any, beta: np.ndarray, stop: Callable[[], bool]
    ) -> None:
        """One variable for each finite end of an interval; cyclic, in the memory order of K."""
        ends = interval.low, interval.high
        rows = [np.flatnonzero(np.isfinite(end)) for end in ends]
        row = np.concatenate(rows)
        target = np.concatenate([end[i] for end, i in zip(ends, rows, strict=True)])
        up, down = (C[i] for i in rows)
        lower = np.concatenate([np.zeros(up.size), -down])
        upper = np.concatenate([up, np.zeros(down.size)])
        variables, f = np.clip(beta[row], lower, upper), self.K @ beta
        cyclic = np.arange(row.size)
        for part in self._slices([cyclic] * len(orders), stop):
            v = variables[part]
            box = target[part], lower[part], upper[part]
            sweep(self.K, row[part], *box, v, f, 0.0, part.size)
            variables[part] = v
        beta[:] = np.bincount(row, variables, self.n)
