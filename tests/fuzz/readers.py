"""What an input is given to, and what that may do: succeed, or refuse it in its own error."""

from __future__ import annotations

import contextlib
import io
import json
import tempfile
import time
import traceback
import warnings
import zlib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import mercer
from mercer.cli._inspect import run as inspect
from mercer.data import Checkpoint, Npy, Parquet, Schema, Svmlight, read_table
from mercer.exceptions import FileError
from mercer.persistence import read_liblinear, read_libsvm
from mercer.playground._session import Session
from mercer.playground._state import State, StateError
from mercer.playground._upload import read_csv
from tests.fuzz.seeds import CSV, FINGERPRINT

__all__ = ["MOST_SECONDS", "failure_of"]

MOST_SECONDS = 1.0  # of processor time


# Ways to read a table; each input is read in two of them.
WAYS: list[dict[str, Any]] = [
    {"target": None, "missing": "median"},
    {"target": False},
    {"target": 0, "missing": "mean"},
    {"target": -1, "missing": "zero", "scale": "standard"},
    {"target": -1, "missing": "median", "scale": "minmax", "task": "classification"},
    {"target": "class", "samples": "table"},
    {"target": 0, "samples": "series"},
    {"target": -1, "text": True},
    {"target": -1, "text": "colour", "samples": "sets"},
    {"target": -1, "decimal": ",", "na": ["-", "b"]},
    {"target": -1, "categorical": [0], "drop": [1], "missing": "median"},
    {"target": -1, "header": False, "missing": "median"},
    {"target": -1, "task": "regression", "missing": "median"},
]


@cache
def _schema() -> Schema:
    """Of a model that was trained on the first table of the corpus."""
    with tempfile.NamedTemporaryFile(suffix=".csv") as file:
        file.write(CSV)
        file.flush()
        return read_table(file.name, target="class", missing="median").schema


def _ways(content: bytes) -> Iterator[dict[str, Any]]:
    first = zlib.crc32(content) % (len(WAYS) + 1)
    yield {"schema": _schema()} if first == len(WAYS) else WAYS[first]
    yield WAYS[zlib.adler32(content) % len(WAYS)]


def _table(path: Path) -> None:
    refused = None
    for way in _ways(path.read_bytes()):
        try:
            read_table(path, **way)
        except FileError as error:
            refused = error
    if refused is not None:
        raise refused


def _inspected(path: Path) -> None:
    """What `mercer inspect` prints, of one input in eight."""
    if zlib.crc32(path.read_bytes()) % 8 == 0:
        with contextlib.redirect_stdout(io.StringIO()):
            inspect(str(path), 3, True, False)


def _svmlight(path: Path) -> None:
    for batch in Svmlight(path).batches():
        np.asarray(batch.y)


def _parquet(path: Path) -> None:
    for batch in Parquet(path, "class", columns=["a"]).batches():
        np.asarray(batch.y)


def _array(path: Path) -> None:
    for batch in Npy(path, path).batches():
        np.asarray(batch.X)


def _checkpoint(path: Path) -> None:
    Checkpoint(path, FINGERPRINT).load()


def _link(text: str) -> None:
    state = State.from_query(text)
    assert State.from_query(state.to_query()) == state


def _message(text: str) -> None:
    session = Session(draws=False)
    given = json.loads(text)
    for event in given if isinstance(given, list) else [given]:
        session.handle(event if isinstance(event, dict) else {"do": event})


FILES: dict[str, tuple[Callable[[Path], object], ...]] = {
    "model": (mercer.load, _inspected),
    "changed model": (mercer.load, _inspected),
    "svmlight": (_table, _svmlight, _inspected),
    "csv": (_table, _inspected),
    "parquet": (_table, _parquet, _inspected),
    "arrays": (_table, _array, _inspected),
    "libsvm": (read_libsvm, _inspected),
    "liblinear": (read_liblinear, _inspected),
    "checkpoint": (_checkpoint, _inspected),
    "compressed": (_table, _svmlight, _inspected),
}
TEXTS: dict[str, Callable[[str], object]] = {
    "link": _link,
    "message": _message,
    "upload": read_csv,
}
# What may be raised; a message that is no JSON never comes to the session.
REFUSED = (FileError, StateError, json.JSONDecodeError)


def failure_of(kind: str, content: bytes, path: Path) -> str:
    """What is wrong with how an input is read; empty if nothing is. ``path`` is overwritten.

    What takes too long is read again: the first time may compile code.
    """
    path.write_bytes(content)
    for _ in range(2):
        began = time.process_time()
        problem = _problem(kind, content, path)
        seconds = time.process_time() - began
        if problem or seconds <= MOST_SECONDS:
            return problem
    return f"took {seconds:.1f} s"


def _problem(kind: str, content: bytes, path: Path) -> str:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        if kind in TEXTS:
            return _attempt(TEXTS[kind], content.decode(errors="replace"))
        return next(filter(None, (_attempt(read, path) for read in FILES[kind])), "")


def _attempt(read: Callable, given: object) -> str:
    try:
        read(given)
    except REFUSED as error:
        cause: BaseException | None = error
        while cause is not None:
            if isinstance(cause, MemoryError):
                return f"asked for too much memory: {error}"
            cause = cause.__cause__
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__}: {error} ({where.filename}:{where.lineno})"
    return ""
