"""The bar of a fit: how far its measure has fallen towards the tolerance, on a log scale.

The measure is what the fit stops by: the relative duality gap of a linear or logistic machine, the
largest violating pair of a kernel machine, whose gap is shown beside it as often as that is cheap.
It falls about geometrically, so the share

    log(first / now) / log(first / tol)

grows about evenly, and its recent slope tells the time left.
"""

from __future__ import annotations

import math
import sys
from collections import deque
from types import TracebackType
from typing import Any

__all__ = ["Bar", "Descent", "measure_of"]

# Over so many seconds the slope is taken.
WINDOW = 10.0
# Of the time of a fit that may be spent on looking at the gap.
LOOKING = 0.05
# Rounds may come every millisecond; a person sees no more than this many a second.
PER_SECOND = 10.0


class Descent:
    """Share of the way that is done, and the seconds left, out of the reports of a fit."""

    def __init__(self) -> None:
        self.first: dict[int, float] = {}
        self.shares: dict[int, float] = {}
        self.trail: deque[tuple[float, float]] = deque()

    def heard(self, progress: Any) -> float:
        """The share that is done of all tasks, after another report."""
        value, tol, task = progress.violation, progress.tol, progress.task
        first = self.first[task] = max(self.first.get(task, 0.0), value)
        if 0 < tol < first < math.inf:
            share = math.log(first / max(value, tol)) / math.log(first / tol)
        else:
            share = float(value <= tol)
        self.shares[task] = max(self.shares.get(task, 0.0), share)
        done = sum(self.shares.values()) / progress.n_tasks
        self.trail.append((progress.seconds, done))
        while len(self.trail) > 2 and progress.seconds - self.trail[0][0] > WINDOW:
            self.trail.popleft()
        return done

    @property
    def seconds_left(self) -> float | None:
        """By the slope of the last seconds; None before there is one."""
        if len(self.trail) < 2:
            return None
        (began, least), (now, done) = self.trail[0], self.trail[-1]
        return (1 - done) * (now - began) / (done - least) if done > least else None


def measure_of(model: Any) -> str:
    """What the fit stops by."""
    words = getattr(model, "_progress_words", ("steps", "relative gap"))
    return words[1]


class Bar:
    """A callback of a fit that draws on stderr, if that is a terminal with a movable cursor."""

    def __init__(self, model: Any, quiet: bool = False):
        self.shown = not quiet and _can_redraw()
        self.measure, self.descent, self.last = measure_of(model), Descent(), -math.inf
        self.rich: Any = None

    def __enter__(self) -> Bar:
        if self.shown:
            from mercer.certificates._trace import Trace

            self.trace, self.rich = Trace(share=LOOKING), _make_bar()
            self.rich.start()
            self.task = self.rich.add_task("fitting", total=1.0, left="")
        return self

    def __exit__(
        self, kind: type | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.rich is not None:
            self.rich.stop()

    def __call__(self, progress: Any) -> None:
        done = self.descent.heard(progress)
        self.trace(progress)
        if progress.seconds - self.last < 1 / PER_SECOND:
            return
        self.last = progress.seconds
        left = self.descent.seconds_left
        text = f"{self.measure} {progress.violation:.2e} → {progress.tol:.0e}"
        if self.trace.points and self.measure != "relative gap":
            text = f"relative gap {self.trace.points[-1].relative_gap:.1e}, {text}"
        if progress.n_tasks > 1:
            text += f", {len(self.descent.shares)} of {progress.n_tasks} tasks"
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
