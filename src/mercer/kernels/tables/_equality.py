"""Equality of categories, weighted by how rare they are: sparse features, one for each category."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.kernels._base import Kernel
from mercer.kernels.structured._sparse_features import Features, SparseFeatureKernel
from mercer.kernels.tables._column_kinds import codes_of
from mercer.kernels.tables._table import TABLES, Table, read_table

__all__ = ["Equality"]


@dataclass(frozen=True, repr=False)
class Equality(SparseFeatureKernel):
    """k(x, z) = (1/d) Σ_c w_c(x_c) [x_c = z_c] over d columns: the overlap of categories.

    Without ``weighted`` all weights are 1. With it, w_c(a) = 1 − p_c(a)², p_c(a) the fraction of
    the training samples that have the category a in column c: to agree in a rare category counts
    for more. A fit learns them; a category that training did not have has weight 1.

    The features of a sample are √(w/d) at its categories. A missing value is a category of its
    own (``missing="category"``), or has no feature (``missing="nothing"``): then it is 0 for every
    pair.

    **Cost.** A product of two sparse rows.

    **When.** Categories in sums of kernels. In products, where a single different category should
    not make k(x, z) = 0, use `Category`.

    Parameters
    ----------
    weighted : bool, default=False
    missing : {"category", "nothing"}, default="category"
    weights : tuple of (column, category, weight), optional
        Learned by a fit.

    References
    ----------
    Belanche and Villegas (2013), Kernel functions for categorical variables with application to
    problems in the life sciences. The weights are h₂(p)² = 1 − p².

    Examples
    --------
    >>> from mercer.kernels import Equality
    >>> Equality()([["red", "S"], ["red", "L"], [None, "L"]])
    array([[1. , 0.5, 0. ],
           [0.5, 1. , 0.5],
           [0. , 0.5, 1. ]])
    """

    weighted: bool = False
    missing: str = "category"
    weights: tuple[tuple[Any, Any, float], ...] = ()

    sample_type = TABLES
    is_nonnegative = True

    def __post_init__(self) -> None:
        if not isinstance(self.weighted, (bool, np.bool_)):
            raise ValueError(f"Equality: weighted must be True or False, got {self.weighted!r}.")
        if self.missing not in ("category", "nothing"):
            raise ValueError(
                f"Equality: missing must be 'category' or 'nothing', got {self.missing!r}."
            )
        weights = tuple((column, value, float(w)) for column, value, w in self.weights)
        if not all(np.isfinite(w) and w >= 0 for *_, w in weights):
            raise ValueError("Equality: weights must be finite numbers ≥ 0.")
        object.__setattr__(self, "weights", weights)

    def read(self, X: Any) -> Any:
        return read_table(X)

    def resolved(self, X: Any) -> Kernel:
        if not self.weighted or self.weights:
            return self
        table, found = read_table(X), []
        for name, column in zip(table.names, table.columns, strict=True):
            codes, levels = codes_of(column, name, "Equality", None)
            fractions = np.bincount(codes, minlength=len(levels)) / max(len(table), 1)
            found += [(name, level, 1 - float(fractions[i]) ** 2) for level, i in levels.items()]
        return replace(self, weights=tuple(found))

    def features(self, samples: Any) -> Features:
        table: Table = read_table(samples)
        weights = {(column, value): w for column, value, w in self.weights}
        n, d = len(table), len(table.names)
        columns, values = np.zeros((n, d), np.int64), np.zeros((n, d))
        keys: list[Hashable] = []
        for c, (name, column) in enumerate(zip(table.names, table.columns, strict=True)):
            codes, levels = codes_of(column, name, "Equality", None)
            size = np.array([np.sqrt(weights.get((name, level), 1.0) / d) for level in levels])
            if self.missing == "nothing" and None in levels:
                size[levels[None]] = 0.0
            columns[:, c], values[:, c] = len(keys) + codes, size[codes]
            keys += [(name, level) for level in levels]
        parts = values.ravel(), columns.ravel(), np.arange(0, n * d + 1, max(d, 1))[: n + 1]
        return Features(sp.csr_matrix(parts, shape=(n, len(keys))), lambda: keys)
