"""The cache of compiled code: when its files are valid, and where they may lie.

Numba's index files are pickles, so that whoever can write into the cache folder can have code run.
The cache is therefore in the package's folder, or the user's own, or a folder under the temporary
directory that nobody else can write to; where there is none, code is compiled in memory.

Before it loads code from the cache, Numba imports and registers all that it can compile, which
takes most of the first fit of a process. Code that is compiled already needs none of that.
"""

from __future__ import annotations

import contextlib
import functools
import os
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from numba.core.caching import FunctionCache
from numba.core.dispatcher import Dispatcher
from numba.core.runtime.nrt import rtsys

__all__ = ["Cache", "private_folder", "temporary_folder"]


class Cache(FunctionCache):
    """Numba's cache of a function; loading from it initialises only what compiled code calls.

    The functions that a compiled one calls and the constants that it reads are part of its machine
    code. Numba compares the file of the function alone; here code is compiled again where any of
    them has changed.
    """

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled code for these types, or None: then Numba compiles, and registers first."""
        rtsys.initialize(target_context)
        self._cache_file._source_stamp = self._sources
        try:
            return self._load_overload(sig, target_context)  # type: ignore[no-untyped-call]
        except Exception:  # a file that was cut off, or cannot be read
            with contextlib.suppress(OSError):
                self._cache_file.flush()  # type: ignore[no-untyped-call]
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep the machine code; on a full disk it is in memory only."""
        with contextlib.suppress(OSError):
            super().save_overload(sig, data)  # type: ignore[no-untyped-call]

    @functools.cached_property
    def _sources(self) -> tuple:
        """What the machine code depends on, at the first call: all functions are defined then."""
        found: dict[str, Any] = {}
        _gather(self._py_func, found)
        return tuple(sorted(found.items()))


def _gather(function: Callable, found: dict[str, Any]) -> None:
    """Stamps of the files of a function and of all that it calls; constants that they read."""
    code, name = function.__code__, f"{function.__module__}.{function.__qualname__}"
    if name in found:
        return
    found[name] = _stamp(code.co_filename) or code.co_code.hex()
    for used in code.co_names:
        value = function.__globals__.get(used)
        if isinstance(value, Dispatcher):
            _gather(value.py_func, found)
        elif isinstance(value, bool | int | float | str | tuple):
            found[f"{name} {used}"] = repr(value)


@functools.cache
def _stamp(file: str) -> str:
    """Time and size of a file; empty where there is none."""
    try:
        status = os.stat(file)
    except OSError:
        return ""
    return f"{status.st_mtime_ns} {status.st_size}"


def temporary_folder() -> str | None:
    """`private_folder` of the temporary directory; None also where there is no such directory."""
    try:
        parent = tempfile.gettempdir()
    except OSError:
        return None
    return private_folder(parent)


@functools.cache
def private_folder(parent: str) -> str | None:
    """A folder in ``parent`` that only this user can write to or replace; None if there is none."""
    if not hasattr(os, "getuid"):
        return None
    user = os.getuid()
    folder = Path(parent) / f"mercer-numba-cache-{user}"
    try:
        above = os.stat(parent)
        others_write = above.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        if above.st_uid not in (0, user) or (others_write and not above.st_mode & stat.S_ISVTX):
            return None  # another user could put a folder of theirs in its place
        with contextlib.suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        found = os.lstat(folder)  # not what a link points to
    except OSError:
        return None
    is_own = stat.S_ISDIR(found.st_mode) and found.st_uid == user
    return str(folder) if is_own and not found.st_mode & 0o077 else None
