"""What `MKL` refuses: kernels that are none or not known to be valid, and too many rows."""

from __future__ import annotations

from typing import Any

from mercer.gram._machine import memory_bytes
from mercer.kernels import Kernel

__all__ = ["check_kernels", "refuse_size"]

_EXAMPLE = "such as [RBF(gamma=0.1), Linear()]"


def check_kernels(given: Any) -> None:
    """Raise a ValueError unless these are kernels in a list, positive semidefinite all of them."""
    is_list = isinstance(given, (list, tuple))
    kernels = list(given) if is_list else [given]
    if not kernels:
        raise ValueError(f"MKL: kernels must be one or more Kernel objects, {_EXAMPLE}; got none.")
    wrong = [kernel for kernel in kernels if not isinstance(kernel, Kernel)]
    if wrong or not is_list:
        got = f"{(wrong or kernels)[0]!r}{' in it' if is_list else ''}"
        raise ValueError(f"MKL: kernels must be a list of Kernel objects, {_EXAMPLE}; got {got}.")
    unsure = [kernel for kernel in kernels if kernel.is_psd is not True]
    if unsure:
        raise ValueError(
            f"MKL: {unsure[0]!r} is not known to be positive semidefinite, which the weights "
            "rely on."
        )


def refuse_size(n: int) -> None:
    """Raise if the kernel matrix of n rows does not fit into memory."""
    if 8 * n**2 > memory_bytes():
        raise ValueError(
            f"MKL holds the kernel matrix of all {n:,} rows, {8e-9 * n**2:.0f} GB, which is "
            "more than this computer has. Fit it to some of the rows."
        )
