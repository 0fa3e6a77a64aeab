"""``python -m benchmarks import``: the time to import an estimator against scikit-learn's."""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from typing import Any

from benchmarks.report import table

__all__ = ["add_command"]

MODULES = ("mercer", "sklearn.svm")


def add_command(commands: Any) -> None:
    parser = commands.add_parser("import", help="import time against sklearn.svm's")
    parser.add_argument("--repeat", type=int, default=10, help="processes of each, in turns (10)")
    parser.set_defaults(run=run)


def _seconds(code: str) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True)
    return time.perf_counter() - start


def run(options: argparse.Namespace) -> int:
    # Names of mercer are lazy: the module alone would cost nothing.
    codes = {"(nothing)": "pass"} | {name: f"from {name} import SVC" for name in MODULES}
    for code in codes.values():
        _seconds(code)  # files into the system's cache, bytecode written
    best = dict.fromkeys(codes, float("inf"))
    for _ in range(options.repeat):
        for name, code in codes.items():
            best[name] = min(best[name], _seconds(code))
    start_up = best.pop("(nothing)")
    net = {name: seconds - start_up for name, seconds in best.items()}
    rows = [[name, f"{seconds:.3f}"] for name, seconds in net.items()]
    rows.append(["ratio", f"{net[MODULES[0]] / net[MODULES[1]]:.2f}×"])
    print(f"Seconds to import SVC, best of {options.repeat}, without the interpreter's own start\n")
    print(table(["module", "seconds"], rows))
    return 0
