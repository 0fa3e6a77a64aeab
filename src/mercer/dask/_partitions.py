"""Dask arrays and data frames as lists of chunks of rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.dask._client import require_dask

__all__ = ["Partitions", "is_dask", "partitions"]


@dataclass(frozen=True, eq=False)
class Partitions:
    """Delayed blocks of X, y and the weights, and what is known of X before they are computed."""

    X: list[Any]
    y: list[Any]
    weight: list[Any]
    n_columns: int | None
    names: np.ndarray | None

    def __len__(self) -> int:
        return len(self.X)


def is_dask(X: Any) -> bool:
    """Whether X is a Dask collection."""
    return hasattr(X, "__dask_graph__")


def partitions(X: Any, y: Any = None, weight: Any = None) -> Partitions:
    """Blocks of rows; a ValueError where X, y and the weights are cut differently."""
    require_dask()
    if not is_dask(X):
        raise TypeError(
            f"X must be a Dask array or data frame, got {type(X).__name__}. Use "
            "dask.array.from_array(X, chunks=(rows, -1)), or the estimator of the same name in "
            "mercer for data in memory."
        )
    names, sizes = None, None
    n_columns: int | None = None
    if _is_frame(X):
        names = np.array([str(name) for name in X.columns], dtype=object)
        blocks, n_columns = X.to_delayed(), len(X.columns)
    else:
        if X.ndim != 2:
            raise ValueError(f"X must have rows and columns, got an array of {X.ndim} dimensions.")
        if X.numblocks[1] > 1:
            X = X.rechunk({1: -1})
        n_columns = None if np.isnan(X.shape[1]) else int(X.shape[1])
        blocks, sizes = list(X.to_delayed().ravel()), _known(X.chunks[0])
    if not blocks:
        raise ValueError("X has no chunks.")
    targets = _blocks_like(y, "y", len(blocks), sizes)
    weights = _blocks_like(weight, "sample_weight", len(blocks), sizes)
    return Partitions(list(blocks), targets, weights, n_columns, names)


def _is_frame(X: Any) -> bool:
    return hasattr(X, "to_delayed") and hasattr(X, "npartitions") and hasattr(X, "divisions")


def _known(sizes: tuple) -> tuple[int, ...] | None:
    return None if any(np.isnan(size) for size in sizes) else tuple(int(size) for size in sizes)


def _blocks_like(values: Any, name: str, count: int, sizes: tuple[int, ...] | None) -> list[Any]:
    """The blocks of a column, cut as X is."""
    if values is None:
        return [None] * count
    if not is_dask(values):
        if sizes is None:
            raise ValueError(
                f"{name} is in memory, but the chunks of X have unknown sizes. Call "
                f"X.compute_chunk_sizes() first, or give {name} as a Dask collection cut as X is."
            )
        import dask.array

        values = np.asarray(values)
        if values.shape[0] != sum(sizes):
            raise ValueError(f"{name} has {values.shape[0]} rows, but X has {sum(sizes)}.")
        values = dask.array.from_array(values, chunks=(sizes, *((-1,) * (values.ndim - 1))))
    if _is_frame(values):
        blocks = list(values.to_delayed())
    else:
        own = _known(values.chunks[0])
        if own is not None and sizes is not None and own != sizes:
            if sum(own) != sum(sizes):
                raise ValueError(f"{name} has {sum(own)} rows, but X has {sum(sizes)}.")
            values = values.rechunk({0: sizes})
        blocks = list(values.to_delayed().ravel())
    if len(blocks) != count:
        raise ValueError(
            f"{name} has {len(blocks)} chunks, but X has {count}, and their sizes are not all "
            "known: cut both alike, or call compute_chunk_sizes() on both first."
        )
    return blocks
