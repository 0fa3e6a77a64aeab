"""Kernels on graphs once more, for `mercer.verify`, with bounds of their rounding.

Colours are tuples in a Python dictionary, distances come from SciPy, walks from matrix powers, and
kernels between nodes from functions of matrices. Only the reading of graphs is shared with the
kernels that fits use.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp
from scipy.sparse.csgraph import shortest_path as distances

from mercer._precision import UNIT
from mercer.kernels._reference_kernels import Rows, Values
from mercer.kernels.graphs._graph import Graph
from mercer.kernels.structured._reference import count_products

__all__ = [
    "diffusion",
    "random_walk",
    "regularized_laplacian",
    "shortest_path",
    "weisfeiler_lehman",
    "weisfeiler_lehman_oa",
]


def _graph(sample: Any) -> Graph:
    return sample if isinstance(sample, Graph) else Graph.of(sample)


def _of_nodes(graph: Graph) -> list[Any]:
    return [None] * graph.n if graph.node_labels is None else graph.node_labels.tolist()


def _of_edges(graph: Graph) -> list[Any]:
    m = len(graph.edges)
    return [None] * m if graph.edge_labels is None else graph.edge_labels.tolist()


def _colours(kernel: Any) -> Callable[[Any], Counter]:
    """Counts of colours; a colour is a number for what it is made of, the same for all samples."""
    number: dict[Any, int] = {}

    def count(sample: Any) -> Counter:
        graph = _graph(sample)
        near: list[list[tuple[Any, int]]] = [[] for _ in range(graph.n)]
        labels = _of_edges(graph) if kernel.edge_labels else [None] * len(graph.edges)
        for (u, v), label in zip(graph.edges.tolist(), labels, strict=True):
            kind = number.setdefault(("edge", label), len(number))
            near[u].append((kind, v))
            if u != v:
                near[v].append((kind, u))
        colour = [number.setdefault(("node", label), len(number)) for label in _of_nodes(graph)]
        counts = Counter((0, c) for c in colour)
        for depth in range(1, kernel.depth + 1):
            made = [
                (colour[v], tuple(sorted((kind, colour[u]) for kind, u in near[v])))
                for v in range(graph.n)
            ]
            colour = [number.setdefault((depth, each), len(number)) for each in made]
            counts.update((depth, c) for c in colour)
        return counts

    return count


def weisfeiler_lehman(kernel: Any, A: Rows, Z: Rows) -> Values:
    """Σ_c count(c, x) count(c, z)."""
    return count_products(A, Z, _colours(kernel))


def weisfeiler_lehman_oa(kernel: Any, A: Rows, Z: Rows) -> Values:
    """Σ_c min(count(c, x), count(c, z)), as products of indicators of count ≥ t."""
    count = _colours(kernel)

    def thresholds(sample: Any) -> Counter:
        return Counter((c, t) for c, number in count(sample).items() for t in range(number))

    return count_products(A, Z, thresholds)


def shortest_path(kernel: Any, A: Rows, Z: Rows) -> Values:
    """Products of counts of (label, label, distance)."""

    def count(sample: Any) -> Counter:
        graph = _graph(sample)
        if not graph.n or not len(graph.edges):
            return Counter()
        D = distances(graph.adjacency, directed=False).astype(np.float32)
        labels, found = _of_nodes(graph), np.argwhere(np.isfinite(D))
        return Counter((labels[u], labels[v], float(D[u, v])) for u, v in found.tolist() if u != v)

    return count_products(A, Z, count)


# ---------------------------------------------------------------------- walks


def random_walk(kernel: Any, A: Rows, Z: Rows) -> Values:
    """Σ_k λ^k 1ᵀA^k1, of one graph with all others at once, until the rest cannot matter."""
    mine, others = ([_graph(sample) for sample in each.X[each.index]] for each in (A, Z))
    kinds = {label for graph in others for label in _of_edges(graph)}
    numbers: dict[Any, int] = {}
    labels = _numbered([label for graph in others for label in _of_nodes(graph)], numbers)
    owner = np.repeat(np.arange(len(others)), [graph.n for graph in others])
    blocks = {kind: sp.block_diag([_of_kind(graph, kind) for graph in others]) for kind in kinds}
    largest = max((_radius(graph) for graph in others), default=0.0)
    K, most = np.zeros((len(mine), len(others))), 0
    for i, graph in enumerate(mine):
        rate = kernel.decay * _radius(graph) * largest
        own = {kind: kernel.decay * _of_kind(graph, kind) for kind in kinds}
        own_labels = _numbered(_of_nodes(graph), numbers)
        agree = np.equal.outer(own_labels, labels).astype(np.float64)
        walks, rest, steps, total = agree, 1.0, 0, np.zeros(len(labels))
        while walks.any() and rest > 1e-18 * (1 - rate) / walks.size:
            total += walks.sum(axis=0)
            steps += 1
            rest *= rate
            step = (own[kind] @ walks @ blocks[kind] for kind in kinds)
            walks = sum(step, np.zeros_like(agree)) * agree
        K[i] = np.bincount(owner, weights=total, minlength=len(others))
        most = max(most, steps)
    degrees = [np.diff(g.adjacency.indptr).max(initial=0) for g in (*mine, *others)]
    nodes = max((graph.n for graph in (*mine, *others)), default=0)
    return K, 4 * (most * (2 * max(degrees, default=0) + 8) + 2 * nodes) * UNIT * K


def _numbered(labels: Iterable[Any], numbers: dict[Any, int]) -> np.ndarray:
    """One number for each label, the same for equal ones."""
    return np.array([numbers.setdefault(label, len(numbers)) for label in labels], dtype=np.int64)


def _of_kind(graph: Graph, kind: Any) -> sp.csr_matrix:
    """The adjacency matrix of the edges with a label."""
    chosen = np.array([label == kind for label in _of_edges(graph)], dtype=bool)
    weights = None if graph.weights is None else graph.weights[chosen]
    return Graph(graph.n, graph.edges[chosen], weights=weights).adjacency


def _radius(graph: Graph) -> float:
    return float(np.abs(la.eigvalsh(graph.adjacency.toarray())).max()) if graph.n else 0.0


# ---------------------------------------------------------------------- nodes


def diffusion(kernel: Any, A: Rows, Z: Rows) -> Values:
    """exp(−t L) by scaling and squaring."""
    L = _laplacian(kernel.graph)
    return _entries(la.expm(-kernel.time * L), kernel, A, Z)


def regularized_laplacian(kernel: Any, A: Rows, Z: Rows) -> Values:
    """The inverse of I + t L."""
    L = _laplacian(kernel.graph)
    return _entries(la.inv(np.eye(len(L)) + kernel.time * L), kernel, A, Z)


def _laplacian(graph: Graph) -> np.ndarray:
    A = graph.adjacency.toarray()
    return np.diag(A.sum(axis=1)) - A  # entries of A on the diagonal cancel


def _entries(K: np.ndarray, kernel: Any, A: Rows, Z: Rows) -> Values:
    rows, columns = ([int(node) for node in each.X[each.index]] for each in (A, Z))
    K = K[np.ix_(rows, columns)]
    norm = 1 + kernel.time * float(np.abs(_laplacian(kernel.graph)).sum(axis=0).max(initial=0.0))
    return K, 32 * (kernel.graph.n + 16) * norm * UNIT * np.ones_like(K)
