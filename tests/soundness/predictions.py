"""Decision values and predictions against exact ones, and how much rounding explains."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from flint import arb

from tests.soundness.generator import Problem
from tests.soundness.oracle import Truth

__all__ = ["EPS", "Failure", "bound_of", "dense", "judge_predictions", "summed"]

EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Failure:
    """What does not hold, and by how much."""

    kind: str
    message: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.message}"


def dense(values: Any) -> np.ndarray:
    """An array, of a sparse matrix too."""
    return values.toarray() if sp.issparse(values) else np.asarray(values)


def judge_predictions(
    p: Problem, model: Any, X: Any, y: Any, weight: Any, truths: list[Truth]
) -> list[Failure]:
    """Decision values at the rows of each task are f + b, and predictions have their sign."""
    several = len(truths) > 1
    try:
        if several:
            model.set_params(decision_function_shape="ovo")
        values = model.predict(X) if p.estimator in ("SVR", "NuSVR") else model.decision_function(X)
        classes = None if p.estimator in ("SVR", "NuSVR") else model.predict(X)
    except Exception as error:
        return [Failure("decision", f"raised {type(error).__name__}: {error}")]
    finally:
        if several:
            model.set_params(decision_function_shape="ovr")
    values = np.asarray(values).reshape(p.n, -1)
    for t, truth in enumerate(truths):
        rows = truth.task.rows
        exact = np.array([float((f + arb(truth.task.b)).mid()) for f in truth.f])
        error = _allowed(model.kernel_, X, truth, exact)
        off = np.abs(values[rows, t] - exact)
        worst = int(np.argmax(off - error))
        if not off[worst] <= error[worst]:
            return [
                Failure(
                    "decision",
                    f"row {rows[worst]}: {values[rows[worst], t]!r}, exactly {exact[worst]!r}, "
                    f"allowed {error[worst]:.3g}",
                )
            ]
        if classes is not None and not several:
            is_positive = exact > 0
            said = np.asarray(classes)[rows]
            positive = 1 if p.estimator == "OneClassSVM" else model.classes_[1]
            wrong = ((said == positive) != is_positive) & (np.abs(exact) > error)
            wrong |= ((said == positive) != (values[rows, t] > 0)) & (
                np.abs(values[rows, t]) > 2 * error
            )
            if wrong.any():
                i = int(np.argmax(wrong))
                return [Failure("predict", f"row {rows[i]}: {said[i]!r} at f = {exact[i]!r}")]
    return []


def _allowed(kernel: Any, X: Any, truth: Truth, exact: np.ndarray) -> np.ndarray:
    """What float32 may lose (1e-5 of the largest value), and the rounding of the sum in float64."""
    units = 64 + 2 * sum(1 for v in truth.task.beta if v)
    size = summed(kernel, X, truth).max()  # in centred coordinates no row is near the origin
    return np.full(len(exact), 2e-5 * np.abs(exact).max(initial=0.0) + units * EPS * size)


def summed(kernel: Any, X: Any, truth: Truth) -> np.ndarray:
    """The sizes of what is added up in y − f − b, for each row."""
    targets = np.array([abs(float(arb(v).mid())) for v in truth.task.y])
    epsilon, b = (abs(float(arb(v).mid())) for v in (truth.task.epsilon, truth.task.b))
    return _sizes(kernel, X, truth) + targets + epsilon + b


def _sizes(kernel: Any, X: Any, truth: Truth) -> np.ndarray:
    """Σ|βⱼ| times a bound of |k|: of dot products ‖xᵢ‖‖xⱼ‖, of differences one."""
    beta = np.array([abs(float(arb(v).mid())) for v in truth.task.beta])
    rows = dense(X).astype(np.float64)[truth.task.rows]
    if type(kernel).__name__ == "Precomputed":
        return np.abs(rows[:, truth.task.rows]) @ beta
    with np.errstate(over="ignore", invalid="ignore"):
        size = bound_of(kernel, np.linalg.norm(rows, axis=1), rows.shape[1])
        return size @ beta


def bound_of(kernel: Any, norms: np.ndarray, d: int) -> np.ndarray:
    """About the largest |k| that rows of these norms can have, times the operations in it."""
    name = type(kernel).__name__
    if name in ("Sum", "Product"):
        first, second = bound_of(kernel.k1, norms, d), bound_of(kernel.k2, norms, d)
        return first + second if name == "Sum" else first * second
    if name == "Scaled":
        return kernel.c * bound_of(kernel.k, norms, d)
    if name == "Power":
        return kernel.power * bound_of(kernel.k, norms, d) ** kernel.power
    products = np.outer(norms, norms)
    if name == "Linear":
        return products * d
    if name == "Polynomial":
        return kernel.degree * d * (kernel.gamma * products + abs(kernel.coef0)) ** kernel.degree
    if name == "Sigmoid":
        return d * (1 + kernel.gamma * products + abs(kernel.coef0))
    size = kernel.value if name == "Constant" else 1.0
    return np.full(products.shape, size * (d + 8.0))
