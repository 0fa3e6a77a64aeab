"""Inputs of the fuzzer: whole files of every kind, and small changes of them.

An input is a function of its number: a failure is repeated by that number alone, and a run of many
goes on where it was. Changes are those of bytes, of words, or of what a file holds (arrays,
columns, values of JSON); the last are in a file that is whole, beyond checksums and headers.
"""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import re
import tempfile
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from mercer.persistence import _container
from tests.fuzz.seeds import EVENTS, SEEDS, npz
from tests.persistence.mutations import change_array, mutant

__all__ = ["CORPUS", "KINDS", "corpus", "make"]

# Inputs that once failed, and others that are kept: one folder for each kind.
CORPUS = Path(__file__).parent / "corpus"
KINDS = tuple(SEEDS)
WORDS = [
    b"-1", b"0", b"nan", b"inf", b"-inf", b"1e999", b"99999999999", b"4294967296", b"1e308",
    b"\n", b"\r\n", b":", b",", b";", b"\t", b'"', b"'", b"#", b" ", b"\0", b"\xff\xfe",
    b"{}", b"[]", b"null", b"true", b"1:1", b"SV\n", b"w\n", b"qid:1", b"0:1", b"=", b"&", b"|",
    b"2024-02-30", b"1,5", "−1".encode(), "é".encode(),
]  # fmt: skip
# What JSON and columns may hold.
VALUES: list[Any] = [
    None, True, -1, 0, 3, 10**30, 0.5, -1e308, float("nan"), float("inf"), "", "svc", "rbf", "C",
    "x" * 500, "x·z" * 50, "((((", "1,2\n3,4", "−1", [], {}, [1], {"do": "undo"},
]  # fmt: skip
SEPARATORS = re.compile(rb"([\s,;:=&|\"#]+)")


@cache
def corpus(kind: str) -> tuple[bytes, ...]:
    """Whole inputs of a kind, and those that are kept in a folder."""
    folder = CORPUS / kind.replace(" ", "-")
    kept = sorted(folder.iterdir()) if folder.is_dir() else []
    return (*SEEDS[kind](), *(path.read_bytes() for path in kept))


def make(kind: str, number: int) -> bytes:
    """Input ``number`` of a kind: the first ones are the corpus itself."""
    whole = corpus(kind)
    if not whole:
        return b""
    if number < len(whole):
        return whole[number]
    rng = np.random.default_rng([number, KINDS.index(kind)])
    if kind in WHOLE and (kind == "changed model" or rng.random() < 0.7):
        return WHOLE[kind](rng, whole)
    content = bytearray(whole[rng.integers(len(whole))])
    for _ in range(int(rng.integers(1, 5))):
        if rng.random() < 0.5:
            _change_words(rng, content, whole)
        else:
            _change(rng, content, whole)
    return bytes(content)


def _change(rng: np.random.Generator, content: bytearray, whole: tuple[bytes, ...]) -> None:
    """One change in place: bits, bytes, words, a cut, a repetition, or a part of another input."""
    at = int(rng.integers(len(content) + 1))
    end = min(len(content), at + int(rng.integers(0, 9)))
    what = rng.integers(8)
    if what == 0 and at < len(content):
        content[at] ^= 1 << int(rng.integers(8))
    elif what == 1:
        content[at:end] = rng.bytes(int(rng.integers(0, 9)))
    elif what in (2, 3):
        content[at:end] = WORDS[rng.integers(len(WORDS))]
    elif what == 4:
        del content[at:end]
    elif what == 5 and rng.random() < 0.3:
        del content[at:]
    elif what == 6:
        content[at:at] = content[at:end] * int(rng.integers(1, 50))
    else:
        other = whole[rng.integers(len(whole))]
        start = int(rng.integers(len(other) + 1))
        content[at:end] = other[start : start + int(rng.integers(0, 40))]


def _change_words(rng: np.random.Generator, content: bytearray, whole: tuple[bytes, ...]) -> None:
    """Another word, a word twice or a line twice, where a text has words."""
    parts = SEPARATORS.split(bytes(content[:10_000]))
    at = 2 * int(rng.integers(len(parts) // 2 + 1))
    other = SEPARATORS.split(whole[rng.integers(len(whole))][:10_000])
    what = rng.integers(4)
    if what == 0:
        parts[at] = WORDS[rng.integers(len(WORDS))]
    elif what == 1:
        parts[at] = other[2 * int(rng.integers(len(other) // 2 + 1))]
    elif what == 2:
        parts[at : at + 2] = parts[at : at + 2] * int(rng.integers(0, 4))
    else:
        lines = content.splitlines(keepends=True) or [bytearray()]
        line = int(rng.integers(len(lines)))
        lines[line : line + 1] = lines[line : line + 1] * int(rng.integers(0, 4))
        content[:] = b"".join(lines)
        return
    content[:10_000] = b"".join(parts)


# ---------------------------------------------------------------------- files that are whole


@cache
def _folder() -> Path:
    """A folder that goes with the process."""
    _folder.kept = tempfile.TemporaryDirectory()  # type: ignore[attr-defined]
    return Path(_folder.kept.name)  # type: ignore[attr-defined]


@cache
def _tensors(source: bytes) -> Any:
    path = _folder() / "source"
    path.write_bytes(source)
    return _container.read_tensors(path)


def _changed_model(rng: np.random.Generator, whole: tuple[bytes, ...]) -> bytes:
    """A model file with another header or other arrays, whose checksum fits."""
    path = _folder() / "m"
    mutant(rng, _tensors(whole[rng.integers(len(whole))]), path)
    return path.read_bytes()


def _changed_arrays(rng: np.random.Generator, whole: tuple[bytes, ...]) -> bytes:
    """A file of NumPy's with other arrays, or another text in one of them."""
    source = whole[rng.integers(len(whole))]
    saved = np.load(io.BytesIO(source), allow_pickle=False)
    if isinstance(saved, np.ndarray):
        file = io.BytesIO()
        np.save(file, change_array(rng, saved))
        return file.getvalue()
    arrays = dict(saved)
    for _ in range(int(rng.integers(1, 3))):
        name = list(arrays)[rng.integers(len(arrays))]
        array = arrays[name]
        if rng.random() < 0.1:
            del arrays[name]
        elif array.dtype.kind == "U":
            arrays[name] = np.array(_changed_json(rng, str(array)))
        elif array.dtype.kind in "fiub":
            arrays[name] = change_array(rng, array)
        if not arrays:
            break
    return npz(**arrays)


def _changed_json(rng: np.random.Generator, text: str) -> str:
    """One value at any depth is another one, or is absent."""
    tree = json.loads(text)
    place, key = None, None
    node = tree
    while isinstance(node, dict | list) and node and (place is None or rng.random() < 0.7):
        place = node
        key = (
            list(node)[rng.integers(len(node))]
            if isinstance(node, dict)
            else rng.integers(len(node))
        )
        node = node[key]
    if rng.random() < 0.1:
        del place[key]
    else:
        place[key] = VALUES[rng.integers(len(VALUES))]
    return json.dumps(tree)


def _message(rng: np.random.Generator, whole: tuple[bytes, ...]) -> bytes:
    """Some events one after the other, and one value changed."""
    events = [json.dumps(EVENTS[i]) for i in rng.integers(len(EVENTS), size=rng.integers(1, 6))]
    return _changed_json(rng, f"[{','.join(events)}]").encode()


def _columns(rng: np.random.Generator, whole: tuple[bytes, ...]) -> bytes:
    """A Parquet file of columns of any types and names."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    types = [
        pa.float64(), pa.float32(), pa.float16(), pa.int8(), pa.int64(), pa.uint64(), pa.bool_(),
        pa.string(), pa.large_string(), pa.binary(), pa.null(), pa.date32(), pa.timestamp("ns"),
        pa.timestamp("s", "Europe/Berlin"), pa.duration("us"), pa.time64("ns"),
        pa.decimal128(38, 5), pa.list_(pa.float64()), pa.struct([("p", pa.int32())]),
        pa.dictionary(pa.int32(), pa.string()), pa.map_(pa.string(), pa.int8()),
        pa.list_(pa.null()),
    ]  # fmt: skip
    names = ["a", "class", "y", "", "é", "a.b", "target"]
    n = int(rng.choice([0, 1, 7]))
    fields, arrays = [], []
    for _ in range(int(rng.integers(1, 6))):
        kind = types[rng.integers(len(types))]
        values = [VALUES[i] for i in rng.integers(len(VALUES), size=n)]
        arrays.append(_array_of(kind, values))
        fields.append(pa.field(names[rng.integers(len(names))], kind))
    file = io.BytesIO()
    try:
        pq.write_table(pa.table(arrays, pa.schema(fields)), file, compression="none")
    except (pa.ArrowException, OverflowError):  # types that Parquet has not
        return whole[rng.integers(len(whole))]
    return file.getvalue()


def _array_of(kind: Any, values: list[Any]) -> Any:
    """A column of those values that it can hold; others are missing."""
    import pyarrow as pa

    refused = (pa.ArrowException, OverflowError, TypeError, ValueError)
    held = list(values)
    for i, value in enumerate(values):
        try:
            pa.array([value], kind)
        except refused:
            held[i] = None
    try:
        return pa.array(held, kind)
    except refused:
        return pa.nulls(len(values), kind)


def _compressed(rng: np.random.Generator, whole: tuple[bytes, ...]) -> bytes:
    """A changed text, packed; sometimes twice, with something after it, or cut off."""
    kind = ("csv", "svmlight")[rng.integers(2)]
    content = make(kind, int(rng.integers(1 << 40)))
    if rng.random() < 0.02:
        content *= 2000
    for _ in range(1 + (rng.random() < 0.1)):
        pack = (partial(gzip.compress, mtime=0), bz2.compress, lzma.compress)[rng.integers(3)]
        content = pack(content)
    if rng.random() < 0.3:
        content = bytearray(content)
        _change(rng, content, whole)
    return bytes(content)


WHOLE: dict[str, Callable[[np.random.Generator, tuple[bytes, ...]], bytes]] = {
    "changed model": _changed_model,
    "arrays": _changed_arrays,
    "checkpoint": _changed_arrays,
    "message": _message,
    "parquet": _columns,
    "compressed": _compressed,
}
