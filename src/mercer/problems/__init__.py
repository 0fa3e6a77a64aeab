"""What is optimised.

====================  =============================================================
_dual_qp.py           `BoxQP`: the box QP in signed duals, and its duality gap
_kkt.py               its optimality conditions: group sums, intercepts, violation
_svm.py               C-SVC, ν-SVC, ε-SVR, ν-SVR and one-class SVM as box QPs
_logistic.py          kernel logistic regression, with its entropy dual
_ridge.py             kernel ridge regression: a linear system
_regularized_loss.py  linear models in their primal; _losses.py: their losses
_loss_bounds.py       bounds of these losses over scores within g ± error
_class_simplex.py     linear classifiers of all classes in one problem: their duals
_crammer_singer.py    the hinge over all classes; _multinomial.py: the softmax
====================  =============================================================
"""

from mercer.problems._dual_qp import BoxQP
from mercer.problems._logistic import Logistic
from mercer.problems._ridge import Ridge
from mercer.problems._svm import nu_svc, nu_svr, one_class, svc, svr

__all__ = ["BoxQP", "Logistic", "Ridge", "nu_svc", "nu_svr", "one_class", "svc", "svr"]
