"""`verify`: a fitted model's certificate recomputed, independently of the solvers.

==================== ===============================================================
_verify.py           `verify`: one function per estimator
_tasks.py            the tasks of an estimator, from its attributes and the data
_losses.py           each loss and its Fenchel gap, once
_formulations.py     the dual variables of the kernel SVMs
_dual_svm.py         kernel SVMs, between bounds
_kernel_logistic.py  kernel logistic regression
_linear.py           linear models
_l1.py               their L1 penalty
_multinomial.py      multinomial logistic regression
_pegasos.py          Pegasos
_residuals.py        ridge systems and eigenvectors
_low_rank.py         low-rank models, and their distance from the exact optimum
_feature_ridge.py    kernel ridge regression on features
_sklearn.py          pipelines, and scikit-learn's own estimators
_rounding.py         settings, and sums with rounding bounds
==================== ===============================================================
"""

from mercer.verification._verify import verify

__all__ = ["verify"]
