"""Streams give the same batches from any place on, and say where a file is wrong."""

from __future__ import annotations

import gzip

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from sklearn.datasets import dump_svmlight_file

from mercer.data import Batches, Npy, Parquet, Svmlight, as_stream, read_ahead


def _data():
    from tests.read_only import read_only

    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 3)).astype(np.float32)
    y = rng.integers(0, 2, 1000)
    return read_only(X, y)


X, y = _data()


def write_parquet(path, first=0, last=1000, group=170, **changed):
    columns = {f"x{j}": X[first:last, j] for j in range(3)} | {"label": y[first:last]}
    pq.write_table(pa.table(columns | changed), path, row_group_size=group)
    return path


def parquet_folder(folder):
    (folder / "rows").mkdir()
    write_parquet(folder / "rows" / "a.parquet", 0, 333)
    write_parquet(folder / "rows" / "b.parquet", 333, 1000, group=97)
    return Parquet(folder / "rows", target="label", batch_rows=150)


def npy(folder):
    np.save(folder / "X.npy", X)
    np.save(folder / "y.npy", y)
    return Npy(folder / "X.npy", folder / "y.npy", batch_rows=150)


def svmlight(folder):
    dump_svmlight_file(X, y, str(folder / "rows.svm"), zero_based=False)
    return Svmlight(folder / "rows.svm", batch_rows=150)


def compressed(folder):
    svmlight(folder)
    (folder / "rows.gz").write_bytes(gzip.compress((folder / "rows.svm").read_bytes()))
    return Svmlight(folder / "rows.gz", n_features=3, batch_rows=150)


def listed(folder):
    return Batches([(X[i : i + 150], y[i : i + 150]) for i in range(0, 1000, 150)])


@pytest.mark.parametrize("make", [parquet_folder, npy, svmlight, compressed, listed])
def test_batches_from_any_place_on(make, tmp_path):
    stream = make(tmp_path)
    batches = list(stream.batches())
    assert [len(batch.y) for batch in batches] == [150] * 6 + [100]
    rows = [b.X.toarray() if sp.issparse(b.X) else b.X for b in batches]
    np.testing.assert_allclose(np.concatenate(rows), X, rtol=1e-6)
    assert_array_equal(np.concatenate([batch.y for batch in batches]), y)
    assert_array_equal(np.concatenate(list(stream.targets())), y)
    for skip in (0, 1, 3, 6, 7, 9):
        rest = list(stream.batches(skip))
        assert [batch.where for batch in rest] == [batch.where for batch in batches[skip:]]
        for mine, first in zip(rest, batches[skip:], strict=True):
            assert_array_equal(mine.y, first.y)
            assert abs(mine.X - first.X).max() == 0
    assert make.__name__ in ("compressed", "svmlight") or rows[0].dtype == np.float32


def test_fingerprints_tell_streams_apart(tmp_path):
    one = npy(tmp_path).fingerprint()
    assert npy(tmp_path).fingerprint() == one
    np.save(tmp_path / "y.npy", 1 - y)
    assert Npy(tmp_path / "X.npy", tmp_path / "y.npy", batch_rows=150).fingerprint() != one
    first, second = Batches([(X, y)]), Batches([(X, 1 - y)])
    assert first.fingerprint() == Batches(iter([(X, y)])).fingerprint() != second.fingerprint()
    once = Batches(iter([(X, y), (X, y)]))
    once.fingerprint()
    assert len(list(once.batches())) == 2  # looking at the first batch does not lose it


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("1 1:0.5 2:abc", ":4: expected index:value"),
        ("one 1:0.5", ":4: the target must be a finite number"),
        ("1 1:0.5 1:0.6", ":4: indices must rise from 1"),
        ("1 0:0.5", ":4: indices must rise from 1"),
        ("1 1:nan", ":4: expected index:value with a finite value"),
        ("1 9:1.0", ":4: index 9 is beyond n_features=3"),
        ("1 2", ":4: expected index:value"),
    ],
)
def test_malformed_lines_are_named(tmp_path, line, what):
    path = tmp_path / "rows.svm"
    path.write_text(f"# a comment\n1 1:0.5 3:1\n0 2:1\n{line}\n1 1:2\n")
    for batch_rows in (2, 100):
        with pytest.raises(ValueError, match=what):
            list(Svmlight(path, n_features=3, batch_rows=batch_rows).batches())


def test_errors_of_parquet(tmp_path):
    path = write_parquet(tmp_path / "rows.parquet")
    with pytest.raises(ValueError, match=r"no column 'price'.*'x0'"):
        Parquet(path, target="price")
    with pytest.raises(ValueError, match=r"which column is the target\?.*Parquet\(path"):
        as_stream(path)
    broken = write_parquet(tmp_path / "b.parquet", x1=pa.array([1.0] * 700 + [None] + [2.0] * 299))
    with pytest.raises(ValueError, match="'x1' has no value in row 700"):
        list(Parquet(broken, target="label").batches())
    words = write_parquet(tmp_path / "c.parquet", x1=pa.array(["a"] * 1000))
    with pytest.raises(ValueError, match="'x1' holds string, not numbers"):
        Parquet(words, target="label")
    assert Parquet(words, target="label", columns=["x2"]).names == ["x2"]
    (tmp_path / "d.parquet").write_bytes(path.read_bytes()[:500])
    with pytest.raises(ValueError, match=r"d\.parquet"):
        Parquet(tmp_path / "d.parquet", target="label")


def test_errors_of_others(tmp_path):
    npy(tmp_path)
    np.save(tmp_path / "short.npy", y[:10])
    with pytest.raises(ValueError, match="give one value for each"):
        Npy(tmp_path / "X.npy", tmp_path / "short.npy")
    with pytest.raises(ValueError, match="batch 0 must be a pair"):
        list(Batches([X]).batches())
    with pytest.raises(TypeError, match="a stream is an iterable"):
        as_stream(7)
    with pytest.raises(ValueError, match="batch_rows must be a positive integer, got 0"):
        Npy(tmp_path / "X.npy", tmp_path / "y.npy", batch_rows=0)


def test_reading_ahead_keeps_order_and_errors():
    def items():
        yield from range(10)
        raise OSError("the disk is gone")

    seen = []
    with pytest.raises(OSError, match="the disk is gone"):
        seen.extend(read_ahead(seen_item for seen_item in items()))
    ahead = read_ahead(range(10))
    assert [next(ahead), next(ahead)] == [0, 1]
    ahead.close()
    assert list(read_ahead(range(5))) == [0, 1, 2, 3, 4]


def test_batches_that_are_held_are_not_overwritten(tmp_path):
    stream = Parquet(write_parquet(tmp_path / "a.parquet"), target="label", batch_rows=50)
    held = [batch.X for batch in stream.batches()]
    assert_array_equal(np.concatenate(held), X)
