"""How a problem is solved.

smo.py       the production solver: settings in, `Result` out
direct.py    small problems: pairs on the whole kernel matrix
class_pair.py  the same for two of many classes: rows from blocks that pairs share
nested.py    larger ones: pairs ⊂ working sets ⊂ columns in play ⊂ all points
in_play.py   which columns those are, and the rows kept for them
values.py    f = Kβ at all points: who is up to date, how exact it is
many.py      all class pairs of a small data set in one compiled call
choice.py    solvers by name; what "auto" chose and why
whole.py     what the following share: they hold the whole kernel matrix
platt.py     SMO as in lecture notes, step by step
qp.py        the dual and the primal in matrix form, by a QP library
gradient.py  accelerated projected gradient, without intercept
coordinate.py  coordinate ascent, cyclic or greedy, without intercept
pegasos.py   sub-gradient descent, kernelised, without intercept
descent.py   what it shares with `PegasosClassifier`: state, rows, the bound
one_pass.py  the bound of a stream, from one pass
_pegasos.py  compiled: its steps on dense rows, sparse rows and kernel matrices
answer.py    from a run to its `Result`
layout.py    the variables of some points; working sets in whole lanes
lloyd.py     k-means in feature space        _lloyd.py: compiled
perceptron.py  the kernel perceptron         _perceptron.py: compiled
newton.py    logistic regression: Newton steps by conjugate gradients
ridge.py     the linear system of kernel ridge regression, directly or by iteration
cg.py        conjugate gradients with a Nyström preconditioner
eigen.py     leading eigenvectors of the centred kernel matrix
stopping.py   time limit, callback, Ctrl-C
_pairs.py    compiled: second-order pair steps on a dense block
_scan.py     compiled: violation, choice of the working set
"""

from mercer.solvers._base import require
from mercer.solvers._registry import Choice, choose, make_solver
from mercer.solvers._stopping import Progress, Stopping
from mercer.solvers.smo._many_pairs import solve_class_pairs
from mercer.solvers.smo._solver import SMO

__all__ = [
    "SMO",
    "Choice",
    "Progress",
    "Stopping",
    "choose",
    "make_solver",
    "require",
    "solve_class_pairs",
]
