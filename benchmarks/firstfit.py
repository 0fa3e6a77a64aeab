"""``python -m benchmarks firstfit``: a fit that compiles, one in a later process, one warm."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from typing import Any

from benchmarks.report import table

__all__ = ["add_command"]

# Kinds of fits that may need different compiled code: what makes X and y, and the estimator.
KINDS = {
    "SVC iris": ("load_iris().data", "load_iris().target", "SVC"),
    "LinearSVC iris": ("load_iris().data", "load_iris().target", "LinearSVC"),
    "SVC dense": ("X", "np.sign(y)", "SVC"),
    "SVC sparse": ("sp.csr_matrix(np.where(X > 0.5, X, 0))", "np.sign(y)", "SVC"),
    "SVC float32": ("X.astype(np.float32)", "np.sign(y)", "SVC"),
    "SVC 3 classes": ("X", "np.digitize(y, [-0.5, 0.5])", "SVC"),
    "SVR dense": ("X", "y", "SVR"),
}
PROBE = """
import json, time
import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_iris
from mercer import {estimator}
rng = np.random.default_rng(0)
X = rng.normal(size=({rows}, 20))
y = X[:, 0] + 0.5 * X[:, 1] * X[:, 2] + 0.3 * rng.normal(size={rows})
X, y = {X}, {y}
seconds = []
for _ in range(4):
    start = time.perf_counter()
    {estimator}().fit(X, y)
    seconds.append(time.perf_counter() - start)
print(json.dumps([seconds[0], min(seconds[1:])]))
"""


def add_command(commands: Any) -> None:
    parser = commands.add_parser("firstfit", help="first fit ever, in a later process, warm")
    parser.add_argument("--rows", type=int, default=2000, help="rows of the synthetic data (2000)")
    parser.set_defaults(run=run)


def _first_and_warm(code: str, cache: str) -> tuple[float, float]:
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, check=True, capture_output=True, text=True
    )
    first, warm = json.loads(done.stdout.splitlines()[-1])
    return first, warm


def run(options: argparse.Namespace) -> int:
    rows = []
    for name, (X, y, estimator) in KINDS.items():
        code = PROBE.format(rows=options.rows, X=X, y=y, estimator=estimator)
        with tempfile.TemporaryDirectory(prefix="mercer-numba-") as cache:
            ever, _ = _first_and_warm(code, cache)
            later, warm = _first_and_warm(code, cache)
        over = later - warm
        rows.append([name, f"{ever:.2f}", f"{later:.3f}", f"{warm:.3f}", f"{over:.3f}"])
        print(f"{name}: {ever:.2f} s, later {later:.3f} s, warm {warm:.3f} s", flush=True)
    print(f"\nSeconds of a fit of {options.rows} rows (iris: 150), each from an empty cache\n")
    print(table(["fit", "first ever", "later process", "warm", "later over warm"], rows))
    return 0
