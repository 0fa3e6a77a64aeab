"""Features of landmarks on Dask collections: against NumPy on the same features."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

import mercer

da = pytest.importorskip("dask.array")
pytest.importorskip("distributed")
from mercer.dask import KernelKMeans, KernelPCA, KernelRidge, LinearSVC, Nystroem  # noqa: E402


@pytest.fixture
def circles(rng):
    """Two rings, in chunks of unequal size."""
    angle, radius = rng.uniform(0, 2 * np.pi, 300), np.repeat([1.0, 3.0], 150)
    X = radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    X += 0.1 * rng.normal(size=X.shape)
    order = rng.permutation(300)
    return X[order], (radius[order] > 2).astype(int)


def cut(X):
    return da.from_array(X, chunks=((120, 0, 180), -1))


def test_pipeline_of_features_and_a_linear_machine(client, circles, tmp_path):
    X, y = circles
    features = Nystroem(gamma=0.5, n_components=30, random_state=0)
    machine = LinearSVC(loss="hinge", intercept_scaling=None, tol=1e-6)
    model = make_pipeline(features, machine).fit(cut(X), y)
    Z = features.transform(X)
    assert np.array_equal(features.transform(cut(X)).compute(), Z)
    assert mercer.verify(machine, Z, y).status.is_solved
    assert np.mean(model.predict(X) == y) == 1.0
    mercer.save(model, tmp_path / "model")
    assert np.array_equal(mercer.load(tmp_path / "model").predict(X), model.predict(X))


def test_columns_that_are_cut_too(client, circles):
    """Chunks of some columns are the same rows; for predictions, too."""
    X = np.column_stack([circles[0], circles[0][:, 0] * circles[0][:, 1]])
    t, whole, cut = (
        X[:, 0] ** 2,
        da.from_array(X, chunks=(100, 3)),
        da.from_array(X, chunks=(100, 2)),
    )
    given = {"kernel": "rbf", "gamma": 0.5, "n_landmarks": 20, "random_state": 0}
    ridge = KernelRidge(**given).fit(whole, t)
    assert np.array_equal(KernelRidge(**given).fit(cut, t).predict(X), ridge.predict(X))
    assert np.array_equal(ridge.predict(cut).compute(), ridge.predict(whole).compute())


def test_ridge_solves_the_normal_equations(client, circles):
    X, y = circles
    model = KernelRidge(alpha=0.3, gamma=0.5, n_landmarks=25, tol=1e-12).fit(cut(X), y)
    Z = model.features_.transform(X)
    exact = np.linalg.solve(Z.T @ Z + 0.3 * np.eye(Z.shape[1]), Z.T @ y)
    assert np.allclose(model.linear_.coef_, exact, atol=1e-6)
    assert np.allclose(model.predict(cut(X)).compute(), Z @ exact, atol=1e-5)
    assert np.array_equal(model.to_local().predict(X), model.predict(X))


def test_pca_has_the_eigenvalues_of_the_centred_features(client, circles):
    X, _ = circles
    model = KernelPCA(n_components=3, gamma=0.5, n_landmarks=20).fit(cut(X))
    Z = model.features_.transform(X)
    Z = Z - Z.mean(axis=0)
    values = np.linalg.svd(Z, compute_uv=False)[:3] ** 2
    assert np.allclose(model.eigenvalues_, values, rtol=1e-10)
    T = model.transform(cut(X)).compute()
    assert np.allclose(T.T @ T, np.diag(values), atol=1e-8 * values[0])


def test_k_means_ends_at_a_fixed_point_of_lloyd(client, circles):
    X, _ = circles
    model = KernelKMeans(n_clusters=4, gamma=0.5, n_landmarks=20, tol=0.0).fit(cut(X))
    Z, labels = model.features_.transform(X), model.predict(cut(X)).compute()
    means = np.array([Z[labels == c].mean(axis=0) for c in range(4)])
    assert np.allclose(means, model.cluster_centers_, atol=1e-10)
    assert model.inertia_ == pytest.approx(np.square(Z - means[labels]).sum(), rel=1e-10)
    assert np.array_equal(model.predict(X), labels)


SAVED = {
    "ridge": (KernelRidge(alpha=0.3, gamma=0.5, n_landmarks=25), "predict"),
    "pca": (KernelPCA(n_components=3, gamma=0.5, n_landmarks=20), "transform"),
    "k-means": (KernelKMeans(n_clusters=4, gamma=0.5, n_landmarks=20, random_state=0), "predict"),
}


@pytest.mark.parametrize("scaled", [False, True], ids=["alone", "last of a pipeline"])
@pytest.mark.parametrize("name", SAVED)
def test_models_on_features_are_saved(name, scaled, client, circles, tmp_path):
    X, y = circles
    model, method = SAVED[name]
    model = clone(model).fit(cut(X), y)
    if scaled:
        model = Pipeline([("as they are", StandardScaler(with_mean=False, with_std=False)),
                          ("model", model)])  # fmt: skip
        model.steps[0][1].fit(X)
    mercer.save(model, tmp_path / "model")
    again = mercer.load(tmp_path / "model")
    new = np.linspace(-3, 3, 40).reshape(20, 2)
    np.testing.assert_allclose(
        getattr(again, method)(new), getattr(model, method)(new), rtol=0, atol=1e-9
    )


def test_k_means_without_dask_has_the_same_centres(client, circles):
    """‖φ(x) − μ‖² in the feature space of the kernel is that of the features, plus what they lack:
    k(x, x) − ‖φ̂(x)‖², the same for every centre."""
    X, _ = circles
    model = KernelKMeans(n_clusters=3, gamma=0.5, n_landmarks=20, random_state=0).fit(cut(X))
    Z = model.features_.transform(X)
    within = np.square(Z[:, None] - model.cluster_centers_).sum(axis=2)
    lacking = 1.0 - np.square(Z).sum(axis=1)
    distances = model.to_local().transform(X)
    np.testing.assert_allclose(distances**2, within + lacking[:, None], rtol=0, atol=1e-9)


def test_pca_without_dask_states_the_variances_of_the_features(client, circles):
    X, _ = circles
    model = KernelPCA(n_components=3, gamma=0.5, n_landmarks=20).fit(cut(X))
    ours, theirs = model.to_local()[-1], PCA(3).fit(model.features_.transform(X))
    for name in ("explained_variance_", "explained_variance_ratio_", "noise_variance_",
                 "singular_values_"):  # fmt: skip
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-8)
