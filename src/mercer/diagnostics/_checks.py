"""Problems of columns, targets and equal rows, whatever the estimator."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.data._column_statistics import SETTINGS, Columns, Finding, listed, uneven
from mercer.data._files import IO
from mercer.diagnostics._settings import Thresholds
from mercer.kernels._base import LARGEST

__all__ = [
    "check_columns",
    "check_labels",
    "check_targets",
    "collinear_columns",
    "contradictions",
    "first_equal",
    "repetitions",
]


def check_columns(
    X: Any,
    columns: Columns,
    names: Sequence[str] | None,
    rows: np.ndarray,
    settings: Thresholds,
) -> list[Finding]:
    """Entries that are no numbers or too large, constant columns, uneven scales, storage.

    X are the rows of the numbers ``rows``.
    """
    found = []
    bad = np.flatnonzero(columns.n_bad)
    if bad.size:
        found.append(
            Finding(
                "error",
                f"Entries of X that are NaN or infinite: {columns.n_bad.sum():,}",
                f"{listed(bad, names)}; first in row {rows[columns.first_bad]}",
                "leave those rows out, or fill the gaps, for example with SimpleImputer.",
            )
        )
    largest = np.where(columns.high >= columns.low, np.maximum(-columns.low, columns.high), 0.0)
    huge = np.flatnonzero(largest > np.sqrt(LARGEST))
    if huge.size:
        found.append(
            Finding(
                "error",
                f"Entries reach {largest.max():.3g}: their squares lose all digits in sums",
                listed(huge, names),
                "scale these columns, for example with StandardScaler.",
                (("scale", "standard"),),
            )
        )
    constant = np.flatnonzero(columns.ranges == 0)
    if constant.size:
        found.append(
            Finding(
                "note",
                f"Constant columns: {constant.size:,}",
                listed(constant, names),
                "drop them, for example with VarianceThreshold.",
                tuple(("drop", names[j]) for j in constant.tolist()) if names is not None else (),
                "they change nothing.",
            )
        )
    scales = uneven(columns, names)
    return [*found, *([scales] if scales else []), *_check_storage(X, columns, settings)]


def _check_storage(X: Any, columns: Columns, settings: Thresholds) -> list[Finding]:
    cells = X.shape[0] * X.shape[1]
    n_nonzero = int(columns.n_nonzero.sum())
    dense, sparse = cells * X.dtype.itemsize, n_nonzero * 12  # 8 for a value, 4 for its column
    share = f"{n_nonzero / max(cells, 1):.0%} of the entries are not zero"
    if sp.issparse(X) and dense < sparse and sparse > settings.small_bytes:
        return [
            Finding(
                "note",
                f"X is stored as a sparse matrix, but {share}",
                "",
                f"X.toarray() takes {dense / 1e6:.0f} MB instead of {sparse / 1e6:.0f}, and is "
                "quicker.",
                command=f"as CSV or .npz it takes {dense / 1e6:.0f} MB, and a fit is quicker.",
            )
        ]
    if (
        not sp.issparse(X)
        and sparse < settings.storage_gain * dense
        and dense > settings.small_bytes
    ):
        return [
            Finding(
                "note",
                f"X is stored as a dense array, but only {share}",
                "",
                f"scipy.sparse.csr_matrix(X) takes {sparse / 1e6:.0f} MB instead of "
                f"{dense / 1e6:.0f}.",
                command=f"mercer convert to svmlight makes it {sparse / 1e6:.0f} MB.",
            )
        ]
    return []


def collinear_columns(
    X: Any, some: np.ndarray, names: Sequence[str] | None, settings: Thresholds
) -> list[Finding]:
    """Columns that are others times a factor, plus a constant.

    All columns are compared on ``some`` rows, candidates then on all.
    """
    if not 2 <= X.shape[1] <= settings.max_collinear_columns:
        return []
    first, second = _equal_up_to_scale(_dense(X[some]), settings)
    columns = np.unique(np.concatenate([first, second]))[: settings.max_collinear_candidates]
    if columns.size:
        first, second = (
            columns[pair] for pair in _equal_up_to_scale(_dense(X[:, columns]), settings)
        )
    if names is not None:  # indicators of the two categories of a column are no repetition
        of = [name if "=" not in str(name) else str(name).partition("=")[0] for name in names]
        apart = np.array([of[i] != of[j] for i, j in zip(first, second, strict=True)], bool)
        first, second = first[apart], second[apart]
    if not first.size:
        return []
    pairs = [
        f"{listed(np.array([i]), names)} and {listed(np.array([j]), names)}"
        for i, j in zip(first[: SETTINGS.named], second[: SETTINGS.named], strict=True)
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


def _equal_up_to_scale(X: np.ndarray, settings: Thresholds) -> tuple[np.ndarray, np.ndarray]:
    """Pairs i < j of columns with a correlation of 1 or −1."""
    size = np.abs(X).max(axis=0)
    Z = X - X.mean(axis=0)
    norms = np.sqrt(np.einsum("ij,ij->j", Z, Z))
    Z /= np.where(norms > settings.constant * np.sqrt(X.shape[0]) * size, norms, np.inf)
    first, second = np.nonzero(np.triu(np.abs(Z.T @ Z) > 1 - settings.collinear, 1))
    return first, second


def check_labels(
    classes: np.ndarray, count: np.ndarray, has_weights: bool, settings: Thresholds
) -> list[Finding]:
    """One class only, classes of few rows, classes of very different size."""
    if classes.size < 2:
        return [
            Finding(
                "error",
                "y has one class only",
                f"{classes[0]!s}",
                "a classifier needs two; for the shape of one class use OneClassSVM.",
                command="a classifier needs two; for the shape of one class --machine oneclass.",
            )
        ]
    if classes.size > settings.max_classes:
        return [
            Finding(
                "error",
                f"y has {classes.size:,} classes",
                "",
                "one-vs-one needs a model for each pair of classes; is y a regression target?",
            )
        ]
    found = []
    tiny = np.flatnonzero(count < settings.small_class_rows)
    if tiny.size:
        shown = ", ".join(f"{_shown(classes[c])}: {count[c]}" for c in tiny[: SETTINGS.named])
        found.append(
            Finding(
                "warning",
                f"Classes of fewer than {settings.small_class_rows} rows: {tiny.size:,}",
                shown,
                "join or drop them; five-fold cross-validation cannot have them in every fold.",
            )
        )
    least, most = int(np.argmin(count)), int(np.argmax(count))
    if count[most] > settings.imbalance * count[least] and not has_weights:
        found.append(
            Finding(
                "warning",
                f"Class sizes differ by a factor of {count[most] / count[least]:.3g}",
                f"{_shown(classes[most])}: {count[most]:,} rows, "
                f"{_shown(classes[least])}: {count[least]:,}",
                'class_weight="balanced" if errors on the small one matter as much; and judge by '
                "balanced accuracy.",
                command="--class-weight balanced if errors on the small one matter as much; and "
                "judge by the recall of each class.",
            )
        )
    return found


def _shown(label: Any) -> str:
    """A label as it is written; quoted, if nothing of it could be seen."""
    return str(label) if str(label).strip() else repr(str(label))


def check_targets(
    y: np.ndarray, epsilon: float | None, tol: float | None, settings: Thresholds
) -> list[Finding]:
    """Targets of a regression: constant, or of another scale than ε and the tolerance."""
    sd = float(np.std(y))
    if np.ptp(y) == 0:
        return [Finding("warning", "y is constant", f"{y[0]:g}", "there is nothing to fit.")]
    found = []
    if tol is not None and tol > settings.large_tol * sd:
        fit = float(f"{sd * settings.small_tol:.1g}")
        what = f"tol={tol:g} is large for the deviation of y, {sd:.3g}"
        remedy = f"a fit ends before it has begun; scale y, or set tol={fit:g}."
        found.append(Finding("warning", what, "", remedy, (("tol", fit),)))
    if epsilon is None:
        return found
    remedy = f"try epsilon={sd / 10:.1g}, a tenth of that."
    option = (("epsilon", float(f"{sd / 10:.1g}")),)
    if epsilon > sd:
        what = f"epsilon={epsilon:g} is larger than the deviation of y, {sd:.3g}"
        found.append(Finding("warning", what, "", f"most residuals have no loss; {remedy}", option))
    if 0 < epsilon < settings.small_epsilon * sd:
        what = f"epsilon={epsilon:g} is far below the deviation of y, {sd:.3g}"
        more = "nearly every row becomes a support vector"
        found.append(Finding("note", what, "", f"{more}; {remedy}", option))
    return found


def first_equal(X: Any) -> np.ndarray:
    """For each row the first one equal to it, perhaps itself, by 64-bit hashes of the rows."""
    keys: list[int] = []
    for start in range(0, X.shape[0], IO.array_rows):
        part = X[start : start + IO.array_rows]
        if sp.issparse(part):
            part = part.copy()
            part.eliminate_zeros()
            slices = [slice(*ends) for ends in pairwise(part.indptr)]
            keys += [hash((part.indices[s].tobytes(), part.data[s].tobytes())) for s in slices]
        else:
            keys += [hash(row.tobytes()) for row in part + 0.0]  # −0 becomes 0
    _, first, group = np.unique(np.array(keys), return_index=True, return_inverse=True)
    return first[group]


def contradictions(
    first: np.ndarray, y: np.ndarray, is_classifier: bool, rows: np.ndarray
) -> list[Finding]:
    """Equal rows with different labels (a warning), or targets (a note); ``rows`` numbers them."""
    other = np.flatnonzero(y != y[first])
    if other.size == 0:
        return []
    pairs = [f"rows {rows[first[i]]} and {rows[i]}" for i in other[: SETTINGS.named]]
    involved = np.isin(first, first[other])
    where = ", ".join(pairs) + (", …" if other.size > SETTINGS.named else "")
    what = f"Rows equal to others with {'another label' if is_classifier else 'different targets'}"
    what += f": {involved.sum():,}"
    if not is_classifier:
        return [
            Finding(
                "note",
                what,
                where,
                "no function of these columns fits them all; their spread is the least error.",
            )
        ]
    _, which, sizes = np.unique(
        np.column_stack([first[involved], y[involved]]),
        axis=0,
        return_index=True,
        return_counts=True,
    )
    most: dict[int, int] = {}
    for row, size in zip(first[involved][which], sizes, strict=True):
        most[row] = max(most.get(row, 0), int(size))
    wrong = int(involved.sum()) - sum(most.values())
    return [
        Finding(
            "warning",
            f"{what}, of which at least {wrong:,} cannot be right",
            where,
            "check how they were labelled, or add a column that distinguishes them; "
            "a hard margin (C=inf) is impossible.",
        )
    ]


def repetitions(first: np.ndarray, y: np.ndarray, settings: Thresholds) -> list[Finding]:
    """Many rows that occur again with the same label or target."""
    count = int(((first != np.arange(first.size)) & (y == y[first])).sum())
    if count < settings.repeated_rows * first.size:
        return []
    return [
        Finding(
            "note",
            f"Rows that occur again, target and all: {count:,} of {first.size:,}",
            "",
            "keep one of each, with the number of its occurrences as sample_weight: this gives the "
            "same model faster.",
            command="if they are copies by mistake, keep one of each.",
        )
    ]
