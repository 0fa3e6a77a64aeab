"""``python -m benchmarks cli``: the time of --help, and what ``mercer train`` adds to a fit."""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import dump_svmlight_file

from benchmarks.data import load
from benchmarks.report import table

__all__ = ["add_command"]

MERCER = (sys.executable, "-m", "mercer.cli")
SETTINGS = {"C": 1.0, "gamma": 0.05}
# The same fit without the command line: a process that says how long its rows took to come.
FIT = """
import sys, time
from mercer import SVC
began = time.perf_counter()
from mercer.data import read_table
data = read_table(sys.argv[1])
seconds = time.perf_counter() - began
SVC(C=float(sys.argv[2]), gamma=float(sys.argv[3])).fit(data.X, data.y)
print(seconds)
"""


def add_command(commands: Any) -> None:
    parser = commands.add_parser("cli", help="time of --help; what train adds to import and fit")
    parser.add_argument("--data", default="a9a", help="data set of two classes (a9a)")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each, in turns (3)")
    parser.set_defaults(run=run)


def _seconds(command: tuple[str, ...]) -> tuple[float, str]:
    began = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return time.perf_counter() - began, done.stdout


def run(options: argparse.Namespace) -> int:
    data = load(options.data)
    settings = [str(value) for value in SETTINGS.values()]
    helped, trained, fitted = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        path, model = str(Path(folder) / "data.svm"), str(Path(folder) / "model")
        dump_svmlight_file(data.X, data.y, path, zero_based=False)
        letters = ("-q", "-c", settings[0], "-g", settings[1])
        for _ in range(options.repeat + 1):  # the first time nothing is in the system's cache
            helped.append(_seconds((*MERCER, "--help"))[0])
            trained.append(_seconds((*MERCER, "train", path, model, *letters))[0])
            seconds, reading = _seconds((sys.executable, "-c", FIT, path, *settings))
            fitted.append(seconds - float(reading))
    best = [float(np.min(times[1:])) for times in (helped, trained, fitted)]
    rows = [
        ["mercer --help", f"{best[0]:.2f}"],
        [f"mercer train on {options.data}", f"{best[1]:.2f}"],
        ["imports and the fit alone", f"{best[2]:.2f}"],
        ["difference", f"{best[1] - best[2]:.2f}"],
    ]
    print(f"Seconds, best of {options.repeat}\n")
    print(table(["what", "seconds"], rows))
    return 0
