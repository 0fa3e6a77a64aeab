"""The playground: from a change to the numbers of the new picture, and to the picture on screen.

500 points, every machine with every kernel, at a small, a middle and a large C and γ. ``--browser``
also moves a slider in Chromium and takes the time until the frame after the solution.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["add_command"]

POINTS = 500
MOVES = 30


def add_command(commands: Any) -> None:
    """Register ``playground``."""
    parser = commands.add_parser("playground", help=__doc__.splitlines()[0])
    parser.add_argument("--browser", action="store_true", help="also end to end in Chromium")
    parser.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> int:
    """Print the slowest pictures, and quantiles of all."""
    from mercer.playground import State, draw
    from mercer.playground._catalogue import ESTIMATORS, KERNELS
    from mercer.playground._render import axes, columns

    points = _points()
    times: list[tuple[float, str]] = []
    for machine in ESTIMATORS:
        for kernel in KERNELS:
            for C in (0.01, 1.0, 100.0):
                for gamma in (0.1, 0.5, 5.0):
                    state = State(
                        points=points, machine=machine, kernel=kernel, C=C, gamma=gamma, degree=2
                    )
                    draw(state)
                    began = time.perf_counter()
                    picture = draw(state)
                    json.dumps({"columns": columns(picture, None, None), "axes": axes(picture)})
                    name = f"{machine}, {kernel}, C={C:g}, γ={gamma:g}: {picture.explanation.key}"
                    times.append((1000 * (time.perf_counter() - began), name))
    spent = np.array([each for each, _ in times])
    print(f"{len(times)} pictures of {POINTS} points, on the server, milliseconds")
    print(f"median {np.median(spent):.0f}, 95 % {np.quantile(spent, 0.95):.0f}, "
          f"over 150: {(spent > 150).mean():.1%}")  # fmt: skip
    for each, name in sorted(times, reverse=True)[:8]:
        print(f"{each:7.0f}  {name}")
    if chosen.browser:
        _run_browser(State(points=points))
    return 0


def _points() -> tuple:
    from mercer.playground._presets import as_points

    rng = np.random.default_rng(0)
    X = np.clip(rng.normal(0, 1.2, (POINTS, 2)), -4, 4)
    labels = (X.sum(axis=1) + rng.normal(0, 0.8, POINTS) > 0).astype(int)
    return as_points(X, labels)


def _run_browser(state: Any) -> None:
    from tests.playground.browser import missing, opened, served

    reason = missing()
    if reason is not None:
        raise ValueError(f"--browser needs Chromium and its driver: {reason}.")
    profile = Path(tempfile.mkdtemp())
    for machine in ("svc", "pegasos", "logistic", "perceptron", "kmeans", "oneclass"):
        with served() as address, opened(profile / machine) as page:
            page.open(f"{address}?{state.with_machine(machine).to_query()}")
            for _ in range(MOVES):
                page.keys("\ue014", at="#parameter-gamma")
            spent = np.array(page.run("return window.playground.latencies")[3:])
            print(f"{machine}: γ moved {spent.size} times in Chromium: median "
                  f"{np.median(spent):.0f}, 95 % {np.quantile(spent, 0.95):.0f}, "
                  f"most {spent.max():.0f} ms")  # fmt: skip
