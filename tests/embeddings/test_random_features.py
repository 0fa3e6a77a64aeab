"""Random and explicit features: unbiased, exact where they must be, equal for equal seeds."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import mercer
from mercer.embeddings import ExplicitFeatures, Nystroem, RandomFourierFeatures, TensorSketch
from mercer.kernels import RBF, Laplacian, Linear, Normalize, Polynomial, Spectrum
from tests.read_only import read_only


def _data():
    rng = np.random.default_rng(0)
    return read_only(rng.normal(size=(12, 3)), rng.normal(size=(5, 3)))


X, Z = _data()
FOURIER = [
    (RBF(0.3), "plain"),
    (RBF(0.3), "orthogonal"),
    (RBF(0.3), "quasi"),
    (Laplacian(0.4), "plain"),
    (Laplacian(0.4), "quasi"),
    (2.0 * RBF(0.1) * Laplacian(0.2), "plain"),
    (RBF(0.1) ** 3, "orthogonal"),
]
SEEDS = 200


def estimates(transformer) -> np.ndarray:
    """φ(x)·φ(z) of X and Z for many seeds."""
    both = np.vstack([X, Z])
    return np.array(
        [
            phi @ phi.T
            for seed in range(SEEDS)
            for phi in [clone(transformer).set_params(random_state=seed).fit_transform(both)]
        ]
    )


def assert_unbiased(found: np.ndarray, K: np.ndarray, least: float = 1e-12) -> None:
    """The mean over the seeds is within six standard errors."""
    error = np.abs(found.mean(axis=0) - K)
    assert (error <= 6 * found.std(axis=0) / np.sqrt(len(found)) + least).all()


@pytest.mark.parametrize(("kernel", "method"), FOURIER, ids=str)
def test_fourier_features_are_unbiased_with_an_exact_diagonal(kernel, method):
    found = estimates(RandomFourierFeatures(kernel, n_components=12, method=method))
    K = kernel(np.vstack([X, Z]))
    assert_unbiased(found, K)
    for one in found[:3]:
        np.testing.assert_allclose(np.diag(one), np.diag(K), rtol=1e-12)


def test_an_odd_number_of_features_is_rounded_up():
    model = RandomFourierFeatures(n_components=7).fit(X)
    assert model.n_components_ == model.transform(Z).shape[1] == 8


def test_orthogonal_and_quasi_random_frequencies_have_less_variance():
    K = RBF(0.05)(np.vstack([X, Z]))
    error = {
        method: np.square(
            estimates(RandomFourierFeatures(RBF(0.05), n_components=12, method=method)) - K
        ).mean()
        for method in ("plain", "orthogonal", "quasi")
    }
    assert error["orthogonal"] < 0.9 * error["plain"]
    assert error["quasi"] < 0.9 * error["plain"]


@pytest.mark.parametrize("kernel", [Polynomial(2, coef0=1.0), 0.5 * Polynomial(3, 0.5), Linear()])
def test_tensor_sketch_is_unbiased_within_its_variance(kernel):
    D, both = 32, np.vstack([X, Z])
    found, K = estimates(TensorSketch(kernel, n_components=D)), kernel(both)
    assert_unbiased(found, K, 1e-9)
    degree = {Linear: 1, Polynomial: 2}.get(type(kernel), 3)
    bound = (3**degree - 1) / D * np.outer(np.diag(K), np.diag(K))
    spread = np.square(found - K).mean(axis=0)
    assert (spread <= bound * (1 + 6 * np.sqrt(2 / SEEDS))).all()


def test_degree_zero_is_the_constant():
    phi = TensorSketch(Polynomial(0), n_components=7).fit_transform(X)
    np.testing.assert_allclose(phi @ phi.T, np.ones((12, 12)), atol=1e-12)


@pytest.mark.parametrize(
    "transformer",
    [
        RandomFourierFeatures(RBF(0.3), n_components=8, random_state=3),
        TensorSketch(degree=2, n_components=16, random_state=3),
    ],
    ids=["fourier", "sketch"],
)
def test_seeds_containers_files_and_maps_agree(transformer, tmp_path):
    model = clone(transformer).fit(X)
    phi = model.transform(Z)
    np.testing.assert_array_equal(clone(transformer).fit(X).transform(Z), phi)
    assert (clone(transformer).set_params(random_state=4).fit(X).transform(Z) != phi).any()
    np.testing.assert_allclose(model.transform(sp.csr_matrix(Z)), phi, rtol=1e-12, atol=1e-14)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model.map_)).transform(Z), phi)
    mercer.save(model, tmp_path / "model.mercer")
    np.testing.assert_array_equal(mercer.load(tmp_path / "model.mercer").transform(Z), phi)


def test_kernels_without_a_density_are_refused():
    for kernel in (Linear(), RBF(1.0) + RBF(2.0), Polynomial(2)):
        with pytest.raises(ValueError, match="No spectral density"):
            RandomFourierFeatures(kernel).fit(X)
    with pytest.raises(ValueError, match="Orthogonal frequencies"):
        RandomFourierFeatures(Laplacian(1.0)).fit(X)
    with pytest.raises(ValueError, match="TensorSketch is for polynomial kernels"):
        TensorSketch(RBF(1.0)).fit(X)
    with pytest.raises(ValueError, match="TensorSketch is for polynomial kernels"):
        TensorSketch(Polynomial(2, coef0=-1.0)).fit(X)


@pytest.mark.parametrize("kernel", [Spectrum(2), Normalize(Spectrum(3)), 2.0 * Spectrum(1)])
def test_explicit_features_of_words_are_the_kernel(kernel):
    words, new = ["banana", "ananas", "band", "naan"], ["bandana", "xyz"]
    model = ExplicitFeatures(kernel)
    phi = model.fit_transform(words)
    assert sp.issparse(phi)
    assert phi.shape[1] == model.n_components_
    np.testing.assert_allclose((phi @ phi.T).toarray(), kernel(words), rtol=1e-12)
    cross = (model.transform(new) @ phi.T).toarray()
    np.testing.assert_allclose(cross, kernel(new, words), rtol=1e-12)


def test_explicit_features_of_rows_are_the_kernel():
    kernel = Polynomial(2, coef0=1.0)
    model = ExplicitFeatures(kernel)
    phi = model.fit_transform(X)
    np.testing.assert_allclose(model.transform(Z) @ phi.T, kernel(Z, X), rtol=1e-10)
    with pytest.raises(ValueError, match="infinitely many features"):
        ExplicitFeatures(RBF(1.0)).fit(X)


# ---------------------------------------------------------------------- landmarks


def rows_in_clusters() -> np.ndarray:
    rng = np.random.default_rng(5)
    return np.vstack([0.01 * rng.normal(size=(380, 2)), 5 + rng.normal(size=(20, 2))])


def test_leverage_scores_prefer_rare_rows():
    """380 rows are nearly one point: most landmarks come from the other twenty."""
    A = rows_in_clusters()

    def rare(rule: str, seed: int) -> float:
        model = Nystroem(RBF(1.0), n_components=15, landmarks=rule, random_state=seed).fit(A)
        return float((model.landmarks_ >= 380).mean())

    assert min(rare("leverage", s) for s in range(5)) > 0.3
    assert max(rare("random", s) for s in range(5)) < 0.3


@pytest.mark.parametrize("rule", ["greedy", "rpcholesky"])
def test_landmarks_end_at_the_trace_that_may_be_left(rule):
    A = np.random.default_rng(2).normal(size=(300, 2))
    trace = 300.0
    sizes = []
    for tol in (0.1, 0.01, 0.001):
        model = Nystroem(RBF(0.5), n_components=300, landmarks=rule, trace_tol=tol, random_state=0)
        model.fit(A)
        assert model.trace_residual_ <= tol * trace * (1 + 1e-9)
        sizes.append(model.n_components_)
    assert sizes[0] < sizes[1] < sizes[2] < 300


def test_a_trace_stop_needs_a_rule_that_knows_the_trace():
    with pytest.raises(ValueError, match=r"trace_tol=0\.1 is for landmarks='greedy' or 'rpch"):
        Nystroem(landmarks="random", trace_tol=0.1).fit(X)


def test_the_frozen_map_of_nystroem_is_its_transform():
    model = Nystroem(RBF(0.4), n_components=6, random_state=0).fit(X)
    frozen = pickle.loads(pickle.dumps(model.map_))
    np.testing.assert_allclose(frozen.transform(Z), model.transform(Z), rtol=1e-10, atol=1e-12)
    assert frozen.n_features == model.n_components_
    assert frozen.transform(Z, np.float32).dtype == np.float32
