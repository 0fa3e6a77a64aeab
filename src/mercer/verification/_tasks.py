"""From a fitted estimator and its training data to the tasks that `mercer.verify` recomputes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_array, check_is_fitted

from mercer.estimators._validation import read_objects
from mercer.kernels._reference import Sums, bounded_sums
from mercer.verification._formulations import ModelTask

__all__ = [
    "check_X",
    "check_length",
    "check_support",
    "class_codes",
    "class_pairs",
    "labels_or_targets",
    "one_vs_rest",
    "single_task",
    "stored_duals",
    "targets",
]


# ---------------------------------------------------------------------- tasks of kernel estimators


def _coefficients(model: Any) -> np.ndarray:
    coef = model.dual_coef_.toarray() if sp.issparse(model.dual_coef_) else model.dual_coef_
    coef = np.asarray(coef, dtype=np.float64)
    if coef.ndim != 2 or coef.shape[1] != len(model.support_):
        raise ValueError("dual_coef_ must have one column for each entry of support_.")
    return coef


def single_task(model: Any, X: Any, y: np.ndarray, weight: np.ndarray) -> ModelTask:
    """Regression and one-class."""
    coef = _coefficients(model)
    rows = np.flatnonzero(weight > 0)
    beta = np.zeros(len(y))
    beta[model.support_] = coef[0]
    f = bounded_sums(model.kernel_, X, rows, model.support_, coef.T).column(0)
    model_and_data = float(model.intercept_[0]), model.kernel_, X, rows
    return ModelTask("", y[rows], beta[rows], weight[rows], f, *model_and_data)


def one_vs_rest(model: Any, X: Any, codes: np.ndarray, weight: np.ndarray) -> Iterator[ModelTask]:
    """Each class against the rest."""
    coef = _coefficients(model)
    rows = np.flatnonzero(weight > 0)
    full = np.zeros((coef.shape[0], len(codes)))
    full[:, model.support_] = coef
    f = bounded_sums(model.kernel_, X, rows, model.support_, coef.T)
    scale = weight[rows] * np.asarray(model.class_weight_)[codes[rows]]
    for t in range(coef.shape[0]):
        positive = 1 if coef.shape[0] == 1 else t
        name = "" if coef.shape[0] == 1 else f"{model.classes_[t]} / rest"
        y = np.where(codes[rows] == positive, 1.0, -1.0)
        model_and_data = float(model.intercept_[t]), model.kernel_, X, rows
        yield ModelTask(name, y, full[t, rows], scale, f.column(t), *model_and_data)


def class_pairs(model: Any, X: Any, codes: np.ndarray, weight: np.ndarray) -> Iterator[ModelTask]:
    """Each pair of classes; kernel values are shared between the pairs.

    In LIBSVM's layout the coefficients of class c against class o are row o of ``dual_coef_``, or
    row o − 1 if o > c. Of two classes the second is the positive one, of more the first.
    """
    k, coef = len(model.classes_), _coefficients(model)
    rows = [np.flatnonzero((codes == c) & (weight > 0)) for c in range(k)]
    of_support = codes[model.support_]
    full = np.zeros((k - 1, len(codes)))
    full[:, model.support_] = coef
    f: dict[tuple[int, int], Sums] = {}
    for c in range(k):
        against = np.zeros((len(of_support), k - 1))
        others = [o for o in range(k) if o != c]
        for column, o in enumerate(others):
            for mine, other in ((c, o), (o, c)):
                members = of_support == mine
                against[members, column] = coef[other - (other > mine), members]
        sums = bounded_sums(model.kernel_, X, rows[c], model.support_, against)
        f |= {(c, o): sums.column(column) for column, o in enumerate(others)}
    pairs = [(1, 0)] if k == 2 else [(i, j) for i in range(k) for j in range(i + 1, k)]
    for t, (i, j) in enumerate(pairs):
        both = np.concatenate([rows[i], rows[j]])
        y = np.repeat([1.0, -1.0], [len(rows[i]), len(rows[j])])
        beta = np.concatenate([full[j - (j > i), rows[i]], full[i - (i > j), rows[j]]])
        scale = weight[both] * np.asarray(model.class_weight_)[codes[both]]
        name = "" if k == 2 else f"{model.classes_[i]} / {model.classes_[j]}"
        values = Sums(*(np.concatenate(part) for part in zip(f[i, j], f[j, i], strict=True)))
        model_and_data = float(model.intercept_[t]), model.kernel_, X, both
        yield ModelTask(name, y, beta, scale, values, *model_and_data)


# ---------------------------------------------------------------------- data


def check_X(model: Any, X: Any) -> Any:
    """X as an array, CSR or (for kernels on objects) an array of objects."""
    vectors = getattr(model, "support_vectors_", getattr(model, "X_fit_", None))
    if vectors is None or vectors.ndim > 1:
        X = check_array(X, accept_sparse="csr")
        expected = getattr(model, "n_features_in_", X.shape[1])
        if X.shape[1] != expected:
            raise ValueError(f"X must have the {expected} columns of the fit, got {X.shape[1]}.")
        return X
    return read_objects(model.kernel_, X)


def check_support(model: Any, X: Any) -> None:
    """Refuse a model that is not fitted, and X that is not its training data."""
    names = ["dual_coef_", "support_", "intercept_", "kernel_"]
    check_is_fitted(model, [*names, *(["class_weight_"] if hasattr(model, "classes_") else [])])
    last = int(np.max(model.support_, initial=-1))
    if last >= X.shape[0]:
        raise ValueError(
            f"X has {X.shape[0]} rows, but row {last} is a support vector of the model: "
            "give the data it was fitted on."
        )
    vectors = getattr(model, "support_vectors_", None)
    if vectors is None or vectors.ndim == 1 or not len(model.support_) == vectors.shape[0] > 0:
        return
    if abs(X[model.support_] - vectors).max() > 1e-6 * abs(vectors).max():
        raise ValueError(
            "X is not what the model was fitted on: X[model.support_] differs from "
            "model.support_vectors_. Give the training rows in their order."
        )


def check_length(X: Any, fitted: int) -> None:
    """Of a model with a coefficient for every row of positive weight, which it stores."""
    if X.shape[0] < fitted:
        raise ValueError(
            f"X has {X.shape[0]} rows, but the model was fitted on {fitted}: give the training "
            "data."
        )


def stored_duals(model: Any, n: int, rows: np.ndarray) -> np.ndarray | None:
    """The dual variables of a linear model, where they do not follow from its scores."""
    kept = getattr(model, "dual_coef_", None)
    if kept is None:
        if getattr(model, "loss", "") in ("hinge", "epsilon_insensitive"):
            raise ValueError(
                f"The model has no dual_coef_, without which a model with loss={model.loss!r} "
                "cannot be verified: fit it again."
            )
        return None
    if kept.shape[1] != n:
        raise ValueError(
            f"X has {n} rows, but the model was fitted on {kept.shape[1]}: give the training data."
        )
    return sp.csr_matrix(kept).toarray()[:, rows]


def class_codes(model: Any, y: Any, weight: np.ndarray) -> np.ndarray:
    """The class numbers of the rows; −1 for rows without weight."""
    y = _column_of(y, len(weight), "label")
    unknown = np.setdiff1d(y[weight > 0], model.classes_)
    if unknown.size:
        raise ValueError(f"y has labels the model does not know: {unknown[:5].tolist()}.")
    codes = np.full(len(weight), -1)
    codes[weight > 0] = np.searchsorted(model.classes_, y[weight > 0])
    return codes


def targets(y: Any, n: int) -> np.ndarray:
    return np.asarray(_column_of(y, n, "target"), dtype=np.float64)


def labels_or_targets(model: Any, y: Any, weight: np.ndarray) -> np.ndarray:
    """Class numbers of a classifier, targets of a regressor."""
    if hasattr(model, "classes_"):
        return class_codes(model, y, weight)
    return targets(y, len(weight))


def _column_of(y: Any, n: int, what: str) -> np.ndarray:
    if y is None:
        raise ValueError(f"y must be the {what}s of the fit, got None.")
    y = np.asarray(y).ravel()
    if y.shape != (n,):
        raise ValueError(f"y must have one {what} for each of {n} rows, got {y.shape[0]}.")
    return y
