"""Calibration: short measurements from which the cost of a fit is extrapolated.

Two samples, of m/4 and m rows, are fitted: they show what share of the rows become support vectors,
how their number grows, and how many pair steps one takes. A kernel tile and a matrix product are
timed on one thread.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer._threads import single_threaded_blas
from mercer.estimators._validation import dense_if_small, make_samples
from mercer.exceptions import ConvergenceWarning
from mercer.kernels import Kernel

__all__ = ["SAMPLE", "Calibration", "calibrate"]

# Rows of the larger sample that is fitted, and seconds for each of the two fits at the most.
SAMPLE = 4000
SAMPLE_SECONDS = 0.3
# Support vectors grow at least with this power of n.
LEAST_GROWTH = 0.5
# The smaller sample has at least so many rows.
FEWEST = 20
# Rows and columns of the matrices whose product is timed.
TILE = 512


@dataclass(frozen=True)
class Calibration:
    """What was measured.

    Attributes
    ----------
    tile_seconds : for one kernel value
    multiply_seconds : for one multiplication of a dense matrix product
    rows : of the larger sample
    share : of the rows of a task that are support vectors, in the larger sample
    growth : the power of n with which their number grows
    steps : pair steps of the larger fit
    seconds : of the larger fit
    finished : whether the fits were
    """

    tile_seconds: float
    multiply_seconds: float
    rows: int
    share: float
    growth: float
    steps: int
    seconds: float
    finished: bool


def calibrate(machine: Any, kernel: Kernel, X: Any, y: np.ndarray) -> Calibration:
    """Time the kernel and fit two samples; X and y are some rows in random order."""
    quarter = X.shape[0] // 4
    part = None
    has_all = y.dtype.kind == "f" or np.unique(y[:quarter]).size == np.unique(y).size
    if quarter >= FEWEST and has_all:
        part = _fit(machine, X[:quarter], y[:quarter])
    whole = _fit(machine, X, y)
    growth = 1.0
    if part is not None and part.count and whole.count:
        growth = float(np.log(whole.count / part.count) / np.log(X.shape[0] / quarter))
    with single_threaded_blas():
        tile_seconds, multiply_seconds = _time_tile(kernel, X), _time_product()
    return Calibration(
        tile_seconds=tile_seconds,
        multiply_seconds=multiply_seconds,
        rows=X.shape[0],
        share=min(whole.count / whole.variables, 1.0),
        growth=min(max(growth, LEAST_GROWTH), 1.0),
        steps=whole.steps,
        seconds=whole.seconds,
        finished=whole.finished,
    )


@dataclass(frozen=True)
class _Fit:
    count: int  # support vectors, summed over the tasks
    variables: int  # rows, summed over the tasks
    steps: int
    seconds: float
    finished: bool


def _fit(machine: Any, X: Any, y: Any) -> _Fit:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        began = time.perf_counter()
        model = machine.set_params(time_limit=SAMPLE_SECONDS).fit(X, y)
        seconds = time.perf_counter() - began
    coef = model.dual_coef_
    count = coef.nnz if sp.issparse(coef) else np.count_nonzero(coef)
    tasks_of_a_row = max(len(getattr(model, "classes_", ())) - 1, 1)
    return _Fit(
        count=int(count),
        variables=tasks_of_a_row * X.shape[0],
        steps=int(np.sum(model.n_iter_)),
        seconds=seconds,
        finished=model.fit_status_ == 0,
    )


def _time_tile(kernel: Kernel, X: Any) -> float:
    points = make_samples(dense_if_small(X), kernel)
    side = min(TILE, points.n)
    rows, columns = (
        points.take(part, np.float32) for part in (slice(0, side), slice(points.n - side, points.n))
    )
    out = np.empty((side, side), np.float32)
    return _least(lambda: kernel.tile(rows, columns, out)) / side**2


def _time_product() -> float:
    A = np.ones((TILE, TILE))
    out = np.empty_like(A)
    return _least(lambda: np.matmul(A, A, out=out)) / TILE**3


def _least(work: Callable[[], object], times: int = 4) -> float:
    """The shortest of some runs, after one that touches memory."""
    work()
    seconds = []
    for _ in range(times):
        began = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - began)
    return min(seconds)
