"""Compiled tiles of a kernel function, cached on disk by its source.

The function is compiled as ``value`` and called for each pair of samples in a loop of this module.
Both are written to a file in the user's cache folder, whose name is a digest of the source, so that
Numba caches the machine code beside it; a changed source is another file. The file is for Numba and
for tracebacks: what is executed is the text in memory.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from types import FunctionType
from typing import Any

import numba
import numpy as np
from numba.core import errors

from mercer._numba import compiled, larger, temporary_folder
from mercer.kernels._compiled.elementwise import exp64
from mercer.kernels.functions._definition import Definition
from mercer.kernels.functions._dot_form import EXP, LARGER, dot_form, with_fast_exp

__all__ = ["CompiledTiles", "NotCompiledError", "compile_tiles"]

# What Numba raises of code that it cannot compile. 0.60 lacks the last one, which is no NumbaError.
_NOT_COMPILED = (
    NotImplementedError,
    errors.NumbaError,
    getattr(errors, "UnsupportedBytecodeError", errors.NumbaError),
)

# `source` is copied to `buffer` first: a tile that is mapped in place would not be vectorised.
_OF_DOTS = """
def tile(source, source_stride, flat, stride, n, m, a, b, buffer{p}):
    for i in range(n):
        given = source[i * source_stride : i * source_stride + m]
        for j in range(m):
            buffer[j] = given[j]
        row = flat[i * stride : i * stride + m]
        xx = a[i]
        for j in range(m):
            row[j] = value(buffer[j], xx, b[j]{p})


def diagonal(a, out{p}):
    for i in range(a.size):
        out[i] = value(a[i], a[i], a[i]{p})
"""
_OF_VECTORS = """
def tile(A, B, flat, stride{p}):
    for i in range(A.shape[0]):
        x = A[i]
        row = flat[i * stride : i * stride + B.shape[0]]
        for j in range(B.shape[0]):
            row[j] = value(x, B[j]{p})


def diagonal(A, out{p}):
    for i in range(A.shape[0]):
        out[i] = value(A[i], A[i]{p})
"""


@compiled(inner=True, cached=False)
def exp_any(x: float) -> float:
    """eˣ for any x; beyond e^709 it is infinite, and NaN for NaN."""
    power = exp64(-abs(x))
    power = 1 / power if x > 0 else power
    return power if x == x else x


class NotCompiledError(Exception):
    """Numba cannot compile a function; the message is its reason in one line."""


@dataclass(frozen=True, eq=False)
class CompiledTiles:
    """The compiled loops of a function.

    Attributes
    ----------
    tile, diagonal : function
    of_dots : bool
        Whether they take dot products and squared norms, not rows.
    is_shift_invariant : bool
    as_written : CompiledTiles or None
        The loops of the function on rows, where these are of one that was rewritten.
    """

    tile: Callable
    diagonal: Callable
    of_dots: bool
    is_shift_invariant: bool = False
    as_written: CompiledTiles | None = None


def compile_tiles(definition: Definition) -> CompiledTiles:
    """The loops of a function, which are compiled when they are first called."""
    tree, of_dots = definition.tree, definition.form == "dot"
    if tree is None:
        return _compiled(definition, None, of_dots)
    found = None if of_dots else dot_form(deepcopy(tree), definition.names)
    value = with_fast_exp(tree, definition.names, of_scalars=of_dots)
    written = _compiled(definition, value, of_dots)
    if found is None:
        return written
    rewritten = _compiled(definition, found.source, True)
    return replace(rewritten, is_shift_invariant=found.is_shift_invariant, as_written=written)


def _compiled(definition: Definition, value: str | None, of_dots: bool) -> CompiledTiles:
    """The loops of the source of ``value``, or of the function itself."""
    parameters = "".join(f", {name}" for name in definition.parameters)
    loops = (_OF_DOTS if of_dots else _OF_VECTORS).replace("{p}", parameters)
    names = _names(definition)
    if value is None:  # no source: the function itself
        names["value"] = compiled(definition.function, inner=True, cached=False, general=True)
    file = None if value is None else _file(definition, value + loops)
    # The user's own function, as it was read or rewritten, and the loops above.
    exec(compile((value or "") + loops, file or "<kernel>", "exec"), names)
    if value is not None:
        names["value"] = compiled(names["value"], inner=True, cached=False, general=True)
    tile, diagonal = (compiled(names[n], cached=file is not None) for n in ("tile", "diagonal"))
    return CompiledTiles(_guarded(tile), _guarded(diagonal), of_dots)


def _names(definition: Definition) -> dict[str, Any]:
    """The global names of the function; functions in Python that it calls are compiled, too."""
    names = dict(definition.names)
    for name in definition.used:
        called = names[name]
        if isinstance(called, FunctionType) and called.__module__.split(".")[0] != "numpy":
            names[name] = numba.njit(called)
    return names | {EXP: exp_any, LARGER: larger, "__name__": __name__}


def _guarded(function: Callable) -> Callable:
    """With Numba's errors of compilation as `NotCompiledError`."""

    def call(*arguments: Any) -> None:
        try:
            function(*arguments)
        except _NOT_COMPILED as error:
            lines = [line.strip() for line in str(error).splitlines()]
            said = (line for line in lines if line and not line.startswith("Failed in"))
            reason = next(said, type(error).__name__)
            raise NotCompiledError(reason[:200].rstrip(".")) from error

    return call


def _file(definition: Definition, text: str) -> str | None:
    """The file of a source in the cache folder, written if need be; None: nothing is cached."""
    state, folder = definition.state(), _folder()
    if state is None or folder is None:
        return None
    from mercer import __version__

    key = f"{__version__}\n{numba.__version__}\n{np.__version__}\n{state}\n{text}"
    digest = hashlib.sha256(key.encode()).hexdigest()
    path = folder / f"{definition.name if definition.name.isidentifier() else 'k'}_{digest[:32]}.py"
    with contextlib.suppress(OSError):
        if path.read_text(encoding="utf-8") == text:
            return str(path)
    try:
        with tempfile.NamedTemporaryFile(
            "w", dir=folder, suffix=".tmp", delete=False, encoding="utf-8"
        ) as file:
            file.write(text)
        os.replace(file.name, path)
    except OSError:
        return None
    return str(path)


def _folder() -> Path | None:
    """The user's cache folder, which nobody else can write to, or a private temporary one."""
    base = os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME")
    with contextlib.suppress(OSError, RuntimeError):  # no home, or nothing to be written there
        parent = Path(base) if base else Path.home() / ".cache"
        folder = parent / "mercer" / "kernels"
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        is_private = not hasattr(os, "getuid") or (
            folder.stat().st_uid == os.getuid() and not folder.stat().st_mode & 0o022
        )
        if is_private and os.access(folder, os.W_OK):
            return folder
    private = temporary_folder()
    return None if private is None else Path(private)
