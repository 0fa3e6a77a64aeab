"""The mean of the kernels of all columns: k(x, z) = (1/d) Σ_c exp(−γ γ_c ‖v_c(x) − v_c(z)‖²).

Numbers are encoded as in `_encoded`; categories stay codes, whose kernel is 1 where they are equal,
else e^(−γ γ_c). A tile is one pass of compiled code over all columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.kernels._base import LARGEST, real
from mercer.kernels._compiled.column_means import column_sums32, column_sums64
from mercer.kernels._compiled.elementwise import flat_rows
from mercer.kernels._rounding import Rounding, unit
from mercer.kernels._samples import SampleBlock, Samples
from mercer.kernels.structured._sparse_features import StructuredKernel
from mercer.kernels.tables._column_kinds import Category, codes_of
from mercer.kernels.tables._encoded import SETTINGS, ColumnKind, once_for
from mercer.kernels.tables._table import TABLES, Table, read_table

__all__ = ["ColumnMean", "check_columns"]

Columns = tuple[tuple[Any, ColumnKind], ...]


def check_columns(owner: str, columns: Any) -> Columns:
    """Pairs of name and kind, from a mapping or such pairs."""
    pairs = tuple(columns.items() if isinstance(columns, Mapping) else columns)
    for pair in pairs:
        if not (isinstance(pair, (tuple, list)) and len(pair) == 2):
            raise ValueError(f"{owner}: columns must map names to kinds, got {pair!r}.")
        if not isinstance(pair[1], ColumnKind):
            raise ValueError(
                f"{owner}: column {pair[0]!r} must be a Number, Category, Ordered or Cyclic, got "
                f"{pair[1]!r}. Other kernels are added or multiplied: OnColumns(k, {pair[0]!r})."
            )
    names = [name for name, _ in pairs]
    if not names or len(set(names)) < len(names):
        raise ValueError(f"{owner}: columns must be one or more, with different names.")
    return tuple((name, kind) for name, kind in pairs)


@dataclass(frozen=True, eq=False)
class _Encoded:
    """Columns of a data set: numbers by groups, and codes of categories."""

    values: np.ndarray  # n × columns of all groups
    starts: np.ndarray  # of the groups
    is_used: np.ndarray  # columns that are not 0 throughout
    codes: np.ndarray  # n × categories
    levels: list[dict]


@dataclass(frozen=True, repr=False)
class ColumnMean(StructuredKernel):
    """k(x, z) = (1/d) Σ_c k_c(x_c, z_c)^γ, with k_c the kernels of d columns.

    Every column adds its own similarity, so that a model is a sum of functions of single columns.

    **Cost.** An exponential for each column of numbers, a comparison for each category.

    **When.** As a part of `TableKernel`, or alone where columns act one by one.

    Parameters
    ----------
    columns : mapping of names to Number, Category, Ordered or Cyclic, or a tuple of such pairs
    gamma : float ≥ 0, default=1

    Examples
    --------
    >>> from mercer.kernels import Category, ColumnMean, Number
    >>> kernel = ColumnMean({"age": Number(scale=10), "sex": Category()})
    >>> kernel({"age": [20, 30], "sex": ["f", "m"]}).round(3)
    array([[1.   , 0.368],
           [0.368, 1.   ]])
    """

    columns: Columns
    gamma: float = 1.0

    sample_type = TABLES
    is_psd = is_nonnegative = is_shift_invariant = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", check_columns("ColumnMean", self.columns))
        object.__setattr__(self, "gamma", real("ColumnMean", "gamma", self.gamma, least=0))

    def read(self, X: Any) -> Any:
        return read_table(X)

    def prepare(self, samples: Samples) -> Samples:
        table = read_table(samples.X)
        prepared = Samples(table)
        prepared.prepared["encoded"] = self._encode(table, None)
        return prepared

    def _numbers(self) -> list[tuple[Any, ColumnKind]]:
        return [pair for pair in self.columns if not isinstance(pair[1], Category)]

    def _categories(self) -> list[tuple[Any, ColumnKind]]:
        return [pair for pair in self.columns if isinstance(pair[1], Category)]

    def _encode(self, table: Table, known: list[dict] | None) -> _Encoded:
        owner, n = "ColumnMean", len(table)
        blocks = [
            kind.encode(table.column(name, owner), name, owner, None)[0]
            for name, kind in self._numbers()
        ]
        starts = np.cumsum([0, *(block.shape[1] for block in blocks)])
        values = np.hstack(blocks) if blocks else np.zeros((n, 0))
        codes = np.zeros((n, len(self._categories())), np.int32)
        levels = []
        for c, (name, _) in enumerate(self._categories()):
            own = None if known is None else known[c]
            codes[:, c], found = codes_of(table.column(name, owner), name, owner, own)
            levels.append(found)
        return _Encoded(values, starts, np.any(values != 0, axis=0), codes, levels)

    def _in_terms_of(self, samples: Samples, others: Samples) -> _Encoded:
        """The samples by the categories of others."""
        if samples is others:
            return samples.prepared["encoded"]
        levels = others.prepared["encoded"].levels
        return once_for(samples, others, lambda: self._encode(samples.X, levels))

    def tile(self, A: SampleBlock, B: SampleBlock, out: np.ndarray) -> None:
        mine, theirs = self._in_terms_of(A.points, B.points), B.points.prepared["encoded"]
        dtype, d = out.dtype.type, len(self.columns)
        used = np.flatnonzero(mine.is_used | theirs.is_used)
        # Groups whose columns are all 0 are 1 for every pair.
        starts = np.searchsorted(used, mine.starts)
        gammas = self.gamma * np.array([kind.gamma for _, kind in self._numbers()])
        is_empty = starts[1:] == starts[:-1]
        unequal = np.exp(-self.gamma * np.array([kind.gamma for _, kind in self._categories()]))
        base = (unequal.sum() + np.count_nonzero(is_empty)) / d
        starts = np.append(starts[:-1][~is_empty], starts[-1])
        fill = column_sums32 if out.dtype == np.float32 else column_sums64
        fill(
            *flat_rows(out),
            dtype(base),
            mine.values[A.row_numbers][:, used].astype(dtype),
            np.ascontiguousarray(theirs.values[B.row_numbers][:, used].T, dtype=dtype),
            starts,
            gammas[~is_empty].astype(dtype),
            dtype(1 / d),
            mine.codes[A.row_numbers],
            np.ascontiguousarray(theirs.codes[B.row_numbers].T),
            ((1 - unequal) / d).astype(dtype),
        )

    def diag(self, A: SampleBlock) -> np.ndarray:
        return np.ones(len(A))

    def cost_per_entry(self, samples: Samples) -> float:
        return 1.0 + 40 * len(self._numbers()) + 4 * len(self._categories())

    def _check_rows(self, points: Samples, largest: float = LARGEST) -> None:
        values = points.prepared["encoded"].values
        bad = np.flatnonzero(~(np.abs(values).max(axis=1, initial=0.0) <= np.sqrt(largest)))
        if bad.size:
            raise ValueError(
                f"Row {bad[0]} is too far from the centre of its columns to be computed with. Use "
                "larger scales."
            )

    def rounding(self, points: Samples, dtype: Any) -> Rounding:
        """Terms lie within 0 and 1, and their sum has a relative rounding.

        v is off by a few roundings of itself, and s e^(−s²) < ½ for s² = γ‖v(x) − v(z)‖²: the term
        is off by ``√γ (|v(x)| + |v(z)|)`` times these.
        """
        encoded: _Encoded = points.prepared["encoded"]
        u, d = unit(dtype), len(self.columns)
        of_v = 2 * u + SETTINGS.error_units / 16 * unit(np.float64)
        total = np.full(points.n, 8.0 * u)
        for g, (_, kind) in enumerate(self._numbers()):
            columns = slice(encoded.starts[g], encoded.starts[g + 1])
            size = np.sqrt((encoded.values[:, columns] ** 2).sum(axis=1))
            total += np.sqrt(self.gamma * kind.gamma) * size * of_v / d
        return Rounding.of((d + 8) * u, points.n, (1.1 * total, np.ones(points.n)))

    def magnitude(self, points: Samples) -> np.ndarray:
        return np.full(points.n, 1.1)
