"""`path`: models along C or γ, each fit started from the last one."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from mercer.certificates._certificate import Certificate
from mercer.estimators.linear._classes import LinearSVC
from mercer.estimators.svm._base import KernelMachine
from mercer.kernels import Kernel

__all__ = ["Path", "path"]


@dataclass(frozen=True, eq=False)
class Path:
    """Fitted models for several C, or several γ.

    Attributes
    ----------
    Cs : ndarray
        In increasing order; along γ the same C for all.
    models : list of estimators
    certificates : list of Certificate
    support : list of int
        How many rows have a dual other than zero.
    gammas : ndarray or None
        Along γ: its values, in increasing order.
    """

    Cs: np.ndarray
    models: list[Any]
    certificates: list[Certificate]
    support: list[int]
    gammas: np.ndarray | None = None


def path(
    X: Any,
    y: Any,
    *,
    Cs: Any = None,
    gammas: Any = None,
    estimator: Any = None,
    sample_weight: Any = None,
) -> Path:
    """Fit a model for every C (or every γ), in increasing order, each from the model before it.

    Parameters
    ----------
    X, y, sample_weight
        As for ``fit``.
    Cs : array-like of positive numbers
    gammas : array-like of positive numbers
        Instead of Cs: the path along γ of a kernel that has one. The rows are bound to the kernel
        anew for each γ.
    estimator : LinearSVC, LinearSVR, LogisticRegression, SVC, NuSVR or SVR, optional
        Its other parameters are kept. Default: ``LinearSVC(loss="hinge",
        intercept_scaling=None)``; along γ ``SVC()``.
        Fits of a kernel machine along C share their Gram.

    Returns
    -------
    Path

    Examples
    --------
    >>> import mercer
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1]
    >>> len(mercer.path(X, y, Cs=[0.1, 1.0, 10.0]).models)
    3
    >>> mercer.path(X, y, gammas=[0.5, 5.0], estimator=mercer.SVC(C=10)).support
    [4, 4]
    """
    if (Cs is None) == (gammas is None):
        raise ValueError("Give Cs or gammas, one of them: the path is along that parameter.")
    along_C = Cs is not None
    values = _increasing("Cs" if along_C else "gammas", Cs if along_C else gammas)
    if estimator is None:
        free = LinearSVC(loss="hinge", intercept_scaling=None)
        estimator = free if along_C else _default_machine()
    if isinstance(estimator, KernelMachine):
        models = _kernel_path(estimator, X, y, sample_weight, "C" if along_C else "gamma", values)
    elif along_C and hasattr(estimator, "_fit_path"):
        models = clone(estimator)._fit_path(X, y, sample_weight, values.tolist())
    else:
        raise TypeError(
            f"path along {'C' if along_C else 'gamma'} takes "
            + ("LinearSVC, LinearSVR, LogisticRegression, " if along_C else "")
            + f"SVC, SVR or NuSVR, got {type(estimator).__name__}."
        )
    certificates = [model.certificate_ for model in models]
    counts = [c.n_support for c in certificates]
    if along_C:
        return Path(values, models, certificates, counts)
    return Path(np.full(values.size, estimator.C), models, certificates, counts, values)


def _default_machine() -> Any:
    from mercer.estimators.svm._svc import SVC

    return SVC()


def _increasing(name: str, values: Any) -> np.ndarray:
    values = np.sort(np.asarray(values, dtype=np.float64).ravel())
    if values.size == 0 or not (values > 0).all() or not np.isfinite(values).all():
        raise ValueError(f"{name} must be positive finite numbers, at least one, got {values!r}.")
    return values


def _kernel_path(
    estimator: Any, X: Any, y: Any, sample_weight: Any, name: str, values: np.ndarray
) -> list[Any]:
    """Along C on one Gram; along γ on one for each."""
    if not hasattr(estimator, "C"):
        raise TypeError(f"{type(estimator).__name__} has no C; path takes SVC, SVR and NuSVR.")
    if estimator.approximation is not None:
        raise ValueError(
            f"path follows exact solutions: approximation={estimator.approximation!r} must be None."
        )
    is_object = isinstance(estimator.kernel, Kernel)
    if name == "gamma" and is_object and "gamma" not in estimator.kernel.get_params():
        raise ValueError(f"kernel={estimator.kernel!r} has no gamma to follow.")
    bound, models, last = None, [], None
    for value in values.tolist():
        model = clone(estimator) if last is None else copy(last)
        model.set_params(**{f"kernel__{name}" if name == "gamma" and is_object else name: value})
        if last is not None:
            model.warm_start = True
            if name == "C" and hasattr(model, "_duals"):  # what is at the bound stays at it
                ratio = value / last.C
                model._duals = replace(model._duals, values=model._duals.values * ratio)
        if bound is None or name == "gamma":
            bound = clone(model).bind(X, y, sample_weight)
        models.append(model.fit_bound(bound))
        model.warm_start = estimator.warm_start
        last = model
    return models
