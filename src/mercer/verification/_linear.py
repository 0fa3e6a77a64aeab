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

Scores and Xᵀβ come with bounds of their rounding (`_rounded_sums`), and every term is taken at the
worse end of its interval: ``primal`` and ``gap`` are upper bounds, ``dual`` is a lower one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.special import expit, xlog1py, xlogy

from mercer._result import Status
from mercer.certificates._certificate import Certificate, relative, summarise
from mercer.verification._rounded_sums import SMALL, UNIT, scores, sums, total

__all__ = ["find_linear"]

# A bound or a sum is broken if it is off by more than this, relatively; below it is rounding.
_BROKEN = 1e-8
_AT_BOUND = 1 - 1e-12
# The price of a row whose class has the weight 0.
_NO_PRICE = 1e-300
# With doubled precision again where rounding adds more than this part of the gap.
_MATTERS = 1e-3


@dataclass(frozen=True, eq=False)
class _Task:
    """One task: rows, model, prices, edges with the bound of their rounding, and kept duals."""

    X: Any
    w: np.ndarray
    b: float
    s: np.ndarray
    low: np.ndarray
    high: np.ndarray
    edge_error: np.ndarray
    beta: np.ndarray | None
    kappa: float | None
    kind: str
    name: str


def find_linear(
    model: Any, X: Any, y: np.ndarray, weight: np.ndarray, duals: np.ndarray | None
) -> Certificate:
    """The certificate of a linear machine; y are class numbers or targets, rows have a weight."""
    coef = np.atleast_2d(np.asarray(model.coef_, dtype=np.float64))
    b = np.asarray(model.intercept_, dtype=np.float64).ravel()
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        if getattr(model, "multi_class", "ovr") == "crammer_singer":
            assert duals is not None
            return _all_classes(model, X, y, weight, coef, b, duals.T)
        found = []
        for t in range(len(coef)):
            s, low, high, error = _edges(model, y, weight, t)
            kind = "logistic" if not hasattr(model, "loss") else (
                "squared" if "squared" in model.loss else "tube")  # fmt: skip
            name = "" if len(coef) == 1 else f"{model.classes_[t]} / rest"
            beta = None if duals is None else duals[t]
            task = _Task(X, coef[t], float(b[t]), s, low, high, error, beta, _kappa(model), kind,
                         name)  # fmt: skip
            look = _hard_margin if np.isinf(model.C) else _look
            found.append(_twice(partial(look, model, task), X))
    return summarise(found)


def _twice(look: Callable[[bool], tuple[Certificate, float]], X: Any) -> Certificate:
    """With doubled precision at once for few numbers, of more where rounding matters."""
    if X.shape[0] * X.shape[1] > SMALL:
        found, plain = look(False)
        if found.gap - plain <= _MATTERS * plain:
            return found
    return look(True)[0]


def _edges(
    model: Any, y: np.ndarray, weight: np.ndarray, task: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Prices, the edges between which a score costs nothing, and the bound of their rounding."""
    if not hasattr(model, "classes_"):
        e = model.epsilon
        low, high = y - e, y + e
        error = np.where(e == 0, 0.0, 1.01 * UNIT * (np.abs(y) + e)) + np.zeros(y.size)
        return model.C * weight, low, high, error
    k = len(model.classes_)
    positive = y == (1 if k == 2 else task)
    of_class = np.asarray(model.class_weight_)[y]
    if k > 2:  # the rest counts once
        of_class = np.where(positive, of_class, 1.0)
    s = np.maximum(model.C * of_class * weight, _NO_PRICE)
    low, high = np.where(positive, 1.0, -np.inf), np.where(positive, np.inf, -1.0)
    if hasattr(model, "loss"):  # a score may be anywhere where it costs nothing
        low, high = np.where(s > _NO_PRICE, low, -np.inf), np.where(s > _NO_PRICE, high, np.inf)
    return s, low, high, np.zeros(y.size)


# ---------------------------------------------------------------------- losses and their terms


def _slacks(task: _Task, g: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.maximum(task.low - g, 0), np.maximum(g - task.high, 0)


def _loss(task: _Task, g: np.ndarray) -> np.ndarray:
    if task.kind == "logistic":
        return task.s * np.logaddexp(0.0, -_labels(task) * g)
    under, over = _slacks(task, g)
    return task.s * (under + over if task.kind == "tube" else under**2 + over**2)


def _terms(task: _Task, g: np.ndarray, beta: np.ndarray) -> np.ndarray:
    """L(g) + L*(−β) + β g of each row, with the rounding of its own arithmetic on top."""
    s, alpha = task.s, np.abs(beta)
    if task.kind == "logistic":
        a, m = np.minimum(alpha / s, 1.0), _labels(task) * g
        cost = np.logaddexp(0.0, -m)
        parts = cost, xlogy(a, a), xlog1py(1 - a, -a), a * m
        size = sum(np.abs(part) for part in parts) + 40 * a
        return s * (np.maximum(sum(parts), 0) + 20 * UNIT * size + 1e-307)
    under, over = _slacks(task, g)
    own = np.where(beta > 0, task.low - g, np.where(beta < 0, g - task.high, 0.0))
    beyond = alpha * np.maximum(-own, 0)
    mine = np.where(alpha > 0, np.maximum(own, 0), 0.0)
    other = np.where(beta > 0, over, np.where(beta < 0, under, under + over))
    if task.kind == "tube":
        return (np.maximum(s - alpha, 0) * mine + s * other + beyond) * (1 + 8 * UNIT)
    off = np.abs(alpha - 2 * s * mine) + 20 * UNIT * (alpha + 2 * s * mine)
    return (off**2 / (4 * s) + s * other**2 + beyond) * (1 + 8 * UNIT)


def _own_duals(task: _Task, g: np.ndarray) -> np.ndarray:
    """−L'(g) of a smooth loss; Σβ = 0 where the intercept is free: the heavier side scaled down."""
    if task.kind == "logistic":
        y = _labels(task)
        beta = y * task.s * expit(-y * g)
    else:
        under, over = _slacks(task, g)
        beta = 2 * task.s * (under - over)
    if task.kappa != 0:
        return beta
    up, down = total(beta[beta > 0]), -total(beta[beta < 0])
    less = min(up, down)
    return np.where(beta > 0, beta * (less / up if up else 1), beta * (less / down if down else 1))


def _labels(task: _Task) -> np.ndarray:
    return np.where(np.isfinite(task.low), 1.0, -1.0)


def _broken(task: _Task, beta: np.ndarray) -> bool:
    """Whether duals are out of their bounds, or have a sum that they must not have."""
    if task.kind != "squared" and np.any(np.abs(beta) > task.s * (1 + _BROKEN)):
        return True
    if np.any((beta > 0) & ~np.isfinite(task.low)) or np.any((beta < 0) & ~np.isfinite(task.high)):
        return True
    return task.kappa == 0 and abs(total(beta)) > _BROKEN * max(total(np.abs(beta)), 1e-300)


def _balanced(task: _Task, beta: np.ndarray) -> tuple[np.ndarray, int, float]:
    """Duals cut to their bounds; the one that can take up what is left of Σβ, and that."""
    if task.kind != "squared":
        beta = np.clip(beta, -task.s, task.s)
    drift = total(beta) if task.kappa == 0 else 0.0
    if drift == 0:
        return beta, 0, 0.0
    k = int(np.argmax(np.sign(drift) * beta))
    return beta, k, drift * (1 + 2 * UNIT)


# ---------------------------------------------------------------------- one task


def _look(model: Any, task: _Task, precise: bool) -> tuple[Certificate, float]:
    """The certificate, and the gap without any rounding."""
    g, e = scores(task.X, task.w, task.b, precise)
    wide = e + task.edge_error
    ends = g - wide, g + wide
    beta = _own_duals(task, g) if task.beta is None else task.beta
    broken = _broken(task, beta)
    beta, k, drift = _balanced(task, beta)
    w_beta, error = sums(task.X, beta, precise)
    losses = [_loss(task, end) for end in ends]
    most = total(np.maximum(*losses)) * (1 + 12 * UNIT)
    inside = (ends[1] >= task.low) & (ends[0] <= task.high) & (task.kind != "logistic")
    least = total(np.where(inside, 0.0, np.minimum(*losses))) * (1 - 12 * UNIT)
    gap = total(np.maximum(*(_terms(task, end, beta) for end in ends)))
    plain = total(_terms(task, g, beta))
    gap += 6 * UNIT * most  # prices are products that were rounded
    if drift:
        moved = beta.copy()
        moved[k] -= drift
        broken = broken or moved[k] * beta[k] < 0
        here, there = (
            np.maximum(*(_terms(task, end, v)[k] for end in ends)) for v in (beta, moved)
        )
        gap += max(there - here, 0.0) + 16 * UNIT * (here + there)
        error = error + 1.01 * abs(drift) * _sizes(task.X, k)
    away = np.abs(task.w - w_beta)
    plain += total(away**2) / 2
    gap += total((away * (1 + UNIT) + error + 4 * UNIT * np.abs(w_beta)) ** 2) / 2
    square = total(task.w**2) / 2
    if task.kappa:
        square += task.kappa * task.b**2 / 2
        pull, sum_ = task.kappa * task.b, total(beta)
        apart = abs(pull - sum_)
        plain += apart**2 / (2 * task.kappa)
        gap += (apart + 8 * UNIT * (abs(pull) + abs(sum_))) ** 2 / (2 * task.kappa)
    violation, at_bound = _violation(task, g, beta)
    return _certificate(
        model, (least + square, most + square), gap, broken, violation, beta, at_bound,
        (task.b, task.b), _length(task.w), task.name,
    ), plain  # fmt: skip


def _hard_margin(model: Any, task: _Task, precise: bool) -> tuple[Certificate, float]:
    """C = ∞: with the smallest t for which t (w, b) satisfies y g ≥ 1 in the worst case,
    P − D = ½‖t w − Xᵀβ‖² + Σ|β| (t y g − 1).
    """
    assert task.beta is not None
    g, e = scores(task.X, task.w, task.b, precise)
    broken = _broken(task, task.beta)
    beta, k, drift = _balanced(task, task.beta)
    broken = broken or abs(drift) > abs(beta[k])
    w_beta, error = sums(task.X, beta, precise)
    if drift:
        error = error + 1.01 * abs(drift) * _sizes(task.X, k)
    margin, norm = _labels(task) * g, total(task.w**2) / 2
    least, most = float((margin - e).min()), float((margin + e).min())
    gap = plain = primal = np.inf
    if least > 0:
        t = (1 + 4 * UNIT) / least
        apart = np.abs(t * task.w - w_beta)
        away = apart + error + 8 * UNIT * (np.abs(w_beta) + np.abs(t * task.w))
        excess = np.maximum(t * (margin + e) * (1 + 4 * UNIT) - 1, 0.0)
        gap = total(away**2) / 2 + total(np.abs(beta) * excess) * (1 + 8 * UNIT)
        plain = total(apart**2) / 2 + total(np.abs(beta) * np.maximum(t * margin - 1, 0.0))
        primal = t * t * norm * (1 + 8 * UNIT)
    low = norm / most**2 * (1 - 8 * UNIT) if most > 0 else 0.0
    slack = 1 - margin
    violation = np.where(beta != 0, np.abs(slack), np.maximum(slack, 0.0)).max(initial=0.0)
    certificate = _certificate(
        model, (low, primal), gap, broken, float(violation), beta, np.zeros(len(beta), bool),
        (task.b, task.b), _length(task.w), task.name,
    )  # fmt: skip
    return certificate, plain


def _violation(task: _Task, g: np.ndarray, beta: np.ndarray) -> tuple[float, np.ndarray]:
    """How far a score is from where its dual would be optimal, and which duals are at the bound."""
    alpha = np.abs(beta)
    if task.kind != "tube":
        return 0.0, np.zeros(g.size, dtype=bool)
    under, over = _slacks(task, g)
    xi = np.maximum(under, over)
    own = np.where(beta > 0, task.low - g, np.where(beta < 0, g - task.high, xi))
    at_bound = alpha >= task.s * _AT_BOUND
    off = np.where(at_bound, np.maximum(-own, 0), np.abs(own))
    return float(np.where(alpha > 0, off, xi).max(initial=0.0)), at_bound


def _sizes(X: Any, k: int) -> np.ndarray:
    """|x| of one row."""
    row = X[[k]]
    row = row.toarray() if hasattr(row, "toarray") else np.asarray(row)
    return np.abs(row[0].astype(np.float64))


def _length(w: np.ndarray) -> float:
    top = float(np.abs(w).max(initial=0.0))
    return top * float(np.linalg.norm(w / top)) if 0 < top < np.inf else top


# ---------------------------------------------------------------------- all classes at once


def _all_classes(
    model: Any, X: Any, y: np.ndarray, weight: np.ndarray, W: np.ndarray, b: np.ndarray,
    beta: np.ndarray,
) -> Certificate:  # fmt: skip
    """Crammer and Singer's problem; of two classes a model keeps the difference alone."""
    if len(W) == 1:
        W, b = np.vstack([-W, W]) / 2, np.concatenate([-b, b]) / 2
    s = np.maximum(model.C * np.asarray(model.class_weight_)[y] * weight, _NO_PRICE)
    own = np.eye(len(W), dtype=bool)[y]
    return _twice(lambda precise: _joint_look(model, X, W, b, s, own, beta, precise), X)


def _joint_look(
    model: Any, X: Any, W: np.ndarray, b: np.ndarray, s: np.ndarray, own: np.ndarray,
    beta: np.ndarray, precise: bool,
) -> tuple[Certificate, float]:  # fmt: skip
    """As `_look`."""
    kappa, k = _kappa(model), len(W)
    pairs = [scores(X, W[r], float(b[r]), precise) for r in range(k)]
    g, e = (np.stack([pair[i] for pair in pairs], axis=1) for i in (0, 1))
    home, home_e = g[own][:, np.newaxis], e[own][:, np.newaxis]
    u = np.where(own, 0.0, 1.0 + g - home)
    wide = np.where(own, 0.0, e + home_e + 3 * UNIT * (1 + np.abs(g) + np.abs(home)))
    shares = np.where(own, s[:, np.newaxis], 0.0) - beta
    off = max(float(np.max(-shares / s[:, np.newaxis])), float(np.max(abs(beta.sum(axis=1)) / s)))
    below = u.max(axis=1, keepdims=True) - u
    high = (u + wide).max(axis=1, keepdims=True)
    worst = high - (u - wide)
    gap = total(np.maximum(shares, 0) * worst) * (1 + 16 * UNIT)
    plain = total(np.maximum(shares, 0) * below)
    most, least = total(s * high[:, 0]), total(s * (u - wide).max(axis=1))
    gap += 6 * UNIT * most
    # What is left of the sums is moved between classes, within rows that have room for it.
    totals = [total(column) for column in beta.T]
    drift = 1.01 * sum(abs(v) for v in totals) if kappa == 0 else 0.0
    off = max(off, drift / max(float(np.abs(beta).sum()), 1e-300))
    if drift:
        gap += k * drift * float(worst.max())
    square = 0.0
    for r, sum_ in enumerate(totals):
        w_beta, error = sums(X, np.ascontiguousarray(beta[:, r]), precise)
        if drift:
            error = error + drift * _top(X)
        away = np.abs(W[r] - w_beta)
        plain += total(away**2) / 2
        gap += total((away * (1 + UNIT) + error + 4 * UNIT * np.abs(w_beta)) ** 2) / 2
        square += total(W[r] ** 2) / 2
        if kappa:
            square += kappa * b[r] ** 2 / 2
            pull = kappa * b[r]
            gap += (abs(pull - sum_) + 8 * UNIT * (abs(pull) + abs(sum_))) ** 2 / (2 * kappa)
    used = np.where(own, shares > 1e-12 * s[:, np.newaxis], beta < 0)
    widest = max(_length(other - row) for row in W for other in W)
    return _certificate(
        model, (least * (1 - 8 * UNIT) + square, most * (1 + 8 * UNIT) + square), gap,
        off > _BROKEN, float(below[used].max(initial=0.0)), beta[own], beta[own] >= s * _AT_BOUND,
        (float("nan"), float("nan")), widest, "",
    ), plain  # fmt: skip


def _top(X: Any) -> float:
    """The largest |x| there is."""
    data = X.data if hasattr(X, "indptr") else X
    return float(np.abs(np.asarray(data, dtype=np.float64)).max(initial=0.0))


def _certificate(
    model: Any, ends: tuple[float, float], gap: float, broken: bool, violation: float,
    beta: np.ndarray, at_bound: np.ndarray, interval: tuple, norm: float, name: str,
) -> Certificate:  # fmt: skip
    """Upper bounds of value and gap, a lower one of the dual: what is rounded up is added."""
    primal = ends[1] * (1 + 8 * UNIT)
    gap = (gap + max(primal - ends[0] * (1 - 8 * UNIT), 0.0)) * (1 + 16 * UNIT)
    if not gap <= primal:  # no loss is negative
        gap = primal
    if broken or not np.isfinite(primal):
        gap = np.inf
    relative_gap, zero = relative(gap, primal), beta == 0
    at_bound = at_bound & ~zero
    return Certificate(
        primal=primal, dual=primal - gap, gap=gap, relative_gap=relative_gap,
        kkt_violation=violation, bias_interval=interval,
        margin=2 / norm if norm > 2e-308 else np.inf,
        n_zero=int(zero.sum()), n_free=int((~zero & ~at_bound).sum()), n_bound=int(at_bound.sum()),
        status=Status.SOLVED if relative_gap <= model.tol * 1.01 else Status.STALLED, name=name,
    )  # fmt: skip


def _kappa(model: Any) -> float | None:
    if not model.fit_intercept:
        return None
    return 0.0 if model.intercept_scaling is None else model.intercept_scaling**-2
