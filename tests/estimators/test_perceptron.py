"""KernelPerceptron: Novikoff's bound, the notes' worked number, and a plain loop as an oracle."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

import mercer.solvers._perceptron as module
from mercer import SVC, KernelPerceptron
from mercer.kernels import RBF, Linear


def _data():
    from tests.read_only import read_only

    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    return read_only(X)


X = _data()
y = np.where(X[:, 0] * X[:, 1] + 0.3 * X[:, 2] > 0, 1, -1)


def plain(K, y, bias, epochs):
    """The notes' algorithm, line by line: the model after every visit."""
    beta, b, visits = np.zeros(y.size), 0.0, []
    for _ in range(epochs):
        mistakes = 0
        for i in range(y.size):
            if y[i] * (K[i] @ beta + b) <= 0:
                beta[i] += y[i]
                b += bias * y[i]
                mistakes += 1
            visits.append((beta.copy(), b))
        if not mistakes:
            break
    return visits


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("kernel", [Linear(), RBF(0.5)])
@pytest.mark.parametrize("average", ["last", "averaged", "voted"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_same_as_the_plain_loop(kernel, fit_intercept, average):
    model = KernelPerceptron(
        kernel=kernel, shuffle=False, max_iter=4, average=average, fit_intercept=fit_intercept
    ).fit(X[:60], y[:60])
    K = kernel(X, X[:60])
    visits = plain(K[:60], y[:60], float(fit_intercept), 4)
    at_each = np.array([K @ beta + b for beta, b in visits])
    want = {
        "last": at_each[-1],
        "averaged": at_each.mean(axis=0),
        "voted": np.sign(at_each).mean(axis=0),
    }[average]
    assert model.decision_function(X) == pytest.approx(want)
    assert model.mistakes_[0] == np.abs(visits[-1][0]).sum()


def test_the_notes_worked_number():
    """With a bias the bound (R/ρ)² needs rows augmented by 1: 20,303 mistakes exceed 102²."""
    with pytest.warns(ConvergenceWarning):
        few = KernelPerceptron(kernel="linear", shuffle=False).fit([[100.0], [102.0]], [-1, 1])
    assert few.mistake_bound_[0] == np.inf
    model = KernelPerceptron(kernel="linear", shuffle=False, max_iter=20_000)
    model.fit([[100.0], [102.0]], [-1, 1])
    assert model.mistakes_.tolist() == [20_303]
    assert 102**2 == 10_404 < 20_303 <= model.mistake_bound_[0]


@given(st.integers(0, 10_000), st.booleans())
def test_mistakes_stay_within_novikoffs_bound(seed, fit_intercept):
    rng = np.random.default_rng(seed)
    points, w = rng.normal(size=(40, 2)), rng.normal(size=2)
    edge = points @ w + (0.3 if fit_intercept else 0.0)
    points, labels = points[np.abs(edge) > 0.3], np.sign(edge[np.abs(edge) > 0.3])
    if np.unique(labels).size < 2:
        return
    model = KernelPerceptron(
        kernel="linear", fit_intercept=fit_intercept, max_iter=10_000, random_state=seed
    ).fit(points, labels)
    rows = np.c_[points, np.ones(len(points))] if fit_intercept else points
    best = SVC(kernel="linear", C=np.inf, fit_intercept=False, tol=1e-8).fit(rows, labels)
    rho = best.certificate_.margin / 2
    bound = (np.linalg.norm(rows, axis=1).max() / rho) ** 2
    assert model.mistakes_[0] <= bound
    assert bound <= model.mistake_bound_[0] * (1 + 1e-6)
    assert model.score(points, labels) == 1.0


@pytest.mark.parametrize("cache_size", [0.4, 0.05], ids=["float32", "rows"])
def test_large_sets_visit_as_small_ones_do(monkeypatch, cache_size):
    kernel = RBF(0.5)
    small = KernelPerceptron(kernel=kernel, random_state=0).fit(X, y)
    monkeypatch.setattr(module, "DIRECT_POINTS", 0)
    monkeypatch.setattr(module, "FIRST_BLOCK", 40)
    stored = KernelPerceptron(kernel=kernel, random_state=0, cache_size=cache_size).fit(X, y)
    assert np.array_equal(stored.updates_[0], small.updates_[0])
    assert stored.mistake_bound_ == pytest.approx(small.mistake_bound_)


def test_stages_end_at_the_model():
    model = KernelPerceptron(gamma=0.5, shuffle=False).fit(X, y)
    stages = list(model.staged_decision_function(X))
    assert len(stages) == model.mistakes_[0] == model.updates_[0].size
    assert stages[-1] == pytest.approx(model.decision_function(X))
    first = model.updates_[0][0]
    assert stages[0] == pytest.approx(y[first] * (RBF(0.5)(X, X[[first]])[:, 0] + 1))
    assert model.survival_[0].sum() == model.n_iter_ * 300


def test_sparse_rows_and_several_classes():
    codes = np.digitize(X[:, 0] + X[:, 1] ** 2, [0, 1])
    dense = KernelPerceptron(gamma=1.0, random_state=0).fit(X, codes)
    sparse = KernelPerceptron(gamma=1.0, random_state=0).fit(sp.csr_matrix(X), codes)
    assert dense.score(X, codes) == 1.0
    assert dense.mistakes_.shape == dense.mistake_bound_.shape == (3,)
    assert sparse.decision_function(sp.csr_matrix(X)) == pytest.approx(dense.decision_function(X))
    with pytest.raises(ValueError, match="3 classes"):
        next(dense.staged_decision_function(X))


def test_sparse_linear_pass():
    wide = sp.random(400, 3000, density=0.01, random_state=0, format="csr")
    labels = np.where(wide @ np.random.default_rng(1).normal(size=3000) > 0, "a", "b")
    model = KernelPerceptron(kernel="linear", random_state=0).fit(wide, labels)
    dense = KernelPerceptron(kernel="linear", random_state=0).fit(wide.toarray(), labels)
    assert model.score(wide, labels) == 1.0
    assert np.array_equal(model.updates_[0], dense.updates_[0])


def test_limits_are_kept_and_told():
    contradiction = [[0.0], [0.0]], [0, 1]
    with pytest.warns(ConvergenceWarning, match="still on the wrong side"):
        model = KernelPerceptron(max_iter=3).fit(*contradiction)
    assert model.n_iter_ == 3
    with pytest.warns(ConvergenceWarning, match="time limit"):
        KernelPerceptron(time_limit=0.0).fit(X, y)
    told = []
    KernelPerceptron(gamma=0.5, callback=told.append, random_state=0).fit(X, y)
    assert sum(progress.violation for progress in told) == told[-1].iterations
