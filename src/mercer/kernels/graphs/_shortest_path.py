"""The shortest-path kernel: counts of pairs of nodes by their labels and distance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import dijkstra

from mercer.kernels._compiled.graphs import path_lengths
from mercer.kernels.graphs._graph_set import GraphKernel, GraphSet, require_labels_of_both
from mercer.kernels.structured._sparse_features import Features, SparseFeatureKernel

__all__ = ["ShortestPath"]


@dataclass(frozen=True, eq=False)
class PathFeatures(Features):
    """Counts of pairs of nodes, one column for each pair of labels and distance."""

    graphs: GraphSet
    owner: str

    def columns_in(self, others: Any) -> np.ndarray:
        require_labels_of_both(self.graphs, others.graphs, self.owner)
        return super().columns_in(others)


@dataclass(frozen=True, repr=False)
class ShortestPath(GraphKernel, SparseFeatureKernel):
    """k(x, z) = Σ count(a, b, d; x) · count(a, b, d; z) over labels a, b and distances d > 0.

    count(a, b, d; x) is the number of ordered pairs of nodes of x with the labels a and b whose
    shortest path has the length d: the number of its edges, or the sum of their weights. Pairs
    without a path do not count; labels of edges are not used.

    Weighted lengths are compared as floats of 32 bits: sums of the same weights in another order
    are then the same number, with rare exceptions; with integer weights there are none.

    What no training graph has adds nothing to a prediction. A graph without edges has the values 0.

    **Cost.** nodes · edges steps for the distances of a graph (weighted: times log n), once; a
    value is a product of two sparse rows.

    **When.** Graphs whose shape matters more than neighbourhoods: proteins, networks of streets.
    Use ``Normalize(ShortestPath())`` where graphs differ in size.

    References
    ----------
    Borgwardt and Kriegel (2005), Shortest-path kernels on graphs.

    Examples
    --------
    >>> from mercer.kernels import ShortestPath
    >>> path = {"n": 3, "edges": [[0, 1], [1, 2]]}
    >>> ring = {"n": 3, "edges": [[0, 1], [1, 2], [2, 0]]}
    >>> ShortestPath()([path, ring])  # 4 pairs at distance 1, 2 at 2; 6 pairs at 1
    array([[20., 24.],
           [24., 36.]])
    """

    is_nonnegative = True

    def features(self, samples: Any) -> Features:
        graphs = GraphSet.of(samples, repr(self))
        L = len(graphs.node_labels.alphabet)
        rows = [_pairs(graphs, i, L) for i in range(graphs.n)]
        found = [np.unique(codes, return_counts=True) for codes in rows]
        whole = np.concatenate([np.zeros(0, np.int64), *(codes for codes, _ in found)])
        counts = np.concatenate([np.zeros(0, np.int64), *(count for _, count in found)])
        codes, columns = np.unique(whole, return_inverse=True)
        indptr = np.concatenate([[0], np.cumsum([each.size for each, _ in found])])
        parts = counts.astype(np.float64), columns.astype(np.int32), indptr.astype(np.int32)
        matrix = sp.csr_matrix(parts, shape=(graphs.n, codes.size))
        alphabet = graphs.node_labels.alphabet

        def column_keys() -> list[Any]:
            labels, bits = np.divmod(codes, 1 << 32)  # a distance has 32 bits
            lengths = bits.astype(np.uint32).view(np.float32).tolist()
            pairs = zip(*np.divmod(labels, L), strict=True)
            return [(alphabet[a], alphabet[b], d) for (a, b), d in zip(pairs, lengths, strict=True)]

        return PathFeatures(matrix, column_keys, graphs, repr(self))


def _pairs(graphs: GraphSet, which: int, n_labels: int) -> np.ndarray:
    """A code of labels and distance for each ordered pair of different nodes with a path."""
    nodes, edges = graphs.part(which)
    n = nodes.stop - nodes.start
    if n == 0 or edges.start == edges.stop:
        return np.zeros(0, np.int64)
    if graphs.is_weighted[which]:
        columns = graphs.neighbours[edges] - nodes.start
        indptr = graphs.indptr[nodes.start : nodes.stop + 1] - edges.start
        matrix = sp.csr_matrix((graphs.weights[edges], columns, indptr), shape=(n, n))
        lengths = dijkstra(matrix).astype(np.float32).ravel()
        is_path = np.isfinite(lengths)
    else:
        counts = np.empty(n * n, np.int32)
        queue, distance = np.empty(n, np.int32), np.empty(n, np.int32)
        path_lengths(graphs.indptr, graphs.neighbours, nodes.start, n, queue, distance, counts)
        lengths, is_path = counts.astype(np.float32), counts > 0
    is_path[:: n + 1] = False
    labels = graphs.node_labels.codes[nodes]
    pair = np.add.outer(labels * n_labels, labels).ravel()[is_path]
    return (pair << 32) + lengths[is_path].view(np.uint32)
