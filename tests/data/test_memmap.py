"""`to_memmap`, and fits from files: the same model, and little memory."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

from mercer import SVC, KernelRidge
from mercer.data import Batches, Parquet, to_memmap
from mercer.exceptions import FileError

X = np.random.default_rng(0).normal(size=(500, 4))
Y = np.where(X[:, 0] * X[:, 1] > 0, 1, -1)


class Lazy:
    """An array that gives slices of rows only, as those of Zarr and HDF5 do."""

    def __init__(self, rows: np.ndarray):
        self.rows, self.shape, self.dtype = rows, rows.shape, rows.dtype

    def __getitem__(self, part: slice) -> np.ndarray:
        assert isinstance(part, slice)
        return self.rows[part]


def _parquet(folder):
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    columns = {f"c{j}": X[:, j] for j in range(4)}
    parquet.write_table(pa.table(columns | {"y": Y}), folder / "rows.parquet", row_group_size=90)
    return Parquet(folder / "rows.parquet", target="y", batch_rows=128)


def _dask(folder):
    return pytest.importorskip("dask.array").from_array(X, chunks=(130, 2))


SOURCES = {
    "array": lambda folder: X,
    "lazy": lambda folder: Lazy(X),
    "sparse": lambda folder: sp.csr_matrix(X),
    "dask": _dask,
    "parquet": _parquet,
    "batches": lambda folder: Batches([(X[:200], Y[:200]), (X[200:], Y[200:])]),
}


@pytest.mark.parametrize("name", SOURCES)
def test_rows_and_targets_of_any_source(name, tmp_path):
    source = SOURCES[name](tmp_path)
    is_stream = name in ("parquet", "batches")
    rows, y = to_memmap(source, tmp_path / "new", None if is_stream else Y, batch_bytes=3000)
    assert isinstance(rows, np.memmap)
    assert not rows.flags.writeable
    np.testing.assert_array_equal(rows, X)
    np.testing.assert_array_equal(y, Y)
    np.testing.assert_array_equal(np.load(tmp_path / "new" / "X.npy"), X)


def test_types_and_errors(tmp_path):
    rows, y = to_memmap(X, tmp_path, dtype=np.float32)
    assert rows.dtype == np.float32
    assert y is None
    with pytest.raises(ValueError, match="dtype must be float32 or float64, got int64"):
        to_memmap(X, tmp_path, dtype=np.int64)
    with pytest.raises(ValueError, match="499 targets were given for 500 rows"):
        to_memmap(X, tmp_path, Y[:-1])
    with pytest.raises(ValueError, match="the source has no rows"):
        to_memmap(X[:0], tmp_path)
    with pytest.raises(ValueError, match="rows 200 and on have the shape"):
        to_memmap(Batches([(X[:200], Y[:200]), (X[200:, :3], Y[200:])]), tmp_path)


def test_what_a_source_raises_is_no_error_of_the_new_file(tmp_path):
    """It was said of the file that it cannot be written."""
    source = _parquet(tmp_path)
    with pytest.raises(ValueError, match=r'^y is for arrays.*Parquet\("rows.parquet", target'):
        to_memmap(source, tmp_path / "new", "y")
    with pytest.raises(ValueError, match="which column is the target") as caught:
        to_memmap(tmp_path / "rows.parquet", tmp_path / "new")
    assert "written" not in str(caught.value)
    chunks = _dask(tmp_path)
    with pytest.raises(ValueError, match=r"^the number of rows of Array is not known"):
        to_memmap(chunks[chunks[:, 0] > 0], tmp_path / "new")
    (tmp_path / "taken" / "X.npy").mkdir(parents=True)
    with pytest.raises(FileError, match=r"X\.npy: cannot be written"):
        to_memmap(X, tmp_path / "taken")


LOW = {"gamma": 0.5, "approximation": "nystroem", "n_components": 20, "random_state": 0}


def test_models_from_files_are_those_from_memory(tmp_path):
    rows, y = to_memmap(X, tmp_path, Y)
    for model in (SVC(**LOW), SVC(gamma=0.5)):
        inside = model.fit(X, Y).decision_function(X)
        np.testing.assert_array_equal(model.fit(rows, y).decision_function(rows), inside)


def test_a_fit_from_a_file_takes_less_memory_than_the_file(tmp_path, rng):
    """40,000 rows of 40 columns, 12.8 MB, embedded in tiles."""
    rows, _ = to_memmap(rng.normal(size=(40_000, 40)), tmp_path)
    target = np.array(rows[:, 0])
    model = KernelRidge(kernel="rbf", **LOW | {"n_components": 8, "gamma": 0.05}, n_jobs=1)
    model.fit(rows[:300], target[:300])  # compiled
    tracemalloc.start()
    model.fit(rows, target)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < rows.nbytes
    assert "kernel values" in model.certificate_.distance_note
