"""Pipelines, and scikit-learn's own estimators, as `mercer.verify` takes them.

A fitted model of scikit-learn has the objective of Mercer's estimator of the same name, and what
`verify` reads: coefficients, intercepts, parameters. `as_mercer` puts them into one of Mercer's
estimators, whose certificate is then recomputed. Where scikit-learn keeps no dual variables and
they do not follow from the scores (hinge and ε-insensitive losses of linear models), a feasible
dual point comes from a fit of Mercer: any such point bounds the optimum, and its value is
recomputed, too.
"""

from __future__ import annotations

import inspect
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.validation import check_array, check_is_fitted

from mercer._result import Status
from mercer.certificates._certificate import Certificate
from mercer.estimators._registry import ESTIMATORS
from mercer.estimators._validation import class_weights
from mercer.estimators.linear._logistic_regression import several_classes
from mercer.exceptions import ConvergenceWarning
from mercer.kernels import as_kernel
from mercer.verification._tasks import class_codes

__all__ = ["as_mercer", "judged", "sklearn_name", "unwrap"]

_KERNEL_SVMS = ("SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM")
_LINEAR = ("LinearSVC", "LinearSVR", "LogisticRegression")
_FITTED = (
    "support_",
    "support_vectors_",
    "dual_coef_",
    "intercept_",
    "coef_",
    "classes_",
    "class_weight_",
    "n_features_in_",
    "X_fit_",
)


def unwrap(model: Any, X: Any) -> tuple[Any, Any, str]:
    """The last step of a pipeline, the rows as it gets them, and what was done to them.

    Of a search it is the best estimator, which was fitted to all rows.
    """
    from sklearn.pipeline import Pipeline

    if hasattr(model, "best_estimator_"):
        return unwrap(model.best_estimator_, X)
    if not isinstance(model, Pipeline):
        return model, X, ""
    check_is_fitted(model)
    before = [step for _, step in model.steps[:-1] if step not in (None, "passthrough")]
    note = "X was transformed by " + ", ".join(type(step).__name__ for step in before)
    last, rows, more = unwrap(model.steps[-1][1], model[:-1].transform(X) if before else X)
    return last, rows, "; ".join(part for part in (note if before else "", more) if part)


def sklearn_name(model: Any) -> str:
    """The class of scikit-learn that a model is of, if `as_mercer` takes it; else nothing."""
    for cls in type(model).__mro__:
        if cls.__name__ in (*_KERNEL_SVMS, *_LINEAR, "KernelRidge"):
            return cls.__name__ if cls.__module__.startswith("sklearn.") else ""
    return ""


def as_mercer(model: Any, X: Any, y: Any, weight: np.ndarray) -> Any:
    """Mercer's estimator with the parameters and the fitted attributes of scikit-learn's."""
    name = sklearn_name(model)
    cls: Any = ESTIMATORS[name].load()
    known, given = cls._get_param_names(), model.get_params(deep=False)
    made = cls(**{key: value for key, value in given.items() if key in known})
    if name in _LINEAR:
        _check_penalty(model)
    if name == "LogisticRegression":
        made.multi_class = several_classes(model)
    for attribute in _FITTED:
        value = getattr(model, attribute, None) if attribute != "coef_" or name in _LINEAR else None
        if value is not None:
            made.__dict__[attribute] = value
    if name in _LINEAR:
        _complete_linear(made, model, name, X, y, weight)
        return made
    d = np.shape(X)[1] if np.ndim(X) == 2 or sp.issparse(X) else 1
    gamma = getattr(model, "_gamma", None) or getattr(model, "gamma", None) or 1.0 / d
    made.kernel_ = as_kernel(model.kernel, gamma, model.degree, model.coef0)
    if name == "KernelRidge":
        made.alpha_, made._one_target = model.alpha, np.ndim(model.dual_coef_) == 1
    elif callable(model.kernel):
        made.support_vectors_ = check_array(X, accept_sparse="csr")[model.support_]
    return made


def _check_penalty(model: Any) -> None:
    penalty, ratio = getattr(model, "penalty", "l2"), getattr(model, "l1_ratio", None)
    known = ("l1", "l2") if sklearn_name(model) == "LinearSVC" else ("l2", "deprecated")
    if penalty not in known or ratio or not np.isfinite(model.C):
        raise ValueError(
            f"verify takes scikit-learn's {type(model).__name__} with an L2 penalty"
            f"{' or L1 penalty' if 'l1' in known else ''} and a finite "
            f"C, got penalty={penalty!r}, l1_ratio={ratio!r}, C={model.C!r}."
        )


def _complete_linear(made: Any, model: Any, name: str, X: Any, y: Any, weight: Any) -> None:
    """Class weights, the penalty of the intercept, and a dual point where it must be known."""
    tasks = np.atleast_2d(model.coef_).shape[0]
    made.intercept_ = np.broadcast_to(np.ravel(np.asarray(model.intercept_, np.float64)), tasks)
    if hasattr(model, "classes_"):
        codes, used = class_codes(model, y, weight), weight > 0
        # In older versions "balanced" does not count sample weights.
        is_weighted = "sample_weight" in inspect.signature(compute_class_weight).parameters
        made.class_weight_ = class_weights(
            model.class_weight, model.classes_, codes[used], weight[used] if is_weighted else None
        )
    if name == "LogisticRegression":
        made.intercept_scaling = model.intercept_scaling if model.solver == "liblinear" else None
        return
    is_joint = getattr(model, "multi_class", "ovr") == "crammer_singer"
    if is_joint or "squared" not in model.loss:
        names = ("C", "epsilon", "fit_intercept", "intercept_scaling", "class_weight")
        same = {key: getattr(model, key) for key in names if hasattr(model, key)}
        if is_joint:
            same |= {"multi_class": model.multi_class, "loss": "hinge"}
        else:
            same |= {"loss": model.loss}
        with warnings.catch_warnings():  # whatever it reaches is a dual point
            warnings.simplefilter("ignore", ConvergenceWarning)
            fit = type(made)(tol=0.01 * model.tol, **same).fit(X, y, sample_weight=weight)
        made.dual_coef_ = fit.dual_coef_


def judged(proof: Any, model: Any) -> Any:
    """The certificate of a model of scikit-learn, with words for what it has not reached."""
    limit = getattr(model, "max_iter", None) or -1
    steps = np.max(getattr(model, "n_iter_", 0), initial=0)
    missed = Status.ITERATION_LIMIT if 0 < limit <= steps else Status.NOT_REACHED

    def of(status: Status) -> Status:
        return missed if status in (Status.NOT_REACHED, Status.STALLED) else status

    if isinstance(proof, Certificate):
        tasks = tuple(replace(task, status=of(task.status)) for task in proof.tasks)
        proof = replace(proof, tasks=tasks)
    return replace(proof, status=of(proof.status))
