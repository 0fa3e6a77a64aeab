"""`doctor`: look at rows and targets before a fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone, is_classifier, is_outlier_detector, is_regressor
from sklearn.utils import check_array, check_consistent_length, column_or_1d
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import _get_feature_names

from mercer.data._column_statistics import Finding, listed, survey
from mercer.diagnostics._calibrate import SAMPLE, calibrate
from mercer.diagnostics._checks import check_columns, check_labels, check_targets, twins
from mercer.diagnostics._cost import Shape, estimate
from mercer.diagnostics._duplicates import contradictions, first_equal, repetitions
from mercer.diagnostics._kernel_scale import check_gamma, check_price, look
from mercer.diagnostics._report import Estimate, Report, by_severity
from mercer.estimators import SVC, SVR, OneClassSVM
from mercer.estimators._parameters import resolve_kernel
from mercer.estimators._validation import DTYPES, dense_if_small, is_precomputed, make_samples
from mercer.estimators.svm._base import KernelMachine

__all__ = ["doctor"]

# Entries that are all looked at; of more, some rows are.
MOST_ENTRIES = 50_000_000
# Rows among which neighbours are looked for, and entries of them at the most.
NEIGHBOURS = 8192
NEIGHBOUR_ENTRIES = 1_000_000
# Rows on which columns are compared with each other.
COMPARED = 1000
# Numbers with more different values than these are targets, not labels.
MOST_CLASSES = 50
# An exact fit of more seconds is worth a word.
LONG = 60.0
# What another estimator's parameters say about a kernel machine.
SHARED = ("kernel", "gamma", "degree", "coef0", "C", "epsilon", "class_weight", "n_jobs")

# Left at their defaults when samples are fitted.
QUIET = ("callback", "verbose", "warm_start", "probability", "max_iter")


def doctor(
    X: Any,
    y: Any = None,
    *,
    estimator: Any = None,
    feature_names: Sequence[str] | None = None,
    random_state: Any = 0,
    **params: Any,
) -> Report:
    """Say before a fit what will hurt, and what it will take.

    Looks for entries that are no numbers, columns that are constant, unscaled or repeated, equal
    rows with different labels, small classes, and C or γ far from the data's scale. Time and memory
    are extrapolated from two small fits of a sample.

    Parameters
    ----------
    X : {array-like, sparse matrix, pandas or polars DataFrame} of shape (n_samples, n_features)
        NaN and infinite entries are found, not refused. Beyond 50 million entries a random part of
        the rows is looked at.
    y : array-like of shape (n_samples,), optional
        Class labels or targets; without an estimator to tell which, numbers of more than 50
        different values are targets.
    estimator : estimator, optional
        What is to be fitted, for its parameters; by default `SVC`, `SVR` or (without y)
        `OneClassSVM` with theirs.
    feature_names : sequence of str, optional
        What columns are called in findings; by default as in a DataFrame, or by number.
    random_state : int, RandomState or Generator, default=0
        For the samples.
    **params
        Parameters of the estimator to look at in place of its own, such as ``C=100``.

    Returns
    -------
    report : Report
        Print it; ``findings`` and ``estimates`` are what it says.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import doctor
    >>> X = np.random.default_rng(0).normal(size=(300, 3)) * [1, 1, 5000]
    >>> report = doctor(X, X[:, 0] > 0)
    >>> report.findings[0].where
    'furthest off: column 2, column 0, column 1'
    """
    _refuse_estimator(estimator)
    rng = np.random.default_rng(random_state)
    X, names, findings = _read_rows(X)
    names = names if feature_names is None else feature_names
    target, missing = _read_targets(y, X, estimator)
    machine = _machine(estimator, target.kind, params)
    n, nnz = X.shape[0], X.nnz if sp.issparse(X) else X.size
    classes = np.bincount(target.codes) if target.kind == "classes" else np.array([], int)
    n_rows = max(int(MOST_ENTRIES / max(nnz, 1) * n), 2)
    part, rows = X, np.arange(n)
    if n_rows < n:
        rows = np.sort(rng.choice(n, n_rows, replace=False))
        part, target = X[rows], target.take(rows)
    findings += missing + check_columns(part, survey(part), names, rows)
    findings += _examine(part, rows, target, classes, machine, rng)
    estimates: tuple[Estimate, ...] = ()
    if not any(finding.severity == "error" for finding in findings):
        shape = Shape(n, X.shape[1], nnz, _bytes(X), tuple(classes.tolist()))
        more, estimates = _try(part, names, target, machine, shape, rng)
        findings += more
    return Report(_subject(X, part, target), by_severity(findings), estimates)


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
                    "error", f"Columns that hold other things than numbers: {len(text):,}",
                    listed(np.arange(len(text)), text),
                    "encode them, for example with OneHotEncoder, or leave them out.",
                )
            ]  # fmt: skip
            X = X[[name for name in X.columns if name not in text]]
    names = _get_feature_names(X)
    X = check_array(
        X, accept_sparse="csr", dtype=DTYPES, ensure_all_finite=False, ensure_min_samples=2,
        input_name="X",
    )  # fmt: skip
    if sp.issparse(X) and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X, names, found


def _is_numeric(column: Any) -> bool:
    values = np.asarray(column)
    if values.dtype.kind in "biuf":
        return True
    try:
        values.astype(np.float64)
    except (TypeError, ValueError):
        return False
    return True


def _read_targets(y: Any, X: Any, estimator: Any) -> tuple[_Target, list[Finding]]:
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
                "error", f"Targets that are missing or infinite: {missing.sum():,} of {y.size:,}",
                f"first in row {np.argmax(missing)}", "leave these rows out.",
            )
        ]  # fmt: skip
        y = np.where(missing, y[~missing][0] if not missing.all() else 0, y)
    if _are_labels(y, estimator):
        if y.dtype.kind == "f" and type_of_target(y) == "continuous":
            raise ValueError(
                f"Unknown label type: y holds real numbers, and {type(estimator).__name__} needs "
                "classes. Use a regressor."
            )
        classes, codes = np.unique(y, return_inverse=True)
        return _Target("classes", codes, classes), found
    return _Target("targets", np.asarray(y, np.float64), np.array([])), found


def _are_labels(y: np.ndarray, estimator: Any) -> bool:
    if estimator is not None and (is_classifier(estimator) or is_regressor(estimator)):
        return bool(is_classifier(estimator))
    if y.dtype.kind not in "iuf":
        return True
    return type_of_target(y) in ("binary", "multiclass") and np.unique(y).size <= MOST_CLASSES


def _refuse_estimator(estimator: Any) -> None:
    if isinstance(estimator, type) or not (estimator is None or hasattr(estimator, "get_params")):
        raise TypeError(f"estimator must be an estimator object such as SVC(); got {estimator!r}.")
    if hasattr(estimator, "steps"):
        raise TypeError(
            "estimator must not be a Pipeline: give its last step as estimator, and as X the rows "
            "that step sees, pipeline[:-1].fit_transform(X)."
        )


def _machine(estimator: Any, kind: str, params: dict[str, Any]) -> KernelMachine:
    """The kernel machine that an estimator's parameters mean, quiet and with all checked."""
    if isinstance(estimator, KernelMachine):
        machine = clone(estimator)
    else:
        machine = {"classes": SVC, "targets": SVR, "nothing": OneClassSVM}[kind]()
        if estimator is not None:
            given = estimator.get_params(deep=False)
            mine = machine.get_params(deep=False)
            machine.set_params(**{p: given[p] for p in SHARED if p in given and p in mine})
            machine.set_params(kernel=given.get("kernel") or "linear")
            machine.set_params(gamma="auto" if machine.gamma is None else machine.gamma)
    machine.set_params(**params)
    defaults = machine._defaults()
    machine.set_params(**{name: defaults[name] for name in QUIET if name in defaults})
    machine._validate_params()
    if is_precomputed(machine.kernel):
        raise ValueError(
            'kernel="precomputed" cannot be combined with doctor, which looks at rows of numbers; '
            "for a kernel matrix use mercer.check_kernel."
        )
    return machine


def _examine(
    X: Any,
    rows: np.ndarray,
    target: _Target,
    classes: np.ndarray,
    machine: Any,
    rng: np.random.Generator,
) -> list[Finding]:
    """Targets and equal rows; X are the rows of these numbers."""
    found = []
    if target.kind == "classes":
        has_weights = getattr(machine, "class_weight", None) is not None
        found += check_labels(target.classes, classes, has_weights)
    elif target.kind == "targets":
        found += check_targets(target.codes, getattr(machine, "epsilon", None))
    first = first_equal(X, rng)
    if target.kind != "nothing":
        found += contradictions(first, target.codes, target.kind == "classes", rows)
    return found + repetitions(first, target.codes)


def _try(
    X: Any, names: Any, target: _Target, machine: Any, shape: Shape, rng: np.random.Generator
) -> tuple[list[Finding], tuple[Estimate, ...]]:
    """What takes a kernel and a fit of some rows: γ and C, time and memory."""
    entries = max(X.nnz if sp.issparse(X) else X.size, 1) / X.shape[0]
    n_rows = int(np.clip(NEIGHBOUR_ENTRIES / max(entries, 1), SAMPLE, NEIGHBOURS))
    rows = rng.choice(X.shape[0], min(n_rows, X.shape[0]), replace=False)
    few = dense_if_small(X[rows])
    found = twins(X, rows[:COMPARED], names)
    try:
        kernel, _ = resolve_kernel(machine, few, None)
        points = make_samples(few, kernel)
        kernel.check(points)
        sight = look(kernel, points)
        sample = _with_every_class(rows[:SAMPLE], target, rng)
        measured = calibrate(machine, kernel, X[sample], target.codes[sample])
    except ValueError as error:  # such as negative values for Chi2, a nu that cannot be met
        return [*found, Finding("error", "A fit would be refused", "", str(error))], ()
    found += check_gamma(kernel, sight)
    unit, n_side = 1.0, shape.n / 2
    if target.kind == "classes":
        n_side = min(shape.classes)
    elif target.kind == "targets":
        unit = float(np.std(target.codes)) or 1.0
    found += check_price(getattr(machine, "C", None), sight, unit, n_side)
    estimates = estimate(shape, measured, machine)
    return found + _check_time(estimates), estimates


def _with_every_class(rows: np.ndarray, target: _Target, rng: np.random.Generator) -> np.ndarray:
    if target.kind != "classes":
        return rows
    _, first = np.unique(target.codes, return_index=True)
    return rng.permutation(np.union1d(rows, first))


def _check_time(estimates: tuple[Estimate, ...]) -> list[Finding]:
    exact, *others = estimates
    if exact.seconds[0] < LONG:
        return []
    sooner = [other.route for other in others if other.seconds[1] < exact.seconds[0]]
    remedy = f"try first: {', '.join(sooner)}" if sooner else "try first with fewer rows"
    return [Finding("note", "An exact fit will take minutes or more", "", f"{remedy}.")]


def _bytes(X: Any) -> int:
    return sum(a.nbytes for a in (X.data, X.indices, X.indptr)) if sp.issparse(X) else X.nbytes


def _subject(X: Any, part: Any, target: _Target) -> str:
    kind = "sparse" if sp.issparse(X) else "dense"
    told = {
        "classes": f"{target.classes.size:,} classes",
        "targets": "targets of a regression",
        "nothing": "no targets",
    }[target.kind]
    seen = "all rows" if part is X else f"{part.shape[0]:,} random rows"
    return f"{X.shape[0]:,} {kind} rows of {X.shape[1]:,} columns, {told}; looked at {seen}"
