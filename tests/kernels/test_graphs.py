"""Kernels on graphs, from their definitions."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pytest
import scipy.linalg as la
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import mercer
from mercer.kernels import (
    Diffusion,
    Graph,
    Normalize,
    RandomWalk,
    RegularizedLaplacian,
    ShortestPath,
    WeisfeilerLehman,
    WeisfeilerLehmanOA,
)
from tests.kernels.structured_conformance import StructuredConformance, objects


@st.composite
def records(draw, labels=True, edge_labels=False, weights=False, most=6):
    """Graphs of up to ``most`` nodes, perhaps without nodes or edges, with loops and both ways."""
    n = draw(st.integers(0, most))
    pairs = list(product(range(n), repeat=2))
    edges = draw(st.lists(st.sampled_from(pairs), unique_by=frozenset, max_size=8)) if n else []
    out = {"n": n, "edges": np.array(edges, dtype=np.int64).reshape(-1, 2)}
    if labels:
        out["node_labels"] = draw(st.lists(st.sampled_from("CNO"), min_size=n, max_size=n))
    m = len(edges)
    if edge_labels:
        out["edge_labels"] = draw(st.lists(st.integers(0, 1), min_size=m, max_size=m))
    if weights:
        out["weights"] = draw(st.lists(st.sampled_from([0.5, 1, 2]), min_size=m, max_size=m))
    return out


def molecules(labels=True, edge_labels=False, weights=False):
    """Rings and chains, some of them twice, one graph without edges and one without nodes."""
    out = []
    for i in range(16):
        rng = np.random.default_rng(i // 2 if i < 8 else i)  # of both classes
        n = 0 if i == 15 else int(rng.integers(3, 8))
        edges = [[j, j + 1] for j in range(n - 1)] + ([[n - 1, 0]] if rng.random() < 0.5 else [])
        edges = [] if i >= 14 else edges
        one = {"n": n, "edges": np.array(edges, dtype=np.int64).reshape(-1, 2)}
        if labels:
            one["node_labels"] = rng.choice(list("CNO"), n).tolist()
        if edge_labels:
            one["edge_labels"] = rng.integers(0, 2, len(edges)).tolist()
        if weights:
            one["weights"] = rng.choice([0.5, 1.0, 2.0], len(edges)).tolist()
        out.append(one)
    return out


BAD = [
    None,
    3,
    "C-O",
    np.zeros((2, 3)),
    {"edges": [[0, 1]]},
    {"n": 2, "edges": [[0, 2]], "node_labels": "CO"},
    {"n": 2, "edges": [[0, -1]], "node_labels": "CO"},
    {"n": 2, "edges": [0, 1], "node_labels": "CO"},
    {"n": 2, "edges": [[0.5, 1]], "node_labels": "CO"},
    {"n": -1, "edges": []},
    {"n": 2, "edges": [[0, 1]], "node_labels": "C"},
    {"n": 2, "edges": [[0, 1]], "node_labels": ["C", None]},
    {"n": 2, "edges": [[0, 1]], "node_labels": [["C"], "O"]},
    {"n": 2, "edges": [[0, 1]], "labels": "CO"},
    {"n": 2, "edges": [[0, 1]], "node_labels": "CO", "weights": [0.0]},
    {"n": 2, "edges": [[0, 1]], "node_labels": "CO", "weights": [np.nan]},
    {"n": 2, "edges": [[0, 1], [1, 0]], "node_labels": "CO", "weights": [1.0, 2.0]},
    {"n": 2, "edges": [[0, 1], [1, 0]], "node_labels": "CO", "edge_labels": [1, 2]},
    sp.csr_matrix(np.array([[0, 1], [2, 0]])),
]


def parts(record):
    """n, a dict of edges (u, v) → (label, weight) in both directions, node labels."""
    edges = {}
    m = len(record["edges"])
    labels = record.get("edge_labels", [None] * m)
    weights = record.get("weights", [1.0] * m)
    for (u, v), label, weight in zip(record["edges"], labels, weights, strict=True):
        edges[int(u), int(v)] = edges[int(v), int(u)] = (label, weight)
    return record["n"], edges, record.get("node_labels", [""] * record["n"])


def colours(record, depth, edge_labels=True):
    """Colours as texts, which grow with every round."""
    n, edges, labels = parts(record)
    colour = [str(label) for label in labels]
    counts = Counter((0, c) for c in colour)
    for h in range(1, depth + 1):
        near = [
            sorted(
                f"{edges[v, u][0] if edge_labels else ''}:{colour[u]}"
                for u in range(n)
                if (v, u) in edges
            )
            for v in range(n)
        ]
        colour = [f"{colour[v]}({','.join(near[v])})" for v in range(n)]
        counts.update((h, c) for c in colour)
    return counts


def subtrees(x, z, depth, edge_labels=True):
    a, b = colours(x, depth, edge_labels), colours(z, depth, edge_labels)
    return sum(number * b[c] for c, number in a.items())


class TestWeisfeilerLehman(StructuredConformance):
    kernel = WeisfeilerLehman(2)
    samples, examples, bad = records(), molecules(), BAD

    @staticmethod
    def naive(x, z):
        return subtrees(x, z, 2)


class TestEdgeLabels(StructuredConformance):
    kernel = WeisfeilerLehman(3)
    samples, examples, bad = records(edge_labels=True), molecules(edge_labels=True), BAD

    @staticmethod
    def naive(x, z):
        return subtrees(x, z, 3)


class TestWithoutEdgeLabels(StructuredConformance):
    kernel = WeisfeilerLehman(2, edge_labels=False)
    samples, examples, bad = records(edge_labels=True), molecules(edge_labels=True), BAD

    @staticmethod
    def naive(x, z):
        return subtrees(x, z, 2, edge_labels=False)


class TestWithoutLabels(StructuredConformance):
    kernel = Normalize(WeisfeilerLehman(2))
    samples, examples, bad = records(labels=False), molecules(labels=False), BAD[:3]

    @staticmethod
    def naive(x, z):
        size = subtrees(x, x, 2) * subtrees(z, z, 2)
        return subtrees(x, z, 2) / size**0.5 if size else 0.0


class TestOptimalAssignment(StructuredConformance):
    kernel = WeisfeilerLehmanOA(2)
    samples, examples, bad = records(edge_labels=True), molecules(edge_labels=True), BAD

    @staticmethod
    def naive(x, z):
        a, b = colours(x, 2), colours(z, 2)
        return sum(min(number, b[c]) for c, number in a.items())


def distances(record):
    """Floyd and Warshall's algorithm."""
    n, edges, _ = parts(record)
    D = np.full((n, n), np.inf)
    for (u, v), (_, weight) in edges.items():
        D[u, v] = weight
    for u in range(n):
        D[u, u] = 0
    for k in range(n):
        D = np.minimum(D, D[:, [k]] + D[[k]])
    return D


def paths(x):
    labels, D = parts(x)[2], distances(x)
    found = [(u, v) for u, v in np.argwhere(np.isfinite(D)).tolist() if u != v]
    return Counter((labels[u], labels[v], D[u, v]) for u, v in found)


class TestShortestPath(StructuredConformance):
    kernel = ShortestPath()
    samples, examples, bad = records(), molecules(), BAD

    @staticmethod
    def naive(x, z):
        a, b = paths(x), paths(z)
        return sum(number * b[c] for c, number in a.items())


class TestWeightedPaths(TestShortestPath):
    samples, examples = records(weights=True), molecules(weights=True)


def walks(x, z, decay):
    """1ᵀ(I − λA)⁻¹1 with the adjacency matrix A of the product graph written out."""
    (n, x_edges, x_labels), (m, z_edges, z_labels) = parts(x), parts(z)
    nodes = [(u, v) for u in range(n) for v in range(m) if x_labels[u] == z_labels[v]]
    A = np.zeros((len(nodes), len(nodes)))
    for i, (u, v) in enumerate(nodes):
        for j, (r, s) in enumerate(nodes):
            if (u, r) in x_edges and (v, s) in z_edges:
                (kind, weight), (other, factor) = x_edges[u, r], z_edges[v, s]
                A[i, j] = weight * factor * (kind == other)
    ones = np.ones(len(nodes))
    return float(ones @ np.linalg.solve(np.eye(len(nodes)) - decay * A, ones))


class TestRandomWalk(StructuredConformance):
    kernel = RandomWalk(0.02)  # at most six neighbours
    samples, examples, bad = records(labels=False), molecules(labels=False), BAD[:3]
    condition = 50.0

    @staticmethod
    def naive(x, z):
        return walks(x, z, 0.02)


class TestLabelledWalks(TestRandomWalk):
    kernel = RandomWalk(0.005)
    samples = records(edge_labels=True, weights=True)
    examples, bad = molecules(edge_labels=True, weights=True), BAD

    @staticmethod
    def naive(x, z):
        return walks(x, z, 0.005)


RING = Graph(7, [[i, (i + 1) % 7] for i in range(7)] + [[0, 3]])


class TestDiffusion(StructuredConformance):
    kernel = Diffusion(RING, time=0.7)
    samples = st.integers(0, 6)
    examples, bad = [*range(7), *range(7)], [7, -1, "a", 1.5, None, True]
    condition = 10.0

    @staticmethod
    def naive(x, z):
        A = RING.adjacency.toarray()
        return la.expm(-0.7 * (np.diag(A.sum(axis=0)) - A))[x, z]


class TestRegularizedLaplacian(TestDiffusion):
    kernel = RegularizedLaplacian(RING, time=2.0)

    @staticmethod
    def naive(x, z):
        A = RING.adjacency.toarray()
        return np.linalg.inv(np.eye(7) + 2.0 * (np.diag(A.sum(axis=0)) - A))[x, z]


# ---------------------------------------------------------------------- reading


def test_integers_and_texts_are_labels_alike():
    """Codes of labels do not matter, nor the container."""
    chain = {"n": 3, "edges": [[0, 1], [1, 2]]}
    K = WeisfeilerLehman(2)([chain | {"node_labels": each} for each in ("CCO", "OCC", "COC")])
    for code in ({"C": 5, "O": -3}, {"C": (1, "x"), "O": 2.5}):
        labels = [[code[c] for c in each] for each in ("CCO", "OCC", "COC")]
        again = WeisfeilerLehman(2)([chain | {"node_labels": each} for each in labels])
        np.testing.assert_array_equal(again, K)
        np.testing.assert_array_equal(
            WeisfeilerLehman(2)([chain | {"node_labels": each} for each in labels[:2]],
                                [chain | {"node_labels": each} for each in labels[1:]]),
            K[:2, 1:],
        )  # fmt: skip


@pytest.mark.parametrize("kernel", [WeisfeilerLehman(1), ShortestPath(), RandomWalk(0.05)])
def test_labelled_and_unlabelled_graphs_are_not_mixed(kernel):
    plain = {"n": 2, "edges": [[0, 1]]}
    labelled = plain | {"node_labels": "CO"}
    with pytest.raises(ValueError, match="row 1 has no node_labels, but row 0 has"):
        kernel([labelled, plain])
    with pytest.raises(ValueError, match="those they are compared with"):
        kernel([plain], [labelled])
    with pytest.raises(ValueError, match="row 0 has no edge_labels, but row 2 has"):
        kernel([plain, {"n": 1}, plain | {"edge_labels": [1]}])
    empty = {"n": 0, "edges": []}  # has nothing to be labelled
    assert kernel([labelled, empty], [empty, labelled]).shape == (2, 2)


@given(record=records(edge_labels=True), order=st.permutations(range(6)))
def test_names_of_nodes_do_not_matter(record, order):
    n, place = record["n"], [i for i in order if i < record["n"]]
    moved = dict(record)
    moved["edges"] = np.array([[place[u], place[v]] for u, v in record["edges"]]).reshape(-1, 2)
    moved["edges"] = moved["edges"].astype(np.int64)
    moved["node_labels"] = [None] * n
    for u in range(n):
        moved["node_labels"][place[u]] = record["node_labels"][u]
    for kernel in (WeisfeilerLehman(2), WeisfeilerLehmanOA(2), ShortestPath()):
        K = kernel([record, moved])
        np.testing.assert_array_equal(K, np.full((2, 2), K[0, 0]))


def test_unseen_labels_add_nothing():
    ring = {"n": 3, "edges": [[0, 1], [1, 2], [2, 0]], "node_labels": "CCC"}
    new = {"n": 3, "edges": [[0, 1], [1, 2], [2, 0]], "node_labels": "CCX"}
    y = [0, 1]
    other = {"n": 2, "edges": [[0, 1]], "node_labels": "CC"}
    model = mercer.SVC(kernel=WeisfeilerLehman(1)).fit([ring, other], y)
    expected = WeisfeilerLehman(1)([new], [ring, other])
    np.testing.assert_array_equal(expected, [[2 * 3, 2 * 2]])
    f = expected[:, model.support_] @ model.dual_coef_[0] + model.intercept_
    np.testing.assert_allclose(model.decision_function([new]), f)


def test_walks_that_do_not_converge_are_refused():
    star = {"n": 5, "edges": [[0, i] for i in range(1, 5)]}  # spectral radius 2
    edge = {"n": 2, "edges": [[0, 1]]}
    with pytest.raises(ValueError, match=r"row 1 has the spectral radius 2.*below 1/ρ² = 0.25"):
        RandomWalk(0.3)([edge, star])
    assert RandomWalk().resolved(objects([edge, star])).decay == pytest.approx(0.125)
    with pytest.raises(ValueError, match="resolved"):
        RandomWalk()([edge])
    model = mercer.SVC(kernel=RandomWalk()).fit([edge, star], [0, 1])
    assert model.kernel_.decay == pytest.approx(0.125)


def test_graphs_of_one_node_kernel():
    with pytest.raises(ValueError, match="at most 10,000"):
        Diffusion({"n": 20_000, "edges": []})
    A = RING.adjacency
    assert Diffusion(A) == Diffusion(RING)
    np.testing.assert_array_equal(Diffusion(RING)(np.arange(7)[:, None]), Diffusion(RING)(range(7)))
    np.testing.assert_allclose(Diffusion(RING)(range(7)).sum(axis=0), 1)  # heat is kept
    for bad in (0, -1, np.nan, "1"):
        with pytest.raises(ValueError, match="time"):
            Diffusion(RING, time=bad)


@pytest.mark.parametrize("cls", [WeisfeilerLehman, WeisfeilerLehmanOA])
def test_parameters_that_are_none(cls):
    with pytest.raises(ValueError, match="depth"):
        cls(-1)
    with pytest.raises(ValueError, match="edge_labels"):
        cls(edge_labels="yes")
    with pytest.raises(ValueError, match="decay"):
        RandomWalk(0)


def test_many_neighbours():
    """Rows that are sorted by their combined key, and by two keys where that is too large."""
    from mercer.kernels.graphs import _refinement

    rng = np.random.default_rng(0)
    indptr = np.array([0, 0, 5, 6, 30])
    codes = rng.integers(0, 9, 30)
    expected = np.concatenate([np.sort(part) for part in np.split(codes, indptr[1:-1])])
    np.testing.assert_array_equal(_refinement._sorted_within(codes, indptr), expected)
    large = codes + (1 << 61)
    np.testing.assert_array_equal(_refinement._sorted_within(large, indptr), expected + (1 << 61))
