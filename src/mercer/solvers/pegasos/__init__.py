"""Pegasos: stochastic subgradient steps on the primal, and dual points that bound the optimum.

_state.py                loss intervals, the iterate and its average, settings
_steps.py                compiled: steps on dense rows, sparse rows and kernel matrices; dual sweeps
_rows.py                 rows as Pegasos reads them: dense, CSR, or with their kernel matrix
_subgradient.py          epochs until the relative gap is small; the dual bound
_solver.py               the same as a solver of box QPs: ``SVC(solver="pegasos")``
_streaming_gap_bound.py  a dual bound from one pass over a stream
"""

from mercer.solvers.pegasos._solver import Pegasos

__all__ = ["Pegasos"]
