"""Support graphs in files: flat arrays, checked when they are read."""

from __future__ import annotations

import numpy as np
import pytest

import mercer
from mercer.kernels import Centre, Diffusion, Graph, Normalize, WeisfeilerLehman
from mercer.persistence._container import read_tensors
from mercer.persistence._graphs import pack_graphs, unpack_graphs
from tests.kernels.structured_conformance import objects

GRAPHS = [
    Graph(3, [[0, 1], [1, 2]], node_labels=["C", "O", "C"], edge_labels=[1, 2]),
    Graph(2, [[0, 1]], node_labels=["C", "C"], edge_labels=[1]),
    Graph(1, node_labels=["N"]),
    Graph(0),
]


@pytest.mark.parametrize(
    "graphs",
    [
        GRAPHS,
        [Graph(3, [[0, 1], [2, 1]], weights=[0.5, 2.0]), Graph(3, [[0, 2]])],
        [Graph(2, [[0, 1]], node_labels=[7, -3]), Graph(1, node_labels=[7])],
        [Graph(2, [[0, 1]], node_labels=[(1, "a"), 2.5])],
        [Graph(2, [[0, 1]], node_labels=[1, 2]), Graph(1, node_labels=["a"])],
    ],
)
def test_packed_graphs_come_back(graphs):
    again = unpack_graphs(pack_graphs(objects(graphs)))
    assert list(again) == graphs
    assert pack_graphs(objects([*graphs, "text"])) is None


def test_graphs_in_a_file(tmp_path):
    graphs = [Graph(n, [[i, i + 1] for i in range(n - 1)]) for n in range(1, 9)]
    y = np.arange(8) % 2
    for kernel in (Normalize(WeisfeilerLehman(2)), Centre(WeisfeilerLehman(1))):
        model = mercer.SVC(kernel=kernel).fit(graphs, y)
        mercer.save(model, tmp_path / "m.mercer")
        loaded = mercer.load(tmp_path / "m.mercer")
        assert loaded.kernel_ == model.kernel_
        assert list(loaded.support_vectors_) == list(model.support_vectors_)
        np.testing.assert_array_equal(
            loaded.decision_function(graphs), model.decision_function(graphs)
        )
        _, tensors = read_tensors(tmp_path / "m.mercer")
        edges = sum(len(graph.edges) for graph in model.support_vectors_)
        assert any(array.shape == (edges, 2) for array in tensors.values())


def test_a_graph_in_a_kernel(tmp_path):
    kernel = Diffusion(GRAPHS[0], time=0.5)
    model = mercer.SVC(kernel=kernel).fit([0, 1, 2], [0, 1, 0])
    mercer.save(model, tmp_path / "m.mercer")
    assert mercer.load(tmp_path / "m.mercer").kernel_ == kernel


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n": np.array([3, 2, 1])}, "do not fit"),
        ({"n": np.array([3.0, 2, 1, 0])}, "no whole numbers"),
        ({"n": np.array([-3, 2, 1, 0])}, "do not fit"),
        ({"n": np.array([1, 2, 1, 0])}, "labels do not fit|do not fit their sizes"),
        ({"n": np.array([1 << 60, 2, 1, 0])}, "more than"),
        ({"m": np.array([1, 1, 0, 0])}, "do not fit their sizes"),
        ({"edges": "text"}, "something else"),
        ({"edges": np.array([[0, 9], [1, 2], [0, 1]])}, r"edge \[0, 9\]"),
        ({"has_node_labels": np.ones(3, bool)}, "do not fit"),
        ({"has_node_labels": np.ones(4)}, "do not fit"),
        ({"node_labels": np.array(["C", "O"], dtype=object)}, "do not fit"),
        ({"weights": np.array([1.0, -1.0, 1.0]), "has_weights": np.array([1, 1, 0, 0], bool)},
         "weight -1"),
    ],
)  # fmt: skip
def test_parts_that_do_not_fit_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        unpack_graphs(pack_graphs(objects(GRAPHS)) | change)
