"""Laplacian eigenmaps and locally linear embedding against their definitions and scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_moons, make_swiss_roll
from sklearn.manifold import LocallyLinearEmbedding as SklearnLLE
from sklearn.neighbors import kneighbors_graph
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import SVC
from mercer.embeddings import LaplacianEigenmaps, LocallyLinearEmbedding
from mercer.embeddings import _neighbour_graph as _neighbours

BOTH = [LaplacianEigenmaps, LocallyLinearEmbedding]
ROLL, ALONG = make_swiss_roll(500, random_state=0)


def aligned(A, B):
    """B with the signs of A's columns."""
    return B * np.sign((A * B).sum(axis=0))


@pytest.mark.parametrize("dense_rows", [0, 10_000])
def test_eigenmaps_solve_their_problem(monkeypatch, dense_rows):
    """(D − W) y = λ D y with yᵀDy fixed, orthogonal to constants; W written down anew."""
    monkeypatch.setattr(_neighbours, "DENSE_ROWS", dense_rows)
    model = LaplacianEigenmaps(3, n_neighbors=8).fit(ROLL)
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
