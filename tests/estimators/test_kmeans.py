"""KernelKMeans: the definition of its objective, Lloyd's promises, scikit-learn as an oracle."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs, make_circles
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from mercer import KernelKMeans
from mercer.kernels import RBF, Linear

X, _ = make_blobs(400, 5, centers=7, cluster_std=3.0, random_state=0)


def inertia(K: np.ndarray, labels: np.ndarray, weight: np.ndarray) -> float:
    """Σ s ‖φ(x) − μ‖² as written: distances to an explicit mean in the space of K's root."""
    values, vectors = np.linalg.eigh(K)
    Z = vectors * np.sqrt(np.maximum(values, 0))
    total = 0.0
    for c in np.unique(labels):
        here, s = Z[labels == c], weight[labels == c]
        total += s @ ((here - np.average(here, axis=0, weights=s)) ** 2).sum(axis=1)
    return total


@pytest.mark.parametrize(
    ("kind", "shift"), [(np.asarray, 0.0), (np.asarray, 1e4), (sp.csr_matrix, 0.0)]
)
def test_linear_kernel_is_k_means(kind, shift):
    rows, data = np.arange(7), X + shift
    theirs = KMeans(7, init=data[rows], n_init=1, algorithm="lloyd", tol=0).fit(data)
    mine = KernelKMeans(7, kernel="linear", init=rows).fit(kind(data))
    assert np.array_equal(mine.labels_, theirs.labels_)
    assert mine.inertia_ == pytest.approx(theirs.inertia_, rel=1e-7)
    assert mine.transform(kind(data)) == pytest.approx(theirs.transform(data), abs=1e-5)
    assert mine.score(kind(data)) == pytest.approx(theirs.score(data), rel=1e-7)


def test_rbf_solves_rings_that_k_means_cannot():
    rings, y = make_circles(300, factor=0.2, noise=0.04, random_state=0)
    model = KernelKMeans(2, gamma=2.0, random_state=0).fit(rings)
    assert adjusted_rand_score(y, model.labels_) == 1.0
    assert adjusted_rand_score(y, KMeans(2, n_init=10, random_state=0).fit(rings).labels_) < 0.1


@pytest.mark.parametrize("cache_size", [200, 1.0, 0.1], ids=["float64", "float32", "tiles"])
def test_objective_is_that_of_the_labels(cache_size):
    model = KernelKMeans(7, gamma=0.05, random_state=0, cache_size=cache_size).fit(X)
    assert model.inertia_ == pytest.approx(inertia(RBF(0.05)(X), model.labels_, np.ones(400)))
    assert np.array_equal(model.predict(X), model.labels_)
    assert model.score(X) == pytest.approx(-model.inertia_)
    assert (model.transform(X).argmin(axis=1) == model.labels_).all()


@given(st.integers(0, 10_000), st.integers(1, 12), st.sampled_from(["k-means++", "random"]))
def test_inertia_never_rises(seed, k, init):
    rng = np.random.default_rng(seed)
    points = rng.integers(0, 5, size=(30, 2)).astype(float)  # with duplicates
    weight = rng.integers(1, 4, size=30)
    model = KernelKMeans(k, gamma=0.3, init=init, n_init=2, random_state=seed)
    model.fit(points, sample_weight=weight)
    assert np.diff(model.inertias_).max(initial=0.0) <= 1e-9
    assert model.inertia_ == model.inertias_[-1]
    assert np.unique(model.labels_).size == k


def test_weights_are_repetitions():
    rng = np.random.default_rng(3)
    weight, start = rng.integers(0, 4, size=400), rng.integers(0, 7, size=400)
    weighted = KernelKMeans(7, gamma=0.05, init=start).fit(X, sample_weight=weight)
    repeated = KernelKMeans(7, gamma=0.05, init=np.repeat(start, weight))
    repeated.fit(np.repeat(X, weight, axis=0))
    assert weighted.inertia_ == pytest.approx(repeated.inertia_)
    assert np.array_equal(weighted.predict(X), repeated.predict(X))
    assert weighted.labels_.shape == (400,)


def test_empty_clusters_are_filled_with_the_farthest_point():
    points = np.array([[0.0], [0.1], [0.2], [10.0]])
    model = KernelKMeans(2, kernel="linear", init=np.zeros(4, int)).fit(points)
    assert model.labels_.tolist() == [0, 0, 0, 1]
    assert np.diff(model.inertias_).max() <= 0


def test_fewer_points_than_clusters_can_tell_apart():
    with pytest.warns(ConvergenceWarning, match=r"distinct clusters \(2\)"):
        model = KernelKMeans(3, gamma=1.0, random_state=0).fit([[0.0], [0.0], [1.0], [1.0]])
    assert model.inertia_ == pytest.approx(0, abs=1e-12)
    assert np.unique(model.predict([[0.0], [1.0]])).size == 2


def test_more_starts_do_not_hurt_and_threads_do_not_matter():
    one = KernelKMeans(9, gamma=0.1, n_init=1, random_state=0, n_jobs=1).fit(X)
    ten = KernelKMeans(9, gamma=0.1, n_init=10, random_state=0, n_jobs=1).fit(X)
    two = KernelKMeans(9, gamma=0.1, n_init=10, random_state=0, n_jobs=2).fit(X)
    assert ten.inertia_ <= one.inertia_
    assert two.inertia_ == ten.inertia_
    assert np.array_equal(two.labels_, ten.labels_)


def test_kernels_and_precomputed_agree():
    model = KernelKMeans(5, kernel=RBF(0.1), random_state=0).fit(X)
    K = RBF(0.1)(X)
    given_K = KernelKMeans(5, kernel="precomputed", random_state=0).fit(K)
    assert np.array_equal(given_K.labels_, model.labels_)
    assert np.array_equal(given_K.predict(K), model.labels_)
    with pytest.raises(AttributeError, match=r"k\(x, x\)"):
        given_K.transform(K)
    shifted = KernelKMeans(5, kernel=Linear() + 3.0, random_state=0).fit(X)
    assert shifted.inertia_ == pytest.approx(
        KernelKMeans(5, kernel=Linear(), random_state=0).fit(X).inertia_, rel=1e-9
    )


def test_limits_are_kept_and_told():
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        stopped = KernelKMeans(9, gamma=0.1, max_iter=1, random_state=0).fit(X)
    assert stopped.n_iter_ == 1
    with pytest.warns(ConvergenceWarning, match="time limit"):
        KernelKMeans(9, gamma=0.1, time_limit=0.0, random_state=0).fit(X)
    seen = []
    full = KernelKMeans(9, gamma=0.1, random_state=0, callback=seen.append).fit(X)
    assert min(progress.violation for progress in seen) == pytest.approx(full.inertia_)
    loose = KernelKMeans(9, gamma=0.1, tol=0.5, random_state=0).fit(X)
    assert loose.n_iter_ < full.n_iter_


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_clusters": 500}, "n_samples=400"),
        ({"init": [0, 1]}, "init must be"),
        ({"init": np.full(8, 400)}, "row numbers below 400"),
        ({"init": np.full(400, 8)}, "labels below 8"),
        ({"init": "nonsense"}, "'init' parameter"),
        ({"kernel": "precomputed"}, "square"),
    ],
)
def test_bad_input(parameters, message):
    with pytest.raises(ValueError, match=message):
        KernelKMeans(**parameters).fit(X)


def test_a_precomputed_kernel_has_no_distances():
    K = np.eye(6) + 0.1
    model = KernelKMeans(2, kernel="precomputed", random_state=0).fit(K)
    for name in ("transform", "fit_transform", "score"):
        assert not hasattr(model, name)
        assert hasattr(KernelKMeans(2), name)
    assert model.predict(K).shape == (6,)
    with pytest.raises(AttributeError, match="transform"):
        model.transform(K)
    frame = KernelKMeans(2, random_state=0).set_output(transform="pandas").fit_transform(K)
    assert list(frame.columns) == ["kernelkmeans0", "kernelkmeans1"]
