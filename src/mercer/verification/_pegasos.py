"""Pegasos' models recomputed from f, its norm and the data.

With Cᵢ = weightᵢ / (λ Σ weight) (of a stream weightᵢ / (nλ)), the hinge loss L of `_losses`, and
k + 1 in place of k where there is an intercept, whose square then is part of the norm:

    P = ½‖f‖² + Σ L

A model stores no dual variables, so a lower bound is computed here. Every edge has a variable
0 ≤ θ ≤ 1 with β = sign · Cθ, and any θ bounds the objective of all models from below:

    D(θ) = Σ Cθ (sign · edge) − ½ βᵀKβ

It is maximised by SciPy's L-BFGS-B from θ = 1 where f is on the wrong side of the edge, until it
reaches the dual value that the model states.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize

from mercer._precision import EPS
from mercer._result import Status
from mercer.certificates._certificate import Certificate, relative, summarise
from mercer.kernels._reference import kernel_matrix, kernel_sums
from mercer.verification._losses import HINGE, Edges, edges, kkt_violation
from mercer.verification._rounding import SETTINGS

__all__ = ["recompute_pegasos"]

Product = Callable[[np.ndarray], np.ndarray]


def recompute_pegasos(model: Any, X: Any, y: np.ndarray, weight: np.ndarray) -> Certificate:
    """The certificate of a model; y are class numbers or targets, weights are positive."""
    one = float(model.fit_intercept)
    f, norms_sq, product = (_linear if hasattr(model, "coef_") else _kernelised)(model, X, one)
    C = _row_C(model, y, weight)
    stated = getattr(model, "certificate_", None)
    tasks: Any = (stated.tasks or (stated,)) if stated is not None else [None] * f.shape[1]
    found = []
    for t in range(f.shape[1]):
        of = edges(model, y, C, t)
        a = of.distances(f[:, t])
        primal = float(norms_sq[t] / 2 + HINGE.value(of.C, a).sum())
        target = primal * (1 - model.tol) if tasks[t] is None else tasks[t].dual
        dual, alpha = _maximise_dual(of, a, len(y), product, target)
        name = "" if f.shape[1] == 1 else f"{model.classes_[t]} / the rest"
        # Rounding of P and D: ten units, and one for each row that is summed, as a fit states.
        gap = max(primal - dual, 0.0) + (10 + len(y)) * EPS * (primal + dual)
        is_solved = relative(gap, primal) <= model.tol * (1 + SETTINGS.gap_tol_slack)
        beta = of.beta(alpha, len(y))
        n_bound = np.count_nonzero(alpha >= of.C * SETTINGS.at_bound)
        found.append(
            Certificate.of(
                primal,
                primal - gap,
                gap,
                np.sqrt(max(norms_sq[t], 0.0)),
                (np.count_nonzero(beta == 0), n_bound, len(y)),
                kkt_violation=kkt_violation(alpha, of.C, of.distances(product(beta))),
                bias_interval=(0.0, 0.0),
                status=Status.SOLVED if is_solved else Status.NOT_REACHED,
                name=name,
            )
        )
    return summarise(found)


def _linear(model: Any, X: Any, one: float) -> tuple[np.ndarray, np.ndarray, Product]:
    """f of every task at the rows, ‖w‖² + b², and the product with K = XXᵀ (+ 1)."""
    X = X.astype(np.float64)
    f = np.asarray(X @ model.coef_.T) + model.intercept_
    norms_sq = (model.coef_**2).sum(axis=1) + np.asarray(model.intercept_) ** 2
    return f, norms_sq, lambda beta: X @ (X.T @ beta) + one * beta.sum()


def _kernelised(model: Any, X: Any, one: float) -> tuple[np.ndarray, np.ndarray, Product]:
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


def _row_C(model: Any, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
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


def _maximise_dual(
    of: Edges, a: np.ndarray, n: int, product: Product, target: float
) -> tuple[float, np.ndarray]:
    """A dual value of at least ``target``, if one is found, and its α."""
    best: list[Any] = [0.0, np.zeros(len(a))]
    gain = of.sign * of.edge

    def descend(theta: np.ndarray) -> tuple[float, np.ndarray]:
        alpha = of.C * theta
        beta = of.beta(alpha, n)
        g = product(beta)
        dual = float(gain @ alpha - beta @ g / 2)
        if dual > best[0]:
            best[:] = dual, alpha
        return -dual, -of.C * of.distances(g)

    def stop(theta: np.ndarray) -> None:
        if best[0] >= target:
            raise StopIteration

    minimize(
        descend,
        (a > 0).astype(np.float64),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, 1.0)] * len(a),
        callback=stop,
        options={
            "maxiter": SETTINGS.dual_steps,
            "maxfun": 2 * SETTINGS.dual_steps,
            "ftol": 1e-13,
            "gtol": 0.0,
        },
    )
    return best[0], best[1]
