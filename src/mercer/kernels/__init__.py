"""Kernels: what similarity is. Frozen values that compose with ``+``, ``*``, ``**`` and numbers.

==============  ==================================================================
points.py       `Samples` and `SampleBlock`: the rows kernels are evaluated on
base.py         `Kernel`: the contract, parameters, operators
algebra.py      sums, products, multiples, powers, constants
dot.py          kernels of x·z: Linear, Polynomial, Sigmoid, Cosine
distance.py     kernels of differences: RBF, Laplacian, Chi2
coordinate.py   kernels gathered column by column: AllSubsets
custom.py       Precomputed, functions, scikit-learn's names (`as_kernel`)
feature_maps.py explicit features φ with k(x, z) = φ(x)·φ(z)
_products.py    dot products of two blocks: BLAS, `_lines` or `_sparse`
_lines.py       compiled products with rows of few nonzeros
_sparse.py      compiled tiles on CSR rows
_maps.py        compiled in-place maps from dot products to kernel values
==============  ==================================================================
"""

import warnings
from typing import Any

from mercer.kernels._base import Kernel
from mercer.kernels._composite import Constant, Power, Product, Scaled, Sum
from mercer.kernels._dot_product import Cosine, IndefiniteKernelWarning, Linear, Polynomial, Sigmoid
from mercer.kernels._histogram import AllSubsets
from mercer.kernels._samples import SampleBlock, Samples
from mercer.kernels._stationary import RBF, Chi2, Laplacian
from mercer.kernels._user_defined import Callable, Precomputed, as_kernel

__all__ = [
    "RBF",
    "AllSubsets",
    "Callable",
    "Chi2",
    "Constant",
    "Cosine",
    "IndefiniteKernelWarning",
    "Kernel",
    "Laplacian",
    "Linear",
    "Polynomial",
    "Power",
    "Precomputed",
    "Product",
    "SampleBlock",
    "Samples",
    "Scaled",
    "Sigmoid",
    "Sum",
    "as_kernel",
]

_RENAMED = {"Points": "Samples", "Block": "SampleBlock"}  # names of version 0.1


def __getattr__(name: str) -> Any:
    if name not in _RENAMED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    warnings.warn(
        f"mercer.kernels.{name} is called {_RENAMED[name]} now.", DeprecationWarning, stacklevel=2
    )
    return globals()[_RENAMED[name]]
