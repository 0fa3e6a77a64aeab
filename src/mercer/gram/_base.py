"""The contract of a Gram: the kernel matrix K of a data set, however it is computed.

Solvers see nothing else of the kernel and the samples. Sums are the same bit for bit for any number
of threads. ``tests/gram/conformance.py`` checks the contract.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

import numpy as np

from mercer.gram._sum_error import SumError
from mercer.kernels._samples import SampleBlock

__all__ = ["Gram", "Rows", "never"]

# Rows or columns of K: a slice with a start and a stop, an index array, or a `SampleBlock` made by
# `sample_block`, which is worth it where one set of rows is used in many calls.
Rows = Any


def never() -> bool:
    """The default of ``stop``: a product is not given up."""
    return False


@runtime_checkable
class Gram(Protocol):
    """K of n samples."""

    n: int

    @property
    def kernel(self) -> Any:
        """The kernel, for what solvers ask of it as a whole (`is_linear`) and for messages."""
        ...

    @property
    def is_psd(self) -> bool | None:
        """Whether K is positive semidefinite for every data set; None if that is not known."""
        ...

    @property
    def cost_per_entry(self) -> float:
        """Multiplications that a kernel value takes, about."""
        ...

    def diag(self, rows: np.ndarray | None = None) -> np.ndarray:
        """k(x, x) in float64, of some samples or of all."""
        ...

    def block(
        self, rows: Rows, cols: Rows, dtype: Any = np.float64, out: np.ndarray | None = None
    ) -> np.ndarray:
        """K[rows, cols], into ``out`` if it is given."""
        ...

    def matrix(self) -> np.ndarray:
        """All of K in float64, a new array."""
        ...

    def sample_block(self, rows: Rows, dtype: Any) -> SampleBlock:
        """Samples prepared for `block`."""
        ...

    def matvec(
        self,
        V: np.ndarray,
        rows: np.ndarray | None = None,
        dtype: Any = np.float64,
        stop: Callable[[], bool] = never,
    ) -> np.ndarray:
        """K[rows] @ V for V of shape (n,) or (n, m), kernel values in ``dtype``, sums in float64.

        Once ``stop()`` is true the rest is not computed and the result is undefined.
        """
        ...

    def take(self, index: np.ndarray) -> Gram:
        """The Gram of some of the samples: a view that shares what was computed."""
        ...

    def sum_error(self, dtype: Any) -> SumError:
        """The error bound of sums of kernel values in ``dtype``."""
        ...

    def bounded_sums(
        self,
        coef: np.ndarray,
        at: np.ndarray,
        dtype: Any = np.float64,
        stop: Callable[[], bool] = never,
    ) -> tuple[np.ndarray, np.ndarray]:
        """K[at] @ coef, and a rigorous bound on the error of each sum."""
        ...
