"""What an input is given to, and what that may do: succeed, or refuse it in its own error."""

from __future__ import annotations

import json
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

import mercer
from mercer.data import Checkpoint, Parquet, Svmlight, read_table
from mercer.exceptions import FileError
from mercer.persistence import read_liblinear, read_libsvm
from mercer.playground._session import Session
from mercer.playground._state import State, StateError
from mercer.playground._upload import read_csv

__all__ = ["MOST_SECONDS", "failure_of"]

MOST_SECONDS = 1.0  # of processor time


def _table(path: Path) -> None:
    for target in (None, False):
        try:
            read_table(path, target=target, missing="median")
        except FileError:
            read_table(path, target=target)


def _svmlight(path: Path) -> None:
    for batch in Svmlight(path).batches():
        np.asarray(batch.y)


def _parquet(path: Path) -> None:
    for batch in Parquet(path, "class", columns=["a"]).batches():
        np.asarray(batch.y)


def _checkpoint(path: Path) -> None:
    Checkpoint(path, {"C": "1.0", "rows": [12, 3]}).load()


def _link(text: str) -> None:
    state = State.from_query(text)
    assert State.from_query(state.to_query()) == state


def _message(text: str) -> None:
    session = Session(draws=False)
    event = json.loads(text)
    session.handle(event if isinstance(event, dict) else {"do": event})


FILES: dict[str, tuple[Callable[[Path], object], ...]] = {
    "model": (mercer.load,),
    "changed model": (mercer.load,),
    "svmlight": (_table, _svmlight),
    "csv": (_table,),
    "parquet": (_table, _parquet),
    "arrays": (_table,),
    "libsvm": (read_libsvm,),
    "liblinear": (read_liblinear,),
    "checkpoint": (_checkpoint,),
}
TEXTS: dict[str, Callable[[str], object]] = {
    "link": _link,
    "message": _message,
    "upload": read_csv,
}
# What may be raised; a message that is no JSON never comes to the session.
REFUSED = (FileError, StateError, json.JSONDecodeError)


def failure_of(kind: str, content: bytes, path: Path) -> str:
    """What is wrong with how an input is read; empty if nothing is. ``path`` is overwritten."""
    began = time.process_time()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        if kind in TEXTS:
            text = content.decode(errors="replace")
            problem = _attempt(TEXTS[kind], text)
        else:
            path.write_bytes(content)
            problem = next(filter(None, (_attempt(read, path) for read in FILES[kind])), "")
    seconds = time.process_time() - began
    if not problem and seconds > MOST_SECONDS:
        return f"took {seconds:.1f} s"
    return problem


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
