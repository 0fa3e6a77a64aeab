"""K of a data set, however it is computed.

======================  ========================================================
_base.py                `Gram`, the contract
_blocked.py             `BlockedGram`: computed tile by tile, nothing kept
_cached.py              `CachedGram`, `SymmetricGram`: kept within a byte budget
_kernel_matrices.py     K of the same rows for many kernels
_distinct.py            K by its distinct samples
_row_cache.py           `RowCache`: float32 rows over the active columns
_buffer_pool.py         memory for cached values that outlives a fit
_machine.py             cache sizes, and the tile sizes derived from them
_tile_sums.py           compiled sums over tiles and rows
_expansion_sums.py      sums of a fitted function over its support vectors, bounded
_sum_error.py           error bound of sums f = Σ c_j k(x_i, x_j)
_entry_error.py         error bound of kernel values in products K V
_bounded_products.py    K V with a bound on each error
_expansion_sums.py      sums over the support vectors of an expansion, bounded
_low_rank.py            the Nyström factor, k-means++ seeds
_reduced_set.py         functions by fewer of their own vectors
_psd.py, _psd_bound.py  is it a kernel: smallest eigenvalue, bounds on it
_cholesky.py            Cholesky factorisation with an error bound
======================  ========================================================
"""

from mercer.gram._base import Gram
from mercer.gram._blocked import BlockedGram
from mercer.gram._cached import CachedGram, SymmetricGram
from mercer.gram._machine import MachineModel
from mercer.gram._row_cache import RowCache

__all__ = ["BlockedGram", "CachedGram", "Gram", "MachineModel", "RowCache", "SymmetricGram"]
