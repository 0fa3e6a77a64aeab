"""Low-rank approximations K ≈ F Fᵀ: the Nyström factor, k-means++ seeds.

The Nyström factor of m landmarks is F = K_nm V Λ^(−1/2) with K_mm = V Λ Vᵀ: the values at all
points of an orthonormal basis of the landmarks' span in feature space. K − F Fᵀ is positive
semidefinite, and its trace bounds every unitarily invariant norm of it.

How landmarks are chosen is in `mercer.features._landmarks`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg as la

from mercer._precision import EPS
from mercer.gram import BlockedGram
from mercer.gram._base import never
from mercer.gram._machine import MACHINE, pieces

__all__ = [
    "NystromFactor",
    "draw_proportional",
    "kmeans_plus_plus",
    "landmark_basis",
    "nystrom_factor",
    "random_landmarks",
]

Stop = Callable[[], bool]


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
    cutoff = len(K) * EPS if cutoff is None else cutoff
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

    gram.workers.map(fill, pieces(gram.n, MACHINE.tile_rows))
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
