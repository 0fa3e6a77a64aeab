"""How a problem is solved.

=========================  ==========================================================
_base.py                   `DenseSolver`: driver of solvers that hold the whole matrix
_registry.py               solvers by name; what "auto" selects and why
_stopping.py               time limit, callback, Ctrl-C
_solution.py               from the state of a solver to its `Result`
_violation.py              compiled: KKT violation and bias interval
smo/                       the production solver of box QPs
separability/              proofs that a hard margin is impossible
linear/                    linear models: X instead of K
_platt.py                  SMO as in lecture notes, step by step
_interior_point.py         the dual and the primal in matrix form, by a QP library
_projected_gradient.py     projected gradient, without intercept
_coordinate_ascent.py      coordinate ascent, cyclic or greedy, without intercept
_pegasos*.py               stochastic subgradient descent
_streaming_gap_bound.py    its gap bound for a stream, from one pass
_kernel_ridge.py           the linear system of kernel ridge regression
_conjugate_gradient.py     conjugate gradients with a Nyström preconditioner
_kernel_logistic.py        kernel logistic regression: Newton's method
_eigen.py                  leading eigenvectors of the centred kernel matrix
_lloyd.py                  k-means in feature space
_perceptron.py             the kernel perceptron
_dense_algebra.py          Cholesky and products of a whole matrix, in slices
=========================  ==========================================================
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
