"""Kernel matrices of the same rows for many kernels, a few of them in memory at a time.

A search over γ needs K for one kernel after the other. Kernels that are maps of dot products
(`Kernel.is_map_of_products`) share these: they are computed once. Buffers are reused, since the
first write to fresh memory costs more than the values written.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from copy import copy
from typing import Any

import numpy as np

from mercer._threads import Workers
from mercer.gram._base import never
from mercer.gram._blocked import BlockedGram
from mercer.gram._buffer_pool import BufferPool, borrow, give_back
from mercer.gram._machine import pieces
from mercer.kernels._dot_product import Linear

__all__ = ["KernelMatrices"]


class KernelMatrices:
    """Whole kernel matrices in float64, within a budget, for several threads.

    Parameters
    ----------
    n : int
        Rows.
    cache_bytes : int
        For all matrices and for shared products; at least one matrix must fit (`fits`).
    n_threads : int
        Threads that ask for matrices: there are at most as many at a time.
    """

    def __init__(self, n: int, cache_bytes: int, n_threads: int):
        self.n, self.n_threads = n, n_threads
        self.n_buffers = max(1, min(cache_bytes // (8 * n * n), n_threads + 1))
        self._change = threading.Condition()
        self._built: dict[Hashable, np.ndarray | None] = {}  # None while it is computed
        self._left: dict[Hashable, int] = {}  # uses of a matrix that are still to come
        self._memory: BufferPool = borrow(8 * n * n * self.n_buffers)
        values = self._memory.values.view(np.float64)
        self._free = [
            values[i * n * n : (i + 1) * n * n].reshape(n, n) for i in range(self.n_buffers)
        ]
        self._products: np.ndarray | None = None
        self._points: Any = None

    @staticmethod
    def fits(n: int, cache_bytes: int) -> bool:
        """Whether a matrix of n rows is within the budget."""
        return 8 * n * n <= cache_bytes

    def share_products(self, gram: BlockedGram, workers: Workers) -> None:
        """Compute the dot products of these samples, if there is a buffer to keep them in."""
        if self.n_buffers > 1 and gram.kernel.is_map_of_products(gram.points):
            shared = BlockedGram(Linear(), gram.points, workers)
            self._products = shared.matrix(out=self._free.pop())
            self._points = gram.points

    def acquire(
        self, key: Hashable, gram: BlockedGram, uses: int, stop: Callable[[], bool] = never
    ) -> np.ndarray | None:
        """The matrix of a Gram, which will be asked for ``uses`` times; the first computes it.

        Waits while all buffers are in use; None if ``stop()`` is true meanwhile.
        """
        with self._change:
            while True:
                built = self._built.get(key)
                if built is not None:
                    return built
                if key not in self._built and self._free:
                    out = self._free.pop()
                    self._built[key], self._left[key] = None, uses
                    break
                if stop():
                    return None
                self._change.wait(0.05)
        try:
            self._compute(gram, out)
        except BaseException:
            self._free.append(out)
            self._set(key, None)
            raise
        self._set(key, out)
        return out

    def _set(self, key: Hashable, built: np.ndarray | None) -> None:
        with self._change:
            if built is None:  # it failed
                del self._built[key], self._left[key]
            else:
                self._built[key] = built
            self._change.notify_all()

    def release(self, key: Hashable) -> None:
        """One use has ended."""
        with self._change:
            self._left[key] -= 1
            if self._left[key] == 0:
                built = self._built.pop(key)
                del self._left[key]
                assert built is not None
                self._free.append(built)
                self._change.notify_all()

    def _compute(self, gram: BlockedGram, out: np.ndarray) -> None:
        """Where there is one matrix at a time, all others wait for it: with all threads."""
        n_matrices = self.n_buffers - int(self._products is not None)
        with Workers(self.n_threads if n_matrices == 1 else 1) as workers:
            is_shared = self._products is not None and gram.points is self._points
            if is_shared and gram.kernel.is_map_of_products(gram.points):
                self._map_products(gram, out, workers)
                return
            alone = copy(gram)
            alone.workers = workers
            alone.matrix(out=out)

    def _map_products(self, gram: BlockedGram, out: np.ndarray, workers: Workers) -> None:
        products = self._products
        assert products is not None
        whole = gram.sample_block(slice(0, gram.n), np.float64)

        def one(part: slice) -> None:
            np.copyto(out[part], products[part])
            gram.kernel.map_products(whole[part], whole, out[part])

        workers.map(one, pieces(gram.n, max(1, gram.machine.l2_bytes // (16 * gram.n))))
        if gram.kernel.is_shift_invariant:  # k(x, x) is known exactly
            np.fill_diagonal(out, gram.diag())

    def close(self) -> None:
        """Give the memory back."""
        self._free, self._products = [], None
        give_back(self._memory)

    def __enter__(self) -> KernelMatrices:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
