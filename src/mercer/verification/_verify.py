"""`verify`: the certificate of a fitted model, recomputed by code of its own, as bounds.

Everything is read off public attributes (``support_``, ``dual_coef_``, ``coef_``, ``intercept_``,
``classes_``, ``class_weight_``, ``kernel_`` and the parameters), the kernel is evaluated by
`mercer.kernels._reference` with a bound of its rounding, and value, gap and violation are written
out for each formulation (`_dual_svm`, `_linear`, `_pegasos`, `_residuals`). Nothing that a solver
 kept, no box QP and no tile of a fit takes part; what is shared are the certificates
themselves.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_array, check_is_fitted

from mercer._result import Status
from mercer.kernels._reference import Sums, bounded_sums, diagonal, kernel_matrix, precise_sums
from mercer.verification._dual_svm import Task, VerifiedCertificate, find, find_logistic, total
from mercer.verification._linear import find_linear
from mercer.verification._pegasos import find_pegasos
from mercer.verification._residuals import find_eigen, find_ridge

__all__ = ["VerifiedCertificate", "check_verifiable", "verify"]

# Rows up to which a kernel that need not be positive semidefinite is looked at as a whole.
_MOST_FACTORED = 3000


def verify(model: Any, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
    """Recompute the certificate of a fitted model from the model and its training data alone.

    Parameters
    ----------
    model : SVC, NuSVC, SVR, NuSVR, OneClassSVM, KernelLogisticRegression, LinearSVC, LinearSVR, \
LogisticRegression, PegasosClassifier, PegasosRegressor, KernelRidge or KernelPCA
        Fitted or loaded.
    X, y, sample_weight
        What it was fitted on; y may be left out for OneClassSVM and KernelPCA.

    Returns
    -------
    Certificate (of KernelRidge a `RidgeCertificate`, of KernelPCA an `EigenCertificate`)
        ``status`` is "solved" if the violation (of linear and logistic machines, the relative gap)
        is within ``tol``; ``seconds`` are those of this
        call, and there are no iterations.
        Of kernel machines ``primal`` and ``gap`` are upper bounds and ``dual`` is a lower one,
        rounding included; the lower bounds ``primal_low``, ``gap_low`` and ``violation_low`` say
        what is certain the other way, and ``precision`` whether float64 was enough.
        Pegasos keeps no duals: a bound as good as the stated one is found anew.
        A model whose coefficients leave their bounds, or do not have the sums they must have, has
        no dual value: ``dual`` is −inf and ``gap`` inf.

    Examples
    --------
    >>> import mercer
    >>> X, y = [[0.0, 1.0], [0.0, -1.0]], [1, -1]
    >>> model = mercer.SVC(kernel="linear", C=0.25).fit(X, y)
    >>> mercer.verify(model, X, y).bias_interval
    (-0.5, 0.5)
    """
    began = time.perf_counter()
    check_verifiable(model)
    is_linear, is_pegasos = hasattr(model, "intercept_scaling"), hasattr(model, "lam")
    if is_pegasos:
        check_is_fitted(model, "intercept_")
    elif is_linear or hasattr(model, "eigen_solver") or hasattr(model, "alphas"):
        check_is_fitted(model)
    else:
        names = ["dual_coef_", "support_", "intercept_", "kernel_"]
        check_is_fitted(model, [*names, *(["class_weight_"] if hasattr(model, "classes_") else [])])
    X = _check_rows(model, X)
    n = X.shape[0]
    weight = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if weight.shape != (n,):
        raise ValueError(
            f"sample_weight must have one entry for each of {n} rows, got shape {weight.shape}."
        )
    if hasattr(model, "X_fit_"):
        if hasattr(model, "eigenvalues_"):
            return find_eigen(model, X, time.perf_counter() - began)
        if y is None or len(y) != n:
            raise ValueError(f"y must have one target for each of {n} rows.")
        return find_ridge(model, X, y, weight, time.perf_counter() - began)
    if is_linear or is_pegasos:
        rows = np.flatnonzero(weight > 0)
        y = _codes(model, y, weight) if hasattr(model, "classes_") else _targets(model, y, n)
        if is_linear:
            proof = find_linear(model, X[rows], y[rows], weight[rows], _kept_duals(model, n, rows))
        else:
            proof = find_pegasos(model, _some(model, X, rows), y[rows], weight[rows])
        return replace(proof, seconds=time.perf_counter() - began)
    coef = model.dual_coef_.toarray() if sp.issparse(model.dual_coef_) else model.dual_coef_
    coef = np.asarray(coef, dtype=np.float64)
    if coef.ndim != 2 or coef.shape[1] != len(model.support_):
        raise ValueError("dual_coef_ must have one column for each entry of support_.")
    if hasattr(model, "threshold"):
        tasks = _rest(model, X, _codes(model, y, weight), weight, coef)
        found = [find_logistic(model, task, _image(model, X, weight)) for task in tasks]
    elif hasattr(model, "classes_"):
        found = [find(model, t) for t in _pairs(model, X, _codes(model, y, weight), weight, coef)]
    else:
        found = [find(model, t) for t in _single(model, X, _targets(model, y, n), weight, coef)]
    if any(task.status is Status.SOLVED for task in found):
        curvature = _curvature(model.kernel_, X, np.flatnonzero(weight > 0))
        found = [
            replace(task, status=curvature) if task.status is Status.SOLVED else task
            for task in found
        ]
    return replace(total(found), seconds=time.perf_counter() - began)


def _curvature(kernel: Any, X: Any, rows: np.ndarray) -> Status:
    """What a satisfied KKT condition shows: an optimum only where K is positive semidefinite.

    Cholesky's factor of K + δI exists in floating point only if λ_min(K) ≥ −2δ, for δ = 2n u tr K
    (Higham, Accuracy and Stability of Numerical Algorithms, theorem 10.7).
    """
    if kernel.is_psd:
        return Status.SOLVED
    if len(rows) > _MOST_FACTORED:
        return Status.SOLVED_IF_PSD
    K = kernel_matrix(kernel, X, rows)
    K = (K + K.T) / 2
    n = len(rows)
    delta = 4 * (n + 2) * float(np.finfo(np.float64).eps) * float(np.abs(np.diagonal(K)).sum())
    try:
        np.linalg.cholesky(K + delta * np.eye(n))
        return Status.SOLVED
    except np.linalg.LinAlgError:
        least = float(np.linalg.eigvalsh(K)[0])
        return Status.NOT_PSD if least < -10 * delta else Status.SOLVED_IF_PSD


def check_verifiable(model: Any) -> None:
    """Refuse what states nothing that could be recomputed, by its parameters."""
    names = set(model.get_params()) if hasattr(model, "get_params") else set()
    is_linear = {"C", "intercept_scaling", "time_limit"} <= names
    is_kernel = "kernel" in names and bool({"C", "nu", "alphas", "eigen_solver"} & names)
    if not (is_linear or is_kernel):
        raise TypeError(
            "model must be a fitted SVC, NuSVC, SVR, NuSVR, OneClassSVM, KernelLogisticRegression, "
            "LinearSVC, LinearSVR, LogisticRegression, PegasosClassifier, PegasosRegressor, "
            f"KernelRidge or KernelPCA, got {type(model).__name__}."
        )


def _some(model: Any, X: Any, rows: np.ndarray) -> Any:
    """These rows; a matrix of kernel values must be that of all."""
    if type(model.kernel_).__name__ != "Precomputed":
        return X[rows]
    if len(rows) < X.shape[0]:
        raise ValueError("verify needs positive weights where kernel='precomputed'.")
    return X


def _task(
    model: Any, X: Any, name: str, rows: np.ndarray, y: np.ndarray, beta: np.ndarray, f: Sums,
    b: float, weight: np.ndarray,
) -> Task:  # fmt: skip
    """A task on some rows of X, with what computes its sums again."""
    kernel, used = model.kernel_, np.flatnonzero(beta)
    is_linear = type(kernel).__name__ == "Linear"

    def refine(which: np.ndarray) -> Sums | None:
        return precise_sums(kernel, X, rows[which], rows[used], beta[used])

    return Task(
        name, y, beta, f, b, weight, len(used), (lambda which: None) if is_linear else refine,
        lambda which: diagonal(kernel, X, rows[which]),
        "double-double" if is_linear else "float64",
    )  # fmt: skip


def _single(
    model: Any, X: Any, y: np.ndarray, weight: np.ndarray, coef: np.ndarray
) -> Iterator[Task]:
    """Regression and one-class."""
    rows = np.flatnonzero(weight > 0)
    beta = np.zeros(len(y))
    beta[model.support_] = coef[0]
    f = _column(bounded_sums(model.kernel_, X, rows, model.support_, coef.T), 0)
    b = float(model.intercept_[0])
    yield _task(model, X, "", rows, y[rows], beta[rows], f, b, weight[rows])


def _column(sums: Sums, column: int) -> Sums:
    return Sums(*(part[:, column] for part in sums))


def _image(model: Any, X: Any, weight: np.ndarray) -> Any:
    """The product of K of the rows with a weight and a vector."""
    rows = np.flatnonzero(weight > 0)
    return lambda v: _column(bounded_sums(model.kernel_, X, rows, rows, v[:, np.newaxis]), 0)


def _rest(
    model: Any, X: Any, codes: np.ndarray, weight: np.ndarray, coef: np.ndarray
) -> Iterator[Task]:
    """Each class against the rest."""
    rows = np.flatnonzero(weight > 0)
    full = np.zeros((coef.shape[0], len(codes)))
    full[:, model.support_] = coef
    f = bounded_sums(model.kernel_, X, rows, model.support_, coef.T)
    scale = weight[rows] * np.asarray(model.class_weight_)[codes[rows]]
    for t in range(coef.shape[0]):
        positive = 1 if coef.shape[0] == 1 else t
        name = "" if coef.shape[0] == 1 else f"{model.classes_[t]} / rest"
        y = np.where(codes[rows] == positive, 1.0, -1.0)
        b = float(model.intercept_[t])
        yield _task(model, X, name, rows, y, full[t, rows], _column(f, t), b, scale)


def _pairs(
    model: Any, X: Any, codes: np.ndarray, weight: np.ndarray, coef: np.ndarray
) -> Iterator[Task]:
    """The same for each pair of classes; kernel values are shared between the pairs.

    In LIBSVM's layout the coefficients of class c against class o are row o of ``dual_coef_``, or
    row o − 1 if o > c. Of two classes the second is the positive one, of more the first.
    """
    k = len(model.classes_)
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
        f |= {(c, o): _column(sums, column) for column, o in enumerate(others)}
    pairs = [(1, 0)] if k == 2 else [(i, j) for i in range(k) for j in range(i + 1, k)]
    for t, (i, j) in enumerate(pairs):
        both = np.concatenate([rows[i], rows[j]])
        y = np.repeat([1.0, -1.0], [len(rows[i]), len(rows[j])])
        beta = np.concatenate([full[j - (j > i), rows[i]], full[i - (i > j), rows[j]]])
        scale = weight[both] * np.asarray(model.class_weight_)[codes[both]]
        name = "" if k == 2 else f"{model.classes_[i]} / {model.classes_[j]}"
        values = Sums(*(np.concatenate(part) for part in zip(f[i, j], f[j, i], strict=True)))
        b = float(model.intercept_[t])
        yield _task(model, X, name, both, y, beta, values, b, scale)


def _check_rows(model: Any, X: Any) -> Any:
    """X as an array, CSR or (for kernels on other things) an array of objects; the model's own."""
    vectors = getattr(model, "support_vectors_", None)
    if vectors is not None and vectors.ndim == 1:
        is_frame = hasattr(X, "columns") and hasattr(X, "__array__")  # which iterates over columns
        samples = [tuple(row) for row in np.asarray(X, dtype=object)] if is_frame else list(X)
        objects = np.empty(len(samples), dtype=object)
        for i, sample in enumerate(samples):  # not objects[:] = samples, which unpacks tuples
            objects[i] = sample
        return _check_support(model, objects) if hasattr(model, "support_") else objects
    X = check_array(X, accept_sparse="csr")
    expected = getattr(model, "n_features_in_", X.shape[1])
    if X.shape[1] != expected:
        raise ValueError(f"X must have the {expected} columns of the fit, got {X.shape[1]}.")
    if hasattr(model, "X_fit_"):
        return _check_fitted_rows(model, X)
    if not hasattr(model, "support_"):
        return X
    _check_support(model, X)
    if vectors is not None and len(model.support_) == vectors.shape[0] > 0:
        difference = X[model.support_] - vectors
        if abs(difference).max() > 1e-6 * abs(vectors).max():
            raise ValueError(
                "X is not what the model was fitted on: X[model.support_] differs from "
                "model.support_vectors_. Give the training rows in their order."
            )
    return X


def _check_fitted_rows(model: Any, X: Any) -> Any:
    """X of a model with a coefficient for every row of positive weight, which it keeps."""
    if X.shape[0] < model.X_fit_.shape[0]:
        raise ValueError(
            f"X has {X.shape[0]} rows, but the model was fitted on {model.X_fit_.shape[0]}: give "
            "the training data."
        )
    return X


def _kept_duals(model: Any, n: int, rows: np.ndarray) -> np.ndarray | None:
    """The duals of a linear machine, where they cannot be told from its scores."""
    kept = getattr(model, "dual_coef_", None)
    if kept is None:
        return None
    if kept.shape[1] != n:
        raise ValueError(
            f"X has {n} rows, but the model was fitted on {kept.shape[1]}: give the training data."
        )
    return sp.csr_matrix(kept).toarray()[:, rows]


def _check_support(model: Any, X: Any) -> Any:
    last = int(np.max(model.support_, initial=-1))
    if last >= X.shape[0]:
        raise ValueError(
            f"X has {X.shape[0]} rows, but row {last} is a support vector of the model: "
            "give the data it was fitted on."
        )
    return X


def _codes(model: Any, y: Any, weight: np.ndarray) -> np.ndarray:
    """The class numbers of the rows; a label of rows without weight only has none."""
    n = len(weight)
    if y is None:
        raise ValueError("y must be the labels of the fit, got None.")
    y = np.asarray(y).ravel()
    if y.shape != (n,):
        raise ValueError(f"y must have one label for each of {n} rows, got {y.shape[0]}.")
    unknown = np.setdiff1d(y[weight > 0], model.classes_)
    if unknown.size:
        raise ValueError(f"y has labels the model does not know: {unknown[:5].tolist()}.")
    codes = np.full(n, -1)
    codes[weight > 0] = np.searchsorted(model.classes_, y[weight > 0])
    return codes


def _targets(model: Any, y: Any, n: int) -> np.ndarray:
    if "C" not in model.get_params():  # one-class
        return np.zeros(n)
    if y is None:
        raise ValueError("y must be the targets of the fit, got None.")
    y = np.asarray(y, dtype=np.float64).ravel()
    if y.shape != (n,):
        raise ValueError(f"y must have one target for each of {n} rows, got {y.shape[0]}.")
    return y
