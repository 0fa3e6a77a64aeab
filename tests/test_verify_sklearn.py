"""`verify` of pipelines and of scikit-learn's estimators, and what certificates can be asked."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from scipy.special import logsumexp
from sklearn import kernel_ridge, linear_model, svm
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mercer
from mercer import Status

X = StandardScaler().fit_transform(load_iris().data)
Y = load_iris().target
B = np.where(Y == 1, 1.0, -1.0)
D, T = load_diabetes().data * 10, load_diabetes().target / 50
WEIGHT = np.random.default_rng(0).uniform(0.1, 2.0, len(Y))


def name(model):
    """Of a test: without the address of a function, which differs between processes."""
    return re.sub(r" at 0x\w+", "", repr(model))


def hinge(coef, b, C):
    return 0.5 * coef @ coef + C * np.maximum(0, 1 - B * (X @ coef + b)).sum()


def optimum(objective, size):
    """The smallest value that a general-purpose minimiser finds."""
    options = {"maxiter": 20000, "maxfun": 10**6, "ftol": 1e-15, "gtol": 1e-10}
    return minimize(objective, np.zeros(size), method="L-BFGS-B", options=options).fun


CLASSIFIERS = [
    svm.SVC(),
    svm.SVC(kernel="linear", class_weight="balanced"),
    svm.NuSVC(nu=0.2),
    svm.SVC(kernel=lambda a, b: a @ b.T),
    svm.LinearSVC(),
    svm.LinearSVC(loss="hinge", max_iter=10**5, fit_intercept=False, random_state=0),
    svm.LinearSVC(multi_class="crammer_singer", max_iter=10**5, random_state=0),
    linear_model.LogisticRegression(),
    linear_model.LogisticRegression(C=50.0, class_weight="balanced", tol=1e-7, max_iter=10**4),
]
REGRESSIONS = [
    svm.SVR(),
    svm.NuSVR(nu=0.3),
    svm.LinearSVR(max_iter=10**5, tol=1e-5, random_state=0),
    svm.LinearSVR(loss="squared_epsilon_insensitive"),
    kernel_ridge.KernelRidge(kernel="rbf"),
    kernel_ridge.KernelRidge(kernel="polynomial", degree=2, alpha=0.5),
]


@pytest.mark.parametrize("model", CLASSIFIERS, ids=name)
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["", "weights"])
def test_classifiers_of_scikit_learn(model, weight):
    proof = mercer.verify(model.fit(X, Y, sample_weight=weight), X, Y, weight)
    assert proof.dual <= proof.primal
    assert proof.relative_gap < 5e-3
    if not isinstance(model, svm.LinearSVC):  # stops by another measure
        assert proof
    assert proof.n_support > 0


@pytest.mark.parametrize("model", REGRESSIONS, ids=name)
def test_regressions_of_scikit_learn(model):
    proof = mercer.verify(model.fit(D, T), D, T)
    assert proof.relative_gap < 1e-3
    if not isinstance(model, svm.LinearSVR):  # stops by another measure
        assert proof.holds


def test_one_class_of_scikit_learn():
    assert mercer.verify(svm.OneClassSVM(nu=0.2).fit(X), X)


def test_sparse_rows_and_a_precomputed_kernel():
    rows = sp.csr_matrix(X)
    assert mercer.verify(svm.SVC().fit(rows, Y), rows, Y)
    K = rbf_kernel(X)
    dense = mercer.verify(svm.SVC(kernel="precomputed").fit(K, Y), K, Y)
    np.testing.assert_allclose(
        dense.primal, mercer.verify(svm.SVC(gamma=0.25).fit(X, Y), X, Y).primal
    )


def test_the_same_numbers_as_of_mercers_own_model():
    theirs = svm.SVC(tol=1e-6, gamma=0.5).fit(X, Y)
    ours = mercer.SVC(tol=1e-6, gamma=0.5).fit(X, Y)
    a, b = mercer.verify(theirs, X, Y), mercer.verify(ours, X, Y)
    np.testing.assert_allclose([a.primal, a.dual], [b.primal, b.dual], rtol=1e-6)


@pytest.mark.parametrize("intercept", [True, False])
def test_the_optimum_of_multinomial_regression_lies_between_the_bounds(intercept):
    C, k, d = 2.0, 3, X.shape[1]

    def objective(v):
        W, b = v[: k * d].reshape(k, d), v[k * d :] if intercept else np.zeros(k)
        g = X @ W.T + b
        return 0.5 * (W**2).sum() + C * (logsumexp(g, axis=1) - g[np.arange(len(Y)), Y]).sum()

    best = optimum(objective, k * d + (k if intercept else 0))
    for tol in (1e-1, 1e-3, 1e-10):
        model = linear_model.LogisticRegression(C=C, tol=tol, fit_intercept=intercept, max_iter=500)
        proof = mercer.verify(model.fit(X, Y), X, Y)
        reached = objective(
            np.concatenate([model.coef_.ravel(), model.intercept_] if intercept else model.coef_)
        )
        assert proof.dual <= best * (1 + 1e-9)
        assert proof.primal * (1 + 1e-12) >= reached
        assert proof.gap >= reached - best - 1e-9 * best
    assert proof.relative_gap < 1e-8


def test_a_fit_that_was_cut_off_is_told_from_the_optimum():
    with pytest.warns(ConvergenceWarning):
        model = svm.SVC(kernel="linear", C=1.0, max_iter=5).fit(X, B)
    proof = mercer.verify(model, X, B)
    exact = mercer.SVC(kernel="linear", tol=1e-9).fit(X, B).certificate_
    reached = hinge(model.coef_[0], model.intercept_[0], 1.0)
    assert not proof
    assert proof.status is Status.ITERATION_LIMIT
    assert proof.primal >= reached * (1 - 1e-12) > exact.primal
    assert proof.gap >= reached - exact.primal


def test_duals_of_a_hinge_that_scikit_learn_does_not_keep():
    model = svm.LinearSVC(loss="hinge", tol=0.3, random_state=0).fit(X, B)
    proof = mercer.verify(model, X, B)
    penalised = np.append(model.coef_[0], model.intercept_[0])
    reached = 0.5 * penalised @ penalised
    reached += np.maximum(0, 1 - B * (X @ model.coef_[0] + model.intercept_[0])).sum()
    ones = np.column_stack([X, np.ones(len(X))])
    best = mercer.SVC(kernel="linear", fit_intercept=False, tol=1e-9).fit(ones, B).certificate_
    np.testing.assert_allclose(proof.primal, reached)
    assert proof.dual <= best.primal * (1 + 1e-9)
    assert proof.gap >= reached - best.primal


def test_other_penalties_are_refused():
    model = linear_model.LogisticRegression(l1_ratio=1.0, solver="saga", max_iter=5000)
    with pytest.raises(ValueError, match="L2 penalty"):
        mercer.verify(model.fit(X, B), X, B)


def test_other_estimators_are_refused():
    with pytest.raises(TypeError, match="got Perceptron"):
        mercer.verify(linear_model.Perceptron().fit(X, Y), X, Y)


@pytest.mark.parametrize("last", [mercer.SVC(), svm.SVC(), mercer.LinearSVC()], ids=name)
def test_pipelines(last):
    raw = load_iris().data
    pipeline = make_pipeline(StandardScaler(), "passthrough", PCA(2), last).fit(raw, Y)
    proof = mercer.verify(pipeline, raw, Y)
    assert proof
    assert proof.note == "X was transformed by StandardScaler, PCA"
    assert proof.note in repr(proof)
    assert proof.note in proof._repr_html_()
    direct = mercer.verify(pipeline[-1], pipeline[:-1].transform(raw), Y)
    assert (proof.primal, proof.gap, direct.note) == (direct.primal, direct.gap, "")


# ------------------------------------------------------------------ what certificates can be asked


def models():
    hard = {"kernel": "linear", "C": 1e6, "max_iter": 1}
    with pytest.warns(ConvergenceWarning):
        cut_off = mercer.SVC(**hard).fit(X, np.roll(B, 7))
    return [
        mercer.SVC().fit(X, Y),
        mercer.LinearSVC(multi_class="crammer_singer", loss="hinge", intercept_scaling=None).fit(
            X, Y
        ),
        mercer.KernelRidge(kernel="rbf").fit(D, T),
        mercer.KernelPCA(2, kernel="rbf").fit(X),
        mercer.KernelLogisticRegression().fit(X, B),
        mercer.PegasosClassifier(random_state=0).fit(X, B),
        cut_off,
    ]


def test_verdict_json_and_pages():
    for model in models():
        stated = model.certificate_
        assert bool(stated) is stated.holds is stated.status.is_solved
        text = json.dumps(stated.to_dict(), allow_nan=False)
        read = json.loads(text)
        assert read["status"] == str(stated.status)
        assert read["holds"] is stated.holds
        if hasattr(stated, "primal"):
            assert float(read["primal"]) == stated.primal
            assert len(read.get("tasks", ())) == len(getattr(stated, "tasks", ()))
        assert str(stated.status) in repr(stated)
        page = stated._repr_html_()
        assert page.startswith("<table>")
        assert "</table>" in page
        if hasattr(model, "kernel_") and not hasattr(model, "coef_"):
            assert repr(model.expansion_.kernel) in repr(model.expansion_)


def test_pages_escape_names():
    labels = np.where(B > 0, "<b>", "a")
    labels[:3] = "c&d"
    page = mercer.SVC().fit(X, labels).certificate_._repr_html_()
    assert "&lt;b&gt;" in page
    assert "<b> /" not in page
    assert "c&amp;d" in page


def test_numbers_that_are_not_known_are_equal():
    model = mercer.LinearSVC(multi_class="crammer_singer", loss="hinge", max_iter=-1)
    a, b = model.fit(X, Y).certificate_, clone(model).fit(X, Y).certificate_
    same = {"seconds": 0.0, "certificate_seconds": 0.0}
    assert np.isnan(a.bias_interval).any()
    a, b = replace(a, **same), replace(b, bias_interval=(float("nan"),) * 2, **same)
    assert a == b
    assert hash(a) == hash(b)
    assert a != replace(b, gap=2 * b.gap + 1)
    assert a != "something else"
