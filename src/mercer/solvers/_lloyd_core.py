"""Compiled steps of k-means in feature space; several starts side by side.

With labels z and weights s, each start has the sums S[c, i] = Σ_{z_j = c} s_j K_ij, from which
φ(x_i)·μ_c = S[c, i] / W_c, where W_c = Σ_{z_j = c} s_j.
"""

from __future__ import annotations

from mercer._numba import REASSOCIATE, compiled

__all__ = ["assign", "cluster_moments", "move"]


@compiled(fastmath=REASSOCIATE)
def move(K, slots, old, new, weight, active, sums):
    """Take points out of their old clusters and put them into their new ones.

    K[slots_t] is the kernel row of point t, ``old`` and ``new`` (starts, points) its clusters
    (old −1: none), ``sums`` (starts, clusters, columns).
    """
    for t in range(slots.size):
        row, s = K[slots[t]], weight[t]
        for r in active:
            before, after = old[r, t], new[r, t]
            if before == after:
                continue
            into = sums[r, after]
            if before < 0:
                for i in range(row.size):
                    into[i] += s * row[i]
            else:
                out = sums[r, before]
                for i in range(row.size):
                    step = s * row[i]
                    into[i] += step
                    out[i] -= step


@compiled
def cluster_moments(sums, labels, weight, mass, square):
    """W_c and ‖Σ_{z_i = c} s_i φ(x_i)‖² of one start."""
    mass[:] = 0.0
    square[:] = 0.0
    for i in range(labels.size):
        c = labels[i]
        mass[c] += weight[i]
        square[c] += weight[i] * sums[c, i]


@compiled(fastmath=REASSOCIATE)
def assign(sums, labels, offset, scale, slack, new, score):
    """The nearest centre of each point: the smallest offset_c − scale_c · S[c, i].

    That is ‖φ(x_i) − μ_c‖² − k(x_i, x_i). A point moves only for a gain of more than ``slack``, so
    that rounding cannot send it back and forth.
    """
    for i in range(labels.size):
        c = labels[i]
        new[i] = c
        score[i] = offset[c] - scale[c] * sums[c, i] - slack
    for c in range(offset.size):
        row, o, f = sums[c], offset[c], scale[c]
        for i in range(labels.size):
            value = o - f * row[i]
            if value < score[i]:
                score[i] = value
                new[i] = c
