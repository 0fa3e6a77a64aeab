"""Resident memory of this process, now and at its highest."""

from __future__ import annotations

import gc
import resource
import sys
from pathlib import Path

__all__ = ["peak_mb", "reset_peak", "resident_mb", "touch"]

MB = 2**20
_STATUS = Path("/proc/self/status")


def _status_mb(field: str) -> float | None:
    if not _STATUS.exists():
        return None
    for line in _STATUS.read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) / 1024
    return None


def _maxrss_mb() -> float:
    scale = MB if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / scale


def resident_mb() -> float:
    """What is resident now (where the system does not say: the highest so far)."""
    now = _status_mb("VmRSS")
    return _maxrss_mb() if now is None else now


def peak_mb() -> float:
    """The most that was resident since the last `reset_peak`."""
    peak = _status_mb("VmHWM")
    return _maxrss_mb() if peak is None else peak


def reset_peak() -> None:
    """Reset the peak after loading. Linux only; elsewhere the peak covers the whole run."""
    gc.collect()
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return


def touch(megabytes: float) -> None:
    """Write once to this amount of fresh memory, so that no peer waits for the system to map it."""
    import numpy as np

    np.ones(int(min(megabytes, 0.6 * _available_mb()) * MB), dtype=np.uint8)


def _available_mb() -> float:
    meminfo = Path("/proc/meminfo")
    if meminfo.exists():
        for line in meminfo.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) / 1024
    return 2048.0
