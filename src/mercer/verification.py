"""`verify`: the certificate of a fitted model, recomputed in float64 by a road of its own.

Everything is read off public attributes (``support_``, ``dual_coef_``, ``coef_``, ``intercept_``,
``classes_``, ``class_weight_``, ``kernel_`` and the parameters), the kernel is evaluated by
`mercer._naive`, and value, gap and violation are written out for each formulation
(`mercer._findings`, `_linear_findings`, `_pegasos_findings`, `_system_findings`). Nothing that a
solver kept, no box QP and no tile of a fit takes part; what is shared are the certificates
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

from mercer._findings import find, find_logistic
from mercer._linear_findings import find_linear
from mercer._naive import kernel_sums
from mercer._pegasos_findings import find_pegasos
from mercer._system_findings import find_eigen, find_ridge
from mercer.certificate import summarise

__all__ = ["check_verifiable", "verify"]


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
        check_is_fitted(model, ["dual_coef_", "support_", "intercept_"])
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
        y = _codes(model, y, n) if hasattr(model, "classes_") else _targets(model, y, n)
        if is_linear:
            proof = find_linear(model, X[rows], y[rows], weight[rows], _kept_duals(model, n, rows))
        else:
            proof = find_pegasos(model, _some(model, X, rows), y[rows], weight[rows])
        return replace(proof, seconds=time.perf_counter() - began)
    coef = model.dual_coef_.toarray() if sp.issparse(model.dual_coef_) else model.dual_coef_
    if hasattr(model, "threshold"):
        found = [
            find_logistic(model, *t) for t in _rest(model, X, _codes(model, y, n), weight, coef)
        ]
    elif hasattr(model, "classes_"):
        pairs = _pairs(model, X, _codes(model, y, n), weight, coef)
        found = [find(model, *task) for task in pairs]
    else:
        found = [find(model, *t) for t in _single(model, X, _targets(model, y, n), weight, coef)]
    total = summarise(found)
    return replace(total, seconds=time.perf_counter() - began)


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


def _single(
    model: Any, X: Any, y: np.ndarray, weight: np.ndarray, coef: np.ndarray
) -> Iterator[tuple]:
    """Regression and one-class: (name, y, β, f, b, weight) of the rows with a weight."""
    rows = np.flatnonzero(weight > 0)
    beta = np.zeros(len(y))
    beta[model.support_] = coef[0]
    f = kernel_sums(model.kernel_, X, rows, model.support_, coef.T)[:, 0]
    yield "", y[rows], beta[rows], f, float(model.intercept_[0]), weight[rows]


def _rest(
    model: Any, X: Any, codes: np.ndarray, weight: np.ndarray, coef: np.ndarray
) -> Iterator[tuple]:
    """Each class against the rest: (name, y, β, f, b, weight, product with K)."""
    rows = np.flatnonzero(weight > 0)
    full = np.zeros((coef.shape[0], len(codes)))
    full[:, model.support_] = coef
    f = kernel_sums(model.kernel_, X, rows, model.support_, coef.T)
    scale = weight[rows] * np.asarray(model.class_weight_)[codes[rows]]

    def image(v: np.ndarray) -> np.ndarray:
        return kernel_sums(model.kernel_, X, rows, rows, v[:, np.newaxis])[:, 0]

    for t in range(coef.shape[0]):
        positive = 1 if coef.shape[0] == 1 else t
        name = "" if coef.shape[0] == 1 else f"{model.classes_[t]} / rest"
        y = np.where(codes[rows] == positive, 1.0, -1.0)
        yield name, y, full[t, rows], f[:, t], float(model.intercept_[t]), scale, image


def _pairs(
    model: Any, X: Any, codes: np.ndarray, weight: np.ndarray, coef: np.ndarray
) -> Iterator[tuple]:
    """The same for each pair of classes; kernel values are shared between the pairs.

    In LIBSVM's layout the coefficients of class c against class o are row o of ``dual_coef_``, or
    row o − 1 if o > c. Of two classes the second is the positive one, of more the first.
    """
    k = len(model.classes_)
    rows = [np.flatnonzero((codes == c) & (weight > 0)) for c in range(k)]
    of_support = codes[model.support_]
    full = np.zeros((k - 1, len(codes)))
    full[:, model.support_] = coef
    f: dict[tuple[int, int], np.ndarray] = {}
    for c in range(k):
        against = np.zeros((len(of_support), k - 1))
        others = [o for o in range(k) if o != c]
        for column, o in enumerate(others):
            for mine, other in ((c, o), (o, c)):
                members = of_support == mine
                against[members, column] = coef[other - (other > mine), members]
        sums = kernel_sums(model.kernel_, X, rows[c], model.support_, against)
        f |= {(c, o): sums[:, column] for column, o in enumerate(others)}
    pairs = [(1, 0)] if k == 2 else [(i, j) for i in range(k) for j in range(i + 1, k)]
    for t, (i, j) in enumerate(pairs):
        both = np.concatenate([rows[i], rows[j]])
        y = np.repeat([1.0, -1.0], [len(rows[i]), len(rows[j])])
        beta = np.concatenate([full[j - (j > i), rows[i]], full[i - (i > j), rows[j]]])
        scale = weight[both] * np.asarray(model.class_weight_)[codes[both]]
        name = "" if k == 2 else f"{model.classes_[i]} / {model.classes_[j]}"
        values = np.concatenate([f[i, j], f[j, i]])
        yield name, y, beta, values, float(model.intercept_[t]), scale


def _check_rows(model: Any, X: Any) -> Any:
    """X as an array, CSR or (for kernels on other things) an array of objects; the model's own."""
    vectors = getattr(model, "support_vectors_", None)
    if vectors is not None and vectors.ndim == 1:
        objects = np.empty(len(X), dtype=object)
        objects[:] = list(X)
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
    if vectors is not None and vectors.shape[0] == len(model.support_):
        difference = X[model.support_] - vectors
        if difference.shape[0] and abs(difference).max() > 1e-6 * abs(vectors).max():
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


def _codes(model: Any, y: Any, n: int) -> np.ndarray:
    if y is None:
        raise ValueError("y must be the labels of the fit, got None.")
    y = np.asarray(y).ravel()
    if y.shape != (n,):
        raise ValueError(f"y must have one label for each of {n} rows, got {y.shape[0]}.")
    unknown = np.setdiff1d(y, model.classes_)
    if unknown.size:
        raise ValueError(f"y has labels the model does not know: {unknown[:5].tolist()}.")
    return np.searchsorted(model.classes_, y)


def _targets(model: Any, y: Any, n: int) -> np.ndarray:
    if "C" not in model.get_params():  # one-class
        return np.zeros(n)
    if y is None:
        raise ValueError("y must be the targets of the fit, got None.")
    y = np.asarray(y, dtype=np.float64).ravel()
    if y.shape != (n,):
        raise ValueError(f"y must have one target for each of {n} rows, got {y.shape[0]}.")
    return y
