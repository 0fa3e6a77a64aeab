"""One fit of a linear model in a process of its own, and its score.

A model is judged by (P(w, b) − D) / P, where P is computed from it here, in float64, and D is the
dual value, computed here too, of the duals of a very accurate reference: a lower bound of every
model's P, whoever found it.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import os
import resource
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from benchmarks.linear_cases import LINEAR_CASES
from benchmarks.peers import EARLIER, missing_earlier

__all__ = ["LINEAR_PEERS", "dual_value", "measure", "measure_path", "primal_value", "reference"]

WARM_UP_ROWS = 2_000
UNLIMITED = 10_000_000
REFERENCE_TOL, DEFAULT_TOL = 1e-8, 1e-4
# 20 Cs from 1e-3 to 1e3.
PATH = np.logspace(-3, 3, 20)


@dataclass(frozen=True)
class LinearPeer:
    """``tols`` are given in turn until solutions are good enough; None: the targets themselves."""

    name: str
    package: str
    distribution: str
    build: Callable[[str, float, float], Any]
    tols: tuple[float, ...] | None
    threads: int = os.cpu_count() or 1

    def missing(self) -> str | None:
        if self.name == EARLIER:
            return missing_earlier()
        if importlib.util.find_spec(self.package) is None:
            return f"not installed (pip install {self.distribution})"
        return None


def _mercer(loss: str, C: float, tol: float) -> Any:
    import mercer

    common: dict[str, Any] = {"C": C, "tol": tol, "intercept_scaling": 1.0, "max_iter": -1}
    if loss == "logistic":
        return mercer.LogisticRegression(**common)
    return mercer.LinearSVC(loss=loss, **common)


def _liblinear(loss: str, C: float, tol: float) -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import LinearSVC

    common = {"C": C, "tol": tol, "max_iter": UNLIMITED, "random_state": 0}
    if loss == "logistic":
        return LogisticRegression(solver="liblinear", **common)
    return LinearSVC(loss=loss, dual="auto", **common)


def _snapml(loss: str, C: float, tol: float) -> Any:
    from snapml import LogisticRegression, SupportVectorMachine

    common = {
        "regularizer": 1.0 / C,
        "fit_intercept": True,
        "intercept_scaling": 1.0,
        "tol": tol,
        "max_iter": 100_000,
        "n_jobs": os.cpu_count(),
        "random_state": 0,
    }
    if loss == "logistic":
        return LogisticRegression(**common)
    return SupportVectorMachine(loss=loss, **common)


def _falling(first: float, last: float, per_decade: int) -> tuple[float, ...]:
    steps = round(per_decade * np.log10(first / last))
    return tuple(float(f"{first * 10 ** (-k / per_decade):.2g}") for k in range(steps + 1))


_ALL = [
    LinearPeer("mercer", "mercer", "mercer", _mercer, None),
    LinearPeer(EARLIER, "mercer", "mercer", _mercer, None),
    LinearPeer("liblinear", "sklearn", "scikit-learn", _liblinear, _falling(10.0, 1e-8, 2), 1),
    LinearPeer("snapml", "snapml", "snapml", _snapml, _falling(1e-4, 1e-12, 1)),
]
LINEAR_PEERS = {peer.name: peer for peer in _ALL}


def primal_value(loss: str, X: Any, y: np.ndarray, C: float, w: np.ndarray, b: float) -> float:
    """½‖w‖² + ½b² + C Σ ℓ(y (Xw + b))."""
    margin = y * (X @ w + b)
    if loss == "logistic":
        total = np.logaddexp(0.0, -margin).sum()
    else:
        total = (np.maximum(0.0, 1.0 - margin) ** (2 if loss == "squared_hinge" else 1)).sum()
    return float(w @ w / 2 + b * b / 2 + C * total)


def dual_value(loss: str, X: Any, y: np.ndarray, C: float, beta: np.ndarray) -> float:
    """−Σ ℓ*(−β) − ½‖Xᵀβ‖² − ½(Σβ)², of β put into the dual's domain."""
    alpha = np.maximum(y * beta, 0.0)
    if loss != "squared_hinge":
        alpha = np.minimum(alpha, C)
    beta = y * alpha
    w_beta = X.T @ beta
    if loss == "hinge":
        gain = alpha.sum()
    elif loss == "squared_hinge":
        gain = alpha.sum() - alpha @ alpha / (4 * C)
    else:
        share = alpha / C
        inside = share[(share > 0) & (share < 1)]
        gain = -C * (inside @ np.log(inside) + (1 - inside) @ np.log1p(-inside))
    return float(gain - w_beta @ w_beta / 2 - beta.sum() ** 2 / 2)


def reference(spec: dict[str, Any]) -> dict[str, Any]:
    """A lower bound of every model's value, and how near a model comes to it."""
    case, loss = LINEAR_CASES[spec["case"]], spec["loss"]
    X, y = case.read()
    model = _quiet_fit(_mercer(loss, case.C, REFERENCE_TOL), X, y)
    w, b = model.coef_[0], float(model.intercept_[0])
    if hasattr(model, "dual_coef_"):  # of smooth losses only where they are better than −ℓ'(g)
        beta = model.dual_coef_.toarray()[0]
    else:
        margin = y * (X @ w + b)
        slope = (
            2 * np.maximum(0.0, 1.0 - margin)
            if loss == "squared_hinge"
            else 1 / (1 + np.exp(np.minimum(margin, 700.0)))
        )
        beta = case.C * y * slope
    primal = primal_value(loss, X, y, case.C, w, b)
    return {"bound": dual_value(loss, X, y, case.C, beta), "primal": primal, "shape": X.shape}


def measure(spec: dict[str, Any], timed_fit: Callable) -> dict[str, Any]:
    """Fits with one tol: the best of a few warm ones, and its relative gap."""
    case, loss, peer = LINEAR_CASES[spec["case"]], spec["loss"], LINEAR_PEERS[spec["peer"]]
    X, y = case.read()
    few = np.linspace(0, len(y) - 1, WARM_UP_ROWS).astype(int)
    _quiet_fit(peer.build(loss, case.C, spec["tol"]), X[few], y[few])
    _limit_processor_time(spec["timeout"], peer.threads)
    fits = [timed_fit(peer.build(loss, case.C, spec["tol"]), X, y)]
    if fits[0].seconds <= spec["repeat_below"]:
        fits += [
            timed_fit(peer.build(loss, case.C, spec["tol"]), X, y) for _ in range(spec["repeat"])
        ]
    best = min(fits, key=lambda fit: fit.seconds)
    w = np.ravel(best.model.coef_).astype(np.float64)
    b = float(np.ravel(best.model.intercept_)[0])
    primal = primal_value(loss, X, y, case.C, w, b)
    products = {"products": _products(best.model, X, y)} if peer.name == "mercer" else {}
    return {
        **products,
        "seconds": best.seconds,
        "cpu_seconds": best.cpu_seconds,
        "all_seconds": [fit.seconds for fit in fits],
        "all_cpu_seconds": [fit.cpu_seconds for fit in fits],
        "others_cores": best.others_cores,
        "primal": primal,
        "relative_gap": (primal - spec["bound"]) / primal,
        "iterations": int(np.max(getattr(best.model, "n_iter_", 0))),
        "solver": str(getattr(best.model, "solver_", "")),
        "version": _version(peer),
    }


def _products(model: Any, X: Any, y: np.ndarray) -> float:
    """The rows with a nonzero weight in all XᵀDX of such a fit, divided by the number of rows."""
    from mercer.solvers.linear._design_matrix import LocalMatrix

    gram, used = LocalMatrix.weighted_gram, 0

    def counted(design: Any, D: np.ndarray, *settings: Any) -> np.ndarray:
        nonlocal used
        used += int(np.count_nonzero(D))
        return gram(design, D, *settings)

    LocalMatrix.weighted_gram = counted  # type: ignore[assignment,method-assign]
    try:
        _quiet_fit(clone(model), X, y)
    finally:
        LocalMatrix.weighted_gram = gram  # type: ignore[method-assign]
    return used / len(y)


def _version(peer: LinearPeer) -> str:
    try:
        return importlib.metadata.version(peer.distribution)
    except importlib.metadata.PackageNotFoundError:
        return importlib.import_module(peer.package).__version__


def measure_path(spec: dict[str, Any], timed_fit: Callable) -> dict[str, Any]:
    """Mercer at its default tol: one fit at C = 1, and the path, in turns."""
    import mercer

    X, y = LINEAR_CASES[spec["case"]].read()
    estimator = _mercer(spec["loss"], 1.0, DEFAULT_TOL).set_params(intercept_scaling=None)
    few = np.linspace(0, len(y) - 1, WARM_UP_ROWS).astype(int)
    mercer.path(X[few], y[few], Cs=PATH, estimator=estimator)
    fits, paths = [], []
    for _ in range(spec["repeat"] + 1):
        one = timed_fit(clone(estimator), X, y)
        fits.append(one.seconds)
        began = time.perf_counter()
        found = mercer.path(X, y, Cs=PATH, estimator=estimator)
        paths.append(time.perf_counter() - began)
        others = one.others_cores
    worst = 0.0
    for C, certificate in zip(found.Cs, found.certificates, strict=True):
        assert certificate.status.is_solved, f"C={C}: {certificate.status}"
        worst = max(worst, certificate.relative_gap)
    return {
        "fit_seconds": min(fits),
        "path_seconds": min(paths),
        "all_fit_seconds": fits,
        "all_path_seconds": paths,
        "worst_relative_gap": worst,
        "others_cores": others,
    }


def _limit_processor_time(seconds: float, threads: int) -> None:
    """The system ends this process when it has worked so much longer."""
    most = int(time.process_time() + seconds * threads) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (most, most))


def _quiet_fit(model: Any, X: Any, y: np.ndarray) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y)
