"""Sequences of tokens as integer codes: what kernels on strings and token lists prepare first.

A string is the sequence of its characters, and bytes are read as Latin-1 text. Other sequences
(lists, tuples, one-dimensional arrays) consist of tokens: hashable values such as words or numbers.
Codes number the tokens of one data set; `Sequences.translated` expresses them in those of another.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["Sequences", "read_sequences"]


_ONE_KIND = (
    "The tokens of a string are its characters, so that none would be equal: give all samples as "
    "strings, or all as lists of tokens (text.split() makes words of a text)."
)


@dataclass(frozen=True, eq=False)
class Sequences:
    """Sequences of a data set, one after the other.

    Attributes
    ----------
    codes : int32 array
        Numbers of tokens.
    offsets : int64 array of length n + 1
        Where each sequence begins, and the last one ends.
    alphabet : list
        The token of each code.
    text_row, token_row : int or None
        A row that is a string, and one with a token other than a single character: no tokens of
        the one are tokens of the other. A list of single characters is as good as a string.
    """

    codes: np.ndarray
    offsets: np.ndarray
    alphabet: list[Any]
    text_row: int | None = None
    token_row: int | None = None

    @property
    def n(self) -> int:
        return self.offsets.size - 1

    @property
    def lengths(self) -> np.ndarray:
        return np.diff(self.offsets)

    def mean_length(self, less: int = 0) -> float:
        """The mean of the lengths, each reduced by ``less`` but not below 0."""
        return float(np.maximum(self.lengths - less, 0).mean()) if self.n else 0.0

    @property
    def are_texts(self) -> bool:
        """Whether every token is a single character."""
        return all(isinstance(token, str) and len(token) == 1 for token in self.alphabet)

    def check_against(self, others: Sequences, owner: str) -> None:
        """Raise a ValueError if one data set has strings and the other has lists of words."""
        if self.text_row is not None and others.token_row is not None:
            row, mine, theirs = self.text_row, "a string", "lists of tokens"
        elif self.token_row is not None and others.text_row is not None:
            row, mine, theirs = self.token_row, "a list of tokens", "strings"
        else:
            return
        raise ValueError(
            f"{owner}: row {row} is {mine}, but the samples that it is compared with (those of the "
            f"fit) are {theirs}. {_ONE_KIND}"
        )

    def translated(self, alphabet: list[Any]) -> np.ndarray:
        """The codes by another alphabet; tokens it does not have get codes above its own."""
        number = {token: code for code, token in enumerate(alphabet)}
        unseen = len(alphabet)
        new = np.empty(len(self.alphabet), np.int32)
        for code, token in enumerate(self.alphabet):
            new[code] = number.get(token, unseen)
            unseen += token not in number
        return new[self.codes]


def read_sequences(samples: Any, owner: str) -> Sequences:
    """The samples as codes; a ValueError names the row that is no sequence."""
    items = list(samples)
    lengths = np.zeros(len(items), np.int64)
    for row, item in enumerate(items):
        if isinstance(item, bytes):
            items[row] = item = item.decode("latin-1")
        if not isinstance(item, str) and not _is_sequence(item):
            raise ValueError(_no_sequence(owner, row, item))
        lengths[row] = len(item)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    if all(isinstance(item, str) for item in items):
        return _read_texts("".join(items), offsets)
    return _read_tokens(items, offsets, owner)


def _is_sequence(item: Any) -> bool:
    if isinstance(item, np.ndarray):
        return item.ndim == 1
    return isinstance(item, Sequence)


def _no_sequence(owner: str, row: int, item: Any) -> str:
    what = f"an array of shape {item.shape}" if isinstance(item, np.ndarray) else repr(item)[:60]
    is_missing = item is None or (isinstance(item, float) and item != item) or what == "<NA>"
    remedy = (
        "Leave missing values out, or use '' in their place."
        if is_missing
        else "A sample is a string, or a list, tuple or one-dimensional array of tokens."
    )
    return f"{owner}: row {row} is {what}, not a sequence. {remedy}"


def _read_texts(text: str, offsets: np.ndarray) -> Sequences:
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")
    occurs = np.zeros(int(points.max(initial=0)) + 1, bool)
    occurs[points] = True
    number = np.cumsum(occurs, dtype=np.int32) - np.int32(1)
    first = int(np.searchsorted(offsets, 0, side="right")) - 1 if text else None
    return Sequences(number[points], offsets, list(map(chr, np.flatnonzero(occurs))), first)


def _read_tokens(items: list[Any], offsets: np.ndarray, owner: str) -> Sequences:
    number: dict[Any, int] = {}
    codes = np.empty(int(offsets[-1]), np.int32)
    for row, item in enumerate(items):
        tokens = item.tolist() if isinstance(item, np.ndarray) else item
        try:
            found = [number.setdefault(token, len(number)) for token in tokens]
        except TypeError:
            raise ValueError(
                f"{owner}: row {row} holds a token that is not hashable (such as a list). "
                "Tokens are strings, numbers or tuples of them."
            ) from None
        if any(token is None or token != token for token in tokens):
            raise ValueError(
                f"{owner}: row {row} holds a missing value (None or NaN) among its tokens. "
                "Leave it out, or use a token of its own for it."
            )
        codes[offsets[row] : offsets[row + 1]] = found
    text_row, token_row = _kinds(items, codes, offsets, number)
    if text_row is not None and token_row is not None:
        raise ValueError(
            f"{owner}: row {text_row} is a string and row {token_row} is a list of tokens. "
            f"{_ONE_KIND}"
        )
    return Sequences(codes, offsets, list(number), text_row, token_row)


def _kinds(
    items: list[Any], codes: np.ndarray, offsets: np.ndarray, alphabet: Iterable[Any]
) -> tuple[int | None, int | None]:
    """The first row that is a string with characters, and that of a token that is no character."""
    text_row = next((row for row, item in enumerate(items) if isinstance(item, str) and item), None)
    is_word = np.array([not (isinstance(t, str) and len(t) == 1) for t in alphabet], bool)
    words = np.flatnonzero(is_word[codes])
    if not words.size:
        return text_row, None
    return text_row, int(np.searchsorted(offsets, words[0], side="right")) - 1
