"""The headers of LIBSVM's and LIBLINEAR's model files: lines of a name and its values."""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from mercer.exceptions import FileError

__all__ = ["as_numbers", "begins_with", "read_header", "require_keys"]

# Keys of either program whose values it reads as whole numbers of 32 bits.
WHOLE = {"degree", "label", "nr_class", "nr_feature", "nr_sv", "total_sv"}


def begins_with(path: str | os.PathLike, start: bytes) -> bool:
    """Whether a file can be read, and begins with these bytes."""
    try:
        with open(path, "rb") as file:
            return file.read(len(start)) == start
    except OSError:
        return False


def as_numbers(words: list[str]) -> list[float]:
    """Numbers as C reads them: Python's float takes 1_000 and other digits than 0 to 9, too."""
    text = "".join(words)
    if "_" in text or not text.isascii():
        raise ValueError("no numbers")
    return [float(word) for word in words]


def _is_whole(value: float) -> bool:
    return value.is_integer() and abs(value) < 1 << 31


def read_header(
    name: str,
    lines: Iterator[tuple[int, str]],
    program: str,
    end: str,
    words_of: Mapping[str, Collection[str]],
    numbers: Collection[str],
) -> tuple[dict[str, Any], int]:
    """Names and values until the line ``end``, and the number of that line.

    Those of ``words_of`` have one of these words as their value, those of ``numbers`` numbers.
    """
    header: dict[str, Any] = {}
    number = 0
    for number, line in lines:
        key, *words = line.split() or [""]
        if key == end:
            return header, number
        if key in numbers:
            try:
                header[key] = as_numbers(words)
                if not all(map(_is_whole if key in WHOLE else math.isfinite, header[key])):
                    raise ValueError
            except ValueError:
                kind = "whole numbers" if key in WHOLE else "numbers"
                got = f"{key} must be {kind}, got {line[:60]!r}"
                raise FileError(name, number, got) from None
        elif key in words_of:
            known = words_of[key]
            if not words or words[0] not in known:
                raise FileError(
                    name, number, f"{key} must be one of {', '.join(known)}, got {line[:60]!r}"
                )
            header[key] = words[0]
        else:
            raise FileError(name, number, f"no line of a model of {program}: {line[:60]!r}")
    raise FileError(name, number, f"ends before the line {end}")


def require_keys(name: str, number: int, header: Mapping[str, Any], needed: Iterable[str]) -> None:
    for key in needed:
        if not header.get(key):
            raise FileError(name, number, f"there is no {key} in the header")
