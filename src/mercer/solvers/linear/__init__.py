"""How linear models are solved.

======================  ===========================================================================
_selection.py           which method fits the shape of the data; coordinate descent, then Newton
_newton.py              Newton's method from a subsample to all rows
_newton_equations.py    XᵀDX, changed by the rows whose D changed, and Cholesky factorisation
_smooth_newton.py       its steps for smooth losses; settings; conjugate gradients, line search
_proximal_newton.py     its steps for the ε-insensitive loss; active rows along a path
_path_following.py      warm starts; L-BFGS along a path for smooth losses
_gradient_dual.py       value and gap of a model; the dual β = −L'(g)
_coordinate_descent.py  dual coordinate descent with shrinking
_descent_epochs.py      its compiled epochs
_free_variable_cg.py    beside it: conjugate gradients on the free duals
_l1_descent.py          primal coordinate descent and Newton steps for the L1 penalty
_l1_epochs.py           its compiled epochs
_crammer_singer.py      the sequential dual method for all classes at once
_multinomial_newton.py  Newton's method for the softmax over all classes
_class_products.py      products with a vector for each class
_design_matrix.py       the contract `DesignMatrix`; dense and sparse rows in memory
_matvec.py              compiled products with the data matrix, also with bounds of rounding
_bounded_gap.py         bounds of value and gap of a model as it is stored
_stored_model.py        solve, round as stored, bound the gap; continue where it is too large
======================  ===========================================================================
"""

from mercer.solvers.linear._bounded_gap import (
    bound_class_gap,
    bound_class_gap_by_norms,
    bound_gap,
    bound_hard_margin_gap,
)
from mercer.solvers.linear._crammer_singer import SequentialDualMethod
from mercer.solvers.linear._design_matrix import DesignMatrix, LocalMatrix, as_design_matrix
from mercer.solvers.linear._gradient_dual import evaluate
from mercer.solvers.linear._multinomial_newton import MultinomialNewton
from mercer.solvers.linear._path_following import Start, restart, warm_start
from mercer.solvers.linear._selection import choose_linear
from mercer.solvers.linear._stored_model import (
    ShiftedDesign,
    StoredModel,
    solve_and_bound,
    until_bounded,
)

__all__ = [
    "DesignMatrix",
    "LocalMatrix",
    "MultinomialNewton",
    "SequentialDualMethod",
    "ShiftedDesign",
    "Start",
    "StoredModel",
    "as_design_matrix",
    "bound_class_gap",
    "bound_class_gap_by_norms",
    "bound_gap",
    "bound_hard_margin_gap",
    "choose_linear",
    "evaluate",
    "restart",
    "solve_and_bound",
    "until_bounded",
    "warm_start",
]
