"""Linear models recomputed from (w, b), the stored dual variables and the data.

With g = Xw + b, the losses L and edges of `_losses`, and κ the penalty of ½ b² (0 where the
intercept is not penalised):

    P = ½‖w‖² + ½κb² + Σ L
    gap = Σ (L + L*(−β) + βg) + ½‖w − Xᵀβ‖² + ½κ(b − Σβ/κ)²

    all classes jointly (Crammer and Singer):
    P = ½‖W‖² + ½κ‖b‖² + Σ C max_r u_r,  u_r = [r ≠ y] + g_r − g_y
    gap = Σ a_r (max u − u_r) + the same squares,  a_r = C [r = y] − β_r

    L1 penalty: see `_l1`

    hard margin (C = ∞), with t ≥ 0 the smallest for which t (w, b) satisfies y g ≥ 1:
    P = ½‖t w‖²,  gap = ½‖t w − Xᵀβ‖² + Σ |β| (t y g − 1)

The dual variables of the hinge, of the ε-insensitive loss and of all classes jointly are those that
the model stores (``dual_coef_``). Those of smooth losses, where it stores none, follow from the
scores, β = −L'(g); where the intercept is not penalised, the larger of Σβ₊ and Σβ₋ is scaled down
until Σβ = 0.

Scores and Xᵀβ come with bounds of their rounding (`_rounding`), and every term is taken at the
worse end of its interval: ``primal`` and ``gap`` are upper bounds, ``dual`` is a lower one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer._precision import UNIT
from mercer._result import Status
from mercer.certificates._certificate import Certificate, relative, summarise
from mercer.verification._l1 import excess, feasible_factor, norm_terms
from mercer.verification._losses import (
    HINGE,
    LOGISTIC,
    SQUARED_HINGE,
    EdgeLoss,
    Edges,
    edges,
    kkt_violation,
)
from mercer.verification._rounding import SETTINGS, column_sums, scores, total

__all__ = ["recompute_linear"]


@dataclass(frozen=True, eq=False)
class _Task:
    """One task: rows, model, edges of the loss, stored dual variables, κ (None: no intercept)."""

    X: Any
    w: np.ndarray
    b: float
    edges: Edges
    loss: EdgeLoss
    beta: np.ndarray | None
    kappa: float | None
    name: str
    is_l1: bool = False


@dataclass(frozen=True, eq=False)
class _Recomputed:
    """Bounds of the loss's sum and of ½‖w‖² + ½κb²; the gap with and without rounding."""

    primal: tuple[float, float]
    gap: float
    plain_gap: float
    is_infeasible: bool
    violation: float
    beta: np.ndarray
    at_bound: np.ndarray
    interval: tuple[float, float]
    norm: float
    name: str = ""


def recompute_linear(
    model: Any, X: Any, y: np.ndarray, weight: np.ndarray, duals: np.ndarray | None
) -> Certificate:
    """The certificate of a linear model; y are class numbers or targets, weights are positive."""
    coef = model.coef_.toarray() if sp.issparse(model.coef_) else model.coef_
    coef = np.atleast_2d(np.asarray(coef, dtype=np.float64))
    b = np.asarray(model.intercept_, dtype=np.float64).ravel()
    loss = _loss(model)
    found = []
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        if getattr(model, "multi_class", "ovr") == "crammer_singer":
            assert duals is not None
            joint = partial(_recompute_joint, model, X, y, weight, coef, b, duals.T)
            return _certificate(model, _as_precisely_as_needed(joint, X))
        for t in range(len(coef)):
            task = _Task(
                X,
                coef[t],
                float(b[t]),
                edges(model, y, _row_C(model, y, weight, t), t, loss),
                loss,
                None if duals is None else duals[t],
                _kappa(model),
                "" if len(coef) == 1 else f"{model.classes_[t]} / rest",
                _is_l1(model),
            )
            recompute = _recompute_hard_margin if np.isinf(model.C) else _recompute
            values = _as_precisely_as_needed(partial(recompute, task), X)
            found.append(_certificate(model, values))
    return summarise(found)


def _loss(model: Any) -> EdgeLoss:
    if not hasattr(model, "loss"):
        return LOGISTIC
    return SQUARED_HINGE if "squared" in model.loss else HINGE


def _is_l1(model: Any) -> bool:
    return getattr(model, "penalty", "l2") == "l1"


def _kappa(model: Any) -> float | None:
    if not model.fit_intercept:
        return None
    if model.intercept_scaling is None or np.isinf(model.C):
        return 0.0
    return model.intercept_scaling ** (-1 if _is_l1(model) else -2)


def _row_C(model: Any, y: np.ndarray, weight: np.ndarray, task: int | None = None) -> np.ndarray:
    """C of each row; against the rest, the class weight counts for the positive class alone."""
    if not hasattr(model, "classes_"):
        return model.C * weight
    factor = np.asarray(model.class_weight_)[y]
    if task is not None and len(model.classes_) > 2:
        factor = np.where(y == task, factor, 1.0)
    return np.maximum(model.C * factor * weight, SETTINGS.smallest_C)


def _as_precisely_as_needed(recompute: Callable[[bool], _Recomputed], X: Any) -> _Recomputed:
    """In doubled precision at once for small X, for larger ones where rounding matters."""
    if X.shape[0] * X.shape[1] > SETTINGS.precise_entries:
        values = recompute(False)
        if values.gap - values.plain_gap <= SETTINGS.open_linear_gap * values.plain_gap:
            return values
    return recompute(True)


# ---------------------------------------------------------------------- one task


def _recompute(task: _Task, precise: bool) -> _Recomputed:
    g, error = scores(task.X, task.w, task.b, precise)
    of, loss, n = task.edges, task.loss, len(g)
    a, wide = of.distances(g), error[of.row] + of.error
    ends = a - wide, a + wide
    alpha = _gradient_duals(task, a) if task.beta is None else of.alpha(task.beta)
    is_infeasible = _is_infeasible(task, alpha, n)
    if loss is not SQUARED_HINGE:
        alpha = np.minimum(alpha, of.C)
    beta = of.beta(alpha, n)
    w_beta, w_error = column_sums(task.X, beta, precise)
    most = total(loss.value(of.C, ends[1])) * (1 + 12 * UNIT)
    least = total(loss.value(of.C, ends[0])) * (1 - 12 * UNIT)
    gap = total(np.maximum(*(loss.gap_terms(of.C, alpha, end) for end in ends)))
    gap += 6 * UNIT * most  # C is a rounded product
    plain = total(loss.gap_terms(of.C, alpha, a))
    drift = total(beta) * (1 + 2 * UNIT) if task.kappa == 0 else 0.0
    if drift:
        k, cost, moves_too_far = _drift_cost(task, alpha, ends, drift)
        is_infeasible = is_infeasible or moves_too_far
        gap += cost
        w_error = w_error + 1.01 * abs(drift) * _magnitudes(task.X, of.row[k])
    given = task.w, task.b, w_beta, w_error, total(beta), task.kappa
    squares = norm_terms(*given, most) if task.is_l1 else _squares(*given)
    at_bound = np.zeros(n, dtype=bool)
    if loss is HINGE:
        at_bound[of.row[alpha >= of.C * SETTINGS.at_bound]] = True
    return _Recomputed(
        primal=(least + squares[0], most + squares[0]),
        gap=gap + squares[1],
        plain_gap=plain + squares[2],
        is_infeasible=is_infeasible,
        violation=kkt_violation(alpha, of.C, a) if loss is HINGE else 0.0,
        beta=beta,
        at_bound=at_bound,
        interval=(task.b, task.b),
        norm=_length(task.w),
        name=task.name,
    )


def _recompute_hard_margin(task: _Task, precise: bool) -> _Recomputed:
    """C = ∞, with the smallest t for which t (w, b) satisfies y g ≥ 1 in the worst case."""
    assert task.beta is not None
    g, error = scores(task.X, task.w, task.b, precise)
    of, n = task.edges, len(g)
    alpha = of.alpha(task.beta)
    beta, is_infeasible = of.beta(alpha, n), _is_infeasible(task, alpha, n)
    w_beta, w_error = column_sums(task.X, beta, precise)
    drift = total(beta) * (1 + 2 * UNIT) if task.kappa == 0 else 0.0
    if drift:
        k = int(np.argmax(np.sign(drift) * of.sign * alpha))
        is_infeasible = is_infeasible or bool(abs(drift) > alpha[k])
        w_error = w_error + 1.01 * abs(drift) * _magnitudes(task.X, of.row[k])
    margin, error, square = of.sign * g[of.row], error[of.row], total(task.w**2) / 2
    least, most = float((margin - error).min()), float((margin + error).min())
    gap = plain = primal = np.inf
    if least > 0:
        t = (1 + 4 * UNIT) / least
        apart, size = np.abs(t * task.w - w_beta), np.abs(w_beta) + np.abs(t * task.w)
        excess = np.maximum(t * (margin + error) * (1 + 4 * UNIT) - 1, 0.0)
        gap = total((apart + w_error + 8 * UNIT * size) ** 2) / 2
        gap += total(alpha * excess) * (1 + 8 * UNIT)
        plain = total(apart**2) / 2 + total(alpha * np.maximum(t * margin - 1, 0.0))
        primal = t * t * square * (1 + 8 * UNIT)
    return _Recomputed(
        primal=(square / most / most * (1 - 8 * UNIT) if most > 0 else 0.0, primal),
        gap=gap,
        plain_gap=plain,
        is_infeasible=is_infeasible,
        violation=kkt_violation(alpha, of.C, of.distances(g)),
        beta=beta,
        at_bound=np.zeros(n, dtype=bool),
        interval=(task.b, task.b),
        norm=_length(task.w),
        name=task.name,
    )


def _squares(
    w: np.ndarray,
    b: float,
    w_beta: np.ndarray,
    error: np.ndarray,
    beta_sum: float,
    kappa: float | None,
) -> tuple[float, float, float]:
    """½‖w‖² + ½κb²; the upper bound of ½‖w − Xᵀβ‖² + ½κ(b − Σβ/κ)², and it without rounding."""
    away = np.abs(w - w_beta)
    square, plain = total(w**2) / 2, total(away**2) / 2
    widened = away * (1 + UNIT) + error + 4 * UNIT * np.abs(w_beta)
    high = total(widened**2) / 2
    if kappa:
        square += kappa * b * b / 2
        apart, size = abs(kappa * b - beta_sum), abs(kappa * b) + abs(beta_sum)
        plain += apart**2 / (2 * kappa)
        high += (apart + 8 * UNIT * size) ** 2 / (2 * kappa)
    return square, high, plain


def _gradient_duals(task: _Task, a: np.ndarray) -> np.ndarray:
    """α = L'(a) of a smooth loss; scaled so that Σβ = 0 where the intercept is not penalised."""
    of = task.edges
    alpha = task.loss.dual(of.C, a)
    if task.kappa == 0:
        up = of.sign > 0
        sums = total(alpha[up]), total(alpha[~up])
        factors = [min(sums) / each if each else 1.0 for each in sums]
        alpha = np.where(up, alpha * factors[0], alpha * factors[1])
    if task.is_l1:
        beta = of.beta(alpha, task.X.shape[0])
        largest = excess(column_sums(task.X, beta, False)[0], total(beta), task.kappa)
        alpha = alpha * feasible_factor(alpha, of.C, largest)
    return alpha


def _is_infeasible(task: _Task, alpha: np.ndarray, n: int) -> bool:
    """Whether dual variables exceed their bounds, have a wrong sign, or Σβ ≠ 0."""
    of, limit = task.edges, SETTINGS.infeasible
    if task.loss is not SQUARED_HINGE and np.any(alpha > of.C * (1 + limit)):
        return True
    if task.beta is not None and np.any(of.beta(alpha, n) != task.beta):
        return True
    drift = abs(total(of.sign * alpha)) if task.kappa == 0 else 0.0
    return drift > limit * max(total(alpha), 1e-300)


def _drift_cost(
    task: _Task, alpha: np.ndarray, ends: tuple[np.ndarray, np.ndarray], drift: float
) -> tuple[int, float, bool]:
    """What the gap grows by if the largest dual variable of its side takes up Σβ ≠ 0."""
    of, loss = task.edges, task.loss
    k = int(np.argmax(np.sign(drift) * of.sign * alpha))
    moved = alpha[k] - abs(drift)
    here, there = (
        max(float(loss.gap_terms(of.C[k], value, end[k])) for end in ends)
        for value in (alpha[k], max(moved, 0.0))
    )
    return k, max(there - here, 0.0) + 16 * UNIT * (here + there), bool(moved < 0)


def _magnitudes(X: Any, k: int) -> np.ndarray:
    """|x| of one row."""
    row = X[[k]]
    row = row.toarray() if hasattr(row, "toarray") else np.asarray(row)
    return np.abs(row[0].astype(np.float64))


def _length(w: np.ndarray) -> float:
    top = float(np.abs(w).max(initial=0.0))
    return top * float(np.linalg.norm(w / top)) if 0 < top < np.inf else top


# ---------------------------------------------------------------------- all classes jointly


def _recompute_joint(
    model: Any,
    X: Any,
    y: np.ndarray,
    weight: np.ndarray,
    W: np.ndarray,
    b: np.ndarray,
    beta: np.ndarray,
    precise: bool,
) -> _Recomputed:
    """Crammer and Singer's problem; of two classes a model stores the difference alone."""
    if len(W) == 1:
        W, b = np.vstack([-W, W]) / 2, np.concatenate([-b, b]) / 2
    C, own = _row_C(model, y, weight), np.eye(len(W), dtype=bool)[y]
    kappa, k = _kappa(model), len(W)
    pairs = [scores(X, W[r], float(b[r]), precise) for r in range(k)]
    g, error = (np.stack([pair[i] for pair in pairs], axis=1) for i in (0, 1))
    g_own, error_own = g[own][:, np.newaxis], error[own][:, np.newaxis]
    u = np.where(own, 0.0, 1.0 + g - g_own)
    rounding = 3 * UNIT * (1 + np.abs(g) + np.abs(g_own))
    wide = np.where(own, 0.0, error + error_own + rounding)
    a = np.where(own, C[:, np.newaxis], 0.0) - beta
    off = max(float(np.max(-a / C[:, np.newaxis])), float(np.max(abs(beta.sum(axis=1)) / C)))
    below = u.max(axis=1, keepdims=True) - u
    high = (u + wide).max(axis=1, keepdims=True)
    worst = high - (u - wide)
    gap = total(np.maximum(a, 0) * worst) * (1 + 16 * UNIT)
    plain = total(np.maximum(a, 0) * below)
    most, least = total(C * high[:, 0]), total(C * (u - wide).max(axis=1))
    gap += 6 * UNIT * most
    # The remaining Σβ_r is moved between classes, within rows that have the slack for it.
    sums = [total(column) for column in beta.T]
    drift = 1.01 * sum(abs(v) for v in sums) if kappa == 0 else 0.0
    off = max(off, drift / max(float(np.abs(beta).sum()), 1e-300))
    if drift:
        gap += k * drift * float(worst.max())
    square = 0.0
    for r, beta_sum in enumerate(sums):
        w_beta, w_error = column_sums(X, np.ascontiguousarray(beta[:, r]), precise)
        w_error = w_error + drift * _largest(X) if drift else w_error
        terms = _squares(W[r], float(b[r]), w_beta, w_error, beta_sum, kappa)
        square, gap, plain = square + terms[0], gap + terms[1], plain + terms[2]
    used = np.where(own, a > 1e-12 * C[:, np.newaxis], beta < 0)
    return _Recomputed(
        primal=(
            least * (1 - 8 * UNIT) + square,
            most * (1 + 8 * UNIT) + square,
        ),
        gap=gap,
        plain_gap=plain,
        is_infeasible=off > SETTINGS.infeasible,
        violation=float(below[used].max(initial=0.0)),
        beta=beta[own],
        at_bound=beta[own] >= C * SETTINGS.at_bound,
        interval=(float("nan"), float("nan")),
        norm=max(_length(other - row) for row in W for other in W),
    )


def _largest(X: Any) -> float:
    """The largest |x|."""
    data = X.data if hasattr(X, "indptr") else X
    return float(np.abs(np.asarray(data, dtype=np.float64)).max(initial=0.0))


def _certificate(model: Any, values: _Recomputed) -> Certificate:
    """Upper bounds of value and gap, a lower one of the dual: what is rounded up is added."""
    primal = values.primal[1] * (1 + 8 * UNIT)
    least = values.primal[0] * (1 - 8 * UNIT)
    gap = (values.gap + max(primal - least, 0.0)) * (1 + 16 * UNIT)
    if not gap <= primal:  # no loss is negative, so the dual value 0 is known
        gap = primal
    if values.is_infeasible or not np.isfinite(primal):
        gap = np.inf
    zero = values.beta == 0
    is_solved = relative(gap, primal) <= model.tol * (1 + SETTINGS.gap_tol_slack)
    return Certificate.of(
        primal,
        primal - gap if np.isfinite(gap) else -np.inf,
        gap,
        values.norm,
        (zero.sum(), np.sum(values.at_bound & ~zero), zero.size),
        kkt_violation=values.violation,
        bias_interval=values.interval,
        status=Status.SOLVED if is_solved else Status.NOT_REACHED,
        name=values.name,
    )
