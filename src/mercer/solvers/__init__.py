"""Algorithms that solve the problems of `mercer.problems`.

smo/                    the production solver of box QPs
linear/                 solvers of linear models
pegasos/                stochastic subgradient steps, and the bounds of streams
separability/           proofs that classes can or cannot be separated
_base.py                what solvers that hold the whole kernel matrix share: driver, refusals
_registry.py            solvers by name; what "auto" chose and why
_stopping.py            time limit, callback, Ctrl-C
_solution.py            from a run to its `Result`
_violation.py           KKT violations of many variables
_platt.py               SMO as in lecture notes, step by step
_interior_point.py      the dual and the primal in matrix form, by a QP library
_projected_gradient.py  projected gradient, accelerated or plain, without intercept
_coordinate_ascent.py   coordinate ascent, cyclic or greedy, without intercept
_conjugate_gradient.py  conjugate gradients, for one and for several right-hand sides
_kernel_system.py       the Nyström preconditioner; kernel systems with a bounded residual
_kernel_ridge.py        the linear system of kernel ridge regression
_kernel_logistic.py     kernel logistic regression: Newton steps by conjugate gradients
_eigen.py               leading eigenvectors of the centred kernel matrix
_lloyd.py               k-means in feature space
_perceptron.py          the kernel perceptron
_dense_algebra.py       dense factorisations that can be stopped
"""

from typing import Any

from mercer.kernels._registry import load_path
from mercer.solvers._base import require
from mercer.solvers._registry import NAMES, Choice, choose, make_solver
from mercer.solvers._stopping import Progress, Stopping
from mercer.solvers.smo._many_pairs import ClassPairs, solve_class_pairs
from mercer.solvers.smo._solver import SMO

__all__ = [
    "SMO",
    "Choice",
    "ClassPairs",
    "Progress",
    "Stopping",
    "choose",
    "make_solver",
    "require",
    "solve_class_pairs",
]


def __getattr__(name: str) -> Any:
    """The classes of `SVC`'s other solvers (Platt, CoordinateAscent, …), imported when used."""
    path = next((path for path in NAMES.values() if path.endswith(f":{name}")), None)
    if path is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return load_path(path)
