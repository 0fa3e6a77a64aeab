"""Whole inputs of every kind, which the fuzzer changes."""

from __future__ import annotations

import gzip
import io
import json
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mercer
from mercer.data import Checkpoint
from mercer.kernels import RBF, Linear, Spectrum
from mercer.persistence import write_liblinear, write_libsvm
from mercer.playground._state import State

__all__ = ["CSV", "EVENTS", "FINGERPRINT", "SEEDS"]

GOLDEN = Path(__file__).parents[1] / "persistence" / "golden"
# Of the checkpoint that the reader expects.
FINGERPRINT = {"C": "1.0", "rows": [12, 3]}
X = np.random.default_rng(0).normal(size=(12, 3)).round(3)
Y = np.arange(12) % 3


def _file(write: Callable[[Path], object]) -> bytes:
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
        make_pipeline(StandardScaler(), mercer.SVC(probability="venn_abers")).fit(X, Y > 0),
        mercer.SVC(kernel=Spectrum(k=1)).fit(["ab", "ba", "aa", "bb"] * 3, Y > 0),
    ]
    golden = sorted(GOLDEN.glob("*/*.mercer"))
    return [_file(lambda path, m=m: mercer.save(m, path)) for m in models] + [
        path.read_bytes() for path in golden
    ]


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


def npz(**arrays: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def _npy(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def _libsvm() -> list[bytes]:
    found = []
    for model, y in (
        (mercer.SVC(), Y),
        (mercer.SVC(probability="platt"), Y > 0),
        (mercer.NuSVC(nu=0.2, kernel="poly"), Y > 0),
        (mercer.SVR(kernel="linear"), X[:, 0]),
        (mercer.OneClassSVM(), None),
    ):
        fitted = model.fit(X, y)
        found.append(_file(lambda path, m=fitted: write_libsvm(m, path)))
    fitted = mercer.SVC(kernel="precomputed").fit(X @ X.T, Y)
    return [*found, _file(lambda path: write_libsvm(fitted, path))]


def _liblinear() -> list[bytes]:
    models = [mercer.LinearSVC().fit(X, Y), mercer.LinearSVR().fit(X, X[:, 0])]
    return [_file(lambda path, m=m: write_liblinear(m, path)) for m in models]


def _checkpoint() -> bytes:
    def write(path: Path) -> None:
        Checkpoint(path, FINGERPRINT).save({"beta0": X[:, 0]}, {"tasks": 1})

    return _file(write)


def _csr() -> bytes:
    S = sp.csr_matrix(X)
    parts = {"data": S.data, "indices": S.indices, "indptr": S.indptr, "shape": np.array(S.shape)}
    return npz(**parts, format=np.array(b"csr"), y=Y)


CSV = (
    b"size,colour,day,class\n1.5,red,2024-01-31,a\n2,blue,2024-02-01,b\n,red,2024-03-01,a\n"
    b'"3,5","gr""een",2023-12-31,b\n4e3,red,2022-05-05,a\n5,blue,2022-05-06,b\n'
)
TABLES = [
    CSV,
    b"1;2;3\n4;5;6\n",
    b"a\tb\n1\tx\n2\ty\n",
    "Größe;Tag;label\n1.234,5;31.01.2024;ja\n2,25;01.02.2024;nein\n-3;;ja\n".encode(),
    b"# of a sensor\nt,text,y\n12:30:01,a b a,1\n2024-01-31T12:00,b c,0\n\n,c,1\n",
    "\ufeffid,v,v,target\n007,1%,1 000,1\n008,2%,$5,2\n009,3%,(4),1\n".encode(),
]
SVMLIGHT = b"1 1:0.5 3:2\n-1 qid:3 2:1e-3 # note\n1 1:-4 2:7\n-1 3:1\n"
EVENTS = [
    {"do": "set", "name": "C", "value": 10}, {"do": "tap", "x": 1.0, "y": -2.0, "reach": 0.2},
    {"do": "machine", "value": "svr"}, {"do": "preset", "value": "moons"}, {"do": "undo"},
    {"do": "upload", "text": "a,b,c\n1,2,x\n3,4,y\n"}, {"do": "step", "by": 3}, {"do": "redo"},
    {"do": "tool", "value": 2}, {"do": "drag-start", "x": 0, "y": 0}, {"do": "folds", "value": 5},
    {"do": "drag", "x": 0.5, "y": 1}, {"do": "drag-end"}, {"do": "delete", "index": 1},
    {"do": "kernel", "value": "linear"}, {"do": "formula", "value": "exp(-gamma*|x-z|^2)*x.z"},
    {"do": "choose", "x": 0, "y": -1}, {"do": "cursor", "x": 1, "y": 0}, {"do": "press"},
    {"do": "run"}, {"do": "finish"}, {"do": "clear"}, {"do": "set", "name": "nu", "value": "inf"},
]  # fmt: skip

SEEDS: dict[str, Callable[[], list[bytes]]] = {
    "model": _models,
    "changed model": _models,
    "svmlight": lambda: [SVMLIGHT, b"1 0:1 5:2\n0 1:3\n"],
    "csv": lambda: TABLES,
    "parquet": _parquet,
    "arrays": lambda: [_npy(X), npz(X=X, y=Y), _csr()],
    "libsvm": _libsvm,
    "liblinear": _liblinear,
    "checkpoint": lambda: [_checkpoint()],
    "compressed": lambda: [gzip.compress(each, mtime=0) for each in (CSV, SVMLIGHT)],
    "link": lambda: [
        State(kernel="linear", C=10.0).to_query().encode(),
        State().add(0.5, 0.25, 1).with_(nu=0.5).to_query().encode(),
        b"data=sine&machine=svr&epsilon=0.1&x=width|1.0|2.0&y=height|0|1&class=oak&class=elm",
        b"kernel=formula&formula=exp(-gamma*|x-z|^2)&gamma=2&step=3&folds=5&degree=2&coef0=-1",
    ],
    "message": lambda: [json.dumps(event).encode() for event in [*EVENTS, EVENTS]],
    "upload": lambda: [b"width,height,kind\n1,10,oak\n3,30,elm\n", b"1;2\n3;4\n", *TABLES[2:]],
}
