"""How landmarks are chosen: rows whose span in feature space approximates all others.

* random: uniformly;
* greedy: by partial Cholesky, whose next pivot is the row with the largest residual, the diagonal
  of K − F Fᵀ;
* rpcholesky: a row is drawn with probability proportional to its residual (Chen, Epperly, Tropp and
  Webber 2025). Rows are proposed in blocks and thinned by rejection so that the law is that of
  drawing one by one (Epperly, Tropp and Webber 2024, algorithm 2.1), for the speed of matrix
  products;
* kmeans++: with probability proportional to the squared distance in feature space from the nearest
  landmark, k(x,x) − 2k(x,l) + k(l,l) (Arthur and Vassilvitskii 2007);
* leverage: without replacement, with probability proportional to (upper estimates of) the ridge
  leverage scores (K (K + λI)⁻¹)_ii, from a uniform pilot sample S of s rows:
  (k(x,x) − k_S(x)ᵀ (K_SS + (λs/n) I)⁻¹ k_S(x)) / λ, cut off at one (Alaoui and Mahoney 2015; Musco
  and Musco 2017, algorithm 2, with one level). λ is the mean residual of the pilot sample, n/m
  times: about m rows then have a leverage.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg as la

from mercer._precision import EPS
from mercer.gram import BlockedGram
from mercer.gram._base import never
from mercer.gram._low_rank import Stop, draw_proportional, kmeans_plus_plus
from mercer.gram._machine import MACHINE, pieces

__all__ = ["LANDMARK_RULES", "TRACE_RULES", "choose_landmarks"]


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


# ---------------------------------------------------------------------- landmarks


def choose_landmarks(
    gram: BlockedGram,
    m: int,
    rule: str,
    rng: np.random.RandomState,
    stop: Stop = never,
    trace_tol: float = 0.0,
) -> np.ndarray:
    """At most m different rows; fewer where these explain all the others, or once ``stop()``.

    The rules of `TRACE_RULES` also end once trace(K − F Fᵀ) ≤ ``trace_tol`` trace(K).
    """
    if rule in TRACE_RULES:
        return TRACE_RULES[rule](gram, m, rng, stop, trace_tol)
    return LANDMARK_RULES[rule](gram, m, rng, stop)


def _at_random(gram: BlockedGram, m: int, rng: np.random.RandomState, stop: Stop) -> np.ndarray:
    return rng.permutation(gram.n)[:m]


def _columns(gram: BlockedGram, rows: np.ndarray) -> np.ndarray:
    """K[:, rows]."""
    out = np.empty((gram.n, rows.size))
    landmarks = gram.sample_block(rows, np.float64)

    def fill(part: slice) -> None:
        gram.block(part, landmarks, np.float64, out[part])

    gram.workers.map(fill, pieces(gram.n, MACHINE.tile_rows))
    return out


def _kmeans_plus_plus(
    gram: BlockedGram, m: int, rng: np.random.RandomState, stop: Stop
) -> np.ndarray:
    diagonal = gram.diag()
    negligible = _SETTINGS.rounding_units * EPS * max(diagonal.max(), 0.0)

    def sq_distances(rows: np.ndarray) -> np.ndarray:
        out = diagonal - 2 * _columns(gram, rows).T + diagonal[rows, np.newaxis]
        out[out <= negligible] = 0.0
        out[np.arange(rows.size), rows] = 0.0
        return out

    def is_enough(closest: np.ndarray) -> bool:
        return not closest.any() or stop()

    seeds, _ = kmeans_plus_plus(sq_distances, np.ones(gram.n), m, [rng], is_enough=is_enough)
    return seeds[0]


def _greedy(
    gram: BlockedGram, m: int, rng: np.random.RandomState, stop: Stop, trace_tol: float = 0.0
) -> np.ndarray:
    residual, smallest = _start(gram)
    enough = trace_tol * residual.sum()
    F = np.empty((m, gram.n))  # by rows: each step writes one
    chosen: list[int] = []
    while len(chosen) < m and _is_left(residual, smallest, enough) and not (chosen and stop()):
        i, k = int(residual.argmax()), len(chosen)
        row = _columns(gram, np.array([i]))[:, 0] - F[:k, i] @ F[:k]
        F[k] = row / np.sqrt(residual[i])
        residual -= F[k] ** 2
        residual[i] = 0.0
        chosen.append(i)
    return np.array(chosen, dtype=np.intp)


def _rpcholesky(
    gram: BlockedGram, m: int, rng: np.random.RandomState, stop: Stop, trace_tol: float = 0.0
) -> np.ndarray:
    residual, smallest = _start(gram)
    enough = trace_tol * residual.sum()
    F = np.empty((m, gram.n))  # by rows: each step writes some, and others cost no memory
    chosen = np.empty(0, dtype=np.intp)
    limit = _SETTINGS.max_entries // gram.n
    block = max(1, min(round(_SETTINGS.proposed_fraction * m), limit))
    while chosen.size < m and _is_left(residual, smallest, enough) and not (chosen.size and stop()):
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


def _is_left(residual: np.ndarray, smallest: float, enough: float) -> bool:
    """Whether some residual is more than rounding, and their sum above what may be left."""
    return bool(residual.max() > smallest and residual.sum() > enough)


def _leverage(gram: BlockedGram, m: int, rng: np.random.RandomState, stop: Stop) -> np.ndarray:
    diagonal, smallest = _start(gram)
    n = gram.n
    pilot = rng.permutation(n)[:m]
    if stop() or m >= n:
        return pilot
    K = gram.take(pilot).matrix()
    columns = _columns(gram, pilot)
    exact = la.eigh(K, check_finite=False)
    ridge = _pilot_residual(exact, columns, diagonal) * n / m
    ridge = max(ridge, smallest)
    values, vectors = exact
    projected = columns @ vectors
    explained = (projected**2) @ (1 / (np.maximum(values, 0.0) + ridge * pilot.size / n))
    score = np.clip((diagonal - explained) / ridge, 0.0, 1.0)
    score = np.maximum(score, EPS)
    keys = np.log(rng.uniform(size=n)) / score  # Efraimidis and Spirakis 2006
    return np.argpartition(-keys, m - 1)[:m]


def _pilot_residual(exact: tuple, columns: np.ndarray, diagonal: np.ndarray) -> float:
    """The mean of diag(K − F Fᵀ) of the pilot sample's Nyström factor."""
    values, vectors = exact
    kept = values > len(values) * EPS * values[-1]
    F = columns @ (vectors[:, kept] / np.sqrt(values[kept]))
    return float(np.maximum(diagonal - np.einsum("ij,ij->i", F, F), 0.0).mean())


def _start(gram: BlockedGram) -> tuple[np.ndarray, float]:
    residual = gram.diag()
    if not residual.min() >= 0:
        raise ValueError(
            f"{gram.kernel!r} has k(x, x) = {residual.min():.3g} < 0: it is no kernel (see "
            "mercer.check_kernel)."
        )
    return residual, _SETTINGS.rounding_units * EPS * residual.max()


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
    "leverage": _leverage,
    "greedy": _greedy,
    "rpcholesky": _rpcholesky,
}
# Those that know the trace that is left.
TRACE_RULES = {"greedy": _greedy, "rpcholesky": _rpcholesky}
