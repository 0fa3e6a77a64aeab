"""One graph as kernels take it: undirected, with labels and weights or without."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

__all__ = ["Graph"]


@dataclass(frozen=True, repr=False, eq=False)
class Graph:
    """An undirected graph with the nodes 0, …, n − 1.

    Kernels on graphs read records, networkx graphs and adjacency matrices, and make each a Graph.
    An edge may be given in one direction or in both; it is one edge.

    Parameters
    ----------
    n : int ≥ 0
        Number of nodes.
    edges : array-like of shape (m, 2), default=()
        Numbers of nodes. An edge from a node to itself is allowed.
    node_labels : array-like of length n, optional
        Integers, texts, or other hashable values.
    edge_labels : array-like of length m, optional
    weights : array-like of length m, optional
        Positive numbers; 1 without them.

    Examples
    --------
    >>> from mercer.kernels import Graph
    >>> Graph(3, [[0, 1], [2, 1]], node_labels=["C", "O", "C"])
    Graph(n=3, edges=[[0, 1], [1, 2]], node_labels=['C', 'O', 'C'])
    """

    n: int
    edges: Any = ()
    node_labels: Any = None
    edge_labels: Any = None
    weights: Any = None

    def __post_init__(self) -> None:
        from mercer.kernels.graphs._reading import parts_of_one

        for name, value in parts_of_one(self).items():
            object.__setattr__(self, name, value)

    @classmethod
    def of(cls, graph: Any) -> Graph:
        """The Graph of a record, a networkx graph or an adjacency matrix."""
        from mercer.kernels.graphs._reading import read_graphs

        one = np.empty(1, dtype=object)
        one[0] = graph
        return read_graphs(one, "Graph")[0]

    @property
    def adjacency(self) -> sp.csr_matrix:
        """The symmetric matrix of weights, (n, n)."""
        first, second = self.edges.T
        weights = np.ones(len(self.edges)) if self.weights is None else self.weights
        once = first == second
        rows, columns = np.r_[first, second[~once]], np.r_[second, first[~once]]
        data = np.r_[weights, weights[~once]]
        return sp.csr_matrix((data, (rows, columns)), shape=(self.n, self.n))

    @cached_property
    def laplacian_spectrum(self) -> tuple[np.ndarray, np.ndarray]:
        """Eigenvalues and eigenvectors of L = D − A."""
        A = self.adjacency.toarray()
        np.fill_diagonal(A, 0.0)  # an edge to itself does not change L
        values, vectors = np.linalg.eigh(np.diag(A.sum(axis=1)) - A)
        return np.maximum(values, 0.0), vectors

    def __getstate__(self) -> dict:
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    def __setstate__(self, state: dict) -> None:
        self.__dict__.update(state)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Graph):
            return NotImplemented
        return self.n == other.n and all(
            _are_equal(getattr(self, name), getattr(other, name))
            for name in ("edges", "node_labels", "edge_labels", "weights")
        )

    def __hash__(self) -> int:
        return hash((self.n, self.edges.tobytes()))

    def __repr__(self) -> str:
        is_small = max(self.n, len(self.edges)) <= 8
        edges = f"edges={self.edges.tolist()}" if is_small else f"<{len(self.edges)} edges>"
        given = [f"n={self.n}", edges]
        for name in ("node_labels", "edge_labels", "weights"):
            values = getattr(self, name)
            if values is not None:
                given.append(f"{name}={values.tolist()}" if is_small else name)
        return f"Graph({', '.join(given)})"


def _are_equal(first: Any, second: Any) -> bool:
    if first is None or second is None:
        return first is second
    return first.shape == second.shape and bool((first == second).all())
