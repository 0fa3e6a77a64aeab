"""Arrays of graphs as flat arrays: numbers of nodes and edges, and what all of them have.

============  ===========================================================================
part          is
============  ===========================================================================
n, m          nodes and edges of each graph
edges         (edges of all, 2), the node numbers of each graph from 0
node_labels   of all graphs that have some, one after the other; ``has_node_labels`` which
edge_labels   the same
weights       the same
============  ===========================================================================
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.kernels import Graph
from mercer.persistence._validity import LIMITS

__all__ = ["pack_graphs", "unpack_graphs"]

_OPTIONAL = ("node_labels", "edge_labels", "weights")


def pack_graphs(items: np.ndarray) -> dict[str, np.ndarray] | None:
    """The parts; None if something else is among the items."""
    if not items.size or not all(type(item) is Graph for item in items):
        return None
    parts = {
        "n": np.array([item.n for item in items], dtype=np.int64),
        "m": np.array([len(item.edges) for item in items], dtype=np.int64),
        "edges": np.concatenate([item.edges for item in items]),
    }
    for name in _OPTIONAL:
        held = [getattr(item, name) for item in items]
        given = [values for values in held if values is not None]
        if given:
            kinds = {values.dtype for values in given if values.size}
            dtype = kinds.pop() if len(kinds) == 1 else np.dtype(object)
            parts[name] = np.concatenate([values.astype(dtype) for values in given])
            parts[f"has_{name}"] = np.array([values is not None for values in held], dtype=bool)
    return parts


def unpack_graphs(parts: dict[str, Any]) -> np.ndarray:
    """What `pack_graphs` made; a ValueError if the parts do not fit, or are no graphs."""
    n, m = _counts(parts.get("n")), _counts(parts.get("m"))
    if n.shape != m.shape or min(n.min(initial=0), m.min(initial=0)) < 0:
        raise ValueError("the sizes of graphs do not fit each other")
    edges = parts.get("edges")
    ends = 2 * len(edges) if isinstance(edges, np.ndarray) and edges.ndim else 0
    if sum(n.tolist()) > LIMITS.graph_nodes + ends:  # without overflow
        raise ValueError(f"graphs have more than {LIMITS.graph_nodes:,} nodes without edges")
    columns = [_cut(edges, m, np.ones(len(m), bool))]
    for name in _OPTIONAL:
        held = parts.get(f"has_{name}")
        if name in parts:
            columns.append(_cut(parts[name], n if name == "node_labels" else m, held))
        else:
            columns.append([None] * len(n))
    out: Any = np.empty(len(n), dtype=object)
    for i, fields in enumerate(zip(*columns, strict=True)):
        out[i] = Graph(int(n[i]), *fields)  # checks the numbers of nodes
    return out


def _counts(given: Any) -> np.ndarray:
    if not isinstance(given, np.ndarray) or given.dtype != np.int64 or given.ndim != 1:
        raise ValueError("the sizes of graphs are no whole numbers")
    return given


def _cut(values: Any, sizes: np.ndarray, held: Any) -> list[Any]:
    """The part of each graph; None for those that have none."""
    if not isinstance(values, np.ndarray) or not isinstance(held, np.ndarray):
        raise ValueError("graphs are made of something else than arrays")
    if held.dtype != bool or held.shape != sizes.shape:
        raise ValueError("the parts of graphs do not fit each other")
    ends = np.cumsum(np.where(held, sizes, 0))
    if values.ndim == 0 or (ends[-1] if ends.size else 0) != len(values):
        raise ValueError("the parts of graphs do not fit their sizes")
    starts = np.concatenate([[0], ends[:-1]])
    return [
        values[start:stop] if has else None
        for start, stop, has in zip(starts.tolist(), ends.tolist(), held.tolist(), strict=True)
    ]
