"""Low-rank approximations K ≈ F Fᵀ: landmarks, the Nyström factor, k-means++ seeds.

The Nyström factor of m landmarks is F = K_nm V Λ^(−1/2) with K_mm = V Λ Vᵀ: the values at all
points of an orthonormal basis of the landmarks' span in feature space. K − F Fᵀ is positive
semidefinite, and its trace bounds every unitarily invariant norm of it.

Landmarks are chosen

* at random;
* greedy: by partial Cholesky, whose next pivot is the row with the largest residual, the diagonal
  of K − F Fᵀ;
* rpcholesky: a row is drawn with probability proportional to its residual (Chen, Epperly, Tropp and
  Webber 2025). Rows are proposed in blocks and thinned by rejection so that the law is that of
  drawing one by one (Epperly, Tropp and Webber 2024, algorithm 2.1), for the speed of matrix
  products;
* kmeans++: with probability proportional to the squared distance in feature space from the nearest
  landmark, k(x,x) − 2k(x,l) + k(l,l) (Arthur and Vassilvitskii 2007).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg as la

from mercer.gram import BlockedGram
from mercer.gram._blocked import TILE_ROWS, pieces

__all__ = [
    "LANDMARK_RULES",
    "NystromFactor",
    "choose_landmarks",
    "draw_proportional",
    "kmeans_plus_plus",
    "landmark_basis",
    "nystrom_factor",
    "random_landmarks",
]

Stop = Callable[[], bool]
_EPS = float(np.finfo(np.float64).eps)


def never() -> bool:
    return False


@dataclass(frozen=True)
class LandmarkSettings:
    """Tuning constants of the choice of landmarks.

    Attributes
    ----------
    proposed_fraction : float
        Proposals of a round of rpcholesky over the number of landmarks: more rejections against
        fewer, larger matrix products.
    max_entries : int
        Kernel values of a round, so that a limit is seen in time.
    rounding_units : float
        Residuals up to this multiple of the unit of the largest k(x, x) are rounding.
    """

    proposed_fraction: float = 0.15
    max_entries: int = 2_000_000
    rounding_units: float = 100.0


_SETTINGS = LandmarkSettings()


# ---------------------------------------------------------------------- Nyström


@dataclass(frozen=True, eq=False)
class NystromFactor:
    """K ≈ F Fᵀ with F = K[:, rows] coef.

    Attributes
    ----------
    rows : int array of shape (m,)
        The landmarks.
    coef : float64 array of shape (m, r)
    F : float64 array of shape (n, r)
    """

    rows: np.ndarray
    coef: np.ndarray
    F: np.ndarray


def random_landmarks(n: int, m: int) -> np.ndarray:
    """m different rows at random, always the same ones, in rising order."""
    return np.sort(np.random.default_rng(0).choice(n, min(n, m), replace=False))


def landmark_basis(K: np.ndarray, cutoff: float | None = None) -> tuple[np.ndarray, np.ndarray]:
    """The eigenvalues Λ of the landmarks' K = V Λ Vᵀ, rising, and V Λ^(−1/2), largest first.

    Eigenvalues up to ``cutoff`` (default: m units of rounding) times the largest are left out.
    """
    values, vectors = la.eigh(K, check_finite=False)
    cutoff = len(K) * _EPS if cutoff is None else cutoff
    kept = np.flatnonzero(values > cutoff * max(float(values[-1]), 0.0))[::-1]
    return values, vectors[:, kept] / np.sqrt(values[kept])


def nystrom_factor(
    gram: BlockedGram, rows: np.ndarray, *, cutoff: float | None = None, stop: Stop = never
) -> NystromFactor | None:
    """The factor of the landmarks ``rows``; None once ``stop()``."""
    _, coef = landmark_basis(gram.take(rows).matrix(), cutoff)
    F = np.empty((gram.n, coef.shape[1]))
    landmarks = gram.sample_block(rows, np.float64)

    def fill(part: slice) -> None:
        if stop():
            return
        tile = np.empty((part.stop - part.start, rows.size))
        gram.block(part, landmarks, np.float64, tile)
        np.matmul(tile, coef, out=F[part])

    gram.workers.map(fill, pieces(gram.n, TILE_ROWS))
    return None if stop() else NystromFactor(rows, coef, F)


# ---------------------------------------------------------------------- k-means++


def draw_proportional(weight: np.ndarray, count: int, rng: np.random.RandomState) -> np.ndarray:
    """Rows with probability proportional to their weight, with replacement.

    All alike where every weight is zero.
    """
    cumulative = np.cumsum(weight)
    if cumulative[-1] <= 0:
        return rng.randint(weight.size, size=count)
    rows = np.searchsorted(cumulative, rng.uniform(size=count) * cumulative[-1], side="right")
    return np.minimum(rows, weight.size - 1)  # u·total may round up to the total


def kmeans_plus_plus(
    sq_distances: Callable[[np.ndarray], np.ndarray],
    weight: np.ndarray,
    k: int,
    rngs: Sequence[Any],
    *,
    trials: int = 1,
    is_enough: Callable[[np.ndarray], bool] = lambda closest: False,
) -> tuple[np.ndarray, np.ndarray]:
    """Seeds from several starts at once, which share the evaluation of distances.

    Each seed is the best of ``trials`` rows drawn with probability proportional to weight · squared
    distance from the nearest seed so far.

    Parameters
    ----------
    sq_distances : callable
        Rows ↦ their squared distances from all points, of shape (rows, n).
    is_enough : callable
        Asked before each further seed with the squared distances (starts, n) from the nearest one.

    Returns
    -------
    seeds : int array of shape (starts, found)
        ``found`` is k unless ``is_enough`` was true.
    labels : int32 array of shape (starts, n)
        The number of the nearest seed.
    """
    starts, n = len(rngs), weight.size
    labels, closest = np.zeros((starts, n), dtype=np.int32), np.empty((starts, n))
    seeds: list[np.ndarray] = []
    while len(seeds) < k and not (seeds and is_enough(closest)):
        c = len(seeds)
        count = trials if c else 1
        drawn = np.concatenate(
            [
                draw_proportional(weight * closest[r] if c else weight, count, rng)
                for r, rng in enumerate(rngs)
            ]
        )
        chosen = np.empty(starts, dtype=np.intp)
        for r, tried in enumerate(np.split(sq_distances(drawn), starts)):
            if c:
                np.minimum(tried, closest[r], out=tried)
            best = int(np.argmin(tried @ weight))
            if c:
                labels[r, tried[best] < closest[r]] = c
            closest[r], chosen[r] = tried[best], drawn[r * count + best]
        seeds.append(chosen)
    return np.column_stack(seeds), labels


# ---------------------------------------------------------------------- landmarks


def choose_landmarks(
    gram: BlockedGram, m: int, rule: str, rng: np.random.RandomState, stop: Stop = never
) -> np.ndarray:
    """At most m different rows; fewer where these explain all the others, or once ``stop()``."""
    return LANDMARK_RULES[rule](gram, m, rng, stop)


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
    negligible = _SETTINGS.rounding_units * _EPS * max(diagonal.max(), 0.0)

    def sq_distances(rows: np.ndarray) -> np.ndarray:
        out = diagonal - 2 * _columns(gram, rows).T + diagonal[rows, np.newaxis]
        out[out <= negligible] = 0.0
        out[np.arange(rows.size), rows] = 0.0
        return out

    def is_enough(closest: np.ndarray) -> bool:
        return not closest.any() or stop()

    seeds, _ = kmeans_plus_plus(sq_distances, np.ones(gram.n), m, [rng], is_enough=is_enough)
    return seeds[0]


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
    F = np.empty((m, gram.n))  # by rows: each step writes some, and others cost no memory
    chosen = np.empty(0, dtype=np.intp)
    limit = _SETTINGS.max_entries // gram.n
    block = max(1, min(round(_SETTINGS.proposed_fraction * m), limit))
    while chosen.size < m and residual.max() > smallest and not (chosen.size and stop()):
        k = chosen.size
        proposed = draw_proportional(residual, block, rng)
        different, which = np.unique(proposed, return_inverse=True)
        K = _columns(gram, different)
        H = K[proposed][:, which] - F[:k, proposed].T @ F[:k, proposed]
        # Rows whose residual is rounding are never proposed again.
        residual[proposed[np.diag(H) <= smallest]] = 0.0
        accepted, factor = _thin(H, residual[proposed], smallest, m - k, rng)
        new = proposed[accepted]
        G = K[:, which[accepted]].T - F[:k, new].T @ F[:k]
        end = k + new.size
        F[k:end] = la.solve_triangular(factor, G, lower=True)
        residual -= np.einsum("ij,ij->j", F[k:end], F[k:end])
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
    return residual, _SETTINGS.rounding_units * _EPS * residual.max()


def _thin(
    H: np.ndarray, bound: np.ndarray, smallest: float, most: int, rng: np.random.RandomState
) -> tuple[np.ndarray, np.ndarray]:
    """Accept proposal i with probability (residual by then) / (residual when proposed).

    Returns the accepted ones, at most ``most``, and the Cholesky factor of H among them.
    """
    H = H.copy()
    thresholds = rng.uniform(size=bound.size) * bound
    accepted: list[int] = []
    columns = []
    for i in range(bound.size):
        if len(accepted) == most:
            break
        if H[i, i] <= max(smallest, thresholds[i]):
            continue
        column = H[:, i] / np.sqrt(H[i, i])
        H -= np.outer(column, column)
        accepted.append(i)
        columns.append(column)
    rows = np.array(accepted, dtype=np.intp)
    return rows, np.column_stack(columns)[rows] if columns else np.empty((0, 0))


LANDMARK_RULES = {
    "random": _at_random,
    "kmeans++": _kmeans_plus_plus,
    "greedy": _greedy,
    "rpcholesky": _rpcholesky,
}
