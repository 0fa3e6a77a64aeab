"""Memory for kernel rows that outlives a fit without being held.

Touching a fresh page costs more than computing the kernel values that go into it. So the memory of
one fit is kept for the next, but given to the operating system as free (MADV_FREE): under pressure
it takes the pages away, otherwise they are there, touched, when they are written again.
"""

from __future__ import annotations

import mmap
import threading
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["BufferPool", "Scratch", "borrow", "give_back"]

# Buffers of at most MOST_KEPT simultaneous fits are kept.
MOST_KEPT = 2

_lock = threading.Lock()
_free: list[BufferPool] = []


@dataclass(frozen=True, eq=False)
class BufferPool:
    """Some pages, and the same as float32 numbers."""

    pages: mmap.mmap
    values: np.ndarray


def borrow(n_bytes: int) -> BufferPool:
    """Room for at least ``n_bytes``, its contents undefined; pages come as they are written.

    Whole pages, so that the memory can be viewed as numbers of any size by whoever has it next.
    """
    with _lock:
        for i, arena in enumerate(_free):
            if arena.values.nbytes >= n_bytes:
                return _free.pop(i)
    flags = {}
    if hasattr(mmap, "MAP_ANONYMOUS"):  # private pages, which MADV_FREE asks for; not on Windows
        flags["flags"] = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    n_pages = max(1, -(-n_bytes // mmap.PAGESIZE))
    try:
        pages = mmap.mmap(-1, n_pages * mmap.PAGESIZE, **flags)
    except OSError as error:
        what = f"{n_bytes / 1e6:,.0f} MB for kernel values cannot be had: lower cache_size"
        raise MemoryError(what) from error
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with suppress(OSError):  # a system without huge pages
            pages.madvise(mmap.MADV_HUGEPAGE)
    return BufferPool(pages, np.frombuffer(pages, np.float32, count=len(pages) // 4))


def give_back(arena: BufferPool) -> None:
    """Take back what `borrow` gave: for the next, or for the system."""
    if not hasattr(mmap, "MADV_FREE"):
        return
    with suppress(OSError):  # an older system than the one of the constant
        arena.pages.madvise(mmap.MADV_FREE)
    with _lock:
        _free.append(arena)
        _free.sort(key=lambda a: a.values.nbytes)
        del _free[:-MOST_KEPT]


class Scratch(threading.local):
    """Memory of each thread for the kernel values of a Gram, and of all that is taken from it.

    Touching fresh pages costs more than computing the values that are put into them.

    Parameters
    ----------
    borrowed : list
        Where all threads note what they have borrowed.

    Attributes
    ----------
    full_rows : RowCache or None
        The cache over all columns that lies in `memory`.
    matrix_of : tuple or None
        Of which samples the buffer "matrix" holds the whole kernel matrix, and in which size.
    """

    def __init__(self, borrowed: list[BufferPool]):
        self._borrowed = borrowed
        self._buffers: dict[str, np.ndarray] = {}
        self._memory: np.ndarray | None = None
        self.full_rows: Any = None
        self.matrix_of: tuple[np.ndarray | None, int] | None = None

    def buffer(self, name: str, shape: tuple[int, int], dtype: Any = np.float64) -> np.ndarray:
        """A buffer, valid until the next call with its name."""
        if name == "matrix":
            self.matrix_of = None
        need = shape[0] * shape[1] * np.dtype(dtype).itemsize
        held = self._buffers.get(name)
        if held is None or held.size < need:
            held = self._buffers[name] = np.empty(need, np.uint8)
        return held[:need].view(dtype).reshape(shape)

    def whole_matrix(
        self, index: np.ndarray | None, size: int, out: np.ndarray | None, is_scratch: bool
    ) -> np.ndarray | None:
        """The kernel matrix of these samples if the buffer "matrix" still holds it, else None.

        The buffer itself if it ``is_scratch`` and padded to ``size``; or its copy in ``out``.
        """
        of, side = (index, 0) if self.matrix_of is None else self.matrix_of
        if of is not index and (of is None or index is None or not np.array_equal(of, index)):
            return None
        if side == 0 or (is_scratch and side != size):
            return None
        held = self._buffers["matrix"][: 8 * side**2].view(np.float64).reshape(side, side)
        if is_scratch:
            return held
        if out is None or out.dtype != np.float64 or not len(out) == size <= side:
            return None
        out[:] = held[:size, :size]
        return out

    def memory(self, n_bytes: int) -> np.ndarray:
        """Memory for cached kernel values, the same for one task after the other.

        Pages are allocated as they are written. A call ends the use of what is cached there.
        """
        self.full_rows = None
        if self._memory is None or self._memory.nbytes < n_bytes:
            arena = borrow(n_bytes)
            self._borrowed.append(arena)
            self._memory = arena.values
        return self._memory[: max(n_bytes // 4, 1)]
