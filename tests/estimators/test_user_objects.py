"""Objects of the user, as functions of the user get them: whatever NumPy makes of them."""

from __future__ import annotations

import numpy as np
import pytest

import mercer
from mercer.embeddings import Nystroem
from mercer.kernels import (
    Intersection,
    Jaccard,
    Normalize,
    OnColumns,
    Spectrum,
    WeisfeilerLehman,
)

Y = np.arange(12) % 2


class Route:
    """Counts and numbers its stops, as graphs of networkx do their nodes."""

    def __init__(self, stops):
        self.stops = stops

    def __len__(self):
        return len(self.stops)

    def __getitem__(self, i):
        return self.stops[i]


ROUTES = [Route([i, i % 3, 1]) for i in range(12)]


def of_routes(x, z):
    return float(np.exp(-((x.stops[0] - z.stops[0]) ** 2)))


routes = mercer.kernel(of_routes, of="objects", psd=True)
EXPECTED = np.array([[of_routes(x, z) for z in ROUTES] for x in ROUTES])


def values(A, B):
    return np.array([[of_routes(x, z) for z in B] for x in A])


def test_objects_of_numbered_parts_are_no_rows_of_numbers():
    """NumPy makes a matrix of such objects if they have equally many parts."""
    assert np.asarray(ROUTES).shape == (12, 3)
    np.testing.assert_array_equal(routes(ROUTES), EXPECTED)
    assert mercer.check_kernel(routes, ROUTES).is_psd
    for kernel in (routes, values):
        model = mercer.SVC(kernel=kernel, C=10).fit(ROUTES, Y)
        given = mercer.SVC(kernel="precomputed", C=10).fit(EXPECTED, Y)
        np.testing.assert_allclose(
            model.decision_function(ROUTES), given.decision_function(EXPECTED), atol=1e-9
        )
        assert model.support_vectors_[0] is ROUTES[model.support_[0]]
        assert mercer.verify(model, ROUTES, Y).gap_low <= model.certificate_.gap
    assert Nystroem(kernel=routes, n_components=4).fit_transform(ROUTES).shape == (12, 4)


def test_graphs_of_networkx_are_no_rows_of_numbers():
    nx = pytest.importorskip("networkx")
    graphs = [nx.path_graph(4) if i % 2 else nx.cycle_graph(4) for i in range(12)]
    edges = [graph.number_of_edges() for graph in graphs]

    @mercer.kernel(of="objects", psd=True)
    def sizes(x, z):
        return float(x.number_of_edges() * z.number_of_edges())

    np.testing.assert_array_equal(sizes(graphs), np.outer(edges, edges))
    assert mercer.SVC(kernel=sizes).fit(graphs, Y).score(graphs, Y) == 1.0


def test_rows_stay_rows():
    @mercer.kernel(of="objects", psd=True)
    def inner(x, z):
        return float(x @ z)  # arrays, not lists

    X = np.random.default_rng(0).normal(size=(12, 3))
    for given in (X, X.tolist(), [tuple(row) for row in X.tolist()], list(X)):
        np.testing.assert_allclose(inner(given), X @ X.T)
        assert mercer.SVC(kernel=inner).fit(given, Y).n_features_in_ == 3


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_frame_is_read_by_rows_and_one_column_by_its_values(library):
    """In estimators, in calls of the kernel, and by check_kernel and verify."""
    frames = pytest.importorskip(library)
    texts = ["ab" * (1 + i % 4) + "!" * (i % 2) for i in range(12)]

    @mercer.kernel(of="objects", psd=True)
    def lengths(x, z):
        return float(np.exp(-((len(x) - len(z)) ** 2)))

    @mercer.kernel(of="sparse features")
    def letters(x):
        return {letter: x.count(letter) for letter in x}

    one, two = frames.DataFrame({"t": texts}), frames.DataFrame({"t": texts, "u": texts})
    pairs = list(zip(texts, texts, strict=True))
    for kernel in (lengths, letters):
        np.testing.assert_array_equal(kernel(one), kernel(texts))
        model, other = (mercer.SVC(kernel=kernel).fit(X, Y) for X in (one, texts))
        np.testing.assert_array_equal(model.decision_function(one), other.decision_function(texts))
        assert repr(mercer.check_kernel(kernel, one)) == repr(mercer.check_kernel(kernel, texts))
        assert mercer.verify(model, one, Y).gap_low <= model.certificate_.gap
    np.testing.assert_array_equal(lengths(two), lengths(pairs))
    assert mercer.SVC(kernel=lengths).fit(two, Y).support_vectors_[0] == pairs[0]
    X = np.random.default_rng(0).normal(size=(12, 2))
    numbers = frames.DataFrame({"a": X[:, 0], "b": X[:, 1]})
    squares = mercer.kernel(lambda x: x**2)
    np.testing.assert_allclose(squares(numbers), (X**2) @ (X**2).T)


def test_sets_are_saved(tmp_path):
    common = mercer.kernel(lambda x, z: float(len(x & z)), of="objects", psd=True)
    sets = [{"a", str(i % 3)} | {i % 2, (i % 4, "b")} for i in range(12)]
    sets[4] = set()
    for X in (sets, [frozenset(x) for x in sets]):
        model = mercer.SVC(kernel=common).fit(X, Y)
        mercer.save(model, tmp_path / "m.mercer")
        loaded = mercer.load(tmp_path / "m.mercer", callables={"<lambda>": common})
        assert list(loaded.support_vectors_) == list(model.support_vectors_)
        assert type(loaded.support_vectors_[0]) is type(X[0])
        np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))


def test_what_a_function_is_given_is_told_if_it_fails():
    common = mercer.kernel(lambda x, z: float(len(x & z)), of="objects", psd=True)
    size = mercer.kernel(lambda x: {"n": x["n"]}, of="sparse features")
    nodes = mercer.kernel(lambda x: np.array([x["n"]], dtype=float), of="features")
    graphs = [{"n": 1 + i % 3, "edges": []} for i in range(12)]
    for kernel, X, kind in (
        (Jaccard() * common, [{1, i} for i in range(12)], "tuple"),
        (WeisfeilerLehman(1) + size, graphs, "Graph"),
        (WeisfeilerLehman(1) + nodes, graphs, "Graph"),
    ):
        with pytest.raises(TypeError) as caught:
            mercer.SVC(kernel=kernel).fit(X, Y)
        assert f"called with {kind}. As a part of a composed kernel" in caught.value.__notes__[0]
    np.testing.assert_array_equal(
        (Intersection() * mercer.kernel(lambda x, z: float(len(set(x) & set(z))), of="objects"))(
            [{1, 2}, {2}]
        ),
        [[4, 1], [1, 1]],
    )


def test_functions_on_columns_get_rows_of_numbers_values_or_tuples():
    rng = np.random.default_rng(0)
    table = {"a": rng.normal(size=12), "b": rng.normal(size=12), "t": ["x", "yy"] * 6}
    numbers = np.column_stack([table["a"], table["b"]])

    @mercer.kernel(psd=True)
    def of_matrices(X, Z):
        return np.exp(-((X[:, None, :] - Z[None]) ** 2).sum(axis=-1))

    @mercer.kernel
    def of_rows(x):
        return np.append(x**2, 1.0)

    @mercer.kernel(of="objects", psd=True)
    def of_values(x, z):
        return float(x * z)

    @mercer.kernel(of="objects", psd=True)
    def of_tuples(x, z):
        return float(x[0] * z[0] * len(x[1]) * len(z[1]))

    squares = np.column_stack([numbers**2, np.ones(12)])
    lengths = table["a"] * np.array([1, 2] * 6)
    for kernel, columns, expected in (
        (of_matrices, ("a", "b"), of_matrices(numbers)),
        (of_matrices, "a", of_matrices(numbers[:, :1])),
        (of_rows, ("a", "b"), squares @ squares.T),
        (of_rows, "a", squares[:, ::2] @ squares[:, ::2].T),
        (of_values, "b", np.outer(table["b"], table["b"])),
        (of_tuples, ("a", "t"), np.outer(lengths, lengths)),
    ):
        on_columns = OnColumns(kernel, columns)
        np.testing.assert_allclose(on_columns(table), expected, rtol=1e-14)
        composed = on_columns * OnColumns(Normalize(Spectrum(1)), "t") + 1
        model = mercer.SVC(kernel=composed).fit(table, Y)
        assert model.decision_function({name: table[name][:2] for name in table}).shape == (2,)
