"""A kernel of the dynamic time warping distance, which is not positive semidefinite."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer.kernels._base import Kernel, integer, real
from mercer.kernels._compiled.series_warping import warping_costs
from mercer.kernels._rounding import MODEL, Rounding, exponential
from mercer.kernels._samples import SampleBlock, Samples
from mercer.kernels.series._series import SeriesKernel

__all__ = ["DTW"]


@dataclass(frozen=True, repr=False)
class DTW(SeriesKernel):
    """k(x, z) = exp(−γ d(x, z)), d = min_π Σ_((i, j) in π) ‖x_i − z_j‖²: dynamic time warping.

    π runs over the alignments of x with z, as in `GlobalAlignment`; d is the square of the DTW
    distance as it is usually given. With a window w only pairs with ``|i − j| ≤ w`` count (the
    band of Sakoe and Chiba), or ≤ the difference of the lengths where that is larger.

    **It is not positive semidefinite in general.** The fit of an SVM may then end at a stationary
    point, which its status says (`mercer.check_kernel` finds out for given series, with a
    witness). `GlobalAlignment` is the kernel to use where that matters.

    An empty series has the value 0 with all others.

    **Cost.** ``|x| |z|`` steps of one to three nanoseconds for a value, ``|x| (2w + 1)`` with a
    window.

    **When.** As a baseline, or where a window and the nearest neighbour by DTW are known to work.

    Parameters
    ----------
    gamma : float > 0 or None, default=None
        γ. None: one over the median of d among the training series (64 of them, evenly spaced).
    window : int ≥ 0 or None, default=None
        w, in steps; None: no window.

    Examples
    --------
    >>> from mercer.kernels import DTW
    >>> DTW(gamma=0.5)([[0, 1, 2, 1], [0, 0, 1, 2, 1], [2, 1, 0]]).round(3)
    array([[1.  , 1.  , 0.05],
           [1.  , 1.  , 0.03],
           [0.05, 0.03, 1.  ]])
    """

    gamma: float | None = None
    window: int | None = None

    is_psd = False

    def __post_init__(self) -> None:
        if self.gamma is not None:
            gamma = real("DTW", "gamma", self.gamma, least=0, open_left=True)
            object.__setattr__(self, "gamma", gamma)
        if self.window is not None:
            object.__setattr__(self, "window", integer("DTW", "window", self.window, least=0))

    def resolved(self, X: Any) -> Kernel:
        if self.gamma is not None:
            return self
        X = self.read(X)
        some = X[np.unique(np.linspace(0, max(len(X) - 1, 0), 64).astype(np.int64))]
        points = self.prepare(Samples(some))
        block = points.take(slice(0, points.n))
        costs = self._costs(block, block)[np.triu_indices(points.n, 1)]
        costs = costs[np.isfinite(costs)]
        typical = float(np.median(costs)) if costs.size else 0.0
        return replace(self, gamma=1 / typical if typical > 0 else 1.0)

    def cost_per_entry(self, samples: Samples) -> float:
        band = None if self.window is None else self.window + 1
        return 1 + (6 + 2 * self.series(samples).channels) * self._cells(samples, band)

    def _costs(self, A: SampleBlock, B: SampleBlock) -> np.ndarray:
        """d of all pairs; infinite for an empty series."""
        out = np.empty((len(A), len(B)))
        warping_costs(self.both_sides(A, B), -1 if self.window is None else self.window, out)
        return out

    def tile(self, A: SampleBlock, B: SampleBlock, out: np.ndarray) -> None:
        if self.gamma is None:
            raise ValueError(
                "DTW: gamma is None, which a fit replaces by a number of the training series; give "
                "a number, or use DTW().resolved(series)."
            )
        costs = self._costs(A, B)
        costs *= -self.gamma
        out[...] = np.exp(costs, out=costs)

    def rounding(self, points: Samples, dtype: Any) -> Rounding:
        """Of sums of squares along the best path, in exponents up to which values are not zero."""
        return exponential(MODEL.negligible_exponent * 2 * self._steps_error(points), dtype)
