"""From a state to its fitted model: values, duals by KKT group, certificate, progress.

The estimators are Mercer's own with the arguments of `recipe`, which the exported code prints too.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import mercer
from mercer._threads import Workers
from mercer.certificates._certificate import Certificate
from mercer.certificates._trace import Trace
from mercer.estimators._dual_view import KKTGroup
from mercer.exceptions import NotSeparableError
from mercer.gram import BlockedGram
from mercer.kernels import Kernel, as_kernel
from mercer.kernels._samples import Samples
from mercer.playground._catalogue import ESTIMATORS, FORMULA
from mercer.playground._state import State
from mercer.plots._fitted import groups_from_margin, max_over_tasks

__all__ = [
    "Fit",
    "ProgressCurve",
    "fit",
    "kernel_matrix",
    "kernel_of",
    "quiet",
    "recipe",
    "rows_and_targets",
]


@dataclass(frozen=True, eq=False)
class ProgressCurve:
    """A measure of the fit after each of its steps."""

    steps: np.ndarray = field(default_factory=lambda: np.zeros(0))
    values: np.ndarray = field(default_factory=lambda: np.zeros(0))
    unit: str = ""  # what a step is
    measure: str = ""  # what the values are
    is_log: bool = True  # whether these are drawn on a logarithmic axis


@dataclass(frozen=True, eq=False)
class Fit:
    """A model of the points of a state."""

    # Rows to decision values, shape (n,) or (n, outputs); None where there is no model.
    decide: Callable[[np.ndarray], np.ndarray] | None
    alpha: np.ndarray  # |coefficient| of each point, the largest of its tasks; NaN: not known
    group: np.ndarray  # KKTGroup of each point
    b: float = 0.0
    certificate: Any = None
    progress: ProgressCurve = field(default_factory=ProgressCurve)
    model: Any = None
    # That no hyperplane separates the classes: weights under which a point is in both hulls.
    proof: np.ndarray | None = None
    beta: np.ndarray | None = None  # signed coefficients of a box QP of one task
    seconds: float = 0.0  # of the estimator's own fit; 0: there was none


@contextmanager
def quiet() -> Iterator[None]:
    """Without warnings: the explanation says the same of the picture."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def kernel_of(state: State) -> Kernel:
    """The kernel as a value."""
    if state.kernel == FORMULA:
        return state.written_kernel()[0]
    with quiet():
        return as_kernel(state.kernel, state.gamma, state.degree, state.coef0)


def rows_and_targets(state: State) -> tuple[np.ndarray, np.ndarray]:
    """What the estimator is fitted on; of a curve the second coordinate is the target."""
    X = state.X
    if ESTIMATORS[state.machine].kind == "curve":
        return X[:, :1], X[:, 1]
    return X, state.labels


def kernel_matrix(state: State) -> np.ndarray:
    """K of the state's points, whole."""
    return BlockedGram(kernel_of(state), Samples(rows_and_targets(state)[0]), Workers(1)).matrix()


def recipe(state: State) -> tuple[str, dict[str, Any]]:
    """The name of the estimator and its arguments."""
    option = ESTIMATORS[state.machine]
    is_written = state.kernel == FORMULA
    arguments: dict[str, Any] = {"kernel": kernel_of(state) if is_written else state.kernel}
    arguments |= {name: getattr(state, name) for name in option.parameters}
    if "clusters" in arguments:
        arguments["n_clusters"] = arguments.pop("clusters")
    if not is_written:
        arguments |= {name: getattr(state, name) for name in state.kernel_parameters}
    if state.machine == "svc" and np.unique(state.labels).size > 2:
        arguments["decision_function_shape"] = "ovo"
    return option.estimator, {**arguments, **dict(option.constants)}


def fit(state: State) -> Fit:
    """The estimator of a state, fitted; there must be points enough for it."""
    name, arguments = recipe(state)
    with quiet():
        return _FITS[state.machine](
            state, getattr(mercer, name), arguments, *rows_and_targets(state)
        )


def _timed(model: Any, *data: np.ndarray) -> tuple[Any, float]:
    """The model, fitted, and the seconds that took."""
    began = time.perf_counter()
    return model.fit(*data), time.perf_counter() - began


def _of(model: Any, alpha: Any, group: Any, progress: ProgressCurve, **more: Any) -> Fit:
    """A model with an intercept."""
    ask = "predict" if isinstance(model, mercer.SVR) else "decision_function"
    b, certificate = float(model.intercept_[0]), getattr(model, "certificate_", None)
    return Fit(getattr(model, ask), alpha, group, b, certificate, progress, model, **more)


# ------------------------------------------------------------------ one function for each estimator


def _fit_svm(state: State, make: Any, arguments: dict, X: np.ndarray, y: np.ndarray) -> Fit:
    try:
        model, seconds = _timed(make(**arguments), X, y)
    except NotSeparableError as error:
        none = np.zeros(X.shape[0])
        return Fit(None, none, none.astype(int), proof=error.weights)
    tasks = model.dual_view(X, y)
    group, alpha = max_over_tasks(tasks, y.size)
    progress = _gaps(make, arguments, X, y, model.certificate_)
    beta = tasks[0].beta if len(tasks) == 1 else None
    return _of(model, alpha, group, progress, beta=beta, seconds=seconds)


def _gaps(
    make: Any, arguments: dict, X: np.ndarray, y: np.ndarray, end: Certificate
) -> ProgressCurve:
    """The relative gap during a second fit, recorded; ``end`` is the certificate of the first.

    With several tasks it is the largest of theirs, once each has been recorded.
    """
    trace, latest, found = Trace(), {}, []
    with suppress(NotSeparableError):
        make(callback=trace, **arguments).fit(X, y)
    for point in trace.points:
        latest[point.task] = point
        if len(latest) == max(1, len(end.tasks)):
            steps = sum(each.iterations for each in latest.values())
            found.append((steps, max(each.relative_gap for each in latest.values())))
    return _ending_at(end, found, "pair steps")


def _ending_at(end: Certificate, found: list[tuple[int, float]], unit: str) -> ProgressCurve:
    found = [(steps, gap) for steps, gap in found if steps < end.iterations]
    steps, gaps = zip(*found, (end.iterations, end.relative_gap), strict=True)
    return ProgressCurve(np.array(steps), np.minimum(gaps, 1.0), unit, "relative gap")


def _fit_pegasos(state: State, make: Any, arguments: dict, X: np.ndarray, y: np.ndarray) -> Fit:
    model, seconds = _timed(make(**arguments), X, y)
    passes = [2**k for k in range(8) if 2**k < model.n_iter_]
    early = [make(**{**arguments, "max_iter": most}).fit(X, y).certificate_ for most in passes]
    found = [(each.iterations, each.relative_gap) for each in early]
    progress = _ending_at(model.certificate_, found, "examples")
    # It keeps no duals: groups are those of the margins, to the accuracy that Pegasos has.
    group, alpha = np.full(y.size, KKTGroup.ZERO), np.zeros(y.size)
    tasks = model.dual_view(X, y)
    if len(tasks) == 1:
        group = groups_from_margin(tasks[0].position - 1, tolerance=0.05)
        alpha = np.select([group == KKTGroup.BOUND, group == KKTGroup.FREE], [state.C, np.nan], 0.0)
    return _of(model, alpha, group, progress, seconds=seconds)


def _fit_perceptron(state: State, make: Any, arguments: dict, X: np.ndarray, y: np.ndarray) -> Fit:
    model, seconds = _timed(make(**arguments), X, y)
    n, survival = X.shape[0], model.survival_[0]
    alpha = np.zeros(n)
    alpha[model.support_] = np.abs(model.dual_coef_).max(axis=0)
    group = np.where(alpha > 0, KKTGroup.FREE, KKTGroup.ZERO)
    total = n * model.n_iter_ if len(model.survival_) == 1 else int(survival.sum())
    visits = total - np.cumsum(survival[::-1])[::-1]
    mistakes = np.bincount(visits // n, minlength=model.n_iter_)
    epochs = np.arange(1, mistakes.size + 1)
    progress = ProgressCurve(epochs, mistakes, "epochs", "mistakes", is_log=False)
    unfinished = np.isinf(model.mistake_bound_).any() and model.classes_.size == 2
    is_open = unfinished and model.kernel_.is_psd
    proof = _inseparable(arguments, X, y) if is_open else None
    return _of(model, alpha, group, progress, proof=proof, seconds=seconds)


def _inseparable(
    arguments: dict, X: np.ndarray, y: np.ndarray, max_iter: int = 20_000
) -> np.ndarray | None:
    """The proof that no hyperplane separates the classes, if a hard margin finds one."""
    names = ("kernel", "gamma", "degree", "coef0")
    kernel = {name: arguments[name] for name in names if name in arguments}
    try:
        mercer.SVC(C=np.inf, max_iter=max_iter, **kernel).fit(X, y)
    except NotSeparableError as error:
        return error.weights
    return None


def _fit_logistic(state: State, make: Any, arguments: dict, X: np.ndarray, y: np.ndarray) -> Fit:
    trace = Trace(share=0.0, free_seconds=-1.0)  # its own measure, a gap, is enough
    model, seconds = _timed(make(callback=trace, **arguments), X, y)
    group, alpha = max_over_tasks(model.dual_view(X, y), y.size)
    _, steps, gaps = np.array(trace.violation).reshape(-1, 3).T
    progress = ProgressCurve(steps, np.minimum(gaps, 1.0), "products with K", "relative gap")
    return _of(model, alpha, group, progress, seconds=seconds)


def _fit_kmeans(state: State, make: Any, arguments: dict, X: np.ndarray, y: np.ndarray) -> Fit:
    model, seconds = _timed(make(**arguments), X)
    inertia = np.array(model.inertias_)
    steps, none = np.arange(inertia.size), np.zeros(X.shape[0])
    progress = ProgressCurve(steps, inertia, "iterations", "objective", is_log=False)
    return Fit(
        lambda rows: -(model.transform(rows) ** 2),
        none,
        none.astype(int),
        progress=progress,
        model=model,
        seconds=seconds,
    )


def _fit_ridge(state: State, make: Any, arguments: dict, X: np.ndarray, y: np.ndarray) -> Fit:
    model, seconds = _timed(make(**arguments), X, y)
    alpha = np.abs(model.dual_coef_)
    group = np.full(alpha.size, KKTGroup.FREE)
    certificate = model.certificate_
    return Fit(model.predict, alpha, group, certificate=certificate, model=model, seconds=seconds)


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
