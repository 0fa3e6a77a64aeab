"""Checked once: the rows, targets and weights of a fit, and the rows of a prediction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _num_samples,
    check_consistent_length,
    column_or_1d,
    validate_data,
)

from mercer.kernels import Kernel, Precomputed
from mercer.kernels._base import OBJECTS, VECTORS
from mercer.kernels._binding import SETTINGS
from mercer.kernels._compiled.products import DENSE_FROM
from mercer.kernels._registry import KERNELS_BY_NAME
from mercer.kernels.structured._sample_types import (
    are_rows,
    as_objects,
    is_frame,
    is_numeric_frame,
    rows_of_frame,
)

__all__ = [
    "Data",
    "as_numbers",
    "as_targets",
    "check_rows",
    "check_training",
    "class_codes",
    "class_weights",
    "dense_if_small",
    "holds_objects",
    "is_precomputed",
    "number_of_samples",
    "read_objects",
]

# Types taken as they are; all others become float64. Integers are converted a block at a time.
DTYPES = [np.dtype(code).type for code in ["d", "f", "b", "B", "h", "H", "i", "I", "q"]]


# What targets, and C, α and positive weights, must lie within: products of their squares with each
# other and with kernel values are to be within the range of float64.
LARGEST_TARGET = LARGEST_WEIGHT = 1e60
SMALLEST_WEIGHT = 1e-150

# Shown when positive weights are left on one class only.
ONE_CLASS_LEFT = (
    "Invalid input - all samples with positive weights belong to the same class, "
    "but two or more are needed."
)


@dataclass(frozen=True, eq=False)
class Data:
    """Training data, rows of weight zero left out.

    Attributes
    ----------
    X : ndarray, CSR, or 1-D object array (for kernels on other things than rows of numbers)
    y : array or None
    weight : float64 array or None
        Positive weights; None when all are one.
    rows : int array or None
        Their row numbers in what the user gave; None when none was left out.
    shape : tuple
        Of what the user gave.
    """

    X: Any
    y: Any
    weight: np.ndarray | None
    rows: np.ndarray | None
    shape: tuple

    @property
    def n(self) -> int:
        return self.X.shape[0]

    def original(self, rows: np.ndarray) -> np.ndarray:
        """Row numbers as the user counts them."""
        return rows if self.rows is None else self.rows[rows]


def number_of_samples(X: Any) -> int:
    """Rows, or samples in a list; of a mapping of names to columns the length of a column."""
    if isinstance(X, Mapping) and not sp.issparse(X):  # DOK matrices are mappings too
        return max((_num_samples(column) for column in X.values()), default=0)
    return _num_samples(X)


def is_precomputed(kernel: Any) -> bool:
    return isinstance(kernel, Precomputed) or (isinstance(kernel, str) and kernel == "precomputed")


def check_training(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    *,
    several_targets: bool = False,
    is_finite: bool = False,
) -> Data:
    """Validate the arguments of ``fit``; y may be two-dimensional if there are several targets.

    ``is_finite``: an array of floats with one target per row, which need no further checks.
    """
    precomputed = is_precomputed(estimator.kernel)
    if precomputed and sp.issparse(X):
        raise TypeError("Sparse precomputed kernels are not supported; give a dense matrix.")
    if holds_objects(estimator.kernel, X):
        X = read_objects(estimator.kernel, X)
        check_consistent_length(X, y)
        for name in ("n_features_in_", "feature_names_in_"):
            estimator.__dict__.pop(name, None)
        y = as_targets(y) if several_targets else column_or_1d(y, warn=True)
    elif not several_targets and _is_plain(X) and _is_plain_target(y, X.shape[0]):
        estimator.n_features_in_ = X.shape[1]
        estimator.__dict__.pop("feature_names_in_", None)
    elif not is_finite:
        y = (
            as_targets(y)
            if several_targets and getattr(y, "dtype", None) == np.dtype(object)
            else y
        )
        X, y = validate_data(
            estimator,
            as_numbers(X),
            y,
            dtype=DTYPES,
            order="C",
            accept_sparse="csr",
            accept_large_sparse=False,
            multi_output=several_targets,
            y_numeric=several_targets,
        )
    if precomputed and X.shape[0] != X.shape[1]:
        raise ValueError(
            "Precomputed matrix must be a square matrix (one row and one column for each training "
            f"sample). Input is a {X.shape[0]}x{X.shape[1]} matrix."
        )
    _refuse_extremes(estimator, y)
    return _drop_weightless(X, y, _check_weight(sample_weight, X.shape), precomputed)


def _refuse_extremes(estimator: Any, y: np.ndarray) -> None:
    """Targets, C and α with which sums of squares would leave the range of float64."""
    if y.dtype.kind == "f" and max(-float(y.min()), float(y.max())) > LARGEST_TARGET:
        row = int(np.argmax(np.abs(y).reshape(y.shape[0], -1).max(axis=1)))
        raise ValueError(
            f"The targets y have values above {LARGEST_TARGET:g} in size (largest: row {row}), "
            "more than can be computed with. Scale them."
        )
    for name in ("C", "alpha"):
        value = getattr(estimator, name, 1.0)
        is_number = isinstance(value, (int, float, np.number)) and 0 < value < np.inf
        if is_number and not SMALLEST_WEIGHT <= value <= LARGEST_WEIGHT:
            raise ValueError(
                f"{name} must lie between {SMALLEST_WEIGHT:g} and {LARGEST_WEIGHT:g}, or the "
                f"objective leaves the range of float64; got {value!r}."
            )


def class_codes(data: Data, one_left: str = ONE_CLASS_LEFT) -> tuple[np.ndarray, np.ndarray]:
    """The classes in sorted order, and the number of each row's; at least two."""
    y = data.y
    is_whole = y.dtype.kind == "f" and bool((y == np.floor(y)).all())
    if y.dtype.kind not in "iubSU" and not is_whole:  # those are labels without a long look
        check_classification_targets(y)
    classes = np.unique(y)
    codes = np.searchsorted(classes, y)  # np.unique would sort the rows for them
    if classes.size < 2:
        if data.rows is not None:
            raise ValueError(one_left)
        raise ValueError(
            f"The number of classes has to be greater than one; got {classes.size} class "
            f"({classes[0].item() if hasattr(classes[0], 'item') else classes[0]!r}). "
            "For the shape of one class use OneClassSVM."
        )
    return classes, codes


def class_weights(
    class_weight: Any, classes: np.ndarray, codes: np.ndarray, weight: np.ndarray | None
) -> np.ndarray:
    """One factor per class; "balanced" counts rows by their weight."""
    k = classes.size
    if class_weight is None:
        return np.ones(k)
    if class_weight == "balanced":
        count = np.bincount(codes, weights=weight, minlength=k)
        return count.sum() / (k * count)
    return compute_class_weight(class_weight, classes=classes, y=classes[codes])


def check_rows(estimator: Any, X: Any) -> Any:
    """Validate the rows given to a prediction."""
    model_is_sparse = sp.issparse(estimator.expansion_.support.X)
    if estimator.expansion_.support.are_objects:
        return read_objects(estimator.expansion_.kernel, X)
    has_names = hasattr(estimator, "feature_names_in_")
    if has_names or not _is_plain(X) or X.shape[1] != vars(estimator).get("n_features_in_"):
        X = validate_data(
            estimator,
            as_numbers(X),
            dtype=DTYPES,
            order="C",
            accept_sparse="csr",
            accept_large_sparse=False,
            reset=False,
        )
    if sp.issparse(X):
        return X if model_is_sparse else X.toarray()
    return sp.csr_matrix(X) if model_is_sparse else X


def as_numbers(X: Any) -> Any:
    """X unless it holds text, which NumPy would turn into numbers silently, or refuse elsewhere.

    Sparse rows whose indices have 64 bits (as `sklearn.datasets.load_svmlight_file` reads them) get
    indices of 32 bits, if these suffice: compiled code takes no others.
    """
    if sp.issparse(X):
        return _with_short_indices(X)
    if is_frame(X) and is_numeric_frame(X):
        return X
    kind = getattr(getattr(X, "dtype", None), "kind", None)
    if kind in ("b", "i", "u", "f"):
        return X
    try:
        array = np.asarray(X)
    except (ValueError, TypeError):  # ragged, or not an array: the validation says so
        return X
    if array.dtype.kind not in "SUMO":
        return X
    others = (item for item in array.flat if isinstance(item, (str, bytes, date, np.datetime64)))
    if (first := next(others, None)) is not None:
        got = repr(str(first)[:40])
        if not isinstance(first, (str, bytes)):
            remedy = "Replace them by numbers, such as day, season and hour."
            raise ValueError(f"X must hold numbers, but it holds dates, such as {got}. {remedy}")
        raise ValueError(
            f"X must hold numbers, but it holds text, such as {got}. Convert numbers "
            "written as text with X.astype(float), encode categories, for example with "
            "OneHotEncoder, or learn from texts with a kernel on them, such as Spectrum(3)."
        )
    return X


def as_targets(y: Any) -> np.ndarray:
    """The targets of a regression in float64."""
    try:
        return np.asarray(y, dtype=np.float64)
    except ValueError as error:
        words = [item for item in np.asarray(y, dtype=object).flat if isinstance(item, str)]
        if not words:
            raise
        raise ValueError(
            f"y must hold numbers, but it holds text, such as {str(words[0])[:40]!r}. A classifier "
            "takes labels."
        ) from error


def _with_short_indices(X: Any) -> Any:
    """CSR with indices of 32 bits, where all of them fit."""
    X = X.tocsr()
    if max(X.nnz, *X.shape) > np.iinfo(np.int32).max:
        return X
    if X.indices.dtype == X.indptr.dtype == np.int32:
        return X
    parts = X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return type(X)(parts, shape=X.shape)


def dense_if_small(X: Any) -> Any:
    """CSR of few cells, or few empty ones, as an array: faster, and the same model."""
    if not sp.issparse(X):
        return X
    cells = X.shape[0] * X.shape[1]
    return X.toarray() if cells <= SETTINGS.dense_cells or X.nnz > DENSE_FROM * cells else X


def _is_plain(X: Any) -> bool:
    """Whether X is an array that scikit-learn's checks, a fifth of a small fit, would not change.

    They are made of all else, and give the error if something is wrong.
    """
    if type(X) is not np.ndarray or X.ndim != 2 or not X.size or not X.flags.c_contiguous:
        return False
    return X.dtype.type in DTYPES and _is_finite(X)


def _is_plain_target(y: Any, n: int) -> bool:
    """Whether y is an array of n labels or numbers that these checks would not change."""
    return type(y) is np.ndarray and y.shape == (n,) and y.dtype.kind in "fiubU" and _is_finite(y)


def _is_finite(values: np.ndarray) -> bool:
    """Whether all values are finite, and their sum."""
    if values.dtype.kind != "f":
        return True
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(values.sum(dtype=np.float64)))


def holds_objects(kernel: Any, X: Any) -> bool:
    """Whether X is read as objects: by a kernel on structures, or by one that takes anything
    where X is something else than rows of numbers.
    """
    sample_type = _sample_type(kernel)
    if sample_type != OBJECTS:
        return sample_type != VECTORS
    if sp.issparse(X):
        return False
    return not (is_numeric_frame(X) if is_frame(X) else are_rows(X))


def _sample_type(kernel: Any) -> str:
    if isinstance(kernel, Kernel):
        return kernel.sample_type
    if isinstance(kernel, str):
        return KERNELS_BY_NAME[kernel].sample_type if kernel in KERNELS_BY_NAME else VECTORS
    return VECTORS if kernel is None else OBJECTS


def read_objects(kernel: Any, X: Any) -> Any:
    """One object for each sample."""
    if isinstance(kernel, str):
        kernel = KERNELS_BY_NAME[kernel].make()
    if isinstance(kernel, Kernel) and kernel.sample_type != OBJECTS:
        X = kernel.read(X)
    else:
        X = as_objects(rows_of_frame(X))
    if X.shape[0] == 0:
        raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required.")
    return X


def _check_weight(sample_weight: Any, shape: tuple) -> np.ndarray | None:
    if sample_weight is None:
        return None
    weight = np.asarray(sample_weight, dtype=np.float64)
    if weight.shape != (shape[0],):
        raise ValueError(
            f"sample_weight and X have incompatible shapes: {weight.shape} vs {shape}; "
            "give one weight per row."
        )
    if not np.isfinite(weight).all():
        bad = np.flatnonzero(~np.isfinite(weight))
        raise ValueError(
            f"sample_weight must be finite; {bad.size} of {weight.size} are NaN or infinite, "
            f"the first at row {bad[0]}."
        )
    bad = np.flatnonzero((weight > 0) & ~((weight >= SMALLEST_WEIGHT) & (weight <= LARGEST_WEIGHT)))
    if bad.size:
        raise ValueError(
            f"sample_weight must be 0 or lie between {SMALLEST_WEIGHT:g} and {LARGEST_WEIGHT:g}, "
            f"or the objective leaves the range of float64; {bad.size} of {weight.size} do not, "
            f"the first at row {bad[0]}. Multiply all by a factor, or set the smallest to 0."
        )
    return weight


def _drop_weightless(X: Any, y: Any, weight: np.ndarray | None, precomputed: bool) -> Data:
    """Leave out rows whose weight is zero (or negative, as in scikit-learn)."""
    if weight is None:
        return Data(X, y, None, None, X.shape)
    rows = np.flatnonzero(weight > 0)
    if rows.size == 0:
        raise ValueError(
            "Invalid input - all samples have zero or negative weights. "
            "At least one must be positive."
        )
    if rows.size == weight.size:
        kept, targets, numbers = X, y, None
    else:
        kept = X[np.ix_(rows, rows)] if precomputed else X[rows]
        targets, numbers, weight = y[rows], rows, weight[rows]
    return Data(kept, targets, None if (weight == 1).all() else weight, numbers, X.shape)
