"""SMO on two classes of a multiclass problem, some hundred points each.

The problem and the method are those of `_dense`, with float32 kernel values: K within a class is
computed once for all pairs of classes with it, K between the two classes for this pair. Rows of the
whole matrix are assembled when a pair step needs them. Most points are never support vectors, so
that the final f = Kβ in float64, a sum over those that are, costs less than a float64 matrix.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mercer.gram._tile_sums import add_tile_bounded
from mercer.solvers.smo._dense import DenseSMO
from mercer.solvers.smo._pair_update import solve_class_pair

__all__ = ["ClassPairSMO"]


class ClassPairSMO(DenseSMO):
    """One run on one problem, whose Gram has two parts (`BlockedGram.take`)."""

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.max_idle_slices = self.settings.max_idle_slices_float32

    def _bind(self, ws: np.ndarray) -> None:
        self.blocks = self.gram.class_blocks(np.float32)
        self.K = self.gram.buffer("matrix", (ws.size, ws.size), np.float32)
        n_first, n_second = self.blocks[1].shape
        diagonal = np.concatenate([self.blocks[0].diagonal(), self.blocks[2].diagonal()])
        np.fill_diagonal(self.K, 0.0)
        np.fill_diagonal(self.K[: n_first + n_second], diagonal)
        self.is_filled = np.zeros(ws.size, bool)

    def _pairs(
        self,
        beta: np.ndarray,
        grad: np.ndarray,
        lower: np.ndarray,
        upper: np.ndarray,
        split: int,
        tol: float,
        most: int,
    ) -> tuple[int, float, int]:
        return solve_class_pair(
            self.K, self.is_filled, *self.blocks, beta, grad, lower, upper, tol, most
        )

    def _sum_f(self) -> None:
        coef = self.beta
        support = np.flatnonzero(coef)
        error = self.gram.sum_error(np.float64)
        weight = error.weight(coef[support], support)
        f, bound = np.zeros(coef.size), np.zeros(coef.size)
        start = 0
        for tile in self._tiles(support):
            rows = slice(start, start + tile.shape[0])
            add_tile_bounded(tile, coef[support], weight, f[rows], bound[rows])
            start = rows.stop
        self.f, self.f_error = f, error.bound(bound, coef)

    def _matrix(self, rows: np.ndarray) -> np.ndarray:
        return np.concatenate([tile.copy() for tile in self._tiles(rows)])

    def _tiles(self, rows: np.ndarray) -> Iterator[np.ndarray]:
        """K in float64 of each part with some points, in scratch memory."""
        block = self.gram.sample_block(rows, np.float64)
        for part in self.gram.class_samples(np.float64):
            yield self.gram.scratch_block(part, block)
