"""``python -m benchmarks embeddings``: Nyström and LLE against scikit-learn's."""

from __future__ import annotations

import argparse
import importlib
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.cases import CASES, prepare
from benchmarks.report import table

__all__ = ["add_command"]

LANDMARKS = ("random", "kmeans++", "greedy", "rpcholesky")
ROWS = 8000
CASE_NAMES = "cadata,cpusmall,kin40k,letter,satimage,spambase,usps"


def add_command(commands: Any) -> None:
    parser = commands.add_parser("embeddings", help="Nyström and LLE against scikit-learn's")
    parser.add_argument(
        "--cases",
        default="cadata,cpusmall,kin40k,letter,satimage,spambase,usps",
        help="data sets, with commas",
    )
    parser.add_argument("--components", type=int, default=200, help="of Nyström (200)")
    parser.add_argument("--repeat", type=int, default=3, help="repetitions; the best counts (3)")
    parser.set_defaults(run=run)


def _best(function: Callable[[], Any], repeat: int) -> tuple[float, Any]:
    """Seconds of the fastest of several calls after one to warm up, and what it returned."""
    function()
    spent = []
    for _ in range(repeat):
        start = time.perf_counter()
        solution = function()
        spent.append(time.perf_counter() - start)
    return min(spent), solution


def _nystroem(options: argparse.Namespace) -> None:
    mine = importlib.import_module("mercer.embeddings")
    theirs = importlib.import_module("sklearn.kernel_approximation")
    rows = []
    for name in options.cases.split(","):
        prepared = prepare(CASES[name])
        X, gamma = prepared.X[:ROWS], prepared.gamma
        common = {"gamma": gamma, "n_components": options.components, "random_state": 0}
        models = {"scikit-learn": theirs.Nystroem(**common)}
        models |= {how: mine.Nystroem(**common, landmarks=how) for how in LANDMARKS}
        row = [f"{name} {X.shape[0]:,} × {X.shape[1]}, γ={gamma:g}"]
        for model in models.values():
            seconds, phi = _best(partial(model.fit_transform, X), options.repeat)
            # of an RBF kernel matrix the trace is n
            row.append(f"{(X.shape[0] - np.square(phi).sum()) / X.shape[0]:.2%} ({seconds:.2f} s)")
        rows.append(row)
    print(f"Fraction of the trace that {options.components} components leave:\n")
    print(table(["", "scikit-learn", *LANDMARKS], rows))


def _lle(options: argparse.Namespace) -> None:
    mine = importlib.import_module("mercer.embeddings")
    theirs = importlib.import_module("sklearn.manifold")
    X, _ = importlib.import_module("sklearn.datasets").make_swiss_roll(5000, random_state=0)
    parameters = {"n_components": 2, "n_neighbors": 12}
    rows = []
    for name, model in (
        ("Mercer", mine.LocallyLinearEmbedding(**parameters)),
        ("scikit-learn", theirs.LocallyLinearEmbedding(**parameters, random_state=0)),
    ):
        seconds, fitted = _best(partial(model.fit, X), options.repeat)
        rows.append([name, f"{seconds:.2f}", f"{fitted.reconstruction_error_:.3g}"])
    print("\nLLE of a swiss roll, 5,000 × 3:\n")
    print(table(["", "seconds", "reconstruction error"], rows))


def run(options: argparse.Namespace) -> int:
    _nystroem(options)
    _lle(options)
    return 0
