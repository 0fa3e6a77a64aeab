"""Graphs out of what the user gives, checked for a whole data set at once.

A record is a dict with "n" and "edges", or with "adjacency", and perhaps "node_labels",
"edge_labels" and "weights". Of networkx the attributes "label" (of nodes and edges) and "weight"
are read. An adjacency matrix is sparse or an array; entries other than 1 are weights.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.kernels.graphs._graph import Graph

__all__ = ["parts_of_one", "read_graphs"]

_KEYS = ("n", "edges", "adjacency", "node_labels", "edge_labels", "weights")
_UNUSED = ("node_attributes", "edge_attributes")
_REMEDY = (
    "A sample is a record with 'n' and 'edges', a networkx graph, or a square adjacency matrix."
)


class _Problem(ValueError):
    """What is wrong with a graph; its row is added."""


@dataclass(frozen=True, eq=False)
class _Parts:
    """A graph as it was given: m edges, perhaps in both directions."""

    n: int
    edges: np.ndarray
    node_labels: np.ndarray | None = None
    edge_labels: np.ndarray | None = None
    weights: np.ndarray | None = None


def read_graphs(items: np.ndarray, owner: str) -> np.ndarray:
    """Each item as a `Graph`, in an array of objects; a ValueError names the row that is none."""
    out = items.copy()
    rows = [row for row, item in enumerate(items) if not isinstance(item, Graph)]
    parts = []
    for row in rows:
        try:
            parts.append(_parts(items[row]))
        except _Problem as error:
            raise ValueError(f"{owner}: row {row} {error}") from None
    for row, fields in zip(rows, _checked(parts, rows, owner), strict=True):
        graph = object.__new__(Graph)
        graph.__dict__.update(fields)
        out[row] = graph
    return out


def parts_of_one(graph: Graph) -> dict[str, Any]:
    """The fields of one graph, checked."""
    try:
        given = {name: getattr(graph, name) for name in Graph.__dataclass_fields__}
        return _checked([_of_record(given)], None, "Graph")[0]
    except _Problem as error:
        raise ValueError(f"Graph: it {error}") from None


def _parts(item: Any) -> _Parts:
    if isinstance(item, dict):
        return _of_record(item)
    if sp.issparse(item) or (isinstance(item, np.ndarray) and item.ndim == 2):
        return _of_adjacency(item)
    if hasattr(item, "is_directed") and hasattr(item, "nodes") and hasattr(item, "edges"):
        return _of_networkx(item)
    raise _Problem(f"is {_shown(item)}, not a graph. {_REMEDY}")


def _shown(item: Any) -> str:
    if isinstance(item, np.ndarray):
        return f"an array of shape {item.shape}"
    text = repr(item)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _of_record(record: dict) -> _Parts:
    unknown = sorted(set(map(str, record)) - {*_KEYS, *_UNUSED})
    if unknown:
        raise _Problem(f"has {', '.join(unknown)}; a record of a graph has {', '.join(_KEYS)}.")
    labels = _labels(record.get("node_labels"), "node_labels")
    if "adjacency" in record:
        if "edges" in record or "n" in record:
            raise _Problem("has 'adjacency' and also 'n' or 'edges'; give one of them.")
        found = _of_adjacency(record["adjacency"])
        return _Parts(found.n, found.edges, labels, None, found.weights)
    if "n" not in record and labels is None:
        raise _Problem("has no 'n', the number of nodes.")
    n = record.get("n", len(labels) if labels is not None else 0)
    if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 0:
        raise _Problem(f"has n={n!r}; the number of nodes is an integer that is not negative.")
    edges = _edges(record.get("edges", ()))
    weights = record.get("weights")
    if weights is not None:
        weights = _numbers(weights)
    return _Parts(int(n), edges, labels, _labels(record.get("edge_labels"), "edge_labels"), weights)


def _edges(given: Any) -> np.ndarray:
    try:
        edges = np.asarray(given)
    except ValueError:  # ragged
        edges = np.empty(0, dtype=object)
    if edges.size == 0 and edges.dtype != object:
        return np.zeros((0, 2), np.int64)
    if edges.ndim != 2 or edges.shape[1] != 2 or edges.dtype.kind not in "iu":
        raise _Problem(
            "has edges that are no pairs of node numbers: give an array of integers of shape "
            "(m, 2)."
        )
    return edges.astype(np.int64, copy=False)


def _numbers(given: Any) -> np.ndarray:
    try:
        return np.asarray(given, dtype=np.float64).reshape(-1)
    except (TypeError, ValueError):
        raise _Problem("has weights that are no numbers.") from None


def _labels(given: Any, name: str) -> np.ndarray | None:
    """Integers as int64, all others as Python objects."""
    if given is None:
        return None
    if isinstance(given, np.ndarray) and given.dtype.kind in "iu" and given.ndim == 1:
        return given.astype(np.int64, copy=False)
    values = given.tolist() if isinstance(given, np.ndarray) else list(given)
    if all(type(value) is int for value in values) and values:
        try:
            return np.array(values, dtype=np.int64)
        except OverflowError:
            pass
    out = np.empty(len(values), dtype=object)
    for i, value in enumerate(values):
        if value is None or value != value:
            raise _Problem(f"has no value at {name}[{i}] (None or NaN). Give missing ones a label.")
        if not isinstance(value, Hashable):
            raise _Problem(
                f"has {_shown(value)} at {name}[{i}], which is not hashable. Labels are integers, "
                "texts or tuples of them."
            )
        out[i] = value
    return out


def _of_adjacency(A: Any) -> _Parts:
    A = sp.csr_matrix(A) if not sp.issparse(A) else A.tocsr()
    if A.shape[0] != A.shape[1] or A.dtype.kind not in "biuf":
        raise _Problem(
            f"is a matrix of shape {A.shape}; an adjacency matrix is square, of numbers."
        )
    if not np.isfinite(A.data).all():
        raise _Problem("is an adjacency matrix with NaN or infinity; entries are 0 or weights.")
    if A.nnz and abs(A - A.T).max() != 0:
        raise _Problem("is an adjacency matrix that is not symmetric. Use (A + A.T)/2.")
    upper = sp.triu(A, format="coo")
    upper.sum_duplicates()
    held = upper.data != 0
    weights = upper.data[held].astype(np.float64)
    edges = np.column_stack([upper.row[held], upper.col[held]]).astype(np.int64)
    return _Parts(A.shape[0], edges, None, None, None if (weights == 1).all() else weights)


def _of_networkx(graph: Any) -> _Parts:
    if graph.is_directed():
        raise _Problem("is a directed graph. Use graph.to_undirected().")
    if graph.is_multigraph():
        raise _Problem("is a multigraph. Use networkx.Graph(graph), with weights if they matter.")
    number = {node: i for i, node in enumerate(graph.nodes)}
    edges = [(number[u], number[v]) for u, v in graph.edges]
    found: dict[str, Any] = {}
    of_nodes = [data for _, data in graph.nodes(data=True)]
    of_edges = [data for _, _, data in graph.edges(data=True)]
    for name, data, key in (
        ("node_labels", of_nodes, "label"),
        ("edge_labels", of_edges, "label"),
        ("weights", of_edges, "weight"),
    ):
        held = sum(key in each for each in data)
        if 0 < held < len(data):
            what = "nodes" if name == "node_labels" else "edges"
            raise _Problem(f"has {key!r} at {held} of its {len(data)} {what}. Give it to all.")
        if held:
            found[name] = [each[key] for each in data]
    return _of_record({"n": len(number), "edges": edges, **found})


# ---------------------------------------------------------------------- the whole data set


@dataclass(frozen=True, eq=False)
class _Edges:
    """The edges of all graphs one after the other, as they were given."""

    parts: list[_Parts]
    rows: list[int] | None
    owner: str

    def refuse(self, which: int, what: str) -> None:
        where = "it" if self.rows is None else f"row {self.rows[which]}"
        raise ValueError(f"{self.owner}: {where} {what}")

    def check_sizes(self) -> None:
        for i, part in enumerate(self.parts):
            m = len(part.edges)
            for name, what, size in (
                ("node_labels", "nodes", part.n),
                ("edge_labels", "edges", m),
                ("weights", "edges", m),
            ):
                values = getattr(part, name)
                if values is not None and len(values) != size:
                    self.refuse(i, f"has {len(values)} {name} for {size} {what}.")

    def check_range(self, edges: np.ndarray, graph: np.ndarray, n: np.ndarray) -> None:
        bad = np.flatnonzero(((edges < 0) | (edges >= n[graph, None])).any(axis=1))
        if bad.size:
            which, edge = int(graph[bad[0]]), edges[bad[0]].tolist()
            nodes = f"its nodes are 0 to {n[which] - 1}" if n[which] else "it has no nodes"
            self.refuse(which, f"has the edge {edge}, but {nodes}.")

    def check_weights(self, weights: np.ndarray, graph: np.ndarray) -> None:
        bad = np.flatnonzero(~((weights > 0) & (weights < np.inf)))
        if bad.size:
            which, value = int(graph[bad[0]]), weights[bad[0]]
            self.refuse(which, f"has the weight {value:g}; weights are positive, finite numbers.")

    def check_repeated(
        self, again: np.ndarray, first: np.ndarray, weights: np.ndarray, graph: np.ndarray
    ) -> None:
        """An edge that is given twice has one label and one weight."""
        differs = weights[again] != weights[first]
        ends = np.searchsorted(graph[again], np.arange(len(self.parts) + 1)).tolist()
        start = 0
        for i, part in enumerate(self.parts):
            here = slice(ends[i], ends[i + 1])
            if part.edge_labels is not None and ends[i] < ends[i + 1]:
                mine, theirs = again[here] - start, first[here] - start
                differs[here] |= part.edge_labels[mine] != part.edge_labels[theirs]
            start += len(part.edges)
        bad = again[differs]
        if bad.size:
            which = int(graph[bad[0]])
            edge = self.parts[which].edges[bad[0] - int((graph < which).sum())].tolist()
            self.refuse(
                which,
                f"has the edge {edge} more than once, with different labels or weights. Graphs are "
                "undirected: give each edge once.",
            )


def _checked(parts: list[_Parts], rows: list[int] | None, owner: str) -> list[dict[str, Any]]:
    """The fields of each graph: every edge once, its smaller node first, in order."""
    checks = _Edges(parts, rows, owner)
    checks.check_sizes()
    n = np.array([part.n for part in parts], dtype=np.int64)
    counts = np.array([len(part.edges) for part in parts], dtype=np.int64)
    graph = np.repeat(np.arange(len(parts)), counts)
    edges = np.concatenate([np.zeros((0, 2), np.int64), *(part.edges for part in parts)])
    checks.check_range(edges, graph, n)
    given = (np.ones(len(p.edges)) if p.weights is None else p.weights for p in parts)
    weights = np.concatenate([np.zeros(0), *given])
    checks.check_weights(weights, graph)
    low, high = np.minimum(*edges.T), np.maximum(*edges.T)
    first = (np.cumsum(n) - n)[graph]
    key = (low + first) * max(int(n.sum()), 1) + (high + first)
    order = np.argsort(key, kind="stable")
    is_new = np.diff(key[order], prepend=-1) != 0
    kept = order[is_new]
    checks.check_repeated(order[~is_new], kept[np.cumsum(is_new)[~is_new] - 1], weights, graph)
    pairs = np.column_stack([low, high])[kept]
    ends = np.searchsorted(graph[kept], np.arange(len(parts) + 1)).tolist()
    out, start = [], 0
    for part, (a, b) in zip(parts, pairwise(ends), strict=True):
        own = kept[a:b] - start
        start += len(part.edges)
        out.append(
            {
                "n": part.n,
                "edges": pairs[a:b],
                "node_labels": part.node_labels,
                "edge_labels": None if part.edge_labels is None else part.edge_labels[own],
                "weights": None if part.weights is None else part.weights[own],
            }
        )
    return out
