"""Kernels on columns of one kind: numbers, categories, ordered categories, numbers on a circle."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.kernels._base import real
from mercer.kernels.tables._encoded import SETTINGS, ColumnKind, EncodedKernel, Levels
from mercer.kernels.tables._table import Table, numbers_of

__all__ = ["Category", "Cyclic", "Number", "Ordered", "codes_of"]


@dataclass(frozen=True, repr=False)
class OneKind(ColumnKind, EncodedKernel):
    """A kernel that takes all columns of a table as of one kind."""

    def __post_init__(self) -> None:
        for name, least in (("gamma", 0.0), ("missing", 0.0)):
            if hasattr(self, name):
                value = real(type(self).__name__, name, getattr(self, name), least=least)
                object.__setattr__(self, name, value)

    def kinds_of(self, table: Table) -> Iterable[tuple[Any, ColumnKind, float]]:
        return [(name, self, 1.0) for name in table.names]

    @property
    def distance_factor(self) -> float:
        return self.gamma

    @property
    def encoding(self) -> Hashable:
        return self.set_params(gamma=1.0)


def _with_indicator(values: np.ndarray, is_missing: np.ndarray, weight: float) -> np.ndarray:
    """Columns of numbers, 0 where they are missing, and the indicator √weight · [missing]."""
    values = np.where(is_missing[:, None], 0.0, values)
    return np.column_stack([values, np.sqrt(weight) * is_missing])


@dataclass(frozen=True, repr=False)
class Number(OneKind):
    """k(x, z) = exp(−γ ((t(x) − t(z))² + missing · [one of the two is missing])).

    t(x) = (x − centre)/scale, or asinh of it with ``squash``; t of a missing value is 0, that of
    the centre. It is the RBF kernel of the pair (t(x), √missing · [x is missing]), so that missing
    values keep it positive semidefinite. With missing=0 a missing value counts as the centre.
    Of several columns it is the product.

    **Cost.** That of an RBF kernel with two columns for each column.

    **When.** Columns of numbers, with or without missing values. ``squash`` is for amounts whose
    largest values are far from the others: it is linear near the centre and a logarithm far away.

    Parameters
    ----------
    gamma : float ≥ 0, default=1
    centre : float, default=0
    scale : float > 0, default=1
    missing : float ≥ 0, default=1
        Squared distance of a missing value and the centre.
    squash : bool, default=False

    Examples
    --------
    >>> from mercer.kernels import Number
    >>> Number(gamma=0.5)([1.0, 2.0, None]).round(3)
    array([[1.   , 0.607, 0.368],
           [0.607, 1.   , 0.082],
           [0.368, 0.082, 1.   ]])
    """

    of_numbers = True

    gamma: float = 1.0
    centre: float = 0.0
    scale: float = 1.0
    missing: float = 1.0
    squash: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "centre", real("Number", "centre", self.centre))
        scale = real("Number", "scale", self.scale, least=0, open_left=True)
        object.__setattr__(self, "scale", scale)
        if not isinstance(self.squash, (bool, np.bool_)):
            raise ValueError(f"Number: squash must be True or False, got {self.squash!r}.")

    def encode(
        self, column: np.ndarray, name: Any, owner: str, known: Levels | None
    ) -> tuple[Any, Levels | None]:
        values = numbers_of(column, name, owner)
        with np.errstate(over="ignore"):  # reported by Kernel.check
            t = (values - self.centre) / self.scale
        t = np.arcsinh(t) if self.squash else t
        return _with_indicator(t[:, None], np.isnan(values), self.missing), None


@dataclass(frozen=True, repr=False)
class Category(OneKind):
    """k(x, z) = exp(−γ [x ≠ z]); a missing value is a category of its own.

    It is the RBF kernel of 0/1 columns, one for each category, divided by √2. Of several columns it
    is exp(−γ times the number of columns that differ). A category that training did not have equals
    none of training's.

    **Cost.** That of an RBF kernel with one column for each category.

    **When.** Categories, as a factor of a kernel on a table. `Equality` is the kernel [x = z]
    itself, for sums.

    Parameters
    ----------
    gamma : float ≥ 0, default=1

    Examples
    --------
    >>> from mercer.kernels import Category
    >>> Category()(["red", "blue", None]).round(3)
    array([[1.   , 0.368, 0.368],
           [0.368, 1.   , 0.368],
           [0.368, 0.368, 1.   ]])
    """

    gamma: float = 1.0

    def encode(
        self, column: np.ndarray, name: Any, owner: str, known: Levels | None
    ) -> tuple[Any, Levels | None]:
        codes, levels = codes_of(column, name, owner, known)
        n, width = len(column), len(levels) + 1
        if width > SETTINGS.dense_levels:
            parts = np.full(n, np.sqrt(0.5)), codes, np.arange(n + 1)
            return sp.csr_matrix(parts, shape=(n, width)), levels
        rows = np.zeros((n, width))
        rows[np.arange(n), codes] = np.sqrt(0.5)
        return rows, levels


def codes_of(
    column: np.ndarray, name: Any, owner: str, known: Levels | None
) -> tuple[np.ndarray, Levels]:
    """Numbers of categories, None among them; those that are not known have the next number."""
    if column.dtype.kind == "f":
        values, inverse = np.unique(column, return_inverse=True)
        items: list[Any] = [None if value != value else value for value in values.tolist()]
    else:
        items, inverse = column.tolist(), None
    levels: Levels = {} if known is None else known
    new = len(levels)
    codes = np.empty(len(items), np.int64)
    for row, item in enumerate(items):
        try:
            found = levels.setdefault(item, len(levels)) if known is None else levels.get(item, new)
        except TypeError:
            raise ValueError(
                f"{owner}: column {name!r} has {repr(item)[:40]} in row {row}, which is no "
                "category (not hashable). Use OnColumns with a kernel on such values."
            ) from None
        codes[row] = found
    return codes if inverse is None else codes[inverse], levels


@dataclass(frozen=True, repr=False)
class Ordered(OneKind):
    """k(x, z) = exp(−γ ((r(x) − r(z))² + missing · [one is missing])), r the rank from 0 to 1.

    Values that are not among the levels, and missing ones, have the rank ½ and an indicator, as in
    `Number`.

    **Cost.** That of an RBF kernel with two columns for each column.

    **When.** Categories with an order: grades, sizes, age groups.

    Parameters
    ----------
    levels : tuple
        Two or more values in their order.
    gamma : float ≥ 0, default=1
    missing : float ≥ 0, default=1
        Squared distance of a missing value and the middle.

    Examples
    --------
    >>> from mercer.kernels import Ordered
    >>> Ordered(levels=("low", "medium", "high"))(["low", "medium", "high"]).round(3)
    array([[1.   , 0.779, 0.368],
           [0.779, 1.   , 0.779],
           [0.368, 0.779, 1.   ]])
    """

    levels: tuple[Any, ...] = (False, True)
    gamma: float = 1.0
    missing: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        levels = tuple(self.levels)
        if len(levels) < 2 or len(set(levels)) < len(levels):
            raise ValueError(f"Ordered: levels must be two or more different values, got {levels}.")
        object.__setattr__(self, "levels", levels)

    def encode(
        self, column: np.ndarray, name: Any, owner: str, known: Levels | None
    ) -> tuple[Any, Levels | None]:
        codes, _ = codes_of(column, name, owner, {level: i for i, level in enumerate(self.levels)})
        last = len(self.levels) - 1
        ranks = codes / last - 0.5
        return _with_indicator(ranks[:, None], codes > last, self.missing), None


@dataclass(frozen=True, repr=False)
class Cyclic(OneKind):
    """k(x, z) = exp(−γ (sin²(π (x − z)/period) + missing · [one of the two is missing])).

    The RBF kernel of half the position on the circle: x and x + period are the same. A missing
    value lies at the centre of the circle, with an indicator, as in `Number`; its squared distance
    to every other value is ¼ + missing.

    **Cost.** That of an RBF kernel with three columns for each column.

    **When.** Hours, weekdays, months, angles.

    Parameters
    ----------
    period : float > 0, default=1
    gamma : float ≥ 0, default=1
    missing : float ≥ 0, default=1

    Examples
    --------
    >>> from mercer.kernels import Cyclic
    >>> Cyclic(period=24)([0, 12, 23.5]).round(3)
    array([[1.   , 0.368, 0.996],
           [0.368, 1.   , 0.369],
           [0.996, 0.369, 1.   ]])
    """

    period: float = 1.0
    of_numbers = True

    gamma: float = 1.0
    missing: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        period = real("Cyclic", "period", self.period, least=0, open_left=True)
        object.__setattr__(self, "period", period)

    def encode(
        self, column: np.ndarray, name: Any, owner: str, known: Levels | None
    ) -> tuple[Any, Levels | None]:
        values = numbers_of(column, name, owner)
        angle = 2 * np.pi * (np.fmod(values, self.period) / self.period)
        circle = np.column_stack([np.cos(angle), np.sin(angle)]) / 2
        return _with_indicator(circle, np.isnan(values), self.missing), None
