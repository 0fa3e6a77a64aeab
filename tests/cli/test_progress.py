"""The bar: shares on a log scale, the time left by the slope, silence without a terminal."""

from __future__ import annotations

import io
import math
from contextlib import redirect_stderr

import numpy as np
import pytest

from mercer import SVC, LinearSVC
from mercer.cli._progress import LogProgress, ProgressBar, measure_of
from mercer.solvers import Progress


def falling(seconds, violation, tol=1e-3, task=0, n_tasks=1):
    return Progress(seconds, 1, 1, violation, tol, task, n_tasks)


def test_a_geometric_descent_is_an_even_share_with_the_exact_time_left():
    descent = LogProgress()
    for second, violation in enumerate([1.0, 0.1, 0.01]):
        done = descent.update(falling(second, violation))
        assert done == pytest.approx(second / 3)
    assert descent.seconds_left == pytest.approx(1.0)
    assert descent.update(falling(3, 1e-4)) == 1.0
    assert descent.seconds_left == 0


def test_the_share_never_falls_and_a_first_report_tells_no_time():
    descent = LogProgress()
    descent.update(falling(0, 1.0))
    assert descent.seconds_left is None
    half = descent.update(falling(1, math.sqrt(1e-3)))
    assert half == pytest.approx(0.5)
    assert descent.update(falling(2, 0.5)) == half
    assert descent.update(falling(3, math.inf)) == half


def test_several_tasks_share_the_bar():
    descent = LogProgress()
    descent.update(falling(0, 1.0, task=0, n_tasks=4))
    descent.update(falling(0, 1.0, task=1, n_tasks=4))
    assert descent.update(falling(1, 1e-3, task=1, n_tasks=4)) == pytest.approx(0.25)


def test_a_tolerance_of_zero_is_reached_at_zero_alone():
    descent = LogProgress()
    assert descent.update(falling(0, 7.0, tol=0.0)) == 0
    assert descent.update(falling(1, 0.0, tol=0.0)) == 1


def test_what_a_fit_stops_by():
    assert measure_of(SVC()) == "violation"
    assert measure_of(LinearSVC()) == "relative gap"


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def terminal(monkeypatch):
    """A common terminal, independent of the one this process was started in."""
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "LINES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "120")
    return monkeypatch


X = np.random.default_rng(0).normal(size=(300, 2))
y = X[:, 0] * X[:, 1] > 0


def drawn(machine, stream) -> tuple[bool, str]:
    """Whether the bar means to be shown, and what the stream holds after a fit."""
    with redirect_stderr(stream), ProgressBar(machine()) as bar:
        machine(callback=bar if bar.shown else None).fit(X, y)
    return bar.shown, stream.getvalue()


@pytest.mark.parametrize("machine", [SVC, LinearSVC])
def test_the_bar_is_drawn_on_a_terminal_only(terminal, machine):
    shown, text = drawn(machine, Terminal())
    assert shown
    assert "%" in text
    assert drawn(machine, io.StringIO()) == (False, "")
    with redirect_stderr(Terminal()):
        assert not ProgressBar(machine(), quiet=True).shown


@pytest.mark.parametrize("name", ["dumb", "DUMB", "unknown"])
def test_nothing_is_drawn_where_the_cursor_cannot_move(terminal, name):
    terminal.setenv("TERM", name)
    assert drawn(SVC, Terminal()) == (False, "")


def test_a_callback_hears_which_task_it_is():
    X = np.random.default_rng(0).normal(size=(90, 2))
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    for model, n_tasks in ((SVC(), 3), (LinearSVC(), 3)):
        told = []
        model.set_params(callback=told.append).fit(X, y)
        assert {progress.task for progress in told} == set(range(n_tasks))
        assert {progress.n_tasks for progress in told} == {n_tasks}


def test_compiling_does_not_use_up_the_estimate():
    bar = ProgressBar(SVC(), quiet=True, estimate=(5.0, math.inf))
    bar.compilation.seconds = 10.0
    assert bar._left(12.0) == "over 3 s left"
    assert bar._left(20.0) == ""
