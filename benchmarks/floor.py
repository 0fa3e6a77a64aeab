"""The floor: one pass of Mercer's own tiles over the n × n_sv elements an exact fit must see."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

__all__ = ["floor_seconds"]

TILE_ROWS, TILE_COLUMNS = 512, 1024


def floor_seconds(X: Any, support: np.ndarray, gamma: float, dtype: Any = np.float32) -> float:
    """Seconds for k(xᵢ, xⱼ), all i and support vectors j, in tiles that stay in the cache.

    The best of three passes; every tile is thrown away, so that no memory traffic is counted.
    """
    from mercer._threads import Workers, single_threaded_blas, thread_count
    from mercer.kernels import RBF
    from mercer.kernels.points import Points

    kernel = RBF(gamma=gamma)
    points = Points(X, None if hasattr(X, "indptr") else X.mean(axis=0))
    vectors = points.take(np.asarray(support), dtype)
    columns = [
        vectors[slice(j, min(j + TILE_COLUMNS, len(vectors)))]
        for j in range(0, len(vectors), TILE_COLUMNS)
    ]

    def rows(start: int) -> None:
        block = points.take(slice(start, min(start + TILE_ROWS, points.n)), dtype)
        buffer = np.empty((len(block), TILE_COLUMNS), dtype=dtype)
        for part in columns:
            kernel.tile(block, part, buffer[:, : len(part)])

    seconds = []
    with single_threaded_blas(), Workers(thread_count(None)) as workers:
        for _ in range(3):
            start = time.perf_counter()
            workers.map(rows, range(0, points.n, TILE_ROWS))
            seconds.append(time.perf_counter() - start)
    return min(seconds)
