"""Shared by all tests: the same environment everywhere, a Ctrl-C that arrives, a short summary."""

from __future__ import annotations

import os
import signal
import sys
from collections import Counter
from collections.abc import Generator, Iterator
from importlib.util import find_spec
from zlib import crc32

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

# Examples do not change from run to run, and a first example may have to compile.
settings.register_profile(
    "mercer",
    max_examples=30,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)

# A suite started in the background inherits a SIGINT that is ignored; tests of Ctrl-C send it.
signal.signal(signal.SIGINT, signal.default_int_handler)

# What the command line and the plots write must not depend on the terminal or the CI service that
# the suite runs in. Rich and Typer read these when they are imported.
for name in (
    "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS", "FORCE_COLOR", "GITHUB_ACTIONS", "LINES", "NO_COLOR",
    "PY_COLORS", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "MERCER_TRACEBACK",
):  # fmt: skip
    os.environ.pop(name, None)
os.environ["MPLBACKEND"] = "Agg"


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    """A generator of the test's own, seeded by its name: no test depends on another's draws."""
    return np.random.default_rng(crc32(request.node.originalname.encode()))


# A test that waits longer has failed; the alarm is repeated for waits in the clean-up of the first.
TEST_SECONDS, REPEATED_SECONDS = 400, 20


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """A test that waits for ever fails, with the place where it waits."""

    def fail(*alarm: object) -> None:
        pytest.fail(f"{item.nodeid} did not end within {TEST_SECONDS} s")

    if not hasattr(signal, "setitimer"):
        return (yield)
    before = signal.signal(signal.SIGALRM, fail)
    signal.setitimer(signal.ITIMER_REAL, TEST_SECONDS, REPEATED_SECONDS)
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.fixture(autouse=True)
def _close_figures() -> Iterator[None]:
    """Figures do not outlive their test."""
    yield
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close("all")


# Packages that a user may do without, and the extra of mercer that installs them.
OPTIONAL = {
    "bokeh": "play", "clarabel": "qp", "dask": "dask", "distributed": "dask",
    "matplotlib": "plots", "pandas": "test", "polars": "test",
    "pyarrow": "stream", "safetensors": "test", "selenium": "test", "zstandard": "zstd",
}  # fmt: skip


def _is_absent(name: str) -> bool:
    try:
        return find_spec(name) is None
    except ImportError:
        return True


ABSENT = {name: extra for name, extra in OPTIONAL.items() if _is_absent(name)}


def _skip_without_extra(report: pytest.TestReport | pytest.CollectReport, where: str) -> None:
    """A failure that names an optional package which is not installed becomes a skip."""
    if report.outcome != "failed":
        return
    text = report.longreprtext + report.capstderr
    for name, extra in ABSENT.items():
        if f"No module named '{name}" in text or f"mercer[{extra}]" in text:
            report.outcome = "skipped"
            report.longrepr = (where, 0, f"Skipped: {name} is not installed")
            return


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    _skip_without_extra(report, str(collector.path))
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    _skip_without_extra(report, str(item.path))
    return report


def _reason(report: pytest.TestReport) -> str:
    """Why a test was skipped or fails as expected."""
    if hasattr(report, "wasxfail"):
        return report.wasxfail.removeprefix("reason: ")
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return reason.removeprefix("Skipped: ")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """One line for each reason of skips and expected failures, and one for each kind of warning."""
    groups = {
        "skipped": Counter(map(_reason, terminalreporter.getreports("skipped"))),
        "expected to fail": Counter(map(_reason, terminalreporter.getreports("xfailed"))),
        "warnings": Counter(_kind(w.message) for w in terminalreporter.getreports("warnings")),
    }
    for title, counts in groups.items():
        if counts:
            terminalreporter.section(f"{title}: {counts.total()}", sep="-")
            for reason, count in counts.most_common():
                terminalreporter.line(f"{count:5d}  {' '.join(reason.split())}")


def _kind(message: str) -> str:
    """The category of a recorded warning, whose text is ``file:line: Category: words``."""
    parts = message.split(": ")
    return next((part for part in parts if part.endswith("Warning")), parts[0])
