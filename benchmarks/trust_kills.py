"""Fits with checkpoints, and writers of model files, that are ended by SIGKILL at random moments.

A fit that was killed is begun again with its checkpoint, and may be killed again, until it ends.
Its optimum must be that of the undisturbed fit: both lie between the dual and the primal value of
either.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

import mercer
from benchmarks.report import table
from mercer.data import Checkpoint

__all__ = ["Kills", "kill_fits", "run_kills"]

ROWS, COLUMNS = 1500, 8
# Seconds between two checkpoints: many in a fit of some tenths of a second.
INTERVAL = 0.02
# Fractions of the moments at which a writer of model files is ended instead of a fit, and at which
# a fit that was killed may go on to its end.
WRITERS, UNDISTURBED = 0.1, 0.4
MAKERS: dict[str, Callable[[], Any]] = {
    "SVC": lambda: mercer.SVC(C=300.0, gamma=0.1, tol=1e-3),
    "SVC of three": lambda: mercer.SVC(C=100.0, gamma=0.1, tol=1e-3),
    "NuSVC": lambda: mercer.NuSVC(nu=0.3, gamma=0.1, tol=1e-4),
    "SVR": lambda: mercer.SVR(C=100.0, gamma=0.1, epsilon=0.05, tol=1e-3),
    "NuSVR": lambda: mercer.NuSVR(C=30.0, nu=0.4, gamma=0.1, tol=1e-3),
    "OneClassSVM": lambda: mercer.OneClassSVM(nu=0.4, gamma=0.1, tol=1e-5),
}


@dataclass
class Kills:
    """What was killed, and what came of it.

    Attributes
    ----------
    fits : Counter
        Fits that were ended by SIGKILL, by kind.
    resumed : int
        Of them, those that left a checkpoint with duals other than zero.
    writers, ended : int
        Writers that were ended by SIGKILL; fits that ended after none or several kills.
    largest : float
        The largest difference of an optimum from that of the undisturbed fit, over the latter.
    problems : list of str
    """

    fits: Counter = field(default_factory=Counter)
    resumed: int = 0
    writers: int = 0
    ended: int = 0
    largest: float = 0.0
    problems: list[str] = field(default_factory=list)

    def rows(self) -> list[list[str]]:
        return [
            ["fits ended by kill -9", f"{self.fits.total():,}"],
            ["of these with duals in the checkpoint", f"{self.resumed:,}"],
            ["writers ended by kill -9", f"{self.writers:,}"],
            ["fits that ended after kills", f"{self.ended:,}"],
            ["largest difference of optima", f"{self.largest:.1e}"],
        ]


def _problem(kind: str) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(12)
    X = rng.normal(size=(ROWS, COLUMNS))
    f = X[:, 0] * X[:, 1] + 0.5 * rng.normal(size=ROWS)
    if kind.endswith("R"):
        return X, f
    return X, np.digitize(f, [-0.3, 0.3] if kind == "SVC of three" else [0.0])


def fit_with_checkpoint(kind: str, path: str, result: str) -> None:
    """A fit in a process that may be killed; its certificate goes to a file."""
    warnings.simplefilter("ignore")
    model = MAKERS[kind]().set_params(checkpoint=path)
    model._fit_settings = replace(model._fit_settings, checkpoint_seconds=INTERVAL)
    certificate = model.fit(*_problem(kind)).certificate_
    text = json.dumps([certificate.primal, certificate.dual, certificate.status.is_solved])
    Path(result + ".part").write_text(text)
    os.replace(result + ".part", result)


def save_again_and_again(path: str) -> None:
    X, y = _problem("SVC")
    model = mercer.SVC().fit(X[:200], y[:200])
    while True:
        mercer.save(model, path)


def _kill_after(target: Any, arguments: tuple, seconds: float | None, context: Any) -> bool:
    """Whether the process was still running when it was killed; None: it is not killed."""
    child = context.Process(target=target, args=arguments)
    child.start()
    child.join(seconds)
    running = child.is_alive()
    if running:
        os.kill(child.pid, signal.SIGKILL)
    child.join()
    return running


def _has_duals(path: str) -> bool:
    """Whether there is a checkpoint that is further than its beginning; it must be readable."""
    if not Path(path).exists():
        return False
    _, arrays = Checkpoint.read(path)
    return any(array.any() for name, array in arrays.items() if name.startswith("beta"))


def kill_fits(is_over: Callable[[Kills], bool], folder: Path, rng: np.random.Generator) -> Kills:
    """Begin fits and kill them, until ``is_over(what was done)``."""
    context = multiprocessing.get_context("fork")
    whole, seconds = {}, {}
    for kind, make in MAKERS.items():
        make().fit(*(part[:100] for part in _problem(kind)))  # compiled before processes are forked
        began = time.perf_counter()
        whole[kind] = make().fit(*_problem(kind)).certificate_
        seconds[kind] = time.perf_counter() - began
    done, kinds = Kills(), list(MAKERS)
    while not is_over(done):
        if rng.random() < WRITERS:
            _kill_a_writer(str(folder / "saved.mercer"), done, rng, context)
            continue
        kind = kinds[rng.integers(len(kinds))]
        _kill_a_fit(kind, seconds[kind], whole[kind], folder, done, rng, context)
    return done


def _kill_a_writer(saved: str, done: Kills, rng: np.random.Generator, context: Any) -> None:
    done.writers += _kill_after(save_again_and_again, (saved,), rng.uniform(0, 0.5), context)
    try:
        if Path(saved).exists():
            mercer.load(saved)
    except mercer.FileError as error:
        done.problems.append(f"a file cannot be read: {error}")


def _kill_a_fit(
    kind: str,
    longest: float,
    whole: Any,
    folder: Path,
    done: Kills,
    rng: np.random.Generator,
    context: Any,
) -> None:
    """Kill a fit one or several times, and let it go on to its end."""
    path, result = str(folder / "fit.npz"), str(folder / "fit.json")
    is_disturbed = True
    while not Path(result).exists():
        after = rng.uniform(0, longest) if is_disturbed else None
        killed = _kill_after(fit_with_checkpoint, (kind, path, result), after, context)
        done.fits[kind] += killed
        if not killed and not Path(result).exists():
            done.problems.append(f"{kind}: a fit with the checkpoint of another ended without one")
            Path(path).unlink(missing_ok=True)
            return
        try:
            done.resumed += killed and _has_duals(path)
        except mercer.FileError as error:
            done.problems.append(f"{kind}: a checkpoint cannot be read: {error}")
            return
        is_disturbed = rng.random() > UNDISTURBED
    primal, dual, is_solved = json.loads(Path(result).read_text())
    Path(result).unlink()
    done.ended += 1
    done.largest = max(done.largest, abs(primal - whole.primal) / abs(whole.primal))
    slack = 1e-9 * abs(primal)
    if not is_solved or dual > whole.primal + slack or whole.dual > primal + slack:
        done.problems.append(
            f"{kind}: a resumed fit ended at {primal:.9g}, undisturbed {whole.primal:.9g}"
        )
    if Path(path).exists():
        done.problems.append(f"{kind}: a solved fit left its checkpoint")
        Path(path).unlink()


def run_kills(count: int, rng: np.random.Generator) -> int:
    """``--kills``: only fits and writers, until so many fits left duals in their checkpoints."""
    with tempfile.TemporaryDirectory() as place:
        done = kill_fits(lambda now: now.resumed >= count, Path(place), rng)
    by_kind = [[f"  {kind}", f"{number:,}"] for kind, number in sorted(done.fits.items())]
    first, *others = done.rows()
    print(table(["", "count"], [first, *by_kind, *others, ["problems", str(len(done.problems))]]))
    for problem in done.problems[:20]:
        print(problem, file=sys.stderr)
    return 1 if done.problems else 0
