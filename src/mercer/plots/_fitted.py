"""A fitted estimator as pictures see it: its data, its tasks, and the KKT group of every row.

Rows, labels, weights and boxes come from the very steps of ``fit`` (validate, encode, pose), run on
a copy of the model, so that nothing about a formulation is said here a second time.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import logit
from sklearn.base import is_classifier, is_outlier_detector, is_regressor
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from mercer.certificates._certificate import BOUND, FREE, ZERO, Certificate, kkt_groups, multipliers
from mercer.estimators._validation import check_training, is_precomputed
from mercer.problems import BoxQP

__all__ = ["Machine", "Reading", "by_edge", "merged", "title_of"]

# Without duals a row is on its edge if f is so near to it.
ON_EDGE = 1e-2
_LONG = re.compile(r"\d+\.\d{4,}(e-?\d+)?")


@dataclass(frozen=True, eq=False)
class Reading:
    """One binary task (or the regression, or the one class) of a fitted machine.

    Attributes
    ----------
    name : str
    rows : int array
        Rows of the data that take part; those of weight zero do not.
    target : float64 array
        Labels ±1, or the targets of a regression.
    beta, lower, upper : float64 arrays
        Signed duals and their box, in the scale of the published model.
    g : float64 array
        f + b at the rows.
    epsilon : float
        Half width of the tube; 0 for classes.
    """

    name: str
    rows: np.ndarray
    target: np.ndarray
    beta: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    g: np.ndarray
    epsilon: float = 0.0

    @property
    def alpha(self) -> np.ndarray:
        return np.abs(self.beta)

    @cached_property
    def groups(self) -> np.ndarray:
        return kkt_groups(self.beta, self.lower, self.upper)


class Machine:
    """A fitted estimator, alone or at the end of a Pipeline, with the data to draw.

    Attributes
    ----------
    estimator, model : the whole, and the machine at its end
    X, seen : the rows as given, and as the machine sees them
    y, codes : the targets, and the number of each row's class (None without classes)
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
        if not hasattr(self.model, "fit"):
            raise TypeError(f"A picture is of a fitted estimator, got {self.name}.")
        check_is_fitted(estimator)
        self.X = self.seen = X = _as_rows(X)
        if isinstance(estimator, Pipeline) and len(estimator) > 1:
            self.seen = estimator[:-1].transform(X)
        self.sample_weight = sample_weight
        self.is_classifier = is_classifier(self.model)
        self.is_regressor = is_regressor(self.model)
        self.is_one_class = is_outlier_detector(self.model)
        self.y: Any = None
        self.codes: Any = None
        if needs_y or y is not None:
            self.y, self.codes = self._targets(y)

    @property
    def n(self) -> int:
        return self.X.shape[0] if hasattr(self.X, "shape") else len(self.X)

    @property
    def classes(self) -> list[str]:
        """Names of the classes, in the order of their numbers."""
        if self.is_one_class:
            return ["data"]
        known = getattr(self.model, "classes_", None)
        if known is None:  # clusters
            return [f"cluster {c}" for c in range(self.model.n_clusters)]
        return [f"{c:g}" if isinstance(c, float) else str(c) for c in known]

    @property
    def is_precomputed(self) -> bool:
        return is_precomputed(getattr(self.model, "kernel", None))

    @property
    def certificate(self) -> Certificate | None:
        proof = getattr(self.model, "certificate_", None)
        return proof if isinstance(proof, Certificate) else None

    @property
    def has_margin(self) -> bool:
        """Whether f = ±1 are edges that the loss knows of."""
        loss = getattr(self.model, "loss", "hinge")
        return "hinge" in str(loss) and self.is_classifier and self._is_svm

    @property
    def _is_svm(self) -> bool:
        return any(word in self.name for word in ("SVC", "Pegasos"))

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
        if getattr(self.seen, "ndim", 2) != 2:
            self.refuse(
                f"was fitted on objects without coordinates, which {display} needs",
                "KernelMatrixDisplay and SpectrumDisplay do not.",
            )

    @property
    def title(self) -> str:
        return title_of(self.model)

    # ------------------------------------------------------------------ values

    def decide(self, rows: Any, seen: bool = False) -> np.ndarray:
        """Decision values (n,) of two classes, a region or a regression; of more, class numbers."""
        face = self.model if seen else self.estimator
        if self.has_values:
            level = logit(getattr(self.model, "threshold", 0.5))  # of logistic machines
            return np.asarray(face.decision_function(rows)).ravel() - level
        found = face.predict(rows)
        if self.is_classifier:
            return np.searchsorted(self.model.classes_, found)
        return np.asarray(found)

    @cached_property
    def values(self) -> np.ndarray:
        """`decide` at the rows given."""
        return self.decide(self.seen, seen=True)

    # ------------------------------------------------------------------ tasks and groups

    @cached_property
    def readings(self) -> list[Reading]:
        """The tasks with their duals; empty for machines or rows that have none."""
        if not (hasattr(self.model, "_pose") and self._betas is not None):
            return []
        probe = copy(self.model)
        if hasattr(probe, "probability"):
            probe.probability = "deprecated"  # a warning is for the one who fits
        y = np.ones(self.n) if self.is_one_class else self.y
        data = check_training(probe, self.seen, y, self.sample_weight)
        rows = data.original(np.arange(data.n))
        tasks = probe._encode(data)
        g = self._all_values()
        found = [
            self._read(t, probe._pose(task, data), rows, task, g[:, t])
            for t, task in enumerate(tasks)
        ]
        self._check_counts(found)
        return found

    def _read(self, t: int, problem: Any, rows: np.ndarray, task: Any, g: np.ndarray) -> Reading:
        part = getattr(task, "rows", None)
        rows = rows if part is None else rows[part]
        target = getattr(task, "y", task)
        beta, g = self._betas[t][rows], g[rows]
        epsilon = float(getattr(self.model, "epsilon", 0.0))
        if isinstance(problem, BoxQP):
            lower, upper = (problem.at_points(v, rows.size) for v in (problem.lower, problem.upper))
            if problem.n_groups == 2 and problem.row is None:  # ν-SVC is published divided by ρ
                rho = np.abs(problem.start).sum() / np.abs(beta).sum()
                lower, upper = lower / rho, upper / rho
            elif problem.n_groups == 2:  # ν-SVR finds its own width
                b = float(self.model.intercept_[0])
                e = problem.target - problem.at_variables(g - b)
                epsilon = float(np.ptp(multipliers(problem, np.array([b, b]), e)) / 2)
        else:
            sign = target if self.is_classifier else 0.0
            lower = np.where(sign > 0, 0.0, -problem.cost)
            upper = np.where(sign < 0, 0.0, problem.cost)
        name = self._task_name(t)
        return Reading(name, rows, target, beta, lower, upper, g, epsilon)

    def _task_name(self, t: int) -> str:
        proof = self.certificate
        return proof.tasks[t].name if proof is not None and proof.tasks else ""

    def _all_values(self) -> np.ndarray:
        """Values of every task at the rows, shape (n, tasks)."""
        model = self.model
        return np.reshape((model._decide if hasattr(model, "expansion_") else model._scores)(
            self.seen
        ), (self.n, -1))  # fmt: skip

    @cached_property
    def _betas(self) -> Any:
        """Signed duals of every task over all rows, if these are the rows of the fit."""
        model = self.model
        if not hasattr(model, "dual_coef_"):
            return None
        if not hasattr(model, "expansion_"):  # linear: one column for every row
            coef = model.dual_coef_
            return coef.toarray() if coef.shape[1] == self.n else None
        if self.n != model.shape_fit_[0] or not self._is_training:
            return None
        expansion = model.expansion_
        betas = np.zeros((expansion.b.size, self.n))
        for start, stop, outputs in expansion.blocks:
            betas[np.ix_(outputs, model.support_[start:stop])] = expansion.coef[:, start:stop]
        return betas

    @property
    def _is_training(self) -> bool:
        vectors = self.model.support_vectors_
        if self.is_precomputed or vectors.ndim == 1:
            return True
        rows = self.seen if sp.issparse(self.seen) else np.asarray(self.seen, dtype=np.float64)
        off = abs(rows[self.model.support_] - vectors)
        return vectors.shape[0] == 0 or bool(off.max() <= 1e-6 * abs(vectors).max())

    def _check_counts(self, found: list[Reading]) -> None:
        """Groups that are not the certificate's have other labels or weights than the fit."""
        proof = self.certificate
        counts = np.sum([np.bincount(task.groups, minlength=3) for task in found], axis=0)
        if proof is not None and counts.tolist() != [proof.n_zero, proof.n_free, proof.n_bound]:
            self.refuse(
                f"has {proof.n_zero} coefficients at zero, {proof.n_free} free and {proof.n_bound} "
                f"at their bound, but with these y and weights there are {counts.tolist()}",
                "Give the y and the sample_weight of the fit.",
            )

    def _targets(self, y: Any) -> tuple[Any, Any]:
        if self.is_one_class:
            return None, np.zeros(self.n, dtype=np.intp)
        if not (self.is_classifier or self.is_regressor):
            if not hasattr(self.model, "labels_"):
                return y, None
            return None, np.asarray(self.model.predict(self.seen), dtype=np.intp)
        if y is None:
            raise ValueError(f"y must be the targets of {self.name}, got None.")
        y = np.asarray(y)
        if y.ndim == 2 and y.shape[1] == 1:
            y = y[:, 0]
        if y.shape[:1] != (self.n,):
            raise ValueError(f"y must have one entry for each of {self.n} rows, got {y.shape}.")
        if not self.is_classifier:
            return y.astype(np.float64), None
        unknown = np.setdiff1d(y, self.model.classes_)
        if unknown.size:
            raise ValueError(f"y has labels {self.name} does not know: {unknown[:5].tolist()}.")
        return y, np.searchsorted(self.model.classes_, y)


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
    """A machine in a line: its name, kernel and price."""
    parts = [type(model).__name__]
    kernel = getattr(model, "kernel_", None)
    if kernel is not None:
        parts.append(_LONG.sub(lambda number: f"{float(number[0]):.4g}", repr(kernel)))
    loss = getattr(model, "loss", None)
    if loss is not None:
        parts.append(str(loss).replace("_", " "))
    for name, letter in (("C", "C"), ("nu", "ν"), ("epsilon", "ε"), ("lam_", "λ")):
        value = getattr(model, name, None)
        if isinstance(value, (int, float)):
            parts.append(f"{letter} = {value:.4g}")
    return " · ".join(parts)


def merged(
    machine: Machine, edges: Callable[[Machine], np.ndarray]
) -> tuple[np.ndarray, np.ndarray | None]:
    """The group of every row, and its α: the largest over its tasks; by ``edges`` without duals."""
    tasks = machine.readings
    if not tasks:
        return edges(machine), None
    groups, alpha = np.full(machine.n, ZERO, dtype=np.int8), np.zeros(machine.n)
    for task in tasks:
        groups[task.rows] = np.maximum(groups[task.rows], task.groups)
        alpha[task.rows] = np.maximum(alpha[task.rows], task.alpha)
    return groups, alpha


def by_edge(distance: np.ndarray) -> np.ndarray:
    """Groups from how far a row is beyond its edge: positive is beyond, negative within."""
    near = np.abs(distance) <= ON_EDGE
    return np.where(near, FREE, np.where(distance > 0, ZERO, BOUND)).astype(np.int8)
