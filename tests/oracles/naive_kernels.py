"""Kernels by their definition: one pair of rows at a time, float64, the mathematics and no more."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

__all__ = ["NAIVE", "naive_matrix"]

Pair = Callable[..., float]


def _cosine(x, z):
    norms = math.sqrt(math.fsum(x * x)) * math.sqrt(math.fsum(z * z))
    return math.fsum(x * z) / norms if norms else 0.0


def _chi2(x, z, gamma):
    terms = [(a - b) ** 2 / (a + b) for a, b in zip(x, z, strict=True) if a + b > 0]
    return math.exp(-gamma * math.fsum(terms))


NAIVE: dict[str, Pair] = {
    "Linear": lambda x, z: math.fsum(x * z),
    "Polynomial": lambda x, z, degree, gamma, coef0: (gamma * math.fsum(x * z) + coef0) ** degree,
    "Sigmoid": lambda x, z, gamma, coef0: math.tanh(gamma * math.fsum(x * z) + coef0),
    "Cosine": _cosine,
    "RBF": lambda x, z, gamma: math.exp(-gamma * math.fsum((x - z) ** 2)),
    "Laplacian": lambda x, z, gamma: math.exp(-gamma * math.fsum(abs(x - z))),
    "Chi2": _chi2,
    "AllSubsets": lambda x, z: math.prod(1 + a * b for a, b in zip(x, z, strict=True)),
    "Constant": lambda x, z, value: value,
}


def naive_matrix(kernel, X, Z) -> np.ndarray:
    """The matrix of ``kernel`` (a library kernel, read only for its name and parameters)."""
    name, params = type(kernel).__name__, kernel.get_params(deep=False)
    if name in ("Sum", "Product"):
        parts = (naive_matrix(params["k1"], X, Z), naive_matrix(params["k2"], X, Z))
        return parts[0] + parts[1] if name == "Sum" else parts[0] * parts[1]
    if name == "Scaled":
        return params["c"] * naive_matrix(params["k"], X, Z)
    if name == "Power":
        return naive_matrix(params["k"], X, Z) ** params["power"]
    if name == "Normalize":
        sizes = [[naive_matrix(params["k"], [x], [x])[0, 0] for x in rows] for rows in (X, Z)]
        roots = np.sqrt(np.multiply.outer(*map(np.array, sizes)))
        K = naive_matrix(params["k"], X, Z)
        return np.divide(K, roots, out=np.zeros_like(K), where=roots > 0)
    if name == "Centre":
        k, R = params["k"], params["samples"]
        means = [naive_matrix(k, rows, R).mean(axis=1) for rows in (X, Z, R)]
        return naive_matrix(k, X, Z) - means[0][:, None] - means[1] + means[2].mean()
    X, Z = np.asarray(X, dtype=np.float64), np.asarray(Z, dtype=np.float64)
    return np.array([[NAIVE[name](x, z, **params) for z in Z] for x in X]).reshape(len(X), len(Z))
