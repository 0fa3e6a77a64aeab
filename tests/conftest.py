"""Shared by all tests: reproducible hypothesis runs, and a Ctrl-C that arrives."""

from __future__ import annotations

import signal

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
