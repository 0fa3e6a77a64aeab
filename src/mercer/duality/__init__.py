"""Lagrange duality on small programs in one or two variables: both sides, and pictures.

=============  ==============================================================================
_program.py    `Program`: objective, constraints, box; the Lagrangian and the dual function
_minimise.py   global minimisation over a box: a grid, then SciPy from its valleys
_maximise.py   the concave dual function: bisection, or cutting planes
_picture.py    the (g, f) image of the box with supporting lines; needs matplotlib
_games.py      `minimax` of a matrix, `coordinate_ascent` on a quadratic
=============  ==============================================================================
"""

from mercer.duality._games import Minimax, coordinate_ascent, minimax
from mercer.duality._picture import draw_dual, draw_image, draw_path
from mercer.duality._program import Program, Solution

__all__ = [
    "Minimax",
    "Program",
    "Solution",
    "coordinate_ascent",
    "draw_dual",
    "draw_image",
    "draw_path",
    "minimax",
]
