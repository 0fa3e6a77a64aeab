"""Compiled parts of the proximal method: a tube whose kinks are parabolas around present duals.

With present duals β₀ and a width ω, a row's dual at the score g is

    β(g) = argmax over |β| ≤ C of   low·β₊ − high·β₋ − g β − ω (β − β₀)² / (2C)
"""

from __future__ import annotations

from mercer._numba import REASSOCIATE, compiled

__all__ = ["expect", "near", "prox_slope", "reach", "respond"]


@compiled(fastmath=REASSOCIATE)
def _dual(g, low, high, cost, present, width):
    stiff = cost / width
    up = present + stiff * (low - g)
    down = present + stiff * (high - g)
    return max(min(up, cost), 0.0) + min(max(down, -cost), 0.0)


@compiled(fastmath=REASSOCIATE)
def respond(g, low, high, cost, present, width, beta, change):
    """Write β(g), and how it changed; return Σβ and the sum of Fenchel–Young terms."""
    total, gap = 0.0, 0.0
    for i in range(g.size):
        c = cost[i]
        new = _dual(g[i], low[i], high[i], c, present[i], width)
        under, over = low[i] - g[i], g[i] - high[i]
        up, down = max(new, 0.0), max(-new, 0.0)
        gap += (c - up) * max(under, 0.0) + up * max(-under, 0.0)
        gap += (c - down) * max(over, 0.0) + down * max(-over, 0.0)
        change[i] = new - beta[i]
        beta[i] = new
        total += new
    return total, gap


@compiled(fastmath=REASSOCIATE)
def near(beta, cost, width, out):
    """Write the curvature, C/ω of rows with a free dual; return how many, and its sum."""
    used, total = 0, 0.0
    for i in range(beta.size):
        size = abs(beta[i])
        out[i] = cost[i] / width if 0.0 < size < cost[i] else 0.0
        used += out[i] != 0.0
        total += out[i]
    return used, total


@compiled(fastmath=REASSOCIATE)
def reach(g, low, high, cost, beta, step, slack, out):
    """Mark rows with a free dual, and those near an edge; return how many.

    Near is twice the last step of their score, and this part of the mean step.
    """
    far = 0.0
    for i in range(g.size):
        far += abs(step[i])
    far *= slack / max(g.size, 1)
    count = 0
    for i in range(g.size):
        size = abs(beta[i])
        way = min(abs(low[i] - g[i]), abs(high[i] - g[i]))
        out[i] = 0.0 < size < cost[i] or way <= 2 * abs(step[i]) + far
        count += out[i]
    return count


@compiled
def misplaced(g, low, high, cost, beta, out):
    """Mark further rows whose dual is not that of their side of the edge; return how many."""
    count = 0
    for i in range(g.size):
        if not out[i]:
            inside = low[i] < g[i] < high[i]
            out[i] = inside if beta[i] != 0.0 else g[i] < low[i] or g[i] > high[i]
            count += out[i]
    return count


@compiled(fastmath=REASSOCIATE)
def expect(g, low, high, cost, present, width, beta, out, ahead):
    """As `near`, for the rows whose present dual is free: they are expected to stay so.

    ``ahead`` is what their duals would be, no matter the bounds, beyond β.
    """
    used, total = 0, 0.0
    for i in range(g.size):
        out[i] = ahead[i] = 0.0
        size = abs(present[i])
        if 0.0 < size < cost[i]:
            out[i] = cost[i] / width
            edge = low[i] if present[i] > 0.0 else high[i]
            ahead[i] = present[i] + out[i] * (edge - g[i]) - beta[i]
            used += 1
            total += out[i]
    return used, total


@compiled(fastmath=REASSOCIATE)
def prox_slope(g, h, t, low, high, cost, present, width):
    """First and second derivative of the smoothed losses at g + t h in t."""
    first, second = 0.0, 0.0
    for i in range(g.size):
        c = cost[i]
        beta = _dual(g[i] + t * h[i], low[i], high[i], c, present[i], width)
        first -= beta * h[i]
        size = abs(beta)
        second += c / width * h[i] * h[i] if 0.0 < size < c else 0.0
    return first, second
