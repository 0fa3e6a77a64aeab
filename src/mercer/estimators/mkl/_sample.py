"""Weights of kernels learned from some of the rows, to start from with all of them.

The losses of n' rows, C multiplied by n/n', estimate those of all n: so the weights that are best
for both are near to each other, and a step costs (n'/n)² as much.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer._threads import Workers
from mercer.estimators.mkl._point import Machine
from mercer.estimators.mkl._weight_search import WeightSearch
from mercer.gram._distinct import DistinctGrams
from mercer.kernels import Kernel

__all__ = ["SampleSettings", "sample_machines", "sample_rows", "weights_of_samples"]


@dataclass(frozen=True)
class SampleSettings:
    """Attributes: how rows are sampled.

    factor : int
        Rows of a sample for each of the next smaller one.
    least : int
        Rows of the smallest sample.
    gap_tol : float
        Relative gap to which the weights of a sample are learned.
    """

    factor: int = 4
    least: int = 400
    gap_tol: float = 0.02


def sample_rows(n: int, settings: SampleSettings, seed: int = 0) -> list[np.ndarray]:
    """Rows of growing samples, each within the next; none where n is small."""
    order = np.random.default_rng(seed).permutation(n)
    sizes, size = [], n // settings.factor
    while size >= settings.least:
        sizes.append(size)
        size //= settings.factor
    return [np.sort(order[:size]) for size in reversed(sizes)]


def sample_machines(machines: Sequence[Machine], rows: np.ndarray, n: int) -> list[Machine]:
    """The machines on some of n rows (sorted), which are numbered anew; C times n over these."""
    ratio = n / rows.size
    out = []
    for machine in machines:
        points = np.flatnonzero(np.isin(machine.rows, rows))
        part = machine.problem.take(points)
        diag = None if part.diag is None else part.diag / ratio
        part = replace(part, lower=ratio * part.lower, upper=ratio * part.upper, diag=diag)
        out.append(Machine(part, np.searchsorted(rows, machine.rows[points])))
    return out


def weights_of_samples(
    samples: Sequence[np.ndarray],
    kernels: Sequence[Kernel],
    X: Any,
    machines: Sequence[Machine],
    scales: np.ndarray,
    limits: dict[str, Any],
    cache_bytes: float,
    workers: Workers,
) -> tuple[np.ndarray | None, int]:
    """Weights learned from growing samples of the rows, and how many machines were solved.

    ``limits`` are those of the `WeightSearch` of all rows.
    """
    stop, d, n_machines = limits["stopping"].is_stopped, None, 0
    limits = limits | {"gap_tol": max(limits["gap_tol"], SampleSettings.gap_tol)}
    for rows in samples:
        if stop():
            break
        grams = DistinctGrams(kernels, X[rows], cache_bytes, workers, stop)
        few = sample_machines(machines, rows, X.shape[0])
        search = WeightSearch(grams, scales, few, memory=np.empty((rows.size,) * 2), **limits)
        d = search.run(d)[0].d
        n_machines += search.n_machines
    return d, n_machines
