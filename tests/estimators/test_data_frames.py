"""Kernel functions on data frames get rows, never column names."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import mercer
from tests.read_only import read_only

N = 30


def _data():
    rng = np.random.default_rng(2)
    SIZE, COLOUR = rng.normal(size=N), np.array(["red", "blue", "grey"])[rng.integers(0, 3, N)]
    return read_only(SIZE, COLOUR)


SIZE, COLOUR = _data()
Y = np.where(SIZE + (COLOUR == "red") > 0.3, 1, -1)
FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame}


def mixed(A, B):
    """exp(−(size − size')²) · [½ + ½ colours equal], of rows (size, colour)."""
    out = np.empty((len(A), len(B)))
    for i, a in enumerate(A):
        assert len(a) == 2
        assert isinstance(a[0], float)
        assert a[1] in ("red", "blue", "grey")
        for j, b in enumerate(B):
            out[i, j] = np.exp(-((a[0] - b[0]) ** 2)) * (0.5 + 0.5 * (a[1] == b[1]))
    return out


def expected_matrix(left, right):
    same = COLOUR[left][:, None] == COLOUR[right]
    return np.exp(-((SIZE[left][:, None] - SIZE[right]) ** 2)) * (0.5 + 0.5 * same)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("library", FRAMES)
def test_a_frame_of_several_types(library, weighted):
    frame = FRAMES[library]({"size": SIZE, "colour": COLOUR})
    weight = np.where(np.arange(N) % 7 == 3, 0.0, 1.0) if weighted else None
    every = np.arange(N)
    K = expected_matrix(every, every)
    model = mercer.SVC(kernel=mixed, tol=1e-6).fit(frame, Y, sample_weight=weight)
    same = mercer.SVC(kernel="precomputed", tol=1e-6).fit(K, Y, sample_weight=weight)
    assert model.certificate_.primal == pytest.approx(same.certificate_.primal, rel=1e-6)
    np.testing.assert_allclose(
        model.decision_function(frame), same.decision_function(K), rtol=0, atol=1e-5
    )
    assert mercer.verify(model, frame, Y, weight).status.is_solved


@pytest.mark.parametrize("kind", ["SVR", "OneClassSVM", "KernelRidge", "KernelPCA"])
@pytest.mark.parametrize("library", FRAMES)
def test_other_estimators_on_a_frame(library, kind):
    frame = FRAMES[library]({"size": SIZE, "colour": COLOUR})
    model = getattr(mercer, kind)(kernel=mixed)
    model.fit(frame, SIZE)
    found = (model.transform if kind == "KernelPCA" else model.predict)(frame)
    assert len(found) == N
    assert np.isfinite(found).all()


@pytest.mark.parametrize("library", FRAMES)
def test_a_frame_of_numbers_is_a_matrix(rng, library):
    X = rng.normal(size=(N, 3))
    seen = []

    def dot(A, B):
        seen.append((A, B))
        return A @ B.T

    frame = FRAMES[library]({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2]})
    model = mercer.SVC(kernel=dot).fit(frame, Y)
    assert all(isinstance(A, np.ndarray) and A.dtype == float and A.ndim == 2 for A, _ in seen)
    expected = mercer.SVC(kernel="linear").fit(X, Y).decision_function(X)
    np.testing.assert_allclose(model.decision_function(frame), expected, atol=1e-2)


def test_nullable_numbers_are_numbers():
    frame = pd.DataFrame({"a": pd.array(range(N), dtype="Int64"), "b": SIZE})
    model = mercer.SVC(
        kernel=lambda A, B: np.tanh(np.asarray(A, float) @ np.asarray(B, float).T) + 2
    )
    assert model.fit(frame, Y).predict(frame).shape == (N,)


def test_dates_are_named():
    n = 30
    dates = pd.date_range("2024-01-01", periods=n)
    y = np.arange(n) % 2
    for X in (
        pd.DataFrame({"when": dates, "a": np.arange(n)}),
        pd.DataFrame({"when": dates}),
        dates.to_numpy()[:, None],
    ):
        with pytest.raises(ValueError, match=r"X must hold numbers, .* dates, such as '2024-01-01"):
            mercer.SVC().fit(X, y)
