"""`doctor`: check rows and targets before a fit."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone, is_classifier, is_outlier_detector, is_regressor
from sklearn.utils import check_array, check_consistent_length, column_or_1d
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import _get_feature_names

from mercer._numba import Compilation
from mercer.data._column_statistics import Finding, listed, survey
from mercer.diagnostics._checks import (
    check_columns,
    check_labels,
    check_targets,
    collinear_columns,
    contradictions,
    first_equal,
    repetitions,
)
from mercer.diagnostics._kernel_scale import check_C, check_gamma, kernel_statistics
from mercer.diagnostics._low_rank import check_low_rank
from mercer.diagnostics._report import Estimate, Report, sorted_by_severity
from mercer.diagnostics._settings import Thresholds
from mercer.estimators import SVC, SVR, OneClassSVM
from mercer.estimators._parameters import resolve_kernel
from mercer.estimators._validation import DTYPES, dense_if_small, is_precomputed
from mercer.estimators.svm._base import KernelMachine
from mercer.exceptions import ConvergenceWarning
from mercer.kernels._binding import make_samples

__all__ = ["doctor"]

# Parameters of other estimators that a kernel SVM has as well.
SHARED = ("kernel", "gamma", "degree", "coef0", "C", "epsilon", "class_weight", "n_jobs")
# Left at their defaults when the sample is fitted.
UNUSED = ("callback", "verbose", "warm_start", "probability", "max_iter")


def doctor(
    X: Any,
    y: Any = None,
    *,
    estimator: Any = None,
    feature_names: Sequence[str] | None = None,
    random_state: Any = 0,
    **params: Any,
) -> Report:
    """Check data before a fit, and estimate the time that it takes.

    Reports entries that are no numbers, columns that are constant, unscaled or collinear, equal
    rows with different labels, small classes, and C or γ far from the scale of the data. The time
    is extrapolated from the fit of a sample.

    Parameters
    ----------
    X : {array-like, sparse matrix, pandas or polars DataFrame} of shape (n_samples, n_features)
        NaN and infinite entries are reported, not refused. Beyond 50 million entries a random part
        of the rows is checked.
    y : array-like of shape (n_samples,), optional
        Class labels or targets; without an estimator to tell which, numbers of more than 50
        different values are targets.
    estimator : estimator, optional
        What is to be fitted, for its parameters; by default `SVC`, `SVR` or (without y)
        `OneClassSVM` with theirs.
    feature_names : sequence of str, optional
        What columns are called in findings; by default as in a DataFrame, or by number.
    random_state : int, RandomState or Generator, default=0
        For the random part of the rows and the sample.
    **params
        Parameters that replace those of the estimator, such as ``C=100``.

    Returns
    -------
    report : Report
        Print it, or read ``findings`` and ``estimate``.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import doctor
    >>> X = np.random.default_rng(0).normal(size=(300, 3)) * [1, 1, 5000]
    >>> report = doctor(X, X[:, 0] > 0)
    >>> report.findings[0].where
    'furthest off: column 2, column 0, column 1'
    """
    return examine(X, y, estimator, feature_names, random_state, params)


def examine(
    X: Any,
    y: Any = None,
    estimator: Any = None,
    feature_names: Sequence[str] | None = None,
    random_state: Any = 0,
    params: Mapping[str, Any] = MappingProxyType({}),
    settings: Thresholds = Thresholds(),  # noqa: B008 (frozen)
) -> Report:
    """`doctor` with other thresholds."""
    _refuse_estimator(estimator)
    rng = np.random.default_rng(random_state)
    X, names, findings = _read_rows(X)
    names = names if feature_names is None else feature_names
    target, missing = _read_targets(y, X, estimator, settings)
    model = _kernel_svm(estimator, target.kind, params)
    n, nnz = X.shape[0], X.nnz if sp.issparse(X) else X.size
    classes = np.bincount(target.codes) if target.kind == "classes" else np.array([], int)
    n_rows = max(int(settings.max_entries / max(nnz, 1) * n), 2)
    part, rows = X, np.arange(n)
    if n_rows < n:
        rows = np.sort(rng.choice(n, n_rows, replace=False))
        part, target = X[rows], target.take(rows)
    findings += missing + check_columns(part, survey(part), names, rows, settings)
    findings += _check_targets_and_duplicates(part, rows, target, classes, model, settings)
    estimate = None
    if not any(finding.severity == "error" for finding in findings):
        more, estimate = _check_fit(part, names, target, model, n, classes, rng, settings)
        findings += more
    return Report(_subject(X, part, target), sorted_by_severity(findings), estimate)


@dataclass(frozen=True, eq=False)
class _Target:
    """y as it is read: "classes" with codes 0..k, "targets" (float64 codes), or "nothing"."""

    kind: str
    codes: np.ndarray
    classes: np.ndarray

    def take(self, rows: np.ndarray) -> _Target:
        return replace(self, codes=self.codes[rows])


def _read_rows(X: Any) -> tuple[Any, Sequence[str] | None, list[Finding]]:
    """X as an array or CSR with gaps, its column names, and the columns that are no numbers."""
    found = []
    if hasattr(X, "columns") and not sp.issparse(X):
        text = [name for name in X.columns if not _is_numeric(X[name])]
        if text:
            found = [
                Finding(
                    "error",
                    f"Columns that hold other things than numbers: {len(text):,}",
                    listed(np.arange(len(text)), text),
                    "encode them, for example with OneHotEncoder, or drop them.",
                )
            ]
            X = X[[name for name in X.columns if name not in text]]
    names = _get_feature_names(X)
    X = check_array(
        X,
        accept_sparse="csr",
        dtype=DTYPES,
        ensure_all_finite=False,
        ensure_min_samples=2,
        input_name="X",
    )
    if sp.issparse(X) and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X, names, found


def _is_numeric(column: Any) -> bool:
    values = np.asarray(column)
    if values.dtype.kind in "biufmM":
        return values.dtype.kind not in "mM"  # dates and durations
    try:
        values.astype(np.float64)
    except (TypeError, ValueError):
        return False
    return True


def _read_targets(
    y: Any, X: Any, estimator: Any, settings: Thresholds
) -> tuple[_Target, list[Finding]]:
    if y is None or (estimator is not None and is_outlier_detector(estimator)):
        return _Target("nothing", np.zeros(X.shape[0]), np.array([])), []
    y = column_or_1d(y)
    check_consistent_length(X, y)
    if y.dtype.kind == "f":
        missing = ~np.isfinite(y)
    elif y.dtype == object:
        missing = np.array([value is None or value != value for value in y], dtype=bool)
    else:
        missing = np.zeros(y.size, bool)
    found = []
    if missing.any():
        found = [
            Finding(
                "error",
                f"Targets that are missing or infinite: {missing.sum():,} of {y.size:,}",
                f"first in row {np.argmax(missing)}",
                "leave these rows out.",
            )
        ]
        y = np.where(missing, y[~missing][0] if not missing.all() else 0, y)
    if _are_labels(y, estimator, settings.max_label_values):
        if y.dtype.kind == "f" and type_of_target(y) == "continuous":
            raise ValueError(
                f"Unknown label type: y holds real numbers, and {type(estimator).__name__} needs "
                "classes. Use a regressor."
            )
        classes, codes = np.unique(y, return_inverse=True)
        return _Target("classes", codes, classes), found
    return _Target("targets", np.asarray(y, np.float64), np.array([])), found


def _are_labels(y: np.ndarray, estimator: Any, most: int) -> bool:
    if estimator is not None and (is_classifier(estimator) or is_regressor(estimator)):
        return bool(is_classifier(estimator))
    if y.dtype.kind not in "iuf":
        return True
    return type_of_target(y) in ("binary", "multiclass") and np.unique(y).size <= most


def _refuse_estimator(estimator: Any) -> None:
    if isinstance(estimator, type) or not (estimator is None or hasattr(estimator, "get_params")):
        raise TypeError(f"estimator must be an estimator object such as SVC(); got {estimator!r}.")
    if hasattr(estimator, "steps"):
        raise TypeError(
            "estimator must not be a Pipeline: give its last step as estimator, and as X the rows "
            "that step sees, pipeline[:-1].fit_transform(X)."
        )


def _kernel_svm(estimator: Any, kind: str, params: Mapping[str, Any]) -> KernelMachine:
    """A kernel SVM with the parameters of an estimator, validated."""
    if isinstance(estimator, KernelMachine):
        model = clone(estimator)
    else:
        model = {"classes": SVC, "targets": SVR, "nothing": OneClassSVM}[kind]()
        if estimator is not None:
            given = estimator.get_params(deep=False)
            mine = model.get_params(deep=False)
            model.set_params(**{p: given[p] for p in SHARED if p in given and p in mine})
            model.set_params(kernel=given.get("kernel") or "linear")
            model.set_params(gamma="auto" if model.gamma is None else model.gamma)
    model.set_params(**params)
    defaults = model._defaults()
    model.set_params(**{name: defaults[name] for name in UNUSED if name in defaults})
    model._validate_params()
    if is_precomputed(model.kernel):
        raise ValueError(
            'kernel="precomputed" cannot be combined with doctor, which checks rows of numbers; '
            "for a kernel matrix use mercer.check_kernel."
        )
    return model


def _check_targets_and_duplicates(
    X: Any,
    rows: np.ndarray,
    target: _Target,
    classes: np.ndarray,
    model: Any,
    settings: Thresholds,
) -> list[Finding]:
    """Targets and equal rows; ``rows`` are the numbers of those in X."""
    found = []
    if target.kind == "classes":
        has_weights = getattr(model, "class_weight", None) is not None
        found += check_labels(target.classes, classes, has_weights, settings)
    elif target.kind == "targets":
        epsilon, tol = (getattr(model, name, None) for name in ("epsilon", "tol"))
        found += check_targets(target.codes, epsilon, tol, settings)
    first = first_equal(X)
    if target.kind != "nothing":
        found += contradictions(first, target.codes, target.kind == "classes", rows)
    return found + repetitions(first, target.codes, settings)


def _check_fit(
    X: Any,
    names: Any,
    target: _Target,
    model: Any,
    n: int,
    classes: np.ndarray,
    rng: np.random.Generator,
    settings: Thresholds,
) -> tuple[list[Finding], Estimate | None]:
    """What takes a kernel and the fit of a sample: γ, C, and the estimated time."""
    entries = max(X.nnz if sp.issparse(X) else X.size, 1) / X.shape[0]
    n_rows = int(
        np.clip(
            settings.neighbour_entries / max(entries, 1),
            settings.sample_rows,
            settings.neighbour_rows,
        )
    )
    rows = rng.choice(X.shape[0], min(n_rows, X.shape[0]), replace=False)
    few = dense_if_small(X[rows])
    found = collinear_columns(X, rows[: settings.collinear_rows], names, settings)
    try:
        kernel, _ = resolve_kernel(model, few, None)
        points = make_samples(few, kernel)
        kernel.check(points)
        statistics = kernel_statistics(kernel, points, settings.probe_rows)
        sample = _with_every_class(rows[: settings.sample_rows], target, rng)
        estimate, bounded = _estimate(model, X[sample], target.codes[sample], n, settings)
    except ValueError as error:  # such as negative values for Chi2, an infeasible ν
        return [*found, Finding("error", "A fit would be refused", "", str(error))], None
    found += check_gamma(kernel, statistics, settings)
    found += check_low_rank(kernel, points, model, n, settings)
    unit, n_side = 1.0, n / 2
    if target.kind == "classes":
        n_side = float(classes.min())
    elif target.kind == "targets":
        unit = float(np.std(target.codes)) or 1.0
    n_bounded = bounded if target.kind == "targets" and bounded > settings.at_bound else 0.0
    found += check_C(getattr(model, "C", None), statistics, unit, n_side, n_bounded)
    if estimate.seconds[0] > settings.long_seconds:
        remedy = "try fewer rows, a linear estimator, or PegasosClassifier.fit_stream first."
        typed = "try fewer rows, --machine linear-svc, or --time-limit."
        what = "An exact fit will take minutes or more"
        found.append(Finding("note", what, "", remedy, command=typed))
    return found, estimate


def estimate_time(model: Any, X: Any, y: Any, settings: Thresholds) -> tuple[float, float] | None:
    """Between which times a fit of a kernel SVM probably takes; None if that cannot be told."""
    if not isinstance(model, KernelMachine) or is_precomputed(model.kernel):
        return None
    rng = np.random.default_rng(0)
    target = np.zeros(X.shape[0]) if y is None else y
    rows = rng.choice(X.shape[0], settings.sample_rows, replace=False)
    defaults = model._defaults()
    sample = clone(model).set_params(**{p: defaults[p] for p in UNUSED if p in defaults})
    try:
        return _estimate(sample, X[rows], target[rows], X.shape[0], settings)[0].seconds
    except ValueError:  # such as one class in the sample
        return None


def _estimate(
    model: Any, X: Any, y: np.ndarray, n: int, settings: Thresholds
) -> tuple[Estimate, float]:
    """Fit a sample of m rows in t seconds; all n take between t n/m and t (n/m)², about.

    An exact fit computes about n · n_sv kernel values, and n_sv grows at most linearly with n. Also
    returns the fraction of the sample's dual variables that are at the bound.
    """
    _timed_fit(model, X, y, 0.0)  # loads compiled code
    fitted, seconds = _timed_fit(model, X, y, settings.sample_seconds)
    m, factor, is_solved = X.shape[0], settings.timing_factor, fitted.fit_status_ == 0
    low, high = (seconds * (n / m) ** power for power in settings.growth)
    factor = 1.0 if n == m and is_solved else factor
    coef = fitted.dual_coef_
    count = coef.nnz if sp.issparse(coef) else np.count_nonzero(coef)
    tasks_per_row = max(len(getattr(fitted, "classes_", ())) - 1, 1)
    estimate = Estimate(
        seconds=(low / factor, high * factor if is_solved else np.inf),
        rows=n,
        sample_rows=m,
        sample_seconds=seconds,
        support_fraction=min(float(count) / (tasks_per_row * m), 1.0),
        is_solved=is_solved,
    )
    return estimate, fitted.certificate_.n_bound / m


def _timed_fit(model: Any, X: Any, y: np.ndarray, limit: float) -> tuple[Any, float]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for _ in range(2):  # the second time all code is compiled
            began = time.perf_counter()
            with Compilation() as compilation:
                fitted = model.set_params(time_limit=limit).fit(X, y)
            if compilation.seconds == 0:
                break
    return fitted, time.perf_counter() - began - compilation.seconds


def _with_every_class(rows: np.ndarray, target: _Target, rng: np.random.Generator) -> np.ndarray:
    if target.kind != "classes":
        return rows
    _, first = np.unique(target.codes, return_index=True)
    return rng.permutation(np.union1d(rows, first))


def _subject(X: Any, part: Any, target: _Target) -> str:
    kind = "sparse" if sp.issparse(X) else "dense"
    told = {
        "classes": f"{target.classes.size:,} classes",
        "targets": "targets of a regression",
        "nothing": "no targets",
    }[target.kind]
    seen = "all rows" if part is X else f"{part.shape[0]:,} random rows"
    return f"{X.shape[0]:,} {kind} rows of {X.shape[1]:,} columns, {told}; checked {seen}"
