"""A bound on the optimum of Pegasos' objective from one pass over the rows, in constant memory.

For a given w let rᵢ be the distance of f(xᵢ) from its loss interval, negative within, and sᵢ = ±1
the direction towards it (`_state` has the dual). At the optimum β is sᵢCᵢ where r > 0, zero where
r < 0 and between for few rows at r = 0. So rows are sorted into bins by (s, r), narrow ones near
r = 0. Those are split further by the column in which the row is farthest from the mean, and to
which side: else all their vectors would be nearly parallel, and w = Σ βx could not be met where λ
is small and the bounds are large. Every row of bin k has the same fraction of its bound,

    βᵢ = θ_k sᵢ Cᵢ,    0 ≤ θ ≤ 1:    D(θ) = Σ θ_k l_k − ½ ‖Σ θ_k v_k‖²,

with l_k = Σ Cᵢ sᵢ endᵢ and v_k = Σ Cᵢ sᵢ xᵢ summed over the bin in the pass. Every θ is feasible,
so D(θ) bounds every model's objective from below; the best θ is a box QP with one variable for each
bin, solved by SMO. Its value is of second order in the distance of w from the optimum; the
suboptimality of w itself is part of the gap, too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from mercer._threads import Workers
from mercer.gram import BlockedGram
from mercer.kernels import Precomputed
from mercer.kernels._samples import Samples
from mercer.problems._dual_qp import BoxQP
from mercer.solvers._stopping import Stopping
from mercer.solvers.pegasos._rows import DenseRows
from mercer.solvers.pegasos._state import LossInterval
from mercer.solvers.smo._solver import SMO

__all__ = ["BinSettings", "OnePassBound"]


@dataclass(frozen=True)
class BinSettings:
    """Bins of `OnePassBound`; r is in units of its mean absolute value over the first batch.

    Attributes
    ----------
    far_bins : int
        Bins of |r| ≥ 1 on each side and for each direction; their edges are powers of √2.
    nearest : float
        The innermost edge of the bins of |r| < 1.
    max_near_bins : int
        Limit on the bins of |r| < 1, with all columns by which they are split.
    min_levels, max_levels : int
        Edges of those bins on each side and for each direction.
    max_columns : int
        Columns by which they are split.
    max_bytes : int
        Memory for the vectors of the bins.
    tol : float
        Largest slope of the box QP at which SMO stops, over the largest l_k.
    """

    far_bins: int = 5
    nearest: float = 2.0**-9
    max_near_bins: int = 512
    min_levels: int = 3
    max_levels: int = 18
    max_columns: int = 64
    max_bytes: int = 256 << 20
    tol: float = 1e-6

    def near_edges(self, sides: int, capacity: int) -> np.ndarray:
        """Edges within (−1, 1), rising; ``capacity`` bins fit into memory."""
        levels = min(self.max_near_bins, capacity) // (4 * sides)
        levels = int(np.clip(levels, self.min_levels, self.max_levels))
        half = self.nearest ** (np.arange(levels)[::-1] / levels)
        return np.concatenate([-half[::-1], [0.0], half])

    def far_edges(self) -> np.ndarray:
        half = 2.0 ** (np.arange(self.far_bins) / 2)
        return np.concatenate([-half[::-1], half])


DEFAULTS = BinSettings()


class OnePassBound:
    """Sums over one pass for a model w; `solve` gives the dual bound.

    Parameters
    ----------
    coef : float64 array
        w, the weight of the constant column last.
    lam : float
    """

    def __init__(self, coef: np.ndarray, lam: float):
        self.coef, self.lam = coef, lam
        self.loss, self.n, self.scale = 0.0, 0, 0.0
        self.vectors = np.zeros((0, coef.size))
        self.linear, self.counts = np.zeros(0), np.zeros(0, dtype=np.int64)

    def _begin(self, rows: DenseRows, r: np.ndarray) -> None:
        """Set the bins by the first rows."""
        settings = DEFAULTS
        self.scale = float(np.abs(r).mean()) or 1.0
        capacity = settings.max_bytes // (8 * self.coef.size)
        d = 0 if sp.issparse(rows.X) else min(rows.X.shape[1], settings.max_columns)
        self.sides = max(2 * d, 1) if capacity >= 2 * settings.max_near_bins else 1
        self.near = settings.near_edges(self.sides, capacity)
        self.far = settings.far_edges()
        if self.sides > 1:
            self.mean, spread = rows.X[:, :d].mean(axis=0), rows.X[:, :d].std(axis=0)
            self.inverse_spread = 1 / np.where(spread > 0, spread, np.inf)
        n_bins = 2 * (self.far.size + 1) + 2 * (self.near.size - 1) * self.sides
        self.vectors = np.zeros((n_bins, self.coef.size))
        self.linear, self.counts = np.zeros(n_bins), np.zeros(n_bins, dtype=np.int64)

    def _bins(
        self, rows: DenseRows, r: np.ndarray, is_below: np.ndarray, chosen: np.ndarray
    ) -> np.ndarray:
        """The bin of each row; 0 and 1 are those of the smallest r."""
        ratio = r / self.scale
        bins = 2 * np.searchsorted(self.far, ratio) + is_below
        near = np.flatnonzero(np.abs(ratio) < 1.0)
        level = 2 * (np.searchsorted(self.near, ratio[near], side="right") - 1) + is_below[near]
        side = np.zeros(near.size, dtype=np.intp)
        if self.sides > 1:
            offset = (rows.X[chosen[near], : self.mean.size] - self.mean) * self.inverse_spread
            column = np.abs(offset).argmax(axis=1)
            side = 2 * column + (offset[np.arange(near.size), column] > 0)
        bins[near] = 2 * (self.far.size + 1) + level * self.sides + side
        return bins

    def add(
        self, rows: DenseRows, interval: LossInterval, weight: np.ndarray, chosen: np.ndarray
    ) -> None:
        """Add the ``chosen`` rows of a batch."""
        f = rows.values(self.coef)[chosen]
        low, high, weight = interval.low[chosen], interval.high[chosen], weight[chosen]
        is_below = low - f >= f - high
        r, end = np.where(is_below, (low - f, low), (f - high, high))
        self.loss += float(weight @ np.maximum(r, 0.0))
        self.n += r.size
        if r.size == 0:
            return
        if self.scale == 0.0:
            self._begin(rows, r)
        bins = self._bins(rows, r, is_below, chosen)
        is_zero = bins < 2  # far within the interval: θ = 0, and nothing to sum
        self.counts += np.bincount(bins, minlength=self.counts.size)
        signed = np.where(is_zero, 0.0, np.where(is_below, weight, -weight))
        self.linear += np.bincount(bins, signed * end, self.linear.size)
        self.vectors[:, -1] += rows.one * np.bincount(bins, signed, self.linear.size)
        used = ~is_zero
        gather = sp.csr_matrix(
            (signed[used], (bins[used], chosen[used])), shape=(self.linear.size, rows.n)
        )
        sums = gather @ rows.X
        if sp.issparse(sums):
            sums = sums.tocoo()
            self.vectors[sums.row, sums.col] += sums.data
        else:
            self.vectors[:, :-1] += sums

    @property
    def primal(self) -> float:
        """½‖w‖² + Σ Cᵢξᵢ."""
        return float(self.coef @ self.coef) / 2 + self.loss / (self.n * self.lam)

    def solve(self) -> tuple[float, np.ndarray]:
        """The dual value of the best θ, and θ of every bin."""
        theta, used = np.zeros(self.linear.size), np.flatnonzero(self.counts)
        V, target = (part[used] / (self.n * self.lam) for part in (self.vectors, self.linear))
        best = _best_fractions(V, target, DEFAULTS.tol)
        w = best @ V
        theta[used] = best
        return max(0.0, float(target @ best) - float(w @ w) / 2), theta


def _best_fractions(V: np.ndarray, target: np.ndarray, tol: float) -> np.ndarray:
    """θ in [0, 1] that maximises targetᵀθ − ½ ‖θᵀV‖², in units of the largest target."""
    scale = float(np.abs(target).max(initial=0.0)) or 1.0
    problem = BoxQP(
        target / scale, np.zeros(target.size), np.ones(target.size), np.zeros(target.size)
    )
    gram = BlockedGram(Precomputed(), Samples(V @ V.T / scale), Workers(1))
    return np.clip(SMO(tol=tol).solve(problem, gram, Stopping()).beta, 0.0, 1.0)
