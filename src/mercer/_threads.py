"""Threads: a pool of workers over tiles, with BLAS held to one thread inside.

Work is always cut into the same pieces, whatever the number of threads, so that a result does not
depend on it. The hold on BLAS is counted: two fits in two Python threads may overlap in any order.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

__all__ = ["SERIAL", "Workers", "single_threaded_blas", "thread_count"]

_lock = threading.Lock()
_holders = 0
_threads_before: list[int] = []


@cache
def _libraries() -> list[Any]:
    return ThreadpoolController().select(user_api="blas").lib_controllers


def _blas_threads() -> list[int]:
    return [library.get_num_threads() for library in _libraries()]


def _set_blas_threads(counts: Iterable[int]) -> None:
    for library, count in zip(_libraries(), counts, strict=True):
        library.set_num_threads(count)


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Hold BLAS to one thread; the last of several overlapping holders lets go."""
    global _holders, _threads_before
    with _lock:
        if _holders == 0:
            _threads_before = _blas_threads()
            _set_blas_threads([1] * len(_threads_before))
        _holders += 1
    try:
        yield
    finally:
        with _lock:
            _holders -= 1
            if _holders == 0:
                _set_blas_threads(_threads_before)


def thread_count(n_jobs: int | None) -> int:
    """How many threads ``n_jobs`` asks for: None as many as BLAS would use, −1 all cores."""
    if n_jobs is None:
        with _lock:
            return max(_threads_before if _holders else _blas_threads(), default=1)
    if n_jobs == 0:
        raise ValueError("n_jobs must be None, positive, or negative (-1: all cores); got 0.")
    return n_jobs if n_jobs > 0 else max(1, (os.cpu_count() or 1) + 1 + n_jobs)


class Workers:
    """``n_threads`` workers, of whom the caller is one."""

    def __init__(self, n_threads: int = 1):
        self.n_threads = n_threads
        self._pool: ThreadPoolExecutor | None = None

    def map(self, function: Callable[[Any], Any], items: Iterable[Any]) -> list[Any]:
        """Results of ``function`` on each item, in order; raises what any of them raised."""
        items = list(items)
        n_helpers = min(self.n_threads, len(items)) - 1
        if n_helpers <= 0:
            return [function(item) for item in items]
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self.n_threads - 1, thread_name_prefix="mercer")
        waiting = iter(list(enumerate(items)))  # each is handed out once, whoever asks
        results: list[Any] = [None] * len(items)

        def work() -> None:
            try:
                for number, item in waiting:
                    results[number] = function(item)
            except BaseException:
                list(waiting)  # nothing more is begun
                raise

        helpers = [self._pool.submit(work) for _ in range(n_helpers)]
        try:
            work()
        finally:
            for helper in helpers:
                helper.result()
        return results

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


#: The caller alone: for work that needs no threads.
SERIAL = Workers(1)
