"""`verify`: the certificate of a fitted model, recomputed by independent code, as bounds.

Everything is read off public attributes (``support_``, ``dual_coef_``, ``coef_``, ``intercept_``,
``classes_``, ``class_weight_``, ``kernel_`` and the parameters) and the training data. The kernel
is evaluated by `mercer.kernels._reference` with a bound of its rounding; objective, gap and
violation are written out for each formulation (`_dual_svm`, `_linear`, `_pegasos`, `_residuals`).
No code of the solvers takes part; only the classes of the certificates are shared. Which function
recomputes which estimator stands in `mercer.estimators._registry`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer._precision import EPS
from mercer._result import Status
from mercer.estimators._registry import ESTIMATORS, EstimatorEntry, entry_of
from mercer.kernels._reference import kernel_matrix
from mercer.kernels._registry import load_path
from mercer.verification import _formulations as formulations
from mercer.verification import _tasks as tasks
from mercer.verification._dual_svm import (
    VerifiedCertificate,
    recompute_svm,
    total_certificate,
)
from mercer.verification._feature_ridge import recompute_feature_ridge
from mercer.verification._kernel_logistic import recompute_logistic
from mercer.verification._linear import recompute_linear
from mercer.verification._low_rank import is_low_rank, verify_low_rank
from mercer.verification._multinomial import is_multinomial, recompute_multinomial
from mercer.verification._pegasos import recompute_pegasos
from mercer.verification._residuals import recompute_eigenvectors, recompute_ridge
from mercer.verification._rounding import SETTINGS
from mercer.verification._sklearn import as_mercer, judged, sklearn_name, unwrap

__all__ = ["VerifiedCertificate", "check_verifiable", "verify"]


def verify(model: Any, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
    """Recompute the certificate of a fitted model from the model and its training data.

    No code of the solvers is used.

    Parameters
    ----------
    model : estimator
        Fitted or loaded. `KernelKMeans`, `KernelPerceptron` and `mercer.embeddings` state no
        optimum that could be recomputed; all other estimators can be verified. A ``Pipeline`` is
        verified by its last step, on X transformed by the steps before (``certificate.note`` says
        so). scikit-learn's own SVC, NuSVC, SVR, NuSVR, OneClassSVM, LinearSVC, LinearSVR,
        LogisticRegression and KernelRidge can be verified, too: how far they are from the optimum
        of their objective. Where those keep no dual variables (LinearSVC with the hinge loss,
        LinearSVR), the dual point is that of a fit of Mercer.
    X, y, sample_weight
        What it was fitted on; y may be left out for OneClassSVM and KernelPCA.

    Returns
    -------
    Certificate (of KernelRidge a `RidgeCertificate`, of KernelPCA an `EigenCertificate`)
        It is true, and ``holds``, if ``status`` is "solved": the violation (of linear and logistic
        models, the relative gap) is within ``tol``; ``seconds`` are those of this call, and there
        are no iterations.
        Of kernel SVMs ``primal`` and ``gap`` are upper bounds and ``dual`` is a lower one,
        rounding included; the lower bounds ``primal_low``, ``gap_low`` and ``violation_low`` hold
        in the other direction, and ``precision`` says whether float64 was enough.
        Pegasos stores no dual variables: a bound as good as the stated one is computed.
        A model whose coefficients violate their bounds or equality constraints has no dual value:
        ``dual`` is −inf and ``gap`` inf.

    Examples
    --------
    >>> import mercer
    >>> X, y = [[0.0, 1.0], [0.0, -1.0]], [1, -1]
    >>> model = mercer.SVC(kernel="linear", C=0.25).fit(X, y)
    >>> mercer.verify(model, X, y).bias_interval
    (-0.5, 0.5)
    """
    began = time.perf_counter()
    model, X, note = unwrap(model, X)
    entry = check_verifiable(model)
    check_is_fitted(model)
    X = tasks.check_X(model, X)
    n = X.shape[0]
    weight = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if weight.shape != (n,):
        raise ValueError(
            f"sample_weight must have one entry for each of {n} rows, got shape {weight.shape}."
        )
    if sklearn_name(model):
        proof = load_path(entry.verify)(as_mercer(model, X, y, weight), X, y, weight)
        proof = judged(proof, model)
    else:
        proof = load_path(entry.verify)(model, X, y, weight)
    if np.isinf(getattr(proof, "gap_low", 0.0)) and np.isfinite(proof.primal):
        other = "the dual variables are infeasible: are y and sample_weight those of the fit?"
        note = f"{note}; {other}" if note else other
    return replace(proof, seconds=time.perf_counter() - began, note=note)


def check_verifiable(model: Any) -> EstimatorEntry:
    """The entry of the estimator; a TypeError if it states nothing that could be recomputed."""
    name = sklearn_name(model)
    entry = ESTIMATORS[name] if name else entry_of(model)
    if entry is None or not entry.verify:
        names = [each.class_name for each in ESTIMATORS.values() if each.verify]
        raise TypeError(
            f"model must be a fitted {', '.join(names[:-1])} or {names[-1]}, "
            f"got {type(model).__name__}."
        )
    return entry


# ---------------------------------------------------------------------- one function per estimator


Verifier = Callable[[Any, Any, Any, np.ndarray], Any]


def _of_pairs(formulation: formulations.Formulation) -> Verifier:
    """A classifier: each pair of classes."""

    def verify(model: Any, X: Any, y: Any, weight: np.ndarray) -> VerifiedCertificate:
        tasks.check_support(model, X)
        if is_low_rank(model):
            return verify_low_rank(model, X, y, weight)
        found = tasks.class_pairs(model, X, tasks.class_codes(model, y, weight), weight)
        return _total(model, X, weight, [recompute_svm(model, formulation, task) for task in found])

    return verify


def _of_one(formulation: formulations.Formulation, has_targets: bool = True) -> Verifier:
    """Regression, and one class."""

    def verify(model: Any, X: Any, y: Any, weight: np.ndarray) -> VerifiedCertificate:
        tasks.check_support(model, X)
        if is_low_rank(model):
            return verify_low_rank(model, X, y, weight)
        y = tasks.targets(y, len(weight)) if has_targets else np.zeros(len(weight))
        task = tasks.single_task(model, X, y, weight)
        return _total(model, X, weight, [recompute_svm(model, formulation, task)])

    return verify


verify_svc = _of_pairs(formulations.svc)
verify_nu_svc = _of_pairs(formulations.nu_svc)
verify_svr = _of_one(formulations.svr)
verify_nu_svr = _of_one(formulations.nu_svr)
verify_one_class = _of_one(formulations.one_class, has_targets=False)


def verify_logistic(model: Any, X: Any, y: Any, weight: np.ndarray) -> VerifiedCertificate:
    tasks.check_support(model, X)
    found = tasks.one_vs_rest(model, X, tasks.class_codes(model, y, weight), weight)
    return _total(model, X, weight, [recompute_logistic(model, task) for task in found])


def verify_linear(model: Any, X: Any, y: Any, weight: np.ndarray) -> Any:
    rows = np.flatnonzero(weight > 0)
    y = tasks.labels_or_targets(model, y, weight)[rows]
    if is_multinomial(model):
        return recompute_multinomial(model, X[rows], y, weight[rows])
    duals = tasks.stored_duals(model, len(weight), rows)
    return recompute_linear(model, X[rows], y, weight[rows], duals)


def verify_pegasos(model: Any, X: Any, y: Any, weight: np.ndarray) -> Any:
    check_is_fitted(model, "intercept_")
    rows = np.flatnonzero(weight > 0)
    y = tasks.labels_or_targets(model, y, weight)[rows]
    is_precomputed = type(model.kernel_).__name__ == "Precomputed"
    if is_precomputed and len(rows) < X.shape[0]:
        raise ValueError("verify needs positive weights where kernel='precomputed'.")
    return recompute_pegasos(model, X if is_precomputed else X[rows], y, weight[rows])


def verify_ridge(model: Any, X: Any, y: Any, weight: np.ndarray) -> Any:
    tasks.check_length(X, model.X_fit_.shape[0])
    if y is None or len(y) != X.shape[0]:
        raise ValueError(f"y must have one target for each of {X.shape[0]} rows.")
    if getattr(model, "approximation", None) is not None:
        return recompute_feature_ridge(model, X, y, weight)
    found = recompute_ridge(model, X, y, weight)
    if found.status is not Status.SOLVED_IF_PSD:
        return found
    return replace(found, status=_curvature(model.kernel_, X, np.flatnonzero(weight > 0)))


def verify_eigenvectors(model: Any, X: Any, y: Any, weight: np.ndarray) -> Any:
    tasks.check_length(X, model.X_fit_.shape[0])
    return recompute_eigenvectors(model, X)


def verify_best(model: Any, X: Any, y: Any, weight: np.ndarray) -> Any:
    """Of a search: its best model (`unwrap` has taken it out)."""
    return verify(model.best_estimator_, X, y, weight)


def _total(
    model: Any, X: Any, weight: np.ndarray, found: list[VerifiedCertificate]
) -> VerifiedCertificate:
    """One certificate over all tasks; solved ones depend on the kernel's definiteness."""
    if any(task.status is Status.SOLVED for task in found):
        status = _curvature(model.kernel_, X, np.flatnonzero(weight > 0))
        found = [
            replace(task, status=status) if task.status is Status.SOLVED else task for task in found
        ]
    return total_certificate(found)


def _curvature(kernel: Any, X: Any, rows: np.ndarray) -> Status:
    """What satisfied KKT conditions show: an optimum only where K is positive semidefinite.

    Cholesky's factor of K + δI exists in floating point only if λ_min(K) ≥ −2δ, for δ = 2n u tr K
    (Higham, Accuracy and Stability of Numerical Algorithms, theorem 10.7).
    """
    if kernel.is_psd:
        return Status.SOLVED
    if len(rows) > SETTINGS.factored_rows:
        return Status.SOLVED_IF_PSD
    K = kernel_matrix(kernel, X, rows)
    K = (K + K.T) / 2
    n = len(rows)
    delta = 4 * (n + 2) * EPS * float(np.abs(np.diagonal(K)).sum())
    try:
        np.linalg.cholesky(K + delta * np.eye(n))
        return Status.SOLVED
    except np.linalg.LinAlgError:
        least = float(np.linalg.eigvalsh(K)[0])
        return Status.NOT_PSD if least < -10 * delta else Status.SOLVED_IF_PSD
