"""A fitted model as the numbers and the rules that any program needs to predict with it.

    x  →  factor · x + shift  →  values f  →  label

f is a kernel sum Σ c k(z, x) + b, or w·x + b. Rows and vectors are taken relative to the origin of
the model's own sums, so that rounding is the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import logit
from sklearn.base import is_classifier, is_outlier_detector
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler
from sklearn.utils.validation import check_is_fitted

from mercer._expansion import Expansion
from mercer._linear_function import LinearFunction
from mercer._multiclass import pairs
from mercer.data import Schema
from mercer.estimators import KernelKMeans, KernelPCA
from mercer.kernels import Kernel

__all__ = ["Flow", "flow_of"]

SCALERS = (StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler)


@dataclass(frozen=True, eq=False)
class Flow:
    """What a model does with a row.

    Attributes
    ----------
    name : str
        The estimator's class.
    factor, shift : float64 arrays of shape (d,)
        The first step: factor · x + shift.
    kernel : Kernel or None
        None: f = W x + b, and `vectors` is W.
    vectors : float64 array of shape (m, d)
    coef : float64 array of shape (n_outputs, m), or None
    b : float64 array of shape (n_outputs,)
    rule : {"values", "cut", "argmax", "votes"}
        How values become a label: not at all (regression, features), f > `cut`, the largest, or
        the most votes of pairs of classes.
    classes : array or None
    cut : float
    includes_cut : bool
        Whether f = `cut` is the second class as well.
    order : int array or None
        Of the largest and of votes: which class comes first in a tie.
    scores : bool
        Of votes: whether the decision values are a score for each class, instead of one for a pair.
    ties_by_score : bool
        Of votes: whether the largest score decides, instead of the votes alone.
    """

    name: str
    factor: np.ndarray
    shift: np.ndarray
    kernel: Kernel | None
    vectors: np.ndarray
    coef: np.ndarray | None
    b: np.ndarray
    rule: str
    classes: np.ndarray | None = None
    cut: float = 0.0
    includes_cut: bool = False
    order: np.ndarray | None = None
    scores: bool = False
    ties_by_score: bool = False

    @property
    def d(self) -> int:
        return self.factor.size

    def winners(self) -> tuple[np.ndarray, np.ndarray]:
        """Of votes: the number of the first and of the second class of each pair."""
        assert self.classes is not None
        first, second = np.array(list(pairs(self.classes.size))).T
        return first, second


def flow_of(model: Any, schema: Schema | None = None) -> Flow:
    """The flow of a fitted estimator or Pipeline, after the scaling of a file's schema."""
    steps: list[Any] = []
    if isinstance(model, Pipeline):
        steps = [step for _, step in model.steps[:-1] if step not in (None, "passthrough")]
        model = model.steps[-1][1]
    model = getattr(model, "best_estimator_", model)
    check_is_fitted(model)
    function = getattr(model, "expansion_", None)
    if not isinstance(function, Expansion | LinearFunction) or isinstance(model, KernelKMeans):
        raise TypeError(
            f"{type(model).__name__} cannot be exported: only models whose predictions follow from "
            "a kernel sum or from weights can (SVC, SVR, LinearSVC, KernelRidge, KernelPCA, …)."
        )
    d = function.coef.shape[1] if isinstance(function, LinearFunction) else function.support.d
    factor, shift = np.ones(d), np.zeros(d)
    if schema is not None and schema.factor is not None:
        factor = np.asarray(schema.factor, np.float64).copy()
        shift = np.zeros(d) if schema.shift is None else -schema.shift * factor
    for step in steps:
        a, c = _affine(step, d)
        factor, shift = a * factor, a * shift + c
    return Flow(type(model).__name__, factor, *_function(model, function, shift), **_rule(model))


def _affine(step: Any, d: int) -> tuple[np.ndarray, np.ndarray]:
    """A scaler as a · x + c."""
    if not isinstance(step, SCALERS) or getattr(step, "clip", False):
        known = ", ".join(scaler.__name__ for scaler in SCALERS)
        raise TypeError(
            f"The step {type(step).__name__} of the pipeline cannot be exported; {known} (without "
            "clipping) can. Apply other steps before, and export what follows them."
        )
    ones, zeros = np.ones(d), np.zeros(d)
    if isinstance(step, MinMaxScaler):
        return step.scale_, step.min_
    scale = getattr(step, "scale_", None)
    centre = getattr(step, "mean_", getattr(step, "center_", None))
    a = ones if scale is None else 1.0 / scale
    return a, zeros if centre is None or not getattr(step, "with_mean", True) else -centre * a


def _function(model: Any, function: Any, shift: np.ndarray) -> tuple[Any, ...]:
    """shift, kernel, vectors, coef and b."""
    if isinstance(function, LinearFunction):
        coef: Any = function.coef
        W = coef.toarray() if sp.issparse(coef) else coef
        return shift, None, np.asarray(W, np.float64), None, np.asarray(function.b, np.float64)
    kernel, support = function.kernel, function.support
    if support.are_objects or function.columns is not None:
        what = "precomputed kernels" if function.columns is not None else "kernels on objects"
        raise TypeError(f"Models with {what} cannot be exported: their rows are not numbers.")
    if support.origin is not None:
        shift = shift - support.origin
    b = np.asarray(function.b, np.float64)
    if kernel.is_linear:
        return shift, None, function.weights(), None, b
    vectors = support.rows(slice(0, function.n_support), None)
    vectors = vectors.toarray() if sp.issparse(vectors) else np.asarray(vectors)
    coef = np.zeros((b.size, function.n_support))
    for start, stop, outputs in function.blocks:
        for r, output in enumerate(outputs):
            coef[output, start:stop] += function.coef[r, start:stop]
    return shift, kernel, np.asarray(vectors, np.float64), coef, b


def _rule(model: Any) -> dict[str, Any]:
    if is_outlier_detector(model):
        return {"rule": "cut", "classes": np.array([-1, 1])}
    if not is_classifier(model) or isinstance(model, KernelPCA):
        return {"rule": "values"}
    classes, order = model.classes_, getattr(model, "_vote_order", None)
    if classes.size == 2:
        cut = float(logit(getattr(model, "threshold", 0.5)))
        includes_cut = hasattr(model, "threshold") if order is None else bool(order[1] == 1)
        return {"rule": "cut", "classes": classes, "cut": cut, "includes_cut": includes_cut}
    if not hasattr(model, "decision_function_shape"):
        return {"rule": "argmax", "classes": classes, "order": order}
    return {
        "rule": "votes",
        "classes": classes,
        "order": order,
        "scores": model.decision_function_shape == "ovr",
        "ties_by_score": bool(model.break_ties),
    }
