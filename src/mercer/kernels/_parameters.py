"""Parameters of kernels: numbers, checked."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np

__all__ = ["integer", "real"]


def real(
    owner: str, name: str, value: Any, *, least: float = -np.inf, open_left: bool = False
) -> float:
    """``value`` as a finite float not below ``least`` (above it if ``open_left``)."""
    number = isinstance(value, Real) and not isinstance(value, (bool, np.bool_))
    low = number and (value <= least if open_left else value < least)
    if not number or not np.isfinite(value) or low:
        bound = "" if least == -np.inf else f" {'>' if open_left else '≥'} {least:g}"
        raise ValueError(f"{owner}: {name} must be a finite number{bound}, got {value!r}.")
    return float(value)


def integer(owner: str, name: str, value: Any, *, least: int) -> int:
    """``value`` as an int not below ``least``."""
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < least:
        raise ValueError(f"{owner}: {name} must be an integer ≥ {least}, got {value!r}.")
    return int(value)
