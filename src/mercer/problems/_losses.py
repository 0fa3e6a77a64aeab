"""Losses of linear machines, as three families that compiled code can tell apart by a number.

With the score g = w·x + b of a row, its price C, and edges low ≤ high:

    TUBE      L(g) = C (low − g)₊ + C (g − high)₊
    SQUARED   L(g) = C (low − g)₊² + C (g − high)₊²
    LOGISTIC  L(g) = C log(1 + exp(−low·g)), low = ±1

The hinge of a positive row is the tube with low = 1 and no upper edge, of a negative row the one
with high = −1 and no lower edge; the ε-insensitive loss has low = y − ε and high = y + ε.

A signed dual β belongs to −∂L(g). The Fenchel–Young term

    L(g) + L*(−β) + β g  ≥ 0

vanishes where it does; summed over the rows it is the duality gap (`_regularized_loss`).
"""

from __future__ import annotations

import math

from mercer._numba import REASSOCIATE, compiled

__all__ = ["FAR", "LOGISTIC", "SQUARED", "TUBE", "UNIT", "bounded_terms", "curvatures", "cut",
           "kkt", "own_terms", "rebalance", "responses", "room", "scale", "sides", "slope",
           "terms"]  # fmt: skip

TUBE, SQUARED, LOGISTIC = 0, 1, 2
# An edge that no score reaches; finite, so that 0 · FAR is 0.
FAR = 1e200
# The unit round-off of float64.
UNIT = 2.0**-53
# A dual is at its bound up to the rounding of a factor or two.
_AT_BOUND = 1 - 1e-12
# Sums of bounds are taken over so many rows first, so that their own rounding stays small.
_BLOCK = 256
# Numbers whose logarithm and exponential are finite.
_LEAST, _MOST = 1e-300, 700.0


@compiled
def _logistic(margin):
    """1 / (1 + exp(margin)), without overflow."""
    if margin > 0:
        e = math.exp(-margin)
        return e / (1.0 + e)
    return 1.0 / (1.0 + math.exp(margin))


@compiled(fastmath=REASSOCIATE)
def responses(kind, g, low, high, cost, out):
    """Write −L'(g) into ``out`` and return its sum; of a tube, 0 on the edges themselves."""
    total = 0.0
    if kind == TUBE:
        for i in range(g.size):
            out[i] = cost[i] * ((g[i] < low[i]) - (g[i] > high[i]))
            total += out[i]
    elif kind == SQUARED:
        for i in range(g.size):
            out[i] = 2 * cost[i] * (max(low[i] - g[i], 0.0) - max(g[i] - high[i], 0.0))
            total += out[i]
    else:
        for i in range(g.size):
            out[i] = low[i] * cost[i] * _logistic(low[i] * g[i])
            total += out[i]
    return total


@compiled(fastmath=REASSOCIATE)
def curvatures(kind, g, low, high, cost, out):
    """Write L''(g) of a smooth loss into ``out``; return how many are not zero, and their sum."""
    used, total = 0, 0.0
    for i in range(g.size):
        if kind == SQUARED:
            out[i] = 2 * cost[i] if g[i] < low[i] or g[i] > high[i] else 0.0
        else:
            p = _logistic(low[i] * g[i])
            out[i] = cost[i] * p * (1 - p)
        used += out[i] != 0.0
        total += out[i]
    return used, total


@compiled(fastmath=REASSOCIATE)
def slope(kind, g, h, t, low, high, cost):
    """First and second derivative of Σ L(g + t h) in t, of a smooth loss."""
    first, second = 0.0, 0.0
    if kind == SQUARED:
        for i in range(g.size):
            s = g[i] + t * h[i]
            off = max(low[i] - s, 0.0) - max(s - high[i], 0.0)
            first -= 2 * cost[i] * off * h[i]
            second += 2 * cost[i] * h[i] * h[i] if off != 0.0 else 0.0
    else:
        for i in range(g.size):
            p = _logistic(low[i] * (g[i] + t * h[i]))
            first -= low[i] * cost[i] * p * h[i]
            second += cost[i] * p * (1 - p) * h[i] * h[i]
    return first, second


@compiled(fastmath=REASSOCIATE)
def sides(beta):
    """The sums of β above and of −β below zero."""
    more, less = 0.0, 0.0
    for i in range(beta.size):
        more += max(beta[i], 0.0)
        less += max(-beta[i], 0.0)
    return more, less


@compiled(fastmath=REASSOCIATE)
def room(beta, cost, over):
    """How much free duals can take of Σβ = ``over``."""
    total = 0.0
    for i in range(beta.size):
        size = abs(beta[i])
        if 0.0 < size < cost[i]:
            total += size if beta[i] * over > 0.0 else cost[i] - size
    return total


@compiled
def rebalance(beta, cost, over, share, out):
    """β without ``over``, of which each free dual takes its share of its room."""
    for i in range(beta.size):
        size = abs(beta[i])
        out[i] = beta[i]
        if 0.0 < size < cost[i]:
            out[i] -= share * (size if beta[i] * over > 0.0 else cost[i] - size)


@compiled(fastmath=REASSOCIATE)
def kkt(kind, g, beta, low, high, cost):
    """How far a score is at the most from where its dual would be optimal; duals at zero, at C.

    The scores of smooth losses may be anywhere.
    """
    worst, zeros, bounds = 0.0, 0, 0
    for i in range(g.size):
        size = abs(beta[i])
        zeros += size == 0.0
        if kind == TUBE:
            under, over = low[i] - g[i], g[i] - high[i]
            is_free = size < _AT_BOUND * cost[i]
            bounds += size > 0.0 and not is_free
            # A dual that can grow wants no slack, one that can fall no way beyond its edge.
            under = max(under * (beta[i] >= 0.0 and is_free), -under * (beta[i] > 0.0))
            over = max(over * (beta[i] <= 0.0 and is_free), -over * (beta[i] < 0.0))
            worst = max(worst, under, over)
    return worst, zeros, bounds


@compiled
def scale(beta, cost, new_cost, out):
    """Write duals in proportion to new prices; return the smallest and largest ratio of prices."""
    least, most = math.inf, 0.0
    for i in range(beta.size):
        # In this order a dual at its bound stays there.
        out[i] = beta[i] / cost[i] * new_cost[i] if beta[i] != 0.0 else 0.0
        ratio = new_cost[i] / cost[i]
        least, most = min(least, ratio), max(most, ratio)
    return least, most


@compiled
def _log_of_rest(p):
    """log(1 − p), also of a small p; half the time of log1p."""
    rest = 1.0 - p
    return math.log(rest) - ((rest - 1.0) + p) / rest


@compiled
def _log_of_more(x):
    """log(1 + x) of x ≥ 0, or, of a small one, less than 1e-9 of it above."""
    return x - x * x * (0.5 - x / 3) if x < 1e-3 else math.log1p(x)


@compiled
def _x_log_x(x):
    return x * math.log(x) if x > 0.0 else 0.0


@compiled(fastmath=REASSOCIATE)
def terms(kind, g, beta, low, high, cost):
    """Σ L(g), and Σ L(g) + L*(−β) + β g; β must be in the domain of L*."""
    loss, gap = 0.0, 0.0
    for i in range(g.size):
        c = cost[i]
        if kind == LOGISTIC:
            margin, a = low[i] * g[i], low[i] * beta[i] / c
            value = math.log1p(math.exp(-abs(margin))) + max(-margin, 0.0)
            loss += c * value
            gap += c * max(value + _x_log_x(a) + _x_log_x(1.0 - a) + a * margin, 0.0)
            continue
        under, over = low[i] - g[i], g[i] - high[i]
        up, down = max(beta[i], 0.0), max(-beta[i], 0.0)
        if kind == TUBE:
            loss += c * (max(under, 0.0) + max(over, 0.0))
            gap += (c - up) * max(under, 0.0) + up * max(-under, 0.0)
            gap += (c - down) * max(over, 0.0) + down * max(-over, 0.0)
        else:
            # β²/4C − β·slack + C slack², and β times the way from slack's edge to its own.
            slack = max(under, 0.0) - max(over, 0.0)
            loss += c * slack * slack
            off = beta[i] - 2 * c * slack
            gap += off * off / (4 * c) + up * (max(-under, 0.0) - max(over, 0.0))
            gap += down * (max(-over, 0.0) - max(under, 0.0))
    return loss, gap


@compiled
def cut(kind, beta, low, high, cost):
    """Cut off, in place, what no dual can be: beyond C, or on the side of an edge that is none.

    Returns Σ of what was cut off.
    """
    total = 0.0
    for i in range(beta.size):
        old = beta[i]
        if kind == LOGISTIC:
            most, least = max(low[i], 0.0) * cost[i], min(low[i], 0.0) * cost[i]
        else:
            bound = cost[i] if kind == TUBE else math.inf
            most = bound if low[i] > -FAR else 0.0
            least = -bound if high[i] < FAR else 0.0
        if not least <= old <= most:
            beta[i] = min(max(old, least), most)
            total += abs(beta[i] - old)
    return total


@compiled(fastmath=REASSOCIATE)
def _tube(s, beta, low, high, c):
    """The term of the gap at a score."""
    under, over = low - s, s - high
    up, down = max(beta, 0.0), max(-beta, 0.0)
    gap = (c - up) * max(under, 0.0) + up * max(-under, 0.0)
    return gap + (c - down) * max(over, 0.0) + down * max(-over, 0.0)


@compiled(fastmath=REASSOCIATE)
def _squared(s, beta, low, high, c):
    """The same, with the rounding of the difference β − 2Cξ and of C itself added to it."""
    under, over = max(low - s, 0.0), max(s - high, 0.0)
    mine, other = (under, over) if beta >= 0.0 else (over, under)
    way = max(s - low, 0.0) if beta >= 0.0 else max(high - s, 0.0)  # beyond the dual's own edge
    size = abs(beta)
    beyond = size * way if size > 0.0 else 0.0
    off = abs(size - 2 * c * mine) + 16 * UNIT * (size + 2 * c * mine)
    return off * off / (4 * c) + beyond + c * other * other


@compiled
def _logistic_terms(m, beta, e, c):
    """The same at a margin m ± e, and by how much the loss may be off.

    The term is c times KL(a ‖ p), a = β/C and p = 1/(1 + exp(m)), whose slope in m is a − p.
    """
    a = min(abs(beta) / c, 1.0)
    small = math.exp(-abs(m))
    p = (small if m > 0.0 else 1.0) / (1.0 + small)
    value = math.log1p(small) + max(-m, 0.0)
    one = a * math.log(a) if a > 0.0 else 0.0
    other = (1.0 - a) * math.log1p(-a) if a < 1.0 else 0.0
    size = value - one - other + a * (abs(m) + 40.0)
    gap = max(value + one + other + a * m, 0.0) + 16 * UNIT * size + 1e-307
    gap += e * (abs(a - p) + 4 * UNIT) + e * e / 8
    return c * value, c * gap, c * (e * min(p + e, 1.0) + 8 * UNIT * value + 1e-307)


@compiled(fastmath=REASSOCIATE)
def _edge_terms(kind, g, error, beta, low, high, cost, out):
    """`bounded_terms` of some rows with edges."""
    least, most, gap = 0.0, 0.0, 0.0
    for i in range(g.size):
        c = cost[i]
        # The ends are rounded, too; and scores were moved and scaled.
        e = error[i] * (1 + 8 * UNIT) + (8 * UNIT * abs(g[i]) if error[i] > 0.0 else 0.0)
        down, up = g[i] - e, g[i] + e
        far = max(low[i] - down, up - high[i], 0.0)
        near = max(low[i] - up, down - high[i], 0.0)
        if kind == TUBE:
            most += c * far
            least += c * near
            term = max(_tube(down, beta[i], low[i], high[i], c),
                       _tube(up, beta[i], low[i], high[i], c))  # fmt: skip
        else:
            most += c * far * far
            least += c * near * near
            term = max(_squared(down, beta[i], low[i], high[i], c),
                       _squared(up, beta[i], low[i], high[i], c))  # fmt: skip
        out[i] = term
        gap += term
    return least, most, gap


@compiled
def _smooth_terms(g, error, beta, label, cost, out):
    """`bounded_terms` of some rows of the logistic loss."""
    least, most, gap = 0.0, 0.0, 0.0
    for i in range(g.size):
        e = error[i] * (1 + 8 * UNIT) + (8 * UNIT * abs(g[i]) if error[i] > 0.0 else 0.0)
        loss, term, off = _logistic_terms(label[i] * g[i], beta[i], e, cost[i])
        least += max(loss - off, 0.0)
        most += loss + off
        out[i] = term
        gap += term
    return least, most, gap


@compiled
def bounded_terms(kind, g, error, beta, low, high, cost, out):
    """Bounds of Σ L(g) and of Σ L(g) + L*(−β) + β g over all scores within g ± error.

    Every term is convex in the score, hence largest at one of the two ends. ``cost`` may be off by
    three units of rounding: what that does to the losses is added by the caller. ``out`` gets, of
    each row, the largest term; returns the smallest and largest loss and the largest gap, summed.
    All numbers must be finite.
    """
    least, most, gap = 0.0, 0.0, 0.0
    for a in range(0, g.size, _BLOCK):
        z = min(a + _BLOCK, g.size)
        if kind == LOGISTIC:
            one, two, three = _smooth_terms(
                g[a:z], error[a:z], beta[a:z], low[a:z], cost[a:z], out[a:z]
            )
        else:
            one, two, three = _edge_terms(
                kind, g[a:z], error[a:z], beta[a:z], low[a:z], high[a:z], cost[a:z], out[a:z]
            )
        least, most, gap = least + one, most + two, gap + three
    return least, most, gap


@compiled(fastmath=REASSOCIATE)
def own_terms(kind, g, beta, low, cost, keep_up, keep_down):
    """Scale a smooth loss's own duals β = −L'(g) in place; return what `terms` would of these.

    With β to go by, the logistic loss takes one logarithm: p = σ(−m) is 1 − exp(−L), and for s p

        L + L* + s p m = s p log s + (1 − s p) log(1 + (1 − s) exp(−m))
    """
    loss, gap = 0.0, 0.0
    log_up, log_down = math.log(max(keep_up, _LEAST)), math.log(max(keep_down, _LEAST))
    for i in range(g.size):
        c = cost[i]
        keep, log_keep = (keep_up, log_up) if beta[i] > 0.0 else (keep_down, log_down)
        if kind == SQUARED:
            value = beta[i] * beta[i] / (4 * c)
            loss += value
            gap += (1.0 - keep) * (1.0 - keep) * value
        else:
            margin, p = low[i] * g[i], low[i] * beta[i] / c
            value = -_log_of_rest(p) if margin > 0.0 else -margin - math.log(p)
            loss += c * value
            if keep != 1.0:
                odds = p / (1.0 - p) if margin > 0.0 else math.exp(min(-margin, _MOST))
                a = keep * p
                gap += c * max(a * log_keep + (1.0 - a) * _log_of_more((1.0 - keep) * odds), 0.0)
        beta[i] *= keep
    return loss, gap
