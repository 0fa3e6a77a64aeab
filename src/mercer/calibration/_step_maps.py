"""Maps from decision values to probabilities that are monotone and nothing else.

*Isotonic* regression on Platt's smoothed targets, linear between its knots. *Venn–Abers*: an
interval [p₀, p₁], the isotonic regressions at a row that is added to the calibration rows with the
label 0 and with the label 1 (Vovk, Petej and Fedorova, NeurIPS 2015); one of the two is calibrated
whatever the distribution.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from sklearn.isotonic import IsotonicRegression

from mercer._numba import compiled
from mercer.calibration._platt import smoothed_targets

__all__ = ["StepMaps", "fit_steps"]


@dataclass(frozen=True, eq=False)
class StepMaps:
    """One map for each task, on the decision values of its held-out rows.

    Attributes
    ----------
    method : {"isotonic", "venn_abers"}
    knots, lower, upper : float64 arrays
        Decision values in rising order, and p₀ and p₁ there (equal for isotonic regression), one
        task after the other.
    starts : int array of shape (n_tasks + 1,)
        Where each task begins.
    """

    method: Literal["isotonic", "venn_abers"]
    knots: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    starts: np.ndarray

    def __call__(self, f: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """p₀ and p₁ of the positive class at decision values of shape (n, n_tasks)."""
        low, high = np.empty(f.shape), np.empty(f.shape)
        for t in range(self.starts.size - 1):
            part = slice(self.starts[t], self.starts[t + 1])
            u, p0, p1 = self.knots[part], self.lower[part], self.upper[part]
            if self.method == "isotonic":
                low[:, t] = high[:, t] = np.interp(f[:, t], u, p0)
                continue
            # A row with label 0 is pooled with the rows before it, one with label 1 with the next.
            low[:, t] = np.r_[0.0, p0][np.searchsorted(u, f[:, t], side="right")]
            high[:, t] = np.r_[p1, 1.0][np.searchsorted(u, f[:, t], side="left")]
        return low, high


def fit_steps(
    method: Literal["isotonic", "venn_abers"],
    values: list[np.ndarray],
    is_positive: list[np.ndarray],
    weights: list[np.ndarray | None],
) -> StepMaps:
    """The maps of all tasks from their held-out decision values and labels."""
    fit = _isotonic if method == "isotonic" else _venn_abers
    parts = []
    for f, positive, weight in zip(values, is_positive, weights, strict=True):
        w = np.ones(f.size) if weight is None else weight
        used = w > 0
        parts.append(fit(f[used], positive[used], w[used]))
    knots, lower, upper = (np.concatenate([part[i] for part in parts]) for i in range(3))
    starts = np.concatenate([[0], np.cumsum([part[0].size for part in parts])])
    return StepMaps(method, knots, lower, upper, starts.astype(np.int64))


def _isotonic(
    f: np.ndarray, positive: np.ndarray, w: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    targets, _ = smoothed_targets(positive, w)
    model = IsotonicRegression().fit(f, targets, sample_weight=w)
    p = model.y_thresholds_.astype(np.float64)
    return model.X_thresholds_.astype(np.float64), p, p


def _venn_abers(
    f: np.ndarray, positive: np.ndarray, w: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    u, group = np.unique(f, return_inverse=True)
    weight = np.bincount(group, w, u.size)
    label = np.bincount(group, w * positive, u.size)
    x, y = np.concatenate([[0.0], np.cumsum(weight)]), np.concatenate([[0.0], np.cumsum(label)])
    p0, p1 = np.empty(u.size), np.empty(u.size)
    _with_one_row_more(x, y, 0.0, p0)
    _with_one_row_more(x, y, 1.0, p1)
    return u, np.clip(p0, 0.0, 1.0), np.clip(p1, 0.0, 1.0)


@compiled
def _slope(x, y, i, j, label):
    """From point i to point j, the latter after the added row."""
    return (y[j] + label - y[i]) / (x[j] + 1.0 - x[i])


@compiled
def _with_one_row_more(x, y, label, out):
    """The isotonic regression at each knot with one more row of this label there.

    ``x`` and ``y`` are the cumulated weights and labels. Isotonic regression is the slope of the
    greatest convex minorant of these points; at the added row, that of the tangent which joins the
    lower hull of the points before it to that of the points after it.
    """
    m = x.size
    before, after = np.empty(m, np.int64), np.empty(m, np.int64)
    before[0], after[m - 1] = 0, m - 1
    for j in range(1, m):  # the hull's neighbour on the left
        i = j - 1
        while i > 0 and (y[i] - y[before[i]]) * (x[j] - x[i]) >= (y[j] - y[i]) * (
            x[i] - x[before[i]]
        ):
            i = before[i]
        before[j] = i
    for i in range(m - 2, -1, -1):  # and on the right
        j = i + 1
        while j < m - 1 and (y[j] - y[i]) * (x[after[j]] - x[j]) >= (y[after[j]] - y[j]) * (
            x[j] - x[i]
        ):
            j = after[j]
        after[i] = j
    for k in range(1, m):
        i, j = k - 1, k
        s = _slope(x, y, i, j, label)
        while True:
            if i > 0 and (y[i] - y[before[i]]) > s * (x[i] - x[before[i]]):
                i = before[i]
            elif j < m - 1 and (y[after[j]] - y[j]) < s * (x[after[j]] - x[j]):
                j = after[j]
            else:
                break
            s = _slope(x, y, i, j, label)
        out[k - 1] = s
