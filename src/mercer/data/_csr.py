"""Whether three arrays are a CSR matrix, before anything believes them.

SciPy's own check takes differences of ``indptr`` in its own integers, which overflow: rows that end
before they begin can pass it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["check_csr"]


def check_csr(data: Any, indices: Any, indptr: Any, shape: Any) -> None:
    """Raise a ValueError if these are not the parts of a CSR matrix of this shape."""
    if not (
        isinstance(shape, (list, tuple))
        and len(shape) == 2
        and all(type(size) is int and 0 <= size < 2**62 for size in shape)
    ):
        raise ValueError(f"{shape!r} is no shape of a matrix")
    for name, part in (("data", data), ("indices", indices), ("indptr", indptr)):
        if not isinstance(part, np.ndarray) or part.ndim != 1:
            raise ValueError(f"{name} of a sparse matrix must be an array of one dimension")
    if indices.dtype.kind not in "iu" or indptr.dtype.kind not in "iu":
        raise ValueError("indices of a sparse matrix must be whole numbers")
    if data.dtype.kind not in "fiub":
        raise ValueError(f"a sparse matrix cannot hold {data.dtype}")
    if len(indptr) != shape[0] + 1 or len(data) != len(indices):
        raise ValueError("the parts of a sparse matrix do not fit each other")
    if indptr[0] != 0 or indptr[-1] != len(data) or np.any(indptr[1:] < indptr[:-1]):
        raise ValueError("the rows of a sparse matrix do not follow each other")
    if len(indices) and not (indices.min() >= 0 and int(indices.max()) < shape[1]):
        raise ValueError("an index of a sparse matrix is out of its columns")
