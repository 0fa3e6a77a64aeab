"""Worker processes that check problems one at a time, and are killed when one does not return.

A fit that hangs inside compiled code hears no signal, so the watch is kept from outside: the parent
knows when each problem was begun, and ends the process if it is not fitted after `WATCHDOG`
seconds. The failure is then "hang", and a new worker goes on with the next problem. An oracle that
takes more than `ORACLE` seconds is ended, too: "undecided".
"""

from __future__ import annotations

import math
import multiprocessing
import os
import time
from collections.abc import Iterable, Iterator
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

__all__ = ["PATIENCE", "WATCHDOG", "Pool", "processor_seconds"]

WATCHDOG = 20.0
ORACLE = 120.0
# On a busy computer the wall clock of a fit may be this multiple of its processor time.
PATIENCE = 10.0
# Seconds until a new process has imported and compiled everything.
START = 180.0
# The parent looks five times a second. If it has not looked for longer than this, all of them were
# paused, and the seconds in between count as this many only.
LONGEST_LOOK = 2.0


def processor_seconds(pid: int | None) -> float:
    """What a process has used of its processors; infinite where that is not known."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return math.inf


class Pool:
    """``jobs`` worker processes, started at once and used for as many problems as come.

    Parameters
    ----------
    jobs : int
    watchdog : float
        Seconds after which a problem has no answer.
    """

    def __init__(self, jobs: int = 1, watchdog: float = WATCHDOG):
        self.workers = [_Worker(watchdog) for _ in range(jobs)]

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: Any) -> None:
        for worker in self.workers:
            worker.end()

    def run(self, seeds: Iterable[int]) -> Iterator[dict[str, Any]]:
        """Check these problems; a record for each, as they come.

        A record has the keys seed, kind, seconds and failures, a list of (kind, message).
        """
        waiting = iter(seeds)
        for worker in self.workers:
            worker.give(next(waiting, None))
        while any(worker.seed is not None for worker in self.workers):
            busy = [worker for worker in self.workers if worker.seed is not None]
            ready = wait([worker.pipe for worker in busy], timeout=0.2)
            for worker in busy:
                record = worker.receive(worker.pipe in ready)
                if record is not None:
                    worker.give(next(waiting, None))
                    yield record


class _Worker:
    """A process, the problem that it is at, and since when."""

    def __init__(self, watchdog: float):
        self.watchdog = watchdog
        self.seed: int | None = None
        self.process: Any = None
        self._begin()

    def _begin(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, other = context.Pipe()
        self.process = context.Process(target=_work, args=(other,), daemon=True)
        self.process.start()
        other.close()
        self.before = 0.0
        self._enter("start")

    def _enter(self, stage: str) -> None:
        self.stage, self.taken, self.looked = stage, 0.0, time.monotonic()
        work = self._work()
        self.before += work if math.isfinite(work) else 0.0

    def _work(self) -> float:
        """Seconds of processor time since the stage began; infinite where they are not known."""
        return processor_seconds(self.process.pid) - self.before

    def give(self, seed: int | None) -> None:
        """Send the next problem, if there is one."""
        self.seed = seed
        if self.seed is not None:
            self.pipe.send(self.seed)
            self._enter("ready" if self.stage == "fitted" else self.stage)

    def receive(self, has_news: bool) -> dict[str, Any] | None:
        """The record of the present problem, if it is done or has taken too long."""
        if has_news:
            try:
                message = self.pipe.recv()
            except (EOFError, OSError):
                return self._lost("exception", "the process ended")
            if isinstance(message, dict):
                return message
            self._enter(message)
            return None
        limit = {"start": START, "ready": self.watchdog, "fitted": ORACLE}[self.stage]
        now = time.monotonic()
        self.taken, self.looked = self.taken + min(now - self.looked, LONGEST_LOOK), now
        if self.taken > limit and (self.taken > PATIENCE * limit or self._work() > limit):
            kind = "undecided" if self.stage == "fitted" else "hang"
            return self._lost(kind, f"no answer after {limit:.0f} s")
        return None

    def _lost(self, kind: str, message: str) -> dict[str, Any]:
        from tests.soundness.generator import kind_of

        self.end()
        assert self.seed is not None
        self._begin()
        name = kind_of(self.seed)
        taken = self.watchdog if kind == "hang" else 0.0
        return {"seed": self.seed, "kind": name, "seconds": taken, "failures": [(kind, message)]}

    def end(self) -> None:
        if self.process.is_alive():
            self.process.kill()
        self.process.join()
        self.pipe.close()


def _work(pipe: Any) -> None:
    """What a process does: compile, then answer until the pipe is closed."""
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    from tests.soundness.single import record, warm_up

    warm_up()
    pipe.send("ready")
    while True:
        try:
            seed = pipe.recv()
        except (EOFError, OSError):
            return
        pipe.send(record(seed, lambda: pipe.send("fitted")))
