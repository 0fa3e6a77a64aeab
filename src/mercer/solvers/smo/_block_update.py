"""Working sets of a subproblem, one after the other (Joachims 1999): select, solve by pair steps.

A working set W is solved on the dense float32 block K_WW with the other variables fixed. The newer
half of W stays in the next working set, and its part of the block is reused. Changes β of the
subproblem in place; f is left to the caller.
"""

from __future__ import annotations

import numpy as np

from mercer.gram import RowCache
from mercer.solvers.smo._pair_update import LANE, solve_pairs
from mercer.solvers.smo._selection import select_working_set
from mercer.solvers.smo._settings import SMOSettings
from mercer.solvers.smo._working_set import Subproblem, align_to_lanes, pad_to_lanes

__all__ = ["BlockUpdate", "block_buffers"]


def block_buffers(settings: SMOSettings) -> list[np.ndarray]:
    """Memory for two kernel blocks: the present one and the one before."""
    side = settings.working_set_size + 2 * LANE
    return [np.empty(side * side, np.float32) for _ in range(2)]


class BlockUpdate:
    """Selects and solves working sets among the variables of a subproblem.

    Parameters
    ----------
    sub : Subproblem
    rows : RowCache
        Of the subproblem's columns.
    buffers : two float32 arrays
        See `block_buffers`.
    merges_variables : bool
        Whether a point may have more than one variable.
    settings : SMOSettings

    Attributes
    ----------
    size : int
        Variables of a working set.
    steps, flags : int
        Pair steps of the last working set, and its `PairFlags`.
    """

    def __init__(
        self,
        sub: Subproblem,
        rows: RowCache,
        buffers: list[np.ndarray],
        merges_variables: bool,
        settings: SMOSettings,
    ):
        self.sub, self.rows, self.buffers = sub, rows, buffers
        self.merges_variables, self.settings = merges_variables, settings
        size = int(settings.working_set_fraction * sub.variables.size) // LANE * LANE
        self.size = min(settings.working_set_size, max(settings.fewest_working, size))
        self.recent, self.known = np.zeros(0, np.int64), np.zeros((0, 0), np.float32)
        self.steps = self.flags = 0

    def __call__(
        self, v: np.ndarray, top: np.ndarray, bottom: np.ndarray, tol: float, max_steps: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Solve the next working set to ``tol``.

        Returns the columns whose coefficient changed, and by how much.
        """
        sub, recent = self.sub, self.recent
        taken = np.zeros(sub.variables.size, bool)
        taken[recent] = True
        box, groups = (sub.beta, sub.lower, sub.upper), (sub.group, sub.n_groups)
        quota = self.size - recent.size
        fresh = select_working_set(v, *box, *groups, top, bottom, taken, quota)
        ws, real, split = align_to_lanes(np.concatenate([recent, fresh]), *groups)
        K = self._kernel_block(sub.row[ws])
        changed = self._solve(K, ws, real, split, v, tol, max_steps)
        begin, self.recent = recent.size, fresh[: self.size // 2]
        if sub.n_groups < 2:  # then ``ws`` has the order of recent and fresh ones
            kept = slice(begin, begin + self.recent.size)
            self.known = K[kept, kept]
        return changed

    def _kernel_block(self, columns: np.ndarray) -> np.ndarray:
        """K of the working set, whose first part is known."""
        m, first = columns.size, self.known.shape[0]
        self.buffers.reverse()  # ``known`` lies in the other one
        K = self.buffers[0][: m * m].reshape(m, m)
        K[:first, :first] = self.known
        self.rows.square(columns, K, first)
        return K

    def _solve(
        self,
        K: np.ndarray,
        ws: np.ndarray,
        real: np.ndarray,
        split: int,
        v: np.ndarray,
        tol: float,
        max_steps: float,
    ) -> tuple[np.ndarray, np.ndarray]:
        sub = self.sub
        if sub.n_groups == 0:
            K[-1] = 0
            K[:, -1] = 0
        beta, grad, lower, upper = sub.beta[ws], -v[ws], sub.lower[ws], sub.upper[ws]
        pad_to_lanes(real, beta, grad, lower, upper, sub.n_groups)
        most = int(min(self.settings.steps_per_variable * ws.size, max_steps))
        self.steps, _, self.flags = solve_pairs(K, beta, grad, lower, upper, split, tol, most)
        ws, beta = ws[real], beta[real]
        delta = beta - sub.beta[ws]
        moved = delta != 0
        sub.beta[ws] = beta
        points, delta = sub.row[ws[moved]], delta[moved]
        if self.merges_variables:
            points, back = np.unique(points, return_inverse=True)
            delta = np.bincount(back, weights=delta, minlength=points.size)
        return points, delta
