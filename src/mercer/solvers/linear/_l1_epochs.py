"""Compiled epochs of coordinate descent on ‖w‖₁ + Σ C max(0, r)² (`_l1_descent` has the method).

The columns are multiplied by the labels, v = y x, so that a step z of wⱼ changes the margins short
by r = 1 − y g to r − v z. Of dense columns ``rows`` is empty, and they lie one after another.
"""

from __future__ import annotations

import math

import numpy as np

from mercer._numba import REASSOCIATE, compiled

__all__ = ["column_curvatures", "descend"]


@compiled(fastmath=REASSOCIATE)
def _derivatives(rows, values, first, last, z, slack, C):
    """First and second derivative of Σ C max(0, r − v z)² in z."""
    slope, curvature = 0.0, 0.0
    if rows.size == 0:
        for k in range(last - first):
            v = values[first + k]
            r = slack[k] - v * z
            v *= C[k]
            slope += v * max(r, 0.0)
            curvature += v * values[first + k] if r > 0.0 else 0.0
    else:
        for k in range(first, last):
            i, v = rows[k], values[k]
            r = slack[i] - v * z
            if r > 0.0:
                slope += C[i] * v * r
                curvature += C[i] * v * v
    return -2 * slope, 2 * curvature


@compiled(fastmath=REASSOCIATE)
def _move(rows, values, first, last, z, slack):
    """r − v z, in place."""
    if rows.size == 0:
        for k in range(last - first):
            slack[k] -= values[first + k] * z
    else:
        for k in range(first, last):
            slack[rows[k]] -= values[k] * z


@compiled
def column_curvatures(indptr, rows, values, C, out):
    """2 Σ C v² of each column, an upper bound of its second derivative."""
    for j in range(indptr.size - 1):
        total = 0.0
        for k in range(indptr[j], indptr[j + 1]):
            i = rows[k] if rows.size else k - indptr[j]
            total += C[i] * values[k] * values[k]
        out[j] = 2 * total


@compiled
def _newton_step(w, slope, curvature, penalty):
    """The minimiser z of slope z + ½ curvature z² + penalty |w + z|."""
    if curvature <= 0.0:
        return -w if penalty > 0.0 else 0.0
    if slope + penalty <= curvature * w:
        return -(slope + penalty) / curvature
    if slope - penalty >= curvature * w:
        return -(slope - penalty) / curvature
    return -w


@compiled
def _best_step(rows, values, first, last, w, slope, curvature, largest, penalty, slack, C, limits):
    """About the minimiser along a coordinate, and how often the column was read.

    A Newton step is taken as it is where the bound ``largest`` of the curvature shows that the
    value falls by a fraction of what the model promises; else Newton steps within a bracket follow.
    """
    decrease, accuracy, max_steps = limits
    z = _newton_step(w, slope, curvature, penalty)
    change = slope * z + penalty * (abs(w + z) - abs(w))
    if z == 0.0 or largest * z * z / 2 + change <= decrease * change:
        return z, 1
    low, high = (0.0, math.inf) if z > 0.0 else (-math.inf, 0.0)
    is_positive = z > 0.0
    for step in range(int(max_steps)):
        slope, curvature = _derivatives(rows, values, first, last, z, slack, C)
        more = _newton_step(w + z, slope, curvature, penalty)
        if abs(more) <= accuracy * abs(z):
            return z, step + 2
        if more > 0.0:
            low = z
        else:
            high = z
        new = -w if more == -(w + z) else z + more
        z = new if low < new < high else (low + high) / 2
    return (low if is_positive else high), int(max_steps) + 1


@compiled
def descend(columns, intercept, penalties, curvatures, model, active, numbers, counts, limits):
    """Epochs over the active columns, until the violation or the number of epochs is reached.

    Columns whose derivative is further below the penalty than a fraction, ``limits[1]``, of the
    largest violation of the last epoch become inactive. ``intercept`` is y, the column of b, which
    is the last one.

    ``numbers``: largest violation of the last epoch, and so far in this one; its sum so far and in
    the last epoch; the sum at which to end. ``counts``: position, active columns, epochs, epochs at
    which to end, numbers read, state of the random order. Returns whether this is the end, or only
    ``limits[0]`` numbers have been read.
    """
    indptr, rows, values = columns
    w, slack, C = model
    dense = rows[:0]
    max_read, shrink_fraction = limits[:2]
    d, read, step_limits = indptr.size - 1, 0, limits[2:]
    while True:
        while counts[0] < counts[1]:
            if read >= max_read:
                counts[4] += read
                return False
            k = counts[0]
            seed = np.uint64(counts[5])
            seed ^= seed << np.uint64(13)
            seed ^= seed >> np.uint64(7)
            seed ^= seed << np.uint64(17)
            counts[5] = np.int64(seed)
            other = k + np.int64((seed >> np.uint64(1)) % np.uint64(counts[1] - k))
            active[k], active[other] = active[other], active[k]
            j = active[k]
            if j == d:
                at, of, first, last = dense, intercept, 0, intercept.size
            else:
                at, of, first, last = rows, values, indptr[j], indptr[j + 1]
            slope, curvature = _derivatives(at, of, first, last, 0.0, slack, C)
            penalty, read = penalties[j], read + last - first + 8
            if w[j] > 0.0:
                violation = abs(slope + penalty)
            elif w[j] < 0.0:
                violation = abs(slope - penalty)
            else:
                violation = max(abs(slope) - penalty, 0.0)
                if abs(slope) < penalty * (1.0 - shrink_fraction * numbers[0]):
                    counts[1] -= 1
                    active[k], active[counts[1]] = active[counts[1]], active[k]
                    continue
            violation /= penalty if penalty > 0.0 else 1.0
            numbers[1] = max(numbers[1], violation)
            numbers[2] += violation
            counts[0] += 1
            z, passes = _best_step(
                at, of, first, last, w[j], slope, curvature, curvatures[j], penalty, slack, C,
                step_limits,
            )  # fmt: skip
            if z != 0.0:
                w[j] = w[j] + z if z != -w[j] else 0.0
                _move(at, of, first, last, z, slack)
                read += passes * (last - first)
        numbers[0], numbers[1] = numbers[1], 0.0
        numbers[2], numbers[3] = 0.0, numbers[2]
        counts[0], counts[2] = 0, counts[2] + 1
        if counts[2] >= counts[3] or numbers[3] <= numbers[4] or counts[1] == 0:
            counts[4] += read
            return True
