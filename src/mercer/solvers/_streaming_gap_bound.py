"""A bound on the optimum of Pegasos' problem from one pass over the rows, in constant memory.

For a given w let rᵢ be how far f(xᵢ) is outside of its corridor, negative inside, and sᵢ = ±1 the
direction back in (see `_pegasos`, whose dual this is about). At the optimum β is sᵢCᵢ
where r > 0, zero where r < 0 and between for few rows at r = 0. So rows are sorted into bins by
(s, r), narrow ones near r = 0. Those are split further by the column in which the row is farthest
from the mean, and to which side: else all of them would pull the same way, and w = Σ βx could not
be met where λ is small and the bounds are large. Every row of bin k gets the same share,

    βᵢ = θ_k sᵢ Cᵢ,    0 ≤ θ ≤ 1:    D(θ) = Σ θ_k l_k − ½ ‖Σ θ_k v_k‖²,

with l_k = Σ Cᵢ sᵢ endᵢ and v_k = Σ Cᵢ sᵢ xᵢ summed over the bin in the pass. Every θ is feasible,
so D(θ) bounds every model's objective from below; the best θ is a box QP in as many variables as
there are bins. It loses of second order in the distance of w from the optimum; what w itself loses
is in the gap as well, and no bound can take it away.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from mercer.solvers._pegasos import Corridor, DenseRows

__all__ = ["OnePassBound"]

# Bins far from r = 0, on each side and for each direction, begin at so many times the mean |r|.
FAR = 2.0 ** (np.arange(5) / 2)
# Bins near it go down to this multiple; so many of them at most, with all columns they are split
# by, and so many on each side and for each direction.
NEAREST, MOST_NEAR, LEAST_LEVELS, MOST_LEVELS = 2.0**-9, 512, 3, 18
MOST_COLUMNS = 64
# Memory for the vectors of the bins.
MOST_BYTES = 256 << 20
# Of the interior point: most steps, how much the products shrink in one, how much of the way to the
# end of the box it takes, and the sum of products (in units of the largest l) that is small enough.
MOST_STEPS, CENTRING, SHORT, ENOUGH = 100, 0.1, 0.99, 1e-9


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
        self.loss, self.n, self.scale = 0.0, 0, 0.0
        self.vectors = np.zeros((0, coef.size))
        self.linear, self.counts = np.zeros(0), np.zeros(0, dtype=np.int64)

    def _begin(self, rows: DenseRows, r: np.ndarray) -> None:
        """Bins as the first rows suggest them."""
        self.scale = float(np.abs(r).mean()) or 1.0
        room = MOST_BYTES // (8 * self.coef.size)
        d = 0 if sp.issparse(rows.X) else min(rows.X.shape[1], MOST_COLUMNS)
        self.sides = max(2 * d, 1) if room >= 2 * MOST_NEAR else 1
        levels = int(np.clip(min(MOST_NEAR, room) // (4 * self.sides), LEAST_LEVELS, MOST_LEVELS))
        half = NEAREST ** (np.arange(levels)[::-1] / levels)
        self.near = np.concatenate([-half[::-1], [0.0], half])
        self.far = np.concatenate([-FAR[::-1], FAR])
        if self.sides > 1:
            self.mean, spread = rows.X[:, :d].mean(axis=0), rows.X[:, :d].std(axis=0)
            self.steep = 1 / np.where(spread > 0, spread, np.inf)
        n_bins = 2 * (self.far.size + 1) + 2 * (self.near.size - 1) * self.sides
        self.vectors = np.zeros((n_bins, self.coef.size))
        self.linear, self.counts = np.zeros(n_bins), np.zeros(n_bins, dtype=np.int64)

    def _sort(
        self, rows: DenseRows, r: np.ndarray, rising: np.ndarray, chosen: np.ndarray
    ) -> np.ndarray:
        """The bin of each row; 0 and 1 are those inside by far."""
        ratio = r / self.scale
        bins = 2 * np.searchsorted(self.far, ratio) + rising
        near = np.flatnonzero(np.abs(ratio) < 1.0)
        level = 2 * (np.searchsorted(self.near, ratio[near], side="right") - 1) + rising[near]
        side = np.zeros(near.size, dtype=np.intp)
        if self.sides > 1:
            away = (rows.X[chosen[near], : self.mean.size] - self.mean) * self.steep
            column = np.abs(away).argmax(axis=1)
            side = 2 * column + (away[np.arange(near.size), column] > 0)
        bins[near] = 2 * (self.far.size + 1) + level * self.sides + side
        return bins

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
        if r.size == 0:
            return
        if self.scale == 0.0:
            self._begin(rows, r)
        bins = self._sort(rows, r, rising, chosen)
        far = bins < 2  # inside by far: a share of zero, and no work
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
        shares, used = np.zeros(self.linear.size), np.flatnonzero(self.counts)
        V, target = (part[used] / (self.n * self.lam) for part in (self.vectors, self.linear))
        best = _best_shares(V @ V.T, target)
        w = best @ V
        shares[used] = best
        return max(0.0, float(target @ best) - float(w @ w) / 2), shares


def _best_shares(K: np.ndarray, target: np.ndarray) -> np.ndarray:
    """θ in [0, 1] that maximises targetᵀθ − ½ θᵀKθ, by a primal-dual interior point.

    With prices up, down ≥ 0 of θ ≥ 0 and θ ≤ 1, each step is Newton's towards Kθ − target = up −
    down, up·θ = down·(1 − θ) = μ; μ shrinks with the mean product.
    """
    size = float(np.abs(target).max(initial=0.0)) or 1.0
    K, target = K / size, target / size
    theta = np.full(target.size, 0.5)
    up, down = np.ones(target.size), np.ones(target.size)
    for _ in range(MOST_STEPS):
        products = up @ theta + down @ (1 - theta)
        if products <= ENOUGH:
            break
        mu = CENTRING * products / (2 * theta.size)
        M = K + np.diag(up / theta + down / (1 - theta))
        try:
            factor = cho_factor(M, lower=True, overwrite_a=True, check_finite=False)
        except LinAlgError:  # rounding: any θ is a bound
            break
        step = cho_solve(factor, target - K @ theta + mu / theta - mu / (1 - theta))
        up_step = mu / theta - up - up / theta * step
        down_step = mu / (1 - theta) - down + down / (1 - theta) * step
        room = np.concatenate([
            -step / theta, step / (1 - theta), -up_step / up, -down_step / down
        ])  # fmt: skip
        length = min(1.0, SHORT / float(room.max()))
        theta += length * step
        up += length * up_step
        down += length * down_step
    return np.where(theta < ENOUGH, 0.0, np.where(theta > 1 - ENOUGH, 1.0, theta))
