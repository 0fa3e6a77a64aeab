"""Kernels on time series for ``python -m benchmarks kernels``: errors, and seconds of fits.

**Errors.** Published train and test parts. σ (multiples of the default), the band and C are chosen
by 5-fold cross-validation of the training part (`mercer.SVCCV`), then the test part is predicted
once. The error of the nearest neighbour by DTW with a learned window is that of the archive, or,
where the archive has none, of the same method without scaling.

**Seconds.** One fit and one prediction of the test part with the same σ and C, against tslearn's
``TimeSeriesSVC(kernel="gak")`` where it is installed, and the peak of the memory that Python
objects took meanwhile (tracemalloc), after a first call.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np

import mercer
from benchmarks.data import load
from mercer.kernels import GlobalAlignment, Kernel

__all__ = ["TASKS"]

Row = list[str]

# Test errors of 1-NN-DTW with a learned window.
NEIGHBOUR = {
    "GunPoint": 0.0867,
    "ItalyPowerDemand": 0.0447,
    "SyntheticControl": 0.0167,
    "PickupGestureWiimoteZ": 0.3400,
    "JapaneseVowels": 0.0514,
}


def _default_sigma(X: list[np.ndarray]) -> float:
    resolved: Any = GlobalAlignment().resolved(X)
    return float(resolved.sigma)


def candidates(X: list[np.ndarray]) -> list[Kernel]:
    """Kernels around the default σ, with bands where all lengths are equal."""
    sigma = _default_sigma(X)
    lengths = {len(x) for x in X}
    bands: list[int | None] = [None]
    if len(lengths) == 1:
        length = lengths.pop()
        bands += sorted({1, max(2, length // 20), max(2, length // 8), max(2, length // 4)})
    return [
        GlobalAlignment(sigma * factor, band)
        for factor in (0.05, 0.1, 0.2, 0.5, 1.0, 2.0)
        for band in bands
    ]


def errors(options: argparse.Namespace) -> list[Row]:
    """Test errors, parameters chosen on the training part."""
    out = []
    for name, neighbour in NEIGHBOUR.items():
        data = load(f"series_{name}")
        kernels = candidates(data.X)
        start = time.perf_counter()
        search = mercer.SVCCV(kernel=kernels, Cs=np.logspace(-1, 4, 6), cv=5)
        search.fit(data.X, data.y)
        found = 1 - search.score(data.X_test, data.y_test)
        seconds = time.perf_counter() - start
        best = f"{search.best_params_['kernel']!r}, C={search.best_params_['C']:g}"
        out.append([name, best, f"{found:.4f}", f"{neighbour:.4f}", f"{seconds:.1f}"])
    return out


def fits(options: argparse.Namespace) -> list[Row]:
    """A fit and a prediction, and tslearn's."""
    out = []
    for name in ("GunPoint", "SyntheticControl", "JapaneseVowels"):
        data = load(f"series_{name}")
        sigma = 0.2 * _default_sigma(data.X)
        mine = _timed(
            mercer.SVC(kernel=GlobalAlignment(sigma)), data.X, data.y, data.X_test, options.repeat
        )
        out.append([name, f"SVC, GlobalAlignment({sigma:.3g})", *_shown(mine), "1×", "1×"])
        if importlib.util.find_spec("tslearn"):
            svm = importlib.import_module("tslearn.svm")
            pad = importlib.import_module("tslearn.utils").to_time_series_dataset
            model = svm.TimeSeriesSVC(kernel="gak", gamma=2 * sigma**2)
            theirs = _timed(model, pad(data.X), data.y, pad(data.X_test), 1)
            ratios = [f"{b / a:.0f}×" for a, b in zip(mine[:2], theirs[:2], strict=True)]
            out.append([name, "tslearn, TimeSeriesSVC", *_shown(theirs), *ratios])
    return out


def _timed(model: Any, X: Any, y: Any, new: Any, repeat: int) -> tuple[float, float, float]:
    """Seconds of a fit and of a prediction after a first one, and the peak in MB."""
    step = max(1, len(y) // 20)  # rows of all classes
    model.fit(X[::step], y[::step]).predict(new[:2])
    best = [np.inf, np.inf]
    for _ in range(repeat):
        start = time.perf_counter()
        model.fit(X, y)
        middle = time.perf_counter()
        model.predict(new)
        best = [min(best[0], middle - start), min(best[1], time.perf_counter() - middle)]
    tracemalloc.start()
    model.fit(X, y).predict(new)
    peak = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    return best[0], best[1], peak


def _shown(found: tuple[float, float, float]) -> list[str]:
    return [f"{found[0]:.3f}", f"{found[1]:.3f}", f"{found[2]:.0f}"]


TASKS: dict[str, tuple[list[str], Callable[[argparse.Namespace], list[Row]]]] = {
    "series errors": (["data", "chosen", "test error", "1-NN-DTW", "seconds"], errors),
    "series fits": (
        ["data", "who", "fit, s", "predict, s", "peak, MB", "fit ratio", "predict ratio"],
        fits,
    ),
}
