"""Ctrl-C in the middle of a fit: the model so far is kept, and the interrupt goes through."""

from __future__ import annotations

import os
import signal

import numpy as np
import pytest
from sklearn.base import clone

from mercer import KernelKMeans, KernelLogisticRegression, KernelPerceptron, LinearSVC, LinearSVR
from mercer.estimators.linear import LogisticRegression

X = np.random.default_rng(0).normal(size=(300, 3))
y = np.random.default_rng(1).integers(0, 2, 300)  # no rule at all: nothing ends early

FITS = {
    "perceptron": (KernelPerceptron(kernel="linear", max_iter=10**6), "dual_coef_"),
    "k-means": (KernelKMeans(5, n_init=1000, random_state=0), "labels_"),
    "kernel logistic": (KernelLogisticRegression(C=1e3, tol=1e-15), "dual_coef_"),
    "logistic": (LogisticRegression(C=1e3, tol=1e-15), "coef_"),
    "hinge": (LinearSVC(loss="hinge", dual=True, C=1e3, tol=1e-15), "coef_"),
    "newton": (LinearSVC(loss="hinge", C=1e3, tol=1e-15), "coef_"),
    "all classes": (
        LinearSVC(multi_class="crammer_singer", loss="hinge", C=1e3, tol=1e-15),
        "coef_",
    ),
    "tube": (LinearSVR(C=1e3, tol=1e-15), "coef_"),
}


@pytest.mark.parametrize("name", FITS)
def test_the_model_so_far_is_kept(name):
    model, attribute = FITS[name]
    told = []

    def interrupt(progress):
        if not told:
            os.kill(os.getpid(), signal.SIGINT)
        told.append(progress)

    model = clone(model).set_params(callback=interrupt)
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert signal.getsignal(signal.SIGINT) is before
    assert len(told) <= 3
    assert np.isfinite(getattr(model, attribute)).all()
    assert len(model.predict(X)) == 300
