"""Kernels on tables once more for `mercer.verify`, from their definitions: pairs of values.

No code is shared with the kernels that fits use, but for the reading of tables.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer._precision import UNIT
from mercer.kernels._reference_kernels import Rows, Values, evaluate
from mercer.kernels.structured._sample_types import OBJECTS, VECTORS, as_objects
from mercer.kernels.tables._table import TABLES, Table, read_table

__all__ = ["column_mean", "column_product", "equality", "on_columns", "one_kind", "table_kernel"]


def _table(rows: Rows) -> Table:
    return rows.once(_read)


def _read(rows: Rows) -> Table:
    return read_table(rows.X)[rows.index]


def _column(table: Table, name: Any) -> list[Any]:
    """Python values, None where one is missing."""
    values = table.columns[table.names.index(name)].tolist() if table.names else []
    return [None if value is None or value != value else value for value in values]


def _sq_distances(kind: Any, a: list[Any], z: list[Any]) -> Values:
    """The squared distance of each pair without γ, and its error."""
    name = type(kind).__name__
    if name == "Category":
        differ = np.array([[float(x != y) for y in z] for x in a]).reshape(len(a), len(z))
        return differ, np.zeros_like(differ)
    if name == "Ordered":
        position = {level: i / (len(kind.levels) - 1) for i, level in enumerate(kind.levels)}
        sides = [[position.get(x) for x in side] for side in (a, z)]
        at_missing, difference = 0.5, np.subtract.outer
    else:
        sides = [[None if x is None else float(x) for x in side] for side in (a, z)]
        at_missing, difference = getattr(kind, "centre", 0.0), np.subtract.outer
    gone = [np.array([x is None for x in side], dtype=bool) for side in sides]
    left, right = (np.array([at_missing if x is None else x for x in side]) for side in sides)
    one_gone = np.not_equal.outer(gone[0], gone[1])
    if name == "Cyclic":
        D, E = _on_circle(kind, left, right, gone)
    elif name == "Number" and kind.squash:
        left, right = (np.arcsinh((side - kind.centre) / kind.scale) for side in (left, right))
        gap = difference(left, right)
        size = np.add.outer(np.abs(left), np.abs(right))
        D, E = gap**2, 2 * np.abs(gap) * 8 * UNIT * size
    else:
        gap = difference(left, right) / getattr(kind, "scale", 1.0)
        D, E = gap**2, 8 * UNIT * gap**2
    D = D + kind.missing * one_gone
    return D, E + 8 * UNIT * D


def _on_circle(kind: Any, left: np.ndarray, right: np.ndarray, gone: list) -> Values:
    """sin²(π (x − z)/period), and ¼ where one of the two is missing."""
    turns = np.subtract.outer(*(np.fmod(side, kind.period) / kind.period for side in (left, right)))
    D = np.sin(np.pi * turns) ** 2
    both, one = np.logical_and.outer(*gone), np.not_equal.outer(*gone)
    D[both], D[one] = 0.0, 0.25
    return D, np.full_like(D, 64 * UNIT)


def _exponential(D: np.ndarray, E: np.ndarray) -> Values:
    """exp(−D) for D within E."""
    K = np.exp(-D)
    E = E + 2 * UNIT * D
    return K, np.minimum(K * np.expm1(np.minimum(E, 30.0)) + 4 * UNIT * K, 1.0)


def _of_columns(
    columns: Any, A: Rows, Z: Rows, add: Callable[[np.ndarray, np.ndarray, float], None]
) -> None:
    """Hand squared distances, errors and γ of each column to ``add``."""
    a, z = _table(A), _table(Z)
    for name, kind in columns:
        distances, errors = _sq_distances(kind, _column(a, name), _column(z, name))
        add(distances, errors, kind.gamma)


def column_product(kernel: Any, A: Rows, Z: Rows) -> Values:
    D = np.zeros((len(A.index), len(Z.index)))
    E = np.zeros_like(D)

    def add(distances: np.ndarray, errors: np.ndarray, gamma: float) -> None:
        np.add(D, gamma * distances, out=D)
        np.add(E, gamma * errors, out=E)

    _of_columns(kernel.columns, A, Z, add)
    d = len(kernel.columns)
    factor = kernel.gamma / d
    return _exponential(factor * D, factor * (E + (d + 6) * UNIT * D))


def column_mean(kernel: Any, A: Rows, Z: Rows) -> Values:
    d = len(kernel.columns)
    K = np.zeros((len(A.index), len(Z.index)))
    error = np.zeros_like(K)

    def add(distances: np.ndarray, errors: np.ndarray, gamma: float) -> None:
        factor = kernel.gamma * gamma
        values, lost = _exponential(factor * distances, factor * errors)
        np.add(K, values / d, out=K)
        np.add(error, lost / d, out=error)

    _of_columns(kernel.columns, A, Z, add)
    return K, error + (d + 4) * UNIT * K


def one_kind(kernel: Any, A: Rows, Z: Rows) -> Values:
    """The product over all columns of a table."""
    a, z = _table(A), _table(Z)
    D = np.zeros((len(A.index), len(Z.index)))
    E = np.zeros_like(D)
    for name in a.names or z.names:
        distances, errors = _sq_distances(kernel, _column(a, name), _column(z, name))
        D, E = D + distances, E + errors + 2 * UNIT * (D + distances)
    return _exponential(kernel.gamma * D, kernel.gamma * E)


def equality(kernel: Any, A: Rows, Z: Rows) -> Values:
    a, z = _table(A), _table(Z)
    weights = {(column, value): w for column, value, w in kernel.weights}
    K = np.zeros((len(A.index), len(Z.index)))
    for name in a.names:
        left, right = _column(a, name), _column(z, name)
        for i, x in enumerate(left):
            if x is None and kernel.missing == "nothing":
                continue
            K[i] += [weights.get((name, x), 1.0) * (x == y) for y in right]
    d = max(len(a.names), 1)
    return K / d, (2 * d + 8) * UNIT * K / d


def table_kernel(kernel: Any, A: Rows, Z: Rows) -> Values:
    return evaluate(kernel.k, A, Z)


def on_columns(kernel: Any, A: Rows, Z: Rows) -> Values:
    """The inner kernel, on rows made of the chosen columns."""
    return evaluate(kernel.k, *(rows.once(_Chosen(kernel)) for rows in (A, Z)))


class _Chosen:
    """The columns of a kernel as rows of the inner kernel, as `Rows.once` takes it."""

    def __init__(self, kernel: Any):
        self.kernel = kernel

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Chosen) and self.kernel == other.kernel

    def __hash__(self) -> int:
        return hash(self.kernel)

    def __call__(self, rows: Rows) -> Rows:
        table, kernel = read_table(rows.X), self.kernel
        names = kernel.columns if isinstance(kernel.columns, tuple) else (kernel.columns,)
        names = table.names if kernel.columns is None else names
        columns = [_column(table, name) for name in names]
        sample_type = kernel.k.sample_type
        X: Any
        if sample_type == VECTORS:
            X = np.array(columns, dtype=np.float64).T.reshape(len(table), len(names))
        elif sample_type == TABLES:
            X = table.some(names, repr(kernel))
        elif len(names) == 1 and sample_type != OBJECTS:
            X = kernel.k.read(as_objects(columns[0]))
        else:
            X = as_objects(columns[0] if len(names) == 1 else list(zip(*columns, strict=True)))
        return Rows(X, rows.index, rows.X if rows.source is None else rows.source)
