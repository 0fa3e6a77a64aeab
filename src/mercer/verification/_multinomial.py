"""Multinomial logistic regression recomputed from (W, b) and the data.

With the scores g = XWᵀ + b of k classes, p = softmax(g), and κ the penalty of ½ b² (0: free):

    P = ½‖W‖² + ½κ‖b‖² + Σ C (log Σ_r exp g_r − g_y)
    gap = Σ C KL(q ‖ p) + ½‖W − BᵀX‖² + ½κ‖b − ΣB/κ‖²,    B_r = C ([y = r] − q_r)

for any probabilities q of each row, with Σᵢ B_ir = 0 for each r where the intercept is free: there
q = softmax(g + c) with the best constants c, else q = p. With v = log(q/p)

    KL(q ‖ p) = Σ_r p_r (exp(v_r)(v_r − 1) + 1)
    exp(v)(v − 1) + 1 = ∫₀^v s exp(s) ds ≤ ½ v² exp|v|

Over scores in g ± e it grows by at most Σ_r |p_r − q_r| e_r + ½ max e², and the loss by at most
2 (1 − p_y) max e + ½ max e².

What is left of Σᵢ B_ir after rounding is moved from class to class within rows that have more than
twice as much of it. A weight s that is moved changes entropies by at most 2s (1 + |log s| + 3 log k
+ |g|), and by s max|v| + 2s²/(C min q) where all classes have a multiple of it.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
from scipy.special import logsumexp, softmax

from mercer._precision import EPS, UNIT
from mercer.certificates._certificate import Certificate
from mercer.verification._linear import (
    _as_precisely_as_needed,
    _certificate,
    _kappa,
    _length,
    _magnitudes,
    _Recomputed,
    _row_C,
    _squares,
)
from mercer.verification._rounding import SETTINGS, column_sums, scores, total

__all__ = ["is_multinomial", "recompute_multinomial"]


def is_multinomial(model: Any) -> bool:
    """Whether a linear model is a softmax over more than two classes."""
    return getattr(model, "multi_class", "") == "multinomial" and len(model.classes_) > 2


def recompute_multinomial(model: Any, X: Any, y: np.ndarray, weight: np.ndarray) -> Certificate:
    """The certificate of a softmax; y are class numbers, weights are positive."""
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        values = _as_precisely_as_needed(partial(_recompute, model, X, y, weight), X)
    return _certificate(model, values)


def _recompute(model: Any, X: Any, y: np.ndarray, weight: np.ndarray, precise: bool) -> _Recomputed:
    """Bounds of value and gap."""
    coef = model.coef_.toarray() if hasattr(model.coef_, "toarray") else model.coef_
    W, kappa, C = np.asarray(coef, np.float64), _kappa(model), _row_C(model, y, weight)
    k, b = len(W), np.ravel(np.asarray(model.intercept_, np.float64))
    pairs = [scores(X, W[r], float(b[r]), precise) for r in range(k)]
    g, error = (np.stack([pair[i] for pair in pairs], axis=1) for i in (0, 1))
    own = np.eye(k, dtype=bool)[y]
    c = _best_constants(g, own, C) if kappa == 0 else np.zeros(k)
    B, q = _dual_point(softmax(g + c, axis=1), own, C)
    least, most = (total(C * value) for value in _losses(g, error, own))
    terms, plain_terms, v = _divergences(g, q, error)
    # C is a rounded product; so are the entropies with it, at most log k each.
    gap = total(C * terms) + 6 * UNIT * (most + math.log(k) * total(C))
    plain = total(C * plain_terms)
    sums = [total(column) for column in B.T]
    left = (1 + EPS) * sum(abs(each) for each in sums) if kappa == 0 else 0.0
    rows, cost = _absorb(left, C, q, v, g, error) if left else ([], 0.0)
    gap += cost
    square = 0.0
    for r in range(k):
        column = np.ascontiguousarray(B[:, r])
        w_beta, w_error = column_sums(X, column, precise)
        for row in rows:
            w_error = w_error + 1.01 * left * _magnitudes(X, row)
        values = _squares(W[r], float(b[r]), w_beta, w_error, sums[r], kappa)
        square, gap, plain = square + values[0], gap + values[1], plain + values[2]
    return _Recomputed(
        primal=(least + square, most + square),
        gap=gap,
        plain_gap=plain,
        is_infeasible=False,
        violation=0.0,
        beta=B[own],
        at_bound=np.zeros(len(y), dtype=bool),
        interval=(float("nan"), float("nan")),
        norm=max(_length(other - row) for row in W for other in W),
    )


def _losses(g: np.ndarray, error: np.ndarray, own: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Bounds of log Σ exp g − g_y = log(1 + Σ exp(g_r − g_y)) of each row."""
    k = g.shape[1]
    away = np.where(own, -np.inf, g - g[own][:, np.newaxis])
    top = away.max(axis=1)
    rest = np.exp(away - top[:, np.newaxis]).sum(axis=1)
    with np.errstate(over="ignore"):
        value = np.where(top < 0, np.log1p(rest * np.exp(top)), top + np.log(rest + np.exp(-top)))
    e, wrong = error.max(axis=1), -np.expm1(-value)
    lost = 2.02 * wrong * e + e * e / 2 + 1e-307
    lost += (k + 16 + 4 * np.abs(g).max(axis=1)) * EPS * (value + wrong)
    return np.maximum(value - lost, 0.0), value + lost


def _dual_point(q: np.ndarray, own: np.ndarray, C: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """B whose rows sum to zero exactly, near C ([y = r] − q), and the q that it has.

    The entries of other classes are multiples of a power of two that is 2⁻⁵¹ of their sum, so that
    they are summed without rounding.
    """
    k = q.shape[1]
    ignored = C @ own <= len(C) * SETTINGS.smallest_C  # classes without weight have no duals
    others = np.where(own | ignored, 0.0, C[:, np.newaxis] * q * (1 - (k + 4) * 2.0**-51))
    others[SETTINGS.smallest_C >= C] = 0.0
    size = others.sum(axis=1, keepdims=True)
    grid = 2.0 ** (np.ceil(np.log2(np.maximum(size, 1e-250))) - 51)
    others = np.round(others / grid) * grid
    B = -others
    B[own] = others.sum(axis=1)
    a = others / C[:, np.newaxis]
    a[own] = (C - B[own]) / C
    return B, a


def _divergences(
    g: np.ndarray, q: np.ndarray, error: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """KL(q ‖ softmax(g)) of each row: at most, and without rounding; log(q/p)."""
    k = g.shape[1]
    p, away = softmax(g, axis=1), g - g.max(axis=1, keepdims=True)
    log_p = away - logsumexp(away, axis=1, keepdims=True)
    has = (q > 0) & (p > 1e-300)
    ratio = np.where(has, q / np.where(has, p, 1.0), 1.0)
    v = np.where(has & (np.abs(ratio - 1) < 0.5), np.log1p(ratio - 1), 0.0)
    v = np.where((q > 0) & (v == 0), np.log(np.where(q > 0, q, 1.0)) - log_p, v)
    rounding = (2 * k + 24 + 2 * np.abs(away)) * UNIT
    size = np.abs(v)
    with np.errstate(over="ignore", invalid="ignore"):
        near = p * (size + rounding) ** 2 / 2 * np.exp(size + rounding) * (1 + 2 * rounding)
        far = np.maximum(q * v - q + p, 0.0) + (q * (1 + size) + p) * (8 * UNIT + rounding)
        plain = p * size**2 / 2
    is_near = (size < 0.5) & (q > 0)
    e = error.max(axis=1)
    wide = ((np.abs(p - q) + (p + q) * rounding) * error).sum(axis=1) + e * e / 2
    worst = np.where(is_near, near, far).sum(axis=1) + wide + 1e-307
    return worst, np.where(is_near, plain, np.maximum(q * v - q + p, 0.0)).sum(axis=1), v


def _absorb(
    left: float, C: np.ndarray, q: np.ndarray, v: np.ndarray, g: np.ndarray, error: np.ndarray
) -> tuple[list[int], float]:
    """The rows within which what is left of Σᵢ B_ir is moved, and by how much the gap grows.

    One row with enough for every class, whose entropies change by the slope v and a curvature of
    C/q; else a row for each class.
    """
    k, used = q.shape[1], C @ (q > 0) > SETTINGS.smallest_C * len(C)
    row = int(np.argmax(C * q[:, used].min(axis=1)))
    least = float(C[row] * q[row, used].min())
    if least >= 4 * left:
        slope = float(np.abs(v[row, used]).max()) + 2 * float(error[row].max()) + 1e-12
        return [row], 1.01 * left * (slope + 2 * left / least)
    classes = np.flatnonzero(used)
    rows = [int(np.argmax(C * q[:, r])) for r in classes]
    cost = 0.0
    for r, row in zip(classes, rows, strict=True):
        spread = float(np.ptp(g[row])) + 2 * float(error[row].max())
        size = 1 + abs(math.log(left / C[row])) + 3 * math.log(k) + spread
        cost += 2.02 * left * size if C[row] * q[row, r] >= 2 * left else np.inf
    return rows, cost


def _best_constants(g: np.ndarray, own: np.ndarray, C: np.ndarray) -> np.ndarray:
    """c for which the sums of C softmax(g + c) over the rows are those of the classes.

    Newton's method, halved where the value does not fall.
    """
    c, wanted = np.zeros(g.shape[1]), C @ own

    def value(c: np.ndarray) -> float:
        return total(C * logsumexp(g + c, axis=1)) - float(wanted @ c)

    best, least = c, np.inf
    for _ in range(60):
        q = softmax(g + c, axis=1)
        gradient = C @ q - wanted
        size = float(np.abs(gradient).sum())
        if size < least:
            best, least = c, size
        if size <= EPS * wanted.sum() or size > 1e3 * least:
            break
        hessian = np.diag(C @ q) - (C[:, np.newaxis] * q).T @ q
        step = np.linalg.lstsq(hessian, gradient, rcond=1e-15)[0]
        length = 1.0
        if np.abs(step).max() > 1e-6:  # below, differences of values are rounding
            while not value(c - length * step) <= value(c) and length > EPS:
                length /= 2
        after = c - length * step
        if np.array_equal(after, c):
            break
        c = after
    return best
