"""K V in float64 with a bound on its error: what certificates of residuals are made of.

K is symmetric: tiles on and below its diagonal serve both places, and none is kept. Row blocks of
tiles are assigned to a fixed number of lanes: sums do not depend on the number of threads.
Beside K V the sums |K||V| and |K| diag(near) |V| are formed, which `EntryError` asks for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.gram._base import never
from mercer.gram._blocked import BlockedGram
from mercer.gram._entry_error import EntryError, entry_error
from mercer.gram._machine import MACHINE, pieces

__all__ = [
    "bounded_columns",
    "bounded_product",
    "chunked",
    "error_norm",
    "gram_error",
    "sum_terms",
]

SIDE, LANES = MACHINE.tile_side, MACHINE.lanes
# Terms of the partial sums within a tile: the fewer roundings a sum goes through, the smaller is
# its bound.
CHUNK = 32


def bounded_product(
    gram: BlockedGram, V: np.ndarray, stop: Callable[[], bool] = never
) -> tuple[np.ndarray, np.ndarray] | None:
    """K V and a bound on the error of each entry, for V of shape (n, m); None once ``stop()``."""
    errors = gram_error(gram)
    size = np.abs(V)
    found = _sums(gram, V, np.hstack([size, errors.near[:, np.newaxis] * size]), errors, stop)
    if found is None:
        return None
    product, absolute = found
    m = V.shape[1]
    return product, errors.of_sums(V, absolute[:, :m], absolute[:, m:], sum_terms(gram.n))


def bounded_columns(
    gram: BlockedGram, chosen: np.ndarray, V: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """K[:, chosen] V and a bound on the error of each entry: for models of few rows."""
    errors = gram_error(gram)
    near = errors.near[chosen]
    size, m = np.abs(V), V.shape[1]
    W = np.hstack([size, near[:, np.newaxis] * size])
    block = gram.sample_block(chosen, np.float64)
    product, sums = np.empty((gram.n, m)), np.empty((gram.n, 2 * m))

    def one(rows: slice) -> None:
        T = gram.scratch_block(gram.sample_block(rows, np.float64), block)
        product[rows] = chunked(T, V)
        sums[rows] = (T if errors.is_nonnegative else np.abs(T)) @ W

    gram.workers.map(one, pieces(gram.n, SIDE))
    whole = np.zeros((gram.n, m))
    whole[chosen] = V
    terms = CHUNK + chosen.size // CHUNK + 4
    return product, errors.of_sums(whole, sums[:, :m], sums[:, m:], terms)


def error_norm(
    gram: BlockedGram, V: np.ndarray, stop: Callable[[], bool] = never
) -> tuple[np.ndarray, float, float] | None:
    """K V, a bound on ‖E v‖ of its errors for every unit v, and one on ‖K‖₂; None once ``stop()``.

    Less is summed than by `bounded_product` where V has many columns.
    """
    errors = gram_error(gram)
    found = _sums(gram, V, np.column_stack([np.ones(gram.n), errors.near]), errors, stop)
    if found is None:
        return None
    product, sums = found
    largest = float(sums[:, 0].max(initial=0.0))
    error = errors.norm(sums[:, 0], sums[:, 1], sum_terms(gram.n))
    return product, error, largest + error


def gram_error(gram: BlockedGram) -> EntryError:
    """The bound on the values of a Gram, whose rows may be some of its points."""
    errors = entry_error(gram.kernel, gram.points)
    if gram.index is None:
        return errors
    near, cross, apart = (v[gram.index] for v in (errors.near, errors.cross, errors.apart))
    return EntryError(errors.relative, near, cross, apart, errors.is_nonnegative)


def sum_terms(n: int, in_chunks: bool = True) -> int:
    """The most roundings that a product goes through: within a tile, over tiles, over lanes.

    ``in_chunks`` is for sums by `chunked`, others go through those of a whole tile.
    """
    within = 2 * CHUNK + SIDE // CHUNK if in_chunks else SIDE
    return min(n, within) + n // SIDE + min(n // SIDE + 1, 2 * LANES) + 4


def chunked(T: np.ndarray, V: np.ndarray) -> np.ndarray:
    """T @ V as a sum of products of few columns each."""
    rows, columns = T.shape
    whole = columns // CHUNK * CHUNK
    if columns <= 2 * CHUNK:
        return T @ V
    parts = np.matmul(
        T[:, :whole].reshape(rows, -1, CHUNK).transpose(1, 0, 2),
        V[:whole].reshape(-1, CHUNK, V.shape[1]),
    )
    out = parts.sum(axis=0)
    return out if whole == columns else out + T[:, whole:] @ V[whole:]


def _sums(
    gram: BlockedGram, V: np.ndarray, W: np.ndarray, errors: EntryError, stop: Callable[[], bool]
) -> tuple[np.ndarray, np.ndarray] | None:
    """K V and |K| W."""
    cut = pieces(gram.n, SIDE)
    block = gram.sample_block(slice(0, gram.n), np.float64)
    lanes = [range(lane, len(cut), LANES) for lane in range(min(LANES, len(cut)))]
    both = [np.zeros((len(lanes), *A.shape)) for A in (V, W)]

    def one(lane: int) -> None:
        for i in lanes[lane]:
            for j in range(i + 1):
                if stop():
                    return
                rows, columns = cut[i], cut[j]
                T = gram.scratch_block(block[rows], block[columns])
                _add(T, V, rows, columns, both[0][lane], chunked)
                if not errors.is_nonnegative:
                    np.abs(T, out=T)
                _add(T, W, rows, columns, both[1][lane], np.matmul)

    gram.workers.map(one, range(len(lanes)))
    return None if stop() else (both[0].sum(axis=0), both[1].sum(axis=0))


def _add(
    T: np.ndarray, V: np.ndarray, rows: slice, columns: slice, out: np.ndarray, multiply: Any
) -> None:
    out[rows] += multiply(T, V[columns])
    if columns.start < rows.start:
        out[columns] += multiply(T.T, V[rows])
