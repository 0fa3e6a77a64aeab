"""Upper and lower bounds of the losses of `_losses` over all scores within g ± error."""

from __future__ import annotations

import math

import numpy as np

from mercer._numba import REASSOCIATE, compiled, larger, smaller
from mercer._precision import UNIT
from mercer.problems._losses import EPSILON_INSENSITIVE, LOGISTIC, SQUARED, interval_gap

__all__ = ["bounded_gap_terms"]

# Bounds are summed in blocks of _BLOCK rows, so that the rounding of the sum itself is small.
_BLOCK = 256


@compiled(fastmath=REASSOCIATE, inner=True)
def _squared_gap(s, beta, low, high, c):
    """Term of a squared loss at the score s, with the rounding of β − 2Cξ and of C added to it."""
    under, over = larger(low - s, 0.0), larger(s - high, 0.0)
    mine, other = (under, over) if beta >= 0.0 else (over, under)
    # beyond the dual's own end
    distance = larger(s - low, 0.0) if beta >= 0.0 else larger(high - s, 0.0)
    size = abs(beta)
    beyond = size * distance if size > 0.0 else 0.0
    off = abs(size - 2 * c * mine) + 16 * UNIT * (size + 2 * c * mine)
    return off * off / (4 * c) + beyond + c * other * other


@compiled(inner=True)
def _relative_entropy(a, p, rest, m, value):
    """An upper bound of KL(a ‖ p), where p = 1/(1 + exp(m)), rest = 1 − p, value = −log(1 − p).

    p and rest are off by a few units relatively. With t = a/p − 1, (1 + t) log(1 + t) − t is at
    most t²/2 for t ≥ 0 and t²/2 (1 + |t|) for −1 ≤ t < 0; the same holds of 1 − a and rest.
    """
    off = abs(a - p) + 16 * UNIT * (a + p)
    if off < 1e-3 * smaller(p, rest):
        factor = 1 + off / smaller(p, rest) + 64 * UNIT
        return 0.5 * off * (off / p + off / rest) * factor + 1e-307
    one = a * math.log(a) if a > 0.0 else 0.0
    other = (1.0 - a) * math.log1p(-a) if a < 1.0 else 0.0
    size = value - one - other + a * (abs(m) + 40.0)
    return larger(value + one + other + a * m, 0.0) + 16 * UNIT * size + 1e-307


@compiled(inner=True)
def _logistic_term(m, beta, e, c):
    """Loss, largest term, and bound of the error of the loss, at a margin m ± e.

    The term is c times KL(a ‖ p), a = β/C and p = 1/(1 + exp(m)), whose derivative in m is a − p.
    """
    a = smaller(abs(beta) / c, 1.0)
    small = math.exp(-abs(m))
    one_plus = 1.0 + small
    p, rest = small / one_plus, 1.0 / one_plus
    if m <= 0.0:
        p, rest = rest, p
    # log(1 + small), and what the sum lost
    value = math.log(one_plus) + (small - (one_plus - 1.0)) / one_plus + larger(-m, 0.0)
    gap = _relative_entropy(a, p, rest, m, value) + e * (abs(a - p) + 4 * UNIT) + e * e / 8
    return c * value, c * gap, c * (e * smaller(p + e, 1.0) + 8 * UNIT * value + 1e-307)


@compiled(inner=True)
def _score_error(error, g):
    """The ends are rounded, too; and scores were shifted and scaled."""
    return error * (1 + 8 * UNIT) + (8 * UNIT * abs(g) if error > 0.0 else 0.0)


@compiled(fastmath=REASSOCIATE, inner=True)
def _interval_terms(g, error, beta, low, high, C, out):
    """`bounded_gap_terms` of some rows of the ε-insensitive loss."""
    least, most, gap = 0.0, 0.0, 0.0
    for i in range(g.size):
        c, lo, hi = C[i], low[i], high[i]
        e = _score_error(error[i], g[i])
        down, up = g[i] - e, g[i] + e
        most += c * larger(larger(lo - down, up - hi), 0.0)
        least += c * larger(larger(lo - up, down - hi), 0.0)
        term = interval_gap(beta[i], lo - down, down - hi, c)
        term = larger(term, interval_gap(beta[i], lo - up, up - hi, c))
        out[i] = term
        gap += term
    return least, most, gap


@compiled(fastmath=REASSOCIATE, inner=True)
def _squared_terms(g, error, beta, low, high, C, out):
    """`bounded_gap_terms` of some rows of a squared loss."""
    least, most, gap = 0.0, 0.0, 0.0
    for i in range(g.size):
        c, lo, hi = C[i], low[i], high[i]
        e = _score_error(error[i], g[i])
        down, up = g[i] - e, g[i] + e
        far = larger(larger(lo - down, up - hi), 0.0)
        near = larger(larger(lo - up, down - hi), 0.0)
        most += c * far * far
        least += c * near * near
        term = _squared_gap(down, beta[i], lo, hi, c)
        term = larger(term, _squared_gap(up, beta[i], lo, hi, c))
        out[i] = term
        gap += term
    return least, most, gap


@compiled(inner=True)
def _logistic_terms(g, error, beta, low, high, C, out):
    """`bounded_gap_terms` of some rows of the logistic loss; low is the label."""
    least, most, gap = 0.0, 0.0, 0.0
    for i in range(g.size):
        e = _score_error(error[i], g[i])
        loss, term, off = _logistic_term(low[i] * g[i], beta[i], e, C[i])
        least += larger(loss - off, 0.0)
        most += loss + off
        out[i] = term
        gap += term
    return least, most, gap


@compiled
def _sum_of_blocks(interval, squared, logistic, g, error, beta, low, high, C, out):
    """One of the flags of losses is not None; code for the others is not compiled."""
    least, most, gap = 0.0, 0.0, 0.0
    for a in range(0, g.size, _BLOCK):
        z = smaller(a + _BLOCK, g.size)
        rows = g[a:z], error[a:z], beta[a:z], low[a:z], high[a:z], C[a:z], out[a:z]
        one = two = three = 0.0
        if interval is not None:
            one, two, three = _interval_terms(*rows)
        if squared is not None:
            one, two, three = _squared_terms(*rows)
        if logistic is not None:
            one, two, three = _logistic_terms(*rows)
        least, most, gap = least + one, most + two, gap + three
    return least, most, gap


def bounded_gap_terms(kind: int, *arrays: np.ndarray) -> tuple[float, float, float]:
    """Bounds of Σ L(g) and of Σ L(g) + L*(−β) + β g over all scores within g ± error.

    ``arrays`` are g, error, β, low, high, C and out. Every term is convex in the score, hence
    largest at one of the two ends. C may be off by three units of rounding: what that does to the
    losses is added by the caller. ``out`` gets the largest term of each row; returns the smallest
    and largest loss and the largest gap, summed. All numbers must be finite.
    """
    flags = (kind == each or None for each in (EPSILON_INSENSITIVE, SQUARED, LOGISTIC))
    return _sum_of_blocks(*flags, *arrays)
