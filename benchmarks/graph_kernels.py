"""Graph kernels for ``python -m benchmarks kernels``: kernel matrices, and accuracies.

**Matrices.** Seconds from the records to K, the best of some calls after a first one; GraKeL, where
it is installed, from its own graphs to K (``fit_transform``), and whether all values are equal. It
does not use labels of edges, which are therefore left out.

**Accuracies.** 10-fold cross-validation, stratified; in each fold the depth of the kernel (0 to 7)
and C (10⁻³ to 10³) are chosen by 5-fold cross-validation of the other nine tenths alone
(`mercer.SVCCV`), the least depth among equals. The mean over the folds of ``--runs`` runs with
other folds, and the standard deviation of the runs' means. Kernel matrices of all graphs are
computed once for each depth, which uses no class: searches are on parts of them. Published ones
are of the literature (Kriege, Giscard and Wilson 2016), by this protocol.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

import mercer
from benchmarks.data import load
from mercer.kernels import Kernel, Normalize, ShortestPath, WeisfeilerLehman, WeisfeilerLehmanOA

__all__ = ["KERNELS", "TASKS", "nested_score"]

Row = list[str]

KERNELS: dict[str, list[Kernel]] = {
    "WeisfeilerLehman": [WeisfeilerLehman(h, edge_labels=False) for h in range(8)],
    "WeisfeilerLehmanOA": [WeisfeilerLehmanOA(h, edge_labels=False) for h in range(8)],
    "ShortestPath": [ShortestPath()],
}
PUBLISHED = {
    ("graph_PROTEINS", "WeisfeilerLehman"): 0.726,
    ("graph_PROTEINS", "WeisfeilerLehmanOA"): 0.734,
    ("graph_PROTEINS", "ShortestPath"): 0.756,
}


def _without_edge_labels(graphs: list[dict]) -> list[dict]:
    return [{k: v for k, v in graph.items() if k != "edge_labels"} for graph in graphs]


def matrices(options: argparse.Namespace) -> list[Row]:
    """Seconds of kernel matrices, and GraKeL's."""
    out = []
    peers: dict[str, Callable[[], Any]] = {}
    if importlib.util.find_spec("grakel"):
        grakel = importlib.import_module("grakel.kernels")
        peers = {
            "WeisfeilerLehman": partial(
                grakel.WeisfeilerLehman, n_iter=5, base_graph_kernel=grakel.VertexHistogram
            ),
            "WeisfeilerLehmanOA": partial(grakel.WeisfeilerLehmanOptimalAssignment, n_iter=5),
            "ShortestPath": grakel.ShortestPath,
        }
    for name in (f"graph_{each}" for each in options.graph_sets.split(",")):
        graphs = _without_edge_labels(load(name).X)
        for kind, kernel in (
            ("WeisfeilerLehman", WeisfeilerLehman(5)),
            ("WeisfeilerLehmanOA", WeisfeilerLehmanOA(5)),
            ("ShortestPath", ShortestPath()),
        ):
            K, mine = kernel(graphs), np.inf
            for _ in range(options.repeat):
                start = time.perf_counter()
                K = kernel(graphs)
                mine = min(mine, time.perf_counter() - start)
            task = f"{name[6:]}, {len(graphs):,} graphs"
            out.append([task, repr(kernel), f"{mine:.3f}", "1×", ""])
            if kind in peers:
                theirs, values = _grakel(peers[kind](), graphs)
                equal = f"largest difference {np.abs(K - values).max():g}"
                out.append(
                    [task, f"GraKeL, {kind}", f"{theirs:.2f}", f"{theirs / mine:.0f}×", equal]
                )
    return out


def _grakel(kernel: Any, graphs: list[dict]) -> tuple[float, np.ndarray]:
    """Seconds of GraKeL's kernel matrix, and the matrix."""
    Graph = importlib.import_module("grakel").Graph
    given = []
    for graph in graphs:
        A = np.zeros((graph["n"], graph["n"]))
        A[tuple(graph["edges"].T)] = 1
        given.append(Graph(A, node_labels=dict(enumerate(graph["node_labels"].tolist()))))
    start = time.perf_counter()
    K = kernel.fit_transform(given)
    return time.perf_counter() - start, K


def accuracies(options: argparse.Namespace) -> list[Row]:
    """Nested cross-validation."""
    selection = importlib.import_module("sklearn.model_selection")
    out = []
    for name in (f"graph_{each}" for each in options.graph_sets.split(",")):
        data = load(name)
        for kind in options.graph_kernels.split(","):
            means, kernels = [], KERNELS[kind]
            start = time.perf_counter()
            matrices = [Normalize(kernel)(data.X) for kernel in kernels]
            for run in range(options.first_run, options.first_run + options.runs):
                folds = selection.StratifiedKFold(10, shuffle=True, random_state=run)
                parts = folds.split(matrices[0], data.y)
                means.append(np.mean([nested_score(matrices, data.y, *part) for part in parts]))
            seconds = time.perf_counter() - start
            expected = PUBLISHED.get((name, kind))
            found = f"{np.mean(means):.4f} ± {np.std(means):.4f}"
            out.append([
                name[6:], f"Normalize({kind})", found,
                "" if expected is None else f"{expected:.3f}", f"{seconds:.0f}",
            ])  # fmt: skip
    return out


def nested_score(
    matrices: list[np.ndarray],
    y: np.ndarray,
    train: np.ndarray,
    test: np.ndarray,
    Cs: Sequence[float] = tuple(np.logspace(-3, 3, 7)),
    cv: int = 5,
) -> float:
    """Accuracy on the test part of the matrix and C that searches of the training part choose."""
    searches = [
        mercer.SVCCV(kernel="precomputed", Cs=Cs, cv=cv).fit(K[np.ix_(train, train)], y[train])
        for K in matrices
    ]
    best = int(np.argmax([search.best_score_ for search in searches]))
    return float(searches[best].score(matrices[best][np.ix_(test, train)], y[test]))


TASKS: dict[str, tuple[list[str], Callable[[argparse.Namespace], list[Row]]]] = {
    "graphs": (["task", "kernel", "seconds of the matrix", "ratio", "values"], matrices),
    "graph accuracies": (["data", "kernel", "accuracy", "published", "seconds"], accuracies),
}
