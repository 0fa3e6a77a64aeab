"""Weisfeiler–Lehman subtree kernels: counts of the colours of refined labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.kernels._base import integer
from mercer.kernels.graphs._graph_set import GraphKernel, GraphSet, require_labels_of_both
from mercer.kernels.graphs._refinement import Refinement, refine
from mercer.kernels.structured._sparse_features import Features, SparseFeatureKernel

__all__ = ["WeisfeilerLehman", "WeisfeilerLehmanOA"]


@dataclass(frozen=True, eq=False)
class ColourFeatures(Features):
    """Counts of colours, one column for each colour of each round."""

    refinement: Refinement
    owner: str

    def columns_in(self, others: Any) -> np.ndarray:
        require_labels_of_both(self.refinement.graphs, others.refinement.graphs, self.owner)
        starts = np.cumsum([0, *others.refinement.sizes])
        rounds = self.refinement.translated(others.refinement)
        moved = [np.where(r >= 0, r + start, -1) for r, start in zip(rounds, starts, strict=False)]
        return np.concatenate(moved).astype(np.int32)


@dataclass(frozen=True, eq=False)
class UnaryFeatures(Features):
    """Counts c as c ones, in columns of their own: products of such rows are Σ min(c, c').

    ``starts`` are the first columns of each count, and the end of the last.
    """

    counts: ColourFeatures
    starts: np.ndarray

    def columns_in(self, others: Any) -> np.ndarray:
        new = self.counts.columns_in(others.counts).astype(np.int64)
        column = np.repeat(np.arange(new.size), np.diff(self.starts))
        number = np.arange(self.starts[-1]) - self.starts[column]  # the how manieth one
        place = others.starts[np.maximum(new, 0)][column] + number if new.size else column
        is_held = (new[column] >= 0) & (place < others.starts[new[column] + 1])
        return np.where(is_held, place, -1).astype(np.int32)


@dataclass(frozen=True, repr=False)
class _WeisfeilerLehman(GraphKernel, SparseFeatureKernel):
    """What both kernels share."""

    depth: int = 3
    edge_labels: bool = True

    is_nonnegative = True

    def __post_init__(self) -> None:
        name = type(self).__name__
        object.__setattr__(self, "depth", integer(name, "depth", self.depth, least=0))
        if not isinstance(self.edge_labels, (bool, np.bool_)):
            raise ValueError(
                f"{name}: edge_labels must be True or False, got {self.edge_labels!r}."
            )

    def _counts(self, samples: Any) -> ColourFeatures:
        """How often each colour occurs in each graph."""
        graphs = GraphSet.of(samples, repr(self))
        refinement = refine(graphs, self.depth, self.edge_labels)
        matrices = []
        for colours, size in zip(refinement.colours, refinement.sizes, strict=True):
            parts = np.ones(colours.size, np.float32), colours.astype(np.int32), graphs.offsets
            counts = sp.csr_matrix(parts, shape=(graphs.n, size))
            counts.sum_duplicates()
            matrices.append(counts)
        matrix = matrices[0] if len(matrices) == 1 else sp.hstack(matrices, format="csr")
        return ColourFeatures(matrix, list, refinement, repr(self))


@dataclass(frozen=True, repr=False)
class WeisfeilerLehman(_WeisfeilerLehman):
    """k(x, z) = Σ_h Σ_c count(c, x) · count(c, z) over the colours c of rounds h = 0, …, depth.

    The colour of a node is its label in round 0; in each further round it is the pair of its colour
    and the multiset of its neighbours' colours, with the labels of the edges to them. A colour of
    round h stands for a tree of depth h. Nodes without labels start alike, so that round 1 counts
    degrees. Weights are not used.

    A colour that no training graph has adds nothing to a prediction. A graph without nodes has the
    values 0.

    **Cost.** The colours of a data set take time proportional to depth · edges; a value is a
    product of two sparse rows, as of a linear kernel.

    **When.** Molecules and other graphs with labelled nodes, of any size: the first to try. Use
    ``Normalize(WeisfeilerLehman(…))`` where graphs differ in size, and choose the depth (1 to 5) by
    a search.

    Parameters
    ----------
    depth : int ≥ 0, default=3
        Rounds of refinement.
    edge_labels : bool, default=True
        Whether labels of edges count, where there are some.

    References
    ----------
    Shervashidze, Schweitzer, van Leeuwen, Mehlhorn and Borgwardt (2011), Weisfeiler-Lehman graph
    kernels.

    Examples
    --------
    >>> from mercer.kernels import WeisfeilerLehman
    >>> path = {"n": 3, "edges": [[0, 1], [1, 2]], "node_labels": ["C", "O", "C"]}
    >>> ring = {"n": 3, "edges": [[0, 1], [1, 2], [2, 0]], "node_labels": ["C", "O", "C"]}
    >>> WeisfeilerLehman(depth=0)([path, ring])
    array([[5., 5.],
           [5., 5.]])
    >>> WeisfeilerLehman(depth=1)([path, ring])
    array([[10.,  6.],
           [ 6., 10.]])
    """

    def features(self, samples: Any) -> Features:
        return self._counts(samples)


@dataclass(frozen=True, repr=False)
class WeisfeilerLehmanOA(_WeisfeilerLehman):
    """k(x, z) = Σ_h Σ_c min(count(c, x), count(c, z)), colours as of `WeisfeilerLehman`.

    That is the value of an optimal assignment of the nodes of x to those of z, where a pair of
    nodes is worth the number of rounds in which both have the same colour. Common colours count
    once for each pair of nodes, so that frequent ones do not outweigh all others.

    A count c is a row of c ones, in columns of its own: φ is sparse and exact.

    **Cost.** As of `WeisfeilerLehman`, with one nonzero for each node and round.

    **When.** As `WeisfeilerLehman`; often a little better, and less sensitive to the depth.

    Parameters
    ----------
    depth : int ≥ 0, default=3
    edge_labels : bool, default=True

    References
    ----------
    Kriege, Giscard and Wilson (2016), On valid optimal assignment kernels and applications to graph
    classification.

    Examples
    --------
    >>> from mercer.kernels import WeisfeilerLehmanOA
    >>> path = {"n": 3, "edges": [[0, 1], [1, 2]], "node_labels": ["C", "O", "C"]}
    >>> ring = {"n": 3, "edges": [[0, 1], [1, 2], [2, 0]], "node_labels": ["C", "O", "C"]}
    >>> WeisfeilerLehmanOA(depth=1)([path, ring])
    array([[6., 4.],
           [4., 6.]])
    """

    def features(self, samples: Any) -> Features:
        counts = self._counts(samples)
        matrix = counts.matrix
        each = matrix.data.astype(np.int64)
        most = np.zeros(matrix.shape[1], np.int64)
        np.maximum.at(most, matrix.indices, each)
        starts = np.concatenate([[0], np.cumsum(most)])
        ends = np.cumsum(each)
        number = np.arange(each.sum()) - np.repeat(ends - each, each)
        columns = np.repeat(starts[matrix.indices], each) + number
        indptr = np.concatenate([[0], ends])[matrix.indptr]
        ones = np.ones(columns.size, np.float32)
        parts = ones, columns.astype(np.int32), indptr.astype(np.int32)
        unary = sp.csr_matrix(parts, shape=(matrix.shape[0], int(starts[-1])))
        return UnaryFeatures(unary, list, counts, starts)
