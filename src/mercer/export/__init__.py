"""Fitted models for other programs: ONNX graphs, C headers, scikit-learn's estimators.

=============  =======================================================================
_flow.py       a model as numbers: scaling, kernel sum or weights, rule for the label
_onnx.py       `to_onnx`: a graph of plain float64 operators
_c.py          `to_c`: one C99 header without dependencies
_c_kernels.py  kernels as C expressions
_sklearn.py    `to_sklearn`, `from_sklearn`: scikit-learn's estimators of the same names
=============  =======================================================================
"""

from mercer.export._c import to_c
from mercer.export._onnx import to_onnx
from mercer.export._sklearn import from_sklearn, to_sklearn

__all__ = ["from_sklearn", "to_c", "to_onnx", "to_sklearn"]
