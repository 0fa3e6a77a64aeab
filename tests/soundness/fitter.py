"""Fits in a process of their own, which is killed if one does not return."""

from __future__ import annotations

import multiprocessing
import time
import warnings
from typing import Any

from tests.soundness.workers import PATIENCE, processor_seconds

__all__ = ["Fitter", "NeverReturned"]

START = 180.0


class NeverReturned(AssertionError):
    """A fit was still running when its time was over."""


class Fitter:
    """Fits machines one after the other; compiled code is compiled once."""

    def __init__(self) -> None:
        self.process: Any = None

    def __enter__(self) -> Fitter:
        return self

    def __exit__(self, *_: Any) -> None:
        self._end()

    def fit(self, machine: Any, X: Any, y: Any = None, seconds: float = 20.0) -> tuple[Any, float]:
        """The fitted machine and its seconds, the smaller of wall-clock and processor time.

        What the fit raises is raised here; `NeverReturned` after ``seconds``, of processor time
        where the computer is busy.
        """
        if self.process is None:
            self._begin()
        before, began = processor_seconds(self.process.pid), time.monotonic()
        self.pipe.send((machine, X, y))
        while not self.pipe.poll(1.0):
            taken = time.monotonic() - began
            work = processor_seconds(self.process.pid) - before
            is_idle = work <= seconds and taken <= PATIENCE * seconds
            if taken <= seconds or is_idle:
                continue
            self._end()
            raise NeverReturned(f"{machine!r} has not returned after {seconds:g} s")
        answer, error, took = self.pipe.recv()
        if error is not None:
            raise error
        return answer, took

    def _begin(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, other = context.Pipe()
        self.process = context.Process(target=_work, args=(other,), daemon=True)
        self.process.start()
        other.close()
        assert self.pipe.poll(START), "the process did not start"
        assert self.pipe.recv() == "ready"

    def _end(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.pipe.close()
            self.process = None


def _work(pipe: Any) -> None:
    from tests.soundness.single import warm_up

    warm_up()
    pipe.send("ready")
    while True:
        try:
            machine, X, y = pipe.recv()
        except (EOFError, OSError):
            return
        wall, cpu, error = time.perf_counter(), time.process_time(), None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                machine.fit(X, y)
            except Exception as raised:
                error = raised
        took = min(time.perf_counter() - wall, time.process_time() - cpu)
        pipe.send((None if error else machine, error, took))
