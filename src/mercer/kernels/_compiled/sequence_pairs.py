"""Compiled recursions over two sequences of codes, for a tile of pairs.

All of them take the codes, offsets and row numbers of both sides, and write row i of the tile to
``flat`` from i · stride on. Terms are non-negative: errors are relative.
"""

from __future__ import annotations

import math

import numpy as np

from mercer._numba import compiled

__all__ = ["alignment_logs", "subsequences", "weighted_degrees"]

# Sums above the root of the largest float are scaled down by it, without rounding.
SCALE = float(2.0 ** (np.finfo(np.float64).minexp // 2))
LOG_SCALE = math.log(SCALE)


@compiled
def weighted_degrees(
    x_codes, x_offsets, x_rows, z_codes, z_offsets, z_rows, of_run, of_shift, flat, stride
):
    """Σ_s w(s) Σ_i B(run of equal letters that begins at x[i] and z[i + s]), |s| ≤ shifts.

    ``of_run[r]`` is B(r), the last entry standing for all longer runs; ``of_shift[s]`` is w(s).
    """
    degree = of_run.size - 1
    for i in range(x_rows.size):
        x = x_codes[x_offsets[x_rows[i]] : x_offsets[x_rows[i] + 1]]
        for j in range(z_rows.size):
            z = z_codes[z_offsets[z_rows[j]] : z_offsets[z_rows[j] + 1]]
            total = 0.0
            for s in range(1 - of_shift.size, of_shift.size):
                a, b = max(0, -s), max(0, s)
                run, found = 0, 0.0
                for t in range(min(x.size - a, z.size - b) - 1, -1, -1):
                    run = min(run + 1, degree) if x[a + t] == z[b + t] else 0
                    found += of_run[run]
                total += of_shift[abs(s)] * found
            flat[i * stride + j] = total


@compiled
def subsequences(
    x_codes, x_offsets, x_rows, z_codes, z_offsets, z_rows, length, decay, flat, stride
):
    """Σ over common subsequences u of this length, and their places, of decay^(spans).

    K'_q(i, j), for prefixes of x and z: subsequences of q letters, weighted up to the ends of both
    (Lodhi et al. 2002, definition 2). Only row i − 1 of each K'_q is kept.
    """
    longest = 0
    for j in range(z_rows.size):
        longest = max(longest, z_offsets[z_rows[j] + 1] - z_offsets[z_rows[j]])
    K = np.empty((length, longest + 1))
    square = decay * decay
    for i in range(x_rows.size):
        x = x_codes[x_offsets[x_rows[i]] : x_offsets[x_rows[i] + 1]]
        for j in range(z_rows.size):
            z = z_codes[z_offsets[z_rows[j]] : z_offsets[z_rows[j] + 1]]
            for t in range(z.size + 1):
                K[0, t] = 1.0
            for q in range(1, length):
                for t in range(z.size + 1):
                    K[q, t] = 0.0
            total = 0.0
            for letter in x:
                for t in range(z.size):
                    if z[t] == letter:
                        total += square * K[length - 1, t]
                for q in range(length - 1, 0, -1):
                    row, above = K[q], K[q - 1]
                    ends_here = 0.0
                    for t in range(z.size):
                        ends_here *= decay
                        if z[t] == letter:
                            ends_here += square * above[t]
                        row[t + 1] = decay * row[t + 1] + ends_here
            flat[i * stride + j] = total


@compiled
def alignment_logs(
    x_codes, x_offsets, x_rows, z_codes, z_offsets, z_rows, match, mismatch, gap, extend, out
):
    """log of the sum over all local alignments of the product of their factors.

    ``match`` … ``extend`` are factors, exponentials of scores. M, X and Y are the sums over
    alignments that end with a pair of letters, a gap in x, and a gap in z (Vert, Saigo and Akutsu
    2004, section 4). With one row of z, ``z_rows.size`` = 1, and ``x_rows`` of as many rows as
    ``out`` has; else all pairs.
    """
    longest = 0
    for j in range(z_rows.size):
        longest = max(longest, z_offsets[z_rows[j] + 1] - z_offsets[z_rows[j]])
    M, X, Y = np.empty(longest + 1), np.empty(longest + 1), np.empty(longest + 1)
    for i in range(x_rows.size):
        x = x_codes[x_offsets[x_rows[i]] : x_offsets[x_rows[i] + 1]]
        for j in range(z_rows.size):
            z = z_codes[z_offsets[z_rows[j]] : z_offsets[z_rows[j] + 1]]
            out[i, j] = _alignment_log(x, z, match, mismatch, gap, extend, M, X, Y)


@compiled
def _alignment_log(x, z, match, mismatch, gap, extend, M, X, Y):
    for t in range(z.size + 1):
        M[t] = 0.0
        X[t] = 0.0
        Y[t] = 0.0
    one, total, scalings = 1.0, 0.0, 0
    for letter in x:
        # Of the row before, at the column before; M[0], X[0] and Y[0] stay 0.
        m_before, x_before, y_before = 0.0, 0.0, 0.0
        largest = 0.0
        for t in range(1, z.size + 1):
            m_above, x_above, y_above = M[t], X[t], Y[t]
            factor = match if z[t - 1] == letter else mismatch
            value = factor * (one + m_before + x_before + y_before)
            X[t] = gap * m_above + extend * x_above
            Y[t] = gap * (M[t - 1] + X[t - 1]) + extend * Y[t - 1]
            M[t] = value
            total += value
            largest = max(largest, value)
            m_before, x_before, y_before = m_above, x_above, y_above
        if max(largest, total) > 1 / SCALE:
            scalings += 1
            one *= SCALE
            total *= SCALE
            for t in range(z.size + 1):
                M[t] *= SCALE
                X[t] *= SCALE
                Y[t] *= SCALE
    return np.log(one + total) - scalings * LOG_SCALE
