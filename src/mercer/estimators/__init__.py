"""The faces: estimators with scikit-learn's interface.

=================  ==============================================================
_kernelised.py     `KernelEstimator`: parameters, kernel and fitted function of them all
base.py            `KernelMachine`: fit as six steps, what the support vector machines share
_classifier.py     what SVC and NuSVC share: classes, votes, probabilities
svc.py             SVC, NuSVC
svr.py             SVR, NuSVR
oneclass.py        OneClassSVM
kmeans.py          KernelKMeans
perceptron.py      KernelPerceptron
logistic.py        KernelLogisticRegression
_rest.py           what the classifiers of one class against the rest share
ridge.py           KernelRidge
pca.py             KernelPCA
_linear.py         what the linear machines share
linear.py          LinearSVC, LinearSVR, LogisticRegression
pegasos.py         PegasosClassifier, PegasosRegressor
_pegasos.py        what they share; _stream.py, _stream_run.py: partial_fit and fit_stream
_data.py           validation of rows, targets and weights
_params.py         validation of parameters; the kernel they mean
_warm.py           starting from the last fit
_report.py         warnings, errors and progress shown to the user
=================  ==============================================================
"""

from mercer.estimators._kmeans import KernelKMeans
from mercer.estimators._logistic import KernelLogisticRegression
from mercer.estimators._pca import KernelPCA
from mercer.estimators._perceptron import KernelPerceptron
from mercer.estimators._ridge import KernelRidge
from mercer.estimators.svm._one_class import OneClassSVM
from mercer.estimators.svm._svc import SVC, NuSVC
from mercer.estimators.svm._svr import SVR, NuSVR

__all__ = [
    "SVC",
    "SVR",
    "KernelKMeans",
    "KernelLogisticRegression",
    "KernelPCA",
    "KernelPerceptron",
    "KernelRidge",
    "NuSVC",
    "NuSVR",
    "OneClassSVM",
]
