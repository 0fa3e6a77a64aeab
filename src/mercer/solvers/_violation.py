"""Compiled passes over all variables: KKT violation and bias interval.

v = −grad = target − f[row]. A variable that may rise (β < upper) and one that may fall (β > lower)
of the same group violate the optimality conditions by v_rise − v_fall if that is positive (Keerthi
et al. 2001). The largest v that may rise and the smallest that may fall are the ends of the bias
interval.
"""

from __future__ import annotations

import numpy as np

from mercer._numba import REASSOCIATE, compiled

__all__ = ["bias_interval", "extremes", "segment_violations"]

_FAR = 1e300  # stands for "no such variable"


def extremes(
    f: np.ndarray,
    row: np.ndarray,
    target: np.ndarray,
    beta: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    group: np.ndarray,
    n_groups: int,
    v: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Fill v = target − f[row]; per group its largest that may rise and smallest that may fall.

    Without groups (no equality constraint) zero stands in as a partner of every variable.
    """
    top, bottom = np.full(max(n_groups, 1), -_FAR), np.full(max(n_groups, 1), _FAR)
    _extremes(f, row, target, beta, lower, upper, group, n_groups, v, top, bottom)
    return top, bottom


@compiled(fastmath=REASSOCIATE)
def _extremes(f, row, target, beta, lower, upper, group, n_groups, v, top, bottom):
    for k in range(v.size):
        v[k] = target[k] - f[row[k]]
    if n_groups <= 1:
        high, low = -_FAR, _FAR
        for k in range(v.size):
            high = max(high, v[k] if beta[k] < upper[k] else -_FAR)
            low = min(low, v[k] if beta[k] > lower[k] else _FAR)
        top[0], bottom[0] = high, low
    else:
        for k in range(v.size):
            g = group[k]
            if beta[k] < upper[k]:
                top[g] = max(top[g], v[k])
            if beta[k] > lower[k]:
                bottom[g] = min(bottom[g], v[k])
    if n_groups == 0:
        top[0] = max(top[0], 0.0)
        bottom[0] = min(bottom[0], 0.0)


@compiled
def bias_interval(target, f, beta, lower, upper, begin, end):
    """b and its interval for one group, the variables begin..end of arrays without ``row``.

    b is the mean of target − f over free variables, or else the middle of the interval.
    """
    top, bottom, total, n_free = -_FAR, _FAR, 0.0, 0
    for k in range(begin, end):
        v = target[k] - f[k]
        rises, falls = beta[k] < upper[k], beta[k] > lower[k]
        if rises:
            top = max(top, v)
        if falls:
            bottom = min(bottom, v)
        if rises and falls:
            total += v
            n_free += 1
    return total / n_free if n_free > 0 else (top + bottom) / 2, top, bottom


def segment_violations(
    v: np.ndarray,
    error: np.ndarray,
    beta: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    begins: np.ndarray,
) -> np.ndarray:
    """The largest violation of each of several problems whose variables follow one another.

    v is taken at the worse end of v ± error.
    """
    top = np.maximum.reduceat(np.where(beta < upper, v + error, -_FAR), begins)
    bottom = np.minimum.reduceat(np.where(beta > lower, v - error, _FAR), begins)
    return np.maximum(top - bottom, 0.0)
