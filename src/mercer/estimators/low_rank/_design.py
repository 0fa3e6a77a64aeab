"""Features as a `DesignMatrix` that is embedded again at every pass: memory for some tiles only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer._result import Halted
from mercer._threads import Workers
from mercer.estimators.low_rank._embedding import Embedding
from mercer.gram._machine import pieces
from mercer.solvers import Stopping
from mercer.solvers.linear._design_matrix import DenseMatrix

__all__ = ["TiledFeatures"]

# Rows of a tile: their features are computed by one thread and used by it.
_TILE_ROWS = 1024


class TiledFeatures:
    """The features of some rows, computed whenever a product needs them.

    Parameters
    ----------
    embedding : Embedding
    rows : int array or None
        Which rows; None for all.
    budget : int
        Bytes of features that `take` may keep in memory.
    limits : Stopping
        Once it has stopped, every product raises `Halted`, also outside of `halting`: a pass takes
        long.
    """

    is_sparse = False

    def __init__(
        self, embedding: Embedding, rows: np.ndarray | None, budget: int, limits: Stopping
    ):
        self.embedding, self.rows, self.budget, self.limits = embedding, rows, budget, limits
        self.n = embedding.n if rows is None else rows.size
        self.d = embedding.n_features
        self.nnz = self.n * self.d
        self.stopping: Stopping | None = None

    def _tile(self, part: slice) -> DenseMatrix:
        rows = part if self.rows is None else self.rows[part]
        return DenseMatrix(self.embedding.features(rows), Workers(1))

    def _map(self, task: Callable[[slice, DenseMatrix], Any]) -> list[Any]:
        def one(part: slice) -> Any:
            if self.limits.is_stopped() or (self.stopping and self.stopping.is_stopped()):
                raise Halted
            return task(part, self._tile(part))

        return self.embedding.gram.workers.map(one, pieces(self.n, _TILE_ROWS))

    def matvec(self, w: np.ndarray, b: float) -> np.ndarray:
        return np.concatenate(self._map(lambda part, F: F.matvec(w, b)))

    def rmatvec(self, beta: np.ndarray) -> np.ndarray:
        return np.sum(self._map(lambda part, F: F.rmatvec(beta[part])), axis=0)

    def signed_rmatvec(self, beta: np.ndarray) -> np.ndarray:
        return np.sum(self._map(lambda part, F: F.signed_rmatvec(beta[part])), axis=0)

    def hessian_product(self, D: np.ndarray, w: np.ndarray, b: float) -> tuple[np.ndarray, float]:
        parts = self._map(lambda part, F: F.hessian_product(D[part], w, b))
        return np.sum([p for p, _ in parts], axis=0), float(sum(s for _, s in parts))

    def weighted_gram(self, D: np.ndarray, dtype: Any = np.float64) -> np.ndarray:
        return np.sum(self._map(lambda part, F: F.weighted_gram(D[part], dtype)), axis=0)

    def take(self, rows: np.ndarray) -> Any:
        """Some of the rows: in memory where the budget allows it."""
        inner = rows if self.rows is None else self.rows[rows]
        if 4 * inner.size * self.d > self.budget:
            return TiledFeatures(self.embedding, inner, self.budget, self.limits)
        some = TiledFeatures(self.embedding, inner, 0, self.limits)
        parts = some._map(lambda part, F: F.X.astype(np.float32))
        kept = DenseMatrix(np.concatenate(parts), self.embedding.gram.workers)
        kept.stopping = self.stopping
        return kept
