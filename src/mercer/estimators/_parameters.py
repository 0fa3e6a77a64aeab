"""What parameters may be, and the kernel that they mean."""

from __future__ import annotations

from functools import partial
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils._param_validation import HasMethods, Hidden, Interval, StrOptions

from mercer.kernels import Callable, Kernel, as_kernel
from mercer.kernels._registry import KernelNames, kernel_named
from mercer.kernels._user_defined import takes_pairs
from mercer.solvers._registry import NAMES

__all__ = [
    "CONSTRAINTS",
    "SMOOTHING_CONSTRAINTS",
    "common",
    "constraints",
    "resolve_gamma",
    "resolve_kernel",
]

ROWS_AT_ONCE = 4096
# A variance below this multiple of the largest squared entry is the rounding of equal entries.
CONSTANT = 16 * float(np.finfo(np.float64).eps) ** 2

# The default's kind first: constraints are tried in turn, in every fit.
CONSTRAINTS: dict[str, list] = {
    "kernel": [StrOptions(KernelNames()), callable, Kernel],
    "degree": [Interval(Integral, 0, None, closed="left")],
    "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0.0, None, closed="left")],
    "coef0": [Interval(Real, None, None, closed="neither")],
    "tol": [Interval(Real, 0.0, None, closed="neither")],
    "C": [Interval(Real, 0.0, None, closed="right")],
    "nu": [Interval(Real, 0.0, 1.0, closed="right")],
    "epsilon": [Interval(Real, 0.0, None, closed="left")],
    "shrinking": ["boolean"],
    "probability": ["boolean", Hidden(StrOptions({"deprecated"}))],
    "cache_size": [Interval(Real, 0, None, closed="neither")],
    "class_weight": [None, StrOptions({"balanced"}), dict],
    "verbose": ["verbose"],
    "max_iter": [Interval(Integral, -1, None, closed="left")],
    "decision_function_shape": [StrOptions({"ovr", "ovo"})],
    "break_ties": ["boolean"],
    "random_state": ["random_state"],
    "solver": [StrOptions({"auto", *NAMES}), HasMethods(["solve", "refuses"])],
    "time_limit": [None, Interval(Real, 0.0, None, closed="left")],
    "n_jobs": [
        None,
        Interval(Integral, None, -1, closed="right"),
        Interval(Integral, 1, None, closed="left"),
    ],
    "callback": [None, callable],
    "on_interrupt": [StrOptions({"raise", "return"})],
    "warm_start": ["boolean"],
    "fit_intercept": ["boolean"],
    "gap_tol": [None, Interval(Real, 0.0, None, closed="neither")],
    "loss": [StrOptions({"hinge", "squared_hinge"})],
}


# Kernel ridge and PCA have scikit-learn's defaults of their own.
SMOOTHING_CONSTRAINTS: dict[str, list] = {
    **{
        name: CONSTRAINTS[name]
        for name in (
            "kernel", "degree", "coef0", "cache_size", "verbose", "time_limit", "n_jobs",
            "callback", "on_interrupt",
        )
    },
    "gamma": [None, Interval(Real, 0.0, None, closed="left")],
    "kernel_params": [None, dict],
}  # fmt: skip


def constraints(*without: str) -> dict[str, list]:
    """The checks of an estimator that has all parameters but these."""
    return {name: allowed for name, allowed in CONSTRAINTS.items() if name not in without}


def common(*names: str) -> dict[str, list]:
    """The checks of the kernel's parameters and of these."""
    return {name: CONSTRAINTS[name] for name in ("kernel", "degree", "gamma", "coef0", *names)}


def resolve_kernel(estimator: Any, X: Any, weight: np.ndarray | None) -> tuple[Kernel, float]:
    """The Kernel that an estimator's parameters mean on these rows, and γ as a number."""
    kernel = estimator.kernel
    if isinstance(kernel, Kernel):
        defaults = estimator._defaults()
        for name in ("gamma", "degree", "coef0"):
            value, default = getattr(estimator, name), defaults[name]
            if value != default:
                raise ValueError(
                    f"{name}={value!r} cannot be combined with the Kernel object "
                    f"kernel={kernel!r}, which has its own parameters; set them there "
                    f"(for example kernel__{name} in a search) and leave {name}={default!r}."
                )
        return kernel, 0.0
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
    if callable(kernel) or "gamma" not in kernel_named(kernel).parameters:
        return as_kernel(kernel, 1.0, estimator.degree, estimator.coef0), 0.0
    gamma = resolve_gamma(estimator.gamma, X, weight)
    return as_kernel(kernel, gamma, estimator.degree, estimator.coef0), gamma


def resolve_gamma(gamma: float | str | None, X: Any, weight: np.ndarray | None) -> float:
    """'scale' is 1 / (d · variance of X), rows counted by weight; 'auto' and None are 1 / d."""
    if gamma is None or gamma == "auto":
        return 1.0 / X.shape[1]
    if gamma != "scale":
        return float(gamma)
    with np.errstate(over="ignore"):  # reported by Kernel.check
        variance = _variance(X, weight)
    is_constant = variance <= CONSTANT * _largest_square(X)
    return 1.0 if is_constant else 1.0 / (X.shape[1] * variance)


def _largest_square(X: Any) -> float:
    largest = float(abs(X).max()) if X.shape[0] and X.shape[1] else 0.0
    return largest * largest


def _variance(X: Any, weight: np.ndarray | None) -> float:
    """Variance of all entries; in slices, so that no second X is made."""
    n, d = X.shape
    if weight is None and n <= ROWS_AT_ONCE and not sp.issparse(X):
        return float(X.var(dtype=np.float64))
    w = np.ones(n) if weight is None else weight / weight.max()  # equal weights count as none
    total = d * w.sum()
    if sp.issparse(X):
        values = X.data.astype(np.float64)
        per_entry = np.repeat(w, np.diff(X.indptr))
        return float((per_entry * values**2).sum() / total - ((per_entry @ values) / total) ** 2)
    slices = [slice(start, start + ROWS_AT_ONCE) for start in range(0, n, ROWS_AT_ONCE)]
    mean = sum(w[s] @ X[s].sum(axis=1, dtype=np.float64) for s in slices) / total
    squares = 0.0
    for s in slices:
        difference = np.subtract(X[s], mean, dtype=np.float64)
        squares += w[s] @ np.einsum("ij,ij->i", difference, difference)
    return float(squares / total)
