"""Every estimator keeps its time limit and answers Ctrl-C, and its model can then be used.

Each problem would take many seconds. The allowance is for a busy machine; what is looked for are
fits that do not ask their limits at all.
"""

from __future__ import annotations

import _thread
import signal
import threading
import time
import warnings

import numpy as np
import pytest
from sklearn.base import clone

import mercer
from mercer._result import Status
from mercer.embeddings import EmpiricalKernelMap, Nystroem
from mercer.estimators.linear import LogisticRegression
from mercer.exceptions import InterruptWarning
from tests.read_only import read_only

LIMIT, ALLOWANCE = 0.1, 4.0


def _data():
    rng = np.random.default_rng(7)
    X = rng.normal(size=(6000, 8))
    LABELS = rng.integers(0, 2, len(X))
    TARGET = rng.normal(size=len(X))
    HARD = np.where(X[:, 0] * X[:, 1] > 0, 1, 0) ^ (rng.random(len(X)) < 0.3)
    WIDE = rng.normal(size=(4000, 400))
    return read_only(X, LABELS, TARGET, HARD, WIDE)


X, LABELS, TARGET, HARD, WIDE = _data()

# An estimator with its fit's arguments; all have a parameter time_limit.
CASES = {
    "SVC": (mercer.SVC(C=1e4, gamma=0.5, tol=1e-9), X, HARD),
    "SVC linear": (mercer.SVC(kernel="linear", C=1e5, tol=1e-9), X, HARD),
    "NuSVC": (mercer.NuSVC(nu=0.3, gamma=0.5, tol=1e-9), X, HARD),
    "SVR": (mercer.SVR(C=1e4, gamma=0.5, tol=1e-9), X, TARGET),
    "NuSVR": (mercer.NuSVR(C=1e3, gamma=0.5, tol=1e-9), X, TARGET),
    "OneClassSVM": (mercer.OneClassSVM(nu=0.5, gamma=5.0, tol=1e-12), X, None),
    "PCA, all": (mercer.KernelPCA(kernel="rbf"), X, None),
    "PCA, some": (mercer.KernelPCA(100, kernel="rbf", gamma=3.0), X, None),
    "PCA, inverse": (mercer.KernelPCA(9, kernel="rbf", fit_inverse_transform=True), X, None),
    "ridge, loo": (mercer.KernelRidge("loo", kernel="rbf"), X, TARGET),
    "ridge, cg": (mercer.KernelRidge(1e-7, kernel="rbf", solver="cg"), X, TARGET),
    "ridge, cholesky": (mercer.KernelRidge(1e-3, kernel="rbf", solver="cholesky"), X, TARGET),
    "ridge, eigen": (mercer.KernelRidge(1e-3, kernel="rbf", solver="eigen"), X, TARGET),
    "k-means": (mercer.KernelKMeans(30, n_init=50, random_state=0), X, None),
    "kernel logistic": (mercer.KernelLogisticRegression(C=1e4, tol=1e-13), X, HARD),
    "perceptron": (mercer.KernelPerceptron(max_iter=10**6, random_state=0), X, LABELS),
    "perceptron, linear": (
        mercer.KernelPerceptron(kernel="linear", max_iter=10**7, random_state=0), X, LABELS,
    ),
    "Pegasos": (mercer.PegasosClassifier(tol=1e-12, max_iter=10**7, random_state=0), X, LABELS),
    "Pegasos, kernel": (
        mercer.PegasosClassifier(kernel="rbf", tol=1e-12, max_iter=10**7, random_state=0),
        X, LABELS,
    ),
    "Pegasos, regression": (
        mercer.PegasosRegressor(kernel="rbf", tol=1e-12, max_iter=10**7, random_state=0),
        X, TARGET,
    ),
    "hinge": (mercer.LinearSVC(loss="hinge", dual=True, C=1e6, tol=1e-14, max_iter=-1), X, HARD),
    "LinearSVR": (mercer.LinearSVR(C=1e5, tol=1e-15, max_iter=-1), WIDE, TARGET[:4000]),
    "empirical map": (EmpiricalKernelMap(), X, None),
    "empirical map, some": (EmpiricalKernelMap(200, gamma=3.0), X, None),
    "Nystroem": (Nystroem(n_components=3000, gamma=3.0, random_state=0), X, None),
    "Nystroem, greedy": (Nystroem(n_components=3000, gamma=3.0, landmarks="greedy"), X, None),
    "qp": (mercer.SVC(solver="qp"), X[:2500], HARD[:2500]),
    "platt": (mercer.SVC(solver="platt", C=1e3, tol=1e-9), X[:3000], HARD[:3000]),
    "projected gradient": (
        mercer.SVC(solver="projected-gradient", fit_intercept=False, C=1e3, tol=1e-9),
        X[:3000], HARD[:3000],
    ),
    "coordinate ascent": (
        mercer.SVC(solver="coordinate-ascent", fit_intercept=False, C=1e3, tol=1e-12),
        X[:3000], HARD[:3000],
    ),
    "pegasos solver": (
        mercer.SVC(solver="pegasos", fit_intercept=False, C=1e3, tol=1e-12),
        X[:3000], HARD[:3000],
    ),
}  # fmt: skip
# What Ctrl-C waits for is a dense decomposition of the matrix, as the documentation says.
WAITS = {"PCA, all", "ridge, loo", "ridge, eigen", "empirical map", "qp"}


def used(model, X):
    """What a fitted model says of some rows."""
    X = X[:5]
    for name in ("predict", "transform"):
        if hasattr(model, name):
            out = np.asarray(getattr(model, name)(X))
            assert len(out) == 5
            assert np.isfinite(out).all()
    return model


def status_of(model):
    certificate = getattr(model, "certificate_", None)
    return model.status_ if certificate is None else certificate.status


def run(model, X, y):
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = model.fit(X) if y is None else model.fit(X, y)
    assert result is model
    return time.perf_counter() - began


@pytest.fixture(scope="module", autouse=True)
def compiled():
    """What Numba compiles at a first fit is no part of the time."""
    few = np.arange(60)
    for name, (model, X, y) in CASES.items():
        small = clone(model).set_params(time_limit=LIMIT)
        if "n_components" in small.get_params() and small.n_components is not None:
            small.set_params(n_components=5)
        if "n_clusters" in small.get_params():
            small.set_params(n_clusters=3)
        run(small, X[few], None if y is None else y[few])
        assert name


@pytest.mark.parametrize("name", CASES)
def test_time_limit_is_kept_and_the_model_can_be_used(name):
    model, X, y = CASES[name]
    model = clone(model).set_params(time_limit=LIMIT)
    seconds = run(model, X, y)
    if seconds > LIMIT + ALLOWANCE:  # it compiled what no smaller fit uses
        seconds = run(model, X, y)
    assert seconds <= LIMIT + ALLOWANCE
    assert status_of(model) is Status.TIME_LIMIT
    used(model, X)


class Interrupt:
    """A real SIGINT after some time, from another thread."""

    def __init__(self, after):
        self.timer = threading.Timer(after, self.send)

    def send(self):
        self.sent = time.perf_counter()
        _thread.interrupt_main(signal.SIGINT)

    def __enter__(self):
        self.timer.start()
        return self

    def __exit__(self, *exc):
        self.timer.cancel()
        self.timer.join()


@pytest.mark.parametrize("on_interrupt", ["raise", "return"])
@pytest.mark.parametrize("name", [name for name in CASES if name not in WAITS])
def test_ctrl_c_ends_the_fit_with_a_model(name, on_interrupt):
    model, X, y = CASES[name]
    model = clone(model).set_params(on_interrupt=on_interrupt)
    arguments = (X,) if y is None else (X, y)
    with Interrupt(LIMIT) as interrupt:
        if on_interrupt == "raise":
            with pytest.raises(KeyboardInterrupt):
                model.fit(*arguments)
        else:
            with pytest.warns(InterruptWarning, match="Ctrl-C"):
                assert model.fit(*arguments) is model
        answered = time.perf_counter() - interrupt.sent
    assert answered <= ALLOWANCE
    assert status_of(model) is Status.STOPPED
    used(model, X)


def test_all_estimators_with_a_time_limit_are_in_the_table():
    names = {type(model) for model, _, _ in CASES.values()} | {
        LogisticRegression,  # Newton's method ends in milliseconds; see test_ctrl_c.py
        mercer.LinearSVC,
    }
    public = [getattr(mercer, name) for name in mercer.__all__] + [EmpiricalKernelMap, Nystroem]
    public.remove(mercer.MKL)  # it takes kernels: see test_mkl.py
    searches = vars(mercer.model_selection).values()  # see tests/model_selection
    limited = [
        each for each in public
        if isinstance(each, type) and hasattr(each, "fit") and each not in searches
        and "time_limit" in each().get_params()
    ]  # fmt: skip
    assert limited
    for each in limited:
        assert each in names, each
        assert each().get_params()["on_interrupt"] == "raise"
