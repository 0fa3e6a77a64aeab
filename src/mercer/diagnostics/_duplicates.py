"""Rows that occur more than once, found by hashing: with their label, and against it."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.data._column_statistics import NAMED, Finding

__all__ = ["contradictions", "first_equal", "repetitions"]

# From this share of repeated rows on, weights in their place are worth the trouble.
MANY_REPEATS = 0.1
_ROWS = 4096  # at a time
_SPREAD = np.uint64(0x9E3779B97F4A7C15)  # odd, bits in no order: 2⁶⁴ over the golden ratio
_HALF = np.uint64(32)


def first_equal(X: Any, rng: np.random.Generator) -> np.ndarray:
    """For each row the first one equal to it, perhaps itself.

    Rows of one key are compared entry by entry with the first of them; that a row is missed because
    a different one has its key happens once in 2⁶⁴ pairs.
    """
    n = X.shape[0]
    keys = _keys(X, rng)
    order = np.argsort(keys, kind="stable")
    is_new = np.concatenate([[True], np.diff(keys[order]) != 0])
    first = np.empty(n, np.int64)
    first[order] = order[is_new][np.cumsum(is_new) - 1]
    repeated = np.flatnonzero(first != np.arange(n))
    for start in range(0, repeated.size, _ROWS):
        rows = repeated[start : start + _ROWS]
        differ = _differ(X[rows], X[first[rows]])
        first[rows[differ]] = rows[differ]
    return first


def _keys(X: Any, rng: np.random.Generator) -> np.ndarray:
    """Σ_j m_j h(x_ij) modulo 2⁶⁴, with random odd m_j and h that mixes the bits; h(0) = 0."""
    factors = rng.integers(0, 2**63, X.shape[1], dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    if sp.issparse(X):
        terms = _mixed(X.data) * factors[X.indices]
        sums = np.concatenate([[np.uint64(0)], np.cumsum(terms, dtype=np.uint64)])
        return sums[X.indptr[1:]] - sums[X.indptr[:-1]]
    keys = np.empty(X.shape[0], np.uint64)
    for start in range(0, X.shape[0], _ROWS):
        part = _mixed(X[start : start + _ROWS])
        part *= factors
        keys[start : start + _ROWS] = part.sum(axis=1)
    return keys


def _mixed(values: np.ndarray) -> np.ndarray:
    bits = (values.astype(np.float64) + 0.0).view(np.uint64)  # −0 becomes 0
    bits *= _SPREAD
    bits ^= bits >> _HALF
    return bits


def _differ(A: Any, B: Any) -> np.ndarray:
    if sp.issparse(A):
        return np.diff((A != B).tocsr().indptr) > 0
    return (A != B).any(axis=1)


def contradictions(
    first: np.ndarray, y: np.ndarray, is_classifier: bool, rows: np.ndarray
) -> list[Finding]:
    """Equal rows with different labels (a warning), or targets (a note); ``rows`` numbers them."""
    other = np.flatnonzero(y != y[first])
    if other.size == 0:
        return []
    pairs = [f"rows {rows[first[i]]} and {rows[i]}" for i in other[:NAMED]]
    involved = np.isin(first, first[other])
    where = ", ".join(pairs) + (", …" if other.size > NAMED else "")
    what = f"Rows equal to others with {'another label' if is_classifier else 'different targets'}"
    what += f": {involved.sum():,}"
    if not is_classifier:
        return [
            Finding(
                "note", what, where,
                "no function of these columns fits them all; their spread is the least error.",
            )
        ]  # fmt: skip
    _, which, sizes = np.unique(
        np.column_stack([first[involved], y[involved]]), axis=0, return_index=True,
        return_counts=True,
    )  # fmt: skip
    most: dict[int, int] = {}
    for row, size in zip(first[involved][which], sizes, strict=True):
        most[row] = max(most.get(row, 0), int(size))
    wrong = int(involved.sum()) - sum(most.values())
    return [
        Finding(
            "warning", f"{what}, of which at least {wrong:,} cannot be right", where,
            "look at how they were labelled, or add a column that tells them apart; "
            "a hard margin (C=inf) is impossible.",
        )
    ]  # fmt: skip


def repetitions(first: np.ndarray, y: np.ndarray) -> list[Finding]:
    """Many rows that occur again with the same label or target."""
    count = int(((first != np.arange(first.size)) & (y == y[first])).sum())
    if count < MANY_REPEATS * first.size:
        return []
    return [
        Finding(
            "note", f"Rows that occur again, target and all: {count:,} of {first.size:,}", "",
            "keep one of each with sample_weight = how often it occurs: the same model, sooner.",
        )
    ]  # fmt: skip
