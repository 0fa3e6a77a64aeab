"""Tables survive a round trip through files, for every format, compression and reader."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import sys
import threading

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import dump_svmlight_file, load_svmlight_file
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, OneHotEncoder, StandardScaler

import mercer
from mercer.data import Schema, Table, read_table, write_predictions, write_table
from mercer.data._files import IO
from mercer.persistence import FileError, open_model
from tests.read_only import read_only


def _data():
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(60, 4)) * (rng.random((60, 4)) < 0.6), 3)
    LABELS = rng.choice([-1, 1], 60)
    TARGETS = rng.normal(size=60)
    return read_only(X, LABELS, TARGETS)


X, LABELS, TARGETS = _data()
MATRICES = hnp.arrays(
    np.float64,
    st.tuples(st.integers(1, 8), st.integers(1, 5)),
    elements=st.floats(allow_nan=False, allow_infinity=False),
)


def table(X, y, **about) -> Table:
    task = "regression" if y.dtype.kind == "f" else "classification"
    schema = Schema(None, X.shape[1], sp.issparse(X), task=task, **about)
    return Table(X, y, schema, "memory", "npz")


def put(folder, text: str | bytes, name: str = "data.csv"):
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


# ------------------------------------------------------------------ oracles


@pytest.mark.parametrize("zero_based", [False, True])
def test_svmlight_as_scikit_learn_reads_it(zero_based, tmp_path):
    path = tmp_path / "data"
    rows = X.copy()
    rows[5] = 0.0
    rows[0, 0] = 3.5  # so that index 0 occurs, and tells
    dump_svmlight_file(rows, TARGETS, str(path), zero_based=zero_based, comment="a comment")
    expected, y = load_svmlight_file(str(path), zero_based=zero_based)
    found = read_table(path)
    assert found.format == "svmlight"
    assert found.schema.zero_based == zero_based
    assert (expected != found.X).nnz == 0
    assert found.X.shape == expected.shape
    assert_array_equal(found.y, y)


def test_svmlight_of_many_pieces(rng, tmp_path):
    """Lines across the ends of pieces, lines longer than one, and numbers that are hard to read."""
    n = 1500
    rows = sp.random(n, 5000, 0.01, format="csr", random_state=0)
    rows = sp.vstack([rows, sp.csr_matrix(rng.normal(size=(2, 30_000)))[:, :5000]], format="csr")
    rows.data[::7] = 9007199254740993.0
    rows.data[3::11] = 5e-324
    y = np.arange(n + 2.0)
    path = tmp_path / "data.svm"
    dump_svmlight_file(rows, y, str(path))
    assert path.stat().st_size > 2 * IO.piece_bytes
    found = read_table(path, task="regression")
    expected, _ = load_svmlight_file(str(path), n_features=5000)
    assert_array_equal(found.X.data, expected.data)
    assert_array_equal(found.X.indices, expected.indices)
    assert_array_equal(found.y, y)


def test_a_line_longer_than_all_room(rng, tmp_path):
    values = rng.normal(size=(1, 100_000))
    path = tmp_path / "data"
    write_table(path, table(values, np.ones(1)), format="svmlight")
    assert path.stat().st_size > IO.piece_bytes
    assert_array_equal(read_table(path).X.toarray(), values)


@pytest.mark.parametrize("delimiter", [",", "\t", ";", "|", " "])
def test_numbers_as_numpy_reads_them(delimiter, tmp_path):
    path = tmp_path / "data"
    np.savetxt(path, np.c_[X, TARGETS], delimiter=delimiter)
    found = read_table(path, target=-1)
    expected = np.loadtxt(path, delimiter=delimiter)
    assert_array_equal(found.X, expected[:, :-1])
    assert_array_equal(found.y, expected[:, -1])
    assert found.schema.task == "regression"


def frame(n: int) -> pd.DataFrame:
    rng = np.random.default_rng(n)
    return pd.DataFrame({
        "size": rng.normal(size=n),
        "count": rng.integers(0, 100, n),
        "colour": rng.choice(["red", "green", "sea, blue", 'the "best"'], n),
        "wide": rng.normal(size=n) * 1e200,
        "label": rng.choice(["yes", "no"], n),
    })  # fmt: skip


@pytest.mark.parametrize("n", [7, 30_000])
def test_csv_as_pandas_reads_it(n, tmp_path):
    path = tmp_path / "data.csv"
    data = frame(n)
    data.to_csv(path, index=False)
    expected = pd.read_csv(path, float_precision=None)
    found = read_table(path)
    assert_array_equal(found.y, expected["label"].to_numpy(str))
    encoder = OneHotEncoder(sparse_output=False).fit(data[["colour"]])
    assert_array_equal(found.X[:, 2:-1], encoder.transform(data[["colour"]]))
    assert_array_equal(found.X[:, [0, 1, -1]], data[["size", "count", "wide"]])
    categories = encoder.categories_[0]
    assert found.schema.feature_names == [
        "size", "count", *(f"colour={c}" for c in categories), "wide",
    ]  # fmt: skip


def test_parquet_and_csv_agree(tmp_path):
    pytest.importorskip("pyarrow")
    data = frame(50)
    data.to_csv(tmp_path / "data.csv", index=False)
    data.assign(colour=data["colour"].astype("category")).to_parquet(tmp_path / "data.parquet")
    one, other = read_table(tmp_path / "data.csv"), read_table(tmp_path / "data.parquet")
    other_types = data.assign(count=data["count"] > 50, size=data["size"].astype("Float64"))
    other_types.to_parquet(tmp_path / "other.parquet")
    found = read_table(tmp_path / "other.parquet").X
    assert_array_equal(found[:, 0], one.X[:, 0])
    assert_array_equal(found[:, 1], data["count"] > 50)
    assert other.format == "parquet"
    assert_array_equal(one.X, other.X)
    assert_array_equal(one.y, other.y)
    assert one.schema.as_dict() == other.schema.as_dict()


# ------------------------------------------------------------------ there and back


@given(MATRICES, st.sampled_from([".svm", ".csv", ".tsv", ".npz", ".parquet"]))
def test_numbers_come_back_bit_for_bit(tmp_path_factory, matrix, suffix):
    path = tmp_path_factory.mktemp("table") / f"data{suffix}"
    write_table(path, table(matrix, matrix[:, 0].copy()))
    format = "svmlight" if suffix == ".svm" else None  # lines without pairs could be anything
    found = read_table(path, task="regression", format=format)
    back = found.X.toarray() if sp.issparse(found.X) else found.X
    width = back.shape[1]  # svmlight does not tell of columns of zeros at the end
    assert_array_equal(back, matrix[:, :width])
    assert not matrix[:, width:].any()
    assert_array_equal(found.y, matrix[:, 0])


WORD = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Z"]), min_size=1)


@given(st.lists(st.tuples(WORD, st.sampled_from("ab")), min_size=3, max_size=12))
def test_words_come_back(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("table") / "data.csv"
    words = ["w" + word for word, _ in rows]
    data = pd.DataFrame({"number": 1.0, "word": words, "y": [label for _, label in rows]})
    data.to_csv(path, index=False)
    found = read_table(path, header=True)
    assert found.schema.columns[1].categories == tuple(sorted(set(words)))
    assert_array_equal(found.y, data["y"].to_numpy(str))
    chosen = [found.schema.columns[1].categories[j] for j in found.X[:, 1:].argmax(axis=1)]
    assert chosen == words


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_npz_keeps_types(sparse, dtype, tmp_path):
    rows = sp.csr_matrix(X.astype(dtype)) if sparse else X.astype(dtype)
    write_table(tmp_path / "data.npz", table(rows, LABELS))
    found = read_table(tmp_path / "data.npz")
    assert found.X.dtype == dtype
    assert sp.issparse(found.X) == sparse
    assert abs(found.X - rows).max() == 0
    assert_array_equal(found.y, LABELS)
    assert found.schema.labels == (-1, 1)


def test_npy_and_scipys_npz(tmp_path):
    np.save(tmp_path / "data.npy", np.c_[LABELS, X])
    found = read_table(tmp_path / "data.npy", target=0)
    assert_array_equal(found.X, X)
    assert_array_equal(found.y, LABELS)
    sp.save_npz(tmp_path / "data.npz", sp.csr_matrix(np.c_[X, LABELS]))
    found = read_table(tmp_path / "data.npz", target=-1)
    assert_array_equal(found.X.toarray(), X)
    assert_array_equal(found.y, LABELS)


COMPRESS = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}


@pytest.mark.parametrize("how", [*COMPRESS, "zst"])
@pytest.mark.parametrize("stdin", [False, True])
def test_compression_is_seen_by_content(how, stdin, tmp_path, monkeypatch):
    compress = COMPRESS.get(how)
    if compress is None:
        compress = pytest.importorskip("zstandard").compress
    write_table(tmp_path / "plain.svm", table(sp.csr_matrix(X), TARGETS))
    packed = compress((tmp_path / "plain.svm").read_bytes())
    path = put(tmp_path, packed, "data.txt")
    if stdin:
        stream = io.TextIOWrapper(io.BufferedReader(io.BytesIO(packed)))
        monkeypatch.setattr(sys, "stdin", stream)
        path = "-"
    found = read_table(path)
    assert abs(found.X - sp.csr_matrix(X)).max() == 0
    write_table(tmp_path / f"out.csv.{how}", found)
    assert_array_equal(read_table(tmp_path / f"out.csv.{how}", target="target").X, X)


def test_zstd_in_several_frames_and_cut(tmp_path):
    packed = pytest.importorskip("zstandard").compress
    text = ("a,y\n" + "".join(f"{i},{i % 2}\n" for i in range(5000))).encode()
    whole = packed(text[:9000]) + packed(text[9000:])
    assert_array_equal(read_table(put(tmp_path, whole)).X[:, 0], np.arange(5000))
    with pytest.raises(FileError, match="the compressed file is cut"):
        read_table(put(tmp_path, whole[:-9]))


@pytest.mark.parametrize("format", ["csv", "npy", "parquet"])
def test_standard_input(format, tmp_path, monkeypatch):
    data = pd.DataFrame(np.c_[X, TARGETS], columns=[*"abcd", "y"])
    buffer = io.BytesIO()
    if format == "csv":
        data.to_csv(buffer, index=False)
    elif format == "npy":
        np.save(buffer, data.to_numpy())
    else:
        pytest.importorskip("pyarrow")
        data.to_parquet(buffer)
    buffer.seek(0)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(buffer))
    found = read_table("-", target=-1)
    assert found.format == format
    assert_array_equal(found.X, X)
    assert_array_equal(found.y, TARGETS)


CELL = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.integers(-(10**20), 10**20).map(str),
    st.sampled_from(["", "NA", " na", "?", "+1", " 2 ", '"3"', "x", "inf", "1e999", "1_0"]),
)
WORDS = st.sampled_from(
    ["red", " red ", '"sea, blue"', ' "a"', '"two\nlines"', "", "NaN", '"', "é"]
)
RECORDS = st.lists(st.tuples(CELL, WORDS, st.sampled_from(["1", "2", "3.5"])), min_size=1)


@given(RECORDS, st.sampled_from(["\n", "\r\n", "\n\n"]), st.sampled_from([None, "mean"]))
def test_pyarrow_and_the_standard_library_read_the_same(tmp_path_factory, records, end, missing):
    pytest.importorskip("pyarrow")
    text = ["number,word,y", "1,red,2", "2,green,3", *(",".join(cells) for cells in records)]
    path = put(tmp_path_factory.mktemp("table"), end.join([*text, ""]))

    def found():
        try:
            table = read_table(path, missing=missing, task="regression")
        except FileError as error:
            return str(error)
        return table.X.tolist(), table.y.tolist(), table.schema.as_dict()

    by_arrow = found()
    with pytest.MonkeyPatch.context() as patched:
        patched.setitem(sys.modules, "pyarrow", None)
        assert found() == by_arrow


def test_numbers_with_a_plus_are_read_by_pyarrow_too(tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    monkeypatch.setattr("mercer.data._csv._by_cell", None)  # not called
    found = read_table(put(tmp_path, "a,y\n0.5,+1\n1e-3,-1\n,+1\n"), missing="zero")
    assert_array_equal(found.y, [1, -1, 1])
    assert_array_equal(found.X[:, 0], [0.5, 1e-3, 0])


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_named_pipes(tmp_path):
    path, content = tmp_path / "pipe", "a,y\n" + "".join(f"{i},{i % 2}\n" for i in range(20_000))
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_text, args=(content,))
    writer.start()
    found = read_table(path)
    writer.join()
    assert_array_equal(found.X[:, 0], np.arange(20_000))


def test_a_missing_extra_names_its_install_command(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(ImportError, match=r'pip install "mercer\[zstd\]"'):
        read_table(put(tmp_path, b"\x28\xb5\x2f\xfd" + b"\0" * 20))
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r'pip install "mercer\[tables\]"'):
        read_table(put(tmp_path, b"PAR1" + b"\0" * 20))


# ------------------------------------------------------------------ layouts


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a,b,y\n1,2,0\n3,4,1\n", ["a", "b"]),
        ("a;b;y\r\n1;2;0\r\n\r\n3;4;1\r\n", ["a", "b"]),
        ('"a","b","y"\n"1","2","0"\n3, 4 ,1', ["a", "b"]),
        ("\ufeffa\tb\ty\n1\t2\t0\n3\t4\t1\n", ["a", "b"]),
        ("2010,b,y\n1,2,0\n3,4,1\n", ["2010", "b"]),
        ("  a   b  y\n  1   2  0\n  3   4  1\n", ["a", "b"]),
        ("y|a|b\n0|1|2\n1|3|4\n", ["a", "b"]),
    ],
)
def test_layouts(text, names, tmp_path):
    found = read_table(put(tmp_path, text))
    assert found.schema.feature_names == names
    assert_array_equal(found.X, [[1, 2], [3, 4]])
    assert_array_equal(found.y, [0, 1])


def test_tables_without_names(tmp_path):
    path = put(tmp_path, "1,2,x\n3,4,z\n5,6,x\n")
    found = read_table(path, target=-1)
    assert found.schema.feature_names == ["column_0", "column_1"]
    assert_array_equal(found.y, ["x", "z", "x"])
    assert_array_equal(read_table(path, target="column_0").y, [1, 3, 5])
    assert read_table(path, target=False).y is None
    assert read_table(path, target=False).X.shape == (3, 4)
    # all words: the first line comes again below, so it is no header
    words = put(tmp_path, "b,x\na,x\nb,z\na,z\n")
    assert_array_equal(read_table(words, target=-1).y, ["x", "x", "z", "z"])
    assert read_table(words, target=-1, header=True).schema.feature_names == ["b=a", "b=b"]


def test_quotes_may_hold_delimiters_lines_and_quotes(tmp_path):
    text = 'n,word,y\n1,"a,b",0\n2,"two\nlines",1\n3,"say ""hi""",0\n4,"a,b",1\n'
    found = read_table(put(tmp_path, text))
    assert found.schema.columns[1].categories == ("a,b", 'say "hi"', "two\nlines")
    assert_array_equal(found.X[:, 0], [1, 2, 3, 4])


def test_many_rows_of_words_alone(tmp_path):
    words = np.array(["u", "v", "w"])[np.arange(5000) % 3]
    text = "a,,y\n" + "".join(f"{word},{word}x,{word}\n" for word in words)
    found = read_table(put(tmp_path, text))
    assert found.schema.feature_names[3:] == ["column_1=ux", "column_1=vx", "column_1=wx"]
    assert_array_equal(found.X[:, :3].argmax(axis=1), np.arange(5000) % 3)
    assert_array_equal(found.y, words)


def test_columns_can_be_left_out_or_taken_for_words(tmp_path):
    text = "id,zip,size,y\n" + "".join(f"name{i},{i % 3},{i},{i % 2}\n" for i in range(90))
    path = put(tmp_path, text)
    with pytest.raises(FileError, match=r"column 'id' has 90 different words .* drop=\['id'\]"):
        read_table(path)
    found = read_table(path, drop=["id"], categorical=["zip"])
    assert found.schema.feature_names == ["zip=0", "zip=1", "zip=2", "size"]


@pytest.mark.parametrize(
    ("y", "task"),
    [
        (["a", "b"] * 5, "classification"),
        ([1, -1] * 5, "classification"),
        ([0, 1, 2] * 4, "classification"),
        (list(range(10)), "regression"),
        ([0.5, 1.5] * 5, "regression"),
        (list(range(26)) * 60, "classification"),
        (list(range(300)) * 3, "regression"),
    ],
)
def test_the_task_is_guessed(y, task, tmp_path):
    path = put(tmp_path, "a,y\n" + "".join(f"1,{value}\n" for value in y))
    found = read_table(path)
    assert found.schema.task == task
    assert found.y.dtype.kind == ("f" if task == "regression" else "U" if y[0] == "a" else "i")
    other = "regression" if task == "classification" else "classification"
    if y[0] != "a":
        assert read_table(path, task=other).schema.task == other


# ------------------------------------------------------------------ schemas

TRAIN = "size,colour,weight,kind\n1,red,10,a\n2,blue,20,b\n3,red,60,a\n4,green,30,b\n"


def test_new_data_are_brought_into_the_trained_form(tmp_path):
    train = read_table(put(tmp_path, TRAIN), target="kind", scale="standard")
    scaler = StandardScaler().fit(np.c_[[1, 2, 3, 4], [10, 20, 60, 30]])
    # other order, more columns, no target, a new category
    new = put(
        tmp_path, "extra,weight,colour,size\nx,10,blue,2\ny,20,pink,3\nz,5,red,4\n", "new.csv"
    )
    found = read_table(new, schema=train.schema)
    assert found.y is None
    raw = scaler.transform([[2, 10], [3, 20], [4, 5]])
    assert_allclose(found.X[:, [0, -1]], raw)
    spread = train.X[:, 1:4].std(axis=0)
    assert_allclose(spread, 1)
    assert len(np.unique(found.X[:, 1])) == 2  # blue or not
    assert found.notes == (
        "column 'colour': 1 row has categories that the model has not seen ('pink'); they count "
        "as none of the known ones",
    )
    with pytest.raises(FileError, match=r"new\.csv: lacks 'size' that the model was trained on"):
        read_table(put(tmp_path, "colour,weight\nred,1\n", "new.csv"), schema=train.schema)


def test_the_target_of_new_data_may_be_there_or_not(tmp_path):
    schema = read_table(put(tmp_path, TRAIN), target="kind").schema
    new = put(tmp_path, "size,colour,weight,kind\n1,red,1,b\n2,red,1,c\n", "new.csv")
    assert_array_equal(read_table(new, schema=schema).y, ["b", "c"])
    new = put(tmp_path, "size,colour,weight,kind\n1,red,1,\n2,red,1,c\n", "new.csv")
    assert read_table(new, schema=schema).y is None
    new = put(tmp_path, "1,red,1\n2,blue,1\n", "new.csv")  # no names: by their places
    assert_array_equal(read_table(new, schema=schema).X[:, 0], [1, 2])


@pytest.mark.parametrize("missing", ["median", "mean", "zero"])
def test_missing_values_are_filled_as_in_training(missing, tmp_path):
    text = "a,b,colour,y\n1,1,red,0\n,2,red,1\n4,?,blue,0\n5,3,NA,1\nNaN,2,red,0\n"
    found = read_table(put(tmp_path, text), missing=missing)
    known = np.array([1.0, 4.0, 5.0])
    fill = {"median": np.median, "mean": np.mean, "zero": lambda v: 0.0}[missing](known)
    assert_array_equal(found.X[:, 0], [1, fill, 4, 5, fill])
    assert_array_equal(found.X[:, 2:], [[0, 1], [0, 1], [1, 0], [0, 1], [0, 1]])
    new = put(tmp_path, "a,b,colour\n,,\n", "new.csv")
    again = read_table(new, schema=found.schema)
    assert again.X[0, 0] == fill
    assert_array_equal(again.X[0, 2:], [0, 1])


@pytest.mark.parametrize(
    ("scale", "scaler"),
    [("standard", StandardScaler()), ("minmax", MinMaxScaler()), ("maxabs", MaxAbsScaler())],
)
def test_scaling_as_scikit_learn_does_it(scale, scaler, tmp_path):
    rows = np.c_[X, np.full(60, 2.5)]  # and a constant column
    write_table(tmp_path / "data.npz", table(rows, LABELS))
    found = read_table(tmp_path / "data.npz", scale=scale)
    assert_allclose(found.X, scaler.fit_transform(rows), atol=1e-12)
    assert found.schema.scaling == scale
    write_table(tmp_path / "new.npz", table(2 * rows, LABELS))
    again = read_table(tmp_path / "new.npz", schema=found.schema)
    assert_allclose(again.X, scaler.transform(2 * rows), atol=1e-12)


def test_sparse_rows_are_only_stretched(tmp_path):
    write_table(tmp_path / "data.svm", table(sp.csr_matrix(X), LABELS))
    found = read_table(tmp_path / "data.svm", scale="maxabs")
    assert sp.issparse(found.X)
    assert_allclose(found.X.toarray(), MaxAbsScaler().fit_transform(X))
    with pytest.raises(FileError, match="use scale='maxabs'"):
        read_table(tmp_path / "data.svm", scale="standard")


def test_svmlight_rows_have_the_width_of_the_training(tmp_path):
    train = read_table(put(tmp_path, "1 1:2 5:1\n-1 2:1\n", "train"))
    found = read_table(put(tmp_path, "1 1:2\n", "new"), schema=train.schema)
    assert found.X.shape == (1, 5)
    with pytest.raises(FileError, match=r"new:2: index 6 is beyond n_features=5"):
        read_table(put(tmp_path, "1 1:2\n1 6:1\n", "new"), schema=train.schema)


def test_formats_may_change_between_training_and_prediction(tmp_path):
    schema = read_table(put(tmp_path, "a,b,y\n1,2,0\n3,4,1\n")).schema
    np.save(tmp_path / "new.npy", [[5.0, 6.0]])
    assert_array_equal(read_table(tmp_path / "new.npy", schema=schema).X, [[5, 6]])
    found = read_table(put(tmp_path, "0 1:5 2:6\n", "new.svm"), schema=schema)
    assert_array_equal(found.X, [[5, 6]])
    schema = read_table(put(tmp_path, TRAIN), target="kind").schema
    np.save(tmp_path / "new.npy", [[5.0, 6.0, 1.0]])
    with pytest.raises(FileError, match="trained with the categories of 'colour'"):
        read_table(tmp_path / "new.npy", schema=schema)


def test_options_that_the_schema_decides_are_refused(tmp_path):
    path = put(tmp_path, TRAIN)
    schema = read_table(path, target="kind").schema
    for option in ({"scale": "minmax"}, {"missing": "mean"}, {"drop": ["size"]},
                   {"task": "regression"}):  # fmt: skip
        with pytest.raises(ValueError, match="cannot be given together with schema"):
            read_table(path, schema=schema, **option)
    with pytest.raises(ValueError, match=r"scale must be one of .*auto, got 'x'"):
        read_table(path, scale="x")


def test_from_a_file_to_predictions(tmp_path, capsys):
    """What the command line does."""
    train = read_table(put(tmp_path, TRAIN), target="kind", scale="standard")
    model = mercer.SVC().fit(train.X, train.y)
    mercer.save(model, tmp_path / "model", schema=train.schema)
    file = open_model(tmp_path / "model")
    new = read_table(put(tmp_path, "size,colour,weight\n1,red,10\n2,blue,20\n", "new.csv"),
                     schema=file.schema)  # fmt: skip
    assert_array_equal(new.X, train.X[:2])
    decision = file.model.decision_function(new.X)
    write_predictions("-", file.model.predict(new.X), decision=decision)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "prediction,decision"
    assert [float(line.split(",")[1]) for line in lines[1:]] == decision.tolist()
    path = tmp_path / "out.csv.gz"
    scores = np.c_[decision, -decision, decision]
    write_predictions(path, ["x,y", "z"], decision=scores, probabilities=scores, classes=[*"abc"])
    back = pd.read_csv(path)
    assert list(back) == ["prediction", "decision:a", "decision:b", "decision:c",
                          "probability:a", "probability:b", "probability:c"]  # fmt: skip
    assert_array_equal(back["prediction"], ["x,y", "z"])
    with pytest.raises(ValueError, match="same number of rows"):
        write_predictions(path, [1, 2, 3], decision=[1.0])


@pytest.mark.parametrize("power", [-900, 900, 1019])
@pytest.mark.parametrize("scale", ["standard", "minmax", "maxabs"])
def test_scaled_columns_do_not_depend_on_their_unit(scale, power, tmp_path):
    """Squares of 2⁹⁰⁰ overflow, and those of 2⁻⁹⁰⁰ vanish; the scaled column is the same."""
    rng = np.random.default_rng(4)
    a, b = rng.integers(-9, 9, size=(2, 30)).astype(float)
    found = {}
    for unit in (0, power):
        lines = [
            f"{np.ldexp(x, unit)!r},{z!r},{i % 2}"
            for i, (x, z) in enumerate(zip(a, b, strict=True))
        ]
        text = "\n".join(["a,b,label", *lines]).replace("np.float64(", "").replace(")", "")
        (tmp_path / "t.csv").write_text(text + "\n")
        found[unit] = read_table(tmp_path / "t.csv", scale=scale).X
    np.testing.assert_allclose(found[power], found[0], rtol=1e-12, atol=1e-14)


def test_a_range_beyond_float64_is_refused(tmp_path):
    (tmp_path / "t.csv").write_text("a,label\n1.5e308,0\n-1.5e308,1\n1,0\n")
    with pytest.raises(FileError, match="column 0 of the features has a range beyond float64"):
        read_table(tmp_path / "t.csv", scale="minmax")
