"""Bags of samples: what a kernel between distributions compares, and how bags are read.

A bag is a set of samples of an inner kernel, of any number: rows of numbers (an array with a row
for each), rows of a table (a data frame, a list of dicts), or other samples (a list).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.kernels._base import VECTORS, Kernel
from mercer.kernels.structured._sample_types import as_objects
from mercer.kernels.tables._table import TABLES, Table, read_table

__all__ = ["Bags", "read_bags", "related_rows", "stack_bags"]


@dataclass(frozen=True, eq=False)
class Bags:
    """Bags of a data set, one after the other.

    Attributes
    ----------
    items : samples of the inner kernel
    offsets : int64 array of length n + 1
        Where each bag begins, and the last one ends.
    """

    items: Any
    offsets: np.ndarray

    @property
    def sizes(self) -> np.ndarray:
        return np.diff(self.offsets)


def read_bags(X: Any, k: Kernel, owner: str) -> np.ndarray:
    """Each bag in one form: an array of rows, a `Table`, or a list."""
    bags = as_objects(X)
    out = np.empty(len(bags), dtype=object)
    for row, bag in enumerate(bags):
        if bag is None or isinstance(bag, (str, bytes, float, int)):
            raise ValueError(
                f"{owner}: row {row} is {repr(bag)[:60]}, not a bag of samples. Use an empty list "
                "where there are none."
            )
        try:
            out[row] = _bag(bag, k)
        except (ValueError, TypeError) as error:
            raise ValueError(f"{owner}: row {row} is no bag of samples: {error}") from None
    if k.sample_type == VECTORS:
        _check_widths(out, owner)
    return out


def _bag(bag: Any, k: Kernel) -> Any:
    if isinstance(bag, (set, frozenset)):
        bag = sorted(bag, key=lambda sample: (str(type(sample)), sample))  # in any process
    if k.sample_type == TABLES:
        return read_table(bag)
    if k.sample_type != VECTORS:
        return list(k.read(bag)) if len(bag) else []
    try:
        rows = np.asarray(bag, dtype=np.float64)
    except (ValueError, TypeError):
        raise ValueError(
            f"{k!r} takes rows of numbers of one length, got {repr(bag)[:60]}."
        ) from None
    rows = rows[:, None] if rows.ndim == 1 else rows
    if rows.ndim != 2:
        raise ValueError(f"it has shape {rows.shape}; a bag has a row of numbers for each sample.")
    bad = np.flatnonzero(~np.isfinite(rows).all(axis=1))
    if bad.size:
        raise ValueError(
            f"sample {bad[0]} of it holds NaN or infinity; leave it out, or fill the value."
        )
    return rows


def _check_widths(bags: np.ndarray, owner: str) -> None:
    """All bags have samples of one width; empty ones get it."""
    first = next((row for row, bag in enumerate(bags) if len(bag)), None)
    if first is None:
        return
    d = bags[first].shape[1]
    for row, bag in enumerate(bags):
        if len(bag) == 0:
            bags[row] = np.zeros((0, d))
        elif bag.shape[1] != d:
            raise ValueError(
                f"{owner}: row {row} is a bag of rows with {bag.shape[1]} columns, but row {first} "
                f"has {d}."
            )


def stack_bags(bags: Any, k: Kernel) -> Bags:
    """The samples of all bags, one after the other."""
    sizes = [len(bag) for bag in bags]
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    full = [bag for bag in bags if len(bag)]
    items: Any
    if k.sample_type == VECTORS:
        items = np.concatenate(full) if full else np.zeros((0, 1))
    elif k.sample_type == TABLES:
        items = _stacked(full)
    else:
        items = k.read(as_objects([item for bag in full for item in bag]))
    return Bags(items, offsets)


def _stacked(tables: list[Table]) -> Table:
    """The rows of several tables with the columns of the first."""
    if not tables:
        return Table((), ())
    columns: dict[Any, list] = {name: [] for name in tables[0].names}
    for table in tables:
        for name, values in columns.items():
            values += table.column(name, "MeanEmbedding").tolist()
    return read_table(columns)


def related_rows(keys: Any, table: Any, on: Any) -> np.ndarray:
    """For each key the rows of another table that have it: bags for `MeanEmbedding`.

    Parameters
    ----------
    keys : array-like
        The key of each sample, such as a column of the main table.
    table : data frame, or mapping of names to columns
        Related rows, such as orders of customers.
    on : name
        The column of ``table`` that holds the keys; it is left out of the bags.

    Returns
    -------
    bags : array of objects
        A table for each key, without rows where there are none. As a further column of the main
        table, `OnColumns` takes it.

    Examples
    --------
    >>> from mercer.kernels import related_rows
    >>> orders = {"customer": [1, 1, 3], "amount": [20.0, 30.0, 5.0]}
    >>> [len(bag) for bag in related_rows([1, 2, 3], orders, on="customer")]
    [2, 0, 1]
    """
    read = read_table(table)
    found = read.column(on, "related_rows").tolist()
    rest = read.some([name for name in read.names if name != on], "related_rows")
    rows: dict[Any, list[int]] = {}
    for row, key in enumerate(found):
        rows.setdefault(key, []).append(row)
    keys = keys.tolist() if hasattr(keys, "tolist") else list(keys)
    out = np.empty(len(keys), dtype=object)
    for i, key in enumerate(keys):
        out[i] = rest[np.array(rows.get(key, []), dtype=np.intp)]
    return out
