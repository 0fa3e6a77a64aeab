"""Kernel machines with ``approximation``: what they state, refuse, keep and recompute."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import mercer
from mercer import SVC, SVR, KernelRidge, NuSVC, NuSVR, OneClassSVM
from mercer.exceptions import ConvergenceWarning
from mercer.kernels import RBF, Linear, Polynomial, Spectrum
from mercer.model_selection import GridSearchCV
from mercer.persistence import read_libsvm, write_libsvm
from tests.read_only import read_only


def _data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, 3))
    y = (X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=240) > 0).astype(int)
    three = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0.5)
    return read_only(X, y, three, np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=240))


X, Y, THREE, T = _data()
LOW = {"gamma": 0.2, "approximation": "nystroem", "n_components": 60, "random_state": 0}
MACHINES = [
    (SVC(C=2.0, **LOW), Y),
    (SVC(C=2.0, loss="squared_hinge", **LOW), Y),
    (SVC(C=2.0, fit_intercept=False, **LOW), Y),
    (SVC(C=2.0, class_weight={0: 3.0}, **LOW), THREE),
    (SVR(C=2.0, **LOW), T),
    (SVR(C=2.0, loss="squared_epsilon_insensitive", **LOW), T),
    (OneClassSVM(nu=0.3, **LOW), None),
]
NAMES = ["hinge", "squared", "no-intercept", "three", "svr", "svr-squared", "one-class"]
OTHERS = [
    (SVC(C=2.0, **(LOW | {"approximation": "fourier"})), Y),
    (SVC(C=2.0, **(LOW | {"approximation": "sketch", "kernel": "poly", "coef0": 1.0})), THREE),
    (SVR(C=2.0, **(LOW | {"approximation": "fourier", "kernel": "laplacian"})), T),
]


def values(model) -> np.ndarray:
    return model.predict(X) if isinstance(model, SVR) else model.decision_function(X)


def test_regression_leaves_the_last_digits_to_newton():
    """Coordinate descent alone needs some 200 epochs on these features."""
    rng = np.random.default_rng(0)
    rows = rng.uniform(-3, 3, size=(1500, 2))
    t = np.sin(2 * rows[:, 0]) * rows[:, 1] + 0.1 * rng.normal(size=1500)
    given = {**LOW, "gamma": 0.5, "n_components": 150}
    model = SVR(C=10.0, epsilon=0.05, **given).fit(rows, t)
    assert model.certificate_.status.is_solved
    assert model.n_iter_ < 100


@pytest.mark.parametrize(("model", "y"), MACHINES, ids=NAMES)
def test_distance_encloses_the_optimum(model, y):
    """P − distance ≤ P* ≤ P, with P* from the exact solver; and the bound is of use."""
    low = clone(model).fit(X, y).certificate_
    exact = clone(model).set_params(approximation=None, tol=1e-6).fit(X, y).certificate_
    assert low.status.is_solved
    assert low.relative_gap <= model.tol
    assert low.exact_primal - low.distance_to_exact <= exact.primal
    assert low.exact_primal >= exact.dual
    assert low.distance_to_exact >= low.exact_primal - exact.primal
    assert low.relative_distance <= 0.2
    assert "exact optimum" in repr(low)


@pytest.mark.parametrize(("model", "y"), MACHINES, ids=NAMES)
def test_all_landmarks_are_the_exact_model(model, y):
    full = clone(model).set_params(n_components=240, tol=1e-7).fit(X, y)
    exact = clone(model).set_params(approximation=None, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(values(full), values(exact), atol=3e-3, rtol=1e-3)
    scale = abs(exact.certificate_.primal)
    assert full.certificate_.distance_to_exact <= 1e-4 * scale


@pytest.mark.parametrize(("model", "y"), MACHINES + OTHERS, ids=[*NAMES, "rff", "sketch", "lap"])
def test_verify_save_and_dual_view(model, y, tmp_path):
    fitted = clone(model).fit(X, y)
    stated, found = fitted.certificate_, mercer.verify(fitted, X, y)
    assert found.status.is_solved
    assert found.gap == pytest.approx(stated.gap, rel=1e-2, abs=1e-9 * abs(stated.primal))
    if fitted.approximation == "nystroem":
        assert found.distance_to_exact == pytest.approx(stated.distance_to_exact, rel=1e-6)
    else:
        assert stated.distance_to_exact is found.distance_to_exact is None
        assert "no functions of the kernel's feature space" in repr(stated)
    mercer.save(fitted, tmp_path / "m.mercer")
    loaded = mercer.load(tmp_path / "m.mercer")
    np.testing.assert_array_equal(values(loaded), values(fitted))
    assert loaded.certificate_ == stated
    tasks = fitted.dual_view(X, y)
    beta = fitted.duals_.toarray()
    for t, task in enumerate(tasks):
        np.testing.assert_array_equal(task.beta, beta[t, task.rows])


def test_the_function_is_an_expansion_over_landmarks():
    model = clone(MACHINES[0][0]).fit(X, Y)
    assert model.support_vectors_.shape == (60, 3)
    f = RBF(0.2)(X, X[model.support_]) @ model.dual_coef_[0] + model.intercept_[0]
    np.testing.assert_allclose(model.decision_function(X), f, atol=1e-9)
    norm = model.dual_coef_[0] @ RBF(0.2)(X[model.support_]) @ model.dual_coef_[0]
    loss = 2.0 * np.maximum(0, 1 - np.where(Y == 1, 1, -1) * f).sum()
    assert model.certificate_.exact_primal == pytest.approx(norm / 2 + loss, rel=1e-9)


def test_sparse_rows_weights_and_seeds():
    model = clone(MACHINES[0][0])
    weight = np.random.default_rng(1).integers(0, 3, 240)
    twice = np.repeat(np.arange(240), weight)
    full = {"n_components": 1000, "tol": 1e-7}
    a = clone(model).set_params(**full).fit(X, Y, weight)
    b = clone(model).set_params(**full).fit(X[twice], Y[twice])
    np.testing.assert_allclose(values(a), values(b), atol=2e-3)
    np.testing.assert_array_equal(values(clone(model).fit(X, Y)), values(clone(model).fit(X, Y)))
    assert (values(clone(model).set_params(random_state=1).fit(X, Y)) != values(a)).any()
    dense, sparse = (clone(model).fit(kind(X), Y) for kind in (np.asarray, sp.csr_matrix))
    np.testing.assert_allclose(values(sparse), values(dense), atol=1e-6)
    threads = clone(model).set_params(n_jobs=2).fit(X, Y)
    np.testing.assert_array_equal(
        values(threads), values(clone(model).set_params(n_jobs=1).fit(X, Y))
    )


def test_features_beyond_the_budget_are_embedded_in_every_pass():
    """The same optimum from memory and from tiles, certified in both cases."""
    inside = clone(MACHINES[0][0]).set_params(tol=1e-5).fit(X, Y)
    outside = clone(MACHINES[0][0]).set_params(tol=1e-5, cache_size=0.01).fit(X, Y)
    assert "every pass" in outside.solver_.reason
    a, b = inside.certificate_, outside.certificate_
    assert a.primal == pytest.approx(b.primal, rel=2e-5)
    assert b.status.is_solved
    assert b.distance_to_exact >= b.exact_primal - a.exact_primal


def test_a_distance_without_information_says_so():
    model = SVC(gamma=50.0, approximation="nystroem", n_components=3, random_state=0).fit(X, Y)
    assert model.certificate_.relative_distance > 0.2
    assert "no information" in repr(model.certificate_)
    assert model.residual_ > 0.9


def test_an_exact_fit_forgets_the_approximation():
    model = clone(MACHINES[0][0]).fit(X, Y).set_params(approximation=None).fit(X, Y)
    assert not hasattr(model, "duals_")
    assert model.certificate_.distance_to_exact is None
    assert "exact optimum" not in repr(model.certificate_)


def test_a_stopped_fit_states_no_distance():
    with pytest.warns(ConvergenceWarning):
        model = clone(MACHINES[0][0]).set_params(time_limit=0.0).fit(X, Y)
    assert model.certificate_.distance_to_exact is None
    assert "stopped" in model.certificate_.distance_note
    assert not model.certificate_.holds


@pytest.mark.parametrize(
    ("model", "y", "words"),
    [
        (NuSVC(**LOW), Y, "is for SVC, SVR and OneClassSVM"),
        (NuSVR(**LOW), T, "is for SVC, SVR and OneClassSVM"),
        (SVC(C=np.inf, **LOW), Y, "needs a finite C"),
        (SVC(solver="platt", **LOW), Y, "leave solver='auto'"),
        (SVC(warm_start=True, **LOW), Y, "cannot be combined with warm_start"),
        (SVC(checkpoint="file", **LOW), Y, "cannot be combined with checkpoint"),
        (SVC(probability="platt", **LOW), Y, "use CalibratedClassifierCV"),
        (SVC(kernel="cosine", approximation="fourier"), Y, "No spectral density"),
        (SVC(kernel=RBF(1.0), approximation="sketch"), Y, "TensorSketch is for polynomial"),
    ],
)
def test_what_has_no_approximation_is_refused(model, y, words):
    with pytest.raises(ValueError, match=words):
        model.fit(X, y)


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(2, coef0=1.0)])
def test_kernels_of_small_rank_need_few_landmarks(kernel):
    """Ten landmarks span the features of three columns: the distance is that of the gap."""
    low = SVC(kernel=kernel, approximation="nystroem", n_components=12, tol=1e-6, random_state=0)
    proof = low.fit(X, Y).certificate_
    assert proof.distance_to_exact <= 1e-4 * proof.primal


def test_samples_that_are_no_rows():
    """Strings: landmarks are strings, and all of them give the exact model."""
    rng = np.random.default_rng(2)
    words = ["".join(rng.choice(list("abc"), 8)) for _ in range(60)]
    y = np.array([word.count("ab") > 0 for word in words])
    low = {"kernel": Spectrum(2), "approximation": "nystroem", "n_components": 60}
    model = SVC(**low, tol=1e-6, random_state=0).fit(words, y)
    exact = SVC(kernel=Spectrum(2), tol=1e-6).fit(words, y)
    f = model.decision_function(words)
    np.testing.assert_allclose(f, exact.decision_function(words), atol=1e-2)
    assert model.support_vectors_[0] in words
    ridge = KernelRidge(0.5, **low, random_state=0).fit(words, y.astype(float))
    whole = KernelRidge(0.5, kernel=Spectrum(2)).fit(words, y.astype(float))
    np.testing.assert_allclose(ridge.predict(words), whole.predict(words), atol=1e-5)


def test_searches_fit_the_approximation_and_exact_methods_refuse_it():
    low = clone(MACHINES[0][0])
    search = GridSearchCV(low, {"C": [0.1, 1.0]}, cv=2).fit(X, Y)
    assert not search.shares_work_
    assert search.best_estimator_.duals_.shape == (1, 240)
    assert not GridSearchCV(SVC(), {"approximation": [None]}, cv=2).fit(X, Y).shares_work_
    with pytest.raises(ValueError, match="leave_one_out is exact"):
        mercer.leave_one_out(low, X, Y)
    with pytest.raises(ValueError, match="path follows exact solutions"):
        mercer.path(X, Y, Cs=[0.1, 1.0], estimator=low)


def test_formats_of_other_programs(tmp_path):
    two, three = clone(MACHINES[0][0]).fit(X, Y), clone(MACHINES[3][0]).fit(X, THREE)
    write_libsvm(two, tmp_path / "two.model")
    read, _ = read_libsvm(tmp_path / "two.model")
    np.testing.assert_allclose(values(read), values(two), atol=1e-9)
    with pytest.raises(mercer.FileError, match="only if it has landmarks and one task"):
        write_libsvm(three, tmp_path / "three.model")
