"""Shared by all tests: reproducible hypothesis runs."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# Examples do not change from run to run, and a first example may have to compile.
settings.register_profile(
    "mercer",
    max_examples=30,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
