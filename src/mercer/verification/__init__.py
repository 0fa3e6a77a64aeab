"""`verify`: a fitted model's certificate recomputed, independently of the solvers.

=================  ================================================================
_verify.py         `verify`: from an estimator to the computation for its problem
_dual_svm.py       box QPs: objective, gap and violation between bounds
_formulations.py   what each formulation maximises, written again
_linear.py         linear models
_pegasos.py        Pegasos
_residuals.py      ridge systems and eigenvectors
_rounded_sums.py   sums and products with rounding bounds
=================  ================================================================
"""

from mercer.verification._verify import verify

__all__ = ["verify"]
