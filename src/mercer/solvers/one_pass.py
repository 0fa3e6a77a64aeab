"""A bound on the optimum of Pegasos' problem from one pass over the rows, in constant memory.

For a given w let rᵢ be how far f(xᵢ) is outside of its corridor, negative inside, and sᵢ = ±1 the
direction back in (see `mercer.solvers.descent`, whose dual this is about). At the optimum β is sᵢCᵢ
where r > 0, zero where r < 0 and between for few rows at r = 0. So rows are sorted into bins by
(s, r), narrow ones near r = 0, and every row of bin k gets the same share of its bound,

    βᵢ = θ_k sᵢ Cᵢ,    0 ≤ θ ≤ 1:    D(θ) = Σ θ_k l_k − ½ ‖Σ θ_k v_k‖²,

with l_k = Σ Cᵢ sᵢ endᵢ and v_k = Σ Cᵢ sᵢ xᵢ summed over the bin in the pass. Every θ is feasible,
so D(θ) bounds every model's objective from below; the best θ is a box QP in as many variables as
there are bins. What is lost against the optimum is of second order in the distance of w from it.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from mercer.solvers.coordinate import sweep
from mercer.solvers.descent import Corridor, DenseRows

__all__ = ["OnePassBound"]

# Bins on each side of r = 0 and for each direction, each √2 times as wide as the one before.
MOST_LEVELS = 24
# The widest one begins at this many times the mean |r|.
REACH = 4.0
# Memory for the vectors of the bins.
MOST_BYTES = 256 << 20
SWEEPS = 2000
# A sweep whose steepest slope is below this share of the largest l is the last.
ENOUGH = 1e-9


class OnePassBound:
    """What one pass gathers for a model w; `solve` gives the certificate's numbers.

    Parameters
    ----------
    coef : float64 array
        w, the weight of the constant column last.
    lam : float
    """

    def __init__(self, coef: np.ndarray, lam: float):
        self.coef, self.lam = coef, lam
        levels = int(np.clip(MOST_BYTES // (32 * coef.size), 1, MOST_LEVELS))
        half = REACH * 2.0 ** (-np.arange(levels)[::-1] / 2)
        self.edges = np.concatenate([-half[::-1], [0.0], half])
        n_bins = 2 * (self.edges.size + 1)
        self.vectors = np.zeros((n_bins, coef.size))
        self.linear, self.counts = np.zeros(n_bins), np.zeros(n_bins, dtype=np.int64)
        self.loss, self.n, self.scale = 0.0, 0, 0.0

    def take(
        self, rows: DenseRows, corridor: Corridor, weight: np.ndarray, chosen: np.ndarray
    ) -> None:
        """Rows of a batch, of which those ``chosen`` count."""
        f = rows.values(self.coef)[chosen]
        low, high, weight = corridor.low[chosen], corridor.high[chosen], weight[chosen]
        rising = low - f >= f - high
        r, end = np.where(rising, (low - f, low), (f - high, high))
        self.loss += float(weight @ np.maximum(r, 0.0))
        self.n += r.size
        if self.scale == 0.0:
            self.scale = float(np.abs(r).mean()) if r.size else 0.0
        bins = np.searchsorted(self.edges, r / (self.scale or 1.0))
        far = bins == 0  # inside by far: a share of zero, and no work
        bins += np.where(rising, 0, self.edges.size + 1)
        self.counts += np.bincount(bins, minlength=self.counts.size)
        pull = np.where(far, 0.0, np.where(rising, weight, -weight))
        self.linear += np.bincount(bins, pull * end, self.linear.size)
        self.vectors[:, -1] += rows.one * np.bincount(bins, pull, self.linear.size)
        near = ~far
        gather = sp.csr_matrix(
            (pull[near], (bins[near], chosen[near])), shape=(self.linear.size, rows.n)
        )
        some = gather @ rows.X
        if sp.issparse(some):
            some = some.tocoo()
            self.vectors[some.row, some.col] += some.data
        else:
            self.vectors[:, :-1] += some

    @property
    def primal(self) -> float:
        """½‖w‖² + Σ Cᵢξᵢ."""
        return float(self.coef @ self.coef) / 2 + self.loss / (self.n * self.lam)

    def solve(self) -> tuple[float, np.ndarray]:
        """The dual value of the best shares, and these."""
        V, target = self.vectors / (self.n * self.lam), self.linear / (self.n * self.lam)
        K = V @ V.T
        row, shares, f = np.arange(target.size), np.zeros(target.size), np.zeros(target.size)
        lower, upper = np.zeros(target.size), (self.counts > 0).astype(np.float64)
        enough = ENOUGH * float(np.abs(target).max(initial=0.0))
        for _ in range(SWEEPS):
            _, steepest = sweep(K, row, target, lower, upper, shares, f, 0.0, target.size)
            if steepest <= enough:
                break
        w = shares @ V
        return max(0.0, float(target @ shares) - float(w @ w) / 2), shares
