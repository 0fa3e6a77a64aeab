"""From a description to arrays: normal rows, and what is done to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

if TYPE_CHECKING:
    from tests.soundness.generator import Problem

__all__ = ["data", "first_data"]


def data(p: Problem) -> tuple[Any, np.ndarray | None, np.ndarray | None]:
    """Rows (or a kernel matrix), targets and weights of the fit that is looked at."""
    return _data(p, 1)


def first_data(p: Problem) -> tuple[Any, np.ndarray | None, np.ndarray | None]:
    """Those of the fit before it, where there is one: other y, X or weights."""
    X, y, weight = _data(p, 1)
    if p.warm == "y" and y is not None:
        y = np.ascontiguousarray(y[::-1]) if p.is_classifier else -y
    if p.warm == "X":
        X = _data(p, 2)[0]
    if p.warm == "weight":
        weight = np.where(np.arange(p.n) % 3 == 0, 2.0, 1.0)
    return X, y, weight


def _data(p: Problem, draw: int) -> tuple[Any, np.ndarray | None, np.ndarray | None]:
    rng = np.random.default_rng([p.seed, draw])
    Z = rng.normal(size=(p.n, p.d))
    y = _targets(p, Z, rng)
    X = Z.copy()
    for name, number in p.steps:
        X, y = _apply(name, number, X, y, rng)
    if p.is_classifier and y is not None:
        y = _all_classes(y, p.n_classes)
    X = _stored(p, X, rng)
    weight = _weights(p, y, np.random.default_rng([p.seed, 3]))
    return X, y, weight


def _targets(p: Problem, Z: np.ndarray, rng: np.random.Generator) -> np.ndarray | None:
    if p.estimator in ("OneClassSVM", "KernelPCA", "KernelKMeans"):
        return None
    score = Z[:, 0] + (0.5 * Z[:, 1] ** 2 if p.d > 1 else 0.0)
    noise = rng.normal(size=p.n)
    if not p.is_classifier:
        kinds = {
            "smooth": np.sin(2 * score) + 0.2 * noise,
            "constant": np.full(p.n, 1.35),
            "large": 1e6 + 10 * noise,
            "steps": np.rint(3 * score),
        }
        return kinds[p.labels]
    if p.labels == "single":
        return np.arange(p.n) % p.n_classes * (np.arange(p.n) < p.n_classes)
    score = {"separable": score, "noisy": score + 0.8 * noise, "random": noise}[p.labels]
    return np.searchsorted(np.quantile(score, np.arange(1, p.n_classes) / p.n_classes), score)


def _all_classes(y: np.ndarray, n_classes: int) -> np.ndarray:
    """Every class has a row."""
    y = y.copy()
    for c in range(n_classes):
        if not (y == c).any():
            y[c] = c
    return y.astype(np.int64)


def _apply(
    name: str, number: float, X: np.ndarray, y: np.ndarray | None, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray | None]:
    n, d = X.shape
    column = int(rng.integers(d))
    if name == "offset":
        X = X + number
    elif name == "clusters":
        X = X + number * (np.arange(n) % 2 == 0)[:, np.newaxis]
    elif name == "far_rows":
        far = rng.choice(n, size=min(n, 4), replace=False)
        X[far] += number
    elif name in ("huge_column", "tiny_column"):
        X[:, column] *= number
    elif name == "constant_column":
        X[:, column] = number
    elif name == "year_column":
        X[:, column] = 2005 + np.rint(5 * X[:, column])
    elif name == "equal_rows":
        X[:] = X[0]
    elif name == "scale":
        X = X * number
    elif name == "round":
        X = np.rint(3 * X) if np.abs(X).max() < 1e15 else X
    elif name == "duplicates":
        copies, originals = rng.integers(n, size=(2, max(1, n // 4)))
        X[copies] = X[originals]
        if y is not None and y.dtype.kind == "f":
            y = y.copy()
            y[copies] = y[originals] + 1.0
    return X, y


def _stored(p: Problem, X: np.ndarray, rng: np.random.Generator) -> Any:
    if p.gram:
        return _matrix(p.gram, X, rng)
    if p.storage == "float32":
        return X.astype(np.float32)
    if p.storage == "int":
        size = float(np.abs(X).max())
        return np.rint(X * (10 if size < 1e8 else 1e8 / size)).astype(np.int64)
    if p.storage == "csr":
        X = np.where(rng.random(X.shape) < 0.5, 0.0, X)
        return sp.csr_matrix(X)
    return X


def _matrix(gram: str, X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    n = len(X)
    if gram == "linear":
        K = X @ X.T
        return (K + K.T) / 2
    difference = X[:, np.newaxis] - X[np.newaxis]
    size = float(np.median(np.abs(difference))) or 1.0
    K = np.exp(-np.sum((difference / size) ** 2, axis=2))
    if gram == "noise":
        noise = rng.normal(size=(n, n)) * float(rng.choice([1e-3, 0.03, 0.1, 0.3]))
        K = K + (noise + noise.T) / 2
    if gram == "asymmetric":
        K[0, -1] += 0.25
    return K


def _weights(p: Problem, y: np.ndarray | None, rng: np.random.Generator) -> np.ndarray | None:
    if p.weights == "none":
        return None
    weight = 10 ** rng.uniform(-4, 4, size=p.n)
    if p.weights == "zeros":
        weight[rng.random(p.n) < 0.3] = 0.0
        keep = (
            [0] if y is None or not p.is_classifier else [np.argmax(y == c) for c in np.unique(y)]
        )
        weight[keep] = 1.0
        if p.estimator == "KernelKMeans":
            weight[: p.param("n_clusters")] = 1.0
    return weight
