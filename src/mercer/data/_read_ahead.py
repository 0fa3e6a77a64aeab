"""Reading ahead: threads read the next batches while the caller works on one."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from queue import Empty, Full, Queue
from typing import Any, TypeVar

__all__ = ["read_ahead", "zip_ahead"]

Item = TypeVar("Item")

# Seconds after which whoever waits looks whether it is still worth it.
LOOK = 0.1
# Seconds to wait at the end for a reader that is in the middle of a batch.
PATIENCE = 1.0


def read_ahead(
    items: Iterable[Item], stopped: Callable[[], bool] = lambda: False, depth: int = 2
) -> Generator[Item, None, None]:
    """The same items in the same order, up to ``depth`` of them read before they are asked for.

    What the reader raises is raised here, in its place. The items end early once ``stopped``, also
    where a source keeps silent. Closing the iterator ends the thread.
    """
    queue: Queue[tuple[str, Any]] = Queue(depth)
    closed = threading.Event()

    def put(what: tuple[str, Any]) -> bool:
        while not closed.is_set():
            try:
                queue.put(what, timeout=LOOK)
                return True
            except Full:
                continue
        return False

    def read() -> None:
        try:
            for item in items:
                if not put(("item", item)):
                    return
            put(("end", None))
        except BaseException as error:
            put(("error", error))
        finally:
            if isinstance(items, Generator):  # it may have readers of its own
                items.close()

    reader = threading.Thread(target=read, name="mercer-reader", daemon=True)
    reader.start()
    try:
        while not stopped():
            try:
                kind, value = queue.get(timeout=LOOK)
            except Empty:
                continue
            if kind == "end":
                return
            if kind == "error":
                raise value
            yield value
    finally:
        closed.set()
        reader.join(PATIENCE)


def zip_ahead(
    parts: Sequence[Iterator[Item]], n_threads: int, depth: int
) -> Generator[tuple[Item, ...], None, None]:
    """As ``zip`` of parts of equal length, each read up to ``depth`` items ahead.

    The caller is one of the threads: where it would have to wait it reads itself. So there never
    are more threads at work than cores, which schedulers do not share out well.
    """
    team = _Team(parts, depth)
    threads = [
        threading.Thread(target=team.work, name="mercer-reader", daemon=True)
        for _ in range(n_threads - 1)
    ]
    for thread in threads:
        thread.start()
    try:
        while (items := team.take()) is not None:
            yield items
    finally:
        team.close()
        for thread in threads:
            thread.join(PATIENCE)


class _Team:
    """Who reads what: at most one thread reads a part, those that are behind first."""

    def __init__(self, parts: Sequence[Iterator[Any]], depth: int):
        self.parts, self.depth = parts, depth
        self.read: list[deque] = [deque() for _ in parts]
        self.is_free = [True] * len(parts)
        self.closed = False
        self.changed = threading.Condition()

    def work(self) -> None:
        """Read ahead until it is closed."""
        part: int | None = None
        while True:
            with self.changed:
                while not self.closed and (part := self._choose()) is None:
                    self.changed.wait()
                if self.closed or part is None:
                    return
            self._advance(part)

    def take(self) -> tuple | None:
        """The next item of every part; None at the end."""
        part: int | None = None
        while True:
            with self.changed:
                while not all(self.read) and (part := self._choose()) is None:
                    self.changed.wait()
                if all(self.read):
                    items = [items.popleft() for items in self.read]
                    self.changed.notify_all()
                    break
            assert part is not None
            self._advance(part)
        for kind, value in items:
            if kind == "error":
                raise value
        return None if items[0][0] == "end" else tuple(value for _, value in items)

    def close(self) -> None:
        with self.changed:
            self.closed = True
            self.changed.notify_all()

    def _choose(self) -> int | None:
        """Take on the part that is most behind, if one is by less than ``depth`` items ahead."""
        free = [part for part in range(len(self.parts)) if self.is_free[part]]
        part = min(free, key=lambda part: len(self.read[part]), default=None)
        if part is None or len(self.read[part]) >= self.depth:
            return None
        self.is_free[part] = False
        return part

    def _advance(self, part: int) -> None:
        try:
            item = "item", next(self.parts[part])
        except StopIteration:
            item = "end", None
        except BaseException as error:
            item = "error", error
        with self.changed:
            self.read[part].append(item)
            self.is_free[part] = item[0] == "item"
            self.changed.notify_all()
