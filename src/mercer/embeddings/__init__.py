"""Embeddings: features for linear models, of training rows and of new ones.

=======================  ==========================================================================
_base.py                 features that are kernel sums Σ cⱼ k(xⱼ, x): validation, transform
_empirical_map.py        `EmpiricalKernelMap`: √λ e of the kernel matrix; Mercer eigenfunctions
_nystroem.py             `Nystroem`: the same from landmarks (`mercer.gram._low_rank`)
_neighbour_graph.py      coordinates of a neighbour graph or a similarity, extended to new rows
_laplacian_eigenmaps.py  `LaplacianEigenmaps`
_lle.py                  `LocallyLinearEmbedding`
=======================  ==========================================================================
"""

from mercer.embeddings._empirical_map import EmpiricalKernelMap
from mercer.embeddings._laplacian_eigenmaps import LaplacianEigenmaps
from mercer.embeddings._lle import LocallyLinearEmbedding
from mercer.embeddings._nystroem import Nystroem

__all__ = ["EmpiricalKernelMap", "LaplacianEigenmaps", "LocallyLinearEmbedding", "Nystroem"]
