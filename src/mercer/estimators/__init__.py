"""Estimators with scikit-learn's interface.

================  ==============================================================
svm/              SVC, NuSVC, SVR, NuSVR, OneClassSVM
linear/           LinearSVC, LinearSVR, LogisticRegression
pegasos/          PegasosClassifier, PegasosRegressor, also on streams
_kmeans.py        KernelKMeans
_perceptron.py    KernelPerceptron
_logistic.py      KernelLogisticRegression
_one_vs_rest.py   what the classifiers of one class against the rest share
_ridge.py         KernelRidge
_pca.py           KernelPCA; _pre_image.py: its pre-images
_kernel_base.py   `KernelEstimator`: kernel and fitted function of all of them
_validation.py    validation of rows, targets and weights
_parameters.py    validation of parameters; the kernel they specify
_warm_start.py    starting from the last fit
_convergence.py   warnings, errors and progress shown to the user
================  ==============================================================
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
