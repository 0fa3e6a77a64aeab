"""What may stop a fit early: a time limit, the user's callback, Ctrl-C.

`Control` is a context around a whole fit. SIGINT only raises a flag inside it, so that solvers stop
between two rounds with a consistent model; the KeyboardInterrupt goes through at the end.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from mercer.result import Status

__all__ = ["Control", "Progress"]


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
        `mercer.certificate.certify` and its like take. It costs a certificate, and of large fits
        f at all points, so nothing is computed unless it is asked for.
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


class Control:
    """The limits of one fit.

    Parameters
    ----------
    time_limit : float or None
        Seconds for the whole fit.
    callback : callable or None
        Called with a `Progress` (of a stream: `StreamProgress`); a true return value stops the fit.
    """

    def __init__(
        self,
        time_limit: float | None = None,
        callback: Callable[[Any], object] | None = None,
    ):
        self.time_limit = time_limit
        self.callback = callback
        self.began = time.perf_counter()
        self.interrupted = False
        self._stop_asked = False
        self._old_handler: object = None
        self._lock = threading.Lock()

    def __enter__(self) -> Control:
        in_main = threading.current_thread() is threading.main_thread()
        if in_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            self._old_handler = signal.signal(signal.SIGINT, self._on_interrupt)
        return self

    def __exit__(self, exc_type: object, exc: object, traceback: object) -> None:
        if self._old_handler is not None:
            signal.signal(signal.SIGINT, self._old_handler)  # type: ignore[arg-type]
            self._old_handler = None
        if self.interrupted:  # also where the fit raised: its error is the context
            raise KeyboardInterrupt

    def _on_interrupt(self, signum: int, frame: object) -> None:
        self.interrupted = True

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.began

    @property
    def stopped(self) -> Status | None:
        """Why the fit has to stop now, or None."""
        if self.interrupted or self._stop_asked:
            return Status.STOPPED
        if self.time_limit is not None and self.seconds >= self.time_limit:
            return Status.TIME_LIMIT
        return None

    def of_task(self, task: int, n_tasks: int, share: float = 1.0) -> Control:
        """The same control, whose reports tell which of several tasks they are of.

        Of the time that is left the task gets at most this share.
        """
        return self if n_tasks == 1 else _OfTask(self, task, n_tasks, share)

    def quiet(self) -> Control:
        """The same limits without the callback, for a part of the fit that it should not see."""
        part = Control(self.time_limit)
        part.began = self.began
        return part

    def report(self, progress: Any) -> None:
        """Tell the callback, one task at a time."""
        if self.callback is not None:
            with self._lock:
                if self.callback(progress):
                    self._stop_asked = True


class _OfTask(Control):
    """All but the reports and the share of time is the whole fit's."""

    def __init__(self, fit: Control, task: int, n_tasks: int, share: float):
        self.fit, self.task, self.n_tasks = fit, task, n_tasks
        self.time_limit, self.callback, self.began = fit.time_limit, fit.callback, fit.began
        if self.time_limit is not None and share < 1:
            self.time_limit = self.seconds + share * max(self.time_limit - self.seconds, 0.0)

    @property
    def stopped(self) -> Status | None:
        """Why the whole fit, or this task, has to stop now, or None."""
        if self.time_limit is not None and self.seconds >= self.time_limit:
            return Status.TIME_LIMIT if self.fit.stopped is None else self.fit.stopped
        return self.fit.stopped

    def report(self, progress: Any) -> None:
        """Tell the callback which task this is of."""
        if self.callback is not None:
            self.fit.report(replace(progress, task=self.task, n_tasks=self.n_tasks))
