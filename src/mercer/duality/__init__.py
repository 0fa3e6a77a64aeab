"""Duality made visible: small problems in one or two variables, solved on both sides.

=============  ==============================================================================
program.py     `Program`: objective, constraints, box; the Lagrangian and the dual function
_minimise.py   global minimisation over a box: a grid, then zooming in
_maximise.py   the concave dual function: bisection, or cutting planes
picture.py     the (g, f) image of the box with supporting lines; needs matplotlib
games.py       `minimax` of a matrix, `coordinate_ascent` on a quadratic
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
