"""Arrays of texts, token lists and numeric sequences as one flat array and offsets.

========  ==========================================================
kind      flat
========  ==========================================================
text      uint8: the UTF-8 bytes of all texts
bytes     uint8
array     the arrays one after the other, along their first axis
list      the items of all lists: numbers, or an array of these kinds
tuple     the same
========  ==========================================================

Item i of the whole is ``flat[offsets[i]:offsets[i + 1]]``.
"""

from __future__ import annotations

from itertools import chain, pairwise
from typing import Any

import numpy as np

__all__ = ["pack", "unpack"]

_KINDS: dict[type, str] = {
    str: "text",
    bytes: "bytes",
    np.ndarray: "array",
    list: "list",
    tuple: "tuple",
}


def pack(items: np.ndarray) -> tuple[str, np.ndarray, np.ndarray] | None:
    """Kind, flat array and offsets; None if the items are of several kinds, or others."""
    kinds = set(map(type, items))
    if len(kinds) != 1 or (kind := _KINDS.get(kinds.pop())) is None:
        return None
    flat: np.ndarray | None
    parts: Any = items.tolist()
    if kind in ("text", "bytes"):
        if kind == "text":
            parts = [item.encode("utf-8", "surrogatepass") for item in parts]
        flat = np.frombuffer(b"".join(parts), np.uint8)
    elif kind == "array":
        flat = _joined(parts)
    else:
        flat = _tokens(list(chain.from_iterable(parts)))
    if flat is None:
        return None
    return kind, flat, np.concatenate([[0], np.cumsum([len(part) for part in parts])])


def _joined(arrays: list[np.ndarray]) -> np.ndarray | None:
    """Arrays of numbers of one type, with the same axes but the first."""
    forms = {(array.dtype, array.shape[1:]) for array in arrays if array.ndim > 0}
    if len(forms) != 1 or min(array.ndim for array in arrays) == 0:
        return None
    return np.concatenate(arrays) if arrays[0].dtype.kind in "biuf" else None


def _tokens(tokens: list[Any]) -> np.ndarray | None:
    """Items of lists: integers or floats as numbers, texts as objects; None for others."""
    kinds = set(map(type, tokens))
    if kinds == {int} and all(-(1 << 63) <= token < 1 << 63 for token in tokens):
        return np.array(tokens, np.int64)
    if kinds == {float}:
        return np.array(tokens, np.float64)
    if kinds != {str}:
        return None
    out = np.empty(len(tokens), dtype=object)
    out[:] = tokens
    return out


def unpack(kind: Any, flat: Any, offsets: Any) -> np.ndarray:
    """What `pack` made, as an array of objects; a ValueError if the parts do not fit."""
    are_arrays = isinstance(flat, np.ndarray) and isinstance(offsets, np.ndarray)
    if kind not in _KINDS.values() or not are_arrays or flat.ndim == 0:
        raise ValueError("sequences are made of something else than arrays")
    if offsets.ndim != 1 or offsets.dtype.kind != "i" or offsets.size == 0:
        raise ValueError("the offsets of sequences are no whole numbers")
    if offsets[0] != 0 or offsets[-1] != len(flat) or (np.diff(offsets) < 0).any():
        raise ValueError("the offsets of sequences do not fit them")
    if kind in ("text", "bytes") and (flat.ndim != 1 or flat.dtype != np.uint8):
        raise ValueError("texts are made of something else than bytes")
    out = np.empty(offsets.size - 1, dtype=object)
    whole: Any = flat
    if kind in ("text", "bytes"):
        whole = flat.tobytes()
    elif kind in ("list", "tuple"):
        whole = flat.tolist()
    for i, (start, stop) in enumerate(pairwise(offsets.tolist())):
        item = whole[start:stop]
        if kind == "text":
            item = item.decode("utf-8", "surrogatepass")
        out[i] = tuple(item) if kind == "tuple" else item
    return out
