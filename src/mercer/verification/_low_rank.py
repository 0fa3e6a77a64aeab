"""Low-rank models recomputed: their own gap, and their distance from the exact optimum.

The model is f = Σ aₗ k(zₗ, ·) + b over landmarks zₗ, or f = w·φ + b with the stored feature map.
Its objective P is computed from f at the training rows and from ‖w‖² = aᵀK_mm a (or w·w). The
stored duals β of the low-rank problem give

    D = targetᵀβ − ½ hᵀ K_mm⁺ h,  h = K_mn β       (or ½‖Φᵀβ‖²)

with the pseudo-inverse of an eigendecomposition, and the stored duals β' of the bound

    distance = P − (targetᵀβ' − ½ β'ᵀKβ')

All kernel values are those of `mercer.kernels._reference`, with a bound of their rounding; sums
over rows are `math.fsum`. Squared slack has 1/(2C) added to the diagonal of both forms.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer._precision import EPS
from mercer._result import Status
from mercer.certificates._certificate import Certificate, relative
from mercer.kernels._reference import bounded_sums, diagonal, kernel_matrix
from mercer.verification import _tasks as tasks
from mercer.verification._dual_svm import VerifiedCertificate, total_certificate
from mercer.verification._rounding import SETTINGS

__all__ = ["LANDMARK_CUTOFF", "is_low_rank", "verify_low_rank"]

# Eigenvalues of the landmarks' matrix up to this fraction of the largest are left out, as in fits.
LANDMARK_CUTOFF = 1e-11


def is_low_rank(model: Any) -> bool:
    """Whether a kernel machine was fitted with ``approximation``."""
    return getattr(model, "approximation", None) is not None and hasattr(model, "duals_")


@dataclass(frozen=True, eq=False)
class PosedTask:
    """One task: variables with a target, bounds, the row each belongs to, and squared slack."""

    name: str
    rows: np.ndarray
    target: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    point: np.ndarray
    diag: np.ndarray | None
    sum: float | None

    def loss(self, r: np.ndarray, error: np.ndarray) -> float:
        """The largest sum of losses for residuals within ± error."""
        over, under = np.maximum(r + error, 0.0), np.maximum(error - r, 0.0)
        if self.diag is not None:
            side = np.where(self.upper > 0, over, under)
            return math.fsum(side**2 / (2 * self.diag))
        return math.fsum(self.upper * over) + math.fsum(-self.lower * under)


def verify_low_rank(model: Any, X: Any, y: Any, weight: np.ndarray) -> VerifiedCertificate:
    """The certificate of every task, and the total."""
    if model.duals_.shape[1] != X.shape[0]:
        raise ValueError(
            f"X has {X.shape[0]} rows, but the model was fitted on {model.duals_.shape[1]}: give "
            "the training data."
        )
    duals = [
        sp.csr_matrix(kept).toarray().astype(np.float64)
        for kept in (model.duals_, model.bound_duals_)
    ]
    found = []
    for t, posed in enumerate(_posed(model, y, weight)):
        function = _landmarks if len(model.support_) else _features
        found.append(function(model, t, posed, X, *(beta[t, posed.rows] for beta in duals)))
    return total_certificate(found)


def _posed(model: Any, y: Any, weight: np.ndarray) -> Iterator[PosedTask]:
    name = {cls.__name__ for cls in type(model).__mro__}
    rows = np.flatnonzero(weight > 0)
    balance = 0.0 if model.fit_intercept else None
    if "SVC" in name:
        codes = tasks.class_codes(model, y, weight)
        k = len(model.classes_)
        pairs = [(1, 0)] if k == 2 else [(i, j) for i in range(k) for j in range(i + 1, k)]
        for i, j in pairs:
            both = np.flatnonzero((codes == i) | (codes == j))
            sign = np.where(codes[both] == i, 1.0, -1.0)
            C = model.C * weight[both] * np.asarray(model.class_weight_)[codes[both]]
            label = "" if k == 2 else f"{model.classes_[i]} / {model.classes_[j]}"
            yield _boxed(label, both, sign, C, sign > 0, np.arange(both.size), balance, model)
    elif "SVR" in name:
        values = tasks.targets(y, len(weight))[rows]
        C = np.tile(model.C * weight[rows], 2)
        ends = np.concatenate([values - model.epsilon, values + model.epsilon])
        above = np.repeat([True, False], rows.size)
        yield _boxed("", rows, ends, C, above, np.tile(np.arange(rows.size), 2), balance, model)
    else:
        s, n = weight[rows], rows.size
        zero = np.zeros(n)
        yield PosedTask("", rows, zero, zero, s, np.arange(n), None, model.nu * math.fsum(s))


def _boxed(
    name: str,
    rows: np.ndarray,
    target: np.ndarray,
    C: np.ndarray,
    above: np.ndarray,
    point: np.ndarray,
    balance: float | None,
    model: Any,
) -> PosedTask:
    """Variables in [0, C] where ``above``, in [−C, 0] elsewhere."""
    diag = 0.5 / C if str(getattr(model, "loss", "")).startswith("squared") else None
    size = C if diag is None else np.full(C.size, np.inf)
    lower, upper = np.where(above, 0.0, -size), np.where(above, size, 0.0)
    return PosedTask(name, rows, target, lower, upper, point, diag, balance)


# ---------------------------------------------------------------------- two kinds of functions


def _landmarks(
    model: Any, t: int, posed: PosedTask, X: Any, beta: np.ndarray, other: np.ndarray
) -> VerifiedCertificate:
    kernel, support = model.kernel_, np.asarray(model.support_)
    coef = tasks._coefficients(model)[t]
    f = bounded_sums(kernel, X, posed.rows, support, coef[:, None]).column(0)
    at = bounded_sums(kernel, X, support, support, coef[:, None]).column(0)
    norm = math.fsum(coef * at.high) + float(coef @ at.low)
    norm += float(np.abs(coef) @ at.error) * 1.01 + 8 * EPS * float(np.abs(coef * at.high).sum())
    h = bounded_sums(kernel, X, support, posed.rows, beta[:, None]).column(0)
    values, vectors = np.linalg.eigh(kernel_matrix(kernel, X, support))
    kept = values > LANDMARK_CUTOFF * values[-1]
    factor = vectors[:, kept] / np.sqrt(values[kept])
    v = factor.T @ h.high
    v_error = np.abs(factor).T @ (h.error + (len(support) + 4) * EPS * np.abs(h.high))
    square = float(np.sum((np.abs(v) + v_error) ** 2))
    own = partial(_own_of, kernel, X, posed.rows)
    proof = _certificate(model, t, posed, f.high, f.error, norm, beta, square, own)
    if not kernel.is_psd:
        return replace(proof, distance_note=model.certificate_.distance_note)
    D = _exact_dual(posed, kernel, X, other)
    distance = max(0.0, proof.primal - D)
    return replace(proof, distance_to_exact=distance, exact_primal=proof.primal)


def _features(
    model: Any, t: int, posed: PosedTask, X: Any, beta: np.ndarray, other: np.ndarray
) -> VerifiedCertificate:
    w = np.asarray(model.expansion_.coef)[t]
    f, error = np.empty(posed.rows.size), np.empty(posed.rows.size)
    v, size = np.zeros(w.size), np.zeros(w.size)
    step = SETTINGS.slice_rows // 16
    for start in range(0, posed.rows.size, step):
        part = slice(start, start + step)
        F = model.expansion_.map.transform(X[posed.rows[part]])
        f[part], error[part] = F @ w, np.abs(F) @ np.abs(w)
        v, size = v + F.T @ beta[part], size + np.abs(F).T @ np.abs(beta[part])
    error *= (w.size + 3) * EPS
    square = float(np.sum((np.abs(v) + (step + posed.rows.size // step + 3) * EPS * size) ** 2))
    norm = float(w @ w) * (1 + w.size * EPS)

    def own(k: int) -> float:
        return 1.01 * float(
            np.square(model.expansion_.map.transform(X[posed.rows[k : k + 1]])).sum()
        )

    proof = _certificate(model, t, posed, f, error, norm, beta, square, own)
    return replace(proof, distance_note=model.certificate_.distance_note)


# ---------------------------------------------------------------------- values


def _variables(posed: PosedTask, beta: np.ndarray) -> np.ndarray:
    """The duals of the rows as those of the variables: each in its half."""
    if posed.point.size == beta.size:
        return beta
    return np.concatenate([np.maximum(beta, 0.0), np.minimum(beta, 0.0)])


def _certificate(
    model: Any,
    t: int,
    posed: PosedTask,
    f: np.ndarray,
    error: np.ndarray,
    norm: float,
    beta: np.ndarray,
    square: float,
    own: Callable[[int], float],
) -> VerifiedCertificate:
    """From f and ‖w‖² of the model, and β with the square ‖Φᵀβ‖² of the low-rank problem."""
    b = float(np.asarray(model.intercept_)[t])
    r = posed.target - f[posed.point] - b
    delta = error[posed.point] + 4 * EPS * (np.abs(posed.target) + abs(b) + np.abs(f[posed.point]))
    level = b * posed.sum if posed.sum else 0.0
    primal = norm / 2 + posed.loss(r, delta) + level
    primal += 64 * EPS * (abs(primal) + abs(level))
    variables = _variables(posed, beta)
    dual = _gain(posed, variables) - square / 2 - _drift_cost(posed, beta, square, own)
    dual -= 64 * EPS * (abs(dual) + square)
    if not _is_feasible(posed, variables):
        dual = -np.inf
    gap = primal - dual
    tol = model.tol if model.gap_tol is None else model.gap_tol
    solved = relative(gap, primal) <= tol * (1 + SETTINGS.gap_tol_slack)
    size = np.abs(variables)
    at_bound = np.count_nonzero(size >= SETTINGS.at_bound * np.maximum(posed.upper, -posed.lower))
    zero = int(np.count_nonzero(beta == 0))
    found = Certificate.of(
        primal,
        dual,
        gap,
        math.sqrt(norm),
        (zero, min(at_bound, beta.size - zero), beta.size),
        kkt_violation=np.nan,
        bias_interval=(np.nan, np.nan),
        status=Status.SOLVED if solved else Status.NOT_REACHED,
        name=posed.name,
    )
    return VerifiedCertificate(**{k: getattr(found, k) for k in found.__dataclass_fields__})


def _gain(posed: PosedTask, variables: np.ndarray) -> float:
    """targetᵀβ, less the part of squared slack."""
    gain = math.fsum(posed.target * variables)
    if posed.diag is not None:
        gain -= math.fsum(posed.diag * variables**2) / 2 * (1 + 8 * EPS)
    return gain - 4 * EPS * float(np.abs(posed.target * variables).sum())


def _is_feasible(posed: PosedTask, variables: np.ndarray) -> bool:
    """Within the bounds, up to the rounding of C."""
    slack = 1 + SETTINGS.infeasible
    low, high = slack * posed.lower, slack * posed.upper
    return bool(((low <= variables) & (variables <= high)).all())


def _exact_dual(posed: PosedTask, kernel: Any, X: Any, beta: np.ndarray) -> float:
    """A lower bound of the dual value with the exact kernel, Σβ moved to what it must be."""
    variables = _variables(posed, beta)
    if not _is_feasible(posed, variables):
        return -np.inf
    used = np.flatnonzero(beta)
    rows, c = posed.rows[used], beta[used]
    f = bounded_sums(kernel, X, rows, rows, c[:, None]).column(0)
    square = math.fsum(c * f.high) + float(c @ f.low)
    square += float(np.abs(c) @ f.error) * 1.01 + 8 * EPS * float(np.abs(c * f.high).sum())
    gain = math.fsum(posed.target * variables)
    gain -= 4 * EPS * float(np.abs(posed.target * variables).sum())
    whole = square
    if posed.diag is not None:
        whole += math.fsum(posed.diag * variables**2) * (1 + 8 * EPS)
    value = gain - whole / 2
    if not posed.sum and gain < whole > 0:  # the best multiple of β
        value = max(gain, 0.0) ** 2 / (2 * whole) * (1 - 8 * EPS)
    value -= _drift_cost(posed, beta, square, partial(_own_of, kernel, X, posed.rows))
    return value - 64 * EPS * (abs(value) + square)


def _own_of(kernel: Any, X: Any, rows: np.ndarray, k: int) -> float:
    """An upper bound of k(x, x)."""
    return float(diagonal(kernel, X, rows[k : k + 1])[0])


def _drift_cost(
    posed: PosedTask, beta: np.ndarray, square: float, own: Callable[[int], float]
) -> float:
    """What it costs at most to move Σβ to what it must be, by the row with the most room.

    A change d of βₖ changes the dual value by d (targetₖ − fₖ) − ½ d² ‖φₖ‖², and |fₖ| ≤ ‖Φᵀβ‖ ‖φₖ‖.
    """
    drift = 0.0 if posed.sum is None else math.fsum([*beta.tolist(), -posed.sum])
    if drift == 0.0:
        return 0.0
    low, high = np.zeros(beta.size), np.zeros(beta.size)
    np.minimum.at(low, posed.point, posed.lower)
    np.maximum.at(high, posed.point, posed.upper)
    room = np.minimum(beta - low if drift > 0 else high - beta, np.abs(beta) + abs(drift))
    k = int(np.argmax(room))
    if room[k] < abs(drift):
        return np.inf
    size = own(k)
    target = float(np.abs(posed.target[posed.point == k]).max())
    return 1.01 * (abs(drift) * (target + math.sqrt(square * size)) + drift**2 * size / 2)
