"""Embeddings: features for a linear machine, of training rows and of new ones.

==============  ================================================================================
_kernel.py      features that are kernel sums Σ cⱼ k(xⱼ, x): validation, transform
empirical.py    `EmpiricalKernelMap`: √λ e of the kernel matrix, exact; Mercer eigenfunctions
nystroem.py     `Nystroem`: the same from landmarks
_landmarks.py   which rows those are
_neighbours.py  coordinates of a neighbour graph, extended to new rows
eigenmaps.py    `LaplacianEigenmaps`
lle.py          `LocallyLinearEmbedding`
==============  ================================================================================
"""

from mercer.embeddings._empirical_map import EmpiricalKernelMap
from mercer.embeddings._laplacian_eigenmaps import LaplacianEigenmaps
from mercer.embeddings._lle import LocallyLinearEmbedding
from mercer.embeddings._nystroem import Nystroem

__all__ = ["EmpiricalKernelMap", "LaplacianEigenmaps", "LocallyLinearEmbedding", "Nystroem"]
