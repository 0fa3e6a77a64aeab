"""What may be said, and refused, of kernel matrices with a negative eigenvalue."""

from __future__ import annotations

from typing import Any

import numpy as np
from flint import arb, fmpq

from mercer._result import Status
from tests.soundness.exact import Rows, kernel_matrix
from tests.soundness.generator import Problem
from tests.soundness.oracle import Truth
from tests.soundness.predictions import EPS, Failure

__all__ = ["judge_indefinite", "may_refuse_curvature", "negative_curvature"]

# Under shorter time limits definiteness may be left open, unless the model itself refutes it.
SHORT = 0.1


def negative_curvature(kernel: Any, X: Rows, truth: Truth) -> float | None:
    """A certain negative eigenvalue of K, 0 if none is certain; None for kernels that have none."""
    if kernel.is_psd:
        return None
    rows = truth.task.rows
    K = np.array([float(v.mid()) for v in kernel_matrix(kernel, X, rows, rows).entries()])
    K = K.reshape(len(rows), len(rows))
    values = np.linalg.eigvalsh(K)
    least = float(values[0]) + 8 * len(rows) * EPS * float(np.abs(values).max())
    return min(least, 0.0)


def judge_indefinite(p: Problem, truth: Truth, stated: Any, curved: float) -> list[Failure]:
    """What the most negative eigenvalue can change, ½ |λ| times the box squared, is in the gap."""
    if curved == 0 or not stated.status.is_solved or stated.gap == np.inf:
        return []
    hurried = (p.param("time_limit") or 1.0) < SHORT
    if stated.status is Status.SOLVED_IF_PSD and hurried and not truth.quad < 0:
        return []  # nothing was found in the time that there was
    low, high = truth.task.box
    square = fmpq(0)
    for beta, below, above in zip(truth.task.beta, low, high, strict=True):
        if below is None or above is None:
            square = None
            break
        square += max(above - beta, beta - below) ** 2
    effect = np.inf if square is None else -0.5 * curved * float(arb(square).mid())
    if effect <= stated.gap * (1 + 1e-6):
        return []
    return [
        Failure(
            "indefinite",
            f"{stated.status}, but K has the eigenvalue {curved:.3g}: it can change the value by "
            f"{effect:.3g}, stated gap {stated.gap:.3g}",
        )
    ]


def may_refuse_curvature(p: Problem, error: BaseException, X: Any) -> bool:
    """Whether a solver of convex problems was given a matrix with a negative eigenvalue."""
    if not p.gram or p.param("solver") in (None, "smo", "platt"):
        return False
    return "not convex" in str(error) and bool(np.linalg.eigvalsh(X)[0] < 0)
