"""Files that cannot be read say so in one line, with their name and the line."""

from __future__ import annotations

import gzip
import io
import pickle
import tracemalloc
import zipfile
from contextlib import suppress

import numpy as np
import pytest
import scipy.sparse as sp

import mercer
from mercer.data import Column, Parquet, Schema, read_table
from mercer.data._columns import Options
from mercer.data._roles import assign
from mercer.persistence import FileError

PLAIN = "a,b,y\n" + "".join(f"{i},{i}.5,{i % 2}\n" for i in range(300))


def npy(array) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=True)
    return buffer.getvalue()


def npz(**arrays) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def sparse(matrix) -> bytes:
    buffer = io.BytesIO()
    sp.save_npz(buffer, matrix)
    return buffer.getvalue()


def zipped(name: str = "sheet.xml") -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(name, "<a/>")
    return buffer.getvalue()


def broken_csr() -> bytes:
    return npz(
        data=np.ones(2), indices=np.array([0, 9]), indptr=np.array([0, 2]), shape=np.array([1, 2])
    )


SVM = "1 1:0.5 3:1\n# a comment\n\n-1 2:1e-3\n"
# name → (content, line or None, what the message says, options)
CASES: dict[str, tuple] = {
    "svmlight word for a value": (SVM + "1 1:x\n", 5, "expected index:value", {}),
    "svmlight word for the target": (SVM + "one 1:1\n", 5, "the target must be a finite", {}),
    "svmlight several labels": (SVM + "1,2 1:1\n", 5, "the target must be a finite", {}),
    "svmlight falling indices": (SVM + "1 3:1 2:1\n", 5, "indices must rise from 1", {}),
    "svmlight index twice": (SVM + "1 2:1 2:2\n", 5, "indices must rise", {}),
    "svmlight huge index": (SVM + "1 99999999999:1\n", 5, "indices must be at most", {}),
    "svmlight negative index": (SVM + "1 -2:1\n", 5, "expected index:value", {}),
    "svmlight no value": (SVM + "1 2:\n", 5, "expected index:value", {}),
    "svmlight no colon": (SVM + "1 2\n", 5, "expected index:value", {}),
    "svmlight nan": (SVM + "1 2:nan\n", 5, "with a finite value", {}),
    "svmlight infinite": (SVM + "1 2:1e999\n", 5, "finite value", {}),
    "svmlight underscore": (SVM + "1 2:1_0\n", 5, "expected index:value", {}),
    "svmlight binary in it": (SVM.encode() + b"1 2:\xff\x00\n", 5, "expected index:value", {}),
    "svmlight far down": (SVM * 20000 + "1 1:x\n", 80001, "expected index:value", {}),
    "svmlight with target": (SVM, None, "the target is the first number", {"target": "y"}),
    "csv short line": (PLAIN + "1,2\n" + PLAIN[6:], 302, "expected 3 columns, got 2", {}),
    "csv long line": (PLAIN + "1,2,3,4\n", 302, "expected 3 columns, got 4", {}),
    "csv word among numbers": (PLAIN + "x,1,0\n", 302, "column 'a' holds finite numbers", {}),
    "csv infinite": (PLAIN + "1e999,1,0\n", 302, "column 'a' holds finite numbers", {}),
    "csv inf": (PLAIN + "inf,1,0\n", 302, "column 'a' holds finite numbers", {}),
    "csv missing": (PLAIN + "1,,0\n", 302, "column 'b' has no value; .* missing='median'", {}),
    "csv missing word": ("a,w,y\n1,u,0\n2,v,1\n3,,1\n", 4, "column 'w' has no value", {}),
    "csv missing target": (PLAIN + "1,1,\n", 302, "the target, has no value", {}),
    "csv open quote": (PLAIN + '1,"2,0\n1,2,0\n', 302, "a quote is not closed", {}),
    "csv text after a quote": (PLAIN + '1,"2"x,0\n', 302, "a quote is not closed", {}),
    "csv open quote in a long file": (PLAIN + '1,"2,0\n' + PLAIN * 400, 302, "a quote", {}),
    "csv decimal commas": ("a;b;y\n1,5;2;0\n2,5;3;1\n", None, "'a' has commas in its numbers", {}),
    "csv thousands": ('a,b,y\n1,"2,500",0\n2,"3,500",1\n', None, "'b' has commas", {}),
    "csv names twice": ("a,a,y\n1,2,0\n", 1, "two columns are named 'a'", {}),
    "csv names alone": ("a,b,y\n", None, "a line of names, but no rows", {}),
    "csv no such target": (PLAIN, None, "no column target='z'; it has 'a', 'b', 'y'",
                           {"target": "z"}),
    "csv target out of range": (PLAIN, None, "no column target=3", {"target": 3}),
    "csv which target": ("a,b\n1,2\n", None, "which column is the target.* 'a', 'b'", {}),
    "csv which target without names": ("1,2\n3,4\n", None, "2 columns without names", {}),
    "csv no such column": (PLAIN, None, "no column drop='z'", {"drop": ["z"]}),
    "csv nothing left": (PLAIN, None, "no column besides the target", {"drop": ["a", "b"]}),
    "csv latin-1": (b"name,y\n" + b"caf\xe9,1\n", 2, "is not UTF-8 .* iconv -f WINDOWS-1252", {}),
    "csv latin-1 far down": ((PLAIN + PLAIN[6:] * 99).encode() + b"\xe9,1,1\n", 30002,
                             "is not UTF-8", {}),
    "csv words for a regression": ("a,y\n1,u\n2,v\n", None, "cannot be the numbers",
                                   {"task": "regression"}),
    "empty": ("", None, "is empty", {}),
    "blank": (" \n\n", None, "is empty", {}),
    "json": ('[{"a": 1}]', None, "looks like JSON", {}),
    "web page": ("<!DOCTYPE html><html>", None, "looks like a web page", {}),
    "utf-16": ("a,y\n1,2\n".encode("utf-16"), None, "UTF-16 text; .* iconv -f UTF-16", {}),
    "feather": (b"ARROW1\0\0" + b"\0" * 50, None, "write the table as Parquet", {}),
    "excel": (zipped("[Content_Types].xml"), None, "is an Excel workbook", {}),
    "old excel": (b"\xd0\xcf\x11\xe0" + b"\0" * 50, None, "is an Excel workbook", {}),
    "arff": ("@RELATION iris\n@DATA\n", None, "is an ARFF file", {}),
    "pickle": (pickle.dumps({"a": 1}), None, "never loaded", {}),
    "binary": (b"\x01\x02\x00\x05" * 50, None, "is a binary file", {}),
    "cut gzip": (gzip.compress(PLAIN.encode())[:-20], None, "cannot be read", {}),
    "wrong gzip": (b"\x1f\x8b" + b"x" * 50, None, "cannot be read", {}),
    "wrong bz2": (b"BZh9" + b"x" * 50, None, "cannot be read", {}),
    "wrong xz": (b"\xfd7zXZ\0" + b"x" * 50, None, "cannot be", {}),
    "zip": (zipped(), None, "is not a file of plain arrays", {}),
    "npy of objects": (npy(np.array([{}, []], dtype=object)), None, "plain arrays", {}),
    "npy cut": (npy(np.ones((9, 9)))[:-9], None, "plain arrays", {"target": 0}),
    "npy of huge shape": (npy(np.ones((9, 9))).replace(b"(9, 9)", b"(9e9,)"), None, "plain", {}),
    "npy of no rows": (npy(np.ones((0, 7))), None, "has no rows", {"target": 0}),
    "npy of nothing, very often": (npy(np.ones((0, 2**50))), None, "claims an array", {}),
    "csr of such a shape": (npz(data=np.ones(0), indices=np.ones(0, int), indptr=np.zeros(1, int),
                                shape=np.ones((2**50, 0), int)), None, "claims an array", {}),
    "npy of one dimension": (npy(np.ones(9)), None, "must hold rows of numbers", {}),
    "npy of texts": (npy(np.array([["a"]])), None, "must hold rows of numbers", {"target": 0}),
    "npy with nan": (npy(np.array([[1, np.nan]])), None, "row 0, column 0 has no value",
                     {"target": 0}),
    "npy without a target": (npy(np.array([[1, 2], [3, np.nan]])), None,
                             r"the target has no value \(NaN\) in row 1", {"target": 1}),
    "npy infinite": (npy(np.array([[1, np.inf]])), None, "row 0, column 1 is infinite",
                     {"target": 0}),
    "npy with an option for names": (npy(np.ones((3, 3))), None, "missing= is for files with names",
                                     {"missing": "mean", "target": 0}),
    "svmlight with drop": (SVM, None, "drop= is for files with names", {"drop": ["a"]}),
    "svmlight with header": (SVM, None, "header= is for CSV", {"header": True}),
    "npy which target": (npy(np.ones((3, 3))), None, "which column is the target", {}),
    "npz of other names": (npz(a=np.ones(3), b=np.ones(3)), None, "must be named 'X'", {}),
    "npz of other lengths": (npz(X=np.ones((3, 2)), y=np.ones(4)), None, "y has shape", {}),
    "npz cut": (npz(X=np.ones((3, 2)), y=np.ones(3))[:-30], None, "plain arrays", {}),
    "npz of no target": (npz(X=np.ones((3, 2))), None, "has no array 'z'", {"target": "z"}),
    "npz broken csr": (broken_csr(), None, "is not a whole CSR matrix", {"target": False}),
    "npz csc": (sparse(sp.csc_matrix(np.eye(3))), None, "save it as CSR", {"target": False}),
    "npz infinite": (sparse(sp.csr_matrix([[np.inf]])), None, "finite", {"target": False}),
    "parquet cut": (b"PAR1" + b"\0" * 50, None, "cannot be read as Parquet", {}),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_one_line_with_its_place(name, tmp_path):
    content, line, message, options = CASES[name]
    if name.startswith("parquet"):
        pytest.importorskip("pyarrow")
    path = tmp_path / "data.txt"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(FileError, match=message) as caught:
        read_table(path, **options)
    text = str(caught.value)
    assert "\n" not in text
    assert text.endswith(".")
    assert text.startswith(f"{path}:{line}: " if line else f"{path}:")
    if line:
        assert caught.value.line == line


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none\.csv: there is no such file"):
        read_table(tmp_path / "none.csv")
    with pytest.raises(FileError, match="cannot be read"):
        read_table(tmp_path)
    mercer.save(mercer.SVC().fit([[0.0], [1.0]], [0, 1]), tmp_path / "model")
    with pytest.raises(FileError, match="is a model file, not a table"):
        read_table(tmp_path / "model")


def test_parquet_columns_that_cannot_be_read(tmp_path):
    pd, path = pytest.importorskip("pandas"), tmp_path / "data.parquet"
    pytest.importorskip("pyarrow")
    good = pd.DataFrame({"a": [1.0, 2.0], "w": ["u", "v"], "y": [0, 1]})
    for change, message in (
        ({"a": [[1.0], [2.0]]}, "'a' holds list.*drop"),
        ({"a": [1.0, None]}, "row 1: column 'a' has no value"),
        ({"w": ["u", None]}, "row 1: column 'w' has no value"),
        ({"a": [1.0, np.inf]}, "row 1: column 'a' is infinite"),
        ({"y": [0, None]}, "'y', the target, has rows without a value"),
    ):
        good.assign(**change).to_parquet(path)
        with pytest.raises(FileError, match=rf"data\.parquet: .*{message}"):
            read_table(path)
    schema = read_table_after(good, path).schema
    good.assign(a=["x", "y"]).to_parquet(path)
    with pytest.raises(FileError, match="column 'a' must hold numbers"):
        read_table(path, schema=schema)


def read_table_after(frame, path):
    frame.to_parquet(path)
    return read_table(path)


@pytest.mark.parametrize("content", [SVM.encode() * 50, PLAIN.encode(),
                                     npz(X=np.ones((30, 2)), y=np.arange(30))])  # fmt: skip
def test_damage_gives_a_table_or_one_line(rng, content, tmp_path):
    """Text has no checksum: a flipped byte may be another number, but is never another error."""
    path = tmp_path / "data.txt"
    for _ in range(150):
        damaged = bytearray(content)
        for place in rng.integers(0, len(content), rng.integers(1, 4)):
            damaged[place] = rng.integers(256)
        path.write_bytes(damaged[: rng.integers(1, len(content) + 1)])
        with suppress(FileError):
            table = read_table(path)
            values = table.X.data if sp.issparse(table.X) else table.X
            assert np.isfinite(values).all()


def test_columns_that_a_file_states_cost_nothing(tmp_path):
    """A CSR matrix of three numbers states millions of columns."""
    d, path = 2_000_000, tmp_path / "wide.npz"
    X = sp.csr_matrix(([1.0, 2.0, 3.0], [0, 5, d - 1], [0, 1, 2, 3]), shape=(3, d))
    for target, width in ((False, d), (5, d - 1), (-1, d - 1)):
        path.write_bytes(sparse(X))
        tracemalloc.start()
        table = read_table(path, target=target)
        with pytest.raises(FileError, match="there is no column target="):
            read_table(path, target=d)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert table.X.shape == (3, width)
        assert table.X.nnz == (3 if target is False else 2)
        assert table.y is None or table.y.tolist() in ([0, 2, 0], [0, 0, 3])
        assert peak < d  # not even a byte for each column


def test_lines_longer_than_the_beginning_that_is_looked_at(tmp_path):
    """30,000 columns: the line of names alone has 170,000 letters."""
    d, path = 30_000, tmp_path / "wide.csv"
    lines = [[f"c{j}" for j in range(d)] + ["class"], ["1"] * d + ["a"], ["2"] * d + ["b"]]
    path.write_text("\n".join(",".join(line) for line in lines))
    table = read_table(path)
    assert table.schema.feature_names == lines[0][:-1]
    assert table.X.tolist() == [[1.0] * d, [2.0] * d]
    assert table.y.tolist() == ["a", "b"]


def test_columns_of_a_compressed_line(tmp_path):
    """10,000,000 columns in ten kilobytes, which took minutes and gigabytes."""
    (tmp_path / "wide.csv.gz").write_bytes(gzip.compress(b"1," * 10_000_000))
    tracemalloc.start()
    with pytest.raises(FileError, match="more than 1,000,000 columns in its first line"):
        read_table(tmp_path / "wide.csv.gz")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200_000_000


def test_columns_are_found_in_time_in_proportion():
    """Comparisons of names, counted, when a file with many columns is brought into a schema."""

    class Name(str):
        compared = 0
        __hash__ = str.__hash__

        def __eq__(self, other):
            Name.compared += 1
            return str.__eq__(self, other)

    names = [Name(f"c{j}") for j in range(500)]
    schema = Schema(tuple(Column(f"c{j}") for j in range(500)), 500)
    roles = assign("file", names, set(), Options(target=False), schema, True)
    assert roles.features == list(range(500))
    assert Name.compared <= 5 * len(names)


def test_parquet_columns_of_one_name(tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = pa.table([[1.0], [2.0], [0]], names=["a", "a", "y"])
    pq.write_table(table, tmp_path / "t.parquet")
    for options in ({}, {"columns": ["a"]}):
        with pytest.raises(FileError, match="has 2 columns named 'a'"):
            Parquet(tmp_path / "t.parquet", "y", **options)
    table = pa.table([[1.0], [2], [0]], names=["a", "y", "y"])
    pq.write_table(table, tmp_path / "t.parquet")
    with pytest.raises(FileError, match="has 2 columns named 'y'"):
        Parquet(tmp_path / "t.parquet", "y")
    with pytest.raises(FileError, match="has no column 'b'"):
        Parquet(tmp_path / "t.parquet", "a", columns=["b"])
    pq.write_table(pa.table([[1.0], [2.0], [2.0], [0]], names=["a", "b", "b", "y"]),
                   tmp_path / "t.parquet")  # fmt: skip
    stream = Parquet(tmp_path / "t.parquet", "y", columns=["a"])
    assert next(stream.batches()).X.tolist() == [[1.0]]
