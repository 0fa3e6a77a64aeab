"""Pre-images in the space of the rows of points of the feature space, for the RBF kernel.

φ(z) is nearest to Σ gᵢ φ(xᵢ) at a fixed point of z ← Σ gᵢ k(z, xᵢ) xᵢ / Σ gᵢ k(z, xᵢ) (Mika et al.,
"Kernel PCA and de-noising in feature spaces", NIPS 1998, eq. 10).
"""

from __future__ import annotations

import numpy as np

from mercer._expansion import Expansion
from mercer._precision import TINY
from mercer.gram._machine import MACHINE, pieces
from mercer.kernels._samples import Samples

__all__ = ["fixed_point_pre_images"]


def fixed_point_pre_images(
    expansion: Expansion,
    rows: np.ndarray,
    g: np.ndarray,
    start: np.ndarray,
    max_iter: int,
    tol: float,
) -> np.ndarray:
    """One pre-image for each row of g, iterated from ``start``.

    Ends when no coordinate changes by more than ``tol`` times the spread of the rows.
    """
    parts = pieces(len(g), MACHINE.tile_rows // 4)  # bounds the kernel values that are held
    found = [_iterate(expansion, rows, g[p], start[p], max_iter, tol) for p in parts]
    return np.vstack(found)


def _iterate(
    expansion: Expansion,
    rows: np.ndarray,
    g: np.ndarray,
    Z: np.ndarray,
    max_iter: int,
    tol: float,
) -> np.ndarray:
    spread = float(rows.std()) or 1.0
    K = np.empty(g.shape)
    block = expansion.support.take(slice(0, len(rows)))
    for _ in range(max_iter):
        here = Samples(Z, expansion.support.origin)
        expansion.kernel.tile(here.take(slice(0, len(g))), block, K)
        K *= g
        total = K.sum(axis=1)[:, np.newaxis]
        # Far from all rows, or where φ(z) points away from the sum, z stays.
        moves = total > TINY
        new = np.where(moves, K @ rows / np.where(moves, total, 1.0), Z)
        change = float(np.abs(new - Z).max())
        Z = new
        if change <= tol * spread:
            break
    return Z
