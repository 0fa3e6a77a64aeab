"""Rounds over the chunks of a fit: a function of every chunk, and the sum of what it returns.

All tasks are functions of their arguments alone. What a worker held when it was lost is computed
again by the scheduler; what a scheduler held when it was lost is submitted again from here. Sums
are taken along a tree whose shape follows from the number of chunks, in their order.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._result import Halted
from mercer.dask._chunk import ChunkSummary, bind_chunk, encode_chunk, summarise_chunk
from mercer.dask._client import find_client
from mercer.dask._partitions import Partitions
from mercer.solvers import Stopping

__all__ = ["Rounds", "RoundsSettings", "listed"]


@dataclass(frozen=True)
class RoundsSettings:
    """How rounds are run and watched."""

    # Values that one task of a reduction tree adds.
    fan_in: int = 8
    # Seconds between two looks at the scheduler, the time limit and Ctrl-C while a round runs, and
    # for the scheduler's answer.
    poll_seconds: float = 0.5
    probe_seconds: float = 5.0
    # Chunks stay in the workers' memory if they take at most this fraction of it.
    persist_fraction: float = 0.4
    # How often a round is submitted again after the scheduler was lost.
    attempts: int = 5


SETTINGS = RoundsSettings()


class Rounds:
    """The chunks of one fit, and the client that computes with them.

    Parameters
    ----------
    parts : Partitions
    scheduler : Client, str or None
        See `find_client`.
    timeout : float
        Seconds without an answer of the scheduler, or without any worker, after which a fit ends
        with a TimeoutError.
    stopping : Stopping
        Ends a round with `Halted`.
    persist : bool or "auto"
        Whether chunks stay in the workers' memory between rounds; "auto": if they fit.
    """

    def __init__(
        self,
        parts: Partitions,
        scheduler: Any,
        timeout: float,
        stopping: Stopping,
        persist: Any = "auto",
    ):
        self.parts, self.scheduler, self.timeout = parts, scheduler, timeout
        self.stopping, self.persist = stopping, persist
        self.client = find_client(scheduler, timeout)
        self.is_regression = False
        self.classes: np.ndarray | None = None
        self.chunks: list[Any] = []
        self.kept: dict[Any, list[Any]] = {}
        self.count = 0

    def __len__(self) -> int:
        return len(self.parts)

    def bind(
        self, is_classification: bool, is_regression: bool, wants_digest: bool = False
    ) -> list[ChunkSummary]:
        """Check all chunks, and summarise each."""
        if (is_classification or is_regression) and self.parts.y[0] is None:
            raise ValueError("y is missing: this estimator needs a label or target for each row.")
        self.is_regression = is_regression
        if self.persist is True:
            self.chunks = self._persisted(self._bound())
        else:
            self.chunks = self._bound()
        summaries = self.map(summarise_chunk, is_classification, wants_digest)
        if self.persist == "auto":
            total = sum(summary.bytes for summary in summaries)
            memory = self._identity().get("total_memory") or 0
            self.persist = total <= SETTINGS.persist_fraction * memory
        return summaries

    def encode(self, classes: np.ndarray | None) -> None:
        """Labels become the numbers of their classes; chunks that fit stay on the workers."""
        self.classes = classes
        self._rebind()

    def _bound(self) -> list[Any]:
        from dask import delayed

        parts, check = self.parts, delayed(bind_chunk, pure=False)
        given = zip(parts.X, parts.y, parts.weight, strict=True)
        return [
            check(i, *blocks, parts.n_columns, self.is_regression) for i, blocks in enumerate(given)
        ]

    def _rebind(self) -> None:
        """The chunks from the user's collection."""
        from dask import delayed

        chunks = self._bound()
        if self.classes is not None:
            encode = delayed(encode_chunk, pure=False)
            chunks = [encode(chunk, self.classes) for chunk in chunks]
        self.chunks = self._persisted(chunks) if self.persist is True else chunks

    def _persisted(self, values: list[Any]) -> list[Any]:
        return list(self.client.persist(values, optimize_graph=True))

    # ------------------------------------------------------------------ rounds

    def map(self, function: Callable, *arguments: Any) -> list[Any]:
        """``function(chunk, *arguments)`` of every chunk, brought here: small results only."""

        def build() -> Any:
            one = self.payload(arguments)
            return self._tree([self._apply(function, chunk, one) for chunk in self.chunks], listed)

        return self.run(build)

    def payload(self, value: Any) -> Any:
        """A value that many tasks read, sent once."""
        from dask import delayed

        return delayed(_Boxed(value), traverse=False, name=f"mercer-payload-{self._number()}")

    def _number(self) -> str:
        self.count += 1
        return f"{id(self):x}-{time.monotonic_ns():x}-{self.count}"

    def _apply(self, function: Callable, chunk: Any, payload: Any) -> Any:
        from dask import delayed

        return delayed(_call, pure=False)(function, chunk, payload)

    def _tree(self, values: list[Any], add: Callable) -> Any:
        """The values added in their order, ``fan_in`` at a time."""
        from dask import delayed

        add_some = delayed(add, pure=False)
        level, fan_in = 0, SETTINGS.fan_in
        while level == 0 or len(values) > 1:
            groups = [values[k : k + fan_in] for k in range(0, len(values), fan_in)]
            values = [add_some(group) for group in groups]
            level += 1
        return values[0]

    def reduce(
        self,
        tasks: Callable[[], list[Any]],
        add: Callable,
        halts: bool = True,
    ) -> Any:
        """The sum of one delayed value for each chunk, which ``tasks()`` makes."""
        return self.run(lambda: self._tree(tasks(), add), halts)

    def run(self, build: Callable[[], Any], halts: bool = True) -> Any:
        """Compute what ``build()`` returns; build it again if the scheduler was lost."""
        for attempt in range(SETTINGS.attempts):
            future = self.client.compute(build(), optimize_graph=True)
            try:
                return self._wait(future, halts)
            except CancelledError as error:
                if attempt + 1 == SETTINGS.attempts:
                    raise ConnectionError(
                        f"The Dask scheduler was lost {attempt + 1} times in one round ({error})."
                    ) from error
                self._reconnect()
            finally:
                future.release()
        raise AssertionError

    def keep(self, key: Any, make: Callable[[], list[Any]]) -> list[Any]:
        """Delayed values that stay on the workers under a key; made again where they were lost."""
        if key not in self.kept:
            self.kept[key] = self._persisted(make())
        return self.kept[key]

    def _wait(self, future: Any, halts: bool) -> Any:
        """The result of a future; asks time limit, Ctrl-C and the scheduler's health meanwhile."""
        answered = had_worker = time.monotonic()
        while True:
            try:
                return future.result(timeout=SETTINGS.poll_seconds)
            except TimeoutError:
                if future.done():  # just now, or with a TimeoutError of its own
                    return future.result()
            if halts and self.stopping.stopped is not None:
                future.cancel()
                raise Halted
            now = time.monotonic()
            try:
                info = self._identity()
            except (TimeoutError, OSError):
                if now - answered > self.timeout:
                    raise self._no_answer("has not answered") from None
                continue
            answered = time.monotonic()
            if info.get("n_workers"):
                had_worker = answered
            elif answered - had_worker > self.timeout:
                raise self._no_answer("has had no worker")

    def _identity(self) -> dict[str, Any]:
        """What the scheduler says of itself."""
        seconds = min(SETTINGS.probe_seconds, self.timeout)
        scheduler = self.client.scheduler
        if scheduler is None:
            raise OSError("the client is closed")
        return self.client.sync(scheduler.identity, n_workers=0, callback_timeout=seconds)

    def _no_answer(self, what: str) -> TimeoutError:
        address = getattr(self.client.scheduler, "address", self.scheduler)
        return TimeoutError(
            f"The Dask scheduler at {address} {what} for {self.timeout:g} s. Start it or its "
            "workers and fit again; with checkpoint= a fit goes on from its last round."
        )

    def _reconnect(self) -> None:
        """After the scheduler was lost: the same or a new client, and the chunks again."""
        end = time.monotonic() + self.timeout
        while self.client.status not in ("running", "closed") and time.monotonic() < end:
            time.sleep(SETTINGS.poll_seconds)
        if self.client.status != "running":
            if self.scheduler is not None and not isinstance(self.scheduler, str):
                raise ConnectionError(
                    "The Dask client of this fit was closed, as its scheduler was lost. Connect a "
                    "new client and fit again; with checkpoint= a fit goes on from its last round."
                )
            self.client = find_client(self.scheduler, self.timeout)
        self.kept.clear()
        self._rebind()


class _Boxed:
    """Keeps Dask from looking for tasks within a value."""

    def __init__(self, value: Any):
        self.value = value


def _call(function: Callable, chunk: Any, payload: _Boxed) -> Any:
    return function(chunk, *payload.value)


def listed(parts: Sequence[Any]) -> list[Any]:
    """Results as one list; those of a tree's lower levels are lists of this kind already."""
    out: list[Any] = []
    for part in parts:
        out.extend(part if type(part) is _Listed else [part])
    return _Listed(out)


class _Listed(list):
    pass
