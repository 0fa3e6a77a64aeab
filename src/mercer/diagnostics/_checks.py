"""What is wrong with the columns and the targets by themselves, whatever the machine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.data._column_statistics import NAMED, Columns, Finding, listed, uneven
from mercer.kernels._base import LARGEST

__all__ = ["check_columns", "check_labels", "check_targets", "twins"]

# The largest class has so many times the rows of the smallest.
IMBALANCED = 10.0
# Fewer rows than folds of the usual cross-validation.
TINY_CLASS = 5
# More classes than these are numbers of rows, or other things that are no labels.
MOST_CLASSES = 500
# Two columns are the same but for scale if |correlation| is within this of 1.
TWIN = 1e-9
# Correlations of more columns than these would take longer than all else.
TWIN_COLUMNS = 1000
# So many that may be repeated are compared on all rows.
TWIN_CANDIDATES = 100
# A deviation below this share of a column's size is rounding.
CONSTANT = 1e-10
# A matrix of fewer bytes may be stored as it likes.
SMALL_BYTES = 10_000_000
# The other storage must take less than this share of the bytes to be worth a change.
WORTH = 0.25
# Sparse storage takes 12 bytes for a nonzero, dense 8 for any entry.
SPARSE_ENTRY_BYTES = 12


def check_columns(
    X: Any, columns: Columns, names: Sequence[str] | None, rows: np.ndarray
) -> list[Finding]:
    """Entries that are no numbers or too large, constant columns, uneven scales, storage.

    X are the rows of the numbers ``rows``.
    """
    found = []
    bad = np.flatnonzero(columns.n_bad)
    if bad.size:
        found.append(
            Finding(
                "error", f"Entries of X that are NaN or infinite: {columns.n_bad.sum():,}",
                f"{listed(bad, names)}; first in row {rows[columns.first_bad]}",
                "leave those rows out, or fill the gaps, for example with SimpleImputer.",
            )
        )  # fmt: skip
    largest = np.where(columns.high >= columns.low, np.maximum(-columns.low, columns.high), 0.0)
    huge = np.flatnonzero(largest > np.sqrt(LARGEST))
    if huge.size:
        found.append(
            Finding(
                "error", f"Entries reach {largest.max():.3g}: their squares are lost in rounding",
                listed(huge, names), "scale these columns, for example with StandardScaler.",
            )
        )  # fmt: skip
    constant = np.flatnonzero(columns.ranges == 0)
    if constant.size:
        found.append(
            Finding(
                "note", f"Constant columns: {constant.size:,}", listed(constant, names),
                "drop them, for example with VarianceThreshold.",
            )
        )  # fmt: skip
    scales = uneven(columns, names)
    return [*found, *([scales] if scales else []), *_check_storage(X, columns)]


def _check_storage(X: Any, columns: Columns) -> list[Finding]:
    cells = X.shape[0] * X.shape[1]
    n_nonzero = int(columns.n_nonzero.sum())
    dense, sparse = cells * X.dtype.itemsize, n_nonzero * SPARSE_ENTRY_BYTES
    share = f"{n_nonzero / max(cells, 1):.0%} of the entries are not zero"
    if sp.issparse(X) and dense < sparse and sparse > SMALL_BYTES:
        return [
            Finding(
                "note", f"X is stored as a sparse matrix, but {share}", "",
                f"X.toarray() takes {dense / 1e6:.0f} MB instead of {sparse / 1e6:.0f}, and is "
                "quicker.",
            )
        ]  # fmt: skip
    if not sp.issparse(X) and sparse < WORTH * dense and dense > SMALL_BYTES:
        return [
            Finding(
                "note", f"X is stored as a dense array, but only {share}", "",
                f"scipy.sparse.csr_matrix(X) takes {sparse / 1e6:.0f} MB instead of "
                f"{dense / 1e6:.0f}.",
            )
        ]  # fmt: skip
    return []


def twins(X: Any, some: np.ndarray, names: Sequence[str] | None) -> list[Finding]:
    """Columns that are others times a factor, plus a constant.

    Looked for on ``some`` rows; those that may be are then compared on all.
    """
    if not 2 <= X.shape[1] <= TWIN_COLUMNS:
        return []
    first, second = _equal_up_to_scale(_dense(X[some]))
    columns = np.unique(np.concatenate([first, second]))[:TWIN_CANDIDATES]
    if columns.size:
        first, second = (columns[pair] for pair in _equal_up_to_scale(_dense(X[:, columns])))
    if not first.size:
        return []
    pairs = [
        f"{listed(np.array([i]), names)} and {listed(np.array([j]), names)}"
        for i, j in zip(first[:NAMED], second[:NAMED], strict=True)
    ]
    return [
        Finding(
            "note",
            f"Columns that repeat others up to scale and origin: {np.unique(second).size:,}",
            ", ".join(pairs),
            "drop one of each pair: together they count twice.",
        )
    ]


def _dense(X: Any) -> np.ndarray:
    return np.asarray(X.toarray() if sp.issparse(X) else X, np.float64)


def _equal_up_to_scale(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Pairs i < j of columns with a correlation of 1 or −1."""
    size = np.abs(X).max(axis=0)
    Z = X - X.mean(axis=0)
    norms = np.sqrt(np.einsum("ij,ij->j", Z, Z))
    Z /= np.where(norms > CONSTANT * np.sqrt(X.shape[0]) * size, norms, np.inf)
    first, second = np.nonzero(np.triu(np.abs(Z.T @ Z) > 1 - TWIN, 1))
    return first, second


def check_labels(classes: np.ndarray, count: np.ndarray, has_weights: bool) -> list[Finding]:
    """One class only, classes of few rows, classes of very different size."""
    if classes.size < 2:
        return [
            Finding(
                "error", "y has one class only", f"{classes[0]!s}",
                "a classifier needs two; for the shape of one class use OneClassSVM.",
            )
        ]  # fmt: skip
    if classes.size > MOST_CLASSES:
        return [
            Finding(
                "error", f"y has {classes.size:,} classes", "",
                "one machine for each pair of classes would never be done; are these labels?",
            )
        ]  # fmt: skip
    found = []
    tiny = np.flatnonzero(count < TINY_CLASS)
    if tiny.size:
        shown = ", ".join(f"{classes[c]!s}: {count[c]}" for c in tiny[:NAMED])
        found.append(
            Finding(
                "warning", f"Classes of fewer than {TINY_CLASS} rows: {tiny.size:,}", shown,
                "join or drop them; five-fold cross-validation cannot see them in every fold.",
            )
        )  # fmt: skip
    least, most = int(np.argmin(count)), int(np.argmax(count))
    if count[most] > IMBALANCED * count[least] and not has_weights:
        found.append(
            Finding(
                "warning", f"Class sizes differ by a factor of {count[most] / count[least]:.3g}",
                f"{classes[most]!s}: {count[most]:,} rows, {classes[least]!s}: {count[least]:,}",
                'class_weight="balanced" if errors on the small one matter as much; and judge by '
                "balanced accuracy.",
            )
        )  # fmt: skip
    return found


def check_targets(y: np.ndarray, epsilon: float | None) -> list[Finding]:
    """Targets of a regression: constant, or hidden in the tube."""
    sd = float(np.std(y))
    if np.ptp(y) == 0:
        return [Finding("warning", "y is constant", f"{y[0]:g}", "there is nothing to fit.")]
    if epsilon is not None and epsilon > sd:
        return [
            Finding(
                "warning", f"epsilon={epsilon:g} is larger than the deviation of y, {sd:.3g}", "",
                f"most errors cost nothing; epsilon={sd / 10:.1g} would be a tenth of it.",
            )
        ]  # fmt: skip
    return []
