"""Proofs, in exact arithmetic, that two classes cannot be separated.

===============  ==================================================================
_hull.py         a point in both convex hulls, found by a solver and then proved
_farkas.py       the certificate of infeasibility of a linear program
_rational.py     kernel values and sums as fractions
===============  ==================================================================
"""

from mercer.solvers.separability._hull import HardMarginWatch, HullProof, prove_inseparable

__all__ = ["HardMarginWatch", "HullProof", "prove_inseparable"]
