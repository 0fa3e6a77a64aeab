"""Sequential minimal optimisation: the production solver of box QPs.

==========================  =======================================================
_solver.py                  `SMO`: settings, and from a problem to a `Result`
_dense.py                   up to some hundred variables: the whole kernel matrix
_class_pair.py              the same for two of many classes, with shared blocks
_many_pairs.py              all class pairs of a small data set in one compiled call
_free_variable_newton.py    Newton steps on the free variables, for ill-conditioned K
_decomposition.py           larger problems: nested working sets
_shrinking.py               active points, and the kernel rows kept for them
_gradient.py                f = Kβ at all points with its error bound
_working_set.py             the variables of a subset of points; padded working sets
_selection.py               compiled: KKT violation and choice of the working set
_pair_update.py             compiled: second-order pair steps on a dense block
==========================  =======================================================
"""

from mercer.solvers.smo._many_pairs import solve_class_pairs
from mercer.solvers.smo._solver import SMO

__all__ = ["SMO", "solve_class_pairs"]
