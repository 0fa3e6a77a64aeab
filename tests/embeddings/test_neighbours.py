"""Laplacian eigenmaps and locally linear embedding against their definitions and scikit-learn."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import make_moons, make_swiss_roll
from sklearn.manifold import LocallyLinearEmbedding as SklearnLLE
from sklearn.manifold import SpectralEmbedding
from sklearn.neighbors import kneighbors_graph
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import SVC, load, save
from mercer.embeddings import LaplacianEigenmaps, LocallyLinearEmbedding
from mercer.embeddings._neighbour_graph import GraphSettings
from mercer.kernels import RBF, Linear, Polynomial

BOTH = [LaplacianEigenmaps, LocallyLinearEmbedding]
ROLL, ALONG = make_swiss_roll(500, random_state=0)


def aligned(A, B):
    """B with the signs of A's columns."""
    return B * np.sign((A * B).sum(axis=0))


@pytest.mark.parametrize("dense_rows", [0, 10_000])
def test_eigenmaps_solve_their_problem(dense_rows):
    """(D − W) y = λ D y with yᵀDy fixed, orthogonal to constants; W written down anew."""
    model = LaplacianEigenmaps(3, n_neighbors=8)
    model._settings = GraphSettings(dense_rows=dense_rows)
    model.fit(ROLL)
    distance = kneighbors_graph(ROLL, 8, mode="distance").toarray()
    W = np.where(distance > 0, np.exp(-model.gamma_ * distance**2), 0)
    W = np.maximum(W, W.T) + np.eye(500)
    D, y = np.diag(W.sum(axis=1)), model.embedding_
    np.testing.assert_allclose((D - W) @ y, D @ y * model.eigenvalues_, atol=1e-7)
    np.testing.assert_allclose(y.T @ D @ y, D.sum() * np.eye(3), atol=1e-6 * D.sum())
    np.testing.assert_allclose(np.ones(500) @ D @ y, 0, atol=1e-6 * D.sum())
    smallest = np.linalg.eigvalsh(np.eye(500) - W / np.sqrt(np.outer(np.diag(D), np.diag(D))))
    np.testing.assert_allclose(model.eigenvalues_, smallest[1:4], atol=1e-9)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix])
def test_lle_agrees_with_scikit_learn(container):
    ours = LocallyLinearEmbedding(2, n_neighbors=12).fit(container(ROLL))
    theirs = SklearnLLE(n_neighbors=12, n_components=2, eigen_solver="dense").fit(ROLL)
    np.testing.assert_allclose(aligned(theirs.embedding_, ours.embedding_),
                               theirs.embedding_, atol=1e-5)  # fmt: skip
    assert ours.reconstruction_error_ == pytest.approx(theirs.reconstruction_error_, rel=1e-4)
    new = make_swiss_roll(50, random_state=1)[0]
    np.testing.assert_allclose(
        aligned(theirs.transform(new), ours.transform(container(new))),
        theirs.transform(new),
        atol=1e-5,
    )


@pytest.mark.parametrize("cls", BOTH)
@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix])
def test_new_rows_fall_among_their_neighbours(cls, container):
    """Training rows keep their coordinates; rows a little off come close to them."""
    model = cls(2, n_neighbors=10).fit(container(ROLL))
    np.testing.assert_array_equal(model.transform(container(ROLL)), model.embedding_)
    moved = ROLL + np.random.default_rng(0).normal(scale=1e-3, size=ROLL.shape)
    spread = np.ptp(model.embedding_, axis=0)
    off = np.abs(model.transform(container(moved)) - model.embedding_) / spread
    assert np.median(off) < 0.02
    assert off.max() < 0.35


@pytest.mark.parametrize("cls", BOTH)
def test_an_unrolled_roll_is_classified_by_a_line(cls):
    """Coordinates along the roll: a line separates what no line in space does, at new rows too."""
    X, along = make_swiss_roll(1500, random_state=0)
    new, where = make_swiss_roll(300, random_state=1)
    y, truth = along > np.median(along), where > np.median(along)
    plain = make_pipeline(StandardScaler(), SVC(kernel="linear", C=10)).fit(X, y)
    model = make_pipeline(cls(2, n_neighbors=12), StandardScaler(), SVC(kernel="linear", C=10)).fit(
        X, y
    )
    assert model.score(new, truth) > 0.97
    assert plain.score(new, truth) < 0.7


@pytest.mark.parametrize("cls", BOTH)
def test_parts_are_warned_of_and_small_data_are_taken(cls):
    apart = np.concatenate([np.arange(10.0), np.arange(100.0, 110.0)])[:, None]
    with pytest.warns(UserWarning, match="falls into 2 parts.*Raise n_neighbors"):
        cls(1, n_neighbors=3).fit(apart)
    assert cls(1, n_neighbors=50).fit(apart).embedding_.shape == (20, 1)
    with pytest.raises(ValueError, match="n_components=30 must be below"):
        cls(30).fit(apart)
    assert list(cls(1, n_neighbors=19).fit(apart).get_feature_names_out()) == [
        f"{cls.__name__.lower()}0"
    ]


def test_parameters_have_an_effect():
    X = make_moons(80, noise=0.1, random_state=0)[0]
    eigenmaps = [LaplacianEigenmaps(1, gamma=g).fit_transform(X) for g in ("median", 0.0, 5.0)]
    assert not np.allclose(eigenmaps[0], eigenmaps[1])
    assert not np.allclose(eigenmaps[0], eigenmaps[2])
    assert LaplacianEigenmaps(1, gamma=0.0).fit(X).gamma_ == 0
    lle = [LocallyLinearEmbedding(1, reg=r).fit_transform(X) for r in (1e-3, 1.0)]
    assert not np.allclose(*lle)


# ---------------------------------------------------------------------- from similarities

NEW = make_swiss_roll(40, random_state=1)[0]


def test_eigenmaps_of_a_complete_graph():
    """W = 11ᵀ + sI: λ = 1 − s/(n + s) for all but the constant vector, in closed form."""
    n, s = 6, 2.0
    model = LaplacianEigenmaps(2, affinity="precomputed").fit(np.ones((n, n)) + s * np.eye(n))
    np.testing.assert_allclose(model.eigenvalues_, 1 - s / (n + s), rtol=1e-12)


def test_eigenmaps_of_a_ring():
    """A ring of n rows: λ = 1 − cos(2π/n), twice, with cosine and sine as coordinates."""
    n = 12
    W = np.roll(np.eye(n), 1, axis=1)
    W += W.T
    for matrix in (W, sp.csr_matrix(W)):
        model = LaplacianEigenmaps(2, affinity="precomputed").fit(matrix)
        np.testing.assert_allclose(model.eigenvalues_, 1 - np.cos(2 * np.pi / n), rtol=1e-10)
        np.testing.assert_allclose((model.embedding_**2).sum(axis=1), 2.0, rtol=1e-10)
        # A new row between two neighbours: their mean over 1 − λ, again on the ring's axis.
        between = np.zeros((1, n))
        between[0, [3, 4]] = 0.7
        expected = model.embedding_[[3, 4]].mean(axis=0) / np.cos(2 * np.pi / n)
        np.testing.assert_allclose(model.transform(between)[0], expected, rtol=1e-10)


@pytest.mark.parametrize("kernel", [RBF(0.02), RBF(0.3), Polynomial(2, 0.01, 1.0)])
def test_eigenmaps_of_a_kernel_solve_their_problem(kernel):
    """(D − K) y = λ D y; a training row's coordinates follow from its row of K."""
    model = LaplacianEigenmaps(3, affinity=kernel).fit(ROLL)
    K = kernel(ROLL)
    D, y = np.diag(K.sum(axis=1)), model.embedding_
    np.testing.assert_allclose((D - K) @ y, D @ y * model.eigenvalues_, atol=1e-8 * D.max())
    np.testing.assert_allclose(y.T @ D @ y, D.sum() * np.eye(3), atol=1e-8 * D.sum())
    np.testing.assert_allclose(model.transform(ROLL), y, atol=1e-7 * np.abs(y).max())
    given = LaplacianEigenmaps(3, affinity="precomputed").fit(K)
    np.testing.assert_allclose(aligned(y, given.embedding_), y, atol=1e-7 * np.abs(y).max())
    values = kernel(NEW, ROLL)
    step = values @ y / values.sum(axis=1, keepdims=True) / (1 - model.eigenvalues_)
    np.testing.assert_allclose(model.transform(NEW), step, atol=1e-9 * np.abs(step).max())
    signs = np.sign((y * given.embedding_).sum(axis=0))
    np.testing.assert_allclose(given.transform(values) * signs, step, atol=1e-6 * np.abs(y).max())


def test_precomputed_affinities_agree_with_scikit_learn():
    """scikit-learn leaves self-affinities out; coordinates agree up to sign and scale."""
    W = RBF(0.05)(ROLL)
    np.fill_diagonal(W, 0.0)
    ours = LaplacianEigenmaps(2, affinity="precomputed").fit_transform(W)
    theirs = SpectralEmbedding(2, affinity="precomputed", random_state=0).fit_transform(W)
    for a, b in zip(ours.T, theirs.T, strict=True):
        assert abs(np.corrcoef(a, b)[0, 1]) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("kernel", ["precomputed", Linear()])
def test_lle_with_the_linear_kernel_is_lle(kernel):
    """Feature space is the space of the rows; twelve neighbours span it, so k(x, x) is known."""
    plain = LocallyLinearEmbedding(2, n_neighbors=12).fit(ROLL)
    is_matrix = isinstance(kernel, str)
    train, new = (ROLL @ ROLL.T, NEW @ ROLL.T) if is_matrix else (ROLL, NEW)
    model = LocallyLinearEmbedding(2, n_neighbors=12, kernel=kernel).fit(train)
    scale = np.abs(plain.embedding_).max()
    signs = np.sign((plain.embedding_ * model.embedding_).sum(axis=0))
    np.testing.assert_allclose(model.embedding_ * signs, plain.embedding_, atol=1e-5 * scale)
    np.testing.assert_array_equal(model.transform(train), model.embedding_)
    np.testing.assert_allclose(
        model.transform(new) * signs, plain.transform(NEW), atol=1e-5 * scale
    )


def test_lle_in_a_feature_space_is_lle_of_the_features():
    """The polynomial kernel of degree 2 has an explicit map: LLE of those rows is the same."""
    kernel = Polynomial(2, 0.05, 1.0)
    features, new = (np.asarray(kernel.feature_map(each)) for each in (ROLL, NEW))
    plain = LocallyLinearEmbedding(2, n_neighbors=12).fit(features)
    model = LocallyLinearEmbedding(2, n_neighbors=12, kernel=kernel).fit(ROLL)
    signs = np.sign((plain.embedding_ * model.embedding_).sum(axis=0))
    scale = np.abs(plain.embedding_).max()
    np.testing.assert_allclose(model.embedding_ * signs, plain.embedding_, atol=1e-4 * scale)
    np.testing.assert_allclose(
        model.transform(NEW) * signs, plain.transform(new), atol=1e-4 * scale
    )


@pytest.mark.parametrize(
    "model",
    [
        LaplacianEigenmaps(2, affinity="precomputed"),
        LocallyLinearEmbedding(2, kernel="precomputed"),
        LaplacianEigenmaps(2, affinity=RBF(0.05)),
        LocallyLinearEmbedding(2, kernel=RBF(0.05)),
    ],
    ids=repr,
)
def test_similarities_are_checked_saved_and_cloned(model, tmp_path):
    is_matrix = "precomputed" in model.get_params().values()
    K = RBF(0.05)(ROLL)
    train, new = (K, RBF(0.05)(NEW, ROLL)) if is_matrix else (ROLL, NEW)
    expected = clone(model).fit(train).transform(new)
    model = clone(model).fit(train)
    assert model.__sklearn_tags__().input_tags.pairwise == is_matrix
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).transform(new), expected)
    save(model, tmp_path / "model.mercer")
    np.testing.assert_array_equal(load(tmp_path / "model.mercer").transform(new), expected)
    if is_matrix:
        with pytest.raises(ValueError, match="square"):
            model.fit(K[:, :10])
        with pytest.raises(ValueError, match="symmetric"):
            model.fit(K + np.triu(K))
        with pytest.raises(ValueError, match="500 features"):
            model.transform(new[:, :10])


def test_affinities_are_checked():
    model = LaplacianEigenmaps(1, affinity="precomputed")
    with pytest.raises(ValueError, match="must be ≥ 0, but the least is -1"):
        model.fit(np.array([[1.0, -1.0], [-1.0, 1.0]]))
    with pytest.raises(ValueError, match="no edges"):
        model.fit(np.diag([1.0, 1.0, 0.0]))
    with pytest.warns(UserWarning, match="falls into 2 parts"):
        model.fit(np.kron(np.eye(2), np.ones((2, 2))))
    model.fit(RBF(1.0)(np.arange(4.0)[:, None]))
    lost = model.transform(np.array([[1.0, 0, 0, 0], [0, 0, 0, 0]]))
    assert lost[0, 0] != 0
    assert lost[1, 0] == 0  # the mean of all rows
    with pytest.raises(ValueError, match="cannot be combined"):
        LaplacianEigenmaps(1, affinity=RBF(1.0), n_neighbors=3).fit(ROLL)
