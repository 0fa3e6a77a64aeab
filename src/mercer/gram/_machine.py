"""Sizes that follow from the machine: cache sizes in bytes, and the tiles derived from them."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass

from mercer.kernels._base import OBJECT_COST, Kernel
from mercer.kernels._samples import Samples

__all__ = ["MACHINE", "MachineModel", "memory_bytes", "pieces", "snake_order"]


@dataclass(frozen=True)
class MachineModel:
    """What tile sizes are derived from. Sums are grouped by tile, so their last bits depend on it.

    Attributes
    ----------
    l2_bytes : int
        Second-level cache of a core: a tile stays there while it is mapped and summed.
    lanes : int
        Partial sums of symmetric products. It is fixed, so that no bit of a result depends on the
        number of threads; more lanes than threads balance the work.
    panel_columns : int
        Columns of a cached row are extended from a multiple of this, the width of the panels that
        sparse samples are laid out in.
    fewest_cached_rows : int
        Rows that a row cache holds at least, whatever its byte budget.
    costly_entry : float
        Multiplications from which on a kernel value is copied from a cached row; a cheaper one is
        computed again, which takes less time than a cache miss.
    pair_cost : float
        Multiplications of a value between objects above which it is worth more than the layout of
        a tile: above those that are assumed of a function of the user.
    part_work : float
        Multiplications that are worth a thread of their own (some milliseconds).
    fewest_rows : int
        Of a part, however costly they are: kernels on pairs take as many at a time.
    """

    l2_bytes: int = 2 << 20
    lanes: int = 8
    panel_columns: int = 64
    fewest_cached_rows: int = 64
    costly_entry: float = 200.0
    pair_cost: float = OBJECT_COST
    part_work: float = 1e7
    fewest_rows: int = 16

    def object_cost(self, kernel: Kernel, samples: Samples) -> float:
        """The cost of a value between objects that compiled code compares pair by pair, else 0."""
        cost = kernel.cost_per_entry(samples) if samples.are_objects else 0.0
        return cost if cost > self.pair_cost else 0.0

    def part_rows(self, most: int, object_cost: float, columns: int) -> int:
        """Rows of a part of a kernel matrix that threads share: ``most``, or fewer costly ones."""
        if not object_cost:
            return most
        return int(min(most, max(self.fewest_rows, self.part_work / (object_cost * columns))))

    @property
    def tile_side(self) -> int:
        """Side of a square float64 tile."""
        return max(math.isqrt(self.l2_bytes // 8), 1)

    @property
    def tile_columns(self) -> int:
        """Columns of a tile of `tile_rows` rows (as many bytes in float32 as a square tile)."""
        return self.tile_side

    @property
    def panel_rows(self) -> int:
        """Rows of a panel of a blocked factorisation."""
        return self.tile_side // 2

    @property
    def tile_rows(self) -> int:
        return 2 * self.tile_side

    @property
    def symmetric_rows(self) -> int:
        """Sums over more rows than this use the symmetry of K among them."""
        return 4 * self.tile_side

    @property
    def row_chunk(self) -> int:
        """Columns of a cached row that a worker takes at a time."""
        return 8 * self.tile_side


MACHINE = MachineModel()


def memory_bytes() -> int:
    """Bytes of this computer's memory; 16 GiB where the system does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 1 << 34


def pieces(n: int, size: int) -> list[slice]:
    """0..n cut into slices of ``size``."""
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]


def snake_order(n: int, n_lanes: int) -> list[list[int]]:
    """Assign row blocks 0..n of a triangle to lanes in snake order, longest first.

    >>> snake_order(5, 2)
    [[4, 1, 0], [3, 2]]
    """
    lanes: list[list[int]] = [[] for _ in range(n_lanes)]
    for turn, i in enumerate(reversed(range(n))):
        place = turn % (2 * n_lanes)
        lanes[min(place, 2 * n_lanes - 1 - place)].append(i)
    return lanes
