"""Models of Mercer as scikit-learn's and back: the values of both libraries to 1e-12."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import decomposition, kernel_approximation, kernel_ridge, linear_model, svm
from sklearn.base import clone

import mercer
from mercer._expansion import Expansion
from mercer.embeddings import Nystroem
from mercer.export import from_sklearn, to_sklearn
from mercer.export._sklearn import TWINS
from mercer.kernels import RBF, Laplacian, Linear
from tests.read_only import read_only

pytestmark = pytest.mark.filterwarnings(
    "ignore:The `probability` parameter",
    "ignore:The sigmoid",
    "ignore:Liblinear",
    "ignore:smo stopped early",  # nu has w = 0 as its solution: values are compared all the same
)


def _data():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(90, 4)) + 2.0
    y = np.digitize(X[:, 0] + 0.5 * rng.normal(size=90), [1.5, 2.5])
    return read_only(X, y, np.sin(X[:, 0]) + X[:, 1])


X, Y, T = _data()
METHODS = ("decision_function", "predict", "transform", "score_samples")
KERNELS = {
    "linear": {},
    "poly": {"degree": 2, "gamma": 0.3, "coef0": 1.0},
    "rbf": {"gamma": 0.2},
    "sigmoid": {"gamma": 0.01, "coef0": 0.1},
}


def terms(model, rows):
    """The size of the terms of f, whose rounding its sum has: Σ|c| max|k|."""
    e = getattr(model, "expansion_", None)
    if not isinstance(e, Expansion) or e.columns is not None:
        return 1.0
    return np.abs(e.coef).sum(axis=1).max() * np.abs(e.kernel(rows, e.support.X)).max()


def same(one, other, rows=X, methods=METHODS):
    """Values to 1e-12 of the size of their terms, labels exactly."""
    compared, size = 0, max(terms(model, rows) for model in (one, other))
    for method in methods:
        if hasattr(one, method) and hasattr(other, method):
            a, b = getattr(one, method)(rows), getattr(other, method)(rows)
            if a.dtype.kind == "f":
                scale = max(np.abs(a).max(), size)
                assert_allclose(b, a, rtol=0, atol=1e-12 * scale, err_msg=method)
            else:
                assert_array_equal(b, a, err_msg=method)
            compared += 1
    assert compared


def target(name, k=3):
    return T if name.endswith("R") else np.minimum(Y, k - 1)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("name", ["SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM"])
def test_kernel_machines(name, kernel, k, sparse):
    """Decision values to 1e-12 against the LIBSVM that is built into scikit-learn."""
    if name not in ("SVC", "NuSVC") and k == 3:
        pytest.skip("has no classes")
    rows = sp.csr_matrix(np.where(np.abs(X) > 1, X, 0)) if sparse else X
    how = {"kernel": kernel, **KERNELS[kernel], **({"nu": 0.2} if "Nu" in name else {})}
    theirs = getattr(svm, name)(**how).fit(rows, target(name, k))
    same(theirs, from_sklearn(theirs), rows)
    ours = getattr(mercer, name)(**how, tol=1e-2).fit(rows, target(name, k))
    same(ours, to_sklearn(ours), rows)


@pytest.mark.parametrize("k", [2, 3])
def test_probabilities(k):
    theirs = svm.SVC(probability=True, random_state=0).fit(X, target("SVC", k))
    same(theirs, from_sklearn(theirs), methods=("predict_proba",))


@pytest.mark.parametrize("y", [[0, 1], [1, 0]])
def test_a_decision_value_of_zero(y):
    """LIBSVM's code in scikit-learn predicts the second class there."""
    theirs = svm.SVC(kernel="linear").fit([[-1.0], [1.0]], y)
    assert theirs.decision_function([[0.0]]) == 0
    assert from_sklearn(theirs).predict([[0.0]]) == theirs.predict([[0.0]])


def test_precomputed_kernels():
    K = RBF(0.3)(X)
    theirs = svm.SVC(kernel="precomputed").fit(K, Y)
    same(theirs, from_sklearn(theirs), K)
    ours = mercer.SVC(kernel="precomputed").fit(K, Y)
    same(ours, to_sklearn(ours), K)


@pytest.mark.parametrize("kernel", [RBF(0.3) + Linear(), Laplacian(0.2)])
def test_kernels_without_a_name_become_callables(kernel):
    ours = mercer.SVC(kernel=kernel).fit(X, Y)
    theirs = to_sklearn(ours)
    same(ours, theirs)
    same(theirs, from_sklearn(theirs))


@pytest.mark.parametrize(
    "ours",
    [
        mercer.LinearSVC(), mercer.LinearSVR(), mercer.LogisticRegression(),
        mercer.KernelRidge(kernel="rbf", gamma=0.2, alpha=0.1), mercer.KernelRidge(alpha="loo"),
        mercer.KernelPCA(2, kernel="rbf", gamma=0.2), mercer.KernelPCA(2),
        Nystroem(n_components=10, random_state=0), Nystroem(kernel="poly", n_components=5),
    ],
    ids=repr,
)  # fmt: skip
def test_other_estimators_to_scikit_learn(ours):
    name = type(ours).__name__
    ours.fit(X, T if "Ridge" in name or name.endswith("R") else Y)
    theirs = to_sklearn(ours)
    assert type(theirs).__module__.startswith("sklearn.")
    same(ours, theirs, methods=(*METHODS, "predict_proba"))
    clone(theirs).fit(
        X, T if "Ridge" in name or name.endswith("R") else Y
    )  # its parameters are valid


@pytest.mark.parametrize(
    "theirs",
    [
        svm.LinearSVC(), svm.LinearSVR(C=0.1, max_iter=100_000),
        linear_model.LogisticRegression(max_iter=500),
        kernel_ridge.KernelRidge(kernel="poly", degree=2), kernel_ridge.KernelRidge(),
        decomposition.KernelPCA(2, kernel="rbf"),
        kernel_approximation.Nystroem(n_components=10, random_state=0),
    ],
    ids=repr,
)  # fmt: skip
def test_other_estimators_from_scikit_learn(theirs, tmp_path):
    name = type(theirs).__name__
    theirs.fit(X, T if "Ridge" in name or name.endswith("R") else Y)
    ours = from_sklearn(theirs)
    assert type(ours).__module__.startswith("mercer.")
    same(theirs, ours, methods=(*METHODS, "predict_proba"))


def test_what_came_from_scikit_learn_is_saved(tmp_path):
    ours = from_sklearn(svm.SVC().fit(X, Y))
    mercer.save(ours, tmp_path / "m")
    same(ours, mercer.load(tmp_path / "m"))
    assert not hasattr(ours, "certificate_")


def test_others_are_refused_in_a_sentence():
    with pytest.raises(TypeError, match="twin of KernelPerceptron"):
        to_sklearn(mercer.KernelPerceptron(random_state=0, gamma=30.0).fit(X, Y > 0))
    with pytest.raises(TypeError, match="twin of sklearn"):
        from_sklearn(linear_model.Ridge().fit(X, T))
    with pytest.raises(ValueError, match="softmax"):
        to_sklearn(mercer.LogisticRegression(multi_class="ovr").fit(X, Y))
    assert set(TWINS) <= {*dir(mercer), "Nystroem"}
