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
"""

from __future__ import annotations

import math

from mercer._numba import REASSOCIATE, compiled

__all__ = [
    "EPSILON_INSENSITIVE",
    "LOGISTIC",
    "SQUARED",
    "UNBOUNDED",
    "UNIT",
    "bounded_gap_terms",
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
# The unit roundoff of float64.
UNIT = 2.0**-53
# A dual counts as at its bound C up to the rounding of a few products.
_AT_BOUND = 1 - 1e-12
# Bounds are summed in blocks of _BLOCK rows, so that the rounding of the sum itself is small.
_BLOCK = 256


@compiled
def _logistic(margin):
    """1 / (1 + exp(margin)), without overflow."""
    if margin > 0:
        e = math.exp(-margin)
        return e / (1.0 + e)
    return 1.0 / (1.0 + math.exp(margin))


@compiled(fastmath=REASSOCIATE)
def negative_gradient(kind, g, low, high, C, out):
    """Write −L'(g) into ``out`` and return its sum; at a kink, 0."""
    total = 0.0
    if kind == EPSILON_INSENSITIVE:
        for i in range(g.size):
            out[i] = C[i] * ((g[i] < low[i]) - (g[i] > high[i]))
            total += out[i]
    elif kind == SQUARED:
        for i in range(g.size):
            out[i] = 2 * C[i] * (max(low[i] - g[i], 0.0) - max(g[i] - high[i], 0.0))
            total += out[i]
    else:
        for i in range(g.size):
            out[i] = low[i] * C[i] * _logistic(low[i] * g[i])
            total += out[i]
    return total


@compiled(fastmath=REASSOCIATE)
def hessian_diagonal(kind, g, low, high, C, out):
    """Write L''(g) of a smooth loss into ``out``; return the number of nonzeros and the sum."""
    used, total = 0, 0.0
    for i in range(g.size):
        if kind == SQUARED:
            out[i] = 2 * C[i] if g[i] < low[i] or g[i] > high[i] else 0.0
        else:
            p = _logistic(low[i] * g[i])
            out[i] = C[i] * p * (1 - p)
        used += out[i] != 0.0
        total += out[i]
    return used, total


@compiled(fastmath=REASSOCIATE)
def directional_derivatives(kind, g, h, t, low, high, C):
    """First and second derivative of Σ L(g + t h) in t, of a smooth loss."""
    first, second = 0.0, 0.0
    if kind == SQUARED:
        for i in range(g.size):
            s = g[i] + t * h[i]
            slack = max(low[i] - s, 0.0) - max(s - high[i], 0.0)
            first -= 2 * C[i] * slack * h[i]
            second += 2 * C[i] * h[i] * h[i] if slack != 0.0 else 0.0
    else:
        for i in range(g.size):
            p = _logistic(low[i] * (g[i] + t * h[i]))
            first -= low[i] * C[i] * p * h[i]
            second += C[i] * p * (1 - p) * h[i] * h[i]
    return first, second


@compiled(fastmath=REASSOCIATE)
def signed_totals(beta):
    """Σ max(β, 0) and Σ max(−β, 0)."""
    positive, negative = 0.0, 0.0
    for i in range(beta.size):
        positive += max(beta[i], 0.0)
        negative += max(-beta[i], 0.0)
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
def kkt_violation(kind, g, beta, low, high, C):
    """Largest distance of a score from where its dual is optimal; numbers of duals at 0 and at C.

    Smooth losses have a dual for every score: their violation is 0.
    """
    worst, zeros, bounds = 0.0, 0, 0
    for i in range(g.size):
        size = abs(beta[i])
        zeros += size == 0.0
        if kind == EPSILON_INSENSITIVE:
            under, over = low[i] - g[i], g[i] - high[i]
            is_free = size < _AT_BOUND * C[i]
            bounds += size > 0.0 and not is_free
            # A dual that can grow needs a slack of 0, one that can fall a score not beyond its end.
            under = max(under * (beta[i] >= 0.0 and is_free), -under * (beta[i] > 0.0))
            over = max(over * (beta[i] <= 0.0 and is_free), -over * (beta[i] < 0.0))
            worst = max(worst, under, over)
    return worst, zeros, bounds


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


@compiled
def _log_of_complement(p):
    """log(1 − p), also of a small p; half the time of log1p."""
    rest = 1.0 - p
    return math.log(rest) - ((rest - 1.0) + p) / rest


@compiled
def _log_one_plus(x):
    """log(1 + x) of x ≥ 0; of a small x at most 1e-9 relatively above it."""
    return x - x * x * (0.5 - x / 3) if x < 1e-3 else math.log1p(x)


@compiled
def _x_log_x(x):
    return x * math.log(x) if x > 0.0 else 0.0


@compiled(fastmath=REASSOCIATE)
def interval_gap(beta, under, over, c):
    """Fenchel–Young term of the ε-insensitive loss; under = low − g, over = g − high."""
    up, down = max(beta, 0.0), max(-beta, 0.0)
    gap = (c - up) * max(under, 0.0) + up * max(-under, 0.0)
    return gap + (c - down) * max(over, 0.0) + down * max(-over, 0.0)


@compiled(fastmath=REASSOCIATE)
def loss_and_gap(kind, g, beta, low, high, C):
    """Σ L(g), and Σ L(g) + L*(−β) + β g; β must be in the domain of L*."""
    loss, gap = 0.0, 0.0
    for i in range(g.size):
        c = C[i]
        if kind == LOGISTIC:
            margin, a = low[i] * g[i], low[i] * beta[i] / c
            value = math.log1p(math.exp(-abs(margin))) + max(-margin, 0.0)
            loss += c * value
            gap += c * max(value + _x_log_x(a) + _x_log_x(1.0 - a) + a * margin, 0.0)
            continue
        under, over = low[i] - g[i], g[i] - high[i]
        if kind == EPSILON_INSENSITIVE:
            loss += c * (max(under, 0.0) + max(over, 0.0))
            gap += interval_gap(beta[i], under, over, c)
        else:
            # β²/4C − β·slack + C slack², and |β| times the distance of g beyond the dual's own end.
            up, down = max(beta[i], 0.0), max(-beta[i], 0.0)
            slack = max(under, 0.0) - max(over, 0.0)
            loss += c * slack * slack
            off = beta[i] - 2 * c * slack
            gap += off * off / (4 * c) + up * (max(-under, 0.0) - max(over, 0.0))
            gap += down * (max(-over, 0.0) - max(under, 0.0))
    return loss, gap


@compiled
def clip_to_domain(kind, beta, low, high, C):
    """Clip β in place to the domain of L*; return Σ of the absolute changes.

    The domain is |β| ≤ C but for squared losses, with the sign of an end that the interval has.
    """
    total = 0.0
    for i in range(beta.size):
        old = beta[i]
        if kind == LOGISTIC:
            most, least = max(low[i], 0.0) * C[i], min(low[i], 0.0) * C[i]
        else:
            bound = C[i] if kind == EPSILON_INSENSITIVE else math.inf
            most = bound if low[i] > -UNBOUNDED else 0.0
            least = -bound if high[i] < UNBOUNDED else 0.0
        if not least <= old <= most:
            beta[i] = min(max(old, least), most)
            total += abs(beta[i] - old)
    return total


@compiled(fastmath=REASSOCIATE)
def _squared_gap(s, beta, low, high, c):
    """Term of a squared loss at the score s, with the rounding of β − 2Cξ and of C added to it."""
    under, over = max(low - s, 0.0), max(s - high, 0.0)
    mine, other = (under, over) if beta >= 0.0 else (over, under)
    distance = max(s - low, 0.0) if beta >= 0.0 else max(high - s, 0.0)  # beyond the dual's own end
    size = abs(beta)
    beyond = size * distance if size > 0.0 else 0.0
    off = abs(size - 2 * c * mine) + 16 * UNIT * (size + 2 * c * mine)
    return off * off / (4 * c) + beyond + c * other * other


@compiled
def _relative_entropy(a, p, rest, m, value):
    """An upper bound of KL(a ‖ p), where p = 1/(1 + exp(m)), rest = 1 − p, value = −log(1 − p).

    p and rest are off by a few units relatively. With t = a/p − 1, (1 + t) log(1 + t) − t is at
    most t²/2 for t ≥ 0 and t²/2 (1 + |t|) for −1 ≤ t < 0; the same holds of 1 − a and rest.
    """
    off = abs(a - p) + 16 * UNIT * (a + p)
    if off < 1e-3 * min(p, rest):
        return 0.5 * off * off * (1 / p + 1 / rest) * (1 + off / min(p, rest) + 64 * UNIT)
    one = a * math.log(a) if a > 0.0 else 0.0
    other = (1.0 - a) * math.log1p(-a) if a < 1.0 else 0.0
    size = value - one - other + a * (abs(m) + 40.0)
    return max(value + one + other + a * m, 0.0) + 16 * UNIT * size + 1e-307


@compiled
def _logistic_terms(m, beta, e, c):
    """Loss, largest term, and bound of the error of the loss, at a margin m ± e.

    The term is c times KL(a ‖ p), a = β/C and p = 1/(1 + exp(m)), whose derivative in m is a − p.
    """
    a = min(abs(beta) / c, 1.0)
    small = math.exp(-abs(m))
    one_plus = 1.0 + small
    p, rest = small / one_plus, 1.0 / one_plus
    if m <= 0.0:
        p, rest = rest, p
    # log(1 + small), and what the sum lost
    value = math.log(one_plus) + (small - (one_plus - 1.0)) / one_plus + max(-m, 0.0)
    gap = _relative_entropy(a, p, rest, m, value) + e * (abs(a - p) + 4 * UNIT) + e * e / 8
    return c * value, c * gap, c * (e * min(p + e, 1.0) + 8 * UNIT * value + 1e-307)


@compiled(fastmath=REASSOCIATE)
def _interval_terms(kind, g, error, beta, low, high, C, out):
    """`bounded_gap_terms` of some rows of a loss with an interval."""
    least, most, gap = 0.0, 0.0, 0.0
    for i in range(g.size):
        c, lo, hi = C[i], low[i], high[i]
        # The ends are rounded, too; and scores were shifted and scaled.
        e = error[i] * (1 + 8 * UNIT) + (8 * UNIT * abs(g[i]) if error[i] > 0.0 else 0.0)
        down, up = g[i] - e, g[i] + e
        far = max(lo - down, up - hi, 0.0)
        near = max(lo - up, down - hi, 0.0)
        if kind == EPSILON_INSENSITIVE:
            most += c * far
            least += c * near
            term = interval_gap(beta[i], lo - down, down - hi, c)
            term = max(term, interval_gap(beta[i], lo - up, up - hi, c))
        else:
            most += c * far * far
            least += c * near * near
            term = _squared_gap(down, beta[i], lo, hi, c)
            term = max(term, _squared_gap(up, beta[i], lo, hi, c))
        out[i] = term
        gap += term
    return least, most, gap


@compiled
def _smooth_terms(g, error, beta, label, C, out):
    """`bounded_gap_terms` of some rows of the logistic loss."""
    least, most, gap = 0.0, 0.0, 0.0
    for i in range(g.size):
        e = error[i] * (1 + 8 * UNIT) + (8 * UNIT * abs(g[i]) if error[i] > 0.0 else 0.0)
        loss, term, off = _logistic_terms(label[i] * g[i], beta[i], e, C[i])
        least += max(loss - off, 0.0)
        most += loss + off
        out[i] = term
        gap += term
    return least, most, gap


@compiled
def bounded_gap_terms(kind, g, error, beta, low, high, C, out):
    """Bounds of Σ L(g) and of Σ L(g) + L*(−β) + β g over all scores within g ± error.

    Every term is convex in the score, hence largest at one of the two ends. ``C`` may be off by
    three units of rounding: what that does to the losses is added by the caller. ``out`` gets the
    largest term of each row; returns the smallest and largest loss and the largest gap, summed.
    All numbers must be finite.
    """
    least, most, gap = 0.0, 0.0, 0.0
    for a in range(0, g.size, _BLOCK):
        z = min(a + _BLOCK, g.size)
        if kind == LOGISTIC:
            one, two, three = _smooth_terms(
                g[a:z], error[a:z], beta[a:z], low[a:z], C[a:z], out[a:z]
            )
        else:
            one, two, three = _interval_terms(
                kind, g[a:z], error[a:z], beta[a:z], low[a:z], high[a:z], C[a:z], out[a:z]
            )
        least, most, gap = least + one, most + two, gap + three
    return least, most, gap


@compiled(fastmath=REASSOCIATE)
def fenchel_gap_at_gradient(kind, g, beta, low, C, factor_up, factor_down):
    """Scale β = −L'(g) of a smooth loss in place, by sign; return `loss_and_gap` of the result.

    With β known the logistic loss takes one logarithm: p = σ(−m) is 1 − exp(−L), and for s p

        L + L* + s p m = s p log s + (1 − s p) log(1 + (1 − s) exp(−m))
    """
    loss, gap = 0.0, 0.0
    log_up, log_down = math.log(max(factor_up, 1e-300)), math.log(max(factor_down, 1e-300))
    for i in range(g.size):
        c = C[i]
        factor, log_factor = (factor_up, log_up) if beta[i] > 0.0 else (factor_down, log_down)
        if kind == SQUARED:
            value = beta[i] * beta[i] / (4 * c)
            loss += value
            gap += (1.0 - factor) * (1.0 - factor) * value
        else:
            margin, p = low[i] * g[i], low[i] * beta[i] / c
            value = -_log_of_complement(p) if margin > 0.0 else -margin - math.log(p)
            loss += c * value
            if factor != 1.0:
                a = factor * p
                if margin > -700.0:
                    odds = p / (1.0 - p) if margin > 0.0 else math.exp(-margin)
                    log_rest = _log_one_plus((1.0 - factor) * odds)
                else:  # exp(−m) would overflow, and 1 is nothing beside it
                    log_rest = -margin + math.log(max(1.0 - factor, 1e-300))
                gap += c * max(a * log_factor + (1.0 - a) * log_rest, 0.0)
        beta[i] *= factor
    return loss, gap
