"""``python -m benchmarks kernels``: strings, graphs, series, tables, functions, multiple kernels.

Peers are those that are installed: SciPy (a sparse product), scikit-learn (a kernel as a callable),
FastSK (gapped k-mers), GraKeL (graphs), tslearn (series), MKLpy (several kernels). Accuracies are
of the held-out part, or by cross-validation in which the parameters are chosen inside the folds. A
data set that cannot be had is named and left out.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import os
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import mercer
from benchmarks import graph_kernels, series_kernels
from benchmarks.data import DataSet, MissingData, load
from benchmarks.graph_kernels import nested_score
from benchmarks.kernel_tables import mkl, tables
from benchmarks.report import table
from mercer.kernels import RBF, GappedKmer, Kernel, Normalize, Spectrum, WeightedDegree

__all__ = ["add_command"]

Row = list[str]


@dataclass(frozen=True)
class GappedSet:
    """A set of sequences: window, ignored positions, three raw kernel values, C and AUC.

    The values are k(train 0, train 0), k(train 0, train 1) and k(test 0, train 0); the AUC is that
    of an SVC on the normalised kernel matrix.
    """

    name: str
    g: int
    m: int
    raw: tuple[int, int, int]
    auc: tuple[tuple[float, float], ...]


GAPPED = (
    GappedSet("gkm_CTCF", 13, 7, (156382, 9569, 4567), ((1.0, 0.971063),)),
    GappedSet("gkm_RAD21", 14, 8, (278443, 6367, 6338), ((1.0, 0.976005), (100.0, 0.977720))),
    GappedSet("gkm_protein_1_1", 8, 4, (9690, 1162, 50), ((1.0, 0.766707), (0.01, 0.715363))),
)


def rbf(x: np.ndarray, z: np.ndarray, gamma: float = 1.0) -> Any:
    """What a user writes."""
    return np.exp(-gamma * np.sum((x - z) ** 2))


def add_command(commands: Any) -> None:
    parser = commands.add_parser(
        "kernels", help="strings, graphs, series, tables, functions, multiple kernels"
    )
    parser.add_argument("--repeat", type=int, default=3, help="repetitions; the best counts (3)")
    parser.add_argument("--only", choices=list(TASKS), help="one of them")
    parser.add_argument(
        "--no-peers", action="store_true", help="without FastSK, which takes minutes for a matrix"
    )
    parser.add_argument(
        "--rows", type=int, default=1000, help="of scikit-learn's fit with a callable (1000)"
    )
    parser.add_argument("--folds", type=int, help="repetitions of the folds of tables (5)")
    parser.add_argument(
        "--mkl-sets", default="heart,diabetes,spambase", help="of multiple kernel learning"
    )
    parser.add_argument("--mkl-rows", type=int, help="rows of multiple kernel learning (70 %%)")
    parser.add_argument(
        "--mkl-matrix-gb", type=float, default=8.0, help="largest matrices that MKLpy is given (8)"
    )
    parser.add_argument(
        "--runs", type=int, default=10, help="of cross-validation of graphs, in other orders (10)"
    )
    parser.add_argument("--first-run", type=int, default=0, help="number of the first of them (0)")
    parser.add_argument("--graph-sets", default="MUTAG,PROTEINS", help="of graph kernels")
    parser.add_argument(
        "--graph-kernels", default=",".join(graph_kernels.KERNELS), help="of accuracies of graphs"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    warnings.simplefilter("ignore")
    for name, (header, task) in TASKS.items():
        if options.only in (None, name):
            print(f"{name}\n")
            try:
                print(table(header, task(options)), end="\n\n", flush=True)
            except MissingData as error:
                print(f"left out: {error}\n")
    return 0


def _best(function: Callable[[], Any], repeat: int) -> tuple[float, Any]:
    """Seconds of the fastest of some calls after a first one, and what it returned."""
    found, least = function(), np.inf
    for _ in range(repeat):
        start = time.perf_counter()
        found = function()
        least = min(least, time.perf_counter() - start)
    return least, found


# ---------------------------------------------------------------------- functions


def functions(options: argparse.Namespace) -> list[Row]:
    """A user-written RBF against the built-in one, and against scikit-learn's callable."""
    data = load("a9a")
    written = mercer.kernel(rbf, psd=True)
    kernels: dict[str, Kernel] = {"RBF": RBF(0.05), "user-written": written(gamma=0.05)}
    seconds = dict.fromkeys(kernels, np.inf)
    models: dict[str, Any] = {}
    for turn in range(options.repeat + 1):  # interleaved: other load meets both
        for name, kernel in kernels.items():
            start = time.perf_counter()
            models[name] = mercer.SVC(kernel=kernel, C=1.0).fit(data.X, data.y)
            if turn:
                seconds[name] = min(seconds[name], time.perf_counter() - start)
    out = [
        [f"a9a, {data.X.shape[0]:,} rows", name, f"{seconds[name]:.2f}",
         f"{seconds[name] / seconds['RBF']:.2f}×", f"{models[name].certificate_.relative_gap:.1e}"]
        for name in kernels
    ]  # fmt: skip
    return out + _callables(data, written(gamma=0.05), options)


def _callables(data: DataSet, kernel: Kernel, options: argparse.Namespace) -> list[Row]:
    """scikit-learn calls the function for every pair, which grows with the square of the rows."""
    svm = importlib.import_module("sklearn.svm")
    rows = min(10_000, data.X.shape[0])
    X, y = data.X[:rows].toarray(), data.y[:rows]
    mine, _ = _best(lambda: mercer.SVC(kernel=kernel).fit(X, y), options.repeat)

    def matrix(A: np.ndarray, B: np.ndarray) -> np.ndarray:
        return np.array([[rbf(a, b, 0.05) for b in B] for a in A])

    few = min(options.rows, rows)
    start = time.perf_counter()
    svm.SVC(kernel=matrix).fit(X[:few], y[:few])
    spent = time.perf_counter() - start
    theirs = spent * (rows / few) ** 2
    task, how = f"a9a, {rows:,} rows", "" if few == rows else f" (from {few:,} rows: {spent:.1f} s)"
    return [
        [task, "user-written", f"{mine:.2f}", "1×", ""],
        [task, f"scikit-learn, the function as callable{how}", f"{theirs:.0f}",
         f"{theirs / mine:.0f}×", ""],
    ]  # fmt: skip


# ---------------------------------------------------------------------- strings


def strings(options: argparse.Namespace) -> list[Row]:
    """The spectrum kernel matrix of texts against one sparse product of the same counts."""
    texts = load("sms_spam_text").X
    out = []
    for k in (3, 5):
        kernel = Spectrum(k)
        counts = kernel.feature_map(texts)
        theirs, _ = _best(partial(_product, counts), options.repeat)
        mine, _ = _best(partial(kernel, texts), options.repeat)
        task = f"{len(texts):,} SMS, k={k}, {counts.shape[1]:,} substrings"
        out += [
            [task, "Spectrum, from the texts", f"{mine:.2f}", f"{mine / theirs:.2f}×"],
            [task, "SciPy, product of the counts", f"{theirs:.2f}", "1×"],
        ]
    return out


def _product(counts: Any) -> np.ndarray:
    return (counts @ counts.T).toarray()


# Kernels that are searched, and C.
SEARCHED: dict[str, tuple[list[Kernel], tuple[float, ...]]] = {
    "sms_spam_text": (
        [Normalize(Spectrum(k)) for k in ((3, 4), (3, 4, 5), (2, 3, 4, 5, 6))],
        (1.0, 10.0, 100.0),
    ),
    "splice_junction_dna": (
        [WeightedDegree(degree) for degree in (3, 6, 12)],
        (0.01, 0.1, 1.0),
    ),
}


def accuracies(options: argparse.Namespace) -> list[Row]:
    """10-fold, stratified; kernel and C chosen by 3-fold searches of the other nine tenths.

    Kernel matrices of all sequences are computed once, which uses no class.
    """
    selection = importlib.import_module("sklearn.model_selection")
    out = []
    for name, (kernels, Cs) in SEARCHED.items():
        data = load(name)
        start = time.perf_counter()
        matrices = [kernel(data.X) for kernel in kernels]
        folds = selection.StratifiedKFold(10, shuffle=True, random_state=0)
        parts = folds.split(matrices[0], data.y)
        scores = np.array(
            [nested_score(matrices, data.y, train, test, Cs=Cs, cv=3) for train, test in parts]
        )
        seconds = time.perf_counter() - start
        shown = ", ".join(f"{kernel!r}" for kernel in kernels)
        spread = f"{scores.mean():.4f} ± {scores.std():.4f}"
        out.append(
            [name, f"{shown}; C={', '.join(f'{C:g}' for C in Cs)}", spread, f"{seconds:.0f}"]
        )
    return out


# ---------------------------------------------------------------------- gapped k-mers


def gapped(options: argparse.Namespace) -> list[Row]:
    """Raw values, seconds of the kernel matrix, and AUC of an SVC on the normalised kernel."""
    metrics = importlib.import_module("sklearn.metrics")
    out = []
    for each in GAPPED:
        data = load(each.name)
        kernel = GappedKmer(each.g, each.m)
        K = kernel([data.X[0], data.X_test[0]], data.X[:2])
        found = int(K[0, 0]), int(K[0, 1]), int(K[1, 0])
        normal = Normalize(kernel)
        seconds, K = _best(partial(normal, data.X), options.repeat)
        test = normal(data.X_test, data.X)
        auc = []
        for C, expected in each.auc:
            model = mercer.SVC(kernel="precomputed", C=C).fit(K, data.y)
            value = metrics.roc_auc_score(data.y_test, model.decision_function(test))
            auc.append(f"C={C:g}: {value:.4f} ({expected:.4f})")
        values = "exact" if found == each.raw else f"{found}, expected {each.raw}"
        task = f"{each.name}, {len(data.X):,} sequences, g={each.g}, m={each.m}"
        peer = "" if options.no_peers else _fastsk(each, data.X, K, seconds)
        out.append([task, values, f"{seconds:.2f}", peer, "; ".join(auc)])
    return out


def _fastsk(each: GappedSet, X: Any, K: np.ndarray, seconds: float) -> str:
    """Seconds of FastSK's exact mode, with as many threads, for the same normalised matrix."""
    if not importlib.util.find_spec("fastsk"):
        return ""
    FastSK = importlib.import_module("fastsk").FastSK
    letters = {letter: i for i, letter in enumerate(sorted(set("".join(X))))}
    codes = [[letters[letter] for letter in text] for text in X]
    peer = FastSK(g=each.g, m=each.m, t=os.cpu_count(), approx=False)
    start = time.perf_counter()
    peer.compute_train(codes)
    spent = time.perf_counter() - start
    difference = np.abs(np.array(peer.get_train_kernel()) - K).max()
    return f"{spent:.1f} ({spent / seconds:.1f}×), difference {difference:.0e}"


TASKS: dict[str, tuple[list[str], Callable[[argparse.Namespace], list[Row]]]] = {
    "functions": (["task", "kernel", "seconds of a fit", "ratio", "relative gap"], functions),
    "strings": (["task", "who", "seconds", "ratio"], strings),
    "gapped": (
        ["task", "raw values", "seconds of the matrix", "FastSK, exact", "AUC (expected)"],
        gapped,
    ),
    "accuracies": (["data", "kernel", "accuracy", "seconds"], accuracies),
    "tables": (
        ["table", "score", "TableKernel", "one-hot and RBF", "folds as good", "seconds"],
        tables,
    ),
    "mkl": (["task", "who", "seconds", "objective", "relative gap", "kernels"], mkl),
    **graph_kernels.TASKS,
    **series_kernels.TASKS,
}
