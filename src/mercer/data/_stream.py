"""Streams: the same batches of rows every time they are begun, and reading them ahead."""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from queue import Empty, Full, Queue
from typing import Any, NamedTuple, TypeVar

import numpy as np
import scipy.sparse as sp

from mercer.data._files import IO, as_file_errors
from mercer.exceptions import FileError

__all__ = [
    "Batch",
    "Batches",
    "Npy",
    "Stream",
    "StreamProgress",
    "as_stream",
    "check_batch_rows",
    "digest_file",
    "read_ahead",
]

Item = TypeVar("Item")


class Batch(NamedTuple):
    """Some rows, where they come from in words, and whether X is known to be an array of floats
    with a target for each row, all finite."""

    X: Any
    y: Any
    weight: Any
    where: str
    is_finite: bool = False


class Stream(ABC):
    """Rows in batches, the same ones every time; ``names`` of the columns if they have any."""

    names: list[str] | None = None
    # Whether there can be more than one pass.
    repeats = True

    @abstractmethod
    def batches(self, skip: int = 0) -> Iterator[Batch]:
        """All batches but the first ``skip``, from the beginning."""

    @abstractmethod
    def fingerprint(self) -> dict[str, Any]:
        """What the batches depend on, as JSON values: another stream has another one."""

    def targets(self) -> Iterator[np.ndarray]:
        """The targets alone."""
        return (batch.y for batch in self.batches())


class Batches(Stream):
    """Batches (X, y) or (X, y, weight) from an iterable, or from a function that returns one.

    A list, or a function (called once for each pass), gives its batches again and again; a
    generator only once.

    Parameters
    ----------
    source : iterable or callable

    Examples
    --------
    >>> import numpy as np
    >>> stream = Batches(lambda: ((np.ones((2, 3)) * i, [0, 1]) for i in range(4)))
    >>> [batch.X[0, 0] for batch in stream.batches(skip=2)]
    [np.float64(2.0), np.float64(3.0)]
    """

    def __init__(self, source: Iterable | Callable[[], Iterable]):
        self._begin: Callable[[], Iterable]
        if callable(source):
            self._begin = source
        else:
            self._begin = lambda: source
            self.repeats = not isinstance(source, Iterator)

    def batches(self, skip: int = 0) -> Iterator[Batch]:
        for number, item in islice(enumerate(iter(self._begin())), skip, None):
            if not isinstance(item, (tuple, list)) or len(item) not in (2, 3):
                raise ValueError(
                    f"batch {number} must be a pair (X, y) or a triple (X, y, weight), got "
                    f"{type(item).__name__}."
                )
            yield Batch(item[0], item[1], item[2] if len(item) == 3 else None, f"batch {number}")

    def fingerprint(self) -> dict[str, Any]:
        """The first batch stands for all; it is read, and not lost."""
        batches = iter(self._begin())
        first = next(batches, None)
        if not self.repeats and first is not None:
            rest = chain([first], batches)
            self._begin = lambda: rest
        return {"source": "batches", "first batch": _digest_batch(first)}


class Npy(Stream):
    """Rows of two ``.npy`` files, read as memory maps.

    Parameters
    ----------
    X, y : path
    weight : path, optional
    batch_rows : int
    """

    def __init__(self, X: Any, y: Any, weight: Any = None, batch_rows: int = IO.batch_rows):
        self.paths = [Path(path) for path in (X, y, *(() if weight is None else (weight,)))]
        self.batch_rows = check_batch_rows(batch_rows)
        arrays = self._open()
        if arrays[0].ndim != 2:
            raise FileError(
                str(self.paths[0]), None, f"must hold rows, has {arrays[0].ndim} dimension(s)."
            )
        for path, array in zip(self.paths[1:], arrays[1:], strict=True):
            if array.shape != arrays[0].shape[:1]:
                what = (
                    f"has shape {array.shape}, but {self.paths[0]} has {arrays[0].shape[0]} rows: "
                    "give one value for each."
                )
                raise FileError(str(path), None, what)

    def _open(self) -> list[np.ndarray]:
        return [self._open_one(path) for path in self.paths]

    @staticmethod
    def _open_one(path: Path) -> np.ndarray:
        with as_file_errors(str(path), "is not an .npy file of numbers"):
            array = np.load(path, mmap_mode="r", allow_pickle=False)
            if not isinstance(array, np.ndarray):
                raise ValueError("it is an archive of several arrays")
            if array.dtype.kind not in "fiubUS":
                raise ValueError(f"it holds {array.dtype}")
            return array

    def batches(self, skip: int = 0) -> Iterator[Batch]:
        n = self._open()[0].shape[0]
        for start in range(skip * self.batch_rows, n, self.batch_rows):
            # Mapped again for each batch: the pages of a closed map no longer count as memory of
            # this process.
            X, y, *weight = (
                np.array(array[start : start + self.batch_rows]) for array in self._open()
            )
            where = f"{self.paths[0]}, rows {start} to {start + len(y) - 1}"
            yield Batch(X, y, weight[0] if weight else None, where)

    def fingerprint(self) -> dict[str, Any]:
        files = [digest_file(path) for path in self.paths]
        return {"source": "npy", "files": files, "batch_rows": self.batch_rows}

    def targets(self) -> Iterator[np.ndarray]:
        yield np.asarray(self._open()[1])


def as_stream(source: Any) -> Stream:
    """The stream that is meant: itself, files by their names, or batches."""
    if isinstance(source, Stream):
        return source
    if isinstance(source, (str, os.PathLike)):
        return _file_stream(Path(source))
    if isinstance(source, tuple) and all(isinstance(p, (str, os.PathLike)) for p in source):
        return Npy(*source)
    if callable(source) or isinstance(source, Iterable):
        return Batches(source)
    raise TypeError(
        "a stream is an iterable of (X, y), a function that returns one, a file, or an object of "
        f"mercer.data; got {type(source).__name__}."
    )


def _file_stream(path: Path) -> Stream:
    from mercer.data._svmlight import Svmlight

    if path.suffix == ".parquet" or path.is_dir():
        what = f"{path}: which column is the target? Give mercer.data.Parquet(path, target=...)."
        raise ValueError(what)
    if path.suffix == ".npy":
        raise ValueError(f"{path}: give a pair of files, ('X.npy', 'y.npy').")
    return Svmlight(path)


def check_batch_rows(batch_rows: int) -> int:
    if not isinstance(batch_rows, (int, np.integer)) or batch_rows < 1:
        raise ValueError(f"batch_rows must be a positive integer, got {batch_rows!r}.")
    return int(batch_rows)


def digest_file(path: Path) -> list[Any]:
    """Size and a checksum of both ends: the same wherever the file is."""
    from zlib import crc32

    with as_file_errors(str(path)), open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        check = crc32(file.read(IO.end_bytes))
        if size > IO.end_bytes:
            file.seek(max(IO.end_bytes, size - IO.end_bytes))
            check = crc32(file.read(IO.end_bytes), check)
    return [size, check]


def _digest_batch(batch: Any) -> int:
    from zlib import crc32

    check = 0
    for part in batch if isinstance(batch, (tuple, list)) else ():
        pieces = (part.data, part.indices, part.indptr) if sp.issparse(part) else (part,)
        for piece in pieces:
            array = np.ascontiguousarray(piece)
            text = array.dtype.kind in "OUS"
            check = crc32(repr(array.tolist()).encode() if text else array.tobytes(), check)
    return check


@dataclass(frozen=True)
class StreamProgress:
    """Where a run over a stream stands, after a batch.

    Attributes
    ----------
    seconds : float
        Since this call of ``fit_stream`` began.
    passes : int
        Finished passes.
    batches, rows : int
        Of the present pass so far.
    steps : int
        Of each task, since the beginning.
    held_out : int
        Held out rows of this pass so far. Each was scored by the model as it was before its batch.
    loss : float
        Their mean loss (hinge or ε-insensitive, the mean over classes); NaN if there are none.
    score : float
        Their accuracy, or R²; NaN if there are none.
    """

    seconds: float
    passes: int
    batches: int
    rows: int
    steps: int
    held_out: int
    loss: float
    score: float


def read_ahead(
    items: Iterable[Item],
    stopped: Callable[[], bool] = lambda: False,
    depth: int = 2,
    poll_seconds: float = 0.1,
) -> Generator[Item, None, None]:
    """The same items in the same order, up to ``depth`` of them read ahead by a thread.

    What the reader raises is raised here, in its place. The items end early once ``stopped()``,
    which is called every ``poll_seconds`` while a source keeps silent. Closing the iterator ends
    the thread. It is a daemon thread rather than one of an executor, which Python would wait for at
    its exit even if the source blocks for ever.
    """
    queue: Queue[tuple[str, Any]] = Queue(depth)
    closed = threading.Event()

    def put(what: tuple[str, Any]) -> bool:
        while not closed.is_set():
            try:
                queue.put(what, timeout=poll_seconds)
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
                kind, value = queue.get(timeout=poll_seconds)
            except Empty:
                continue
            if kind == "end":
                return
            if kind == "error":
                raise value
            yield value
    finally:
        closed.set()
        reader.join(1.0)  # a reader in the middle of a batch is left behind
