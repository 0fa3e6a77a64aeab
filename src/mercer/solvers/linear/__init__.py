"""How the primal of a linear machine is solved.

choose.py    which method fits the shape of the data, and why
newton.py    tall data: from a sample to all rows, and the check of the gap
smooth.py    Newton's method for smooth losses, direct or by conjugate gradients
proximal.py  the same for tubes, by proximal steps in the dual; compiled: _proximal.py
nearby.py    tubes along prices: proximal steps on the rows near their edges
own.py       a model of a smooth loss with its own duals: gradient and gap from one pass
chord.py     smooth losses along prices: quasi-Newton steps from the equations of the last fit
descent.py   dual coordinate descent; compiled: _epoch.py
leap.py      beside it: free duals settled together by conjugate gradients
both.py      sparse and wide data: coordinate descent, then Newton's method
joint.py     all classes at once: the sequential dual method; compiled: _shares.py
rows.py      the data as passes over rows; compiled: _passes.py, with bounds of rounding _bounded.py
proof.py     bounds of value and gap of a model as it is stored
stored.py    solved, rounded as it is stored, proved; again where the proof asks for more
"""

from mercer.solvers.linear._bounded_gap import prove, prove_joint
from mercer.solvers.linear._crammer_singer import Joint
from mercer.solvers.linear._design_matrix import Rows, as_rows
from mercer.solvers.linear._newton import Start, again, evaluate, foreseen
from mercer.solvers.linear._selection import choose
from mercer.solvers.linear._stored_model import Answer, Shifted, solve_and_prove, until_proved

__all__ = [
    "Answer",
    "Joint",
    "Rows",
    "Shifted",
    "Start",
    "again",
    "as_rows",
    "choose",
    "evaluate",
    "foreseen",
    "prove",
    "prove_joint",
    "solve_and_prove",
    "until_proved",
]
