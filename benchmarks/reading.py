"""``python -m benchmarks reading``: files into arrays, against scikit-learn, NumPy and pandas.

Rows are repeated until a file has about ``--megabytes``. All read the same files in one process, in
turns, and must give the same numbers to the last bit. ``csv module`` is Mercer without pyarrow.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_svmlight_file

from benchmarks.data import MissingData, load
from benchmarks.report import table
from mercer.data import Schema, Table, read_table, write_table

__all__ = ["add_command"]

SVMLIGHT = ("a9a", "news20_tfidf", "usps")
CSV = ("cpusmall", "covtype")


def add_command(commands: Any) -> None:
    parser = commands.add_parser("reading", help="reading files against scikit-learn and pandas")
    parser.add_argument("--repeat", type=int, default=5, help="readings of each, in turns (5)")
    parser.add_argument("--megabytes", type=float, default=100, help="size of a file (100)")
    parser.add_argument("--data", help="data sets, comma separated (all)")
    parser.set_defaults(run=run)


def _mine(path: Path) -> Any:
    return read_table(path, target=-1 if path.suffix == ".csv" else None).X


def _without_pyarrow(path: Path) -> Any:
    installed = {name: sys.modules.get(name) for name in ("pyarrow", "pyarrow.csv")}
    sys.modules.update(dict.fromkeys(installed))  # type: ignore[arg-type]
    try:
        return _mine(path)
    finally:
        sys.modules.update(installed)  # type: ignore[arg-type]


def _pandas(path: Path) -> Any:
    import pandas as pd

    return pd.read_csv(path).iloc[:, :-1].to_numpy()


def _numpy(path: Path) -> Any:
    return np.loadtxt(path, delimiter=",", skiprows=1)[:, :-1]


PEERS: dict[str, dict[str, Callable[[Path], Any]]] = {
    ".svm": {"scikit-learn": lambda path: load_svmlight_file(str(path))[0]},
    ".csv": {"csv module": _without_pyarrow, "numpy.loadtxt": _numpy, "pandas": _pandas},
}


def _measure(path: Path, repeat: int) -> list[list[str]]:
    readers = {"Mercer": _mine, **PEERS[path.suffix]}
    best, solutions = dict.fromkeys(readers, float("inf")), {}
    for _ in range(repeat + 1):  # the first one compiles, or loads what was compiled
        for name, read in readers.items():
            start = time.perf_counter()
            solutions[name] = read(path)
            best[name] = min(best[name], time.perf_counter() - start)
    megabytes = path.stat().st_size / 1e6
    return [
        [
            path.name,
            f"{megabytes:.0f}",
            name,
            f"{best[name]:.3f}",
            f"{best[name] / best['Mercer']:.1f}×",
            str(_same(solutions[name], solutions["Mercer"])),
        ]
        for name in readers
    ]


def _write(path: Path, X: Any, y: Any, megabytes: float) -> None:
    """About as many megabytes of rows: all, in their order, as often as needed."""
    some = np.arange(1000) % X.shape[0]
    schema = Schema(None, X.shape[1], sp.issparse(X))
    write_table(path, Table(X[some], y[some], schema, path.stem, "npz"))
    n = int(1000 * megabytes * 1e6 / path.stat().st_size)
    rows = np.arange(n) % X.shape[0]
    write_table(path, Table(X[rows], y[rows], schema, path.stem, "npz"))


def _same(one: Any, other: Any) -> bool:
    if sp.issparse(one):
        return one.shape == other.shape and (one != other).nnz == 0
    return np.array_equal(one, other)


def run(options: argparse.Namespace) -> int:
    chosen = options.data.split(",") if options.data else [*SVMLIGHT, *CSV]
    lines: list[list[str]] = []
    for name in chosen:
        try:
            data = load(name)
        except MissingData as missing:
            print(missing)
            continue
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"{name}{'.csv' if name in CSV else '.svm'}"
            _write(path, data.X, data.y, options.megabytes)
            lines += _measure(path, options.repeat)
    print(f"Seconds to read a file, best of {options.repeat}\n")
    print(table(["file", "MB", "reader", "seconds", "against Mercer", "same numbers"], lines))
    return 0
