"""Losses, KKT groups, and `TaskDuals`: the dual variables of one binary task.

Every estimator that minimises ½‖w‖² + Σ Lᵢ(f(xᵢ)) with a convex loss L has one signed dual
variable βᵢ ∈ −∂Lᵢ(f(xᵢ)) for each sample, and w = Σ βᵢ φ(xᵢ). With the label (or target) y and the
cost s = C · class weight · sample weight of a sample:

======================  ==========================  ==========================  ================
loss                    L                           box of β                    edges
======================  ==========================  ==========================  ================
hinge                   s max(0, 1 − y f)           0 ≤ y β ≤ s                 y f = 1
squared hinge           s max(0, 1 − y f)²          0 ≤ y β                     y f = 1
logistic                s log(1 + exp(−y f))        0 < y β < s                 none
ε-insensitive           s max(0, abs(y − f) − ε)    −s ≤ β ≤ s                  y − f = ±ε
squared ε-insensitive   s max(0, abs(y − f) − ε)²   unbounded                   y − f = ±ε
one-class               s max(0, −f)                0 ≤ β ≤ s                   f = 0
multiclass hinge        Crammer and Singer          0 ≤ y β ≤ s, y = ±1 for     none
                                                    the class of the task
multinomial logistic    softmax over all classes    0 < y β < s, the same y     none
======================  ==========================  ==========================  ================
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

import numpy as np
from scipy.special import expit

from mercer.certificates._box_qp import kkt_groups
from mercer.certificates._certificate import KKTGroup

__all__ = ["KKTGroup", "Loss", "TaskDuals"]


class Loss(StrEnum):
    """The loss of an estimator; the value is its name."""

    HINGE = "hinge"
    SQUARED_HINGE = "squared hinge"
    LOGISTIC = "logistic"
    EPSILON_INSENSITIVE = "ε-insensitive"
    SQUARED_EPSILON_INSENSITIVE = "squared ε-insensitive"
    ONE_CLASS = "one-class"
    MULTICLASS_HINGE = "multiclass hinge"
    MULTINOMIAL = "multinomial logistic"

    @property
    def is_of_residual(self) -> bool:
        """Whether it is a function of the residual y − f: a regression."""
        return self in (Loss.EPSILON_INSENSITIVE, Loss.SQUARED_EPSILON_INSENSITIVE)

    @property
    def is_squared(self) -> bool:
        return self in (Loss.SQUARED_HINGE, Loss.SQUARED_EPSILON_INSENSITIVE)

    @property
    def is_piecewise_linear(self) -> bool:
        """Whether β is at a bound off the edges, and free on an edge only."""
        return self in (Loss.HINGE, Loss.EPSILON_INSENSITIVE, Loss.ONE_CLASS)

    @property
    def is_of_all_classes(self) -> bool:
        """Whether it is a function of the scores of all classes."""
        return self in (Loss.MULTICLASS_HINGE, Loss.MULTINOMIAL)

    def _slack(self, position: np.ndarray, epsilon: float) -> np.ndarray:
        """Distance from the edge of the loss, where it is not zero."""
        if self.is_of_residual:
            return np.maximum(np.abs(position) - epsilon, 0.0)
        return np.maximum((0.0 if self is Loss.ONE_CLASS else 1.0) - position, 0.0)

    def evaluate(self, position: np.ndarray, epsilon: float = 0.0) -> np.ndarray:
        """L with cost 1, of the margin y f, the residual y − f, or f (one-class)."""
        if self.is_of_all_classes:
            raise ValueError(f"The {self} loss is no function of a single margin.")
        if self is Loss.LOGISTIC:
            return np.logaddexp(0.0, -position)
        slack = self._slack(position, epsilon)
        return slack**2 if self.is_squared else slack

    def negative_gradient(
        self, y: np.ndarray, f: np.ndarray, cost: np.ndarray, epsilon: float
    ) -> np.ndarray:
        """−L'(f) of each sample; 0 on the edges themselves, where the loss has a kink."""
        if self is Loss.LOGISTIC:
            return y * cost * expit(-y * f)
        slack = self._slack(y - f if self.is_of_residual else y * f, epsilon)
        sign = np.sign(y - f) if self.is_of_residual else y
        return sign * cost * (2.0 * slack if self.is_squared else slack > 0)


@dataclass(frozen=True, eq=False)
class TaskDuals:
    """One binary task of a fitted model (or its regression, or its one class) on training data.

    Attributes
    ----------
    name : str
        Such as ``"setosa / rest"``; empty where there is one task only.
    loss : Loss
    rows : int array
        Samples of the data that take part; those of weight zero do not.
    y : float64 array
        Labels ±1 (one-class: 1), or the targets of a regression.
    beta : float64 array
        Signed dual variable of each sample, in the scale of the fitted model.
    lower, upper : float64 arrays
        The box of β; infinite where there is no bound.
    f : float64 array
        Decision values at the samples, intercept included.
    b : float
        The intercept.
    edges : tuple of float
        The kinks of the loss, in terms of `position`: (1,) for margins, (−ε, ε) for residuals, (0,)
        for one class, and () where there is none.
    is_stored : bool
        Whether β is what the fit computed. If not, it is −L'(f): the model keeps no duals.
    """

    name: str
    loss: Loss
    rows: np.ndarray
    y: np.ndarray
    beta: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    f: np.ndarray
    b: float
    edges: tuple[float, ...]
    is_stored: bool = True

    @property
    def alpha(self) -> np.ndarray:
        """|β|."""
        return np.abs(self.beta)

    @property
    def bound(self) -> np.ndarray:
        """The largest α that the box allows."""
        return np.maximum(self.upper, -self.lower)

    @property
    def epsilon(self) -> float:
        """Half the width of the ε-insensitive interval; 0 for classes."""
        return self.edges[-1] if self.loss.is_of_residual else 0.0

    @property
    def position(self) -> np.ndarray:
        """What the loss is a function of: the margin y f, the residual y − f, or f (one-class)."""
        return self.y - self.f if self.loss.is_of_residual else self.y * self.f

    @cached_property
    def kkt_group(self) -> np.ndarray:
        """The `KKTGroup` of every β."""
        return kkt_groups(self.beta, self.lower, self.upper)
