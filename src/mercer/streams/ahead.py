"""Reading ahead: a thread reads the next batches while the caller works on one."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterable
from queue import Empty, Full, Queue
from typing import Any, TypeVar

__all__ = ["read_ahead"]

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
