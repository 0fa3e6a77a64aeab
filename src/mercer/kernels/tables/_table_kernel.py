"""One kernel for all columns of a table: `TableKernel`, and the product of the columns' kernels."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mercer.kernels._base import Kernel, real
from mercer.kernels._composite import OfOne
from mercer.kernels._rounding import Rounding
from mercer.kernels._samples import SampleBlock, Samples
from mercer.kernels.tables._additive import ColumnMean, Columns, check_columns
from mercer.kernels.tables._column_kinds import Ordered
from mercer.kernels.tables._encoded import ColumnKind, EncodedKernel
from mercer.kernels.tables._proposal import Proposal, propose
from mercer.kernels.tables._table import TABLES, Table, is_missing, numbers_of, read_table

__all__ = ["ColumnProduct", "TableKernel"]


@dataclass(frozen=True, repr=False)
class ColumnProduct(EncodedKernel):
    """k(x, z) = Π_c k_c(x_c, z_c)^(γ/d), with k_c the kernels of d columns.

    All k_c are RBF kernels of encoded columns, so that the product is one RBF kernel of all encoded
    columns. Two samples are similar if they are similar in all columns.

    **Cost.** That of an RBF kernel with the encoded columns: one product of matrices.

    **When.** As a part of `TableKernel`, or alone where all columns act together.

    Parameters
    ----------
    columns : mapping of names to Number, Category, Ordered or Cyclic, or a tuple of such pairs
    gamma : float ≥ 0, default=1

    Examples
    --------
    >>> from mercer.kernels import Category, ColumnProduct, Number
    >>> kernel = ColumnProduct({"age": Number(scale=10), "sex": Category()}, gamma=2)
    >>> kernel({"age": [20, 30], "sex": ["f", "m"]}).round(3)
    array([[1.   , 0.135],
           [0.135, 1.   ]])
    """

    columns: Columns
    gamma: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", check_columns("ColumnProduct", self.columns))
        object.__setattr__(self, "gamma", real("ColumnProduct", "gamma", self.gamma, least=0))

    def kinds_of(self, table: Table) -> Iterable[tuple[Any, ColumnKind, float]]:
        return [(name, kind, float(np.sqrt(kind.gamma))) for name, kind in self.columns]

    @property
    def distance_factor(self) -> float:
        return self.gamma / len(self.columns)

    @property
    def encoding(self) -> Hashable:
        return self.columns


@dataclass(frozen=True, repr=False)
class TableKernel(OfOne, Kernel):
    """k(x, z) = a Π_c k_c(x_c, z_c)^(γ/d) + (1 − a) (1/d) Σ_c k_c(x_c, z_c)^μ over d columns.

    Each column has a kernel of its kind: `Number`, `Category`, `Ordered` or `Cyclic`, all of which
    take missing values. The product is large for samples that are similar in all columns, the mean
    for samples that are similar in some; a = ``interaction`` mixes both.

    `TableKernel.from_frame` proposes the kinds of all columns of a data frame and learns their
    scales; ``print(kernel)`` shows them with the reasons. Without ``columns`` a fit proposes them
    from the training samples, so that ``SVC(kernel=TableKernel())`` needs no preprocessing.

    Columns are found by name (of arrays: number); others may be there in any order. A category that
    training did not have equals none of training's; a missing value is one of its own.

    **Cost.** That of an RBF kernel with one column for each category and two for each number, and
    an exponential for each number if interaction < 1.

    **When.** Tables with columns of several kinds. Kernels on other columns (texts, sets) are
    added or multiplied with `OnColumns`.

    Parameters
    ----------
    columns : mapping of names to kinds, or a tuple of such pairs, optional
    gamma : float ≥ 0, default=1
        γ, of the product.
    interaction : float from 0 to 1, default=0.5
        a: 1 is the product alone (an RBF kernel), 0 the mean alone.
    mean_gamma : float ≥ 0, default=1
        μ, of the mean.
    why : tuple of pairs
        The reason for each column, which is printed.

    Examples
    --------
    >>> from mercer.kernels import Ordered, TableKernel
    >>> table = {"age": [20, 30, None, 50], "size": ["S", "L", "M", "S"]}
    >>> kernel = TableKernel.from_frame(table)
    >>> print(kernel)
    TableKernel, gamma=1, interaction=0.5, mean_gamma=1
    column  kind      kernel                                     why
    age     Number    Number(gamma=0.5, centre=33.33, scale=12.47)  3 different numbers, 1 missing
    size    Category  Category()                                 3 categories
    >>> kernel = kernel.with_columns({"size": Ordered(("S", "M", "L"))})
    """

    columns: Columns | None = None
    gamma: float = 1.0
    interaction: float = 0.5
    mean_gamma: float = 1.0
    why: tuple[tuple[Any, str], ...] = field(default=(), compare=False, repr=False)

    sample_type = TABLES

    def __post_init__(self) -> None:
        for name in ("gamma", "interaction", "mean_gamma"):
            value = real("TableKernel", name, getattr(self, name), least=0)
            object.__setattr__(self, name, value)
        if self.interaction > 1:
            raise ValueError(f"TableKernel: interaction must be at most 1, got {self.interaction}.")
        if self.columns is not None:
            object.__setattr__(self, "columns", check_columns("TableKernel", self.columns))
            object.__setattr__(self, "_composed", self._compose())

    @classmethod
    def from_frame(cls, X: Any, **parameters: Any) -> TableKernel:
        """The kernel with a kind for each column of a data frame (mapping, array, list of rows).

        Parameters
        ----------
        X : data frame, mapping of columns, array, or list of rows
            Training samples, without the target. Scales are learned from them.
        **parameters
            Of the kernel: ``gamma``, ``interaction``, ``mean_gamma``.

        Returns
        -------
        TableKernel
        """
        proposal = propose(read_table(X))
        return cls(columns=proposal.columns, why=proposal.why, **parameters)

    def _compose(self) -> Kernel:
        assert self.columns is not None
        product, mean = ColumnProduct(self.columns, self.gamma), None
        if self.interaction < 1:
            mean = ColumnMean(self.columns, self.mean_gamma)
        if mean is None or self.interaction == 0:
            return mean or product
        return self.interaction * product + (1 - self.interaction) * mean

    @property
    def k(self) -> Kernel:  # type: ignore[override]
        """The kernel written out with `ColumnProduct` and `ColumnMean`."""
        if self.columns is None:
            raise ValueError(
                "TableKernel has no columns yet: fit an estimator with it, or use "
                "TableKernel.from_frame(X)."
            )
        return self._composed  # type: ignore[attr-defined]

    def with_columns(self, columns: Mapping[Any, ColumnKind | None]) -> TableKernel:
        """The kernel with other kinds for some columns; None leaves a column out."""
        kinds = dict(self.columns or ()) | dict(columns)
        kept = {name: kind for name, kind in kinds.items() if kind is not None}
        reasons = dict(self.why) | dict.fromkeys(columns, "given")
        return replace(self, columns=check_columns("TableKernel", kept), why=tuple(reasons.items()))

    def read(self, X: Any) -> Any:
        """The table, with all columns that the kernel has, and numbers where it compares these."""
        table = read_table(X)
        for name, kind in self.columns or ():
            column = table.column(name, "TableKernel")
            if kind.of_numbers:
                numbers_of(column, name, "TableKernel")
        return table

    def resolved(self, X: Any) -> Kernel:
        if self.columns is not None:
            _check_levels(self.columns, read_table(X))
            return self
        own = {"gamma": self.gamma, "interaction": self.interaction}
        return type(self).from_frame(X, mean_gamma=self.mean_gamma, **own)

    def is_map_of_products(self, samples: Samples) -> bool:
        return self.k.is_map_of_products(samples)

    def map_products(self, A: SampleBlock, B: SampleBlock, out: np.ndarray) -> None:
        self.k.map_products(A, B, out)

    def tile(self, A: SampleBlock, B: SampleBlock, out: np.ndarray) -> None:
        self.k.tile(A, B, out)

    def diag(self, A: SampleBlock) -> np.ndarray:
        return self.k.diag(A)

    def rounding(self, points: Samples, dtype: Any) -> Rounding:
        return self.k.rounding(points, dtype)

    def magnitude(self, points: Samples) -> np.ndarray:
        return self.k.magnitude(points)

    is_psd = is_nonnegative = is_shift_invariant = True
    _has_formula = _is_symmetric = True

    def __str__(self) -> str:
        names = ("gamma", "interaction", "mean_gamma")
        head = "TableKernel, " + ", ".join(f"{name}={getattr(self, name):g}" for name in names)
        if self.columns is None:
            return f"{head}; columns are proposed at fit"
        return f"{head}\n{Proposal(self.columns, self.why).table()}"


def _check_levels(columns: Columns, table: Table) -> None:
    """Raise a ValueError if a training column has none of the levels that were given for it."""
    for name, kind in columns:
        if isinstance(kind, Ordered):
            column = table.column(name, "TableKernel")
            values = dict.fromkeys(value for value in column if not is_missing(value))
            if values and not set(values) & set(kind.levels):
                raise ValueError(
                    f"TableKernel: column {name!r} has none of the levels {kind.levels}; its "
                    f"values are {', '.join(map(repr, list(values)[:5]))}."
                )
