"""The faces: estimators with scikit-learn's interface.

=================  ==============================================================
base.py            `KernelMachine`: fit as six steps, predictions, parameters
_classifier.py     what SVC and NuSVC share: classes, votes, probabilities
svc.py             SVC, NuSVC
svr.py             SVR, NuSVR
oneclass.py        OneClassSVM
_linear.py         what the linear machines share
linear.py          LinearSVC, LinearSVR, LogisticRegression
_data.py           validation of rows, targets and weights
_params.py         validation of parameters; the kernel they mean
_warm.py           starting from the last fit
_report.py         warnings, errors and progress shown to the user
=================  ==============================================================
"""

from mercer.estimators.linear import LinearSVC, LinearSVR, LogisticRegression
from mercer.estimators.oneclass import OneClassSVM
from mercer.estimators.svc import SVC, NuSVC
from mercer.estimators.svr import SVR, NuSVR

__all__ = [
    "SVC",
    "SVR",
    "LinearSVC",
    "LinearSVR",
    "LogisticRegression",
    "NuSVC",
    "NuSVR",
    "OneClassSVM",
]
