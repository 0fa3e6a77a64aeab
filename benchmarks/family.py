"""``python -m benchmarks family``: kernel ridge regression and kernel PCA at 10,000 rows.

A table of cases: which library fits what on which data, and how the solution is scored. Each fit
has a process of its own; solutions are scored here in float64, by plain NumPy.
"""

from __future__ import annotations

import argparse
import importlib
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import memory_use
from benchmarks.cases import CASES, prepare
from benchmarks.report import DISTURBED, replace_section, table
from benchmarks.runs import Store, held, process

__all__ = ["FAMILY", "FamilyCase", "add_command", "measure"]

ROWS, TEST_ROWS, COMPONENTS = 10_000, 500, 10
SCORED_ROWS = 1000
TOUCH_MB = 4000.0
DOCS = Path(__file__).parent.parent / "docs" / "performance" / "others.md"
Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class FamilyCase:
    """One problem.

    Attributes
    ----------
    data : str
        ``gaussian-d`` or the name of a case of the kernel benchmark.
    gamma : float
        Of the RBF kernel all are given.
    peers : dict
        Name of each who fits: module, class and parameters; the first is Mercer.
    read : callable
        ``read(model, X_test)``: the solution, as arrays.
    score : callable
        ``score(case, X, y, solution)``: the figure of merit (0 is perfect).
    compare : callable
        ``compare(solution, mercer's)``: largest relative difference.
    """

    name: str
    data: str
    gamma: float
    peers: dict[str, tuple[str, str, dict[str, Any]]]
    read: Callable[[Any, Any], Arrays]
    score: Callable[[FamilyCase, np.ndarray, np.ndarray, Arrays], float]
    compare: Callable[[Arrays, Arrays], float]
    parameters: dict[str, Any] = field(default_factory=dict)


def rows_of(case: FamilyCase) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Training rows, targets and test rows."""
    if case.data.startswith("gaussian-"):
        d = int(case.data.removeprefix("gaussian-"))
        rng = np.random.default_rng(0)
        X = rng.standard_normal((ROWS + TEST_ROWS, d))
        y = np.sin(X[:, :3].sum(axis=1)) + 0.1 * rng.standard_normal(len(X))
        return X[:ROWS], y[:ROWS], X[ROWS:]
    found = prepare(CASES[case.data])
    return found.X[:ROWS], np.asarray(found.y[:ROWS], np.float64), found.X_test[:TEST_ROWS]


def _kernel_rows(case: FamilyCase, X: np.ndarray, rows: slice) -> np.ndarray:
    centred = X - X.mean(axis=0)
    norms = np.einsum("ij,ij->i", centred, centred)
    sq = norms[rows, np.newaxis] + norms - 2 * centred[rows] @ centred.T
    return np.exp(-case.gamma * np.maximum(sq, 0))


def _times(case: FamilyCase, X: np.ndarray, V: np.ndarray) -> np.ndarray:
    """K V, some rows at a time."""
    starts = range(0, len(X), SCORED_ROWS)
    return np.vstack([_kernel_rows(case, X, slice(i, i + SCORED_ROWS)) @ V for i in starts])


def _read_ridge(model: Any, X_test: Any) -> Arrays:
    return {"coef": model.dual_coef_, "predictions": model.predict(X_test)}


def _ridge_residual(case: FamilyCase, X: np.ndarray, y: np.ndarray, solution: Arrays) -> float:
    """‖(K + αI)c − y‖ / ‖y‖."""
    c = solution["coef"]
    r = _times(case, X, c[:, np.newaxis])[:, 0] + case.parameters["alpha"] * c - y
    return float(np.linalg.norm(r) / np.linalg.norm(y))


def _ridge_difference(solution: Arrays, mine: Arrays) -> float:
    """Of coefficients and predictions, over the largest of each."""
    return max(
        float(np.abs(solution[name] - mine[name]).max() / np.abs(mine[name]).max())
        for name in solution
    )


def _read_pca(model: Any, X_test: Any) -> Arrays:
    return {
        "values": model.eigenvalues_,
        "vectors": model.eigenvectors_,
        "components": model.transform(X_test),
    }


def _pca_residual(case: FamilyCase, X: np.ndarray, y: np.ndarray, solution: Arrays) -> float:
    """Largest ‖HKHv − λv‖ over the largest eigenvalue."""
    V, values = solution["vectors"], solution["values"]
    KV = _times(case, X, V - V.mean(axis=0))
    residual = np.linalg.norm(KV - KV.mean(axis=0) - V * values, axis=0)
    return float(residual.max() / values[0])


def _pca_difference(solution: Arrays, mine: Arrays) -> float:
    """Of eigenvalues, each over its own, and of components up to sign, over the largest."""
    values = np.abs(solution["values"] / mine["values"] - 1).max()
    T, own = solution["components"], mine["components"]
    signs = np.sign(np.sum(T * own, axis=0))
    return float(max(values, np.abs(T * signs - own).max() / np.abs(own).max()))


_DATA = [
    ("gaussian-10", 1 / 10),
    ("gaussian-50", 1 / 50),
    ("gaussian-100", 1 / 100),
    ("covtype", 1 / 54),
    ("mnist", 0.02),
]


def _ridge(data: str, gamma: float) -> FamilyCase:
    peers: dict[str, tuple[str, str, dict[str, Any]]] = {
        "mercer": ("mercer", "KernelRidge", {}),
        "sklearn": ("sklearn.kernel_ridge", "KernelRidge", {}),
    }
    readers = _read_ridge, _ridge_residual, _ridge_difference
    return FamilyCase(f"ridge {data}", data, gamma, peers, *readers, {"alpha": 1.0})


def _pca(data: str, gamma: float) -> FamilyCase:
    def theirs(solver: str) -> tuple[str, str, dict[str, Any]]:
        return "sklearn.decomposition", "KernelPCA", {"eigen_solver": solver, "random_state": 0}

    peers = {
        "mercer": ("mercer", "KernelPCA", {}),
        "sklearn arpack": theirs("arpack"),
        "sklearn randomized": theirs("randomized"),
    }
    readers = _read_pca, _pca_residual, _pca_difference
    return FamilyCase(f"pca {data}", data, gamma, peers, *readers, {"n_components": COMPONENTS})


FAMILY = {case.name: case for make in (_ridge, _pca) for case in (make(*d) for d in _DATA)}


def measure(
    case: FamilyCase, peer: str, repeat: int, solution: str, timed_fit: Callable[..., Any]
) -> dict[str, Any]:
    """In the worker's process: times, memory, and the solution into a file."""
    module, name, parameters = case.peers[peer]
    cls = getattr(importlib.import_module(module), name)
    X, y, X_test = rows_of(case)
    start_mb = memory_use.resident_mb()
    memory_use.reset_peak()

    def new() -> Any:
        return cls(kernel="rbf", gamma=case.gamma, **case.parameters, **parameters)

    first = timed_fit(new(), X, y)
    peak = memory_use.peak_mb() - start_mb
    best = min((timed_fit(new(), X, y) for _ in range(repeat)), key=lambda fit: fit.seconds)
    np.savez(solution, **case.read(best.model, X_test))  # type: ignore[arg-type]
    return {
        "shape": list(X.shape),
        "first_fit_seconds": first.seconds,
        "fit_seconds": best.seconds,
        "fit_cpu_seconds": best.cpu_seconds,
        "others_cores": best.others_cores,
        "peak_mb": peak,
    }


def add_command(commands: Any) -> None:
    parser = commands.add_parser("family", help="kernel ridge and kernel PCA against scikit-learn")
    parser.add_argument("--cases", help=f"comma-separated, of: {', '.join(FAMILY)}")
    parser.add_argument("--repeat", type=int, default=2, help="warm fits; the best counts (2)")
    parser.add_argument("--json", metavar="FILE", help="write all figures to FILE")
    parser.add_argument("--reuse", action="store_true", help="keep cases that FILE already has")
    parser.add_argument("--timeout", type=float, default=600, help="seconds per process (600)")
    parser.add_argument(
        "--docs", action="store_true", help=f"write the table of docs/performance/{DOCS.name}"
    )
    parser.add_argument("--lock", metavar="FILE", help="hold this file lock during each process")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    names = options.cases.split(",") if options.cases else list(FAMILY)
    unknown = [name for name in names if name not in FAMILY]
    if unknown:
        raise ValueError(f"unknown cases {', '.join(unknown)}; known: {', '.join(FAMILY)}.")
    store = Store(options.json, reuse=options.reuse)
    for name in names:
        if any(store.find(name, peer) is None for peer in FAMILY[name].peers):
            print(f"{name} ...", flush=True)
            for outcome in _run_case(FAMILY[name], options):
                store.add(outcome)
    report = _table(store.runs)
    print(f"\n{report}")
    if options.docs:
        replace_section(DOCS, "Kernel ridge and kernel PCA", report)
        print(f"wrote {DOCS}")
    return 0


def _run_case(case: FamilyCase, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Every peer's fit, then the scores of all."""
    outcomes = []
    with tempfile.TemporaryDirectory(prefix="mercer-bench-") as folder:
        for number, peer in enumerate(case.peers):
            spec = {"do": "family", "case": case.name, "peer": peer, "repeat": options.repeat}
            with held(options.lock):
                process({"do": "touch", "megabytes": TOUCH_MB}, folder, options.timeout)
                spec["solution"] = f"{folder}/{number}.npz"
                outcome = process(spec, folder, options.timeout)
            outcomes.append({"case": case.name, "peer": peer, **outcome})
        X, y, _ = rows_of(case)
        solutions: list[Arrays] = []
        for number, outcome in enumerate(outcomes):
            if "failed" in outcome:
                solutions.append({})
                continue
            with np.load(f"{folder}/{number}.npz") as parts:
                solutions.append({name: parts[name] for name in parts.files})
            outcome["score"] = case.score(case, X, y, solutions[-1])
            if solutions[0]:
                outcome["difference"] = case.compare(solutions[-1], solutions[0])
    return outcomes


def _table(runs: list[dict[str, Any]]) -> str:
    at = {(run["case"], run["peer"]): run for run in runs}
    rows = []
    for case in FAMILY.values():
        mine = at.get((case.name, "mercer"), {})
        for peer in case.peers:
            run = at.get((case.name, peer))
            if run is None:
                continue
            if "failed" in run:
                rows.append([case.name, peer, run["failed"], "", "", "", "", ""])
                continue
            times = [
                f"{run[name] / mine[name]:.1f}" if name in mine else "–"
                for name in ("fit_seconds", "fit_cpu_seconds")
            ]
            star = "*" if (run["others_cores"] or 0) > DISTURBED else ""
            seconds = [f"{run['first_fit_seconds']:.2f}", f"{run['fit_seconds']:.2f}{star}"]
            quality = [f"{run['score']:.0e}", f"{run.get('difference', np.nan):.0e}"]
            peak = f"{run['peak_mb']:,.0f}"
            rows.append([case.name, peer, *seconds, " / ".join(times), peak, *quality])
    header = [
        "case",
        "library",
        "first s",
        "warm s",
        "× wall / CPU",
        "peak MB",
        "residual",
        "differs",
    ]
    return table(header, rows)
