"""Any kernel on some columns of a table."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer.kernels._base import LARGEST, OBJECTS, VECTORS, Kernel
from mercer.kernels._composite import OfOne, require_kernel
from mercer.kernels._rounding import Rounding
from mercer.kernels._samples import SampleBlock, Samples
from mercer.kernels.structured._sample_types import as_objects
from mercer.kernels.tables._table import TABLES, Table, read_table

__all__ = ["OnColumns"]


@dataclass(frozen=True, repr=False)
class OnColumns(OfOne, Kernel):
    """k(x, z) = k'(x', z'), with x' some columns of the row x of a table.

    Kernels on rows of numbers (`RBF`, `Linear`, …) take one or more columns of numbers; kernels on
    tables (`Category`, `Equality`, …) one or more columns; kernels on other structures (`Spectrum`,
    …) one column, whose values are the samples. A function of the user on objects gets the value of
    one column, or the row of several: an array if all of them are numbers, otherwise a tuple.
    Kernels on columns add and multiply.

    Columns are found by name in data frames (pandas, polars, Arrow) and mappings of columns, by
    number in arrays and lists of rows.

    **Cost.** That of k'.

    **When.** Tables whose columns need different kernels: one chosen by hand for each part, or
    hundreds of them for `mercer.MKL`.

    Parameters
    ----------
    k : Kernel
    columns : name, number, or a tuple of them, optional
        All columns by default.

    Examples
    --------
    >>> from mercer.kernels import Equality, OnColumns, RBF
    >>> kernel = OnColumns(RBF(gamma=0.01), "age") + OnColumns(Equality(), "sex")
    >>> kernel({"age": [20.0, 30.0], "sex": ["f", "m"]}).round(3)
    array([[2.   , 0.368],
           [0.368, 2.   ]])
    """

    k: Kernel
    columns: Any = None

    sample_type = TABLES

    def __post_init__(self) -> None:
        require_kernel("OnColumns", "k", self.k)
        if any(type(part).__name__ == "Precomputed" for part in (self.k, *_parts(self.k))):
            raise ValueError("OnColumns: a precomputed matrix has no columns to choose from.")
        columns = self.columns
        if isinstance(columns, (list, np.ndarray)):
            columns = tuple(columns)
        if isinstance(columns, tuple):
            columns = tuple(c.item() if isinstance(c, np.generic) else c for c in columns)
            if not columns or len(set(columns)) < len(columns):
                raise ValueError(
                    f"OnColumns: columns must be one or more different ones, got {columns!r}."
                )
            columns = columns[0] if len(columns) == 1 else columns
        object.__setattr__(self, "columns", columns)

    def __repr__(self) -> str:
        chosen = "" if self.columns is None else f", {self.columns!r}"
        return f"OnColumns({self.k!r}{chosen})"

    def read(self, X: Any) -> Any:
        return read_table(X)

    def resolved(self, X: Any) -> Kernel:
        k = self.k.resolved(self._values(read_table(X)))
        return self if k is self.k else replace(self, k=k)

    def _values(self, table: Table) -> Any:
        """The columns as k takes its samples."""
        names = self.columns if isinstance(self.columns, tuple) else (self.columns,)
        part = table if self.columns is None else table.some(names, repr(self))
        if self.k.sample_type == VECTORS:
            return part.numbers(repr(self))
        if self.k.sample_type == TABLES:
            return part
        if len(part.columns) == 1:
            return self.k.read(as_objects(part.columns[0]))
        if self.k.sample_type != OBJECTS:
            raise ValueError(
                f"{self!r}: a sample of {self.k!r} is one value; choose one column, "
                f"got {len(part.columns)}."
            )
        if all(column.dtype.kind == "f" for column in part.columns):
            return part.numbers(repr(self))
        return as_objects(list(zip(*(column.tolist() for column in part.columns), strict=True)))

    def prepare(self, samples: Samples) -> Samples:
        table = read_table(samples.X)
        values = self._values(table)
        try:
            part = self.k.prepare(Samples(values))
        except ValueError as error:
            if self.k.sample_type in (VECTORS, TABLES):
                raise
            raise ValueError(f"column {self.columns!r}: {error}") from None
        return Samples(table).with_parts((part,))

    def cost_per_entry(self, samples: Samples) -> float:
        return self.k.cost_per_entry(samples.part(0))

    def _check_rows(self, points: Samples, largest: float = LARGEST) -> None:
        self.k._check_rows(points.part(0), largest)

    def check(self, points: Samples, largest: float = LARGEST) -> None:
        """That of k'."""
        self.k.check(points.part(0), largest)

    def tile(self, A: SampleBlock, B: SampleBlock, out: np.ndarray) -> None:
        self.k.tile(A.part(0), B.part(0), out)

    def diag(self, A: SampleBlock) -> np.ndarray:
        return self.k.diag(A.part(0))

    def rounding(self, points: Samples, dtype: Any) -> Rounding:
        return self.k.rounding(points.part(0), dtype)

    def magnitude(self, points: Samples) -> np.ndarray:
        return self.k.magnitude(points.part(0))


def _parts(kernel: Kernel) -> list[Any]:
    return [part for part in kernel.get_params(deep=True).values() if isinstance(part, Kernel)]
