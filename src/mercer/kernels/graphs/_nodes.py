"""Kernels between the nodes of one graph: functions of its Laplacian."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mercer.kernels._base import real
from mercer.kernels._rounding import Rounding, unit
from mercer.kernels._samples import SampleBlock, Samples
from mercer.kernels.graphs._graph import Graph
from mercer.kernels.structured._sample_types import as_objects
from mercer.kernels.structured._sparse_features import StructuredKernel

__all__ = ["Diffusion", "RegularizedLaplacian"]


class NodeKernel(StructuredKernel):
    """k(i, j) = f(L)_ij with the Laplacian L of a graph; a subclass has f."""

    graph: Graph
    time: float

    sample_type = "nodes"
    is_psd = is_nonnegative = True
    # The matrix of all nodes is held: 800 MB.
    most_nodes: ClassVar[int] = 10_000

    def __post_init__(self) -> None:
        name = type(self).__name__
        graph = self.graph if isinstance(self.graph, Graph) else Graph.of(self.graph)
        if graph.n > self.most_nodes:
            raise ValueError(
                f"{name}: the graph has {graph.n:,} nodes; a matrix of all nodes is computed, of "
                f"at most {self.most_nodes:,}. Take a part of the graph."
            )
        object.__setattr__(self, "graph", graph)
        object.__setattr__(self, "time", real(name, "time", self.time, least=0, open_left=True))

    def _of_eigenvalues(self, values: np.ndarray) -> np.ndarray:
        """f of the eigenvalues of L."""
        raise NotImplementedError

    def read(self, X: Any) -> np.ndarray:
        """Numbers of nodes, also as a column of shape (n, 1)."""
        if isinstance(X, np.ndarray) and X.ndim == 2 and X.shape[1] == 1:
            X = X[:, 0]
        return as_objects(X)

    def prepare(self, samples: Samples) -> Samples:
        n = self.graph.n
        for row, node in enumerate(samples.X):
            is_number = isinstance(node, (int, np.integer)) and not isinstance(node, bool)
            if not is_number or not 0 <= node < n:
                raise ValueError(
                    f"{type(self).__name__}: row {row} is {repr(node)[:40]}, not a node; samples "
                    f"are integers from 0 to {n - 1}, positions in the graph."
                )
        prepared = Samples(samples.X)
        prepared.prepared["nodes"] = np.array(list(samples.X), dtype=np.int64)
        return prepared

    def _matrix(self) -> np.ndarray:
        """K of all nodes, computed once for this kernel."""
        known = self.__dict__.get("_K")
        if known is None:
            values, vectors = self.graph.laplacian_spectrum
            root = vectors * np.sqrt(self._of_eigenvalues(values))
            known = np.maximum(root @ root.T, 0.0)  # all entries are at least 0
            self.__dict__["_K"] = known
        return known

    def __getstate__(self) -> dict:
        return {name: value for name, value in self.__dict__.items() if name != "_K"}

    def __setstate__(self, state: dict) -> None:
        self.__dict__.update(state)

    def cost_per_entry(self, samples: Samples) -> float:
        return 1.0

    def tile(self, A: SampleBlock, B: SampleBlock, out: np.ndarray) -> None:
        rows, columns = (each.points.prepared["nodes"][each.index] for each in (A, B))
        out[...] = self._matrix()[np.ix_(rows, columns)]

    def diag(self, A: SampleBlock) -> np.ndarray:
        return np.diagonal(self._matrix())[A.points.prepared["nodes"][A.index]]

    def rounding(self, points: Samples, dtype: Any) -> Rounding:
        """Of the eigenvalues of L, whose f changes with a slope of at most t, and of a product."""
        values, _ = self.graph.laplacian_spectrum
        lost = (
            8 * (self.graph.n + 16) * (1 + self.time * values.max(initial=0.0)) * unit(np.float64)
        )
        ones = np.ones(points.n)
        return Rounding.of(
            0.0 if np.dtype(dtype) == np.float64 else unit(dtype), points.n, (lost * ones, ones)
        )


@dataclass(frozen=True, repr=False)
class Diffusion(NodeKernel):
    """k(i, j) = exp(−t L)_ij between the nodes i, j of one graph, with the Laplacian L = D − A.

    The heat that is at node j after the time t if a unit of it starts at node i. Samples are
    numbers of nodes; those of networkx graphs count in the order of ``list(graph.nodes)``.

    **Cost.** The eigenvectors of L once for a graph, n³ steps (of up to 10,000 nodes), whatever the
    times tried; a value is then read from a matrix.

    **When.** A few nodes of a network are labelled, and the others are to be predicted: citations,
    proteins that interact. Small t: neighbours matter, large t: the whole graph.

    Parameters
    ----------
    graph : Graph, record, networkx graph or adjacency matrix
    time : float > 0, default=1
        t.

    References
    ----------
    Kondor and Lafferty (2002), Diffusion kernels on graphs and other discrete input spaces.

    Examples
    --------
    >>> from mercer.kernels import Diffusion
    >>> path = {"n": 3, "edges": [[0, 1], [1, 2]]}
    >>> Diffusion(path, time=0.5)([0, 1, 2]).round(3)
    array([[0.674, 0.259, 0.067],
           [0.259, 0.482, 0.259],
           [0.067, 0.259, 0.674]])
    """

    graph: Any
    time: float = 1.0

    def _of_eigenvalues(self, values: np.ndarray) -> np.ndarray:
        return np.exp(-self.time * values)


@dataclass(frozen=True, repr=False)
class RegularizedLaplacian(NodeKernel):
    """k(i, j) = (I + t L)⁻¹_ij between the nodes i, j of one graph, with the Laplacian L = D − A.

    As `Diffusion`, with values that fall more slowly with the distance: the time that a walk from i
    which ends at random spends at j.

    **Cost.** As of `Diffusion`.

    **When.** As `Diffusion`, where labelled nodes are far between.

    Parameters
    ----------
    graph : Graph, record, networkx graph or adjacency matrix
    time : float > 0, default=1
        t.

    References
    ----------
    Smola and Kondor (2003), Kernels and regularization on graphs.

    Examples
    --------
    >>> from mercer.kernels import RegularizedLaplacian
    >>> path = {"n": 3, "edges": [[0, 1], [1, 2]]}
    >>> RegularizedLaplacian(path, time=1)([0, 1, 2])
    array([[0.625, 0.25 , 0.125],
           [0.25 , 0.5  , 0.25 ],
           [0.125, 0.25 , 0.625]])
    """

    graph: Any
    time: float = 1.0

    def _of_eigenvalues(self, values: np.ndarray) -> np.ndarray:
        return 1 / (1 + self.time * values)
