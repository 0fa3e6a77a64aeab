"""What `mercer.verify` finds about linear machines, from (w, b), the kept duals and the data.

With g = Xw + b, s = C · weights, κ the price of ½ b² (0 where the intercept is free), edges
low ≤ high, ξ the way from g to the next edge, and (·)₊ = max(0, ·):

    hinge, tube    P = ½‖w‖² + ½κb² + Σ s ξ     gap = Σ (s − α) ξ + α (way beyond its own edge)
    their squares  P = ½‖w‖² + ½κb² + Σ s ξ²    gap = Σ (α − 2sξ)²/(4s) + α (way beyond its edge)
    logistic       P = ½‖w‖² + ½κb² + Σ s log(1 + exp(−m)), m = y g, and with a = α/s
                   gap = Σ s (log(1 + exp(−m)) + a log a + (1 − a) log(1 − a) + a m)
    all classes    P = ½‖W‖² + ½κ‖b‖² + Σ s max_r u_r,  u_r = [r ≠ y] + g_r − g_y
                   gap = Σ a_r (max u − u_r),  a_r = s [r = y] − β_r

each with ½‖w − Xᵀβ‖² + ½κ(b − Σβ/κ)² on top. Duals of the hinge, the tube and of all classes are
those the model keeps (``dual_coef_``). Those of smooth losses, where it keeps none, follow from the
scores, β = −L'(g), and where the intercept is free the heavier side is scaled until Σβ = 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit, xlogy

from mercer.certificate import Certificate, relative, summarise
from mercer.result import Status

__all__ = ["find_linear"]

_EPS = float(np.finfo(np.float64).eps)
# Units of rounding of P and D: fewer than a fit states, more than half of it.
_ROUNDING_UNITS = 10
# A bound or a sum is broken if it is off by more than this, relatively; below 1e-12 it is rounding.
_BROKEN, _ROUNDED = 1e-8, 1e-12
# Rows taken to float64 at once.
_SLICE = 65_536


def find_linear(
    model: Any, X: Any, y: np.ndarray, weight: np.ndarray, duals: np.ndarray | None
) -> Certificate:
    """The certificate of a linear machine; y are class numbers or targets, rows have a weight."""
    coef = np.atleast_2d(np.asarray(model.coef_, dtype=np.float64))
    b = np.asarray(model.intercept_, dtype=np.float64).ravel()
    if getattr(model, "multi_class", "ovr") == "crammer_singer":
        assert duals is not None
        return _all_classes(model, X, y, weight, coef, b, duals.T)
    G = _scores(X, coef, b)
    found = []
    for t in range(len(coef)):
        s, low, high = _edges(model, y, weight, t)
        beta = None if duals is None else duals[t]
        name = "" if len(coef) == 1 else f"{model.classes_[t]} / rest"
        found.append(_task(model, X, coef[t], b[t : t + 1], G[:, t], s, low, high, beta, name))
    return summarise(found)


def _edges(
    model: Any, y: np.ndarray, weight: np.ndarray, task: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Prices, and the edges between which a score costs nothing."""
    if not hasattr(model, "classes_"):
        return model.C * weight, y - model.epsilon, y + model.epsilon
    k = len(model.classes_)
    positive = y == (1 if k == 2 else task)
    of_class = np.asarray(model.class_weight_)[y]
    if k > 2:  # the rest counts once
        of_class = np.where(positive, of_class, 1.0)
    s = model.C * of_class * weight
    return s, np.where(positive, 1.0, -np.inf), np.where(positive, np.inf, -1.0)


def _task(
    model: Any, X: Any, w: np.ndarray, b: np.ndarray, g: np.ndarray, s: np.ndarray,
    low: np.ndarray, high: np.ndarray, beta: np.ndarray | None, name: str,
) -> Certificate:  # fmt: skip
    """One task: the loss, the terms of its gap and its violation."""
    kappa = _kappa(model)
    under, over = np.maximum(low - g, 0), np.maximum(g - high, 0)
    xi = np.maximum(under, over)
    violation, at_bound = 0.0, np.zeros(g.size, dtype=bool)
    outside = 0.0
    if not hasattr(model, "loss"):  # logistic
        y = np.where(np.isfinite(low), 1.0, -1.0)
        beta = _balanced(y * s * expit(-y * g), kappa)
        a, m = np.abs(beta) / s, y * g
        cost = np.logaddexp(0.0, -m)
        loss, terms = s @ cost, s * np.maximum(cost + xlogy(a, a) + xlogy(1 - a, 1 - a) + a * m, 0)
    elif "squared" in model.loss:
        beta = _balanced(2 * s * (under - over), kappa) if beta is None else beta
        alpha, own = np.abs(beta), _way(beta, g, low, high, xi)
        loss, terms = s @ xi**2, (alpha - 2 * s * xi) ** 2 / (4 * s) + alpha * (xi - own)
    else:
        assert beta is not None
        alpha, own = np.abs(beta), _way(beta, g, low, high, xi)
        loss = s @ xi
        terms = s * xi - np.where(alpha > 0, alpha * own, 0.0)
        at_bound = alpha >= s * (1 - 1e-12)
        off = np.where(at_bound, np.maximum(-own, 0), np.abs(own))
        violation = float(np.where(alpha > 0, off, xi).max(initial=0.0))
        outside = float(np.max(alpha / s, initial=0.0)) - 1
    rest, off_sum = _beside(kappa, X, w[np.newaxis], b, beta[:, np.newaxis])
    primal = float(loss + w @ w / 2 + (kappa or 0.0) * b @ b / 2)
    return _certificate(
        model, primal, float(np.maximum(terms, 0).sum()) + rest, max(outside, off_sum), violation,
        beta, at_bound, (float(b[0]), float(b[0])), float(np.linalg.norm(w)), name,
    )  # fmt: skip


def _way(
    beta: np.ndarray, g: np.ndarray, low: np.ndarray, high: np.ndarray, xi: np.ndarray
) -> np.ndarray:
    """From a score to the edge that its dual belongs to: above 0 where it is not yet there."""
    return np.where(beta > 0, low - g, np.where(beta < 0, g - high, xi))


def _all_classes(
    model: Any, X: Any, y: np.ndarray, weight: np.ndarray, W: np.ndarray, b: np.ndarray,
    beta: np.ndarray,
) -> Certificate:  # fmt: skip
    """Crammer and Singer's problem; of two classes a model keeps the difference alone."""
    if len(W) == 1:
        W, b = np.vstack([-W, W]) / 2, np.concatenate([-b, b]) / 2
    kappa, s = _kappa(model), model.C * np.asarray(model.class_weight_)[y] * weight
    own = np.eye(len(W), dtype=bool)[y]
    g = _scores(X, W, b)
    u = np.where(own, 0.0, 1.0 + g - g[own][:, np.newaxis])
    shares = np.where(own, s[:, np.newaxis], 0.0) - beta
    off = max(float(np.max(-shares / s[:, np.newaxis])), float(np.max(abs(beta.sum(axis=1)) / s)))
    below = u.max(axis=1, keepdims=True) - u
    rest, off_sum = _beside(kappa, X, W, b, beta)
    primal = float(np.vdot(W, W) / 2 + (kappa or 0.0) * b @ b / 2 + s @ u.max(axis=1))
    gap = float(np.vdot(np.maximum(shares, 0), below)) + rest
    widest = max(np.linalg.norm(W - row, axis=1).max() for row in W)
    used = np.where(own, shares > 1e-12 * s[:, np.newaxis], beta < 0)
    return _certificate(
        model, primal, gap, max(off, off_sum), float(below[used].max(initial=0.0)), beta[own],
        beta[own] >= s * (1 - 1e-12), (float("nan"), float("nan")), float(widest), "",
    )  # fmt: skip


def _certificate(
    model: Any, primal: float, gap: float, off: float, violation: float, beta: np.ndarray,
    at_bound: np.ndarray, interval: tuple, norm: float, name: str,
) -> Certificate:  # fmt: skip
    gap = gap + _ROUNDING_UNITS * _EPS * (abs(primal) + abs(primal - gap))
    if off > _BROKEN or not np.isfinite(gap):
        gap = np.inf
    relative_gap, zero = relative(gap, primal), beta == 0
    at_bound = at_bound & ~zero
    return Certificate(
        primal=primal, dual=primal - gap, gap=gap, relative_gap=relative_gap,
        kkt_violation=violation, bias_interval=interval, margin=2 / norm if norm > 0 else np.inf,
        n_zero=int(zero.sum()), n_free=int((~zero & ~at_bound).sum()), n_bound=int(at_bound.sum()),
        status=Status.SOLVED if relative_gap <= model.tol * 1.01 else Status.STALLED, name=name,
    )  # fmt: skip


def _kappa(model: Any) -> float | None:
    if not model.fit_intercept:
        return None
    return 0.0 if model.intercept_scaling is None else model.intercept_scaling**-2


def _balanced(beta: np.ndarray, kappa: float | None) -> np.ndarray:
    """Σβ = 0 where the intercept is free: the heavier side scaled down."""
    if kappa != 0:
        return beta
    up, down = beta[beta > 0].sum(), -beta[beta < 0].sum()
    less = min(up, down)
    return np.where(beta > 0, beta * (less / up if up else 1), beta * (less / down if down else 1))


def _beside(
    kappa: float | None, X: Any, W: np.ndarray, b: np.ndarray, beta: np.ndarray
) -> tuple[float, float]:
    """½‖W − βᵀX‖² and the intercepts' part of the gap; how far sums are from zero, relatively."""
    away = W.copy()
    for part in _slices(X):
        away -= (_float64(X[part]).T @ beta[part]).T
    rest, sums = float(np.vdot(away, away)) / 2, beta.sum(axis=0)
    if kappa:
        return rest + kappa * float(np.sum((b - sums / kappa) ** 2)) / 2, 0.0
    if kappa is None:
        return rest, 0.0
    off = float(np.abs(sums).max() / max(np.abs(beta).sum(), 1e-300))
    return rest + (float(abs(b @ sums)) if off > _ROUNDED else 0.0), off


def _scores(X: Any, W: np.ndarray, b: np.ndarray) -> np.ndarray:
    out = np.empty((X.shape[0], len(W)))
    for part in _slices(X):
        out[part] = _float64(X[part]) @ W.T + b
    return out


def _slices(X: Any) -> list[slice]:
    return [slice(start, start + _SLICE) for start in range(0, X.shape[0], _SLICE)]


def _float64(X: Any) -> Any:
    return X.astype(np.float64)
