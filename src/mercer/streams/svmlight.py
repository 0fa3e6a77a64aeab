"""LIBSVM's text format, read in pieces of so many lines; errors name the line."""

from __future__ import annotations

import bz2
import gzip
import math
import os
from collections.abc import Iterator
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_svmlight_file

from mercer.streams.source import BATCH_ROWS, Batch, Stream, check_batch_rows, digest_file

__all__ = ["Svmlight"]

_OPENERS: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open}


class Svmlight(Stream):
    """Rows of a file of lines ``target index:value index:value …``, also ``.gz`` and ``.bz2``.

    Parameters
    ----------
    path : path
    n_features : int, optional
        By default the largest index, for which the file is read once before.
    zero_based : bool, default=False
        Whether the first index is 0 instead of 1.
    batch_rows : int
        Lines of a batch, comments and empty ones included.
    """

    def __init__(
        self,
        path: str | os.PathLike,
        n_features: int | None = None,
        zero_based: bool = False,
        batch_rows: int = BATCH_ROWS,
    ):
        self.path, self.zero_based = Path(path), zero_based
        self.batch_rows = check_batch_rows(batch_rows)
        self.n_features = n_features
        if n_features is None:
            self.n_features = max((X.shape[1] for _, X, _ in self._pieces(0)), default=0)

    def batches(self, skip: int = 0) -> Iterator[Batch]:
        for line, X, y in self._pieces(skip):
            yield Batch(X, y, None, f"{self.path}, from line {line}")

    def _pieces(self, skip: int) -> Iterator[tuple[int, Any, np.ndarray]]:
        """Each piece with the number of its first line."""
        line = 1 + skip * self.batch_rows
        with _OPENERS.get(self.path.suffix, open)(self.path, "rb") as file:
            lines: Iterator[bytes] = islice(file, skip * self.batch_rows, None)
            while piece := list(islice(lines, self.batch_rows)):
                yield line, *self._parse(piece, line)
                line += len(piece)

    def _parse(self, piece: list[bytes], line: int) -> tuple[Any, np.ndarray]:
        try:
            X, y = load_svmlight_file(
                BytesIO(b"".join(piece)), n_features=self.n_features, zero_based=self.zero_based
            )
        except ValueError as error:
            self._find_error(piece, line)
            last = line + len(piece) - 1
            raise ValueError(f"{self.path}, lines {line} to {last}: {error}") from error
        if not (np.isfinite(X.data).all() and np.isfinite(y).all()):
            self._find_error(piece, line)
        return X, y

    def _find_error(self, piece: list[bytes], line: int) -> None:
        for number, text in enumerate(piece, line):
            wrong = self._wrong(text.split(b"#")[0].decode(errors="replace").split())
            if wrong:
                raise ValueError(f"{self.path}, line {number}: {wrong}")

    def _wrong(self, words: list[str]) -> str | None:
        if words and not _is_number(words[0]):
            return f"the target must be a finite number, got {words[0]!r}."
        before = -1 if self.zero_based else 0
        for word in words[1:]:
            index, colon, value = word.partition(":")
            if index == "qid":
                continue
            if not (colon and index.isdecimal() and _is_number(value)):
                return f"expected index:value with a finite value, got {word!r}."
            if int(index) <= before:
                return f"indices must rise from {int(not self.zero_based)}, got {word!r}."
            before = int(index)
        if self.n_features is not None and before >= self.n_features + (not self.zero_based):
            return f"index {before} is beyond n_features={self.n_features}."
        return None

    def fingerprint(self) -> dict[str, Any]:
        return {
            "source": "svmlight",
            "files": [digest_file(self.path)],
            "n_features": self.n_features,
            "zero_based": self.zero_based,
            "batch_rows": self.batch_rows,
        }


def _is_number(word: str) -> bool:
    try:
        return math.isfinite(float(word))
    except ValueError:
        return False
