"""Kernels of differences of encoded columns: k(x, z) = exp(−γ ‖v(x) − v(z)‖²).

Each column becomes one or more numbers, v(x); a missing value is a further number, its indicator.
Whatever the kinds of the columns, samples are then rows of numbers, and tiles are those of an RBF
kernel: positive semidefinite, and one product of matrices.

Categories are numbered in each data set. Between two data sets the samples of the first are encoded
by the categories of the second; what the second does not have goes to a column of its own, since it
equals none of its categories.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from mercer.kernels._base import LARGEST
from mercer.kernels._rounding import Rounding, unit, within_range
from mercer.kernels._samples import SampleBlock, Samples
from mercer.kernels._stationary import RBF
from mercer.kernels.structured._sparse_features import StructuredKernel
from mercer.kernels.tables._table import TABLES, Table, read_table

__all__ = ["SETTINGS", "ColumnKind", "EncodedKernel", "Levels", "once_for"]

Levels = dict[Hashable, int]


@dataclass(frozen=True)
class EncodingSettings:
    """Attributes: of encoded columns.

    dense_levels : int
        Columns of more categories are sparse.
    error_units : float
        ‖v(x) − v(z)‖² is off by this number of roundings of ‖v(x)‖² + ‖v(z)‖² at most, because v
        is rounded: 32 for scaled and transformed numbers, 176 for positions on a circle.
    """

    dense_levels: int = 512
    error_units: float = 200.0


SETTINGS = EncodingSettings()


def once_for(samples: Samples, others: Samples, make: Callable[[], Any]) -> Any:
    """What ``make`` gives, made once for these two data sets."""
    known = samples.prepared.get("in terms of")
    if known is None or known[0] is not others:
        known = samples.prepared["in terms of"] = others, make()
    return known[1]


class ColumnKind:
    """How the values of a column are encoded; a subclass has a factor ``gamma`` of distances.

    ``of_numbers``: whether the values are numbers.
    """

    gamma: float
    of_numbers: ClassVar[bool] = False

    @abstractmethod
    def encode(
        self, column: np.ndarray, name: Any, owner: str, known: Levels | None
    ) -> tuple[Any, Levels | None]:
        """v of each value without γ, one row each, and the categories with their numbers.

        ``known`` are the categories of another data set, which v is in terms of.
        """


class EncodedKernel(StructuredKernel):
    """A subclass writes `kinds_of`, `distance_factor` and ``encoding``."""

    sample_type = TABLES
    is_psd = is_nonnegative = is_shift_invariant = True

    @abstractmethod
    def kinds_of(self, table: Table) -> Iterable[tuple[Any, ColumnKind, float]]:
        """The names of the columns that are used, their kinds, and a factor of each v."""

    @property
    @abstractmethod
    def distance_factor(self) -> float:
        """γ of the RBF kernel of the encoded rows."""

    @property
    @abstractmethod
    def encoding(self) -> Hashable:
        """What the encoding of a table depends on: not γ, so that all γ share it."""

    @property
    def _rbf(self) -> RBF:
        return RBF(self.distance_factor)

    def read(self, X: Any) -> Any:
        return read_table(X)

    def prepare(self, samples: Samples) -> Samples:
        if samples.prepared.get("encoding") == (type(self), self.encoding):
            return samples
        return self._encoded(read_table(samples.X), {})

    def _encoded(self, table: Table, known: dict[Any, Levels]) -> Samples:
        """The samples as rows of numbers, in terms of known categories."""
        blocks, levels = [], {}
        for name, kind, factor in self.kinds_of(table):
            column = table.column(name, type(self).__name__)
            block, found = kind.encode(column, name, type(self).__name__, known.get(name))
            blocks.append(block * factor)
            if found is not None:
                levels[name] = found
        rows: Any = np.zeros((len(table), 0))
        if any(sp.issparse(block) for block in blocks):
            rows = sp.hstack(blocks, format="csr")
        elif blocks:
            rows = np.hstack(blocks)
        encoded = Samples(rows)
        encoded.prepared.update(encoding=(type(self), self.encoding), table=table, levels=levels)
        return encoded

    def _in_terms_of(self, samples: Samples, others: Samples) -> Samples:
        """The samples encoded by the categories of others."""
        levels = others.prepared["levels"]
        if samples is others or not levels:
            return samples
        return once_for(
            samples, others, lambda: self._encoded(samples.prepared["table"], levels).compared()
        )

    def tile(self, A: SampleBlock, B: SampleBlock, out: np.ndarray) -> None:
        if A.points is not B.points:
            samples = self._in_terms_of(A.points, B.points)
            A = A if samples is A.points else samples.take(A.index, A.dtype)
        self._rbf.tile(A, B, out)

    def is_map_of_products(self, samples: Samples) -> bool:
        is_own = samples.prepared.get("encoding") == (type(self), self.encoding)
        return is_own and self._rbf.is_map_of_products(samples)

    def map_products(self, A: SampleBlock, B: SampleBlock, out: np.ndarray) -> None:
        self._rbf.map_products(A, B, out)

    def diag(self, A: SampleBlock) -> np.ndarray:
        return np.ones(len(A))

    def cost_per_entry(self, samples: Samples) -> float:
        return self._rbf.cost_per_entry(samples)

    def _check_rows(self, points: Samples, largest: float = LARGEST) -> None:
        self._rbf._check_rows(points, largest)

    def rounding(self, points: Samples, dtype: Any) -> Rounding:
        """That of the RBF kernel, and that of v itself."""
        own = 1.1 * self.distance_factor * SETTINGS.error_units * unit(np.float64)
        of_rbf = self._rbf.rounding(points, dtype)
        relative = of_rbf.relative + own * points.sq_norms
        return within_range(Rounding(relative, of_rbf.pairs), np.ones(points.n))
