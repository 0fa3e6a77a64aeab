"""The geometry of a two-class SVC: the hyperplane w·φ(x) + b = 0 in the feature space.

It holds for any kernel: with β = y∘α, w = Σ βᵢ φ(xᵢ) and so
‖w‖² = Σ βᵢ (f(xᵢ) − b): nothing else than decision values is needed. At the optimum

* ‖w‖² = Σα − Σ Cᵢ ξᵢ; with a hard margin ‖w‖² = Σα, so one side's margin ρ = 1/‖w‖ has ρ² = 1/Σα;
* every free support vector lies on its edge, where b = y − w·φ(x);
* b = −½ (min of w·φ(x) over the positive edge + max over the negative one). With a hard margin
  that is the minimum over all positive samples and the maximum over all negative ones; otherwise
  only free vectors are known to lie on the edges.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer.estimators import SVC
from mercer.estimators._dual_view import KKTGroup
from mercer.estimators._validation import check_rows

__all__ = ["Geometry", "geometry"]


@dataclass(frozen=True, eq=False)
class Geometry:
    """Where the hyperplane of a two-class SVC lies among the training rows.

    Attributes
    ----------
    norm : float
        ‖w‖.
    b : float
        The model's intercept.
    alpha_sum : float
        Σα.
    slack_cost : float
        Σ Cᵢ ξᵢ, zero with a hard margin.
    b_free : ndarray
        y − w·φ(x) of each free support vector: b, up to rounding and tolerance.
    b_middle : float
        b from the two edges, −½(min + max); NaN if a class has no free support vector.
    nearest : float
        The smallest ``|f(x)|`` of the rows.
    distances : ndarray
        Of the training rows from the hyperplane, positive on the side of ``classes_[1]``.
    """

    norm: float
    b: float
    alpha_sum: float
    slack_cost: float
    b_free: np.ndarray
    b_middle: float
    nearest: float
    distances: np.ndarray

    @property
    def margin(self) -> float:
        """The full width 2/‖w‖ between the edges f = ±1."""
        return 2.0 * self.rho

    @property
    def rho(self) -> float:
        """One side's margin 1/‖w‖."""
        return 1.0 / self.norm if self.norm else np.inf

    @property
    def b_mean(self) -> float:
        """b as the mean over the free support vectors; NaN if there is none."""
        return float(self.b_free.mean()) if self.b_free.size else np.nan

    @property
    def canonical_scale(self) -> float:
        """What w and b must be multiplied by so that the nearest row has ``|f|`` = 1.

        One for a hard margin: its hyperplane is canonical already.
        """
        return 1.0 / self.nearest if self.nearest else np.inf


def geometry(model: SVC, X: Any, y: Any, sample_weight: Any = None) -> Geometry:
    """The geometry of a fitted two-class SVC, for any kernel.

    Parameters
    ----------
    model : SVC
        Fitted, with two classes.
    X, y, sample_weight
        What it was fitted on.

    Returns
    -------
    Geometry

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import SVC, geometry
    >>> X, y = np.array([[0.0, 1.0], [0.0, -1.0]]), np.array([1, -1])
    >>> found = geometry(SVC(kernel="linear", C=np.inf).fit(X, y), X, y)
    >>> found.margin, found.alpha_sum, found.b_free
    (2.0, 1.0, array([0., 0.]))
    """
    if not isinstance(model, SVC):
        raise TypeError(f"geometry is that of an SVC, got {type(model).__name__}.")
    check_is_fitted(model, "expansion_")
    if model.classes_.size != 2:
        raise ValueError(
            f"geometry is that of one hyperplane, so of two classes; got {model.classes_.size}. "
            "margin_ and distance of the model speak of all pairs."
        )
    y = np.asarray(y)
    if y.shape != (model.shape_fit_[0],) or not np.isin(y, model.classes_).all():
        raise ValueError(
            f"y must be the {model.shape_fit_[0]} labels the model was fitted on, got "
            f"shape {y.shape}."
        )
    (task,) = model.dual_view(X, y, sample_weight)
    wx = task.f - task.b
    norm = float(np.sqrt(np.maximum(0.0, task.beta @ wx)))
    free = task.kkt_group == KKTGroup.FREE
    is_hard = np.isinf(model.C)
    slack = np.maximum(0.0, 1.0 - task.position)
    f = task.f
    if task.rows.size < y.size:  # distances are those of samples without a weight, too
        f = model.expansion_.exact(check_rows(model, X), model.n_jobs)[:, 0]
    return Geometry(
        norm=norm,
        b=task.b,
        alpha_sum=float(task.alpha.sum()),
        slack_cost=0.0 if is_hard else float(task.bound @ slack),
        b_free=task.y[free] - wx[free],
        b_middle=_middle(wx, task.y, np.ones_like(free) if is_hard else free),
        nearest=float(np.abs(task.f).min()),
        distances=f / norm if norm else np.full(y.size, np.nan),
    )


def _middle(wx: np.ndarray, sign: np.ndarray, edge: np.ndarray) -> float:
    positive, negative = wx[edge & (sign > 0)], wx[edge & (sign < 0)]
    if not (positive.size and negative.size):
        return np.nan
    return -0.5 * float(positive.min() + negative.max())
