"""The graphs of a data set as flat arrays: what kernels on graphs prepare first.

Nodes are numbered through all graphs. Codes number the labels that occur in the data set; between
two data sets they are translated (`translation`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.kernels.graphs._graph import Graph
from mercer.kernels.graphs._reading import read_graphs
from mercer.kernels.structured._sample_types import as_objects
from mercer.kernels.structured._sparse_features import StructuredKernel

__all__ = ["GraphKernel", "GraphSet", "Labels", "require_labels_of_both", "translation"]


class GraphKernel(StructuredKernel):
    """A kernel whose samples are graphs."""

    sample_type = "graphs"

    def read(self, X: Any) -> np.ndarray:
        """Each sample as a `Graph`."""
        return read_graphs(as_objects(X), repr(self))


@dataclass(frozen=True, eq=False)
class Labels:
    """Labels of all nodes, or of all edges, as codes.

    Attributes
    ----------
    codes : int64 array
    alphabet : list
        The label of each code; [None] where there are no labels.
    are_given : bool or None
        None if there is nothing to be labelled.
    """

    codes: np.ndarray
    alphabet: list[Any]
    are_given: bool | None


@dataclass(frozen=True, eq=False)
class GraphSet:
    """All graphs, one after the other.

    Attributes
    ----------
    offsets : int64 array of length n + 1
        The first node of each graph.
    indptr, neighbours : int64 arrays
        The neighbours of node v are ``neighbours[indptr[v]:indptr[v + 1]]``.
    weights : float64 array
        Of the edges to these neighbours.
    node_labels, edge_labels : Labels
        Codes of nodes, and of the edges to these neighbours.
    is_weighted : bool array
        Which of the graphs have weights other than 1.
    """

    offsets: np.ndarray
    indptr: np.ndarray
    neighbours: np.ndarray
    weights: np.ndarray
    node_labels: Labels
    edge_labels: Labels
    is_weighted: np.ndarray

    @property
    def n(self) -> int:
        return self.offsets.size - 1

    @property
    def sizes(self) -> np.ndarray:
        """Nodes of each graph."""
        return np.diff(self.offsets)

    @classmethod
    def of(cls, samples: Any, owner: str) -> GraphSet:
        """Those of the samples; a ValueError names rows of which some have labels, and some not."""
        graphs: list[Graph] = list(read_graphs(as_objects(samples), owner))
        offsets = np.concatenate([[0], np.cumsum([graph.n for graph in graphs])]).astype(np.int64)
        counts = [len(graph.edges) for graph in graphs]
        edges = np.concatenate([np.zeros((0, 2), np.int64), *(g.edges for g in graphs)])
        first, second = (edges + np.repeat(offsets[:-1], counts)[:, None]).T
        number = np.arange(len(edges))
        other = first != second  # an edge from a node to itself has one end
        begin, end = np.r_[first, second[other]], np.r_[second, first[other]]
        order = np.argsort(begin, kind="stable")
        edge = np.r_[number, number[other]][order]
        indptr = np.searchsorted(begin[order], np.arange(offsets[-1] + 1)).astype(np.int64)
        of_edges = _labels(graphs, "edge_labels", counts, owner)
        given = (np.ones(len(g.edges)) if g.weights is None else g.weights for g in graphs)
        weights = np.concatenate([np.zeros(0), *given])
        weighted = [g.weights is not None and bool((g.weights != 1).any()) for g in graphs]
        return cls(
            offsets,
            indptr,
            end[order],
            weights[edge],
            _labels(graphs, "node_labels", [graph.n for graph in graphs], owner),
            Labels(of_edges.codes[edge], of_edges.alphabet, of_edges.are_given),
            np.array(weighted, dtype=bool),
        )

    def part(self, which: int) -> tuple[slice, slice]:
        """Nodes, and edges as they are listed here, of a graph."""
        start, stop = int(self.offsets[which]), int(self.offsets[which + 1])
        return slice(start, stop), slice(int(self.indptr[start]), int(self.indptr[stop]))


def _labels(graphs: Sequence[Graph], name: str, counts: Sequence[int], owner: str) -> Labels:
    """Codes of the labels of all graphs; of those that have some, all must."""
    held = [i for i, size in enumerate(counts) if size]
    labelled = [i for i in held if getattr(graphs[i], name) is not None]
    size = sum(counts)
    if not labelled:
        return Labels(np.zeros(size, np.int64), [None], False if held else None)
    if len(labelled) < len(held):
        without = next(i for i in held if getattr(graphs[i], name) is None)
        raise ValueError(
            f"{owner}: row {without} has no {name}, but row {labelled[0]} has. Give labels to all "
            "graphs or to none (one label for all of its nodes, or edges, will do)."
        )
    parts = [getattr(graphs[i], name) for i in held]
    if all(part.dtype == np.int64 for part in parts):
        found, codes = np.unique(np.concatenate(parts), return_inverse=True)
        return Labels(codes.astype(np.int64), found.tolist(), True)
    number: dict[Any, int] = {}
    values = (value for part in parts for value in part.tolist())
    codes = np.array([number.setdefault(value, len(number)) for value in values], dtype=np.int64)
    return Labels(codes, list(number), True)


def translation(mine: Labels, theirs: Labels) -> np.ndarray:
    """The code that each of my labels has among theirs; −1 if it has none."""
    number = {label: code for code, label in enumerate(theirs.alphabet)}
    return np.array([number.get(label, -1) for label in mine.alphabet], dtype=np.int64)


def require_labels_of_both(mine: GraphSet, theirs: GraphSet, owner: str) -> None:
    """Labelled graphs are not compared with graphs without labels."""
    for name in ("node_labels", "edge_labels"):
        have, others = (getattr(each, name).are_given for each in (mine, theirs))
        if have is not None and others is not None and have != others:
            raise ValueError(
                f"{owner}: the graphs have {'' if have else 'no '}{name}, but those they are "
                f"compared with (of the training set) have {'none' if have else 'some'}. Give "
                "labels to both or to none."
            )
