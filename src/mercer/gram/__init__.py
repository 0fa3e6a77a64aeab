"""How similarity is computed.

gram.py    a kernel bound to points: tiles over threads, sums K β without storing K
arena.py   memory for rows that outlives a fit without being held
store.py   float32 rows over the columns still in play, within a byte budget
whole.py   all of K for methods that use every value often: kept, or computed anew
_rows.py   compiled passes over stored rows
"""

from mercer.gram.gram import Gram
from mercer.gram.store import RowStore
from mercer.gram.whole import WholeGram

__all__ = ["Gram", "RowStore", "WholeGram"]
