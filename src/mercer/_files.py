"""Files that are at every moment either the old one or the new one, whole."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

__all__ = ["replacing"]


@contextmanager
def replacing(path: str | os.PathLike, part: Path | None = None) -> Iterator[IO[bytes]]:
    """Write a file beside its place (``part``), flush it to the disk, then rename it: atomic.

    A crash at any moment leaves the old file or the new one, an exception the old one.
    """
    place = Path(os.path.realpath(path))
    part = part or place.with_name(f".{place.name}.{secrets.token_hex(4)}.part")
    try:
        with open(part, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, place)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    _sync_folder(place.parent)


def _sync_folder(folder: Path) -> None:
    """Make the renaming itself last; systems that cannot open folders do without."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError:
        return
    finally:
        os.close(handle)
