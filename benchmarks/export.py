"""``python -m benchmarks export``: ONNX against Mercer on ten data sets, and compressed models.

For every set a model of some rows predicts others: labels that onnxruntime gives otherwise; the
largest difference of its decision values from Mercer's in float64 (`Expansion.exact`), and from
those of `decision_function`, which has float32 kernel values in models of many vectors; and the
seconds of a prediction with all vectors over those with a part of them (`SVC.compress`), with what
that changes.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import mercer
from benchmarks.data import MissingData, load
from benchmarks.report import table
from mercer.export import to_onnx

__all__ = ["add_command"]

SETS = "heart,diabetes,svmguide1,spambase,usps,satimage,letter,a9a,ijcnn1,covtype"  # ten
LARGEST_DIFFERENCE = 1e-10


def add_command(commands: Any) -> None:
    parser = commands.add_parser("export", help="ONNX labels on ten sets; compressed predictions")
    parser.add_argument("--cases", default=SETS, help="data sets, separated by commas")
    parser.add_argument("--rows", type=int, default=6000, help="training rows (6000)")
    parser.add_argument("--keep", type=float, default=0.5, help="part of the vectors kept (0.5)")
    parser.set_defaults(run=run)


def _parts(name: str, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Training rows and targets, and as many other rows, scaled as the training rows are."""
    data = load(name)
    order = np.random.default_rng(0).permutation(data.X.shape[0])[: 3 * n]
    some = data.X[order]
    X = some.toarray() if sp.issparse(some) else np.asarray(some, np.float64)
    n = min(n, len(X) // 2)
    scale = X[:n].std(axis=0)
    X = (X - X[:n].mean(axis=0)) / np.where(scale > 0, scale, 1.0)
    return X[:n], np.asarray(data.y)[order[:n]], X[n:]


def _seconds(model: Any, rows: np.ndarray) -> float:
    model.predict(rows)
    spent = []
    for _ in range(5):
        began = time.perf_counter()
        model.predict(rows)
        spent.append(time.perf_counter() - began)
    return min(spent)


def run(options: argparse.Namespace) -> int:
    from onnxruntime import InferenceSession

    rows, failed = [], False
    for name in options.cases.split(","):
        try:
            X, y, new = _parts(name, options.rows)
        except MissingData as missing:
            print(missing)
            continue
        model = mercer.SVC(C=10.0, decision_function_shape="ovo").fit(X, y)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.onnx"
            to_onnx(model, path)
            labels, values = InferenceSession(str(path)).run(None, {"X": new})[:2]
        flips = int((np.asarray(labels) != model.predict(new)).sum())
        values = values.reshape(len(new), -1)
        difference = float(np.abs(values - model.expansion_.exact(new)).max())
        rounded = float(np.abs(values - model.expansion_(new)).max())
        failed |= flips > 0 or difference > LARGEST_DIFFERENCE
        small = model.compress(max(1, int(options.keep * model.expansion_.n_support)), X=new)
        moved = int((small.predict(new) != model.predict(new)).sum())
        said = small.compression_
        rows.append([
            name, f"{len(new):,}", str(flips), f"{difference:.1e}", f"{rounded:.1e}",
            f"{said.n_vectors_before:,}",
            f"{_seconds(model, new) / max(_seconds(small, new), 1e-9):.1f}",
            f"{max(said.relative_change):.2f}", f"{said.largest_change:.2f}", str(moved),
        ])  # fmt: skip
    header = ["set", "rows", "flips", "float64", "decision_function", "vectors", "speed-up",
              "‖w − w̃‖/‖w‖", "largest change", "other labels"]  # fmt: skip
    print(table(header, rows))
    return 1 if failed else 0
