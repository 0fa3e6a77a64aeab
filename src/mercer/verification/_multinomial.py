"""Multinomial logistic regression recomputed from (W, b) and the data.

With the scores g = XWᵀ + b of k classes, p = softmax(g), and κ the penalty of ½ b² (0: free):

    P = ½‖W‖² + ½κ‖b‖² + Σ C (log Σ_r exp g_r − g_y)
    gap = Σ C KL(q ‖ p) + ½‖W − BᵀX‖² + ½κ‖b − ΣB/κ‖²,    B_r = C ([y = r] − q_r)

for any probabilities q of each row, with Σᵢ B_ir = 0 for each r where the intercept is free: there
q = softmax(g + c) with the best constants c, else q = p. With v = log(q/p) = c − (constant)

    KL(q ‖ p) = Σ_r p_r (exp(v_r)(v_r − 1) + 1),    exp(v)(v − 1) + 1 = ∫₀^v s exp(s) ds ≤ ½ v² exp|v|

Over scores in g ± e it grows by at most Σ_r |p_r − q_r| e_r + ½ max e², and the loss by at most
2 (1 − p_y) max e + ½ max e².

What is left of Σᵢ B_ir after rounding is moved from class to class within rows that have twice as
much of it. A weight s that is moved changes entropies by at most 2s (1 + |log s| + 3 log k + |g|).
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
from scipy.special import logsumexp, softmax

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
from mercer.verification._rounding import EPS, UNIT_ROUNDOFF, column_sums, scores, total

__all__ = ["is_multinomial", "recompute_multinomial"]


def is_multinomial(model: Any) -> bool:
    """Whether a linear model is a softmax over more than two classes."""
    return getattr(model, "multi_class", "") == "multinomial" and len(model.classes_) > 2


def recompute_multinomial(model: Any, X: Any, y: np.ndarray, weight: np.ndarray) -> Certificate:
    """The certificate of a softmax; y are class numbers, weights are positive."""
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        values = _as_precisely_as_needed(partial(_recompute, model, X, y, weight), X)
    return _certificate(model, values)


def _recompute(
    model: Any, X: Any, y: np.ndarray, weight: np.ndarray, precise: bool
) -> _Recomputed:
    """Bounds of value and gap."""
    coef = model.coef_.toarray() if hasattr(model.coef_, "toarray") else model.coef_
    W, kappa, C = np.asarray(coef, np.float64), _kappa(model), _row_C(model, y, weight)
    k, b = len(W), np.ravel(np.asarray(model.intercept_, np.float64))
    pairs = [scores(X, W[r], float(b[r]), precise) for r in range(k)]
    g, error = (np.stack([pair[i] for pair in pairs], axis=1) for i in (0, 1))
    own = np.eye(k, dtype=bool)[y]
    c = _best_constants(g, own, C) if kappa == 0 else np.zeros(k)
    q = softmax(g + c, axis=1)
    losses = _losses(g, error, own)
    least, most = (total(C * value) for value in losses)
    terms, plain_terms = _divergences(g, c, q, error)
    gap = total(C * terms) + 12 * UNIT_ROUNDOFF * most + 4 * EPS * math.log(k) * total(C)
    plain = total(C * plain_terms)
    B = -C[:, np.newaxis] * np.where(own, 0.0, q)
    B[own] = -B.sum(axis=1)
    sums = [total(column) for column in B.T]
    units = (k + 12) * UNIT_ROUNDOFF  # relative errors of B
    left = 0.0
    if kappa == 0:
        left = sum(abs(each) for each in sums) + 1.01 * units * total(np.abs(B))
    rows = [int(np.argmax(C * q[:, r])) for r in range(k)] if left else []
    for r, row in enumerate(rows):
        spread = float(np.ptp(g[row])) + 2 * float(error[row].max())
        size = 1 + abs(math.log(left / C[row])) + 3 * math.log(k) + spread
        gap += 2.02 * left * size if C[row] * q[row, r] >= 2 * left else np.inf
    square = 0.0
    for r in range(k):
        column = np.ascontiguousarray(B[:, r])
        w_beta, w_error = column_sums(X, column, precise)
        w_error = w_error + 1.01 * units * column_sums(abs(X), np.abs(column), False)[0]
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


def _divergences(
    g: np.ndarray, c: np.ndarray, q: np.ndarray, error: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """KL(q ‖ softmax(g)) of each row: at most, and without rounding."""
    k = g.shape[1]
    p = softmax(g, axis=1)
    v = c - (logsumexp(g + c, axis=1) - logsumexp(g, axis=1))[:, np.newaxis]
    rounding = (2 * k + 32 + 4 * np.abs(g).max(axis=1, keepdims=True)) * UNIT_ROUNDOFF
    rounding = rounding + 4 * UNIT_ROUNDOFF * np.abs(c).max()
    size = np.abs(v)
    with np.errstate(over="ignore", invalid="ignore"):
        near = p * (size + rounding) ** 2 / 2 * np.exp(size + rounding) * (1 + 2 * rounding)
        far = np.maximum(q * v - q + p, 0.0) + (q * (1 + size) + p) * (8 * UNIT_ROUNDOFF + rounding)
        plain = p * size**2 / 2
    is_near = size < 0.5
    e = error.max(axis=1)
    wide = ((np.abs(p - q) + (p + q) * rounding) * error).sum(axis=1) + e * e / 2
    worst = np.where(is_near, near, far).sum(axis=1) + wide + 1e-307
    return worst, np.where(is_near, plain, np.maximum(q * v - q + p, 0.0)).sum(axis=1)


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
