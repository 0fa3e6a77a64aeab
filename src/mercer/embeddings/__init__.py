"""Embeddings: features for linear models, of training rows and of new ones.

=======================  ==========================================================================
_base.py                 features that are kernel sums Σ cⱼ k(xⱼ, x): validation, transform
_empirical_map.py        `EmpiricalKernelMap`: √λ e of the kernel matrix; Mercer eigenfunctions
_nystroem.py             `Nystroem`: the same from landmarks (`mercer.features`)
_random_features.py      `RandomFourierFeatures`, `TensorSketch`
_explicit.py             `ExplicitFeatures`: exact features of kernels that have a finite map
_neighbour_graph.py      coordinates of a neighbour graph or a similarity, extended to new rows
_laplacian_eigenmaps.py  `LaplacianEigenmaps`
_lle.py                  `LocallyLinearEmbedding`
=======================  ==========================================================================
"""

from mercer.embeddings._empirical_map import EmpiricalKernelMap
from mercer.embeddings._explicit import ExplicitFeatures
from mercer.embeddings._laplacian_eigenmaps import LaplacianEigenmaps
from mercer.embeddings._lle import LocallyLinearEmbedding
from mercer.embeddings._nystroem import Nystroem
from mercer.embeddings._random_features import RandomFourierFeatures, TensorSketch

__all__ = [
    "EmpiricalKernelMap",
    "ExplicitFeatures",
    "LaplacianEigenmaps",
    "LocallyLinearEmbedding",
    "Nystroem",
    "RandomFourierFeatures",
    "TensorSketch",
]
