"""Data sets by name: from the folder named by ``MERCER_DATA``, else from OpenML.

A file ``<name>.npz`` holds dense arrays ``X, y`` (and ``X_test, y_test`` where there is a canonical
split), CSR parts ``data, indices, indptr, shape, y`` (and ``test_data, …, y_test``), texts,
``text_bytes`` (UTF-8) cut by ``text_offsets``, and ``y`` (and ``test_text_bytes, …, y_test``), time
series, ``series_values`` (steps, channels) cut by ``series_offsets`` (and ``test_series_values,
…``), or graphs: ``edges`` between the nodes of all graphs, ``graph_indicator`` and ``node_labels``
of the nodes, and perhaps ``edge_labels``.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

__all__ = ["DataSet", "MissingData", "load"]


class MissingData(Exception):
    """A data set that is neither on disk nor to be had from OpenML."""


@dataclass(frozen=True, eq=False)
class DataSet:
    """Rows and targets; the test part is None where there is no canonical split."""

    X: Any
    y: np.ndarray
    X_test: Any = None
    y_test: np.ndarray | None = None


@dataclass(frozen=True)
class _OpenML:
    """Where OpenML has a set; the first ``n_train`` rows are the canonical training part."""

    data_id: int
    n_train: int | None = None


_OPENML = {
    "a9a": _OpenML(1430, 32_561),
    "covtype": _OpenML(1596),
    "cpusmall": _OpenML(562),
    "ijcnn1": _OpenML(1575, 49_990),
    "letter": _OpenML(6, 15_000),
    "mnist": _OpenML(554, 60_000),
    "satimage": _OpenML(182, 4_435),
    "spambase": _OpenML(44),
    "w8a": _OpenML(1581, 49_749),
}


def load(name: str) -> DataSet:
    """The data set ``name``: numbers in float64, or a list of texts, series or graphs.

    Raises
    ------
    MissingData
        With the places that were searched.
    """
    folder = os.environ.get("MERCER_DATA")
    if folder:
        path = Path(folder) / f"{name}.npz"
        if path.exists():
            return _read(path)
        looked = f"no file {path.name} in MERCER_DATA={folder}"
    else:
        looked = "MERCER_DATA is not set"
    if name == "cadata":
        return _california(looked)
    if name not in _OPENML:
        raise MissingData(f"{name}: {looked}, and it is not on OpenML.")
    return _download(name, looked)


def _read(path: Path) -> DataSet:
    with np.load(path) as parts:
        if "text_bytes" in parts:
            X, X_test = _texts(parts, ""), _texts(parts, "test_")
        elif "series_values" in parts:
            X, X_test = _series(parts, ""), _series(parts, "test_")
        elif "graph_indicator" in parts:
            X, X_test = _graphs(parts), None
        elif "indptr" in parts:
            X, X_test = _csr(parts, ""), _csr(parts, "test_")
        else:
            X = parts["X"].astype(np.float64)
            X_test = parts["X_test"].astype(np.float64) if "X_test" in parts else None
        return DataSet(X, parts["y"], X_test, parts.get("y_test"))


def _texts(parts: Any, prefix: str) -> Any:
    if f"{prefix}text_offsets" not in parts:
        return None
    whole, offsets = parts[f"{prefix}text_bytes"].tobytes(), parts[f"{prefix}text_offsets"].tolist()
    return [whole[start:stop].decode() for start, stop in pairwise(offsets)]


def _series(parts: Any, prefix: str) -> Any:
    if f"{prefix}series_offsets" not in parts:
        return None
    values = parts[f"{prefix}series_values"].astype(np.float64)
    return np.split(values, parts[f"{prefix}series_offsets"][1:-1])


def _graphs(parts: Any) -> list[dict[str, Any]]:
    """Records of graphs with labels."""
    owner, edges, of_nodes = (parts[name] for name in ("graph_indicator", "edges", "node_labels"))
    n = len(parts["y"])
    starts = np.searchsorted(owner, np.arange(n + 1))
    of_edge = owner[edges[:, 0]]
    order = np.argsort(of_edge, kind="stable")
    cuts = np.searchsorted(of_edge[order], np.arange(n + 1))
    labels = parts["edge_labels"][order] if "edge_labels" in parts else None
    out = []
    for i in range(n):
        nodes, here = slice(starts[i], starts[i + 1]), slice(cuts[i], cuts[i + 1])
        one = {
            "n": int(starts[i + 1] - starts[i]),
            "edges": edges[order[here]] - starts[i],
            "node_labels": of_nodes[nodes],
        }
        out.append(one if labels is None else one | {"edge_labels": labels[here]})
    return out


def _csr(parts: Any, prefix: str) -> Any:
    if f"{prefix}indptr" not in parts:
        return None
    data = parts[f"{prefix}data"].astype(np.float64)
    structure = (data, parts[f"{prefix}indices"], parts[f"{prefix}indptr"])
    return sp.csr_matrix(structure, shape=tuple(parts[f"{prefix}shape"]))


def _california(looked: str) -> DataSet:
    from sklearn.datasets import fetch_california_housing

    try:
        X, y = fetch_california_housing(return_X_y=True)
    except OSError as error:
        raise MissingData(
            f"cadata: {looked}, and scikit-learn could not fetch it: {error}."
        ) from error
    return DataSet(X, y)


def _download(name: str, looked: str) -> DataSet:
    from sklearn.datasets import fetch_openml

    where = _OPENML[name]
    try:
        X, y = fetch_openml(
            data_id=where.data_id, as_frame=False, return_X_y=True, parser="liac-arff"
        )
    except OSError as error:
        reason = f"OpenML data set {where.data_id} could not be fetched: {error}"
        raise MissingData(f"{name}: {looked}, and {reason}.") from error
    if y.dtype.kind not in "iuf":
        y = np.unique(y, return_inverse=True)[1]
    if where.n_train is None:
        return DataSet(X, y)
    n = where.n_train
    return DataSet(X[:n], y[:n], X[n:], y[n:])
