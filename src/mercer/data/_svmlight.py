"""LIBSVM's text format, read in blocks of lines; errors name the line."""

from __future__ import annotations

import io
import math
import os
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.data._files import IO, Source, open_source
from mercer.data._stream import Batch, Stream, check_batch_rows, digest_file
from mercer.data._svmlight_core import LARGEST_INDEX, parse_lines, powers_of_ten
from mercer.exceptions import FileError

__all__ = ["Svmlight", "SvmlightReader"]

_NUMBER = re.compile(rb"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")


class Svmlight(Stream):
    """Rows of a file of lines ``target index:value index:value …``, also compressed.

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
        batch_rows: int = IO.batch_rows,
    ):
        self.path, self.zero_based = Path(path), zero_based
        self.batch_rows = check_batch_rows(batch_rows)
        self.n_features = n_features
        if n_features is None:
            self.n_features = max((batch.X.shape[1] for batch in self.batches()), default=0)

    def batches(self, skip: int = 0) -> Iterator[Batch]:
        with open_source(self.path) as source:
            reader = SvmlightReader(source, self.zero_based, self.n_features)
            for line, X, y in reader.blocks(self.batch_rows, skip):
                yield Batch(X, y, None, f"{self.path}, from line {line}")

    def fingerprint(self) -> dict[str, Any]:
        return {
            "source": "svmlight",
            "files": [digest_file(self.path)],
            "n_features": self.n_features,
            "zero_based": self.zero_based,
            "batch_rows": self.batch_rows,
        }


class SvmlightReader:
    """Lines of an open file as CSR rows and targets.

    Parameters
    ----------
    source : Source
    zero_based : bool or None
        None: indices begin with 0 if one is, else with 1; for `read` only.
    n_features : int, optional
        Larger indices are refused; by default, there are as many features as the largest index.
    """

    def __init__(self, source: Source, zero_based: bool | None, n_features: int | None = None):
        self.zero_based, self.n_features = zero_based, n_features
        self._name, self._file = source.name, io.BufferedReader(source, 1 << 20)
        self._first = 0 if zero_based is None else int(not zero_based)
        self._last = LARGEST_INDEX if n_features is None else n_features - 1 + self._first

    def read(self) -> tuple[sp.csr_matrix, np.ndarray]:
        """All rows and targets."""
        line, parts = 1, []
        while block := self._file.read(IO.piece_bytes):
            block += self._file.readline()
            parts.append(self._parse(block, line))
            line += block.count(b"\n")
        y, counts, indices, values = (np.concatenate(part) for part in zip(*parts, strict=True))
        if self.zero_based is None:
            self.zero_based = bool(indices.min(initial=1) == 0)
        return self._matrix(counts, indices, values), y

    def blocks(self, lines: int, skip: int = 0) -> Iterator[tuple[int, sp.csr_matrix, np.ndarray]]:
        """The first line, the rows and the targets of blocks of lines, without the first ones."""
        for _ in islice(self._file, skip * lines):
            pass
        line = 1 + skip * lines
        while block := b"".join(islice(self._file, lines)):
            y, counts, indices, values = self._parse(block, line)
            yield line, self._matrix(counts, indices, values), y
            line += lines

    def _parse(self, block: bytes, line: int) -> tuple[np.ndarray, ...]:
        """Targets, pairs in each row, indices and values of a block that begins with ``line``."""
        block = block.removeprefix(b"\xef\xbb\xbf") if line == 1 else block  # a byte order mark
        n, m = block.count(b"\n") + 1, block.count(b":")
        text = np.frombuffer(block, np.uint8)
        y, indptr = np.empty(n), np.zeros(n + 1, np.int64)
        indices, values, starts = np.empty(m, np.int32), np.empty(m), np.empty(m + n, np.int64)
        n, wrong = parse_lines(
            text, self._first, self._last, y, indptr, indices, values, starts, powers_of_ten()
        )
        if wrong >= 0:
            line += block.count(b"\n", 0, wrong)
            raise FileError(self._name, line, self._diagnose(block[wrong:]))
        y, values, indices = y[:n], values[: indptr[n]], indices[: indptr[n]]
        for numbers, offset in ((values, 0), (y, m)):
            for k in np.flatnonzero(np.isnan(numbers)).tolist():
                start = int(starts[offset + k])
                word = _NUMBER.match(block, start).group()  # type: ignore[union-attr]
                numbers[k] = float(word)
                if not math.isfinite(numbers[k]):
                    line += block.count(b"\n", 0, start)
                    got = _short(word.decode())
                    raise FileError(self._name, line, f"expected a finite value, got {got}.")
        return y, np.diff(indptr[: n + 1]), indices, values

    def _matrix(self, counts: np.ndarray, indices: np.ndarray, values: np.ndarray) -> sp.csr_matrix:
        if not self.zero_based:
            indices = indices - np.int32(1)
        d = self.n_features
        if d is None:
            d = 1 + int(indices.max(initial=-1))
        indptr = np.zeros(len(counts) + 1, np.int32 if len(values) <= LARGEST_INDEX else np.int64)
        np.cumsum(counts, out=indptr[1:])
        return sp.csr_matrix((values, indices, indptr), shape=(len(counts), d))

    def _diagnose(self, text: bytes) -> str:
        """What is wrong with the first line of ``text``."""
        line = text.split(b"\n", 1)[0].split(b"#")[0]
        words = [word.decode(errors="replace") for word in line.split()]
        if not words:
            return f"expected a target, got {_short(repr(line.decode(errors='replace')))}."
        if not _is_number(words[0]):
            return f"the target must be a finite number, got {_short(words[0])}."
        before = self._first - 1
        for word in words[1:]:
            index, colon, value = word.partition(":")
            if index == "qid" and colon:
                continue
            if not (colon and index.isdecimal() and index.isascii() and _is_number(value)):
                return f"expected index:value with a finite value, got {_short(word)}."
            if len(index) > 20 or int(index) > LARGEST_INDEX:
                return f"indices must be at most {LARGEST_INDEX}, got {_short(word)}."
            if int(index) <= before:
                first = int(not self.zero_based)
                return f"indices must rise from {first}, got {_short(word)}."
            before = int(index)
            if before > self._last:
                return f"index {before} is beyond n_features={self.n_features}."
        return "the line cannot be read."


def _is_number(word: str) -> bool:
    return bool(_NUMBER.fullmatch(word.encode())) and math.isfinite(float(word))


def _short(word: str) -> str:
    return repr(word if len(word) <= 40 else word[:40] + "…")
