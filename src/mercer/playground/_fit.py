"""From a state to its fitted machine: values, coefficients by KKT group, certificate, trace.

The estimators are Mercer's own with the arguments of `recipe`, which the exported code prints too.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import mercer
from mercer._threads import Workers
from mercer.certificates._certificate import BOUND, FREE, ZERO
from mercer.exceptions import NotSeparableError
from mercer.gram import BlockedGram
from mercer.kernels import Kernel, as_kernel
from mercer.kernels._samples import Samples
from mercer.playground._catalogue import KERNELS, MACHINES
from mercer.playground._state import State
from mercer.plots._gap import Trace as Looks

__all__ = ["Fit", "Trace", "fit", "kernel_matrix", "kernel_of", "quiet", "recipe",
           "rows_and_targets"]  # fmt: skip

# Pair steps that are spent on a proof that the perceptron cannot end.
PROOF_STEPS = 20_000
# Pegasos ends near the optimum: so near to the edge of the margin a point counts as on it.
NEAR = 0.05


@dataclass(frozen=True, eq=False)
class Trace:
    """How the machine got there.

    Attributes
    ----------
    steps, values : arrays
    unit, measure : str
        What a step is, and what is measured.
    is_log : bool
    """

    steps: np.ndarray = field(default_factory=lambda: np.zeros(0))
    values: np.ndarray = field(default_factory=lambda: np.zeros(0))
    unit: str = ""
    measure: str = ""
    is_log: bool = True


@dataclass(frozen=True, eq=False)
class Fit:
    """A machine at work on the points of a state.

    Attributes
    ----------
    decide : callable or None
        Rows to decision values, shape (n,) or (n, outputs); None where there is no model.
    alpha : float64 array
        |coefficient| of each point, the largest of several tasks'.
    group : int array
        ZERO, FREE or BOUND.
    b : float
    certificate : Certificate, RidgeCertificate or None
    trace : Trace
    model : estimator or None
    proof : float64 array or None
        That no hyperplane separates the classes: weights under which a point is in both hulls.
    """

    decide: Callable[[np.ndarray], np.ndarray] | None
    alpha: np.ndarray
    group: np.ndarray
    b: float = 0.0
    certificate: Any = None
    trace: Trace = field(default_factory=Trace)
    model: Any = None
    proof: np.ndarray | None = None


@contextmanager
def quiet():
    """Warnings are the why panel's business here: it says the same of the picture."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def kernel_of(state: State) -> Kernel:
    """The kernel as a value."""
    with quiet():
        return as_kernel(state.kernel, state.gamma, state.degree, state.coef0)


def rows_and_targets(state: State) -> tuple[np.ndarray, np.ndarray]:
    """What the estimator is fitted on: a curve has one column, and the other is its target."""
    X = state.X
    if MACHINES[state.machine].kind == "curve":
        return X[:, :1], X[:, 1]
    return X, state.labels


def kernel_matrix(state: State) -> np.ndarray:
    """K of the state's points, whole."""
    return BlockedGram(kernel_of(state), Samples(rows_and_targets(state)[0]), Workers(1)).matrix()


def recipe(state: State) -> tuple[str, dict[str, Any]]:
    """The name of the estimator and its arguments."""
    machine = MACHINES[state.machine]
    arguments: dict[str, Any] = {"kernel": state.kernel}
    arguments |= {name: getattr(state, name) for name in machine.parameters}
    if "clusters" in arguments:
        arguments["n_clusters"] = arguments.pop("clusters")
    arguments |= {name: getattr(state, name) for name in KERNELS[state.kernel].parameters}
    if state.machine == "svc" and np.unique(state.labels).size > 2:
        arguments["decision_function_shape"] = "ovo"
    return machine.estimator, {**arguments, **dict(machine.constants)}


def fit(state: State) -> Fit:
    """The state's machine, fitted; the state must have points enough for it."""
    name, arguments = recipe(state)
    X, y = rows_and_targets(state)
    make = getattr(mercer, name)
    with quiet():
        return _FITS[state.machine](state, make, arguments, X, y)


# ------------------------------------------------------------------ one way of fitting each


def _fit_svm(state: State, make: Any, arguments: dict, X: np.ndarray, y: np.ndarray) -> Fit:
    try:
        model = make(**arguments).fit(X, y)
    except NotSeparableError as error:
        none = np.zeros(X.shape[0])
        return Fit(None, none, none.astype(int), proof=error.weights)
    alpha, group = _groups(model, X.shape[0], 1.0 if state.machine == "oneclass" else state.C)
    decide = model.predict if state.machine == "svr" else model.decision_function
    trace = _watch(make, arguments, X, y, model.certificate_)
    b = float(model.intercept_[0])
    return Fit(decide, alpha, group, b, model.certificate_, trace, model)


def _groups(model: Any, n: int, bound: float) -> tuple[np.ndarray, np.ndarray]:
    size = np.abs(model.dual_coef_)
    alpha, group = np.zeros(n), np.full(n, ZERO)
    alpha[model.support_] = size.max(axis=0)
    # A point of several tasks is at its bound if it is so in one of them.
    group[model.support_] = np.where((size >= bound).any(axis=0), BOUND, FREE)
    return alpha, group


def _watch(make: Any, arguments: dict, X: np.ndarray, y: np.ndarray, end: Any) -> Trace:
    """The relative gap on the way to the certificate ``end``: a second fit that is looked at.

    With several tasks it is the largest of theirs, once each has been seen.
    """
    looks, latest, found = Looks(), {}, []
    with suppress(NotSeparableError):
        make(callback=looks, **arguments).fit(X, y)
    for look in looks.points:
        latest[look.task] = look
        if len(latest) == max(1, len(end.tasks)):
            steps = sum(each.iterations for each in latest.values())
            found.append((steps, max(each.relative_gap for each in latest.values())))
    return _ending_at(end, found, "pair steps")


def _ending_at(end: Any, found: list[tuple[int, float]], unit: str) -> Trace:
    found = [(steps, gap) for steps, gap in found if steps < end.iterations]
    steps, gaps = zip(*found, (end.iterations, end.relative_gap), strict=True)
    return Trace(np.array(steps), np.minimum(gaps, 1.0), unit, "relative gap")


def _fit_pegasos(state: State, make: Any, arguments: dict, X: np.ndarray, y: np.ndarray) -> Fit:
    model = make(**arguments).fit(X, y)
    passes = [2**k for k in range(8) if 2**k < model.n_iter_]
    early = [make(**{**arguments, "max_iter": most}).fit(X, y).certificate_ for most in passes]
    found = [(each.iterations, each.relative_gap) for each in early]
    trace = _ending_at(model.certificate_, found, "examples")
    # Its own duals are no part of the model; KKT tells them from where a point lies.
    values = model.decision_function(X)
    is_two = values.ndim == 1
    group = np.full(y.size, ZERO)
    if is_two:
        edge = np.where(y == model.classes_[1], 1.0, -1.0) * values
        group = np.select([edge < 1 - NEAR, edge <= 1 + NEAR], [BOUND, FREE], ZERO)
    alpha = np.where(group == BOUND, state.C, np.where(group == FREE, np.nan, 0.0))
    return Fit(
        model.decision_function, alpha, group, float(model.intercept_[0]), model.certificate_,
        trace, model,
    )  # fmt: skip


def _fit_perceptron(state: State, make: Any, arguments: dict, X: np.ndarray, y: np.ndarray) -> Fit:
    model = make(**arguments).fit(X, y)
    alpha, group = _groups(model, X.shape[0], np.inf)
    n, survival = X.shape[0], model.survival_[0]
    total = n * model.n_iter_ if len(model.survival_) == 1 else int(survival.sum())
    visits = total - np.cumsum(survival[::-1])[::-1]
    mistakes = np.bincount(visits // n, minlength=model.n_iter_)
    trace = Trace(np.arange(1, mistakes.size + 1), mistakes, "epochs", "mistakes", is_log=False)
    b = float(model.intercept_[0])
    proof = None
    unfinished = np.isinf(model.mistake_bound_).any() and model.classes_.size == 2
    if unfinished and model.kernel_.is_psd:
        proof = _inseparable(arguments, X, y)
    return Fit(model.decision_function, alpha, group, b, None, trace, model, proof)


def _inseparable(arguments: dict, X: np.ndarray, y: np.ndarray) -> np.ndarray | None:
    """The proof that no hyperplane separates the classes, if there is one: a hard margin's."""
    kernel = {name: arguments[name] for name in ("kernel", "gamma", "degree", "coef0")
              if name in arguments}  # fmt: skip
    try:
        mercer.SVC(C=np.inf, max_iter=PROOF_STEPS, **kernel).fit(X, y)
    except NotSeparableError as error:
        return error.weights
    return None


def _fit_logistic(state: State, make: Any, arguments: dict, X: np.ndarray, y: np.ndarray) -> Fit:
    seen: list[tuple[float, float]] = []
    told = lambda progress: seen.append((progress.iterations, progress.violation))  # noqa: E731
    model = make(callback=told, **arguments).fit(X, y)
    alpha, group = _groups(model, y.size, np.inf)
    steps, gaps = np.array(seen).T if seen else (np.zeros(0), np.zeros(0))
    trace = Trace(steps, np.minimum(gaps, 1.0), "products with K", "relative gap")
    b = float(model.intercept_[0])
    return Fit(model.decision_function, alpha, group, b, model.certificate_, trace, model)


def _fit_kmeans(state: State, make: Any, arguments: dict, X: np.ndarray, y: np.ndarray) -> Fit:
    model = make(**arguments).fit(X)
    inertia = np.array(model.inertias_)
    trace = Trace(np.arange(inertia.size), inertia, "iterations", "objective", is_log=False)
    none = np.zeros(X.shape[0])
    return Fit(
        lambda rows: -(model.transform(rows) ** 2), none, none.astype(int), 0.0, None, trace, model
    )


def _fit_ridge(state: State, make: Any, arguments: dict, X: np.ndarray, y: np.ndarray) -> Fit:
    model = make(**arguments).fit(X, y)
    alpha = np.abs(model.dual_coef_)
    return Fit(
        model.predict, alpha, np.full(alpha.size, FREE), 0.0, model.certificate_, Trace(), model
    )


_FITS: dict[str, Callable[..., Fit]] = {
    "svc": _fit_svm,
    "svr": _fit_svm,
    "oneclass": _fit_svm,
    "pegasos": _fit_pegasos,
    "perceptron": _fit_perceptron,
    "logistic": _fit_logistic,
    "kmeans": _fit_kmeans,
    "ridge": _fit_ridge,
}
