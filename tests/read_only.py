"""Arrays that tests share: a test that writes to one fails."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["read_only"]


def read_only(*arrays: np.ndarray) -> Any:
    """The arrays themselves, no longer writeable; one array comes back alone."""
    for array in arrays:
        array.flags.writeable = False
    return arrays[0] if len(arrays) == 1 else arrays
