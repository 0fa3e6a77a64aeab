"""The safetensors format: named arrays behind a JSON table, nothing else.

    8 bytes       length N of the table, little endian
    N bytes       JSON: name → {dtype, shape, data_offsets}, and ``__metadata__``: name → text
    the rest      the arrays one after the other, row by row, little endian, without holes

Any library for the format reads these files. Beyond it, the metadata hold the SHA-256 of the whole
file (with zeros in its own place), so that damage anywhere is found before anything is used.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import sys
from collections.abc import Mapping
from typing import IO, Any

import numpy as np

from mercer.data._files import writing
from mercer.exceptions import FileError, NoFileError

__all__ = ["DTYPES", "holds_tensors", "read_tensors", "write_tensors"]

DTYPES = {
    f"{dtype.kind.upper()}{8 * dtype.itemsize}": dtype for dtype in map(np.dtype, "dfeqihbQIHB")
} | {"BOOL": np.dtype(np.bool_)}
_NAMES = {dtype: name for name, dtype in DTYPES.items()}
CHECKSUM = "sha256"
_BLANK = "0" * 64
_DAMAGED = "it is damaged, or was written by something else; train and save the model again"


def write_tensors(
    path: str | os.PathLike, metadata: Mapping[str, str], tensors: Mapping[str, np.ndarray]
) -> None:
    """Write arrays of numbers and texts, whole or not at all."""
    # Wide types first: every array then begins at a multiple of its item size.
    order = sorted(tensors, key=lambda name: -tensors[name].dtype.itemsize)
    arrays = {name: _swapped(_plain(tensors[name])) for name in order}
    table: dict[str, Any] = {"__metadata__": {CHECKSUM: _BLANK, **metadata}}
    end = 0
    for name, array in arrays.items():
        start, end = end, end + array.nbytes
        table[name] = {
            "dtype": _NAMES[array.dtype],
            "shape": list(array.shape),
            "data_offsets": [start, end],
        }
    text = json.dumps(table, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    digest = hashlib.sha256(text)
    for array in arrays.values():
        digest.update(_bytes(array))
    text = text.replace(_BLANK.encode(), digest.hexdigest().encode(), 1)
    with writing(path) as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for array in arrays.values():
            file.write(_bytes(array))


def read_tensors(path: str | os.PathLike) -> tuple[dict[str, str], dict[str, np.ndarray]]:
    """The texts and arrays of a file; a FileError if it is not whole."""
    name = str(path)
    try:
        with open(path, "rb") as file:
            return _read(file, name)
    except FileNotFoundError as error:
        raise NoFileError(name, None, "there is no such file.") from error
    except OSError as error:
        raise FileError(name, None, f"cannot be read: {error.strerror}.") from error


def holds_tensors(path: str | os.PathLike) -> bool:
    """Whether a file begins as those of `write_tensors` do."""
    try:
        with open(path, "rb") as file:
            return file.read(10)[8:] == b'{"'
    except OSError:
        return False


def _read(file: IO[bytes], name: str) -> tuple[dict[str, str], dict[str, np.ndarray]]:
    """The format's own library refuses tables of more than 100 MB, too."""
    size = os.fstat(file.fileno()).st_size
    length = int.from_bytes(file.read(8), "little")
    text = b""
    if size >= 10 and length <= min(100_000_000, size - 8):
        text = file.read(length)
    if not text.startswith(b'{"'):
        raise FileError(name, None, "is not a model file of Mercer (no safetensors table).")
    try:
        table = json.loads(text)
        metadata = table.pop("__metadata__", {})
        layout = [_entry(key, value) for key, value in table.items()]
    except Exception as error:
        raise FileError(name, None, f"cannot be read ({error}): {_DAMAGED}.") from error
    layout.sort(key=lambda entry: entry[3])
    ends = [0, *(stop for *_, stop in layout)]
    if [start for *_, start, _ in layout] != ends[:-1] or 8 + length + ends[-1] != size:
        raise FileError(name, None, f"the arrays do not fill the file of {size} bytes: {_DAMAGED}.")
    stated = metadata.get(CHECKSUM) if isinstance(metadata, dict) else None
    if not isinstance(stated, str) or not re.fullmatch("[0-9a-f]{64}", stated):
        raise FileError(name, None, "is not a model file of Mercer (it has no checksum).")
    digest = hashlib.sha256(text.replace(stated.encode(), _BLANK.encode(), 1))
    tensors = {}
    for key, dtype, shape, _, _ in layout:
        try:
            array = tensors[key] = np.empty(shape, dtype)
        except (ValueError, MemoryError) as error:  # of no bytes, and yet too large
            raise FileError(name, None, f"array {key!r} of shape {shape}: {error}.") from error
        if array.size:
            file.readinto(_bytes(array))  # type: ignore[attr-defined]
            digest.update(_bytes(array))
    if digest.hexdigest() != stated:
        raise FileError(name, None, f"the checksum is wrong: {_DAMAGED}.")
    return metadata, {key: _swapped(array) for key, array in tensors.items()}


def _entry(key: str, value: Any) -> tuple[str, np.dtype, tuple[int, ...], int, int]:
    """Name, type, shape, start and end of an array, which agree with each other."""
    dtype = DTYPES[value["dtype"]]
    shape, (start, stop) = value["shape"], value["data_offsets"]
    if not all(type(number) is int and number >= 0 for number in (*shape, start, stop)):
        raise ValueError(f"array {key!r} has a negative or no whole number in its place")
    # The product of very many sides would take hours.
    if len(shape) > 32 or math.prod(shape) * dtype.itemsize != stop - start:
        raise ValueError(f"array {key!r} of shape {shape!s:.99} does not fit {stop - start} bytes")
    return key, dtype, tuple(shape), start, stop


def _bytes(array: np.ndarray) -> Any:
    return array.reshape(-1).view(np.uint8).data


def _plain(array: np.ndarray) -> np.ndarray:
    return np.asarray(array, dtype=array.dtype.newbyteorder("="), order="C")


def _swapped(array: np.ndarray) -> np.ndarray:
    """From the order of bytes in the file of this computer, or back."""
    return array if sys.byteorder == "little" else array.byteswap()
