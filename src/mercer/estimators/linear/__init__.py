"""LinearSVC, LinearSVR and LogisticRegression.

=======================  ===============================================================
_base.py                 the steps of ``fit``: validate, encode, bind, pose, solve, keep
_classes.py              `LinearSVC` and `LinearSVR`
_logistic_regression.py  `LogisticRegression`
_multiclass.py           all classes in one problem (``multi_class="crammer_singer"``)
_multinomial.py          softmax over all classes (``multi_class="multinomial"``)
_hard_margin.py          ``LinearSVC(C=inf)``
=======================  ===============================================================
"""

from mercer.estimators.linear._classes import LinearSVC, LinearSVR
from mercer.estimators.linear._logistic_regression import LogisticRegression

__all__ = ["LinearSVC", "LinearSVR", "LogisticRegression"]
