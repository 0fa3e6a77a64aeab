"""``python -m benchmarks autofit``: `mercer.autofit` against a 10 × 10 grid search with scaling.

Both get the same training rows; the score is accuracy (R² of a regression) on rows that neither has
seen. The grid search is `SVCCV` or `SVRCV` with ten C, ten γ, five folds and ``scale=True``, whose
cells equal those of scikit-learn (``python -m benchmarks tuning``). It has no time limit.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import warnings
from typing import Any

import numpy as np

from benchmarks.data import MissingData, load
from benchmarks.report import table
from benchmarks.runs import held, process

__all__ = ["add_command", "measure"]

# Sets, and the rows that they are trained on at most: a grid search ends in minutes.
SETS = {
    "heart": 200, "diabetes": 500, "svmguide1": 3000, "spambase": 3000, "satimage": 3000,
    "usps": 3000, "letter": 3000, "a9a": 4000, "covtype": 4000, "ijcnn1": 4000,
    "mnist": 3000, "w8a": 4000, "abalone": 2500, "cpusmall": 3000, "cadata": 3000, "kin40k": 3000,
}  # fmt: skip
DEFAULT = ("heart", "diabetes", "svmguide1", "spambase", "satimage", "usps", "letter", "a9a",
           "covtype", "ijcnn1")  # fmt: skip
REGRESSION = ("abalone", "cpusmall", "cadata", "kin40k")
TEST_ROWS = 5000
HEAD = ["set", "rows", "test rows", "grid", "s", "autofit", "s", "limit", "± s.e.", "verdict",
        "chosen"]  # fmt: skip


def add_command(commands: Any) -> None:
    parser = commands.add_parser("autofit", help="autofit against a grid search with scaling")
    parser.add_argument("--sets", default=",".join(DEFAULT), help=f"of {', '.join(SETS)}")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds of autofit (60)")
    parser.add_argument("--rows", type=int, help="training rows at most")
    parser.add_argument("--timeout", type=float, default=1800, help="seconds of a process (1800)")
    parser.add_argument("--lock", help="a file to hold while a process is measured")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    rows: list[list[str]] = []
    at_least = total = 0
    overrun = 0.0
    for name in options.sets.split(","):
        if name not in SETS:
            raise ValueError(f"unknown set {name!r}; known: {', '.join(SETS)}.")
        n = min(SETS[name], options.rows or SETS[name])
        spec = {"do": "autofit", "name": name, "rows": n, "limit": options.limit}
        with tempfile.TemporaryDirectory(prefix="mercer-bench-") as folder, held(options.lock):
            found = process(spec, folder, options.timeout)
        if "failed" in found:
            rows.append([name, str(n), *[""] * 8, found["failed"]])
            continue
        total += 1
        better = found["autofit"] >= found["grid"] - 1e-12
        close = found["autofit"] >= found["grid"] - found["error"]
        at_least += better
        overrun = max(overrun, found["autofit_seconds"] - options.limit)
        rows.append([
            name, str(found["rows"]), str(found["test_rows"]), f"{found['grid']:.4f}",
            f"{found['grid_seconds']:.1f}", f"{found['autofit']:.4f}",
            f"{found['autofit_seconds']:.1f}", f"{options.limit:g}", f"{found['error']:.4f}",
            "at least" if better else "within 1 s.e." if close else "below", found["chosen"],
        ])  # fmt: skip
        print(table(HEAD, rows), flush=True)
        print()
    print(f"at least the grid search on {at_least} of {total}; largest overrun {overrun:.2f} s")
    return 0


def data_of(name: str, rows: int) -> tuple[Any, Any, Any, Any]:
    """Training and test rows: of the canonical split where there is one, else at random."""
    data = load(name)
    rng = np.random.default_rng(0)
    order = rng.permutation(data.X.shape[0])
    if data.y_test is not None:
        train = order[:rows]
        X, y, X_test, y_test = data.X[train], data.y[train], data.X_test, data.y_test
        test = rng.permutation(len(y_test))[:TEST_ROWS]
        return X, y, X_test[test], y_test[test]
    rows = min(rows, int(0.75 * order.size))
    train, test = order[:rows], order[rows : rows + TEST_ROWS]
    return data.X[train], data.y[train], data.X[test], data.y[test]


def measure(spec: dict[str, Any]) -> dict[str, Any]:
    """Both searches in this process, after all code is loaded."""
    from sklearn.model_selection import KFold, StratifiedKFold

    import mercer

    try:
        X, y, X_test, y_test = data_of(spec["name"], spec["rows"])
    except MissingData as error:
        return {"failed": str(error)}
    is_regression = spec["name"] in REGRESSION
    unit = float(np.std(y)) if is_regression else 1.0
    cv: Any = KFold if is_regression else StratifiedKFold
    own: dict[str, Any] = {"cv": cv(5, shuffle=True, random_state=0), "scale": True}
    grid: Any = mercer.SVCCV(**own)
    if is_regression:
        grid = mercer.SVRCV(Cs=np.logspace(-2, 3, 10) * unit, epsilons=0.1 * unit, **own)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        few = slice(0, 300)
        mercer.autofit(X[few], y[few], time_limit=3.0, verbose=False)  # loads code
        began = time.perf_counter()
        grid.fit(X, y)
        grid_seconds = time.perf_counter() - began
        began = time.perf_counter()
        model = mercer.autofit(X, y, time_limit=spec["limit"], verbose=False)
        seconds = time.perf_counter() - began
    scores = [float(grid.score(X_test, y_test)), float(model.score(X_test, y_test))]
    error = float(np.sqrt(max(scores[0] * (1 - scores[0]), 0.0) / len(y_test)))
    best = model.report_.best
    return {
        "rows": int(X.shape[0]), "test_rows": len(y_test), "grid": scores[0],
        "autofit": scores[1], "grid_seconds": grid_seconds, "autofit_seconds": seconds,
        "error": error, "chosen": "" if best is None else best.family.name,
    }  # fmt: skip
