"""Kernels with explicit sparse features: k(x, z) = φ(x)·φ(z), as products of sparse rows.

A kernel gives the features of each sample once per data set (`features`); from then on its samples
are CSR rows, and tiles, norms and rounding bounds are those of a linear kernel on sparse rows.

Columns number the features that occur in one data set. Between two data sets (new samples and
support vectors) the rows of the first are brought into the columns of the second; a feature that
the second does not have adds nothing to a product.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.kernels._base import LARGEST, Kernel
from mercer.kernels._compiled.products import DENSE_FROM, products
from mercer.kernels._dot_product import Linear
from mercer.kernels._rounding import Rounding
from mercer.kernels._samples import SampleBlock, Samples
from mercer.kernels.structured._sample_types import as_objects

__all__ = ["Features", "SparseFeatureKernel", "StructuredKernel"]

_LINEAR = Linear()


class StructuredKernel(Kernel):
    """A kernel on samples that are no rows of numbers; a subclass has its ``sample_type``."""

    def read(self, X: Any) -> Any:
        return as_objects(X)

    def _check_rows(self, points: Samples, largest: float = LARGEST) -> None:
        """They were checked when they were prepared."""


@dataclass(frozen=True, eq=False)
class Features:
    """The features of the samples of one data set.

    Attributes
    ----------
    matrix : CSR of shape (n, d)
    column_keys : function
        Without arguments; gives a hashable key for each column, equal for equal features of any
        two data sets. It is called only if two data sets are compared.
    """

    matrix: sp.csr_matrix
    column_keys: Callable[[], list[Hashable]]

    @cached_property
    def _index(self) -> dict[Hashable, int]:
        return {key: column for column, key in enumerate(self.column_keys())}

    def columns_in(self, others: Any) -> np.ndarray:
        """The column that each of these features has among those of another data set; or −1."""
        index = others._index
        return np.array([index.get(key, -1) for key in self.column_keys()], dtype=np.int32)


class SparseFeatureKernel(StructuredKernel):
    """k(x, z) = φ(x)·φ(z) with sparse φ; a subclass writes ``features`` and ``sample_type``."""

    is_psd = True

    @abstractmethod
    def features(self, samples: Any) -> Features:
        """The features of the samples, which are checked here."""

    def prepare(self, samples: Samples) -> Samples:
        found = self.features(samples.X)
        prepared = Samples(_suitable(found.matrix))
        prepared.prepared["features"] = found
        return prepared

    def tile(self, A: SampleBlock, B: SampleBlock, out: np.ndarray) -> None:
        if A.points is not B.points:
            A = _in_columns_of(A.points, B.points).take(A.index, A.dtype)
        products(A, B, out)

    def rows(self, samples: Samples, others: Samples) -> Any:
        """φ of prepared samples in the columns of others, in float64."""
        found = samples if samples is others else _in_columns_of(samples, others)
        return found.X.astype(np.float64)

    def diag(self, A: SampleBlock) -> np.ndarray:
        return _LINEAR.diag(A)

    def rounding(self, points: Samples, dtype: Any) -> Rounding:
        """Sums of integers that ``dtype`` holds are exact."""
        if points.are_exact(dtype):
            return Rounding.of(0.0, points.n)
        return _LINEAR.rounding(points, dtype)

    def feature_map(self, X: Any, *, degree: int | None = None, max_bytes: float = 1e9) -> Any:
        """The features of the samples as CSR; columns are the features that occur in X."""
        if degree is not None:
            raise ValueError(f"{self!r} has a finite feature map; degree is that of RBF kernels.")
        matrix = self.features(self.read(X)).matrix
        if matrix.data.nbytes + matrix.indices.nbytes > max_bytes:
            raise ValueError(f"The features take more than max_bytes={max_bytes:g}.")
        return matrix.astype(np.float64)

    def feature_map_error(self, X: Any, *, degree: int | None = None) -> np.ndarray:
        """Zero: the map is exact."""
        return np.zeros(len(self.read(X)))


def _suitable(matrix: sp.csr_matrix) -> Any:
    """CSR, or an array if few entries are zero: products are faster then."""
    n, d = matrix.shape
    return matrix.toarray() if matrix.nnz > DENSE_FROM * n * d else matrix


def _in_columns_of(samples: Samples, others: Samples) -> Samples:
    """The samples with the columns of ``others``, made once for these two."""
    known = samples.prepared.get("in columns of")
    if known is None or known[0] is not others:
        found: Features = samples.prepared["features"]
        new = found.columns_in(others.prepared["features"])
        known = others, Samples(_with_columns(found.matrix, new, others))
        samples.prepared["in columns of"] = known
    return known[1]


def _with_columns(matrix: sp.csr_matrix, new: np.ndarray, others: Samples) -> Any:
    """The matrix with column j as column ``new[j]``; those below 0 are left out."""
    columns = new[matrix.indices] if new.size else matrix.indices
    kept = columns >= 0
    indptr = np.concatenate([[0], np.cumsum(kept)])[matrix.indptr]
    parts = matrix.data[kept], columns[kept], indptr.astype(np.int32)
    moved = sp.csr_matrix(parts, shape=(matrix.shape[0], others.d))
    moved.sort_indices()
    return moved if others.is_sparse else moved.toarray()
