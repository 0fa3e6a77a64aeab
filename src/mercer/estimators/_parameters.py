"""What parameters may be, and the kernel that they mean."""

from __future__ import annotations

from difflib import get_close_matches
from functools import partial
from numbers import Integral, Real
from os import PathLike
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import (
    HasMethods,
    Hidden,
    Interval,
    InvalidParameterError,
    StrOptions,
)

from mercer.kernels import Callable, Kernel
from mercer.kernels._binding import kernel_of
from mercer.kernels._registry import KernelNames
from mercer.kernels._user_defined import depends_on_the_set, takes_pairs
from mercer.solvers._registry import SolverNames

__all__ = ["CONSTRAINTS", "COUNT", "NOT_NEGATIVE", "POSITIVE", "refuse_as_kernel", "resolve_kernel"]

COUNT = Interval(Integral, 1, None, closed="left")
NOT_NEGATIVE = Interval(Real, 0.0, None, closed="left")
POSITIVE = Interval(Real, 0.0, None, closed="neither")

# The default's kind first: constraints are tried in turn, in every fit.
CONSTRAINTS: dict[str, list] = {
    "kernel": [StrOptions(KernelNames()), callable, Kernel],
    "degree": [Interval(Integral, 0, None, closed="left")],
    "gamma": [StrOptions({"scale", "auto"}), NOT_NEGATIVE],
    "coef0": [Interval(Real, None, None, closed="neither")],
    "tol": [POSITIVE],
    "C": [Interval(Real, 0.0, None, closed="right")],
    "nu": [Interval(Real, 0.0, 1.0, closed="right")],
    "epsilon": [NOT_NEGATIVE],
    "shrinking": ["boolean"],
    "probability": [
        "boolean",
        StrOptions({"platt", "isotonic", "venn_abers"}),
        Hidden(StrOptions({"deprecated"})),
    ],
    "cache_size": [POSITIVE],
    "class_weight": [None, StrOptions({"balanced"}), dict],
    "verbose": ["verbose"],
    "max_iter": [Interval(Integral, -1, None, closed="left")],
    "decision_function_shape": [StrOptions({"ovr", "ovo"})],
    "break_ties": ["boolean"],
    "random_state": ["random_state"],
    "solver": [StrOptions(SolverNames()), HasMethods(["solve", "refuses"])],
    "time_limit": [None, NOT_NEGATIVE],
    "n_jobs": [None, Interval(Integral, None, -1, closed="right"), COUNT],
    "callback": [None, callable],
    "on_interrupt": [StrOptions({"raise", "return"})],
    "warm_start": ["boolean"],
    "fit_intercept": ["boolean"],
    "checkpoint": [None, str, PathLike],
    "gap_tol": [None, POSITIVE],
    "approximation": [None, StrOptions({"nystroem", "fourier", "sketch"})],
    "n_components": [COUNT],
    "loss": [StrOptions({"hinge", "squared_hinge"})],
}


def refuse_as_kernel(name: str, kernel: Any) -> None:
    """Say what to write instead of an estimator, a class or a list given as ``kernel``."""
    if isinstance(kernel, type):
        remedy = f"{kernel.__name__} is a class: give an object of it, such as {kernel.__name__}()."
    elif isinstance(kernel, BaseEstimator):
        made = type(kernel).__name__
        learns = hasattr(kernel, "kernels")  # MKL
        remedy = (
            f"{made} is an estimator, which is fitted itself: {made}(kernels, {name}(…)).fit(X, y)."
            if learns and name in ("SVC", "SVR")
            else f"{made} is an estimator; after its fit its kernel_ is a Kernel."
        )
    elif isinstance(kernel, (list, tuple)):
        remedy = "One kernel is needed: add them, k + l, or let MKL learn their weights."
    elif isinstance(kernel, str) and kernel == "additive_chi2":  # a name of scikit-learn's
        remedy = "It has k(x, x) = 0 and is not positive semidefinite. Use kernel='chi2'."
    elif isinstance(kernel, str) and kernel not in KernelNames():
        near = get_close_matches(kernel, list(KernelNames()), 1)
        remedy = f"Did you mean {near[0]!r}?" if near else ""
    else:
        return
    allowed = "a Kernel, a callable or the name of a kernel"
    if isinstance(kernel, str):
        allowed = f"a Kernel, a callable or a str among {list(KernelNames())}"
    raise InvalidParameterError(
        f"The 'kernel' parameter of {name} must be {allowed}. Got {kernel!r} instead. {remedy}"
    )


def resolve_kernel(estimator: Any, X: Any, weight: np.ndarray | None) -> tuple[Kernel, float]:
    """The Kernel that an estimator's parameters mean on these rows, and γ as a number."""
    kernel = estimator.kernel
    if isinstance(kernel, Kernel):
        defaults = estimator._defaults()
        for name in ("gamma", "degree", "coef0"):
            value = getattr(estimator, name)
            default = defaults.get(name, value)
            if value != default:
                raise ValueError(
                    f"{name}={value!r} cannot be combined with the Kernel object "
                    f"kernel={kernel!r}, which has its own parameters; set them there "
                    f"(for example kernel__{name} in a search) and leave {name}={default!r}."
                )
        return kernel.resolved(X), 0.0
    params = getattr(estimator, "kernel_params", None)
    if params:
        if not callable(kernel):
            raise ValueError(
                f"kernel_params={params!r} are arguments of a kernel function, but kernel="
                f"{kernel!r} is a name: use gamma, degree and coef0."
            )
        kernel = partial(kernel, **params)
    # Where scikit-learn has kernel_params, its kernel functions take two rows.
    if callable(kernel) and hasattr(estimator, "kernel_params") and takes_pairs(kernel, X):
        return Callable(kernel, on_pairs=True), 0.0
    if callable(kernel) and depends_on_the_set(kernel, X):
        return Callable(kernel, on_whole_set=True), 0.0
    how = estimator.gamma, estimator.degree, estimator.coef0
    made, number = kernel_of(kernel, X, weight, *how)
    return made.resolved(X), number
