"""LIBSVM's text format, read in pieces of so many lines; errors name the line."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.data._files import Source, Window, open_source
from mercer.data._numbers import powers_of_ten
from mercer.data._stream import BATCH_ROWS, Batch, Stream, check_batch_rows, digest_file
from mercer.data._svmlight_lines import (
    DONE,
    FULL,
    FULL_HARD,
    FULL_PAIRS,
    HARDEST,
    LARGEST_INDEX,
    ZERO,
    parse_lines,
    skip_lines,
)  # fmt: skip
from mercer.exceptions import FileError

__all__ = ["Svmlight", "SvmlightLines"]

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
ALL_LINES = 2**62


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
        with open_source(self.path) as source:
            lines = SvmlightLines(source, self.zero_based, self.n_features)
            lines.skip(skip * self.batch_rows)
            while not lines.at_end:
                first = lines.line
                X, y = lines.read(self.batch_rows)
                if lines.line > first:
                    yield first, X, y

    def fingerprint(self) -> dict[str, Any]:
        return {
            "source": "svmlight",
            "files": [digest_file(self.path)],
            "n_features": self.n_features,
            "zero_based": self.zero_based,
            "batch_rows": self.batch_rows,
        }


class SvmlightLines:
    """Lines of an open file as CSR rows and targets.

    Parameters
    ----------
    source : Source
    zero_based : bool or None
        None: until an index 0 says so, indices are counted from 1.
    n_features : int, optional
        Larger indices are refused; by default, there are as many features as the largest index.

    Attributes
    ----------
    line : int
        The number of the next line.
    """

    def __init__(self, source: Source, zero_based: bool | None, n_features: int | None = None):
        self.zero_based, self.n_features = zero_based, n_features
        self.line = 1
        self._name, self._window = source.name, Window(source)

    @property
    def at_end(self) -> bool:
        return self._window.at_end

    def skip(self, lines: int) -> None:
        """Pass over lines without looking at them."""
        window, end = self._window, self.line + lines
        while self.line < end and not window.at_end:
            window.start, found = skip_lines(
                window.text, window.start, window.stop, end - self.line
            )
            self.line += found

    def read(self, lines: int = ALL_LINES) -> tuple[sp.csr_matrix, np.ndarray]:
        """The rows and targets of at most so many lines."""
        rows, end = _Rows(), self.line + lines
        while self.line < end and not self._window.at_end:
            self._parse(rows, end - self.line)
        return rows.finish(self.n_features)

    def _parse(self, rows: _Rows, lines: int) -> None:
        window, start = self._window, self._window.start
        d = -1 if self.n_features is None else self.n_features
        window.start, read, rows.n, n_hard, status = parse_lines(
            window.text, start, window.stop, lines, int(not self.zero_based), d,
            rows.y, rows.indptr, rows.indices, rows.values, rows.n, rows.hard, powers_of_ten(),
        )  # fmt: skip
        for slot, first, last in rows.hard[:n_hard].tolist():
            value = float(window.part(first, last))
            if not math.isfinite(value):
                line = self.line + window.count_lines(start, first)
                raise FileError(self._name, line, f"expected a finite value, got {value!r}.")
            if slot < 0:
                rows.y[-1 - slot] = value
            else:
                rows.values[slot] = value
        self.line += read
        if status in (FULL, FULL_PAIRS, FULL_HARD):
            rows.grow(status, read)
        elif status == ZERO and self.zero_based is None:
            self.zero_based = True
            rows.indices[: rows.indptr[rows.n]] += 1
        elif status != DONE:
            words = window.line(window.start).split(b"#")[0].decode(errors="replace").split()
            raise FileError(self._name, self.line, self._wrong(words))

    def _wrong(self, words: list[str]) -> str:
        """What is wrong with a line."""
        if not _is_number(words[0]):
            return f"the target must be a finite number, got {_short(words[0])}."
        first = int(not self.zero_based)
        before = first - 1
        for word in words[1:]:
            index, colon, value = word.partition(":")
            if index == "qid" and colon:
                continue
            if not (colon and index.isdecimal() and index.isascii() and _is_number(value)):
                return f"expected index:value with a finite value, got {_short(word)}."
            if len(index) > 20 or int(index) > LARGEST_INDEX:
                return f"indices must be at most {LARGEST_INDEX}, got {_short(word)}."
            if int(index) <= before:
                return f"indices must rise from {first}, got {_short(word)}."
            before = int(index)
            if self.n_features is not None and before - first >= self.n_features:
                return f"index {before} is beyond n_features={self.n_features}."
        return "the line cannot be read."


class _Rows:
    """A CSR matrix and targets that grow."""

    def __init__(self) -> None:
        self.n = 0
        self.y, self.indptr = np.empty(4096), np.zeros(4097, np.int64)
        self.indices, self.values = np.empty(65536, np.int32), np.empty(65536)
        self.hard = np.empty((HARDEST, 3), np.int64)

    def grow(self, status: int, lines: int) -> None:
        """Twice the room for what is full."""
        # In place: the system moves pages of large arrays without touching them.
        if status == FULL:
            self.y.resize(2 * self.y.size, refcheck=False)
            self.indptr.resize(self.y.size + 1, refcheck=False)
        elif status == FULL_PAIRS:
            self.indices.resize(2 * self.indices.size, refcheck=False)
            self.values.resize(2 * self.values.size, refcheck=False)
        elif lines == 0:  # a single line with so many
            self.hard = np.empty((2 * len(self.hard), 3), np.int64)

    def finish(self, d: int | None) -> tuple[sp.csr_matrix, np.ndarray]:
        nnz = int(self.indptr[self.n])
        for array, size in (
            (self.y, self.n), (self.indptr, self.n + 1), (self.indices, nnz), (self.values, nnz),
        ):  # fmt: skip
            array.resize(size, refcheck=False)
        d = 1 + int(self.indices.max(initial=-1)) if d is None else d
        indptr = self.indptr if nnz > LARGEST_INDEX else self.indptr.astype(np.int32)
        return sp.csr_matrix((self.values, self.indices, indptr), shape=(self.n, d)), self.y


def _is_number(word: str) -> bool:
    return bool(_NUMBER.fullmatch(word)) and math.isfinite(float(word))


def _short(word: str) -> str:
    return repr(word if len(word) <= 40 else word[:40] + "…")
