"""Kernels: what similarity is. Frozen values that compose with ``+``, ``*``, ``**`` and numbers.

=============  ==================================================================
points.py      `Points` and `Block`: the rows kernels are evaluated on
base.py        `Kernel`: the contract, parameters, operators
algebra.py     sums, products, multiples, powers, constants
dot.py         kernels of x·z: Linear, Polynomial, Sigmoid, Cosine
distance.py    kernels of differences: RBF
_products.py   dot products of two blocks (BLAS)
_maps.py       compiled in-place maps from dot products to kernel values
=============  ==================================================================
"""

from mercer.kernels.algebra import Constant, Power, Product, Scaled, Sum
from mercer.kernels.base import Kernel
from mercer.kernels.distance import RBF
from mercer.kernels.dot import Cosine, IndefiniteKernelWarning, Linear, Polynomial, Sigmoid
from mercer.kernels.points import Block, Points

__all__ = [
    "RBF",
    "Block",
    "Constant",
    "Cosine",
    "IndefiniteKernelWarning",
    "Kernel",
    "Linear",
    "Points",
    "Polynomial",
    "Power",
    "Product",
    "Scaled",
    "Sigmoid",
    "Sum",
]
