"""``mercer inspect`` explains every kind of file that Mercer reads or writes."""

from __future__ import annotations

import json

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file

import mercer as package
from mercer.data import Checkpoint
from mercer.persistence import write_liblinear, write_libsvm

X = np.random.default_rng(3).normal(size=(40, 3))
Y = (X[:, 0] > 0).astype(int)


@pytest.fixture(autouse=True)
def in_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def found(mercer, *words):
    code, out, error = mercer("inspect", *words)
    assert code == 0, error
    return out, json.loads(mercer("inspect", *words, "--json")[1])


def test_models_of_libsvm_and_liblinear(mercer):
    write_libsvm(package.SVC(gamma=0.5).fit(X, Y), "m.model")
    out, said = found(mercer, "m.model")
    assert "SVC, written by LIBSVM" in out
    assert "RBF(gamma=0.5)" in out
    assert "certificate    none" in out
    assert said["n_support"] == package.SVC(gamma=0.5).fit(X, Y).n_support_.tolist()
    write_liblinear(package.LinearSVC().fit(X, Y), "l.model")
    out, said = found(mercer, "l.model")
    assert "LinearSVC, written by LIBLINEAR" in out
    assert set(said["weights"]) == {"column 0", "column 1", "column 2"}


def test_checkpoints(mercer):
    Checkpoint("c.npz", {"lam": 0.25}).save({"w": np.ones(7)}, {"batches": 3})
    out, said = found(mercer, "c.npz")
    assert "of a stream" in out
    assert "w (7,)" in out
    assert said["fingerprint"] == {"lam": 0.25}
    assert said["values"] == {"batches": 3}


def test_a_damaged_checkpoint_is_refused_in_a_line(mercer):
    """One byte of the archive's directory changed: versions, method, sizes, names."""
    Checkpoint("c.npz", {"lam": 0.25}).save({"w": np.ones(7)}, {"batches": 3})
    with open("c.npz", "rb") as file:
        whole = file.read()
    at = whole.index(b"PK\x01\x02")
    for place in range(at, at + 50, 2):
        with open("c.npz", "wb") as file:
            file.write(whole[:place] + bytes([whole[place] ^ 0x60]) + whole[place + 1 :])
        code, _, error = mercer("inspect", "c.npz")
        assert (code, len(error.splitlines())) in ((0, 0), (1, 1)), error
        assert "Error:" not in error


def test_data(mercer):
    dump_svmlight_file(sp.csr_matrix(X), Y, "d.svm", zero_based=False)
    out, said = found(mercer, "d.svm")
    assert "svmlight, 40 rows, 3 columns" in out
    assert said["shape"] == [40, 3]
    with open("d.csv", "w") as file:
        file.write("a,b,class\n1,red,x\n,blue,y\n3,red,x\n4,blue,y\n5,red,y\n")
    out, said = found(mercer, "d.csv")
    assert "csv, 5 rows" in out
    assert said["n_missing"]["a"] == 1
    np.savez("d.npz", X=X, y=Y)
    assert found(mercer, "d.npz")[1]["shape"] == [40, 3]
    np.save("d.npy", X)
    out, said = found(mercer, "d.npy")
    assert said["shape"] == [40, 3]
    assert "none is named as one; mercer train takes --target" in out


@pytest.mark.parametrize(
    "content", [b"", b"\x00\x01", b"{}", b"PK\x03\x04broken", b"svm_type nothing\n", b"%PDF-1.4"]
)
def test_other_files_are_one_line(content, mercer, tmp_path):
    (tmp_path / "f").write_bytes(content)
    code, _, error = mercer("inspect", "f")
    assert code == 1
    assert len(error.splitlines()) == 1
    assert error.startswith("mercer: f")
