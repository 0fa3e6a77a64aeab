"""Kernels: k(x, z). Frozen values that compose with ``+``, ``*``, ``**`` and numbers.

=====================  ============================================================================
_registry.py           one entry for each kernel; all lists of kernels derive from it
_samples.py            `Samples` and `SampleBlock`: the rows kernels are evaluated on
_sample_block.py       some samples in one precision: what `Kernel.tile` receives
_parameters.py         checks of numbers
_base.py               `Kernel`: the contract, parameters, operators
_composite.py          sums, products, multiples, powers, constants
_normalize.py          unit length and centring: Normalize, Centre
_dot_product.py        functions of x·z: Linear, Polynomial, Sigmoid, Cosine
_stationary.py         functions of differences: RBF, Laplacian, Chi2
_histogram.py          AllSubsets
_user_defined.py       Precomputed, functions, scikit-learn's names (`as_kernel`)
_feature_map.py        explicit features φ with k(x, z) = φ(x)·φ(z)
_rounding.py           rounding bounds of kernel values
_binding.py            a kernel and the rows of a data set: gamma="scale", centring, checks
_symmetry.py           checks that a matrix or function from outside is symmetric
_reference.py          kernel sums with error bounds, independent of the above, for `mercer.verify`
_reference_kernels.py  the kernels as it computes them
_reference_precise.py  the same in double-double arithmetic (_double_double.py)
functions/             functions as kernels: `mercer.kernel`
structured/            kernels on strings and other structures
sets/                  kernels on sets of tokens and on bags of samples
tables/                kernels on rows of a table, with columns of several kinds
graphs/                kernels on graphs, and between the nodes of a graph
series/                kernels on time series
_compiled/             compiled tiles
=====================  ============================================================================

The names are imported when one of them is first used, so that the command line can read the
registry without NumPy.
"""

import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any

from mercer.kernels._registry import KERNELS

if TYPE_CHECKING:
    from mercer.kernels._base import Kernel as Kernel
    from mercer.kernels._composite import Constant as Constant
    from mercer.kernels._composite import Power as Power
    from mercer.kernels._composite import Product as Product
    from mercer.kernels._composite import Scaled as Scaled
    from mercer.kernels._composite import Sum as Sum
    from mercer.kernels._dot_product import Cosine as Cosine
    from mercer.kernels._dot_product import IndefiniteKernelWarning as IndefiniteKernelWarning
    from mercer.kernels._dot_product import Linear as Linear
    from mercer.kernels._dot_product import Polynomial as Polynomial
    from mercer.kernels._dot_product import Sigmoid as Sigmoid
    from mercer.kernels._histogram import AllSubsets as AllSubsets
    from mercer.kernels._normalize import Centre as Centre
    from mercer.kernels._normalize import Normalize as Normalize
    from mercer.kernels._samples import SampleBlock as SampleBlock
    from mercer.kernels._samples import Samples as Samples
    from mercer.kernels._stationary import RBF as RBF
    from mercer.kernels._stationary import Chi2 as Chi2
    from mercer.kernels._stationary import Laplacian as Laplacian
    from mercer.kernels._user_defined import Callable as Callable
    from mercer.kernels._user_defined import Precomputed as Precomputed
    from mercer.kernels._user_defined import as_kernel as as_kernel
    from mercer.kernels.functions._vector_function import (
        InterpretedKernelWarning as InterpretedKernelWarning,
    )
    from mercer.kernels.graphs._graph import Graph as Graph
    from mercer.kernels.graphs._nodes import Diffusion as Diffusion
    from mercer.kernels.graphs._nodes import RegularizedLaplacian as RegularizedLaplacian
    from mercer.kernels.graphs._random_walk import RandomWalk as RandomWalk
    from mercer.kernels.graphs._shortest_path import ShortestPath as ShortestPath
    from mercer.kernels.graphs._weisfeiler_lehman import WeisfeilerLehman as WeisfeilerLehman
    from mercer.kernels.graphs._weisfeiler_lehman import WeisfeilerLehmanOA as WeisfeilerLehmanOA
    from mercer.kernels.series._dtw import DTW as DTW
    from mercer.kernels.series._global_alignment import GlobalAlignment as GlobalAlignment
    from mercer.kernels.sets._bags import related_rows as related_rows
    from mercer.kernels.sets._mean_embedding import MeanEmbedding as MeanEmbedding
    from mercer.kernels.sets._token_sets import Intersection as Intersection
    from mercer.kernels.sets._token_sets import Jaccard as Jaccard
    from mercer.kernels.structured._alignment import LocalAlignment as LocalAlignment
    from mercer.kernels.structured._alignment import Subsequence as Subsequence
    from mercer.kernels.structured._alignment import WeightedDegree as WeightedDegree
    from mercer.kernels.structured._spectrum import Spectrum as Spectrum
    from mercer.kernels.structured._windows import GappedKmer as GappedKmer
    from mercer.kernels.structured._windows import Mismatch as Mismatch
    from mercer.kernels.tables._additive import ColumnMean as ColumnMean
    from mercer.kernels.tables._column_kinds import Category as Category
    from mercer.kernels.tables._column_kinds import Cyclic as Cyclic
    from mercer.kernels.tables._column_kinds import Number as Number
    from mercer.kernels.tables._column_kinds import Ordered as Ordered
    from mercer.kernels.tables._equality import Equality as Equality
    from mercer.kernels.tables._on_columns import OnColumns as OnColumns
    from mercer.kernels.tables._table_kernel import ColumnProduct as ColumnProduct
    from mercer.kernels.tables._table_kernel import TableKernel as TableKernel

_HOMES = {name: entry.module for name, entry in KERNELS.items()} | {
    "Graph": "mercer.kernels.graphs._graph",
    "IndefiniteKernelWarning": "mercer.kernels._dot_product",
    "InterpretedKernelWarning": "mercer.kernels.functions._vector_function",
    "Kernel": "mercer.kernels._base",
    "SampleBlock": "mercer.kernels._samples",
    "Samples": "mercer.kernels._samples",
    "as_kernel": "mercer.kernels._user_defined",
    "related_rows": "mercer.kernels.sets._bags",
}
__all__ = sorted(_HOMES)

_RENAMED = {"Points": "Samples", "Block": "SampleBlock"}  # names of version 0.1


def __getattr__(name: str) -> Any:
    if name in _RENAMED:
        new = _RENAMED[name]
        warnings.warn(
            f"mercer.kernels.{name} is called {new} now.", DeprecationWarning, stacklevel=2
        )
        return __getattr__(new)
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals().update({each: getattr(import_module(home), each) for each, home in _HOMES.items()})
    return globals()[name]


def __dir__() -> list[str]:
    return list(__all__)
