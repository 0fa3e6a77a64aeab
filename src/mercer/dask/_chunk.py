"""One chunk of the rows as a worker holds it: checked, weightless rows left out.

Everything here runs on workers and is a function of its arguments alone, so that the scheduler may
compute a chunk again wherever and whenever it likes.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.estimators._validation import Data
from mercer.solvers.linear import LocalMatrix, as_design_matrix

__all__ = [
    "Chunk",
    "ChunkSummary",
    "bind_chunk",
    "encode_chunk",
    "join_chunks",
    "sample_chunk",
    "summarise_chunk",
]

# More distinct labels than this in a chunk are no classes.
_MAX_CLASSES = 10_000


class Chunk:
    """Rows, targets and weights of one chunk.

    Attributes
    ----------
    index : int
        Its place among the chunks.
    X : float array or CSR matrix
    y : array or None
        Labels or targets; after `encode_chunk` the numbers of the classes.
    weight : float64 array or None
        Positive weights; None if all are one.
    rows : int array or None
        The rows of the chunk that are left, if some have no weight.
    n_given : int
        Rows of the chunk with and without weight.
    """

    def __init__(self, index: int, X: Any, y: Any, weight: Any, rows: Any, n_given: int):
        self.index, self.X, self.y, self.weight = index, X, y, weight
        self.rows, self.n_given = rows, n_given
        self._design: LocalMatrix | None = None

    @property
    def n(self) -> int:
        return self.X.shape[0]

    @property
    def d(self) -> int:
        return self.X.shape[1]

    @property
    def design(self) -> LocalMatrix:
        """The rows as the solvers of linear models take them."""
        if self._design is None:
            self._design = as_design_matrix(self.X)
            self.X = self._design.X
        return self._design

    @property
    def data(self) -> Data:
        """As the estimators see it."""
        return Data(self.X, self.y, self.weight, None, self.X.shape)

    def take(self, rows: np.ndarray) -> Chunk:
        """Some of the rows."""
        weight = None if self.weight is None else self.weight[rows]
        y = None if self.y is None else self.y[rows]
        return Chunk(self.index, self.X[rows], y, weight, None, rows.size)

    def with_y(self, y: np.ndarray) -> Chunk:
        return Chunk(self.index, self.X, y, self.weight, self.rows, self.n_given)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_design": None}

    def __sizeof__(self) -> int:  # read by Dask
        return sum(_bytes(part) for part in (self.X, self.y, self.weight, self.rows)) + 200


def _bytes(array: Any) -> int:
    if array is None:
        return 0
    if sp.issparse(array):
        return array.data.nbytes + array.indices.nbytes + array.indptr.nbytes
    return array.nbytes


def bind_chunk(
    index: int, X: Any, y: Any, weight: Any, n_columns: int | None, is_regression: bool
) -> Chunk:
    """Check one chunk; a ValueError names the chunk, the row and the column."""
    where = f"chunk {index}"
    X = _numbers(X, where)
    if n_columns is not None and X.shape[1] != n_columns:
        raise ValueError(f"X has {X.shape[1]} columns in {where}, but {n_columns} in the others.")
    if not sp.issparse(X) and X.dtype != np.float32:
        X = np.asarray(X, np.float64)
    X = X if sp.issparse(X) else np.ascontiguousarray(X)
    _refuse_not_finite(X, "X", where)
    n = X.shape[0]
    if y is not None:
        y = _column(y, "y", n, where)
        if is_regression or y.dtype.kind == "f":
            y = _as_floats(y, "y", where)
            _refuse_not_finite(y, "y", where)
    if weight is None:
        return Chunk(index, X, y, None, None, n)
    weight = _as_floats(_column(weight, "sample_weight", n, where), "sample_weight", where)
    _refuse_not_finite(weight, "sample_weight", where)
    rows = np.flatnonzero(weight > 0)
    if rows.size < n:
        y = None if y is None else y[rows]
        return Chunk(index, X[rows], y, weight[rows], rows, n)
    return Chunk(index, X, y, weight, None, n)


def _numbers(X: Any, where: str) -> Any:
    """An array or CSR matrix of numbers."""
    if sp.issparse(X):
        X = X.tocsr()
        return X if X.dtype == np.float32 else X.astype(np.float64)
    if hasattr(X, "dtypes"):  # a data frame
        kinds = {str(name): getattr(t, "kind", "O") for name, t in X.dtypes.items()}
        words = [name for name, kind in kinds.items() if kind not in "fiub"]
        if words:
            raise ValueError(
                f"column {words[0]!r} of X holds no numbers in {where} (dtype "
                f"{X.dtypes[words[0]]}). Encode categories, or leave the column out."
            )
        X = X.to_numpy(dtype=np.float64, na_value=np.nan)
    X = np.asarray(X)
    if X.ndim != 2 or X.dtype.kind not in "fiub":
        raise ValueError(
            f"X must have rows and columns of numbers, got shape {X.shape} of {X.dtype} in {where}."
        )
    return X


def _column(values: Any, name: str, n: int, where: str) -> np.ndarray:
    array = np.asarray(values)
    array = array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array
    if array.shape != (n,):
        raise ValueError(
            f"{name} has shape {array.shape} in {where}, where X has {n} rows: both must be cut "
            "into the same chunks. Rechunk one of them (y.rechunk(X.chunks[0]))."
        )
    return array


def _as_floats(values: np.ndarray, name: str, where: str) -> np.ndarray:
    try:
        return np.asarray(values, np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must hold numbers in {where}: {error}.") from None


def _refuse_not_finite(values: Any, name: str, where: str) -> None:
    numbers = values.data if sp.issparse(values) else values
    if numbers.dtype.kind != "f" or np.isfinite(numbers).all():
        return
    if sp.issparse(values):
        entry = int(np.flatnonzero(~np.isfinite(numbers))[0])
        row = int(np.searchsorted(values.indptr, entry, side="right")) - 1
        place = f"row {row}, column {values.indices[entry]}"
    else:
        at = np.argwhere(~np.isfinite(values))[0]
        place = f"row {at[0]}" + (f", column {at[1]}" if at.size > 1 else "")
    raise ValueError(
        f"{name} is NaN or infinite in {where}, {place} of that chunk. Fill or drop such rows "
        "(X.fillna, SimpleImputer) first."
    )


@dataclass(frozen=True, eq=False)
class ChunkSummary:
    """What is asked of every chunk before the first round."""

    n: int
    n_given: int
    d: int
    bytes: int
    labels: np.ndarray | None
    label_weights: np.ndarray | None
    total_weight: float
    range: tuple[float, float]  # of numbers as targets
    digest: int = 0  # of rows, targets and weights; 0: not asked for


def summarise_chunk(
    chunk: Chunk, is_classification: bool, wants_digest: bool = False
) -> ChunkSummary:
    """Rows, bytes and, of a classification, labels with the sums of their weights."""
    labels = counts = None
    if is_classification:
        labels, codes = np.unique(chunk.y, return_inverse=True)
        if labels.size > _MAX_CLASSES:
            raise ValueError(
                f"y has {labels.size:,} distinct values in chunk {chunk.index}: these are targets "
                "of a regression, not classes. Use a regressor."
            )
        counts = np.bincount(codes, weights=chunk.weight, minlength=labels.size)
    total = float(chunk.n if chunk.weight is None else chunk.weight.sum())
    ends = (np.inf, -np.inf)
    if chunk.y is not None and chunk.n and not is_classification:
        ends = float(chunk.y.min()), float(chunk.y.max())
    of = chunk.n, chunk.n_given, chunk.d, chunk.__sizeof__(), labels, counts, total, ends
    return ChunkSummary(*of, _digest(chunk) if wants_digest else 0)


def _digest(chunk: Chunk) -> int:
    """A checksum of all that a chunk holds."""
    parts = [chunk.X]
    if sp.issparse(chunk.X):
        parts = [chunk.X.data, chunk.X.indices, chunk.X.indptr]
    total = 0
    for part in (*parts, chunk.y, chunk.weight, chunk.rows):
        if part is not None:
            plain = np.asarray(part, str) if part.dtype == object else part
            total = zlib.crc32(np.ascontiguousarray(plain).tobytes(), total)
    return total


def encode_chunk(chunk: Chunk, classes: np.ndarray) -> Chunk:
    """Labels replaced by the numbers of their classes."""
    return chunk.with_y(np.searchsorted(classes, chunk.y).astype(np.int32))


def sample_chunk(chunk: Chunk, size: int, seed: int) -> Chunk:
    """A random sample of the rows; the same for the same chunk, whoever draws it."""
    rng = np.random.default_rng([seed, chunk.index])
    return chunk.take(np.sort(rng.choice(chunk.n, min(size, chunk.n), replace=False)))


def join_chunks(chunks: list[Chunk]) -> Chunk:
    """Several small chunks as one."""
    chunks = [chunk for chunk in chunks if chunk.n] or chunks[:1]
    stack: Callable = sp.vstack if any(sp.issparse(c.X) for c in chunks) else np.concatenate
    X = stack([chunk.X for chunk in chunks])
    X = X.tocsr() if sp.issparse(X) else X
    y = None if chunks[0].y is None else np.concatenate([chunk.y for chunk in chunks])
    weight = None
    if any(chunk.weight is not None for chunk in chunks):
        weights = [np.ones(c.n) if c.weight is None else c.weight for c in chunks]
        weight = np.concatenate(weights)
    return Chunk(0, X, y, weight, None, X.shape[0])
