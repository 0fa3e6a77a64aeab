"""How similarity is computed.

gram.py       a kernel bound to points: tiles over threads, sums K β without storing K
arena.py      memory for rows that outlives a fit without being held
store.py      float32 rows over the columns still in play, within a byte budget
whole.py      all of K for methods that use every value often: kept, or computed anew
symmetric.py  products K V, with half of K kept as far as a budget goes
_rows.py      compiled passes over stored rows
"""

from mercer.gram._blocked import Gram
from mercer.gram._cached import CachedGram
from mercer.gram._row_cache import RowCache
from mercer.gram._symmetric import SymmetricGram

__all__ = ["CachedGram", "Gram", "RowCache", "SymmetricGram"]
