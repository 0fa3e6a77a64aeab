"""Several classes: one distribution from pairwise probabilities, and agreement with `predict`."""

from __future__ import annotations

import numpy as np

from mercer._multiclass import pairs

__all__ = ["agree", "agree_in_pairs", "couple", "couple_as_libsvm"]

# Pairwise probabilities of 0 or 1 would make the coupling singular (LIBSVM's bound).
LEAST = 1e-7
# Rows coupled in one go: a few k × k matrices each.
ROWS_AT_ONCE = 2048
# LIBSVM stops its iteration where no entry of Qp − pᵀQp is above this over the number of classes.
LIBSVM_TOLERANCE = 0.005
LIBSVM_ROUNDS = 100


def couple(p: np.ndarray, n_classes: int) -> np.ndarray:
    """One distribution from pairwise probabilities p(i | i or j), row by row.

    Minimises Σ_{i≠j} (p_ji x_i − p_ij x_j)² over the simplex (Wu, Lin and Weng, JMLR 5, 2004,
    second approach): a linear system for each row.
    """
    n, k = p.shape[0], n_classes
    if n > ROWS_AT_ONCE:
        parts = (p[i : i + ROWS_AT_ONCE] for i in range(0, n, ROWS_AT_ONCE))
        return np.concatenate([couple(part, k) for part in parts])
    system = np.zeros((n, k + 1, k + 1))
    system[:, :k, :k] = _quadratic_form(p, k)
    system[:, :k, k] = system[:, k, :k] = 1.0
    right = np.zeros((n, k + 1, 1))
    right[:, k] = 1.0
    x = np.clip(np.linalg.solve(system, right)[:, :k, 0], 0.0, None)
    return x / x.sum(axis=1, keepdims=True)


def _quadratic_form(p: np.ndarray, k: int) -> np.ndarray:
    """Q of every row, with xᵀQx = ½ Σ_{i≠j} (p_ji x_i − p_ij x_j)²."""
    r = np.zeros((p.shape[0], k, k))
    p = np.clip(p, LEAST, 1 - LEAST)
    for t, (i, j) in enumerate(pairs(k)):
        r[:, i, j] = p[:, t]
        r[:, j, i] = 1 - p[:, t]
    Q = -np.swapaxes(r, 1, 2) * r
    diagonal = np.arange(k)
    Q[:, diagonal, diagonal] = (r**2).sum(axis=1)
    return Q


def couple_as_libsvm(p: np.ndarray, order: np.ndarray, pairs_too: bool = False) -> np.ndarray:
    """The distribution that svm-predict prints for pairwise probabilities p(i | i or j).

    The same problem as that of `couple`, solved by the fixed-point iteration of Wu, Lin and Weng
    (Algorithm 2), which LIBSVM ends early: its values are off by up to some thousandths. ``order``
    is the order of the classes in LIBSVM's file, in which the iteration passes over them. The
    version in scikit-learn also iterates for two classes (``pairs_too``), 3.24 and later do not.
    """
    k = order.size
    p = np.clip(p, LEAST, 1 - LEAST)
    if k == 2 and not pairs_too:
        return np.column_stack([p[:, 0], 1 - p[:, 0]])
    Q = _quadratic_form(p, k)[:, order[:, None], order]
    x = np.full((p.shape[0], k), 1.0 / k)
    active = np.arange(p.shape[0])
    for _ in range(max(LIBSVM_ROUNDS, k)):
        Qx = np.einsum("nij,nj->ni", Q[active], x[active])
        value = (x[active] * Qx).sum(axis=1)
        goes_on = np.abs(Qx - value[:, None]).max(axis=1) >= LIBSVM_TOLERANCE / k
        active, Qx, value = active[goes_on], Qx[goes_on], value[goes_on]
        if not active.size:
            break
        x[active] = _pass_over(Q[active], x[active], Qx, value)
    out = np.empty_like(x)
    out[:, order] = x
    return out


def _pass_over(Q: np.ndarray, x: np.ndarray, Qx: np.ndarray, value: np.ndarray) -> np.ndarray:
    """One pass of the iteration over the classes; ``value`` is xᵀQx."""
    for t in range(x.shape[1]):
        diff = (value - Qx[:, t]) / Q[:, t, t]
        x[:, t] += diff
        value = (value + diff * (diff * Q[:, t, t] + 2 * Qx[:, t])) / (1 + diff) ** 2
        Qx = (Qx + diff[:, None] * Q[:, t]) / (1 + diff)[:, None]
        x /= (1 + diff)[:, None]
    return x


def agree_in_pairs(p: np.ndarray, f: np.ndarray) -> np.ndarray:
    """p(positive class) on the side of ½ where its decision value is.

    A map p(f) that crosses ½ elsewhere is cut off at ½, which it then has at f = 0. The cut rises
    a millionth across all f, so that p stays strictly increasing in f.
    """
    rise = 1e-6 * np.abs(f) / (1 + np.abs(f))
    return np.where(f > 0, np.maximum(p, 0.5 + rise), np.minimum(p, 0.5 - rise))


def agree(p: np.ndarray, winner: np.ndarray) -> np.ndarray:
    """The nearest distributions whose largest entry is that of the winner.

    The winner and the entries above it become their common mean: of {p : p_winner ≥ p_j, Σ p = 1}
    that is the nearest point. A relative 1e-12 then goes from those that are equal to it to the
    winner, so that it is the only largest one.
    """
    p = np.array(p, dtype=np.float64)
    n, k = p.shape
    rows = np.arange(n)
    own = p[rows, winner]
    others = p.copy()
    others[rows, winner] = -1.0
    others = -np.sort(-others, axis=1)[:, : k - 1]
    # Of the winner and its m largest rivals; it rises with m while rivals above it are left.
    means = (own[:, None] + np.cumsum(others, axis=1)) / np.arange(2, k + 1)
    level = np.maximum(own, means.max(axis=1))
    p = np.minimum(p, level[:, None])
    p[rows, winner] = level
    below = level[:, None] * (1 - 1e-12)
    shrunk = np.minimum(p, below)
    shrunk[rows, winner] = 0.0
    shrunk[rows, winner] = 1.0 - shrunk.sum(axis=1)
    return shrunk
