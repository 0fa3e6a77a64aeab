"""Low-rank models: estimators fitted on features of the kernel instead of its matrix.

=============  ====================================================================
_embedding.py  the features of the training rows, in tiles; landmark sums with bounds
_design.py     features as a `DesignMatrix`: in memory, or embedded at every pass
_svm.py        `SVC`, `SVR` and `OneClassSVM` with ``approximation``
_ridge.py      `KernelRidge` with it: normal equations
=============  ====================================================================
"""

from mercer.estimators.low_rank._svm import LOW_RANK_ATTRIBUTES, LowRankFit

__all__ = ["LOW_RANK_ATTRIBUTES", "LowRankFit"]
