"""The floor: one pass of Mercer's own tiles over the n × n_sv elements an exact fit must see."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import scipy.sparse as sp

__all__ = ["floor_seconds"]

PASSES = 3
# Of larger problems a share of the rows is passed over, and the time scaled.
MOST_ENTRIES = 4e9


def floor_seconds(X: Any, support: np.ndarray, gamma: float, dtype: Any) -> float:
    """Seconds for k(xᵢ, xⱼ), all i and support vectors j, in the Gram's tiles and precision.

    The best of PASSES passes; every tile is thrown away, so that no memory traffic is counted.
    """
    from mercer._threads import Workers, single_threaded_blas, thread_count
    from mercer.gram._machine import MACHINE, pieces
    from mercer.kernels import RBF, Samples

    kernel = RBF(gamma=gamma)
    points = Samples(X, None if sp.issparse(X) else X.mean(axis=0, dtype=np.float64))
    vectors = points.take(np.asarray(support), dtype)
    columns = [vectors[part] for part in pieces(len(vectors), MACHINE.tile_columns)]

    def pass_over(rows: slice) -> None:
        block = points.take(rows, dtype)
        tile = np.empty((len(block), MACHINE.tile_columns), dtype=dtype)
        for part in columns:
            kernel.tile(block, part, tile[:, : len(part)])

    rows = min(points.n, max(MACHINE.tile_rows, int(MOST_ENTRIES / max(len(vectors), 1))))
    seconds = []
    with single_threaded_blas(), Workers(thread_count(None)) as workers:
        for _ in range(PASSES):
            start = time.perf_counter()
            workers.map(pass_over, pieces(rows, MACHINE.tile_rows))
            seconds.append(time.perf_counter() - start)
    return min(seconds) * points.n / rows
