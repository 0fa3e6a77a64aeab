"""Kernel values in extended precision (python-flint), straight from the definitions."""

from __future__ import annotations

from typing import Any

import numpy as np
from flint import arb, ctx

from mercer import kernels

ctx.prec = 330


def exact_matrix(kernel: kernels.Kernel, X: np.ndarray, Z: np.ndarray) -> list[list[Any]]:
    """k(x, z) of all rows as balls of 330 bits."""
    rows, others = ([[arb(float(v)) for v in row] for row in M] for M in (X, Z))
    return [[_value(kernel, x, z) for z in others] for x in rows]


def _value(k: kernels.Kernel, x: list, z: list) -> Any:
    pairs = list(zip(x, z, strict=True))
    dot = sum((a * b for a, b in pairs), arb(0))
    match k:
        case kernels.Linear():
            return dot
        case kernels.Polynomial():
            return (arb(k.gamma) * dot + arb(k.coef0)) ** k.degree
        case kernels.Sigmoid():
            return (arb(k.gamma) * dot + arb(k.coef0)).tanh()
        case kernels.Cosine():
            norms = [sum((a * a for a in v), arb(0)).sqrt() for v in (x, z)]
            return arb(0) if any(n == 0 for n in norms) else dot / (norms[0] * norms[1])
        case kernels.RBF():
            return (-arb(k.gamma) * sum(((a - b) ** 2 for a, b in pairs), arb(0))).exp()
        case kernels.Laplacian():
            return (-arb(k.gamma) * sum((abs(a - b) for a, b in pairs), arb(0))).exp()
        case kernels.Chi2():
            terms = ((a - b) ** 2 / (a + b) for a, b in pairs if a + b != 0)
            return (-arb(k.gamma) * sum(terms, arb(0))).exp()
        case kernels.AllSubsets():
            out = arb(1)
            for a, b in pairs:
                out *= 1 + a * b
            return out
        case kernels.Constant():
            return arb(k.value)
        case kernels.Sum():
            return _value(k.k1, x, z) + _value(k.k2, x, z)
        case kernels.Product():
            return _value(k.k1, x, z) * _value(k.k2, x, z)
        case kernels.Scaled():
            return arb(k.c) * _value(k.k, x, z)
        case kernels.Power():
            return _value(k.k, x, z) ** k.power
    raise TypeError(k)
