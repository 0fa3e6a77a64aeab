"""SMO on two classes of a multiclass problem, some hundred points each.

The problem and the method are those of `_dense`, with float32 kernel values: K within a class is
computed once for all pairs of classes with it, K between the two classes for this pair. Rows of the
whole matrix are assembled when a pair step needs them. f = Kβ comes from these rows with a bound on
its error, and in float64 only at support vectors and points near the margin.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mercer.gram._tile_sums import add_rows, add_tile_bounded
from mercer.problems._kkt import intercepts, restore_sums
from mercer.solvers.smo._dense import DenseSMO
from mercer.solvers.smo._gradient import FLOAT32_SUMS
from mercer.solvers.smo._pair_update import solve_class_pair

__all__ = ["ClassPairSMO"]


class ClassPairSMO(DenseSMO):
    """One run on one problem, whose Gram has two parts (`BlockedGram.take`)."""

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.max_idle_slices = self.settings.max_idle_slices_float32
        self.inner_tol = self.settings.class_pair_tol * self.tol

    def _bind(self, ws: np.ndarray) -> None:
        self.blocks = self.gram.class_blocks(np.float32)
        self.K = self.gram.scratch.buffer("matrix", (ws.size, ws.size), np.float32)
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
            self.K, self.is_filled, self.blocks, beta, grad, lower, upper, tol, most
        )

    def _sum_f(self) -> None:
        """f from the float32 rows, with its bound; in float64 where the certificate needs it."""
        if self.status is None:
            restore_sums(self.problem, self.beta)
        support = np.flatnonzero(self.beta)
        rows = np.arange(self.beta.size)
        if self.is_filled[support].all():
            coef, error = self.beta[support], self.gram.sum_error(np.float32)
            f, sums = np.zeros(rows.size), np.zeros(rows.size, np.float32)
            weight = error.weight(coef, support)
            add_rows(self.K, support, coef, weight, 0, rows.size, f, sums)
            self.f, self.f_error = f, error.bound(FLOAT32_SUMS * sums, self.beta)
            rows = self._relevant()
        self._recompute(rows, support)
        self.kkt = intercepts(self.problem, self.beta, self.f, self.f_error)

    def _relevant(self) -> np.ndarray:
        """Support vectors, and points whose gap term or violation can be above zero."""
        p, v = self.problem, self.problem.target - self.f
        rises, falls = self.beta < p.upper, self.beta > p.lower
        top, bottom = v[rises].max(initial=-np.inf), v[falls].min(initial=np.inf)
        wide = 2 * (self.f_error + self.f_error.max(initial=0.0)) + self.tol
        near = rises & (v + wide >= min(top, bottom)) | falls & (v - wide <= max(top, bottom))
        return np.flatnonzero(near | (self.beta != 0))

    def _recompute(self, rows: np.ndarray, support: np.ndarray) -> None:
        """f in float64 at some points."""
        coef, error = self.beta[support], self.gram.sum_error(np.float64)
        tile = self.gram.scratch_block(
            self.gram.sample_block(rows, np.float64), self.gram.sample_block(support, np.float64)
        )
        f, sums = np.zeros((2, rows.size))
        add_tile_bounded(tile, coef, error.weight(coef, support), f, sums)
        self.f[rows], self.f_error[rows] = f, error.bound(sums, self.beta, rows)

    def _matrix(self, rows: np.ndarray) -> np.ndarray:
        return np.concatenate([tile.copy() for tile in self._tiles(rows)])

    def _tiles(self, rows: np.ndarray) -> Iterator[np.ndarray]:
        """K in float64 of each part with some points, in scratch memory."""
        block = self.gram.sample_block(rows, np.float64)
        for part in self.gram.class_samples(np.float64):
            yield self.gram.scratch_block(part, block)
