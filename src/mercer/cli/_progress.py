"""The progress bar of a fit: its stopping measure between the first value and ``tol``.

The measure is the relative duality gap of linear and logistic models, the KKT violation of kernel
SVMs, whose gap is shown as well if it is cheap. Convergence is about linear (geometric), so

    log(first / now) / log(first / tol)

grows about evenly, and its recent slope gives the time left.
"""

from __future__ import annotations

import math
import sys
from collections import deque
from types import TracebackType
from typing import Any

__all__ = ["LogProgress", "ProgressBar", "measure_of"]

SLOPE_SECONDS = 10.0  # length of the interval over which the slope is taken
GAP_TIME_FRACTION = 0.05  # of the time of a fit that may be spent on computing the gap
REDRAWS_PER_SECOND = 10.0


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
        while len(self.history) > 2 and progress.seconds - self.history[0][0] > SLOPE_SECONDS:
            self.history.popleft()
        return done

    @property
    def seconds_left(self) -> float | None:
        """By the slope of the last `SLOPE_SECONDS`; None before there is one."""
        if len(self.history) < 2:
            return None
        (began, least), (now, done) = self.history[0], self.history[-1]
        return (1 - done) * (now - began) / (done - least) if done > least else None


def measure_of(model: Any) -> str:
    """The quantity that the fit compares with ``tol``."""
    words = getattr(model, "_progress_words", ("steps", "relative gap"))
    return words[1]


class ProgressBar:
    """A callback of a fit that draws on stderr, if that is an interactive terminal."""

    def __init__(self, model: Any, quiet: bool = False):
        self.shown = not quiet and _can_redraw()
        self.measure, self.convergence, self.last = measure_of(model), LogProgress(), -math.inf
        self.rich: Any = None

    def __enter__(self) -> ProgressBar:
        if self.shown:
            from mercer.certificates._trace import Trace

            self.trace, self.rich = Trace(share=GAP_TIME_FRACTION), _make_bar()
            self.rich.start()
            self.task = self.rich.add_task("fitting", total=1.0, left="")
        return self

    def __exit__(
        self, kind: type | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.rich is not None:
            self.rich.stop()

    def __call__(self, progress: Any) -> None:
        done = self.convergence.update(progress)
        self.trace(progress)
        if progress.seconds - self.last < 1 / REDRAWS_PER_SECOND:
            return
        self.last = progress.seconds
        left = self.convergence.seconds_left
        text = f"{self.measure} {progress.violation:.2e} → {progress.tol:.0e}"
        if self.trace.points and self.measure != "relative gap":
            text = f"relative gap {self.trace.points[-1].relative_gap:.1e}, {text}"
        if progress.n_tasks > 1:
            text += f", {len(self.convergence.fractions)} of {progress.n_tasks} tasks"
        self.rich.update(
            self.task, completed=done, description=text, left="" if left is None else _clock(left)
        )


def _can_redraw() -> bool:
    """Whether lines on stderr can be drawn over: not in a file, nor where TERM is "dumb"."""
    if not sys.stderr.isatty():
        return False
    from rich.console import Console

    console = Console(stderr=True)
    return console.is_interactive and not console.is_dumb_terminal


def _make_bar() -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=None),
        TextColumn("{task.percentage:>3.0f}%"),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}"),
        console=Console(stderr=True),
        transient=True,
        expand=True,
    )


def _clock(seconds: float) -> str:
    if seconds >= 5940:
        return f"{seconds / 3600:.0f} h left"
    return f"{seconds / 60:.0f} min left" if seconds >= 99 else f"{seconds:.0f} s left"
