"""Dot products of two blocks of rows, the start of most tiles."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

__all__ = ["products"]


def products(A: Any, B: Any, out: np.ndarray) -> None:
    """Write the dot products of the rows of A with those of B into ``out``."""
    if sp.issparse(A):
        A, B = A.toarray(), B.toarray()
    np.matmul(A, B.T, out=out)
