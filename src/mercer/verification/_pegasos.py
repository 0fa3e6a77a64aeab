"""What `mercer.verify` finds about Pegasos' machines, from f, its norm and the data.

With prices Cᵢ = weightᵢ/(λ Σ weight) (of a stream weightᵢ/(nλ)), edges low ≤ high and k + 1 in
place of k where there is an intercept, whose square then is part of the norm:

    P = ½‖f‖² + Σ Cᵢ max(0, lowᵢ − fᵢ, fᵢ − highᵢ)

A model keeps no duals, so a lower bound is found anew. Every edge that is finite has a variable
0 ≤ θ ≤ 1 with β = ±Cθ, + of a lower one, and any θ bounds all models' objectives from below:

    D(θ) = Σ Cθ (± edge) − ½ βᵀKβ

It is raised by SciPy's L-BFGS-B from θ = 1 where f is beyond the edge, until it is as good as the
model states it to be.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize

from mercer._result import Status
from mercer.certificates._certificate import Certificate, relative, summarise
from mercer.kernels._reference import kernel_matrix, kernel_sums

__all__ = ["find_pegasos"]

_EPS = float(np.finfo(np.float64).eps)
# Units of rounding of P and D, besides one for each row that is summed: as a fit states.
_ROUNDING_UNITS = 10
_MOST_STEPS = 5000

Image = Callable[[np.ndarray], np.ndarray]


def find_pegasos(model: Any, X: Any, y: np.ndarray, weight: np.ndarray) -> Certificate:
    """The certificate of a machine; y are class numbers or targets, and rows have a weight."""
    one = float(model.fit_intercept)
    f, norms_sq, image = (_linear if hasattr(model, "coef_") else _kernelised)(model, X, one)
    price = _prices(model, y, weight)
    stated = getattr(model, "certificate_", None)
    tasks: Any = (stated.tasks or (stated,)) if stated is not None else [None] * f.shape[1]
    found = []
    for t in range(f.shape[1]):
        low, high = _edges(model, y, t)
        loss = price @ np.maximum(0.0, np.maximum(low - f[:, t], f[:, t] - high))
        primal = float(norms_sq[t] / 2 + loss)
        enough = primal * (1 - model.tol) if tasks[t] is None else tasks[t].dual
        dual, beta = _raise_bound(f[:, t], low, high, price, image, enough)
        name = "" if f.shape[1] == 1 else f"{model.classes_[t]} / the rest"
        found.append(
            _certificate(model.tol, primal, dual, beta, price, low, high, image, norms_sq[t], name)
        )
    return summarise(found)


def _linear(model: Any, X: Any, one: float) -> tuple[np.ndarray, np.ndarray, Image]:
    """f of every task at the rows, ‖w‖² + b², and the product with K = XXᵀ (+ 1)."""
    X = X.astype(np.float64)
    f = np.asarray(X @ model.coef_.T) + model.intercept_
    norms_sq = (model.coef_**2).sum(axis=1) + np.asarray(model.intercept_) ** 2
    return f, norms_sq, lambda beta: X @ (X.T @ beta) + one * beta.sum()


def _kernelised(model: Any, X: Any, one: float) -> tuple[np.ndarray, np.ndarray, Image]:
    """The same of an expansion over support vectors."""
    coef, n = np.asarray(model.expansion_.coef).T, X.shape[0]
    if type(model.kernel_).__name__ == "Precomputed":
        both, support, rows = X, np.asarray(model.expansion_.columns), np.arange(n)
    else:
        vectors = model.support_vectors_
        both = (
            sp.vstack([sp.csr_matrix(vectors), X], format="csr")
            if sp.issparse(X)
            else np.concatenate([vectors, X])
        )
        support, rows = np.arange(len(coef)), len(coef) + np.arange(n)
    f = kernel_sums(model.kernel_, both, rows, support, coef) + one * coef.sum(axis=0)
    at_support = kernel_sums(model.kernel_, both, support, support, coef) + one * coef.sum(axis=0)
    K = kernel_matrix(model.kernel_, both, rows)
    return f, (coef * at_support).sum(axis=0), lambda beta: K @ beta + one * beta.sum()


def _prices(model: Any, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
    given = getattr(model, "class_weight", None)
    if given is not None:
        k = len(model.classes_)
        counts = np.bincount(y, weight, k)
        factors = (
            counts.sum() / (k * counts)
            if isinstance(given, str)
            else np.array([given.get(label, 1.0) for label in model.classes_.tolist()])
        )
        weight = weight * factors[y]
    is_stream = hasattr(model, "stream_") or not hasattr(model, "certificate_")
    return weight / (model.lam_ * (len(weight) if is_stream else weight.sum()))


def _edges(model: Any, y: np.ndarray, task: int) -> tuple[np.ndarray, np.ndarray]:
    """Between which f costs nothing."""
    if not hasattr(model, "classes_"):
        return y - model.epsilon, y + model.epsilon
    positive = y == (1 if len(model.classes_) == 2 else task)
    return np.where(positive, 1.0, -np.inf), np.where(positive, np.inf, -1.0)


def _raise_bound(
    f: np.ndarray, low: np.ndarray, high: np.ndarray, price: np.ndarray, image: Image, enough: float
) -> tuple[float, np.ndarray]:
    """A dual value that is at least ``enough``, if there is one, and its β."""
    edges = np.concatenate([low, -high])
    used = np.flatnonzero(np.isfinite(edges))
    row, sign = used % len(f), np.where(used < len(f), 1.0, -1.0)
    C, edge = price[row], edges[used]
    best: list[Any] = [0.0, np.zeros(len(f))]

    def descend(theta: np.ndarray) -> tuple[float, np.ndarray]:
        beta = np.bincount(row, sign * C * theta, len(f))
        g = image(beta)
        dual = float(edge @ (C * theta) - beta @ g / 2)
        if dual > best[0]:
            best[:] = dual, beta
        return -dual, -C * (edge - sign * g[row])

    def stop(theta: np.ndarray) -> None:
        if best[0] >= enough:
            raise StopIteration

    theta = (edge - sign * f[row] > 0).astype(np.float64)
    minimize(
        descend, theta, jac=True, method="L-BFGS-B", bounds=[(0.0, 1.0)] * len(theta),
        callback=stop,
        options={"maxiter": _MOST_STEPS, "maxfun": 2 * _MOST_STEPS, "ftol": 1e-13, "gtol": 0.0},
    )  # fmt: skip
    return best[0], best[1]


def _certificate(
    tol: float, primal: float, dual: float, beta: np.ndarray, price: np.ndarray, low: np.ndarray,
    high: np.ndarray, image: Image, norm_sq: float, name: str,
) -> Certificate:  # fmt: skip
    gap = max(primal - dual, 0.0) + (_ROUNDING_UNITS + len(beta)) * _EPS * (primal + dual)
    f, alpha = image(beta), np.abs(beta)
    rising = (np.where(beta >= 0, low, high) - f)[beta < price]
    falling = (np.where(beta > 0, low, high) - f)[beta > -price]
    n_zero, n_bound = int((alpha == 0).sum()), int((alpha >= price * (1 - 1e-12)).sum())
    relative_gap = relative(gap, primal)
    return Certificate(
        primal=primal, dual=primal - gap, gap=gap, relative_gap=relative_gap,
        kkt_violation=float(max(rising.max(initial=0.0), -falling.min(initial=0.0))),
        bias_interval=(0.0, 0.0), margin=float(2 / np.sqrt(norm_sq)) if norm_sq > 0 else np.inf,
        n_zero=n_zero, n_free=len(beta) - n_zero - n_bound, n_bound=n_bound,
        status=Status.SOLVED if relative_gap <= tol * 1.01 else Status.STALLED, name=name,
    )  # fmt: skip
