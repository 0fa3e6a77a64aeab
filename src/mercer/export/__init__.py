"""Fitted models for other programs: ONNX graphs and C headers.

=============  =======================================================================
_flow.py       a model as numbers: scaling, kernel sum or weights, rule for the label
_onnx.py       `to_onnx`: a graph of plain float64 operators
_c.py          `to_c`: one C99 header without dependencies
_c_kernels.py  kernels as C expressions
=============  =======================================================================
"""

from mercer.export._c import to_c
from mercer.export._onnx import to_onnx

__all__ = ["to_c", "to_onnx"]
