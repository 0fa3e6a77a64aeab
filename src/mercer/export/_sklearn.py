"""Fitted models as scikit-learn's estimators of the same name, and back.

Both libraries keep the same coefficients; what differs are private attributes that scikit-learn's
compiled code reads (`_intercept_`, `_dual_coef_` with LIBSVM's signs) and the objects that Mercer
predicts with (`kernel_`, `expansion_`). Nothing is fitted in between.
"""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from mercer._expansion import Expansion
from mercer._multiclass import block_outputs
from mercer.estimators._registry import ESTIMATORS
from mercer.estimators.linear._logistic_regression import several_classes
from mercer.kernels import Kernel, as_kernel
from mercer.kernels._registry import kernel_entry
from mercer.kernels._samples import Samples

__all__ = ["TWINS", "from_sklearn", "to_sklearn"]

# Estimators that scikit-learn has under the same name, and the module there.
TWINS = {
    **dict.fromkeys(("SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM"), "svm"),
    **dict.fromkeys(("LinearSVC", "LinearSVR"), "svm"),
    "LogisticRegression": "linear_model",
    "KernelRidge": "kernel_ridge",
    "KernelPCA": "decomposition",
    "Nystroem": "kernel_approximation",
}
_KERNEL_SVMS = ("SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM")
_LINEAR = ("LinearSVC", "LinearSVR", "LogisticRegression")
_KERNEL_NAMES = ("linear", "poly", "rbf", "sigmoid", "laplacian", "cosine", "chi2", "precomputed")
_COMMON = ("n_features_in_", "feature_names_in_", "classes_", "class_weight_", "n_iter_")


def to_sklearn(model: Any) -> Any:
    """A fitted model as scikit-learn's estimator of the same name.

    Parameters
    ----------
    model : SVC, NuSVC, SVR, NuSVR, OneClassSVM, LinearSVC, LinearSVR, LogisticRegression, \
KernelRidge, KernelPCA or Nystroem
        Fitted. Parameters that scikit-learn does not have (solver, loss of kernel machines, limits)
        are left out. Kernels that scikit-learn has no name for become its callables, in kernel SVMs
        only.

    Returns
    -------
    estimator
        Its decision values, predictions and features are those of ``model`` up to rounding;
        probabilities of several classes are coupled by LIBSVM's iteration.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import SVC
    >>> from mercer.export import from_sklearn, to_sklearn
    >>> X, y = np.array([[0.0, 1.0], [0.0, -1.0], [1.0, 2.0]]), [1, -1, 1]
    >>> theirs = to_sklearn(SVC(C=10).fit(X, y))
    >>> type(theirs).__module__
    'sklearn.svm._classes'
    >>> from_sklearn(theirs).predict(X)
    array([ 1, -1,  1])
    """
    check_is_fitted(model)
    name = _name(model, "mercer.")
    if name is None:
        raise TypeError(
            f"scikit-learn has no estimator that is the twin of {type(model).__name__}; there are "
            f"twins of {', '.join(TWINS)}."
        )
    made = _make(_sklearn_class(name), model, _parameters(model, name), ("solver", "penalty"))
    _copy(model, made, _COMMON)
    if name in _LINEAR:
        _to_linear(model, made)
    elif name in _KERNEL_SVMS:
        _to_svm(model, made)
    elif name == "Nystroem":
        _copy(model, made, ("components_", "component_indices_", "normalization_"))
    else:
        _copy(model, made, ("X_fit_", "dual_coef_", "eigenvalues_", "eigenvectors_", "gamma_"))
        if name == "KernelPCA":
            _to_pca(model, made)
    return made


def from_sklearn(model: Any) -> Any:
    """A fitted estimator of scikit-learn as Mercer's of the same name.

    Parameters
    ----------
    model : SVC, NuSVC, SVR, NuSVR, OneClassSVM, LinearSVC, LinearSVR, LogisticRegression, \
KernelRidge, KernelPCA or Nystroem of scikit-learn
        Fitted.

    Returns
    -------
    estimator
        It predicts the same and can be saved, exported and compressed. It has no certificate:
        `mercer.verify` with the training data makes one.
    """
    check_is_fitted(model)
    name = _name(model, "sklearn.")
    if name is None:
        raise TypeError(
            f"Mercer has no estimator that is the twin of {type(model).__module__}."
            f"{type(model).__name__}; there are twins of {', '.join(TWINS)}."
        )
    known = ESTIMATORS[name].load()
    several = {}
    if name == "LogisticRegression":
        several["multi_class"] = several_classes(model)
    made = _make(known, model, several, ("solver", "penalty", "eigen_solver"))
    _copy(model, made, _COMMON)
    if name in _LINEAR:
        _copy(model, made, ("coef_", "intercept_"))
        if name == "LogisticRegression":
            made.class_weight_ = np.ones(len(model.classes_))
        elif name == "LinearSVC":
            made.class_weight_ = getattr(model, "class_weight_", np.ones(len(model.classes_)))
        return made
    made.kernel_, made._gamma = _kernel_from(model, name)
    if name in _KERNEL_SVMS:
        _from_svm(model, made)
    elif name == "Nystroem":
        made.landmarks_, made.support_vectors_ = model.component_indices_, model.components_
        _keep_expansion(made, model.components_, model.normalization_.T, None)
    elif name == "KernelRidge":
        _copy(model, made, ("X_fit_", "dual_coef_"))
        made.alpha_, made._one_target = model.alpha, np.ndim(model.dual_coef_) == 1
        coef = np.atleast_2d(np.asarray(model.dual_coef_).T)
        _keep_expansion(made, model.X_fit_, coef, None)
    else:
        _from_pca(model, made)
    return made


def _name(model: Any, package: str) -> str | None:
    """The name of the first class of a model's bases that has a twin."""
    for cls in type(model).__mro__:
        if cls.__name__ in TWINS and cls.__module__.startswith(package):
            return cls.__name__
    return None


def _sklearn_class(name: str) -> Any:
    from importlib import import_module

    return getattr(import_module(f"sklearn.{TWINS[name]}"), name)


def _make(cls: Any, model: Any, changed: dict[str, Any], other: tuple[str, ...]) -> Any:
    """An estimator with the parameters of another; ``other`` ones mean something else there."""
    known = set(cls._get_param_names()) - {key for key in other if key not in changed}
    given = {**model.get_params(deep=False), **changed}
    with warnings.catch_warnings():  # about parameters that are deprecated
        warnings.simplefilter("ignore")
        return cls(**{key: value for key, value in given.items() if key in known})


def _copy(model: Any, made: Any, names: tuple[str, ...]) -> None:
    for name in names:
        value = getattr(model, name, None)
        if value is not None:
            vars(made)[name] = value


# ---------------------------------------------------------------------- to scikit-learn


def _parameters(model: Any, name: str) -> dict[str, Any]:
    """The kernel by a name and numbers, and what scikit-learn calls otherwise."""
    changed: dict[str, Any] = {"penalty": model.penalty} if name == "LinearSVC" else {}
    if hasattr(model, "probability"):
        is_sigmoid = bool(model._probA.size) and not hasattr(model, "_maps")
        default = inspect.signature(_sklearn_class(name)).parameters["probability"].default
        changed["probability"] = is_sigmoid or default
    is_several = len(getattr(model, "classes_", ())) > 2
    if name == "LogisticRegression" and is_several and model.multi_class == "ovr":
        raise ValueError(
            "scikit-learn's LogisticRegression is a softmax of several classes: fit with "
            "multi_class='multinomial', or take OneVsRestClassifier there."
        )
    if getattr(model, "alpha", None) == "loo":
        changed["alpha"] = model.alpha_
    if name in _LINEAR:
        if getattr(model, "intercept_scaling", 1.0) is None:
            changed["intercept_scaling"] = 1.0  # not used by predictions
        return changed
    entry = kernel_entry(model.kernel_)
    kernel = entry.names[0] if entry is not None and entry.names else None
    is_named = kernel in _KERNEL_NAMES
    if entry is not None and is_named and (name not in _KERNEL_SVMS or entry.libsvm_name):
        numbers = {key: getattr(model.kernel_, key) for key in entry.parameters}
        return changed | {"kernel": kernel, "kernel_params": None, **numbers}
    if name not in _KERNEL_SVMS:
        raise ValueError(
            f"scikit-learn's {name} has the kernels {', '.join(_KERNEL_NAMES)} by name, and no "
            f"{model.kernel_!r}."
        )
    return changed | {"kernel": model.kernel_}


def _to_linear(model: Any, made: Any) -> None:
    made.coef_ = model.coef_.toarray() if sp.issparse(model.coef_) else np.array(model.coef_)
    made.intercept_ = np.array(model.intercept_, dtype=np.float64)


def _to_svm(model: Any, made: Any) -> None:
    """What LIBSVM's code in scikit-learn reads."""
    is_callable = callable(made.kernel)
    sign = -1.0 if len(getattr(model, "classes_", ())) == 2 else 1.0
    vectors = model.support_vectors_
    made._sparse = bool(sp.issparse(vectors)) and not is_callable
    made.shape_fit_ = getattr(model, "shape_fit_", np.shape(vectors))
    made.support_ = np.asarray(getattr(model, "support_", np.arange(vectors.shape[0])), np.int32)
    made.dual_coef_, made.intercept_ = model.dual_coef_, np.array(model.intercept_)
    if is_callable:  # columns of the kernel matrix are the support vectors
        dense = vectors.toarray() if sp.issparse(vectors) else vectors
        made._BaseLibSVM__Xfit, made.shape_fit_ = dense, dense.shape
        made.support_ = np.arange(dense.shape[0], dtype=np.int32)
        vectors = np.empty((0, 0))
    dual = model.dual_coef_
    if sp.issparse(dual) and not made._sparse:
        made.dual_coef_ = dual = dual.toarray()
    made.support_vectors_ = vectors
    if made._sparse:
        # LIBSVM's rows have all entries, also those that are zero.
        full = np.asarray(dual.toarray(), np.float64)
        k, n = full.shape
        indices, indptr = np.tile(np.arange(n), k), np.arange(0, k * n + 1, n)
        dual = sp.csr_matrix((full.ravel(), indices, indptr), shape=full.shape)
    made._dual_coef_ = sign * dual if made._sparse else np.ascontiguousarray(sign * dual)
    made._intercept_ = sign * made.intercept_
    counts = np.asarray(model.n_support_, np.int32)
    made._n_support = np.repeat(counts, 2) if counts.size == 1 else counts  # as LIBSVM's code reads
    made._gamma = float(getattr(made, "gamma", 0.0)) if not isinstance(made.gamma, str) else 0.0
    made.fit_status_ = getattr(model, "fit_status_", 0)
    is_sigmoid = getattr(made, "probability", False) is True
    made._effective_probability = is_sigmoid
    none = np.empty(0)
    made._probA, made._probB = (model._probA, model._probB) if is_sigmoid else (none, none)
    if hasattr(model, "offset_"):
        made.offset_ = np.array(model.offset_)
    if not hasattr(made, "class_weight_"):
        made.class_weight_ = np.empty(0)


def _to_pca(model: Any, made: Any) -> None:
    from sklearn.preprocessing import KernelCenterer

    made._centerer = KernelCenterer().fit(made._get_kernel(model.X_fit_))
    if made.fit_inverse_transform:
        made.fit_inverse_transform = False


# ---------------------------------------------------------------------- from scikit-learn


def _kernel_from(model: Any, name: str) -> tuple[Kernel, float]:
    """The kernel with its parameters as numbers, and γ."""
    d = getattr(model, "n_features_in_", 1)
    gamma = getattr(model, "_gamma", None)
    if gamma is None:
        gamma = model.gamma
    if gamma is None:
        gamma = 1.0 if name == "Nystroem" and model.kernel == "chi2" else 1.0 / d
    degree, coef0 = (3 if model.degree is None else model.degree), model.coef0
    coef0 = 1.0 if coef0 is None else coef0
    return as_kernel(model.kernel, gamma, degree, coef0), float(gamma)


def _from_svm(model: Any, made: Any) -> None:
    vectors, coef = model.support_vectors_, model.dual_coef_
    if callable(model.kernel):
        vectors = model._BaseLibSVM__Xfit[model.support_]
    _copy(model, made, ("support_", "shape_fit_", "fit_status_", "offset_", "dual_coef_"))
    made.intercept_, made.support_vectors_ = np.array(model.intercept_), vectors
    made._n_support = np.asarray(model.n_support_, np.int32)
    coef = coef.toarray() if sp.issparse(coef) else np.array(coef)
    blocks = block_outputs(made._n_support) if hasattr(model, "classes_") else None
    if hasattr(model, "classes_"):
        made._vote_order = np.arange(model.classes_.size)  # LIBSVM's ties
        made._probA, made._probB = model._probA, model._probB
        if made._probA.size:
            made._couples_as_libsvm = "pairs too"
    columns = np.asarray(model.support_) if model.kernel == "precomputed" else None
    made.expansion_ = Expansion(
        made.kernel_, Samples(vectors), coef, made.intercept_, blocks, columns
    )


def _from_pca(model: Any, made: Any) -> None:
    _copy(model, made, ("X_fit_", "eigenvalues_", "eigenvectors_", "gamma_"))
    values, vectors = model.eigenvalues_, model.eigenvectors_
    coef = np.divide(vectors, np.sqrt(values), out=np.zeros_like(vectors), where=values > 0)
    coef -= coef.mean(axis=0)  # columns of sum zero do the centring, but for a constant
    b = -(model._centerer.K_fit_rows_ @ coef)
    _keep_expansion(made, model.X_fit_, np.ascontiguousarray(coef.T), b)


def _keep_expansion(made: Any, rows: Any, coef: np.ndarray, b: np.ndarray | None) -> None:
    columns = np.arange(coef.shape[1]) if made.kernel == "precomputed" else None
    support = Samples(np.empty((0, 0)) if columns is not None else rows)
    b = np.zeros(coef.shape[0]) if b is None else b
    made.expansion_ = Expansion(made.kernel_, support, coef, b, None, columns)
