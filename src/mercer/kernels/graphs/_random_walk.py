"""The geometric random-walk kernel: pairs of walks in two graphs that have the same labels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer.kernels._base import Kernel, real
from mercer.kernels._compiled.elementwise import flat_rows
from mercer.kernels._compiled.random_walks import spectral_sums, walk_sums
from mercer.kernels._rounding import Rounding, smallest, unit
from mercer.kernels._sample_block import diagonal_of_tiles
from mercer.kernels._samples import SampleBlock, Samples
from mercer.kernels.graphs._graph_set import (
    GraphKernel,
    GraphSet,
    Labels,
    require_labels_of_both,
    translation,
)

__all__ = ["RandomWalk"]


@dataclass(frozen=True, eq=False)
class _Walks:
    """What is prepared of graphs.

    Attributes
    ----------
    graphs : GraphSet
    values, weights : float64 arrays, or None where there are labels
        Eigenvalues μ of each adjacency matrix, and (u·1)² of their eigenvectors u.
    radii : float64 array
        The largest ``|μ|`` of each graph.
    """

    graphs: GraphSet
    values: np.ndarray | None
    weights: np.ndarray | None
    radii: np.ndarray

    @property
    def has_labels(self) -> bool:
        return self.values is None


@dataclass(frozen=True, repr=False)
class RandomWalk(GraphKernel):
    """k(x, z) = Σ_k λ^k · (number of pairs of walks of k edges, one in x and one in z, that agree).

    Two walks agree if the labels of their nodes and edges are the same, in their order; without
    labels all do. The weight of a walk is the product of its edges' weights. With A the adjacency
    matrix of the product graph, k = 1ᵀ(I − λA)⁻¹1.

    The series converges if λ ρ(x) ρ(z) < 1, with ρ the spectral radius of the adjacency matrix,
    which is at most the largest degree; larger λ are refused. A graph without nodes has the values
    0.

    **Cost.** ``|x| |z|`` steps for a value without labels, from the eigenvalues of each graph;
    with labels ``2 |x| edges(z) + 2 |z| edges(x)`` for each term of the series, about
    40/log(1/(λ ρ(x) ρ(z))) at most. The series ends where its rest is below the rounding.

    **When.** Small graphs, weighted ones, and as a baseline: `WeisfeilerLehman` is faster and
    mostly better.

    Parameters
    ----------
    decay : float > 0 or None, default=None
        λ. None: half of the largest possible one, ½/ρ² with ρ that of the training graphs.

    References
    ----------
    Vishwanathan, Schraudolph, Kondor and Borgwardt (2010), Graph kernels.

    Examples
    --------
    >>> from mercer.kernels import RandomWalk
    >>> path = {"n": 3, "edges": [[0, 1], [1, 2]]}
    >>> edge = {"n": 2, "edges": [[0, 1]]}
    >>> RandomWalk(decay=0.1)([path, edge]).round(4)
    array([[11.0417,  6.9388],
           [ 6.9388,  4.4444]])
    """

    decay: float | None = None

    is_psd = is_nonnegative = True

    def __post_init__(self) -> None:
        if self.decay is not None:
            decay = real("RandomWalk", "decay", self.decay, least=0, open_left=True)
            object.__setattr__(self, "decay", decay)

    def resolved(self, X: Any) -> Kernel:
        if self.decay is not None:
            return self
        largest = float(_radii(GraphSet.of(X, repr(self))).max(initial=0.0))
        return replace(self, decay=0.5 / largest**2 if largest > 0 else 0.5)

    def prepare(self, samples: Samples) -> Samples:
        graphs = GraphSet.of(samples.X, repr(self))
        values = weights = None
        if graphs.node_labels.are_given or graphs.edge_labels.are_given:
            radii = _radii(graphs)
        else:
            spectra = [_spectrum(graphs, i) for i in range(graphs.n)]
            values = np.concatenate([np.zeros(0), *(value for value, _ in spectra)])
            weights = np.concatenate([np.zeros(0), *(weight for _, weight in spectra)])
            radii = np.array([np.abs(value).max(initial=0.0) for value, _ in spectra])
        self._require_convergence(radii)
        prepared = Samples(samples.X)
        prepared.prepared["walks"] = _Walks(graphs, values, weights, radii)
        return prepared

    def _rate(self) -> float:
        if self.decay is None:
            raise ValueError(
                "RandomWalk: decay is None, which a fit replaces by ½/ρ² of the training graphs; "
                "give a number, or use RandomWalk().resolved(graphs)."
            )
        return self.decay

    def _require_convergence(self, radii: np.ndarray) -> None:
        rate = self._rate()
        worst = int(np.argmax(radii)) if radii.size else 0
        if radii.size and not rate * radii[worst] ** 2 < 1 - 1e-6:
            raise ValueError(
                f"{self!r}: row {worst} has the spectral radius {radii[worst]:.4g}, and the sum "
                "over walks does not converge. Use a decay below 1/ρ² = "
                f"{1 / radii[worst] ** 2:.3g}."
            )

    @staticmethod
    def _walks(points: Samples) -> _Walks:
        return points.prepared["walks"]

    def cost_per_entry(self, samples: Samples) -> float:
        walks = self._walks(samples)
        nodes = float(walks.graphs.sizes.mean()) if walks.graphs.n else 0.0
        if not walks.has_labels:
            return 1 + 4 * nodes**2
        ends = walks.graphs.neighbours.size / max(walks.graphs.n, 1)
        return 1 + 30 * nodes * (ends + nodes)

    def tile(self, A: SampleBlock, B: SampleBlock, out: np.ndarray) -> None:
        mine, theirs = self._walks(A.points), self._walks(B.points)
        if A.points is not B.points:
            require_labels_of_both(mine.graphs, theirs.graphs, repr(self))
        if mine.values is not None and theirs.values is not None:
            spectral_sums(
                mine.graphs.offsets,
                mine.values,
                mine.weights,
                A.row_numbers,
                theirs.graphs.offsets,
                theirs.values,
                theirs.weights,
                B.row_numbers,
                self._rate(),
                *flat_rows(out),
            )
            return
        walk_sums(
            _side(mine.graphs, theirs.graphs),
            A.row_numbers,
            mine.radii,
            _side(theirs.graphs, theirs.graphs),
            B.row_numbers,
            theirs.radii,
            self._rate(),
            *flat_rows(out),
        )

    def diag(self, A: SampleBlock) -> np.ndarray:
        return diagonal_of_tiles(self, A, 1)

    def rounding(self, points: Samples, dtype: Any) -> Rounding:
        """Of eigenvalues, or of the terms of the series; 1ᵀ(I − λA)⁻¹1 is at least ``|x||z|/2``.

        A change of A by E changes (I − λA)⁻¹ by λ (I − λA)⁻¹ E (I − λA)⁻¹.
        """
        walks = self._walks(points)
        sizes, degree = walks.graphs.sizes, float(np.diff(walks.graphs.indptr).max(initial=0))
        gap = max(1.0 - self._rate() * float(walks.radii.max(initial=0.0)) ** 2, 1e-6)
        if walks.has_labels:
            relative = (8 + sizes + 4 * (degree + 4) * 40 / gap) * unit(np.float64)
        else:
            relative = 16 * (sizes + 8) / gap**2 * unit(np.float64)
        ones = np.ones(points.n)
        relative = relative + (0.0 if np.dtype(dtype) == np.float64 else unit(dtype))
        return Rounding.of(relative, points.n, (smallest(dtype) * ones, ones))


def _matrix(graphs: GraphSet, which: int) -> np.ndarray:
    """The adjacency matrix of a graph."""
    nodes, edges = graphs.part(which)
    A = np.zeros((nodes.stop - nodes.start,) * 2)
    degree = np.diff(graphs.indptr[nodes.start : nodes.stop + 1])
    row = np.repeat(np.arange(len(A)), degree)
    A[row, graphs.neighbours[edges] - nodes.start] = graphs.weights[edges]
    return A


def _spectrum(graphs: GraphSet, which: int) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues, and the squared sums of the eigenvectors' entries."""
    values, vectors = np.linalg.eigh(_matrix(graphs, which))
    return values, vectors.sum(axis=0) ** 2


def _radii(graphs: GraphSet) -> np.ndarray:
    """The spectral radius of each graph."""
    each = (np.linalg.eigvalsh(_matrix(graphs, i)) for i in range(graphs.n))
    return np.array([np.abs(values).max(initial=0.0) for values in each])


def _side(mine: GraphSet, theirs: GraphSet) -> tuple:
    """The arrays of a side as compiled code takes them, with the codes of the other's labels."""
    labels = _codes(mine.node_labels, theirs.node_labels)
    kinds = _codes(mine.edge_labels, theirs.edge_labels)
    n_kinds = len(theirs.edge_labels.alphabet)
    return mine.offsets, mine.indptr, mine.neighbours, mine.weights, labels, kinds, n_kinds


def _codes(mine: Labels, theirs: Labels) -> np.ndarray:
    """My codes by their numbers; −1 for labels that they do not have."""
    return mine.codes if mine is theirs else translation(mine, theirs)[mine.codes]
