"""Sequential minimal optimisation: the production solver of box QPs.

==========================  =======================================================
_solver.py                  `SMO`: settings, and from a problem to a `Result`
_settings.py                `SMOSettings`: sizes, inner tolerances, limits
_dense.py                   up to some hundred variables: the whole kernel matrix
_class_pair.py              the same for two of many classes, with shared blocks
_many_pairs.py              all class pairs of a small data set in one compiled call
paths/                      many related problems on one Gram: paths along C, folds, leave-one-out
_free_variable_newton.py    Newton steps on the free variables, for ill-conditioned K
_decomposition.py           larger problems: decomposition and shrinking
_early_stop.py              the answer of a decomposition that was stopped
_sweep.py                   one pass over the points of no sample, where time is short
_mixture.py                 the mixture of two models with the smallest primal value
_block_update.py            working sets, one after the other
_shrinking.py               active points, and the kernel rows kept for them
_gradient.py                f = Kβ at all points with its error bound
_working_set.py             the variables of a subset of points; alignment to SIMD lanes
_selection.py               compiled: working-set selection
_pair_update.py             compiled: second-order pair steps on a dense block
_pair_passes.py             compiled: their passes over the variables
==========================  =======================================================
"""

from mercer.solvers.smo._many_pairs import ClassPairs, solve_class_pairs
from mercer.solvers.smo._settings import SMOSettings
from mercer.solvers.smo._solver import SMO

__all__ = ["SMO", "ClassPairs", "SMOSettings", "solve_class_pairs"]
