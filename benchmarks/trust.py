"""``python -m benchmarks trust``: mixed load for half an hour, and kills at random moments.

Processes fit, verify, search, predict, save, load and are interrupted, all at random; beside them
fits with checkpoints and writers of files are ended by SIGKILL. In the end: resident memory of
every process in the second and in the last quarter, files that could not be read, certificates that
did not hold, resumed optima that differ. The exit status is 1 if there is any, or if memory grew by
more than 5 %. With ``--kills 200`` there is no load, but 200 fits that are ended and go on.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

import mercer
from benchmarks.report import table
from benchmarks.trust_kills import kill_fits, run_kills

__all__ = ["add_command"]

PROCESSES = 4

MOST_GROWTH = 0.05


def add_command(commands: Any) -> None:
    parser = commands.add_parser("trust", help="mixed load, kills and resumed fits (make soak)")
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--processes", type=int, default=PROCESSES)
    parser.add_argument(
        "--kills", type=int, help="only end fits, so many of them with duals in a checkpoint"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.set_defaults(run=run)


# ---------------------------------------------------------------------- the load


def _rows(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    n, d = int(rng.integers(30, 300)), int(rng.integers(2, 12))
    X = rng.normal(size=(n, d))
    return X, np.digitize(
        X[:, 0] + rng.normal(size=n), [0.0] if rng.random() < 0.7 else [-0.5, 0.5]
    )


def _fit(rng: np.random.Generator, folder: Path) -> str:
    """A fit whose certificate must hold."""
    X, y = _rows(rng)
    C = float(10 ** rng.uniform(-2, 2))
    makers = (
        lambda: mercer.SVC(C=C),
        lambda: mercer.SVR(C=C),
        lambda: mercer.LinearSVC(C=min(C, 1.0)),
        lambda: mercer.KernelRidge(kernel="rbf", alpha=C),
        lambda: mercer.OneClassSVM(nu=0.3),
    )
    model = makers[rng.integers(len(makers))]().fit(X, y)
    said, found = model.certificate_, mercer.verify(model, X, y)
    gap = getattr(said, "gap", None)
    if gap is not None and found.gap > gap * 1.01 + 1e-9 * abs(said.primal):
        return f"{model!r}: states a gap of {gap:g}, and it is {found.gap:g}"
    return ""


def _search(rng: np.random.Generator, folder: Path) -> str:
    X, y = _rows(rng)
    mercer.SVCCV(Cs=3, gammas=2, cv=2).fit(X, y).predict(X)
    return ""


def _save(rng: np.random.Generator, folder: Path) -> str:
    """A file that is read again predicts the same."""
    X, y = _rows(rng)
    model, path = mercer.SVC(C=2.0).fit(X, y), folder / f"{os.getpid()}.mercer"
    mercer.save(model, path)
    same = (mercer.load(path).decision_function(X) == model.decision_function(X)).all()
    return "" if same else f"{path} predicts something else"


def _interrupt(rng: np.random.Generator, folder: Path) -> str:
    """A fit that is stopped at once has a model, which does not say that it is solved."""
    X, y = _rows(rng)
    model = mercer.SVC(C=1e4, tol=1e-9, callback=lambda progress: True).fit(X, y)
    found = mercer.verify(model, X, y)
    if model.certificate_.status.is_solved and not found.status.is_solved:
        return "an interrupted fit is said to be solved"
    return ""


ACTIONS = {"fit": (_fit, 6), "search": (_search, 1), "save": (_save, 3), "stop": (_interrupt, 2)}


def _resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


def work(seed: int, seconds: float, folder: str, results: Any) -> None:
    """One process of the load."""
    warnings.simplefilter("ignore")
    rng, began = np.random.default_rng(seed), time.monotonic()
    done: Counter = Counter()
    problems, memory = [], []
    names = [name for name, (_, weight) in ACTIONS.items() for _ in range(weight)]
    while time.monotonic() - began < seconds:
        name = names[rng.integers(len(names))]
        try:
            problem = ACTIONS[name][0](rng, Path(folder))
        except Exception as error:
            problem = f"{name}: {type(error).__name__}: {error}"
        done[name] += 1
        problems += [problem] if problem else []
        memory.append((time.monotonic() - began, _resident()))
    results.put((dict(done), problems, memory))


# ---------------------------------------------------------------------- the report


def _growth(memory: list[tuple[float, int]], seconds: float) -> float:
    """The mean of the last quarter over that of the second."""
    quarter = [
        [size for when, size in memory if part <= 4 * when / seconds < part + 1]
        for part in range(4)
    ]
    if not quarter[1] or not quarter[3]:
        return 0.0
    return float(np.mean(quarter[3]) / np.mean(quarter[1]) - 1)


def run(options: argparse.Namespace) -> int:
    rng = np.random.default_rng(options.seed)
    if options.kills:
        return run_kills(options.kills, rng)
    seconds = 60 * options.minutes
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    with tempfile.TemporaryDirectory() as place:
        workers = [
            context.Process(target=work, args=(seed, seconds, place, results))
            for seed in range(options.processes)
        ]
        for worker in workers:
            worker.start()
        latest = time.monotonic() + seconds
        found_kills = kill_fits(lambda _: time.monotonic() >= latest, Path(place), rng)
        problems = found_kills.problems
        found = [results.get(timeout=300) for _ in workers]
        for worker in workers:
            worker.join()
    total: Counter = Counter()
    growths = []
    for done, wrong, memory in found:
        total.update(done)
        problems += wrong
        growths.append(_growth(memory, seconds))
    rows = [[name, f"{count:,}"] for name, count in total.items()]
    rows += found_kills.rows()
    rows += [["largest growth of memory", f"{max(growths):.1%}"], ["problems", str(len(problems))]]
    print(table(["", "count"], rows))
    for problem in problems[:20]:
        print(problem, file=sys.stderr)
    return 1 if problems or max(growths) > MOST_GROWTH else 0
