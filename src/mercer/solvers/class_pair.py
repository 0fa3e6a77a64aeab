"""Pair SMO on two classes of a multiclass problem, some hundred points each.

K within a class is computed once for all pairs that take part in it, K between the two for this
pair, both in float32; whole rows are put together as pair steps come to need them. Most points are
never support vectors: so the final f = Kβ in float64, over the few that are, costs less than a
float64 matrix would.
"""

from __future__ import annotations

import numpy as np

from mercer.solvers._pairs import solve_class_pair
from mercer.solvers.direct import DirectSMO

__all__ = ["ClassPairSMO"]


class ClassPairSMO(DirectSMO):
    """One run on one problem, whose Gram has two parts."""

    exact_steps = 0  # f is float32's until it is summed afresh

    def _bind(self, ws: np.ndarray) -> None:
        self.blocks = self.gram.blocks(np.float32)
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
        room: int,
    ) -> tuple[int, float, int]:
        return solve_class_pair(
            self.K, self.is_filled, *self.blocks, beta, grad, lower, upper, self.tol, room
        )

    def _sum_f(self) -> None:
        coef = self.problem.at_points(self.beta, self.gram.n)
        support = np.flatnonzero(coef)
        block = self.gram.block(support, np.float64)
        sums = []
        for part in self.gram.part_blocks(np.float64):
            tile = self.gram.buffer("tile", (len(part), len(block)))
            self.gram.kernel.tile(part, block, tile)
            sums.append(tile @ coef[support])
        self.f = np.concatenate(sums)
