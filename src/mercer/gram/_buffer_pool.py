"""Memory for kernel rows that outlives a fit without being held.

Touching a fresh page costs more than computing the kernel values that go into it. So the memory of
one fit is kept for the next, but given to the operating system as free (MADV_FREE): under pressure
it takes the pages away, otherwise they are there, touched, when they are written again.
"""

from __future__ import annotations

import mmap
import threading
from dataclasses import dataclass

import numpy as np

__all__ = ["BufferPool", "borrow", "give_back"]

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
    """Room for at least ``n_bytes``, its contents undefined; pages come as they are written."""
    with _lock:
        for i, arena in enumerate(_free):
            if arena.values.nbytes >= n_bytes:
                return _free.pop(i)
    flags = {}
    if hasattr(mmap, "MAP_ANONYMOUS"):  # private pages, which MADV_FREE asks for; not on Windows
        flags["flags"] = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    pages = mmap.mmap(-1, max(n_bytes, mmap.PAGESIZE), **flags)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        pages.madvise(mmap.MADV_HUGEPAGE)
    return BufferPool(pages, np.frombuffer(pages, np.float32, count=len(pages) // 4))


def give_back(arena: BufferPool) -> None:
    """Take back what `borrow` gave: for the next, or for the system."""
    if not hasattr(mmap, "MADV_FREE"):
        return
    arena.pages.madvise(mmap.MADV_FREE)
    with _lock:
        _free.append(arena)
        _free.sort(key=lambda a: a.values.nbytes)
        del _free[:-MOST_KEPT]
