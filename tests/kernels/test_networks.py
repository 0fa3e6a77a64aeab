"""Graphs of networkx, adjacency matrices and records are read as the same graphs."""

from __future__ import annotations

from collections import Counter

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

import mercer
from mercer.kernels import Graph, Normalize, RandomWalk, ShortestPath, WeisfeilerLehman


def test_forms_of_a_graph_are_the_same():
    record = {"n": 4, "edges": [[0, 1], [2, 1], [3, 2]], "weights": [1.0, 2.0, 1.0]}
    A = np.zeros((4, 4))
    for (u, v), w in zip(record["edges"], record["weights"], strict=True):
        A[u, v] = A[v, u] = w
    network = nx.empty_graph(4)
    for (u, v), w in zip(record["edges"], record["weights"], strict=True):
        network.add_edge(u, v, weight=w)
    both = {
        "n": 4,
        "edges": record["edges"] + [[v, u] for u, v in record["edges"]],
        "weights": record["weights"] * 2,
    }
    graphs = [Graph.of(given) for given in (record, A, sp.coo_matrix(A), network, both)]
    assert all(graph == graphs[0] for graph in graphs)
    np.testing.assert_array_equal(graphs[0].adjacency.toarray(), A)
    assert eval(repr(graphs[0])) == graphs[0]
    assert graphs[0] != Graph(4, record["edges"])
    assert Graph.of({"adjacency": A, "node_labels": "CCOO"}).node_labels.tolist() == list("CCOO")
    assert repr(Graph(20, [[0, 1]])) == "Graph(n=20, <1 edges>)"
    with pytest.raises(
        ValueError, match=r"Graph: it has the edge \[0, 5\], but its nodes are 0 to 1"
    ):
        Graph(2, [[0, 5]])


def test_labels_of_networks():
    network = nx.Graph()
    network.add_node("a", label="C")
    network.add_node("b", label="O")
    network.add_edge("b", "a", label=2)
    found = Graph.of(network)
    assert found == Graph(2, [[0, 1]], node_labels=["C", "O"], edge_labels=[2])
    with pytest.raises(ValueError, match="to_undirected"):
        Graph.of(network.to_directed())
    with pytest.raises(ValueError, match="multigraph"):
        Graph.of(nx.MultiGraph(network))
    network.add_node("c")
    with pytest.raises(ValueError, match="row 0 has 'label' at 2 of its 3 nodes"):
        Graph.of(network)
    assert Graph.of(nx.Graph()) == Graph(0, [])
    assert Graph.of(nx.empty_graph(3)) == Graph(3, [])
    loop = nx.path_graph(2)
    loop.add_edge(0, 0)
    assert Graph.of(loop) == Graph(2, [[0, 0], [0, 1]])


@pytest.mark.parametrize("kernel", [WeisfeilerLehman(2), ShortestPath(), RandomWalk(0.01)])
def test_graphs_of_networkx_have_the_values_of_their_matrices(kernel):
    """Its own generators and conversions, on nodes with names that are no numbers."""
    networks = [nx.petersen_graph(), nx.krackhardt_kite_graph(), nx.star_graph(4)]
    networks += [nx.grid_2d_graph(2, 3), nx.cycle_graph(5)]
    nx.set_edge_attributes(networks[-1], 2.0, "weight")
    matrices = [nx.to_scipy_sparse_array(network) for network in networks]
    records = [
        {"n": A.shape[0], "edges": np.argwhere(A.toarray()), "weights": A.toarray()[A.nonzero()]}
        for A in matrices
    ]
    K = kernel(networks)
    np.testing.assert_allclose(kernel(matrices), K, rtol=1e-12)
    np.testing.assert_allclose(kernel(records), K, rtol=1e-12)
    np.testing.assert_allclose(kernel(networks[:2], matrices), K[:2], rtol=1e-12)
    if isinstance(kernel, ShortestPath):  # pairs of nodes by their distances, as networkx has them
        lengths = [
            Counter(
                d
                for u, to in nx.all_pairs_dijkstra_path_length(network)
                for v, d in to.items()
                if u != v
            )
            for network in networks
        ]
        expected = [[sum(c * b[d] for d, c in a.items()) for b in lengths] for a in lengths]
        np.testing.assert_array_equal(K, expected)


def test_a_fit_takes_graphs_of_networkx():
    def molecule(text, ring):
        network = nx.cycle_graph(len(text)) if ring else nx.path_graph(len(text))
        nx.set_node_attributes(network, dict(enumerate(text)), "label")
        return network

    texts = ["CCO", "CCCO", "CCCCO", "CCCCCO"]
    networks = [molecule(text, ring) for ring in (False, True) for text in texts]
    records = [
        {"n": len(g), "edges": list(g.edges), "node_labels": [g.nodes[v]["label"] for v in g]}
        for g in networks
    ]
    y = ["chain"] * 4 + ["ring"] * 4
    model = mercer.SVC(kernel=Normalize(WeisfeilerLehman(2)), C=10).fit(networks, y)
    other = mercer.SVC(kernel=Normalize(WeisfeilerLehman(2)), C=10).fit(records, y)
    new = [molecule("CCCCCCO", True), molecule("CCN", False), nx.Graph()]  # N is unseen
    np.testing.assert_array_equal(model.decision_function(new), other.decision_function(new))
    assert model.predict(new[:2]).tolist() == ["ring", "chain"]
    assert mercer.verify(model, networks, y)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_entries_that_are_not_finite_are_named(form, bad):
    """Symmetric or not: a remedy for asymmetry would not help."""
    A = np.array([[0.0, bad], [bad, 0.0]])
    with pytest.raises(ValueError, match="row 1 is an adjacency matrix with NaN or infinity"):
        WeisfeilerLehman()([np.eye(2)[::-1], form(A)])


def test_nodes_by_name_are_shown_as_given():
    kernel = mercer.kernels.Diffusion(nx.path_graph(["a", "b"]), time=1.0)
    with pytest.raises(ValueError, match=r"row 0 is 'a', not a node; samples are integers"):
        kernel(["a", "b"])
