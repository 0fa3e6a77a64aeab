"""``python -m benchmarks learners``: k-means, perceptron and logistic regression in feature space.

Every solution is scored here, in float64, from labels or decision values alone. A peer that is not
installed is left out.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.data import load
from benchmarks.report import table

__all__ = ["add_command", "clusters", "logistic", "perceptron"]

Row = list[str]


def add_command(commands: Any) -> None:
    parser = commands.add_parser("learners", help="kernel k-means, perceptron, logistic regression")
    parser.add_argument("--repeat", type=int, default=3, help="fits of each; the best counts (3)")
    parser.add_argument("--only", choices=list(TASKS), help="one of the three")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    warnings.simplefilter("ignore")
    for name, task in TASKS.items():
        if options.only in (None, name):
            print(f"{name}\n")
            print(
                table(["task", "who", "seconds", "times Mercer's", "score"], task(options.repeat))
            )
            print()
    return 0


def _best(fit: Callable[[], Any], repeat: int) -> tuple[float, Any]:
    """Seconds of the fastest of some fits after a first one, and the model."""
    model, least = fit(), np.inf
    for _ in range(repeat):
        start = time.perf_counter()
        model = fit()
        least = min(least, time.perf_counter() - start)
    return least, model


def _rows(task: str, found: list[tuple[str, float, str]]) -> list[Row]:
    """The first is Mercer's."""
    mine = found[0][1]
    return [[task, who, f"{s:.3f}", f"{s / mine:.1f}×", score] for who, s, score in found]


def _standardised(name: str, n: int) -> tuple[np.ndarray, np.ndarray]:
    data = load(name)
    order = np.random.default_rng(0).permutation(data.X.shape[0])[:n]
    X, y = data.X[order], data.y[order]
    X = X.toarray() if hasattr(X, "toarray") else X
    spread = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0), y


# ---------------------------------------------------------------------- k-means


def _inertia(K: np.ndarray, labels: np.ndarray) -> float:
    """Σ ‖φ(x) − μ‖² from the definition."""
    fitted = sum(K[np.ix_(labels == c, labels == c)].sum() / np.sum(labels == c)
                 for c in np.unique(labels))  # fmt: skip
    return float(np.trace(K) - fitted)


def clusters(repeat: int) -> list[Row]:
    """Ten starts each, the same kernel; tslearn draws its first labels at random."""
    from sklearn.metrics.pairwise import rbf_kernel

    from mercer import KernelKMeans

    rows: list[Row] = []
    for name, n, k in (("letter", 3000, 26), ("satimage", 4000, 6), ("usps", 3000, 10)):
        X, _ = _standardised(name, n)
        gamma = 1 / X.shape[1]
        K = rbf_kernel(X, gamma=gamma)
        found = []
        for start in ("k-means++", "random"):
            seconds, model = _best(
                lambda start=start, X=X, k=k, gamma=gamma: KernelKMeans(  # type: ignore[misc]
                    k, gamma=gamma, init=start, n_init=10, random_state=0
                ).fit(X),
                repeat,
            )
            score = f"inertia {_inertia(K, model.labels_):.2f}"
            found.append((f"mercer ({start})", seconds, score))
        try:
            from tslearn.clustering import KernelKMeans as Theirs
        except ImportError:
            rows += _rows(f"{name} {n:,}, k={k}", found)
            continue
        start_time = time.perf_counter()
        theirs = Theirs(
            k, kernel="rbf", kernel_params={"gamma": gamma}, n_init=10, max_iter=300, random_state=0
        ).fit(X)
        seconds = time.perf_counter() - start_time
        found.append(("tslearn", seconds, f"inertia {_inertia(K, theirs.labels_):.2f}"))
        rows += _rows(f"{name} {n:,}, k={k}", found)
    return rows


# ---------------------------------------------------------------------- perceptron


def _plain_perceptron(K: np.ndarray, y: np.ndarray, epochs: int) -> np.ndarray:
    """The notes' algorithm with rows of K at hand: the decision values at the end."""
    f, b = np.zeros(y.size), 0.0
    for _ in range(epochs):
        before = b, f.sum()
        for i in range(y.size):
            if y[i] * (f[i] + b) <= 0:
                f += y[i] * K[i]
                b += y[i]
        if before == (b, f.sum()):
            break
    return f + b


def perceptron(repeat: int) -> list[Row]:
    """RBF against NumPy, the same visits; linear against scikit-learn, the same epochs."""
    from sklearn.linear_model import Perceptron
    from sklearn.metrics.pairwise import rbf_kernel

    from mercer import KernelPerceptron

    rows: list[Row] = []
    for name, n in (("svmguide1", 3000), ("usps", 5000)):
        X, labels = _standardised(name, n)
        y = np.where(labels == labels.max(), 1.0, -1.0)
        gamma, epochs = 1 / X.shape[1], 30
        seconds, model = _best(
            lambda X=X, y=y, gamma=gamma: KernelPerceptron(  # type: ignore[misc]
                gamma=gamma, shuffle=False, max_iter=30
            ).fit(X, y),
            repeat,
        )
        found = [("mercer", seconds, f"{np.mean(model.predict(X) == y):.4f} on the training rows")]
        start = time.perf_counter()
        f = _plain_perceptron(rbf_kernel(X, gamma=gamma), y, epochs)
        seconds = time.perf_counter() - start
        found.append(("NumPy", seconds, f"{np.mean(np.sign(f) == y):.4f} on the training rows"))
        rows += _rows(f"{name} {n:,}, RBF", found)
    X, labels = _standardised("covtype", 100_000)
    y = np.where(labels == 2, 1.0, -1.0)
    mine = _best(lambda: KernelPerceptron(kernel="linear", average="averaged", max_iter=10,
                                          random_state=0).fit(X, y), repeat)  # fmt: skip
    theirs = _best(lambda: Perceptron(max_iter=10, tol=None, random_state=0).fit(X, y), repeat)
    found = [
        (who, seconds, f"{model.score(X, y):.4f} on the training rows")
        for who, (seconds, model) in (("mercer, averaged", mine), ("sklearn", theirs))
    ]
    return rows + _rows("covtype 100,000, linear, 10 epochs", found)


# ---------------------------------------------------------------------- logistic regression


def _objective(norm: float, y: np.ndarray, g: np.ndarray, C: float) -> float:
    """½‖w‖² + C Σ log(1 + exp(−y g))."""
    return float(norm / 2 + C * np.logaddexp(0.0, -y * g).sum())


def logistic(repeat: int) -> list[Row]:
    """Against scikit-learn on K's square root as features, which is the same problem."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics.pairwise import rbf_kernel

    from mercer import KernelLogisticRegression

    rows: list[Row] = []
    for name, n, C in (("spambase", 2000, 1.0), ("a9a", 2000, 10.0), ("ijcnn1", 2000, 100.0)):
        X, labels = _standardised(name, n)
        y = np.where(labels == labels.max(), 1.0, -1.0)
        gamma = 1 / X.shape[1]
        K = rbf_kernel(X, gamma=gamma)

        def mine(X: Any = X, y: Any = y, gamma: float = gamma, C: float = C) -> Any:
            return KernelLogisticRegression(C=C, gamma=gamma).fit(X, y)

        def theirs(solver: str, X: Any = X, y: Any = y, gamma: float = gamma, C: float = C) -> Any:
            values, vectors = np.linalg.eigh(rbf_kernel(X, gamma=gamma))
            Z = vectors * np.sqrt(np.maximum(values, 0.0))
            model = LogisticRegression(C=C, solver=solver, tol=1e-5, max_iter=1000).fit(Z, y)
            w = model.coef_[0]
            return float(w @ w), Z @ w + model.intercept_[0]

        seconds, model = _best(mine, repeat)
        beta = np.zeros(n)
        beta[model.support_] = model.dual_coef_[0]
        f = K @ beta
        value = _objective(beta @ f, y, f + model.intercept_[0], C)
        found = [("mercer", seconds, f"objective {value:.6f}")]
        for solver in ("lbfgs", "newton-cg"):
            seconds, (norm, g) = _best(lambda s=solver, t=theirs: t(s), 1)  # type: ignore[misc]
            who = f"sklearn {solver} on √K"
            found.append((who, seconds, f"objective {_objective(norm, y, g, C):.6f}"))
        rows += _rows(f"{name} {n:,}, C={C:g}", found)
    return rows


TASKS: dict[str, Callable[[int], list[Row]]] = {
    "clusters": clusters,
    "perceptron": perceptron,
    "logistic": logistic,
}
