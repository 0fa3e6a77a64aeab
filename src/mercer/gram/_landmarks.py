"""Which rows stand for all: at random, k-means++, or by pivots of a partial Cholesky factor.

F with F Fᵀ ≈ K grows by columns; residual = diag(K − F Fᵀ) is what the landmarks do not explain of
each row, and its sum bounds every norm of K − F Fᵀ.

* greedy: the row with the largest residual is next;
* rpcholesky: a row is drawn with probability proportional to its residual (Chen, Epperly, Tropp and
  Webber 2025). Rows are proposed in blocks and thinned by rejection so that the law is that of
  drawing one by one (Epperly, Tropp and Webber 2024, algorithm 2.1), for the speed of matrix
  products;
* kmeans++: probability proportional to the squared distance in feature space from the nearest
  landmark, k(x,x) − 2k(x,l) + k(l,l).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.linalg as la

from mercer.gram._blocked import TILE_ROWS, BlockedGram, pieces

__all__ = ["CHOICES", "choose"]

# Proposals of a round, as a share of all landmarks: more rejections against fewer, larger products.
BLOCK_SHARE = 0.15
# A round computes at most so many kernel values, so that a limit is seen in time.
MOST_VALUES = 2_000_000
# Residuals below so many eps of the largest diagonal entry are rounding.
ROUNDING_UNITS = 100
Stop = Callable[[], bool]


def choose(
    gram: BlockedGram, m: int, how: str, rng: np.random.RandomState, stop: Stop = lambda: False
) -> np.ndarray:
    """At most m different rows; fewer where these explain all the others, or once ``stop()``."""
    return CHOICES[how](gram, m, rng, stop)


def _at_random(gram: BlockedGram, m: int, rng: np.random.RandomState, stop: Stop) -> np.ndarray:
    return rng.permutation(gram.n)[:m]


def _columns(gram: BlockedGram, rows: np.ndarray) -> np.ndarray:
    """K[:, rows]."""
    out = np.empty((gram.n, rows.size))
    landmarks = gram.sample_block(rows, np.float64)

    def fill(part: slice) -> None:
        gram.block(part, landmarks, np.float64, out[part])

    gram.workers.map(fill, pieces(gram.n, TILE_ROWS))
    return out


def _kmeans_plus_plus(
    gram: BlockedGram, m: int, rng: np.random.RandomState, stop: Stop
) -> np.ndarray:
    diagonal = gram.diag()
    distance = np.full(gram.n, 1.0)
    chosen: list[int] = []
    smallest = ROUNDING_UNITS * np.finfo(float).eps * max(diagonal.max(), 0.0)
    while len(chosen) < m and distance.any() and not (chosen and stop()):
        i = _draw(distance, 1, rng)[0]
        column = _columns(gram, np.array([i]))[:, 0]
        to_it = diagonal - 2 * column + diagonal[i]
        to_it[to_it <= smallest] = 0.0
        to_it[i] = 0.0
        distance = np.minimum(distance, to_it) if chosen else to_it
        chosen.append(int(i))
    return np.array(chosen)


def _greedy(gram: BlockedGram, m: int, rng: np.random.RandomState, stop: Stop) -> np.ndarray:
    residual, smallest = _start(gram)
    F = np.empty((m, gram.n))  # by rows: each step writes one
    chosen: list[int] = []
    while len(chosen) < m and residual.max() > smallest and not (chosen and stop()):
        i, k = int(residual.argmax()), len(chosen)
        row = _columns(gram, np.array([i]))[:, 0] - F[:k, i] @ F[:k]
        F[k] = row / np.sqrt(residual[i])
        residual -= F[k] ** 2
        residual[i] = 0.0
        chosen.append(i)
    return np.array(chosen, dtype=np.intp)


def _rpcholesky(gram: BlockedGram, m: int, rng: np.random.RandomState, stop: Stop) -> np.ndarray:
    residual, smallest = _start(gram)
    F = np.empty((gram.n, m))
    chosen = np.empty(0, dtype=np.intp)
    block = max(1, min(round(BLOCK_SHARE * m), MOST_VALUES // gram.n))
    while chosen.size < m and residual.max() > smallest and not (chosen.size and stop()):
        k = chosen.size
        proposed = _draw(residual, block, rng)
        different, which = np.unique(proposed, return_inverse=True)
        K = _columns(gram, different)
        H = K[proposed][:, which] - F[proposed, :k] @ F[proposed, :k].T
        # explained already but for the rounding of the residual: never to be proposed again
        residual[proposed[np.diag(H) <= smallest]] = 0.0
        accepted, factor = _thin(H, residual[proposed], smallest, m - k, rng)
        new = proposed[accepted]
        G = K[:, which[accepted]] - F[:, :k] @ F[new, :k].T
        end = k + new.size
        F[:, k:end] = la.solve_triangular(factor, G.T, lower=True).T
        residual -= np.einsum("ij,ij->i", F[:, k:end], F[:, k:end])
        np.maximum(residual, 0.0, out=residual)
        chosen = np.concatenate([chosen, new])
        residual[chosen] = 0.0
    return chosen


def _start(gram: BlockedGram) -> tuple[np.ndarray, float]:
    residual = gram.diag()
    if not residual.min() >= 0:
        raise ValueError(
            f"{gram.kernel!r} has k(x, x) = {residual.min():.3g} < 0: it is no kernel (see "
            "mercer.check_kernel)."
        )
    return residual, ROUNDING_UNITS * np.finfo(float).eps * residual.max()


def _draw(weight: np.ndarray, count: int, rng: np.random.RandomState) -> np.ndarray:
    """Row numbers with probability proportional to their weight, with replacement."""
    cumulative = np.cumsum(weight)
    rows = np.searchsorted(cumulative, rng.uniform(size=count) * cumulative[-1], side="right")
    return np.minimum(rows, weight.size - 1)  # u·total may round up to the total


def _thin(
    H: np.ndarray, bound: np.ndarray, smallest: float, most: int, rng: np.random.RandomState
) -> tuple[np.ndarray, np.ndarray]:
    """Accept proposal i with probability (residual by then) / (residual when proposed).

    Returns the accepted ones and the Cholesky factor of H among them.
    """
    H = H.copy()
    dice = rng.uniform(size=bound.size) * bound
    accepted: list[int] = []
    columns = []
    for i in range(bound.size):
        if len(accepted) == most:
            break
        if H[i, i] <= max(smallest, dice[i]):
            continue
        column = H[:, i] / np.sqrt(H[i, i])
        H -= np.outer(column, column)
        accepted.append(i)
        columns.append(column)
    rows = np.array(accepted, dtype=np.intp)
    return rows, np.column_stack(columns)[rows] if columns else np.empty((0, 0))


CHOICES = {
    "random": _at_random,
    "kmeans++": _kmeans_plus_plus,
    "greedy": _greedy,
    "rpcholesky": _rpcholesky,
}
