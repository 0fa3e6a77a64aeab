"""From a table to a kind for each of its columns: what the values are, and how they are spread."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from mercer.kernels.tables._column_kinds import Category, Cyclic, Number, Ordered
from mercer.kernels.tables._encoded import ColumnKind
from mercer.kernels.tables._table import Table, numbers_of

__all__ = ["Proposal", "propose"]


@dataclass(frozen=True)
class ProposalSettings:
    """Attributes: how kinds are told apart, and their factors of squared distances.

    number_gamma, category_gamma, cyclic_gamma : float
        γ_c: a typical pair of numbers has the squared distance 2 in scaled numbers.
    far : float
        Numbers are squashed if the largest lies beyond this number of scales from the median.
    identifiers : float
        Texts are identifiers if more than this fraction of them is different.
    few_rows : int
        Below this number of values nothing is taken for an identifier.
    periods : tuple
        Words in names of columns, the least and the largest value, and the period.
    """

    number_gamma: float = 0.5
    category_gamma: float = 1.0
    cyclic_gamma: float = 2.0
    far: float = 5.0
    identifiers: float = 0.5
    few_rows: int = 20
    periods: tuple = (
        ("month|mo_", 1, 12, 12.0),
        ("hour", 0, 24, 24.0),
        ("weekday|day_of_week|dayofweek", 0, 7, 7.0),
        ("minute|second", 0, 60, 60.0),
    )


SETTINGS = ProposalSettings()


@dataclass(frozen=True, eq=False)
class Proposal:
    """Kinds of columns, and the reasons (also those for columns that are left out)."""

    columns: tuple[tuple[Any, ColumnKind], ...]
    why: tuple[tuple[Any, str], ...]

    def table(self) -> str:
        """One line for each column."""
        kinds, reasons = dict(self.columns), dict(self.why)
        lines = [("column", "kind", "kernel", "why")]
        for name in dict.fromkeys((*kinds, *reasons)):
            kind = kinds.get(name)
            what = ("left out", "") if kind is None else (type(kind).__name__, _shown(kind))
            lines.append((str(name), *what, reasons.get(name, "given")))
        widths = [max(len(line[j]) for line in lines) for j in range(4)]
        return "\n".join(
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
            for line in lines
        )


def _shown(kind: Any) -> str:
    """The parameters that are not the defaults, with four digits."""
    parts = []
    for each in fields(kind):
        value = getattr(kind, each.name)
        if value != each.default:
            number = isinstance(value, float)
            parts.append(f"{each.name}={value:.4g}" if number else f"{each.name}={value!r}")
    return f"{type(kind).__name__}({', '.join(parts)})"


def propose(table: Table) -> Proposal:
    """A kind for each column that has two or more values."""
    orders = dict(table.orders)
    if len(table) == 0:
        raise ValueError("TableKernel.from_frame needs at least one row, got none.")
    kinds, why = [], []
    for name, column in zip(table.names, table.columns, strict=True):
        kind, reason = _kind(name, column, orders.get(name, ()))
        if kind is not None:
            kinds.append((name, kind))
        why.append((name, reason))
    if not kinds:
        shown = "; ".join(f"{name!r}: {reason}" for name, reason in why[:5])
        raise ValueError(f"TableKernel.from_frame found no column to compare by ({shown}).")
    return Proposal(tuple(kinds), tuple(why))


def _kind(name: Any, column: np.ndarray, order: tuple) -> tuple[ColumnKind | None, str]:
    """``order``: the values in their order, if there is one."""
    if column.dtype.kind == "f":
        numbers_of(column, name, "TableKernel.from_frame")  # infinity is refused
        present = column[~np.isnan(column)]
        missing = len(column) - present.size
        different = np.unique(present).size
    else:
        values = [value for value in column if value is not None]
        missing = len(column) - len(values)
        try:
            different = len(set(values))
        except TypeError:
            return None, "values that are no categories; use OnColumns with a kernel on them"
    more = f", {missing} missing" if missing else ""
    if different + bool(missing) < 2:
        return None, "one value only" + more
    if order and different > 1:
        return _of_order(column, order), f"{different} ordered categories{more}"
    if column.dtype.kind == "f":
        return _of_numbers(name, present, different, more)
    if different > SETTINGS.identifiers * len(values) and len(values) > SETTINGS.few_rows:
        example = f"OnColumns(Normalize(Spectrum(3)), {name!r})"
        return None, f"{different} different values of {len(values)}: identifiers; or {example}"
    return Category(SETTINGS.category_gamma), f"{different} categories{more}"


def _of_order(column: np.ndarray, order: tuple) -> Ordered:
    """A typical pair of values has the distance of a typical pair of numbers."""
    rank = {level: i / (len(order) - 1) for i, level in enumerate(order)}
    ranks = [rank[value] for value in column.tolist() if value in rank]
    return Ordered(order, SETTINGS.number_gamma / float(np.var(ranks)))


def _of_numbers(name: Any, values: np.ndarray, different: int, more: str) -> tuple[ColumnKind, str]:
    if different <= 2:
        return Category(SETTINGS.category_gamma), f"{different} different numbers{more}"
    for words, least, largest, period in SETTINGS.periods:
        is_whole = least <= values.min() and values.max() <= largest
        if is_whole and isinstance(name, str) and re.search(words, name.lower()):
            return Cyclic(period, SETTINGS.cyclic_gamma), f"named so, and within {period:g}{more}"
    centre, spread = float(np.median(values)), float(values.std())
    low, high = np.quantile(values, [0.25, 0.75])
    # Of a normal distribution the quartiles are 1.349 standard deviations apart.
    robust = float(high - low) / 1.349
    scale = min(spread, robust) if robust > 0 else spread
    far = float(np.abs(values - centre).max()) / scale
    reason = f"{different} different numbers{more}"
    if far > SETTINGS.far:
        kind = Number(SETTINGS.number_gamma, centre, scale, squash=True)
        return kind, f"{reason}; the largest is {far:.0f} scales from the median"
    return Number(SETTINGS.number_gamma, float(values.mean()), spread), reason
