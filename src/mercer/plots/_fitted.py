"""`FittedView`: a fitted estimator with the data to draw, its values and its tasks.

Duals, boxes and KKT groups are those of the estimator's ``dual_view``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import logit
from sklearn.base import BaseEstimator, is_classifier, is_clusterer, is_outlier_detector
from sklearn.base import is_regressor as _is_regressor
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import _num_samples, check_is_fitted

from mercer.certificates._certificate import Certificate
from mercer.estimators._dual_view import (
    HasDualView,
    KKTGroup,
    Loss,
    TaskDuals,
    codes_of,
    is_fitted_on,
    loss_of,
)
from mercer.estimators._validation import is_precomputed
from mercer.kernels._normalize import Normalize
from mercer.kernels._registry import kernel_entry

__all__ = ["FittedView", "groups_from_margin", "kernel_words", "max_over_tasks", "title_of"]

_LONGEST = 46  # letters of a kernel in a title
_MANY_DIGITS = re.compile(r"\d+\.\d{4,}(e-?\d+)?")
_ONE_KERNEL = re.compile(r"([A-Z]\w*)\(((?:(?![A-Z]\w*\().)*)\)")  # no other name in its brackets
_LETTERS = {"nu": "ν", "epsilon": "ε", "lam_": "λ", "gamma": "γ", "coef0": "c₀"}
_MARGIN_LOSSES = (Loss.HINGE, Loss.SQUARED_HINGE, Loss.MULTICLASS_HINGE)


class FittedView:
    """A fitted estimator, alone or at the end of a Pipeline, with the data to draw.

    Attributes
    ----------
    estimator, model : the estimator given, and the last step of it
    X, X_model : the samples as given, and as the last step takes them
    y, codes : the targets, and the class number of each sample (None without classes)
    """

    def __init__(
        self,
        estimator: Any,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        needs_y: bool = True,
    ):
        self.estimator = estimator
        self.model = estimator[-1] if isinstance(estimator, Pipeline) else estimator
        self.name = type(self.model).__name__
        if not isinstance(self.model, BaseEstimator):
            raise TypeError(f"A display draws a fitted estimator, got {self.name}.")
        check_is_fitted(estimator)
        self.X = self.X_model = X = _as_rows(X)
        if isinstance(estimator, Pipeline) and len(estimator) > 1:
            self.X_model = estimator[:-1].transform(X)
        self.n = _num_samples(self.X)
        self.sample_weight, self.title = sample_weight, title_of(self.model)
        self.loss = loss_of(self.model)
        self.has_margin = self.loss in _MARGIN_LOSSES  # f = ±1 are its edges
        self.is_precomputed = is_precomputed(self.model.get_params(deep=False).get("kernel"))
        # Linear in the samples that the last step takes.
        kernel, is_linear = vars(self.model).get("kernel_"), "coef_" in vars(self.model)
        self.is_linear = bool(getattr(kernel, "is_linear", is_linear))
        proof = getattr(self.model, "certificate_", None)
        self.certificate = proof if isinstance(proof, Certificate) else None
        self.is_classifier = is_classifier(self.model)
        self.is_regressor = _is_regressor(self.model)
        self.is_one_class = is_outlier_detector(self.model)
        self.target_name = str(getattr(y, "name", None) or getattr(self.model, "target_name", "y"))
        self.y: Any = None
        self.codes: Any = None
        if needs_y or y is not None:
            self.y, self.codes = self._targets(y)

    @property
    def classes(self) -> list[str]:
        """Names of the classes, in the order of their numbers."""
        if self.is_one_class:
            return ["data"]
        if not self.is_classifier:
            return [f"cluster {c}" for c in range(self.model.n_clusters)]
        return [f"{c:g}" if isinstance(c, float) else str(c) for c in self.model.classes_]

    @property
    def has_values(self) -> bool:
        """Whether one f decides; not between more than two classes, or clusters."""
        return self.is_one_class or (self.is_classifier and len(self.classes) == 2)

    def refuse(self, what: str, remedy: str) -> None:
        raise ValueError(f"{self.name} {what}. {remedy}")

    def require_coordinates(self, display: str) -> None:
        if self.is_precomputed:
            self.refuse(
                f"was fitted on a precomputed kernel matrix, and {display} needs coordinates",
                "KernelMatrixDisplay, SpectrumDisplay and KKTDisplay do not.",
            )
        if getattr(self.X_model, "ndim", 2) != 2:
            self.refuse(
                f"was fitted on objects without coordinates, which {display} needs",
                "KernelMatrixDisplay and SpectrumDisplay do not.",
            )

    # ------------------------------------------------------------------ values

    def decide(self, rows: Any, is_transformed: bool = False) -> np.ndarray:
        """f of two classes, a region or a regression, less its threshold; of more, class numbers.

        ``is_transformed`` says whether the rows are those of the last step of a Pipeline.
        """
        model = self.model if is_transformed else self.estimator
        if self.has_values:
            threshold = self.model.get_params(deep=False).get("threshold", 0.5)
            return np.asarray(model.decision_function(rows)).ravel() - logit(threshold)
        predicted = model.predict(rows)
        if self.is_classifier:
            return np.searchsorted(self.model.classes_, predicted)
        return np.asarray(predicted)

    @cached_property
    def values(self) -> np.ndarray:
        """`decide` at the samples given."""
        return self.decide(self.X_model, is_transformed=True)

    # ------------------------------------------------------------------ tasks and groups

    @cached_property
    def tasks(self) -> list[TaskDuals]:
        """The tasks with duals in a box; empty where the model or these samples have none."""
        model = self.model
        if not isinstance(model, HasDualView) or not is_fitted_on(model, self.X_model):
            return []
        tasks = model.dual_view(self.X_model, self.y, self.sample_weight)
        if not all(task.is_stored and task.loss.is_piecewise_linear for task in tasks):
            return []
        self._check_counts(tasks)
        return tasks

    @property
    def epsilon(self) -> float:
        """Half the width of the ε-insensitive interval; 0 where the loss has none."""
        if self.tasks:
            return self.tasks[0].epsilon
        return float(self.model.get_params(deep=False).get("epsilon", 0.0))

    def _check_counts(self, tasks: Sequence[TaskDuals]) -> None:
        """Groups other than the certificate's: labels or weights are not those of the fit."""
        proof = self.certificate
        counts = np.sum([np.bincount(task.kkt_group, minlength=3) for task in tasks], axis=0)
        if proof is not None and counts.tolist() != [proof.n_zero, proof.n_free, proof.n_bound]:
            self.refuse(
                f"has {proof.n_zero} coefficients at zero, {proof.n_free} free and {proof.n_bound} "
                f"at their bound, but with these y and weights there are {counts.tolist()}",
                "Give the y and the sample_weight of the fit.",
            )

    def _targets(self, y: Any) -> tuple[Any, Any]:
        if self.is_one_class:
            return None, np.zeros(self.n, dtype=np.intp)
        if is_clusterer(self.model):
            return None, np.asarray(self.model.predict(self.X_model), dtype=np.intp)
        if not (self.is_classifier or self.is_regressor):
            return y, None
        if y is None:
            raise ValueError(f"y must be the targets of {self.name}, got None.")
        y = np.asarray(y)
        if y.ndim == 2 and y.shape[1] == 1:
            y = y[:, 0]
        if y.shape[:1] != (self.n,):
            raise ValueError(f"y must have one entry for each of {self.n} rows, got {y.shape}.")
        if not self.is_classifier:
            return y.astype(np.float64), None
        return y, codes_of(self.model, y)


def _as_rows(X: Any) -> Any:
    """Lists of numbers as an array; all else as it is."""
    if not isinstance(X, (list, tuple)):
        return X
    try:
        rows = np.asarray(X)
    except ValueError:  # ragged: objects
        return X
    return rows if rows.ndim == 2 and rows.dtype.kind in "fiub" else X


def title_of(model: Any) -> str:
    """An estimator in one line: its name, kernel, loss and parameters in words."""
    attributes = vars(model)
    parts = [type(model).__name__]
    if "kernel_" in attributes:
        parts.append(kernel_words(attributes["kernel_"]))
    if attributes.get("multi_class") == "crammer_singer":  # whatever the parameter loss
        parts.append(str(Loss.MULTICLASS_HINGE))
    elif "loss" in attributes:
        parts.append(str(attributes["loss"]).replace("epsilon", "ε").replace("_", " "))
    for name in ("C", "nu", "epsilon", "lam_"):
        if isinstance(attributes.get(name), (int, float)):
            parts.append(f"{_LETTERS.get(name, name)} = {_short(attributes[name])}")
    return " · ".join(parts)


def kernel_words(kernel: Any, with_parameters: bool = True) -> str:
    """A kernel by its name and parameters; of sums and products their expression."""
    if isinstance(kernel, Normalize):
        return f"normalised {kernel_words(kernel.k, with_parameters)}"
    entry = kernel_entry(kernel)
    if entry is None or not entry.title:
        text = _MANY_DIGITS.sub(lambda number: f"{float(number[0]):.4g}", repr(kernel))
        alone = _ONE_KERNEL.fullmatch(text)
        if alone is None:
            return _one_line(text)
        name = re.sub(r"(?<=[a-z])[A-Z]", lambda letter: f" {letter[0].lower()}", alone[1])
        values = alone[2].replace("=", " = ") if with_parameters else ""
        return _one_line(", ".join(filter(None, [f"{name} kernel", values])))
    name = f"{entry.title.partition(' (')[0]} kernel"
    if not with_parameters:
        return name
    values = (
        f"{_LETTERS.get(name, name)} = {_short(getattr(kernel, name))}" for name in entry.parameters
    )
    return ", ".join([name, *values])


def _one_line(text: str) -> str:
    """A long expression as far as a title has room, cut between two names."""
    if len(text) <= _LONGEST:
        return text
    begin = text[: _LONGEST - 1]
    ends = [found.start() for found in re.finditer(r"(?<=\w)[,)( ]", begin)]
    return f"{begin[: ends[-1]] if ends else begin}…"


def _short(value: float) -> str:
    return "∞" if value == np.inf else f"{value:.4g}"


def max_over_tasks(tasks: Sequence[TaskDuals], n: int) -> tuple[np.ndarray, np.ndarray]:
    """The KKT group and α of each of n samples: the largest over its tasks."""
    groups, alpha = np.full(n, KKTGroup.ZERO, dtype=np.int8), np.zeros(n)
    for task in tasks:
        groups[task.rows] = np.maximum(groups[task.rows], task.kkt_group)
        alpha[task.rows] = np.maximum(alpha[task.rows], task.alpha)
    return groups, alpha


def groups_from_margin(distance: np.ndarray, tolerance: float = 0.01) -> np.ndarray:
    """KKT groups from the distance beyond the edge of the loss, for models without duals.

    Samples within ``tolerance`` of the edge count as free.
    """
    group = np.where(distance > 0, KKTGroup.ZERO, KKTGroup.BOUND)
    return np.where(np.abs(distance) <= tolerance, KKTGroup.FREE, group).astype(np.int8)
