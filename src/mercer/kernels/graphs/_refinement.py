"""Weisfeiler–Lehman refinement: colours of nodes by their labels and those of their neighbours.

A node's colour of round 0 is its label; in each further round it is the pair of its own colour and
the sorted colours of its neighbours, with the labels of the edges to them. Equal pairs have equal
numbers. Pairs are compared themselves, not by hashes alone: no two different ones share a number.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mercer.kernels._compiled.graphs import number_rows
from mercer.kernels.graphs._graph_set import GraphSet, Labels, translation

__all__ = ["Refinement", "refine"]


@dataclass(frozen=True, eq=False)
class _Round:
    """The colours of a round: for each its own colour and codes of its neighbours, of the round
    before. A code is the label of the edge times the number of those colours, plus the colour.
    """

    own: np.ndarray
    indptr: np.ndarray
    codes: np.ndarray
    n_before: int

    @property
    def n(self) -> int:
        return self.own.size


@dataclass(frozen=True, eq=False)
class Refinement:
    """Colours of all nodes of a data set, in all rounds.

    Attributes
    ----------
    colours : list of int64 arrays
        Colours of the nodes in each round, 0, …, numbered from 0 in every round.
    """

    graphs: GraphSet
    edge_labels: Labels
    colours: list[np.ndarray]
    rounds: list[_Round]

    @cached_property
    def sizes(self) -> list[int]:
        """The number of colours of each round."""
        return [len(self.graphs.node_labels.alphabet), *(each.n for each in self.rounds)]

    def translated(self, others: Refinement) -> list[np.ndarray]:
        """For each round the numbers that my colours have in another refinement; −1 if none."""
        labels = translation(self.edge_labels, others.edge_labels)
        new = translation(self.graphs.node_labels, others.graphs.node_labels)
        out = [new]
        for mine, theirs in zip(self.rounds, others.rounds, strict=True):
            out.append(_translated(mine, theirs, labels, out[-1]))
        return out


def refine(graphs: GraphSet, depth: int, use_edge_labels: bool) -> Refinement:
    """Colours of ``depth`` rounds after that of the labels."""
    of_edges = graphs.edge_labels
    if not use_edge_labels:
        of_edges = Labels(np.zeros_like(of_edges.codes), [None], None)
    colours, rounds = [graphs.node_labels.codes], []
    n_colours = len(graphs.node_labels.alphabet)
    for _ in range(depth):
        codes = of_edges.codes * n_colours + colours[-1][graphs.neighbours]
        codes = _sorted_within(codes, graphs.indptr)
        number, first = number_rows(colours[-1], graphs.indptr, codes)
        indptr, chosen = _rows(graphs.indptr, first)
        rounds.append(_Round(colours[-1][first], indptr, codes[chosen], n_colours))
        colours.append(number)
        n_colours = first.size
    return Refinement(graphs, of_edges, colours, rounds)


def _translated(
    mine: _Round, theirs: _Round, labels: np.ndarray, colours: np.ndarray
) -> np.ndarray:
    """My colours of a round by their numbers, given those of the round before."""
    label, colour = np.divmod(mine.codes, mine.n_before)
    label, colour = labels[label], colours[colour]
    is_known = colours[mine.own] >= 0
    unknown = np.flatnonzero((label < 0) | (colour < 0))
    is_known[np.searchsorted(mine.indptr, unknown, side="right") - 1] = False
    chosen = np.flatnonzero(is_known)
    indptr, within = _rows(mine.indptr, chosen)
    codes = _sorted_within((label * theirs.n_before + colour)[within], indptr)
    number, _ = number_rows(
        np.concatenate([theirs.own, colours[mine.own][chosen]]),
        np.concatenate([theirs.indptr, theirs.indptr[-1] + indptr[1:]]),
        np.concatenate([theirs.codes, codes]),
    )
    found = number[theirs.n :]  # their colours are different ones: they have the numbers 0, …
    out = np.full(mine.n, -1, np.int64)
    out[chosen] = np.where(found < theirs.n, found, -1)
    return out


def _rows(indptr: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Some rows of a ragged array: their own indptr, and which items they have."""
    sizes = (indptr[1:] - indptr[:-1])[rows]
    out = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return out, np.arange(out[-1]) + np.repeat(indptr[rows] - out[:-1], sizes)


def _sorted_within(codes: np.ndarray, indptr: np.ndarray) -> np.ndarray:
    """The codes sorted within each row of a ragged array."""
    rows = indptr.size - 1
    row = np.repeat(np.arange(rows), np.diff(indptr))
    size = int(codes.max(initial=0)) + 1
    if rows * size < 1 << 62:
        key = row * size + codes
        key.sort()
        return key - row * size
    return codes[np.lexsort((codes, row))]
