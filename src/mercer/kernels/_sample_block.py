"""Some samples in one precision: what `Kernel.tile` receives.

Blocks are lazy: a kernel that needs no norms, or only the index (a precomputed matrix), does not
compute the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mercer.kernels._compiled.sparse_dot import LINE_BYTES, Panels, gathered

if TYPE_CHECKING:
    from mercer.kernels._samples import Samples

__all__ = ["CSR", "SampleBlock", "diagonal_of_tiles"]


class CSR(NamedTuple):
    """Sparse rows as compiled code takes them; some of them are a view with a shorter indptr."""

    indptr: np.ndarray
    columns: np.ndarray
    values: np.ndarray
    d: int

    @property
    def nnz(self) -> int:
        return int(self.indptr[-1] - self.indptr[0])

    def part(self, start: int, stop: int) -> CSR:
        return self._replace(indptr=self.indptr[start : stop + 1])


class SampleBlock:
    """Some rows in one precision.

    Parameters
    ----------
    points : Samples
    index : slice (with a start and a stop) or int array
    dtype : float32 or float64

    Attributes
    ----------
    X : ndarray (C-contiguous), CSR, or a list or object array (structured data)
        The rows, shifted by the origin of their `Samples` where it has one.
    sq_norms : float64 array
        The squared norms ‖x‖² of the rows of ``X``, as rounded to its precision: distances from
        ‖x‖² + ‖z‖² − 2 x·z lose fewer digits if all three are of the same rows.
    index : slice or int array
        Which rows of their `Samples` these are.
    """

    def __init__(self, points: Samples, index: Any, dtype: Any):
        self.points = points
        self.index = index
        self.dtype = np.dtype(dtype)
        self._whole: tuple[SampleBlock, slice] | None = None  # what this is a part of
        # Filled when first asked for. Not cached_property: its lock would make threads wait for
        # each other's casts; two threads that both fill one of these write the same.
        self._X: Any = None
        self._csr: CSR | None = None
        self._panels: np.ndarray | None = None
        self._room: Panels | None = None
        self._sq_norms: np.ndarray | None = None
        self._norm_parts: tuple[np.ndarray, np.ndarray] | None = None
        self._in_fours: dict[bool, np.ndarray] = {}
        self._len = index.stop - index.start if isinstance(index, slice) else len(index)

    def __len__(self) -> int:
        return self._len

    @property
    def X(self) -> Any:
        if self._X is None:
            if self._whole is None:
                self._X = self.points.rows(self.index, self.dtype)
            else:
                block, rows = self._whole
                self._X = block.X[rows]
        return self._X

    @property
    def csr(self) -> CSR:
        """The nonzeros as arrays, indices in 32 bits (cheaper to cut than a SciPy matrix)."""
        if self._csr is None and self._whole is not None:
            block, rows = self._whole
            self._csr = block.csr.part(rows.start, rows.stop)
        elif self._csr is None:
            self._csr = CSR(
                *gathered(*self.points.csr[:3], self.row_numbers, self.dtype), self.points.d
            )
        return self._csr

    @property
    def panels(self) -> np.ndarray:
        """The rows as `_lines` takes them; those of a part that starts with a panel are a view."""
        if self._panels is None:
            d, width = self.points.d, LINE_BYTES // self.dtype.itemsize
            if self._whole is not None and self._whole[1].start % width == 0:
                block, rows = self._whole
                self._panels = block.panels[rows.start * d : -(-rows.stop // width) * width * d]
            else:
                room = self._room or Panels(len(self), d, self.dtype)
                self._panels = room.lay(*self.points.csr[:3], self.row_numbers)
        return self._panels

    @property
    def row_numbers(self) -> np.ndarray:
        """The index as an array."""
        if isinstance(self.index, slice):
            return np.arange(self.index.start, self.index.stop)
        return self.index

    @property
    def sq_norms(self) -> np.ndarray:
        if self._sq_norms is None:
            if self._whole is None:
                self._sq_norms = self.points.norms(self.dtype)[self.index]
            else:
                block, rows = self._whole
                self._sq_norms = block.sq_norms[rows]
        return self._sq_norms

    @property
    def norm_parts(self) -> tuple[np.ndarray, np.ndarray]:
        """`sq_norms` as sums of two float32 arrays."""
        if self._norm_parts is None:
            high = self.sq_norms.astype(np.float32)
            self._norm_parts = high, (self.sq_norms - high).astype(np.float32)
        return self._norm_parts

    def in_fours(self, *, transposed: bool = False) -> np.ndarray:
        """Dense rows with zero columns added, so that their number is a multiple of four."""
        if transposed not in self._in_fours:
            shape = len(self), -(-self.points.d // 4) * 4
            rows = np.zeros(shape, self.dtype, order="F" if transposed else "C")
            rows[:, : self.points.d] = self.X
            self._in_fours[transposed] = rows.T if transposed else rows
        return self._in_fours[transposed]

    def part(self, k: int) -> SampleBlock:
        """The same samples as the k-th part of a composed kernel takes them."""
        parts = self.points.parts
        return self if parts is None else parts[k].take(self.index, self.dtype)

    @property
    def is_sparse(self) -> bool:
        return self.points.is_sparse

    @property
    def original(self) -> Any:
        """The same rows in the type the user gave, for functions that work on those."""
        return self.points.rows(self.index, None)

    def __getitem__(self, rows: slice) -> SampleBlock:
        """A contiguous part of the block, whose arrays are views of the block's."""
        start, stop, _ = rows.indices(len(self))
        stop = max(start, stop)
        if isinstance(self.index, slice):
            index: Any = slice(self.index.start + start, self.index.start + stop)
        else:
            index = self.index[start:stop]
        part = SampleBlock(self.points, index, self.dtype)
        part._whole = (self, slice(start, stop))
        return part

    def pick(self, which: np.ndarray) -> SampleBlock:
        """Some rows of the block, in any order; dense ones are copied from the block."""
        part = SampleBlock(self.points, self.row_numbers[which], self.dtype)
        if isinstance(self._X, np.ndarray) and not self.points.are_objects:
            part._X = self._X[which]
        return part

    def reserve(self, n: int, memory: Callable[[int], np.ndarray]) -> None:
        """Have room for n rows, so that what is there is not laid out again when it is `extended`.

        ``memory`` gives bytes, which are only touched if the kernel needs panels.
        """
        if self.points.has_few_nonzeros:
            self._room = Panels(n, self.points.d, self.dtype, memory)

    def extended(self, index: np.ndarray) -> SampleBlock:
        """The block with more rows at its end; dense ones that are there are not cut again."""
        whole = SampleBlock(self.points, np.concatenate([self.index, index]), self.dtype)
        whole._room = self._room
        if isinstance(self._X, np.ndarray) and not self.points.are_objects:
            whole._X = np.concatenate([self._X, self.points.rows(index, self.dtype)])
        return whole


def diagonal_of_tiles(kernel: Any, A: SampleBlock, side: int) -> np.ndarray:
    """k(a_i, a_i) from square tiles of that size, for kernels without a formula of it."""
    out = np.empty(len(A))
    for start in range(0, len(A), side):
        part = A[start : start + side]
        tile = np.empty((len(part), len(part)))
        kernel.tile(part, part, tile)
        out[start : start + side] = np.diagonal(tile)
    return out
