"""Files: written whole or not at all, read in pieces whatever their compression."""

from __future__ import annotations

import io
import os
import secrets
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np

from mercer.exceptions import FileError, NoFileError

__all__ = [
    "IO",
    "Source",
    "as_file_errors",
    "compressing",
    "fill_rows",
    "open_source",
    "replacing",
    "writing",
]

# How compressed files begin, and the suffix of their names.
_MAGIC = {b"\x1f\x8b": ".gz", b"BZh": ".bz2", b"\xfd7zXZ\0": ".xz", b"\x28\xb5\x2f\xfd": ".zst"}


@dataclass(frozen=True)
class IOSettings:
    """How much is read or written at a time.

    Attributes
    ----------
    head_bytes : at the beginning of a file, from which format and layout are recognised
    most_head_bytes : where lines are longer than that
    piece_bytes : decompressed, or parsed as svmlight
    column_bytes : read of a Parquet column: a row group need not fit in memory
    end_bytes : at both ends of a file, which stand for all of it in a fingerprint
    text_rows : made into text
    array_rows : of which statistics are taken, so that no second X is made
    batch_rows : of a stream: some megabytes, so that reading ahead stays small, and far more work
        in a batch than around it
    """

    head_bytes: int = 65_536
    most_head_bytes: int = 1 << 24
    piece_bytes: int = 524_288
    column_bytes: int = 262_144
    end_bytes: int = 1_048_576
    text_rows: int = 1024
    array_rows: int = 4096
    batch_rows: int = 65_536


IO = IOSettings()


@contextmanager
def as_file_errors(name: str, what: str = "cannot be read") -> Iterator[None]:
    """Whatever a library raises about the file ``name`` becomes a `FileError` that names it.

    A library that is not installed is no fault of the file.
    """
    try:
        yield
    except (FileError, ImportError):
        raise
    except FileNotFoundError as error:
        raise NoFileError(name, None, "there is no such file.") from error
    except Exception as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise FileError(name, None, f"{what}: {str(reason).rstrip('.')}.") from error


@contextmanager
def replacing(path: str | os.PathLike, part: Path | None = None) -> Iterator[BinaryIO]:
    """Write a file beside its place (``part``), flush it to the disk, then rename it: atomic.

    A crash at any moment leaves the old file or the new one, an exception the old one. Pipes and
    devices, such as /dev/null, are written to: they must not be replaced by a file.
    """
    if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
        with open(path, "wb") as file:
            yield file
        return
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


@contextmanager
def writing(path: str | os.PathLike) -> Iterator[BinaryIO]:
    """As `replacing`, with a `FileError` that names the file."""
    try:
        with replacing(path) as file:
            yield file
    except OSError as error:
        reason = error.strerror or error
        raise FileError(str(path), None, f"cannot be written: {reason}.") from error


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


class Source(io.RawIOBase):
    """Bytes of an open file, decompressed; ``head`` holds the first of them.

    Whatever goes wrong while reading is a `FileError` that names the file.
    """

    def __init__(self, name: str, file: Any, under: Source | None = None):
        self.name, self._file, self._under, self._at = name, file, under, 0
        try:
            self.head = self._some(IO.head_bytes)
        except BaseException:
            self.close()
            raise

    def _some(self, size: int) -> bytes:
        parts: list[bytes] = []
        while size > 0:
            part = self._guarded(self._file.read, size)
            if not part:
                break
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def extend_head(self, lines: int) -> None:
        """Extend ``head`` to that number of line ends; before anything else is read."""
        while self.head.count(b"\n") < lines and len(self.head) < IO.most_head_bytes:
            more = self._some(len(self.head))
            if not more:
                return
            self.head += more

    def _guarded(self, read: Any, argument: Any) -> Any:
        with as_file_errors(self.name):
            return read(argument)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill ``buffer`` from the front; the number of bytes, 0 at the end."""
        if self._at < len(self.head):
            part = self.head[self._at : self._at + len(buffer)]
            buffer[: len(part)] = part
            self._at += len(part)
            return len(part)
        return self._guarded(self._file.readinto, buffer)

    @property
    def path(self) -> str | None:
        """The file's name, if others can read its content there; None if compressed or a pipe."""
        return self.name if self._under is None and os.path.isfile(self.name) else None

    def seekable_copy(self) -> io.BytesIO:
        """All of it in memory, for libraries that want to move about."""
        return io.BytesIO(io.BufferedReader(self).read())

    def close(self) -> None:
        if self._under is not None or self.name != "-":  # standard input stays open
            self._file.close()
        if self._under is not None:
            self._under.close()
        super().close()


def open_source(path: str | os.PathLike) -> Source:
    """A file, or standard input for ``"-"``; compression is recognised by the content."""
    name = os.fspath(path)
    source = Source(name, sys.stdin.buffer if name == "-" else _open(name))
    suffix = next((end for magic, end in _MAGIC.items() if source.head.startswith(magic)), None)
    if suffix is None:
        return source
    try:
        packed = compressing(io.BufferedReader(source), suffix, "rb")
    except ImportError:
        source.close()
        raise
    return Source(name, packed, source)


def _open(name: str) -> Any:
    try:
        return open(name, "rb")
    except FileNotFoundError as error:
        raise NoFileError(name, None, "there is no such file.") from error
    except (OSError, ValueError) as error:  # a folder, no permission; a name with a null byte
        reason = getattr(error, "strerror", None) or error
        raise FileError(name, None, f"cannot be read: {reason}.") from error


def compressing(file: Any, suffix: str, mode: str) -> Any:
    """``file`` with compression (mode "wb") or decompression ("rb") by a suffix such as ".gz"."""
    if suffix == ".gz":
        import gzip

        # Without name and time: the same bytes give the same file.
        return gzip.GzipFile("", mode, fileobj=file, mtime=0)
    if suffix == ".bz2":
        import bz2

        return bz2.BZ2File(file, cast(Any, mode))
    if suffix == ".xz":
        import lzma

        return lzma.LZMAFile(file, mode)
    return _zstd(file, mode)


def _zstd(file: Any, mode: str) -> Any:
    try:
        import zstandard
    except ImportError as error:
        raise ImportError(
            'zstd files need zstandard, which is not installed: pip install "mercer[zstd]".'
        ) from error
    return zstandard.open(file, mode) if mode == "wb" else _Zstd(file, zstandard)


class _Zstd(io.RawIOBase):
    """Decompressed bytes; unlike the library's reader, it tells a file that was cut."""

    def __init__(self, file: Any, library: Any):
        self._file, self._new = file, library.ZstdDecompressor().decompressobj
        self._frame: Any = None
        self._rest = self._packed = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest:
            packed = self._packed or self._file.read(IO.piece_bytes)
            if not packed:
                if self._frame is not None:
                    raise EOFError("the compressed file is cut")
                return 0
            frame = self._frame or self._new()
            self._rest = frame.decompress(packed)
            self._packed = frame.unused_data if frame.eof else b""
            self._frame = None if frame.eof else frame
        part = self._rest[: len(buffer)]
        buffer[: len(part)], self._rest = part, self._rest[len(part) :]
        return len(part)


def fill_rows(X: np.ndarray, columns: Sequence[Any]) -> None:
    """Copy Arrow arrays of numbers into the columns of X."""
    values = [column.to_numpy(zero_copy_only=False) for column in columns]
    # 65,536 numbers at a time: these rows of X stay in the cache while their columns are written.
    size = max(1, 65_536 // max(len(columns), 1))
    for start in range(0, len(X), size):
        block = slice(start, start + size)
        for j, column in enumerate(values):
            X[block, j] = column[block]
