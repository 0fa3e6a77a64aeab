"""The faces: estimators with scikit-learn's interface.

=================  ==============================================================
_kernelised.py     `KernelEstimator`: parameters, kernel and fitted function of them all
base.py            `KernelMachine`: fit as six steps, what the support vector machines share
_classifier.py     what SVC and NuSVC share: classes, votes, probabilities
svc.py             SVC, NuSVC
svr.py             SVR, NuSVR
oneclass.py        OneClassSVM
_data.py           validation of rows, targets and weights
_params.py         validation of parameters; the kernel they mean
_warm.py           starting from the last fit
_report.py         warnings, errors and progress shown to the user
=================  ==============================================================
"""

from mercer.estimators.oneclass import OneClassSVM
from mercer.estimators.svc import SVC, NuSVC
from mercer.estimators.svr import SVR, NuSVR

__all__ = ["SVC", "SVR", "NuSVC", "NuSVR", "OneClassSVM"]
