"""The progress bar of a fit: its stopping measure between the first value and ``tol``.

The measure is the relative duality gap of linear and logistic models, the KKT violation of kernel
SVMs, whose gap is shown as well where there is room. Convergence is about linear (geometric), so

    log(first / now) / log(first / tol)

grows about evenly, and its recent slope gives the time left; before there is a slope, the estimate
of `mercer.doctor` from a sample does.
"""

from __future__ import annotations

import math
import sys
from collections import deque
from dataclasses import dataclass
from types import TracebackType
from typing import Any

__all__ = ["LogProgress", "ProgressBar", "TimeBar", "measure_of"]


@dataclass(frozen=True)
class ProgressSettings:
    """Of the bar.

    Attributes
    ----------
    slope_seconds : length of the interval over which the slope is taken
    first_seconds : no time left is shown from a shorter interval
    gap_time_fraction : of the time of a fit that may be spent on computing the gap
    gap_seconds : an older gap is not shown
    gap_columns : width of a terminal from which on the gap is shown
    redraw_seconds : time between two drawings
    """

    slope_seconds: float = 10.0
    first_seconds: float = 2.0
    gap_time_fraction: float = 0.05
    gap_seconds: float = 2.0
    gap_columns: int = 100
    redraw_seconds: float = 0.1


SETTINGS = ProgressSettings()


class LogProgress:
    """Fraction of the convergence that is done, and the seconds left, from the reports of a fit."""

    def __init__(self) -> None:
        self.first: dict[int, float] = {}
        self.fractions: dict[int, float] = {}
        self.history: deque[tuple[float, float]] = deque()

    def update(self, progress: Any) -> float:
        """The fraction that is done, over all tasks, after another report."""
        value, tol, task = progress.violation, progress.tol, progress.task
        first = self.first[task] = max(self.first.get(task, 0.0), value)
        if 0 < tol < first < math.inf:
            fraction = math.log(first / max(value, tol)) / math.log(first / tol)
        else:
            fraction = float(value <= tol)
        self.fractions[task] = max(self.fractions.get(task, 0.0), fraction)
        done = sum(self.fractions.values()) / progress.n_tasks
        self.history.append((progress.seconds, done))
        oldest = progress.seconds - SETTINGS.slope_seconds
        while len(self.history) > 2 and self.history[0][0] < oldest:
            self.history.popleft()
        return done

    @property
    def seconds_left(self) -> float | None:
        """By the slope of the last seconds; None before there is one."""
        if len(self.history) < 2:
            return None
        (began, least), (now, done) = self.history[0], self.history[-1]
        return (1 - done) * (now - began) / (done - least) if done > least else None


def measure_of(model: Any) -> str:
    """The quantity that the fit compares with ``tol``."""
    words = getattr(model, "_progress_words", ("steps", "relative gap"))
    return words[1]


class ProgressBar:
    """A callback of a fit that draws on stderr, if that is an interactive terminal.

    Parameters
    ----------
    model : estimator
    quiet : bool
    estimate : (float, float), optional
        Seconds between which the fit probably takes.
    """

    def __init__(
        self, model: Any, quiet: bool = False, estimate: tuple[float, float] | None = None
    ):
        self.shown = not quiet and _can_redraw()
        self.tells = not quiet and not self.shown and sys.stderr.isatty()
        self.measure, self.convergence, self.last = measure_of(model), LogProgress(), -math.inf
        self.estimate = estimate
        self.rich: Any = None
        from mercer._numba import Compilation

        self.compilation = Compilation(self._tell_compiling)

    def __enter__(self) -> ProgressBar:
        if self.shown:
            from mercer.certificates._trace import Trace

            self.trace, self.rich = Trace(share=SETTINGS.gap_time_fraction), _make_bar()
            self.rich.start()
            self.task = self.rich.add_task("fitting", total=1.0, left=self._left(0.0))
        self.compilation.__enter__()
        return self

    def __exit__(
        self, kind: type | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.compilation.__exit__()
        if self.rich is not None:
            self.rich.stop()

    def _tell_compiling(self, begins: bool) -> None:
        if self.rich is not None:
            self.rich.update(self.task, description="compiling, once" if begins else "fitting")
        elif self.tells and begins:
            self.tells = False
            print("mercer: compiling, once on this computer", file=sys.stderr, flush=True)

    def __call__(self, progress: Any) -> None:
        done = self.convergence.update(progress)
        self.trace(progress)
        if progress.seconds - self.last < SETTINGS.redraw_seconds:
            return
        self.last = progress.seconds
        text = f"{self.measure} {progress.violation:.1e} → {progress.tol:.0e}"
        if progress.n_tasks > 1:
            text += f", task {progress.task + 1}/{progress.n_tasks}"
        point = self.trace.points[-1] if self.trace.points else None
        if (
            point is not None
            and self.measure != "relative gap"
            and point.task == (progress.task if progress.n_tasks > 1 else point.task)
            and progress.seconds - point.seconds < SETTINGS.gap_seconds
            and self.rich.console.width >= SETTINGS.gap_columns
        ):
            text += f", relative gap {point.relative_gap:.1e}"
        self.rich.update(
            self.task, completed=done, description=text, left=self._left(progress.seconds)
        )

    def _left(self, seconds: float) -> str:
        """The time left: by the slope once there is one, before by the estimate."""
        left, history = self.convergence.seconds_left, self.convergence.history
        least = SETTINGS.first_seconds if self.estimate is None else SETTINGS.slope_seconds
        if history and history[-1][1] >= 1:
            return "finishing"  # f in float64, and the certificate
        if left is not None and history[-1][0] - history[0][0] >= 0.8 * least:
            return f"{_clock(left)} left"
        if self.estimate is None:
            return ""
        low, high = (t - max(seconds - self.compilation.seconds, 0.0) for t in self.estimate)
        if not math.isfinite(high):
            return f"over {_clock(low)} left" if low > 1 else ""
        return f"{_clock(low)} to {_clock(high)}" if low > 1 else f"up to {_clock(max(high, 1))}"


class TimeBar:
    """A callback of `mercer.autofit` that draws the time used on stderr, if that is a terminal."""

    def __init__(self, limit: float, quiet: bool = False):
        self.limit, self.shown, self.last = limit, not quiet and _can_redraw(), 0.0
        self.rich: Any = None

    def __enter__(self) -> TimeBar:
        if self.shown:
            self.rich = _make_bar()
            self.rich.start()
            self.task = self.rich.add_task("looking", total=self.limit, left="")
        return self

    def __exit__(self, *error: object) -> None:
        if self.rich is not None:
            self.rich.stop()

    def __call__(self, progress: Any) -> None:
        if self.rich is None or progress.seconds - self.last < SETTINGS.redraw_seconds:
            return
        self.last = progress.seconds
        best = f"best {progress.best_score:.4f}, " if progress.best else ""
        left = f"{_clock(progress.seconds_left)} left"
        done = {"completed": progress.seconds, "description": best + progress.step, "left": left}
        self.rich.update(self.task, **done)


def _can_redraw() -> bool:
    """Whether lines on stderr can be drawn over: not in a file, nor where TERM is "dumb"."""
    if not sys.stderr.isatty():
        return False
    from rich.console import Console

    console = Console(stderr=True)
    return console.is_interactive and not console.is_dumb_terminal


def _make_bar() -> Any:
    """A line that fits into 80 columns: the bar takes what the texts leave."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.table import Column

    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}", table_column=Column(no_wrap=True, overflow="ellipsis")),
        BarColumn(bar_width=None),
        TextColumn("{task.percentage:>3.0f}%", table_column=Column(no_wrap=True)),
        TimeElapsedColumn(table_column=Column(no_wrap=True)),
        TextColumn("{task.fields[left]}", table_column=Column(no_wrap=True)),
        console=Console(stderr=True),
        transient=True,
        expand=True,
    )


def _clock(seconds: float) -> str:
    if seconds >= 5940:
        return f"{seconds / 3600:.0f} h"
    return f"{seconds / 60:.0f} min" if seconds >= 99 else f"{seconds:.0f} s"
