"""Compiled sums over pairs of graphs for random walks in their product graph.

All terms are non-negative: errors are relative.
"""

from __future__ import annotations

import numpy as np

from mercer._numba import REASSOCIATE, compiled

__all__ = ["spectral_sums", "walk_sums"]


@compiled(fastmath=REASSOCIATE)
def spectral_sums(
    x_offsets,
    x_values,
    x_weights,
    x_rows,
    z_offsets,
    z_values,
    z_weights,
    z_rows,
    decay,
    flat,
    stride,
):
    """Σ_i Σ_j w_i w_j / (1 − decay μ_i ν_j) over the eigenvalues of both graphs."""
    for i in range(x_rows.size):
        a, b = x_offsets[x_rows[i]], x_offsets[x_rows[i] + 1]
        for j in range(z_rows.size):
            c, d = z_offsets[z_rows[j]], z_offsets[z_rows[j] + 1]
            values, weights = z_values[c:d], z_weights[c:d]
            total = 0.0
            for s in range(a, b):
                rate, inner = decay * x_values[s], 0.0
                for t in range(d - c):
                    inner += weights[t] / (1.0 - rate * values[t])
                total += x_weights[s] * inner
            flat[i * stride + j] = total


@compiled
def walk_sums(x_graphs, x_rows, x_radii, z_graphs, z_rows, z_radii, decay, flat, stride):
    """Σ_k decay^k · number (weight) of pairs of walks of k edges with the same labels.

    A side is (offsets, indptr, neighbours, weights, node labels, edge labels, number of edge
    labels); the edges of a node are sorted by label. With v_k the vector of walks of k edges by
    their last pair of nodes, A the product graph's symmetric matrix and ρ ≤ ``x_radii · z_radii``
    its spectral radius, 1ᵀA^(2k)1 = v_k·v_k and 1ᵀA^(2k+1)1 = v_k·v_(k+1); the rest of the series
    after these is at most (decay A)^(2k+2) over 1 − decay ρ, and is below the rounding when the
    sum ends.
    """
    x_offsets, z_offsets = x_graphs[0], z_graphs[0]
    largest = 0
    for i in range(x_rows.size):
        n = x_offsets[x_rows[i] + 1] - x_offsets[x_rows[i]]
        for j in range(z_rows.size):
            largest = max(largest, n * (z_offsets[z_rows[j] + 1] - z_offsets[z_rows[j]]))
    before, after, middle = np.empty(largest), np.empty(largest), np.empty(largest)
    for i in range(x_rows.size):
        for j in range(z_rows.size):
            rest = 1.0 - decay * x_radii[x_rows[i]] * z_radii[z_rows[j]]
            flat[i * stride + j] = _walk_sum(
                x_graphs, x_rows[i], z_graphs, z_rows[j], decay, rest, before, after, middle
            )


@compiled
def _walk_sum(x_graphs, x, z_graphs, z, decay, rest, before, after, middle):
    n = x_graphs[0][x + 1] - x_graphs[0][x]
    m = z_graphs[0][z + 1] - z_graphs[0][z]
    x_labels = x_graphs[4][x_graphs[0][x] : x_graphs[0][x + 1]]
    z_labels = z_graphs[4][z_graphs[0][z] : z_graphs[0][z + 1]]
    square = 0.0
    for u in range(n):
        for v in range(m):
            before[u * m + v] = 1.0 if x_labels[u] == z_labels[v] else 0.0
            square += before[u * m + v]
    total = square
    while square > 0.0:
        _walk_step(x_graphs, x, z_graphs, z, decay, before, after, middle)
        product, square = 0.0, 0.0
        for k in range(n * m):
            product += before[k] * after[k]
            square += after[k] * after[k]
        total += product + square
        if square <= 1e-17 * rest * total:
            break
        before, after = after, before
    return total


@compiled
def _walk_step(x_graphs, x, z_graphs, z, decay, before, after, middle):
    """after = decay Σ_l A_l before B_l, where labels of nodes agree; A_l, B_l edges of a label."""
    x_offsets, x_indptr, x_neighbours, x_weights, x_labels, x_edges, n_kinds = x_graphs
    z_offsets, z_indptr, z_neighbours, z_weights, z_labels, z_edges, _ = z_graphs
    x0, z0 = x_offsets[x], z_offsets[z]
    n, m = x_offsets[x + 1] - x0, z_offsets[z + 1] - z0
    for k in range(n * m):
        after[k] = 0.0
    for kind in range(n_kinds):
        for u in range(n):
            row = middle[u * m : (u + 1) * m]
            is_empty = True
            for t in range(x_indptr[x0 + u], x_indptr[x0 + u + 1]):
                if x_edges[t] == kind:
                    weight = decay * x_weights[t]
                    start = (x_neighbours[t] - x0) * m
                    source = before[start : start + m]
                    if is_empty:
                        for v in range(m):
                            row[v] = weight * source[v]
                    else:
                        for v in range(m):
                            row[v] += weight * source[v]
                    is_empty = False
            if is_empty:
                continue
            for v in range(m):
                if x_labels[x0 + u] == z_labels[z0 + v]:
                    found = 0.0
                    for t in range(z_indptr[z0 + v], z_indptr[z0 + v + 1]):
                        if z_edges[t] == kind:
                            found += z_weights[t] * row[z_neighbours[t] - z0]
                    after[u * m + v] += found
