"""The house decorator for compiled code: one place for flags and for the cache folder.

Only arrays and scalars cross into compiled functions: a jitclass or a function argument would
defeat the on-disk cache and every process would compile again.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numba.core.config

__all__ = ["REASSOCIATE", "compiled"]

# Lets sums and maxima be vectorised. Infinities keep their meaning; NaN must not occur.
REASSOCIATE = frozenset({"reassoc", "nnan", "nsz", "contract", "arcp"})


def compiled(
    function: Callable | None = None, *, fastmath: Any = False, inline: bool = False
) -> Callable:
    """``numba.njit`` with the GIL released and the machine code cached on disk.

    ``inline`` puts a small function into its callers, where calls would take most of the time.
    """
    if function is None:
        return lambda f: compiled(f, fastmath=fastmath, inline=inline)
    flags = set(fastmath) if isinstance(fastmath, frozenset) else fastmath
    decorate = numba.njit(
        cache=True, nogil=True, fastmath=flags, error_model="numpy",
        inline="always" if inline else "never",
    )  # fmt: skip
    try:
        return decorate(function)
    except RuntimeError:  # no writable folder for the cache: neither the package's nor the user's
        folder = Path(tempfile.gettempdir()) / "mercer-numba-cache"
        folder.mkdir(exist_ok=True)
        setattr(numba.core.config, "CACHE_DIR", str(folder))  # noqa: B010  (made at run time)
        return decorate(function)
