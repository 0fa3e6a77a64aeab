"""What may stop a fit early: a time limit, the user's callback, Ctrl-C, a gap that does not fall.

`Stopping` is a context around a whole fit, and the one object that every loop asks (`stopped`).
SIGINT only raises a flag inside it, so that solvers stop between two steps with a consistent model,
which the estimator stores. At the end of the context the KeyboardInterrupt goes through
(``on_interrupt="raise"``), or a warning says that the model is the one reached so far
(``"return"``).

Python runs signal handlers between two of its own instructions only: a compiled call has to return
after some milliseconds for Ctrl-C and the time limit to be seen.
"""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mercer._result import Result, Status
from mercer.exceptions import InterruptWarning, warn_user

__all__ = ["Progress", "RateForecast", "StallDetector", "Stopping", "restoring"]


@dataclass(frozen=True)
class Progress:
    """What a callback is told, once a round.

    Attributes
    ----------
    seconds : float
        Since the fit began.
    rounds, iterations : int
        Rounds and steps of this task so far (of "smo": working sets and pair updates).
    violation, tol : float
        The largest violating pair now, and where the fit will stop.
    task, n_tasks : int
        Which binary task, of how many.
    state : callable or None
        Called within the callback: the problems being solved and what is reached, as pairs that
        `mercer.certificates` takes. It costs a certificate, and of large fits f at all points,
        so nothing is computed unless it is called.
    beta : callable or None
        Called within the callback: a copy of the signed duals β of this task, at no such cost.
    model : callable or None
        Called within the callback: a fitted copy of the estimator, as a stop at this moment would
        leave it, with its certificate; without probabilities. Kernel SVMs of one task have it (two
        classes, regression, one class) with solver "smo". It costs what a stop costs: up to a
        second where the rows are many.
    result : callable or None
        The solver's part of that: the `Result` of a stop at this moment.
    """

    seconds: float
    rounds: int
    iterations: int
    violation: float
    tol: float
    task: int = 0
    n_tasks: int = 1
    state: Callable[[], list[tuple[Any, Any]]] | None = field(
        default=None, repr=False, compare=False
    )
    beta: Callable[[], np.ndarray] | None = field(default=None, repr=False, compare=False)
    model: Callable[[], Any] | None = field(default=None, repr=False, compare=False)
    result: Callable[[], Result] | None = field(default=None, repr=False, compare=False)


@contextmanager
def restoring(model: Any) -> Iterator[None]:
    """If what is within raises, the model has the attributes again that it had before."""
    before = dict(vars(model))
    try:
        yield
    except BaseException:
        _restore(model, before)
        raise


def _restore(model: Any, before: dict[str, Any]) -> None:
    vars(model).clear()
    vars(model).update(before)


class Stopping:
    """The limits of one fit, and what becomes of the estimator if it fails.

    Parameters
    ----------
    time_limit : float or None
        Seconds for the whole fit.
    callback : callable or None
        Called with a `Progress` (of a stream: `StreamProgress`); a true return value stops the fit.
    on_interrupt : {"raise", "return"}
        What follows a fit that Ctrl-C ended: a KeyboardInterrupt, or an `InterruptWarning`.
    model : estimator or None
        If the fit raises, its attributes become those that it had before: the last model stays
        usable. (After Ctrl-C the model reached so far is stored.)
    """

    def __init__(
        self,
        time_limit: float | None = None,
        callback: Callable[[Any], object] | None = None,
        on_interrupt: str = "raise",
        model: Any = None,
    ):
        self.time_limit = time_limit
        self.callback = callback
        self.on_interrupt = on_interrupt
        self.note = ""  # what the message of an interrupted fit adds
        self.began = time.perf_counter()
        self._interrupted = False
        self._stop_asked = False
        self._old_handler: object = None
        self._lock = threading.Lock()
        self._model, self._before = model, {} if model is None else dict(vars(model))

    def __enter__(self) -> Stopping:
        in_main = threading.current_thread() is threading.main_thread()
        if in_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            self._old_handler = signal.signal(signal.SIGINT, self._on_interrupt)
        return self

    def __exit__(self, exc_type: object, exc: object, traceback: object) -> None:
        if self._old_handler is not None:
            signal.signal(signal.SIGINT, self._old_handler)  # type: ignore[arg-type]
            self._old_handler = None
        if exc_type is not None and self._model is not None:
            _restore(self._model, self._before)
        self._model, self._before = None, {}
        if not self.interrupted:
            return
        note = f"; {self.note}" if self.note else ""
        message = f"Ctrl-C ended the fit after {self.seconds:.3g} s{note}"
        if self.on_interrupt == "raise":  # also where the fit raised: its error is the context
            raise KeyboardInterrupt(message)
        if exc_type is None:
            warn_user(
                f"{message}; the model is the one reached so far (on_interrupt='return').",
                InterruptWarning,
            )

    def _on_interrupt(self, signum: int, frame: object) -> None:
        self._interrupted = True

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C was pressed."""
        return self._interrupted

    @property
    def remaining(self) -> float:
        """Seconds until the time limit, not below zero; infinite without one."""
        return np.inf if self.time_limit is None else max(self.time_limit - self.seconds, 0.0)

    def is_stopped(self) -> bool:
        """Whether the fit has to stop now."""
        return self.stopped is not None

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.began

    @property
    def stopped(self) -> Status | None:
        """Why the fit has to stop now, or None."""
        if self._interrupted or self._stop_asked:
            return Status.STOPPED
        if self.time_limit is not None and self.seconds >= self.time_limit:
            return Status.TIME_LIMIT
        return None

    def of_task(self, task: int, n_tasks: int, share: float = 1.0) -> Stopping:
        """The same stopping, whose reports tell which of several tasks they are of.

        The task gets at most the fraction ``share`` of the remaining time.
        """
        return self if n_tasks == 1 else _OfTask(self, task, n_tasks, share)

    def quiet(self) -> Stopping:
        """The same limits without the callback, for a part of the fit that it should not see."""
        return _Part(self)

    def until(self, seconds: float) -> Stopping:
        """The same stopping with a time limit of at most ``seconds`` after the beginning.

        For a part of the fit that has to leave time for what follows.
        """
        part = _Part(self)
        part.callback = self.callback
        part.time_limit = seconds if self.time_limit is None else min(seconds, self.time_limit)
        return part

    def grace(self, seconds: float) -> Callable[[], bool]:
        """Whether a fit that has been stopped has used up some seconds more, for a certificate."""
        end = np.inf

        def is_over() -> bool:
            nonlocal end
            if end == np.inf and self.stopped is not None:
                end = time.perf_counter() + seconds
            return time.perf_counter() >= end

        return is_over

    def report(self, progress: Any) -> None:
        """Tell the callback, one task at a time."""
        if self.callback is not None:
            with self._lock:
                if self.callback(progress):
                    self._stop_asked = True


class _Part(Stopping):
    """A part of a fit: Ctrl-C and the callback's word are the whole fit's."""

    def __init__(self, fit: Stopping):
        self.fit = fit
        self.time_limit, self.callback, self.began = fit.time_limit, None, fit.began
        self.on_interrupt, self.note = fit.on_interrupt, ""

    @property
    def interrupted(self) -> bool:
        return self.fit.interrupted

    @property
    def stopped(self) -> Status | None:
        """Why the whole fit, or its part, has to stop now, or None."""
        stopped = self.fit.stopped
        if stopped is None and self.time_limit is not None and self.seconds >= self.time_limit:
            return Status.TIME_LIMIT
        return stopped

    def report(self, progress: Any) -> None:
        if self.callback is not None:
            self.fit.report(progress)


class _OfTask(_Part):
    """All but the reports and the share of time is the whole fit's."""

    def __init__(self, fit: Stopping, task: int, n_tasks: int, share: float):
        super().__init__(fit)
        self.task, self.n_tasks, self.callback = task, n_tasks, fit.callback
        if self.time_limit is not None and share < 1:
            self.time_limit = self.seconds + share * max(self.time_limit - self.seconds, 0.0)

    def report(self, progress: Any) -> None:
        """Tell the callback which task this is of."""
        if self.callback is not None:
            self.fit.report(replace(progress, task=self.task, n_tasks=self.n_tasks))


class StallDetector:
    """Whether the running gap still falls, over all rows or over the active ones."""

    def __init__(self, max_epochs: int, fraction: float):
        self.max_epochs, self.fraction = max_epochs, fraction
        self.of_all = self.of_active = np.inf
        self.epochs = 0

    def add(self, gap: float, is_full: bool, epochs: int = 1) -> None:
        self.epochs += epochs
        if is_full and gap <= self.of_all:
            self.of_all, self.of_active, self.epochs = self.fraction * gap, np.inf, 0
        elif not is_full and gap <= self.of_active:
            self.of_active, self.epochs = self.fraction * gap, 0

    @property
    def is_stalled(self) -> bool:
        return self.epochs >= self.max_epochs


class RateForecast:
    """Visits until a gap is reached, if it falls as over the last part of the visits so far.

    The gap is kept whenever the visits have doubled, at the same epochs whoever listens to them.
    """

    def __init__(self, first: int):
        self.marks = [(0, 1.0)]
        self.next_mark = first

    def add(self, visits: int, gap: float) -> None:
        """The relative gap at the end of an epoch."""
        if visits >= self.next_mark:
            self.marks.append((visits, gap))
            self.next_mark = 2 * visits

    def visits_to(self, tol: float, visits: int, gap: float) -> float:
        """From a gap ``gap`` here to ``tol``, by the last fifth of the visits or more."""
        then, before = next(mark for mark in reversed(self.marks) if 1.25 * mark[0] <= visits)
        gap = max(gap, tol)
        if not gap < before:
            return math.inf
        return math.log(gap / tol) / math.log(before / gap) * (visits - then)
