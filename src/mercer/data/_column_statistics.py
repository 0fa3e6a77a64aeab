"""Statistics of columns in one pass over the rows, and a check of their scales.

Read by the doctor before a fit and by the convergence warning after one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.data._files import IO

__all__ = ["SETTINGS", "Columns", "Finding", "listed", "survey", "total_variance", "uneven"]


@dataclass(frozen=True)
class ColumnSettings:
    """When columns are unscaled.

    Attributes
    ----------
    uneven : columns whose scales differ by a larger factor slow every solver down
    rare : small columns whose ratio of nonzeros is below this are rare rather than unscaled
    named : columns named in a message
    """

    uneven: float = 100.0
    rare: float = 0.01
    named: int = 3


SETTINGS = ColumnSettings()


@dataclass(frozen=True)
class Finding:
    """One problem of the data or the settings.

    Attributes
    ----------
    severity : {"error", "warning", "note"}
        A fit will fail; be slow or poor; could be better.
    what, where, remedy : str
    options : tuple of (name, value)
        Options of ``mercer train`` that are the remedy on the command line.
    command : str
        The remedy in words of the command line, where options are none.

    Examples
    --------
    >>> Finding("note", "Constant columns: 1", "age", "drop it")
    note: Constant columns: 1 (age): drop it
    """

    severity: str
    what: str
    where: str
    remedy: str
    options: tuple[tuple[str, Any], ...] = ()
    command: str = ""

    def __str__(self) -> str:
        return self.with_remedy(self.remedy)

    def with_remedy(self, remedy: str) -> str:
        where = f" ({self.where})" if self.where else ""
        return f"{self.what}{where}: {remedy}"

    def __repr__(self) -> str:
        return f"{self.severity}: {self}"


@dataclass(frozen=True, eq=False)
class Columns:
    """What one pass over the rows tells about each column; NaN and infinite entries left out.

    Attributes
    ----------
    low, high, sd : float64 arrays of shape (d,)
        Smallest and largest entry, standard deviation.
    n_bad : int array of shape (d,)
        Entries that are NaN or infinite.
    first_bad : int
        The first row with one; −1 if there is none.
    n_nonzero : int array of shape (d,)
    n : int
        Rows.
    """

    low: np.ndarray
    high: np.ndarray
    sd: np.ndarray
    n_bad: np.ndarray
    first_bad: int
    n_nonzero: np.ndarray
    n: int

    @property
    def ranges(self) -> np.ndarray:
        """high − low; 0 of a column without a finite entry."""
        with np.errstate(over="ignore", invalid="ignore"):
            return np.where(self.high >= self.low, self.high - self.low, 0.0)


def survey(X: Any) -> Columns:
    """Statistics of all columns of a dense or CSR matrix, from one pass."""
    with np.errstate(over="ignore", invalid="ignore"):  # entries whose squares overflow: sd is inf
        return _survey_sparse(X) if sp.issparse(X) else _survey_dense(X)


def _survey_dense(X: np.ndarray) -> Columns:
    n, d = X.shape
    low, high = np.full(d, np.inf), np.full(d, -np.inf)
    count, total, squares = np.zeros(d), np.zeros(d), np.zeros(d)
    n_bad, n_nonzero, first_bad = np.zeros(d, np.int64), np.zeros(d, np.int64), -1
    # Sums are taken around the first row: a large mean would hide a small deviation.
    origin = np.where(np.isfinite(X[0]), X[0], 0).astype(np.float64)
    for start in range(0, n, IO.array_rows):
        part = X[start : start + IO.array_rows]
        part = part if part.dtype.kind == "f" else part.astype(np.float64)
        shifted = part - origin
        ok: Any = np.isfinite(part)
        if ok.all():
            ok = True
            count += part.shape[0]
        else:
            shifted[~ok] = 0.0
            count += ok.sum(axis=0)
            n_bad += part.shape[0] - ok.sum(axis=0)
            if first_bad < 0:
                first_bad = start + int(np.argmin(ok.all(axis=1)))
        np.minimum(low, part.min(axis=0, initial=np.inf, where=ok), out=low)
        np.maximum(high, part.max(axis=0, initial=-np.inf, where=ok), out=high)
        n_nonzero += np.count_nonzero(part, axis=0)
        total += shifted.sum(axis=0)
        squares += np.einsum("ij,ij->j", shifted, shifted)
    return Columns(low, high, _deviation(count, total, squares), n_bad, first_bad, n_nonzero, n)


def _survey_sparse(X: Any) -> Columns:
    n, d = X.shape
    values, columns = X.data.astype(np.float64), X.indices
    bad = ~np.isfinite(values)
    values[bad] = 0.0
    stored = np.bincount(columns, minlength=d)
    low, high = np.where(stored < n, 0.0, np.inf), np.where(stored < n, 0.0, -np.inf)
    np.minimum.at(low, columns, values)
    np.maximum.at(high, columns, values)
    n_bad = np.bincount(columns[bad], minlength=d)
    total = np.bincount(columns, weights=values, minlength=d)
    squares = np.bincount(columns, weights=values**2, minlength=d)
    first = -1
    if bad.any():
        first = int(np.searchsorted(X.indptr, np.argmax(bad), side="right")) - 1
    sd = _deviation(n - n_bad, total, squares)
    n_nonzero = np.bincount(columns[values != 0], minlength=d)
    return Columns(low, high, sd, n_bad, first, n_nonzero, n)


def _deviation(count: np.ndarray, total: np.ndarray, squares: np.ndarray) -> np.ndarray:
    count = np.maximum(count, 1)
    return np.sqrt(np.maximum(0.0, squares / count - (total / count) ** 2))


def total_variance(X: Any) -> float:
    """The variances of all columns together, half of the mean ‖x − z‖²; 1 where it is zero."""
    if sp.issparse(X):
        mean = np.asarray(X.mean(axis=0)).ravel()
        total = float(X.multiply(X).sum() / X.shape[0] - mean @ mean)
    else:
        total = float(np.var(np.asarray(X, np.float64), axis=0).sum())
    return total if total > 0 else 1.0


def uneven(columns: Columns, names: Sequence[str] | None) -> Finding | None:
    """Columns far from the others' scale.

    Even ranges (0/1 columns, rare or not) and even deviations (standardised columns, with outliers
    or not) are both even scales, so the smaller of both distances from the middle counts.
    """
    ranges, sd = columns.ranges, columns.sd
    used = np.flatnonzero((ranges > 0) & (sd > 0) & np.isfinite(ranges))
    rare = columns.n_nonzero[used] < SETTINGS.rare * columns.n
    used = used[~rare | (ranges[used] > np.median(ranges[used]))] if used.size else used
    if used.size < 2:
        return None
    logs = [np.log(ranges[used])]
    if np.isfinite(sd[used]).all():
        logs.append(np.log(sd[used]))
    if min(np.ptp(scale) for scale in logs) <= np.log(SETTINGS.uneven):
        return None
    off = np.min([np.abs(scale - np.median(scale)) for scale in logs], axis=0)
    worst = used[np.argsort(-off, kind="stable")]
    return Finding(
        "warning",
        f"Columns have very different scales: ranges from {ranges[used].min():.3g} to "
        f"{ranges[used].max():.3g}",
        f"furthest off: {listed(worst[: SETTINGS.named], names)}",
        "scale them first, for example with StandardScaler.",
        (("scale", "standard"),),
    )


def listed(columns: np.ndarray, names: Sequence[str] | None) -> str:
    """The first columns by name, or else by number."""
    shown = [f"column {j}" if names is None else str(names[j]) for j in columns[: SETTINGS.named]]
    more = columns.size - len(shown)
    return ", ".join(shown) + (f" and {more:,} more" if more > 0 else "")
