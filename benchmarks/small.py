"""``python -m benchmarks small``: warm fits of 100–500 rows against scikit-learn, in turns."""

from __future__ import annotations

import argparse
import importlib
import time
import warnings
from typing import Any

import numpy as np

from benchmarks.report import geometric_mean, table

__all__ = ["add_command"]

SIZES = (100, 200, 300, 500)


def add_command(commands: Any) -> None:
    parser = commands.add_parser("small", help="100–500 rows: a warm fit against scikit-learn's")
    parser.add_argument("--repeat", type=int, default=40, help="fits of each, in turns (40)")
    parser.set_defaults(run=run)


def _problems() -> dict[str, tuple[str, np.ndarray, np.ndarray]]:
    """Data sets that come with scikit-learn, standardised, in random order."""
    from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits

    found = {}
    for name, task, loader in (
        ("breast cancer", "SVC", load_breast_cancer),
        ("digits (10 classes)", "SVC", load_digits),
        ("diabetes", "SVR", load_diabetes),
    ):
        X, y = loader(return_X_y=True)
        order = np.random.default_rng(0).permutation(len(y))
        spread = X.std(axis=0)
        X = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
        found[name] = task, X[order], y[order].astype(np.float64)
    return found


def _in_turns(models: list[Any], X: np.ndarray, y: np.ndarray, repeat: int) -> list[float]:
    """Median milliseconds of a fit of each, after two to warm up."""
    spent: list[list[float]] = [[] for _ in models]
    for turn in range(repeat + 2):
        for times, model in zip(spent, models, strict=True):
            start = time.perf_counter()
            model.fit(X, y)
            if turn >= 2:
                times.append(1e3 * (time.perf_counter() - start))
    return [float(np.median(times)) for times in spent]


def run(options: argparse.Namespace) -> int:
    warnings.simplefilter("ignore")
    mine, theirs = importlib.import_module("mercer"), importlib.import_module("sklearn.svm")
    rows, ratios = [], []
    for name, (task, X, y) in _problems().items():
        for n in (size for size in SIZES if size <= len(y)):
            models = [getattr(module, task)() for module in (mine, theirs)]
            ours, other = _in_turns(models, X[:n], y[:n], options.repeat)
            ratios.append(other / ours)
            rows.append([name, str(n), f"{ours:.2f}", f"{other:.2f}", f"{other / ours:.2f}×"])
    rows.append(["geometric mean", "", "", "", f"{geometric_mean(ratios):.2f}×"])
    print("Warm fit with default parameters, median milliseconds\n")
    print(table(["data", "rows", "mercer", "sklearn", "ratio"], rows))
    return 0
