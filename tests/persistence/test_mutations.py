"""Files that were changed, and whose checksum fits: an error with the file's name, or a model."""

from __future__ import annotations

import io
import json
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import mercer
from mercer.data import Npy, Parquet, Svmlight, read_table
from mercer.exceptions import FileError
from mercer.persistence import _container as container
from mercer.persistence import read_libsvm
from mercer.persistence._registry import ESTIMATORS
from tests.persistence.mutations import mutant, use
from tests.persistence.test_models import KINDS, X, fitted, targets_of

pytestmark = pytest.mark.filterwarnings("ignore")
CASES = [(name, kind, {}) for name in ESTIMATORS for kind in ("float64", "CSR")]
CASES += [(name, "float64", {"kernel": k}) for name in ("SVC", "SVR", "KernelPCA", "Nystroem",
          "PegasosClassifier") for k in ("linear", "poly")]  # fmt: skip
CASES += [(name, "gram", {"kernel": "precomputed"}) for name in ("SVC", "SVR", "KernelRidge")]


@pytest.mark.parametrize(("name", "kind", "options"), CASES, ids=str)
def test_a_changed_model_is_refused_or_works(name, kind, options, tmp_path):
    rows = X @ X.T if kind == "gram" else KINDS[kind]
    y = targets_of(name)
    mercer.save(fitted(name, rows, **options), tmp_path / "m")
    source = container.read_tensors(tmp_path / "m")
    refused = 0
    for seed in range(15):  # `make fuzz` tries very many
        rng = np.random.default_rng([seed, *map(ord, name + kind)])
        mutant(rng, source, tmp_path / "changed")
        refused += not use(tmp_path / "changed", rows, y)
    assert refused


def changed(path, key, value):
    metadata, tensors = container.read_tensors(path)
    header = json.loads(metadata["mercer"])
    place = header
    for part in key[:-1]:
        place = place[part]
    place[key[-1]] = value
    container.write_tensors(path, {"mercer": json.dumps(header)}, tensors)


def test_memory_is_not_asked_for_on_a_files_word(tmp_path):
    path = tmp_path / "m"
    mercer.save(fitted("PegasosClassifier"), path)
    changed(path, ("state", "_states", 0, "of", "size"), 2**42)
    with pytest.raises(FileError, match="do not fit each other"):
        mercer.load(path)
    mercer.save(fitted("SVC", KINDS["CSR"], kernel="linear"), path)
    header = json.loads(container.read_tensors(path)[0]["mercer"])
    wide = {**header["state"]["support_vectors_"], "shape": [29, 2**42]}
    wide["shape"][0] = header["state"]["support_vectors_"]["shape"][0]
    changed(path, ("state", "n_features_in_"), 2**42)
    changed(path, ("state", "support_vectors_"), wide)
    changed(path, ("state", "expansion_", "of", "support", "of", "X"), wide)
    with pytest.raises(FileError, match="GB"):
        mercer.load(path)
    mercer.save(fitted("SVC"), path)
    items = {"items": ["x" * 10_000, *[""] * 10_000], "shape": [10_001], "kind": "U"}
    changed(path, ("state", "classes_"), items)
    with pytest.raises(FileError, match="too large"):
        mercer.load(path)


@pytest.mark.parametrize(
    ("name", "attribute"), [("SVC", "_n_support"), ("KernelPerceptron", "n_support_")]
)
def test_support_vectors_are_counted_for_every_class(name, attribute, tmp_path):
    """The counts are another array of whole numbers with the same sum."""
    model = fitted(name)
    setattr(model, attribute, np.array([*getattr(model, attribute), 0], np.int32))
    mercer.save(model, tmp_path / "m")
    with pytest.raises(FileError, match=f"{attribute} and classes_ do not fit"):
        mercer.load(tmp_path / "m")


@pytest.mark.parametrize("value", [2**31 - 1, -(2**31), 9, -1])
def test_rows_of_a_sparse_matrix_that_overlap(tmp_path, value):
    """Differences of int32 overflow: SciPy's check passes, and its code writes beyond the end."""
    path = tmp_path / "m"
    mercer.save(fitted("SVC", KINDS["CSR"]), path)
    metadata, tensors = container.read_tensors(path)
    name = next(key for key in tensors if key.endswith("indptr"))
    for place in (3, len(tensors[name]) // 2):
        indptr = tensors[name].copy()
        indptr[place] = value if value != 9 else indptr[place + 1] + 1
        container.write_tensors(path, {"mercer": metadata["mercer"]}, {**tensors, name: indptr})
        with pytest.raises(FileError, match="rows of a sparse matrix"):
            mercer.load(path)
    X = sp.random(6, 4, 0.5, "csr", random_state=0)
    indptr = X.indptr.copy()
    indptr[3] = value if value != 9 else X.nnz + 1
    np.savez(tmp_path / "x.npz", data=X.data, indices=X.indices, indptr=indptr, shape=X.shape)
    with pytest.raises(FileError, match="CSR"):
        read_table(tmp_path / "x.npz", target=False)


def npy(array) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def parquet() -> bytes:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet as library

    buffer = io.BytesIO()
    table = pyarrow.table({"a": np.arange(9.0), "w": list("abcabcabc"), "y": np.arange(9) % 2})
    library.write_table(table, buffer)
    return buffer.getvalue()


def npz() -> bytes:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, X=np.ones((5, 2)), y=np.arange(5) % 2)
    return buffer.getvalue()


def csr() -> bytes:
    buffer = io.BytesIO()
    sp.save_npz(buffer, sp.random(6, 4, 0.5, "csr", random_state=0))
    return buffer.getvalue()


LIBSVM = b"""svm_type c_svc
kernel_type polynomial
degree 3
gamma 0.5
coef0 1
nr_class 3
total_sv 3
rho 0.1 -0.2 0.3
label 1 2 7
nr_sv 1 1 1
SV
1 0.5 1:1 3:0.5
-1 0.25 2:1
-0.5 -0.25 1:0.1 2:3
"""
CONTENTS = {
    "csv": b"a,b,y\n1,2,u\n3,4,v\n5,x,u\n", "svmlight": b"1 1:0.5 3:2\n-1 2:1 # c\n1 1:1e-3\n",
    "npy": npy(np.arange(12.0).reshape(4, 3)), "npz": npz(), "csr": csr(), "parquet": parquet(),
    "libsvm": LIBSVM,
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("readers")


def attempt(kind, path):
    """Read a file by all that could; only a FileError may come of it."""
    y = path.with_name("y.npy")
    np.save(y, np.arange(4))
    readers = {
        "libsvm": [lambda: read_libsvm(path)],
        "npy": [lambda: [*Npy(path, y).batches()]],
        "svmlight": [lambda: [*Svmlight(path).batches()]],
        "parquet": [lambda: [*Parquet(path, "y", columns=["a"]).batches()]],
    }.get(kind, [])
    if kind != "libsvm":
        target = 0 if kind in ("npy",) else False if kind == "csr" else None
        readers.append(lambda: read_table(path, target=target))
    for read in readers:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            message = ""
            try:
                read()
            except FileError as error:
                message = str(error)
            assert not message or str(path) in message or str(y) in message


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(data=st.data())
@pytest.mark.parametrize("kind", CONTENTS)
def test_readers_raise_nothing_else(kind, folder, data):
    """Bytes replaced, put in, left out, or the file cut."""
    content = bytearray(CONTENTS[kind])
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, max(len(content) - 1, 0)))
        new = data.draw(
            st.one_of(
                st.binary(max_size=4),
                st.sampled_from([b"-1", b"nan", b"1e999", b"99999999999", b"\n", b":", b",", b'"']),
            )
        )
        content[at : at + data.draw(st.integers(0, 6))] = new
    if data.draw(st.integers(0, 5)) == 0:
        del content[data.draw(st.integers(0, len(content))) :]
    path = folder / f"{kind}.data"
    path.write_bytes(bytes(content))
    attempt(kind, path)


def test_an_array_that_claims_more_than_there_is(tmp_path):
    content = npy(np.ones((9, 9)))
    (tmp_path / "a").write_bytes(content.replace(b"(9, 9), }    ", b"(9, 9999999)}"))
    assert b"9999999" in (tmp_path / "a").read_bytes()
    with pytest.raises(FileError, match="header claims"):
        read_table(tmp_path / "a", target=0)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"nr_class 3", b"nr_class 2"), (b"label 1 2 7", b"label 1 1 7"), (b"rho 0.1 ", b"rho "),
        (b"nr_sv 1 1 1", b"nr_sv 3 0 0 0"), (b"nr_sv 1 1 1", b"nr_sv -1 3 1"),
        (b"degree 3", b"degree nan"), (b"gamma 0.5", b"gamma -1"), (b"3:0.5", b"99999999999:1"),
        (b"1:0.1", b"1:nan"), (b"-1 0.25", b"inf 1"), (b"degree 3", b"degree 1e300"),
    ],
)  # fmt: skip
def test_models_of_libsvm_that_contradict_themselves(old, new, tmp_path):
    assert old in LIBSVM
    (tmp_path / "m").write_bytes(LIBSVM.replace(old, new))
    with pytest.raises(FileError, match="m:"):
        read_libsvm(tmp_path / "m")
