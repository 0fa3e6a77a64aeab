"""Inputs of the fuzzer: whole files of every kind, and small changes of them.

An input is a function of its number: a failure is repeated by that number alone, and a run of many
goes on where it was.
"""

from __future__ import annotations

import io
import json
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
import scipy.sparse as sp

import mercer
from mercer.data import Checkpoint
from mercer.kernels import RBF, Linear
from mercer.persistence import write_liblinear, write_libsvm
from mercer.playground._state import State
from tests.persistence.mutations import mutant

__all__ = ["CORPUS", "KINDS", "corpus", "make"]

# Inputs that once failed, and others that are kept: one folder for each kind.
CORPUS = Path(__file__).parent / "corpus"

X = np.random.default_rng(0).normal(size=(12, 3)).round(3)
Y = np.arange(12) % 3
WORDS = [
    b"-1", b"0", b"nan", b"inf", b"-inf", b"1e999", b"99999999999", b"4294967296", b"1e308",
    b"\n", b"\r\n", b":", b",", b";", b"\t", b'"', b"'", b"#", b" ", b"\0", b"\xff\xfe",
    b"{}", b"[]", b"null", b"true", b"1:1", b"SV\n", b"w\n", b"qid:1", b"0:1", b"=", b"&", b"|",
    b"2024-02-30", b"1,5", "−1".encode(), "é".encode(),
]  # fmt: skip


def _file(write) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "f"
        write(path)
        found = path if path.exists() else path.with_name("f.npz")
        return found.read_bytes()


def _models() -> list[bytes]:
    models = [
        mercer.SVC().fit(X, Y),
        mercer.SVR(kernel=RBF(0.5) * 2 + Linear()).fit(X, X[:, 0]),
        mercer.LinearSVC().fit(sp.csr_matrix(X), Y > 0),
        mercer.KernelRidge(kernel="rbf").fit(X, X[:, 0]),
    ]
    return [_file(lambda path, m=m: mercer.save(m, path)) for m in models]


def _parquet() -> list[bytes]:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        return []
    columns = {"a": X[:, 0], "b": Y, "colour": ["red", "blue", None] * 4, "class": Y > 0}
    table = pa.table(columns)
    return [
        _file(lambda path, c=c: pq.write_table(table, path, compression=c))
        for c in ("none", "snappy")
    ]


def _npz(**arrays) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def _npy(array) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def _libsvm() -> list[bytes]:
    found = []
    for model, y in (
        (mercer.SVC(), Y),
        (mercer.NuSVC(nu=0.2, kernel="poly"), Y > 0),
        (mercer.SVR(kernel="linear"), X[:, 0]),
        (mercer.OneClassSVM(), None),
    ):
        fitted = model.fit(X, y)
        found.append(_file(lambda path, m=fitted: write_libsvm(m, path)))
    return found


def _liblinear() -> list[bytes]:
    models = [mercer.LinearSVC().fit(X, Y), mercer.LinearSVR().fit(X, X[:, 0])]
    return [_file(lambda path, m=m: write_liblinear(m, path)) for m in models]


def _checkpoint() -> bytes:
    def write(path):
        Checkpoint(path, {"C": "1.0", "rows": [12, 3]}).save({"beta0": X[:, 0]}, {"tasks": 1})

    return _file(write)


def _csr() -> bytes:
    S = sp.csr_matrix(X)
    parts = {"data": S.data, "indices": S.indices, "indptr": S.indptr, "shape": np.array(S.shape)}
    return _npz(**parts, format=np.array(b"csr"), y=Y)


CSV = (
    b"size,colour,day,class\n1.5,red,2024-01-31,a\n2,blue,2024-02-01,b\n,red,2024-03-01,a\n"
    b'"3,5","gr""een",2023-12-31,b\n4e3,red,2022-05-05,a\n5,blue,2022-05-06,b\n'
)
SVMLIGHT = b"1 1:0.5 3:2\n-1 qid:3 2:1e-3 # note\n1 1:-4 2:7\n-1 3:1\n"
EVENTS = [
    {"do": "set", "name": "C", "value": 10}, {"do": "click", "x": 1.0, "y": -2.0},
    {"do": "machine", "value": "svr"}, {"do": "preset", "value": "moons"}, {"do": "undo"},
    {"do": "upload", "text": "a,b,c\n1,2,x\n3,4,y\n"}, {"do": "step", "value": 3},
    {"do": "key", "key": "Enter"}, {"do": "tool", "value": 2}, {"do": "drag", "x": 0, "y": 0},
]  # fmt: skip

SEEDS = {
    "model": _models,
    "changed model": _models,
    "svmlight": lambda: [SVMLIGHT, b"1 0:1 5:2\n0 1:3\n"],
    "csv": lambda: [CSV, b"1;2;3\n4;5;6\n", b"a\tb\n1\tx\n2\ty\n"],
    "parquet": _parquet,
    "arrays": lambda: [_npy(X), _npz(X=X, y=Y), _csr()],
    "libsvm": _libsvm,
    "liblinear": _liblinear,
    "checkpoint": lambda: [_checkpoint()],
    "link": lambda: [
        State(kernel="linear", C=10.0).to_query().encode(),
        State().add(0.5, 0.25, 1).with_(nu=0.5).to_query().encode(),
        b"data=sine&machine=svr&epsilon=0.1&x=width|1.0|2.0&y=height|0|1&class=oak&class=elm",
    ],
    "message": lambda: [json.dumps(event).encode() for event in EVENTS],
    "upload": lambda: [b"width,height,kind\n1,10,oak\n3,30,elm\n", b"1;2\n3;4\n"],
}
KINDS = tuple(SEEDS)


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
    source = whole[rng.integers(len(whole))]
    if kind == "changed model":
        return _changed_model(rng, source)
    content = bytearray(source)
    for _ in range(int(rng.integers(1, 5))):
        _change(rng, content, whole)
    return bytes(content)


def _changed_model(rng: np.random.Generator, source: bytes) -> bytes:
    """A model file with another header or other arrays, whose checksum fits."""
    from mercer.persistence import _container

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m"
        path.write_bytes(source)
        mutant(rng, _container.read_tensors(path), path)
        return path.read_bytes()


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
