"""Starts one process after the other - touch memory, fit, judge - and keeps what they report."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.cases import Case
from benchmarks.peers import EARLIER, EARLIER_FOLDER, PEERS

__all__ = ["Settings", "Store", "held", "machine", "process", "run_one"]

TOUCH_BEYOND_CACHE_MB = 2000
DEFAULT_CACHE_MB = 200
LAST_WORDS = 300


@dataclass(frozen=True)
class Settings:
    """How peers are run.

    Attributes
    ----------
    cache_mb : float or None
        Kernel cache for all; None leaves each library's default.
    repeat : int
        Warm fits; the best counts.
    repeat_below : float
        A first fit of more seconds than this is not repeated: its time is the warm time too.
    timeout : float
        Seconds a peer's process may take.
    lock : path or None
        Held by each process while it runs, for machines where others measure too.
    """

    cache_mb: float | None = 4000.0
    repeat: int = 1
    repeat_below: float = 120.0
    timeout: float = 900.0
    lock: str | None = None


@contextlib.contextmanager
def held(path: str | None) -> Iterator[None]:
    if path is None:
        yield
        return
    import fcntl

    with open(path, "a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def process(spec: dict[str, Any], folder: str, timeout: float) -> dict[str, Any]:
    """Run a worker; what it reports, or ``{"failed": reason}``."""
    out = Path(folder) / "out.json"
    out.unlink(missing_ok=True)
    spec = {**spec, "out": str(out)}
    command = [sys.executable, "-m", "benchmarks.worker", json.dumps(spec)]
    environment = dict(os.environ)
    if spec.get("peer") == EARLIER:  # before the installed version on the import path
        environment["PYTHONPATH"] = environment[EARLIER_FOLDER]
    try:
        done = subprocess.run(
            command,
            timeout=timeout,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            env=environment,
        )
    except subprocess.TimeoutExpired:
        return {"failed": f"not finished after {timeout:.0f} s"}
    if out.exists():
        return json.loads(out.read_text())
    words = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
    return {"failed": words[-1][-LAST_WORDS:]}


def run_one(peer: str, case: Case, settings: Settings) -> dict[str, Any]:
    """Fit ``case`` with ``peer`` and have the solution judged."""
    cache_mb = DEFAULT_CACHE_MB if settings.cache_mb is None else settings.cache_mb
    run: dict[str, Any] = {"peer": peer, "case": case.name, "parameters": case.as_dict()}
    run["cache_mb"] = settings.cache_mb
    missing = PEERS[peer].missing()
    if missing:
        return {**run, "failed": missing}
    with tempfile.TemporaryDirectory(prefix="mercer-bench-") as folder:
        solution = str(Path(folder) / "solution.npz")
        fit = {
            "do": "fit",
            "peer": peer,
            "case": case.as_dict(),
            "cache_mb": settings.cache_mb,
            "repeat": settings.repeat,
            "repeat_below": settings.repeat_below,
            "solution": solution,
        }
        with held(settings.lock):
            touch = {"do": "touch", "megabytes": cache_mb + TOUCH_BEYOND_CACHE_MB}
            process(touch, folder, settings.timeout)
            run.update(process(fit, folder, settings.timeout))
        if "failed" not in run:
            with held(settings.lock):
                judged = {"do": "judge", "case": case.as_dict(), "solution": solution}
                run.update(process(judged, folder, settings.timeout))
    return run


class Store:
    """The runs so far, by case and peer, written to a JSON file after each of them.

    ``quiet``: how many cores other processes may have used during a run that is reused.
    """

    def __init__(self, path: str | None, *, reuse: bool, quiet: float | None = None):
        self.quiet = quiet
        self.path = Path(path) if path else None
        self.runs: list[dict[str, Any]] = []
        if reuse and self.path is not None and self.path.exists():
            self.runs = json.loads(self.path.read_text())["runs"]

    def find(self, case: str, peer: str) -> dict[str, Any] | None:
        """The run of ``peer`` on ``case``, if it is there, did not fail and was not disturbed."""
        for run in self.runs:
            if (run["case"], run["peer"]) == (case, peer) and "failed" not in run:
                disturbed = self.quiet is not None and (run.get("others_cores") or 0) > self.quiet
                return None if disturbed else run
        return None

    def add(self, run: dict[str, Any]) -> None:
        same = (run["case"], run["peer"])
        self.runs = [r for r in self.runs if (r["case"], r["peer"]) != same] + [run]
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            content = {"machine": machine(), "runs": self.runs}
            self.path.write_text(json.dumps(content, indent=1))


def machine() -> dict[str, Any]:
    """What the numbers were measured on."""
    return {
        "system": platform.system(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "date": time.strftime("%Y-%m-%d"),
    }


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor()
