"""Thresholds of the doctor's checks, and sizes of the parts of the data that it reads."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Thresholds"]


@dataclass(frozen=True)
class Thresholds:
    """What `mercer.doctor` reads and reports.

    Attributes
    ----------
    max_entries : stored entries of X that are checked; of larger data a random part of the rows
    max_label_values : numbers with more different values are targets of a regression, not labels
    imbalance : ratio of the largest to the smallest class from which on it is reported
    small_class_rows : classes with fewer rows are reported; the folds of usual cross-validation
    max_classes : more classes are reported as an error, since one-vs-one needs k(k − 1)/2 models
    collinear : columns are collinear if |correlation| is within this of 1
    max_collinear_columns : number of columns up to which collinearity is checked
    max_collinear_candidates : columns that are compared on all rows
    collinear_rows : rows on which all columns are compared first
    constant : a deviation below this fraction of a column's magnitude is rounding
    small_bytes : storage of smaller matrices is not checked
    storage_gain : dense storage is reported if sparse storage takes less than this fraction of it
    repeated_rows : fraction of repeated rows from which on it is reported
    small_epsilon : ε is small against the targets below this fraction of their deviation
    large_tol, small_tol : the tolerance is large against the targets above the first fraction of
        their deviation; the second is proposed
    at_bound : C is small against the targets if more than this fraction of the sample's dual
        variables is at the bound
    probe_rows : rows whose nearest neighbours are searched
    neighbour_rows, neighbour_entries : rows among which they are searched, and entries of these
    narrow, wide : a kernel is too narrow if the median value of the nearest row is below the first,
        too wide if the median value of all pairs is above the second (both relative to k(x, x))
    sample_rows, sample_seconds : size and time limit of the sample that is fitted
    growth : the time of a fit grows with a power of n between these, since n · n_sv kernel values
        are computed, and n_sv grows at most linearly
    timing_factor : the time of the sample may be off by this factor, either way
    long_seconds : an estimated time of more than this is reported
    low_rank_rows : below this number of rows the exact solver is the better choice
    low_rank_components : landmarks whose residual is measured where none are asked for
    low_rank_residual : low rank can work up to this mean residual
    """

    max_entries: int = 50_000_000
    max_label_values: int = 50
    imbalance: float = 10.0
    small_class_rows: int = 5
    max_classes: int = 500
    collinear: float = 1e-9
    max_collinear_columns: int = 1000
    max_collinear_candidates: int = 100
    collinear_rows: int = 1000
    constant: float = 1e-10
    small_bytes: int = 10_000_000
    storage_gain: float = 0.25
    repeated_rows: float = 0.1
    small_epsilon: float = 1e-3
    large_tol: float = 0.01
    small_tol: float = 1e-3
    at_bound: float = 0.9
    probe_rows: int = 256
    neighbour_rows: int = 8192
    neighbour_entries: int = 1_000_000
    narrow: float = 0.01
    wide: float = 0.99
    sample_rows: int = 2000
    sample_seconds: float = 0.5
    growth: tuple[float, float] = (1.0, 2.0)
    timing_factor: float = 2.0
    long_seconds: float = 60.0
    low_rank_rows: int = 100_000
    low_rank_components: int = 1000
    low_rank_residual: float = 0.05
