"""Losses of linear models, as three families that compiled code tells apart by a number.

With the score g = w·x + b of a row, its penalty C and an interval low ≤ high:

    EPSILON_INSENSITIVE  L(g) = C (low − g)₊ + C (g − high)₊
    SQUARED              L(g) = C (low − g)₊² + C (g − high)₊²
    LOGISTIC             L(g) = C log(1 + exp(−low·g)), low = ±1

The hinge of a positive row has low = 1 and no upper end, that of a negative row high = −1 and no
lower end; the ε-insensitive loss has low = y − ε and high = y + ε.

A signed dual β belongs to −∂L(g). The Fenchel–Young term

    L(g) + L*(−β) + β g  ≥ 0

vanishes where it does; summed over the rows it is the duality gap (`_regularized_loss`).

What is computed for every row in the same way for one family only is a function of its own: a fit
compiles those of its loss.
"""

from __future__ import annotations

import math

import numpy as np

from mercer._numba import REASSOCIATE, compiled, larger

__all__ = [
    "EPSILON_INSENSITIVE",
    "LOGISTIC",
    "SQUARED",
    "UNBOUNDED",
    "capacity",
    "clip_to_domain",
    "directional_derivatives",
    "fenchel_gap_at_gradient",
    "hessian_diagonal",
    "interval_gap",
    "kkt_violation",
    "loss_and_gap",
    "negative_gradient",
    "restore_sum",
    "scale_duals",
    "signed_totals",
]

EPSILON_INSENSITIVE, SQUARED, LOGISTIC = range(3)
# The end of an interval that has none; finite, so that 0 · UNBOUNDED is 0.
UNBOUNDED = 1e200
# A dual counts as at its bound C up to the rounding of a few products.
_AT_BOUND = 1 - 1e-12


@compiled(inner=True)
def _logistic(margin):
    """1 / (1 + exp(margin)), without overflow."""
    if margin > 0:
        e = math.exp(-margin)
        return e / (1.0 + e)
    return 1.0 / (1.0 + math.exp(margin))


@compiled(fastmath=REASSOCIATE)
def _interval_gradient(g, low, high, C, out):
    total = 0.0
    for i in range(g.size):
        out[i] = C[i] * ((g[i] < low[i]) - (g[i] > high[i]))
        total += out[i]
    return total


@compiled(fastmath=REASSOCIATE)
def _squared_gradient(g, low, high, C, out):
    total = 0.0
    for i in range(g.size):
        out[i] = 2 * C[i] * (larger(low[i] - g[i], 0.0) - larger(g[i] - high[i], 0.0))
        total += out[i]
    return total


@compiled(fastmath=REASSOCIATE)
def _logistic_gradient(g, low, high, C, out):
    total = 0.0
    for i in range(g.size):
        out[i] = low[i] * C[i] * _logistic(low[i] * g[i])
        total += out[i]
    return total


def negative_gradient(kind: int, *arrays: np.ndarray) -> float:
    """Of g, low, high, C and out: write −L'(g) into ``out``, return its sum; at a kink, 0."""
    return (_interval_gradient, _squared_gradient, _logistic_gradient)[kind](*arrays)


@compiled(fastmath=REASSOCIATE)
def _squared_hessian(g, low, high, C, out):
    used, total = 0, 0.0
    for i in range(g.size):
        out[i] = 2 * C[i] if g[i] < low[i] or g[i] > high[i] else 0.0
        used += out[i] != 0.0
        total += out[i]
    return used, total


@compiled(fastmath=REASSOCIATE)
def _logistic_hessian(g, low, high, C, out):
    used, total = 0, 0.0
    for i in range(g.size):
        p = _logistic(low[i] * g[i])
        out[i] = C[i] * p * (1 - p)
        used += out[i] != 0.0
        total += out[i]
    return used, total


def hessian_diagonal(kind: int, *arrays: np.ndarray) -> tuple[int, float]:
    """Of g, low, high, C and out: write L''(g) of a smooth loss; number of nonzeros, and sum."""
    return (_squared_hessian if kind == SQUARED else _logistic_hessian)(*arrays)


@compiled(fastmath=REASSOCIATE)
def _squared_derivatives(g, h, t, low, high, C):
    first, second = 0.0, 0.0
    for i in range(g.size):
        s = g[i] + t * h[i]
        slack = larger(low[i] - s, 0.0) - larger(s - high[i], 0.0)
        first -= 2 * C[i] * slack * h[i]
        second += 2 * C[i] * h[i] * h[i] if slack != 0.0 else 0.0
    return first, second


@compiled(fastmath=REASSOCIATE)
def _logistic_derivatives(g, h, t, low, high, C):
    first, second = 0.0, 0.0
    for i in range(g.size):
        p = _logistic(low[i] * (g[i] + t * h[i]))
        first -= low[i] * C[i] * p * h[i]
        second += C[i] * p * (1 - p) * h[i] * h[i]
    return first, second


def directional_derivatives(
    kind: int, g: np.ndarray, h: np.ndarray, t: float, *arrays: np.ndarray
) -> tuple[float, float]:
    """First and second derivative of Σ L(g + t h) in t, of a smooth loss (low, high, C)."""
    derivatives = _squared_derivatives if kind == SQUARED else _logistic_derivatives
    return derivatives(g, h, t, *arrays)


@compiled(fastmath=REASSOCIATE)
def signed_totals(beta):
    """Σ max(β, 0) and Σ max(−β, 0)."""
    positive, negative = 0.0, 0.0
    for i in range(beta.size):
        positive += larger(beta[i], 0.0)
        negative += larger(-beta[i], 0.0)
    return positive, negative


@compiled(fastmath=REASSOCIATE)
def capacity(beta, C, excess):
    """By how much the free duals can reduce Σβ = ``excess`` within their bounds."""
    total = 0.0
    for i in range(beta.size):
        size = abs(beta[i])
        if 0.0 < size < C[i]:
            total += size if beta[i] * excess > 0.0 else C[i] - size
    return total


@compiled
def restore_sum(beta, C, excess, fraction, out):
    """β with Σβ reduced by ``excess``: each free dual uses this fraction of its capacity."""
    for i in range(beta.size):
        size = abs(beta[i])
        out[i] = beta[i]
        if 0.0 < size < C[i]:
            out[i] -= fraction * (size if beta[i] * excess > 0.0 else C[i] - size)


@compiled(fastmath=REASSOCIATE)
def _interval_violation(g, beta, low, high, C):
    worst, zeros, bounds = 0.0, 0, 0
    for i in range(g.size):
        size = abs(beta[i])
        zeros += size == 0.0
        under, over = low[i] - g[i], g[i] - high[i]
        is_free = size < _AT_BOUND * C[i]
        bounds += size > 0.0 and not is_free
        # A dual that can grow needs a slack of 0, one that can fall a score not beyond its end.
        under = larger(under * (beta[i] >= 0.0 and is_free), -under * (beta[i] > 0.0))
        over = larger(over * (beta[i] <= 0.0 and is_free), -over * (beta[i] < 0.0))
        worst = larger(larger(worst, under), over)
    return worst, zeros, bounds


def kkt_violation(
    kind: int, g: np.ndarray, beta: np.ndarray, *arrays: np.ndarray
) -> tuple[float, int, int]:
    """Largest distance of a score from where its dual is optimal; numbers of duals at 0 and at C.

    Smooth losses have a dual for every score: their violation is 0.
    """
    if kind == EPSILON_INSENSITIVE:
        return _interval_violation(g, beta, *arrays)
    return 0.0, beta.size - int(np.count_nonzero(beta)), 0


@compiled
def scale_duals(beta, C, new_C, out):
    """Write β · new_C / C; return the smallest and the largest ratio new_C / C."""
    least, most = math.inf, 0.0
    for i in range(beta.size):
        # In this order a dual at its bound stays there.
        out[i] = beta[i] / C[i] * new_C[i] if beta[i] != 0.0 else 0.0
        ratio = new_C[i] / C[i]
        least, most = min(least, ratio), max(most, ratio)
    return least, most


@compiled(inner=True)
def _log_of_complement(p):
    """log(1 − p), also of a small p; half the time of log1p."""
    rest = 1.0 - p
    return math.log(rest) - ((rest - 1.0) + p) / rest


@compiled(inner=True)
def _log_one_plus(x):
    """log(1 + x) of x ≥ 0; of a small x at most 1e-9 relatively above it."""
    return x - x * x * (0.5 - x / 3) if x < 1e-3 else math.log1p(x)


@compiled(inner=True)
def _x_log_x(x):
    return x * math.log(x) if x > 0.0 else 0.0


@compiled(fastmath=REASSOCIATE, inner=True)
def interval_gap(beta, under, over, c):
    """Fenchel–Young term of the ε-insensitive loss; under = low − g, over = g − high."""
    up, down = larger(beta, 0.0), larger(-beta, 0.0)
    gap = (c - up) * larger(under, 0.0) + up * larger(-under, 0.0)
    return gap + (c - down) * larger(over, 0.0) + down * larger(-over, 0.0)


@compiled(fastmath=REASSOCIATE)
def _interval_loss_and_gap(g, beta, low, high, C):
    loss, gap = 0.0, 0.0
    for i in range(g.size):
        under, over = low[i] - g[i], g[i] - high[i]
        loss += C[i] * (larger(under, 0.0) + larger(over, 0.0))
        gap += interval_gap(beta[i], under, over, C[i])
    return loss, gap


@compiled(fastmath=REASSOCIATE)
def _squared_loss_and_gap(g, beta, low, high, C):
    loss, gap = 0.0, 0.0
    for i in range(g.size):
        c, under, over = C[i], low[i] - g[i], g[i] - high[i]
        # β²/4C − β·slack + C slack², and |β| times the distance of g beyond the dual's own end.
        up, down = larger(beta[i], 0.0), larger(-beta[i], 0.0)
        slack = larger(under, 0.0) - larger(over, 0.0)
        loss += c * slack * slack
        off = beta[i] - 2 * c * slack
        gap += off * off / (4 * c) + up * (larger(-under, 0.0) - larger(over, 0.0))
        gap += down * (larger(-over, 0.0) - larger(under, 0.0))
    return loss, gap


@compiled(fastmath=REASSOCIATE)
def _logistic_loss_and_gap(g, beta, low, high, C):
    loss, gap = 0.0, 0.0
    for i in range(g.size):
        margin, a = low[i] * g[i], low[i] * beta[i] / C[i]
        value = math.log1p(math.exp(-abs(margin))) + larger(-margin, 0.0)
        loss += C[i] * value
        gap += C[i] * larger(value + _x_log_x(a) + _x_log_x(1.0 - a) + a * margin, 0.0)
    return loss, gap


def loss_and_gap(kind: int, *arrays: np.ndarray) -> tuple[float, float]:
    """Of g, β, low, high and C: Σ L(g), and Σ L(g) + L*(−β) + β g; β in the domain of L*."""
    of_kind = (_interval_loss_and_gap, _squared_loss_and_gap, _logistic_loss_and_gap)
    return of_kind[kind](*arrays)


@compiled
def clip_to_domain(kind, beta, low, high, C, out):
    """Write β clipped to the domain of L*; a NaN stays.

    The domain is |β| ≤ C but for squared losses, with the sign of an end that the interval has.
    """
    for i in range(beta.size):
        bound = math.inf if kind == SQUARED else C[i]
        if kind == LOGISTIC:
            has_low, has_high = low[i] > 0.0, low[i] < 0.0
        else:
            has_low, has_high = low[i] > -UNBOUNDED, high[i] < UNBOUNDED
        most, least = bound if has_low else 0.0, -bound if has_high else 0.0
        out[i] = most if beta[i] > most else least if beta[i] < least else beta[i]


@compiled(fastmath=REASSOCIATE)
def _squared_gap_at_gradient(g, beta, low, C, factor_up, factor_down):
    loss, gap = 0.0, 0.0
    for i in range(g.size):
        factor = factor_up if beta[i] > 0.0 else factor_down
        value = beta[i] * beta[i] / (4 * C[i])
        loss += value
        gap += (1.0 - factor) * (1.0 - factor) * value
        beta[i] *= factor
    return loss, gap


@compiled(fastmath=REASSOCIATE)
def _logistic_gap_at_gradient(g, beta, low, C, factor_up, factor_down):
    """With β known the loss takes one logarithm: p = σ(−m) is 1 − exp(−L), and for s p

    L + L* + s p m = s p log s + (1 − s p) log(1 + (1 − s) exp(−m))
    """
    loss, gap = 0.0, 0.0
    log_up, log_down = math.log(larger(factor_up, 1e-300)), math.log(larger(factor_down, 1e-300))
    for i in range(g.size):
        c = C[i]
        factor, log_factor = (factor_up, log_up) if beta[i] > 0.0 else (factor_down, log_down)
        margin, p = low[i] * g[i], low[i] * beta[i] / c
        value = -_log_of_complement(p) if margin > 0.0 else -margin - math.log(p)
        loss += c * value
        if factor != 1.0:
            a = factor * p
            if margin > -700.0:
                odds = p / (1.0 - p) if margin > 0.0 else math.exp(-margin)
                log_rest = _log_one_plus((1.0 - factor) * odds)
            else:  # exp(−m) would overflow, and 1 is nothing beside it
                log_rest = -margin + math.log(larger(1.0 - factor, 1e-300))
            gap += c * larger(a * log_factor + (1.0 - a) * log_rest, 0.0)
        beta[i] *= factor
    return loss, gap


def fenchel_gap_at_gradient(
    kind: int,
    g: np.ndarray,
    beta: np.ndarray,
    low: np.ndarray,
    C: np.ndarray,
    factor_up: float,
    factor_down: float,
) -> tuple[float, float]:
    """Scale β = −L'(g) of a smooth loss in place, by sign; return `loss_and_gap` of the result."""
    of_kind = _squared_gap_at_gradient if kind == SQUARED else _logistic_gap_at_gradient
    return of_kind(g, beta, low, C, factor_up, factor_down)
