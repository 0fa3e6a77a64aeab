"""Kernel functions whose values depend on the set of rows are called as scikit-learn calls them."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn.svm
from numpy.testing import assert_allclose
from sklearn.datasets import make_blobs

import mercer
from mercer import SVC, verify
from tests.read_only import read_only

N = 600  # more than the rows of a tile of predictions
X, Y = read_only(*make_blobs(N, 4, centers=3, cluster_std=4.0, random_state=0))
NEW = X[::7] + 0.1


def centred(A, B):
    """Products of differences from the mean of B: with all training rows, a centred kernel."""
    mean = B.mean(axis=0)
    return (A - mean) @ (B - mean).T / 16


def plain(A, B):
    return A @ B.T / 16


@pytest.mark.parametrize("name", ["SVC", "NuSVC", "SVR", "NuSVR"])
def test_agrees_with_scikit_learn(name):
    mine = getattr(mercer, name)(kernel=centred, tol=1e-8).fit(X, Y)
    theirs = getattr(sklearn.svm, name)(kernel=centred, tol=1e-8).fit(X, Y)
    values = "decision_function" if name.endswith("SVC") else "predict"
    assert_allclose(getattr(mine, values)(NEW), getattr(theirs, values)(NEW), atol=1e-4)
    assert verify(mine, X, Y).holds


def test_is_the_kernel_of_centred_rows():
    """The weights of a linear machine without b, on rows less their mean."""
    y, mean = np.where(Y == 0, 1, -1), X.mean(axis=0)
    function = SVC(kernel=centred, fit_intercept=False, tol=1e-8).fit(X, y)
    shifted = SVC(kernel="linear", C=1 / 16, fit_intercept=False, tol=1e-8).fit(X - mean, y)
    assert_allclose(
        function.decision_function(NEW), shifted.decision_function(NEW - mean), atol=1e-5
    )
    assert verify(function, X, y).holds  # without b, values of fewer rows would be others


def test_is_saved_with_all_training_rows(tmp_path):
    model = SVC(kernel=centred).fit(X, Y)
    assert model.expansion_.support.n == N > len(model.support_vectors_)
    mercer.save(model, tmp_path / "model.mercer")
    again = mercer.load(tmp_path / "model.mercer", callables={"centred": centred})
    assert_allclose(again.decision_function(NEW), model.decision_function(NEW), rtol=1e-12)


def test_a_function_of_pairs_keeps_support_vectors_alone():
    model = SVC(kernel=plain).fit(X, Y)
    assert model.expansion_.support.n == len(model.support_vectors_) < N
