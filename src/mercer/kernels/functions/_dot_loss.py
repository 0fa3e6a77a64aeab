"""What rounding of x·z, ‖x‖² and ‖z‖² changes in a function that was rewritten as one of them.

A dot product of m terms is off by (m + 2) u ‖x‖ ‖z‖ at most, a squared norm by (m + 2) u ‖x‖². What
that does to the value of any function is not known; it is evaluated at both ends, for pairs of rows
of all lengths up to the largest and of several angles, and for functions of ‖x − z‖ at distances
from zero to the largest. The largest change, times `SAFETY`, is taken for the bound.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.kernels._rounding import unit
from mercer.kernels._samples import Samples

if TYPE_CHECKING:
    from mercer.kernels.functions._compile import CompiledTiles

__all__ = ["dot_loss"]

# Above this fraction of the median of |k(x, x)| the function is computed as it was written.
LARGEST_LOSS = 1e-9
SAFETY = 4.0
# Roundings beside those of the m terms, of centred rows and of the sum p ‖x‖² + q x·z + r ‖z‖².
MORE_TERMS = 16
# Distances, and ratios of squared lengths, from one downwards in powers of two.
HALVINGS = 60
LENGTHS = 12
COSINES = np.array([1.0, 1 - 2.0**-40, 1 - 2.0**-20, 0.7, 0.0, -0.7, -1.0])


def dot_loss(
    tiles: CompiledTiles, points: Samples, arguments: tuple[Any, ...]
) -> tuple[float, bool]:
    """The bound for the rows of some points, and whether it is little; not if there is none."""
    largest = points.largest_norm(np.float64)
    u = (points.terms + MORE_TERMS) * unit(np.float64)
    if largest == 0:
        return 0.0, True
    if tiles.is_shift_invariant:
        off = 4 * u * largest
        s = np.concatenate([[0.0], 4 * largest * 0.5 ** np.arange(HALVINGS)])
        zero = np.zeros(s.size)
        ends = [_values(tiles, zero, 0.0, each, arguments) for each in (s, s + off)]
    else:
        ends = _at_ends(tiles, largest, u, arguments)
    with np.errstate(invalid="ignore"):
        lost = SAFETY * float(np.max(np.abs(np.asarray(ends[1:]) - ends[0])))
    diagonal = np.empty(points.n)
    tiles.diagonal(points.sq_norms, diagonal, *arguments)
    return lost, lost <= LARGEST_LOSS * float(np.median(np.abs(diagonal)))


def _at_ends(
    tiles: CompiledTiles, largest: float, u: float, arguments: tuple[Any, ...]
) -> list[np.ndarray]:
    """Values on a grid, and with each of the three numbers larger or smaller by its rounding."""
    found: list[list[np.ndarray]] = [[] for _ in range(7)]
    ratios = 0.25 ** np.arange(LENGTHS)
    for xx in largest * ratios:
        zz = np.repeat(largest * ratios, COSINES.size)
        size = np.sqrt(xx * zz)
        dot = size * np.tile(COSINES, LENGTHS)
        changed = [(dot, xx, zz)]
        for sign in (1.0, -1.0):
            changed += [(dot + sign * u * size, xx, zz), (dot, xx * (1 + sign * u), zz)]
            changed += [(dot, xx, zz * (1 + sign * u))]
        for values, (d, a, b) in zip(found, changed, strict=True):
            values.append(_values(tiles, d, a, b, arguments))
    return [np.concatenate(values) for values in found]


def _values(
    tiles: CompiledTiles, dot: np.ndarray, xx: float, zz: np.ndarray, arguments: tuple[Any, ...]
) -> np.ndarray:
    """Of one squared norm against several."""
    m = zz.size
    out, buffer, first = np.empty(m), np.empty(m), np.full(1, xx)
    tiles.tile(np.ascontiguousarray(dot), m, out, m, 1, m, first, zz, buffer, *arguments)
    return out
