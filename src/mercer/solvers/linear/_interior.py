"""Compiled parts of the interior point method: what happens at each edge of each row.

An edge with sign σ (+1 for a lower edge, −1 for an upper one) at e has m = σ (g − e), the dual α
in (0, C), and slacks ξ > 0 and z = m + ξ > 0 with the multipliers C − α and α. Centred: α z = μ
and (C − α) ξ = μ.
"""

from __future__ import annotations

import math

from mercer._compiled import REASSOCIATE, compiled

__all__ = ["advance", "barrier_slope", "centre", "directions", "weights"]


@compiled
def _centred(m, k):
    """The root a in (0, 1) of k/a − k/(1 − a) = m, and 1 − a, both to full precision."""
    root = math.sqrt(m * m + 4 * k * k)
    if m > 0:
        a = 2 * k / (m + 2 * k + root)
        return a, 1.0 - a
    rest = 2 * k / (2 * k - m + root)
    return 1.0 - rest, rest


@compiled
def centre(g, row, sign, edge, cost, mu, alpha, xi, z):
    """The centred α, ξ and z for the scores g."""
    for e in range(alpha.size):
        m = sign[e] * (g[row[e]] - edge[e])
        a, rest = _centred(m, mu / cost[e])
        alpha[e] = cost[e] * a
        z[e], xi[e] = mu / (cost[e] * a), mu / (cost[e] * rest)


@compiled
def barrier_slope(g, h, t, row, sign, edge, cost, mu):
    """First and second derivative in t of the barrier's smooth loss at g + t h."""
    first, second = 0.0, 0.0
    for e in range(row.size):
        along, k = sign[e] * h[row[e]], mu / cost[e]
        m = sign[e] * (g[row[e]] - edge[e]) + t * along
        a, rest = _centred(m, k)
        first -= cost[e] * a * along
        second += cost[e] * along * along / (k / (a * a) + k / (rest * rest))
    return first, second


@compiled(fastmath=REASSOCIATE)
def weights(row, sign, cost, alpha, xi, z, mu, bend, D, pull, curvature, right):
    """D = 1/(z/α + ξ/(C−α)) and the pull ρ with Δα = D (ρ − Δm), at edges and summed at rows.

    ``bend`` is the second-order correction Δα (Δz/α + Δξ/(C−α)) of the predictor.
    """
    for i in range(right.size):
        curvature[i] = right[i] = 0.0
    for e in range(alpha.size):
        a, v = alpha[e], cost[e] - alpha[e]
        D[e] = 1.0 / (z[e] / a + xi[e] / v)
        pull[e] = mu / a - mu / v - (z[e] - xi[e]) - bend[e]
        curvature[row[e]] += D[e]
        right[row[e]] += sign[e] * D[e] * pull[e]


@compiled(fastmath=REASSOCIATE)
def directions(h, row, sign, cost, alpha, xi, z, mu, D, pull, bend, d_alpha, d_xi, reach):
    """Steps of α and ξ for the scores' step h, and how far each edge can go.

    Returns the linear and the quadratic change of Σ α z + (C − α) ξ with the length of the step.

    ``bend`` goes in as it was in `weights` and comes out as that of this step.
    """
    linear, square = 0.0, 0.0
    for e in range(alpha.size):
        a, v = alpha[e], cost[e] - alpha[e]
        dm = sign[e] * h[row[e]]
        da = D[e] * (pull[e] - dm)
        # (C−α) Δξ = μ − (C−α) ξ + ξ Δα + the part of the correction that belongs to ξ
        dxi = (mu + d_xi[e]) / v - xi[e] + xi[e] * da / v
        dz = dm + dxi
        most = 1e300
        if da < 0:
            most = -a / da
        elif da > 0:
            most = v / da
        if dxi < 0:
            most = min(most, -xi[e] / dxi)
        if dz < 0:
            most = min(most, -z[e] / dz)
        linear += a * dz + z[e] * da + v * dxi - xi[e] * da
        square += da * dz - da * dxi
        d_alpha[e], d_xi[e], reach[e] = da, dxi, most
        bend[e] = da * (dz / a + dxi / v)
    return linear, square


@compiled(fastmath=REASSOCIATE)
def advance(g, row, sign, edge, t, keep, d_alpha, d_xi, cost, alpha, xi, z, beta):
    """Take a step of length t, at each edge as far as α, C − α, ξ and z keep a part of themselves.

    g are the scores after the step; z − ξ = m whatever is held back. Returns Σ α z + (C − α) ξ;
    β at rows is written.
    """
    for i in range(beta.size):
        beta[i] = 0.0
    total = 0.0
    for e in range(alpha.size):
        c, a = cost[e], alpha[e]
        a = min(max(a + t * d_alpha[e], keep * a), c - keep * (c - a))
        m = sign[e] * (g[row[e]] - edge[e])
        slack = max(xi[e] + t * d_xi[e], keep * xi[e])
        slack = max(slack, keep * z[e] - m)
        alpha[e], xi[e], z[e] = a, slack, m + slack
        beta[row[e]] += sign[e] * a
        total += a * z[e] + (c - a) * slack
    return total
