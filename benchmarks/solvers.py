"""``python -m benchmarks solvers``: solvers by name against other ways to the same accuracy.

Each line is one task. Every method is given looser and tighter settings until its solution is good
enough, scored here from its coefficients; the time is that of the loosest fit that was.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.report import table

__all__ = ["add_command"]

# Solutions within this fraction of the optimum count, exact solvers' and stochastic ones'.
EXACT, STOCHASTIC = 1e-7, 5e-3
TIGHTER = [1e-2, 1e-4, 1e-6, 1e-8, 1e-10]
LONG = 8  # seconds after which no tighter setting is tried
PASSES = [1, 2, 3, 5, 8, 12, 20, 30, 50, 80, 120]


def add_command(commands: Any) -> None:
    parser = commands.add_parser("solvers", help="solvers by name, to the same objective")
    parser.add_argument(
        "--repeat", type=int, default=3, help="fits of each, the fastest counts (3)"
    )
    parser.set_defaults(run=run)


def _data(n: int, d: int, flip: float = 0.1) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    y = np.sign(X[:, 0] * X[:, 1 % d] + X[:, 0] + 0.5 * rng.normal(size=n))
    return X, np.where(rng.random(n) < flip, -y, y)


def _first_good(
    fit: Callable[[Any], Any], settings: Iterable, score: Callable, enough: float, repeat: int
) -> str:
    """Seconds of the first setting whose solution scores at most ``enough``."""
    start = time.perf_counter()
    for setting in settings:
        spent = []
        for _ in range(repeat):
            began = time.perf_counter()
            model = fit(setting)
            spent.append(time.perf_counter() - began)
        if score(model) <= enough:
            return f"{min(spent):.3g}"
        if time.perf_counter() - start > LONG:
            return f"not in {LONG}"
    return "not reached"


def _fit(make: Callable, X: np.ndarray, y: np.ndarray, tol: float) -> Any:
    return make(tol).fit(X, y)


def _primal(X: np.ndarray, y: np.ndarray, C: float) -> Callable:
    """½‖w‖² + CΣξ of a linear model."""

    def score(model: Any) -> float:
        w, b = np.ravel(model.coef_), float(np.ravel(model.intercept_)[0])
        return float(w @ w / 2 + C * np.maximum(0, 1 - y * (X @ w + b)).sum())

    return score


def _kernel_primal(K: np.ndarray, y: np.ndarray, C: float) -> Callable:
    def score(model: Any) -> float:
        beta = np.zeros(len(y))
        beta[model.support_] = model.dual_coef_[0]
        f = K @ beta
        slack = np.maximum(0, 1 - y * (f + model.intercept_[0]))
        return float(beta @ f / 2 + C * slack.sum())

    return score


def _primal_qp(repeat: int) -> list[list[str]]:
    from sklearn.svm import SVC as Peer

    from mercer import SVC

    X, y = _data(5000, 20)
    C = 10.0
    best = SVC(kernel="linear", C=C, tol=1e-9, solver="qp-primal").fit(X, y).certificate_.dual
    enough, score = best * (1 + EXACT), _primal(X, y, C)
    methods: dict[str, Callable] = {
        'mercer "qp-primal"': lambda tol: SVC(kernel="linear", C=C, tol=tol, solver="qp-primal"),
        'mercer "smo"': lambda tol: SVC(kernel="linear", C=C, tol=tol),
        "scikit-learn SVC": lambda tol: Peer(kernel="linear", C=C, tol=tol),
    }
    return [
        ["linear, 5,000×20, C=10", name,
         _first_good(partial(_fit, make, X, y), TIGHTER, score, enough, repeat)]
        for name, make in methods.items()
    ]  # fmt: skip


def _dual_qp(repeat: int) -> list[list[str]]:
    from sklearn.svm import SVC as Peer

    from mercer import SVC
    from mercer.kernels import RBF

    X, y = _data(500, 8)
    C = 1e4
    kernel: dict[str, Any] = {"kernel": "rbf", "gamma": 0.02, "C": C}
    score = _kernel_primal(RBF(gamma=0.02)(X), y, C)
    enough = SVC(tol=1e-9, solver="qp", **kernel).fit(X, y).certificate_.dual * (1 + EXACT)
    methods: dict[str, Callable] = {
        'mercer "qp"': lambda tol: SVC(tol=tol, solver="qp", **kernel),
        'mercer "smo"': lambda tol: SVC(tol=tol, **kernel),
        "scikit-learn SVC": lambda tol: Peer(tol=tol, **kernel),
    }
    return [
        ["RBF, 500×8, C=10,000", name,
         _first_good(partial(_fit, make, X, y), TIGHTER, score, enough, repeat)]
        for name, make in methods.items()
    ]  # fmt: skip


def _without_intercept(repeat: int) -> list[list[str]]:
    from scipy.optimize import minimize
    from sklearn.svm import LinearSVC

    from mercer import SVC
    from mercer.kernels import Linear

    X, y = _data(800, 3000)
    C = 1e-3
    score = _primal(X, y, C)
    common: dict[str, Any] = {"kernel": "linear", "C": C, "fit_intercept": False}
    enough = SVC(tol=1e-9, **common).fit(X, y).certificate_.dual * (1 + EXACT)

    class Quasi:
        """scipy's L-BFGS-B on the same dual."""

        intercept_ = (0.0,)

        def __init__(self, tol: float):
            K = Linear()(X)
            bounds = [(min(0, s), max(0, s)) for s in C * y]

            def dual(beta: np.ndarray) -> tuple[float, np.ndarray]:
                f = K @ beta
                return beta @ f / 2 - y @ beta, f - y

            options = {"gtol": tol, "ftol": 1e-16, "maxiter": 100_000, "maxfun": 10**6}
            found = minimize(
                dual, np.zeros(len(y)), jac=True, bounds=bounds, method="L-BFGS-B", options=options
            )
            self.coef_ = X.T @ found.x

    def mine(solver: str) -> Callable:
        return lambda tol: SVC(tol=tol, solver=solver, **common).fit(X, y)

    def liblinear(tol: float) -> Any:
        model = LinearSVC(C=C, tol=tol, loss="hinge", fit_intercept=False, max_iter=10**6)
        return model.fit(X, y)

    methods: dict[str, Callable] = {
        'mercer "coordinate-ascent"': mine("coordinate-ascent"),
        'mercer "projected-gradient"': mine("projected-gradient"),
        "scikit-learn LinearSVC (LIBLINEAR)": liblinear,
        "scipy L-BFGS-B on the dual": Quasi,
    }
    return [
        ["no intercept, 800×3,000, C=0.001", name,
         _first_good(fit, TIGHTER, score, enough, repeat)]
        for name, fit in methods.items()
    ]  # fmt: skip


def _stochastic(repeat: int) -> list[list[str]]:
    from sklearn.linear_model import SGDClassifier

    from benchmarks.data import load
    from mercer import PegasosClassifier

    data = load("covtype")
    X = data.X[:100_000]
    X = (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
    y = np.where(data.y[:100_000] == 2, 1, -1)
    C = 0.01
    lam = 1 / (len(y) * C)
    common: dict[str, Any] = {"fit_intercept": False, "random_state": 0}
    best = PegasosClassifier(lam=lam, tol=5e-4, max_iter=400, **common).fit(X, y).certificate_
    score, enough = _primal(X, y, C), best.dual * (1 + STOCHASTIC)

    def mine(passes: int) -> Any:
        return PegasosClassifier(lam=lam, tol=1e-9, max_iter=passes, n_jobs=1, **common).fit(X, y)

    def stream(passes: int) -> Any:
        model = PegasosClassifier(lam=lam, **common)
        for _ in range(passes):
            model.partial_fit(X, y, classes=[-1, 1])
        return model

    def sgd(average: bool) -> Callable:
        return lambda passes: SGDClassifier(
            alpha=lam, max_iter=passes, tol=None, average=average, **common
        ).fit(X, y)

    methods: dict[str, Callable] = {
        "mercer PegasosClassifier, certified": mine,
        "mercer PegasosClassifier.partial_fit": stream,
        "scikit-learn SGDClassifier": sgd(False),
        "scikit-learn SGDClassifier, averaged": sgd(True),
    }
    return [
        ["covtype 100,000×54, C=0.01, to 0.5 %", name,
         _first_good(fit, PASSES, score, enough, repeat)]
        for name, fit in methods.items()
    ]  # fmt: skip


def run(options: argparse.Namespace) -> int:
    warnings.simplefilter("ignore")
    rows = []
    for task in (_primal_qp, _dual_qp, _without_intercept, _stochastic):
        rows += task(options.repeat)
    print("Seconds to the same objective (1e-7 of the optimum where not said otherwise)\n")
    print(table(["task", "method", "seconds"], rows))
    return 0
