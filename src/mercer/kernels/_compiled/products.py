"""Dot products of two blocks of rows, the start of most tiles."""

from __future__ import annotations

import numpy as np

from mercer.kernels._compiled.elementwise import flat_rows
from mercer.kernels._compiled.sparse_dot import line_products
from mercer.kernels._compiled.sparse_pairwise import sparse_products
from mercer.kernels._samples import SampleBlock

__all__ = ["products"]

# CSR rows with a larger fraction of nonzeros are multiplied as dense ones. A multiply-add costs
# about 0.08 ns (float64: 0.14) in `sparse_products` and 0.025 (0.06) in BLAS, whose rows are full.
DENSE_FROM = 0.3


def products(A: SampleBlock, B: SampleBlock, out: np.ndarray) -> None:
    """Write the dot products of the rows of A with those of B into ``out``."""
    if B.points.has_few_nonzeros:
        flat, stride = flat_rows(out)
        line_products(*A.csr[:3], B.panels, B.points.d, flat, stride, len(B))
    elif not A.is_sparse:
        np.matmul(A.X, B.X.T, out=out)
    elif A.csr.nnz > DENSE_FROM * len(A) * A.csr.d:
        np.matmul(A.X.toarray(), B.X.toarray().T, out=out)
    else:
        sparse_products(A.csr, B.csr, out)
