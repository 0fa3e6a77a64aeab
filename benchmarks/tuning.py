"""``python -m benchmarks tuning``: one grid, the same folds, for every library, in one run.

Five stratified folds × ten C × ten γ of the RBF kernel. Each library has a process of its own and
two threads or jobs. Mercer's solutions are scored here by plain NumPy in float64: the KKT violation
of every cell; scores are compared cell by cell with those of the others.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.data import load
from benchmarks.report import table
from benchmarks.runs import held, process

__all__ = ["add_command", "measure"]

SETS = ("covtype", "a9a", "mnist")
ROWS = (1000, 5000, 10_000)
FOLDS, N_C, N_GAMMA = 5, 10, 10
TOL, JOBS, CACHE_MB = 1e-3, 2, 1000.0
TOUCH_MB = 2000.0
WHO = {
    "mercer": "Mercer SVCCV",
    "mercer-grid": "Mercer's GridSearchCV(SVC)",
    "sklearn": "GridSearchCV(scikit-learn)",
    "sklearnex": "GridSearchCV(intelex)",
    "old": "GridSearchCV(old Mercer)",
}
Scores = dict[str, np.ndarray]


def add_command(commands: Any) -> None:
    parser = commands.add_parser("tuning", help="grid search with shared work")
    names = [f"{name}-{n}" for n in ROWS for name in SETS]
    parser.add_argument("--cases", default=",".join(names), help=f"of {', '.join(names)}")
    parser.add_argument("--peers", default="mercer,sklearn,sklearnex,old", help=", ".join(WHO))
    parser.add_argument("--old", help="folder src of an older Mercer, for the peer old")
    parser.add_argument("--repeat", type=int, default=3, help="warm searches of Mercer (3)")
    parser.add_argument("--timeout", type=float, default=3600, help="seconds of a peer (3600)")
    parser.add_argument("--lock", help="a file to hold while a process is measured")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    rows: list[list[str]] = []
    for case in options.cases.split(","):
        found: dict[str, dict[str, Any]] = {}
        scores: Scores = {}
        for who in options.peers.split(","):
            if who not in WHO:
                raise ValueError(f"unknown peer {who!r}; known: {', '.join(WHO)}.")
            if who == "old" and not options.old:
                continue
            found[who] = _measured(who, case, options, scores)
        rows += _report(case, found, scores)
        print(table(HEAD, rows), flush=True)
        print()
    return 0


HEAD = ["case", "who", "first s", "best s", "times Mercer's", "best score", "C", "γ",
        "largest |Δ score|", "cells > .001", "largest violation"]  # fmt: skip


def _measured(who: str, case: str, options: argparse.Namespace, scores: Scores) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="mercer-bench-") as folder, held(options.lock):
        solution = str(Path(folder) / "scores.npy")
        spec = {"do": "tuning", "who": who, "case": case, "repeat": options.repeat,
                "solution": solution}  # fmt: skip
        process({"do": "touch", "megabytes": TOUCH_MB}, folder, 60)
        with _python_path(options.old if who == "old" else None):
            outcome = process(spec, folder, options.timeout)
        if "failed" not in outcome:
            scores[who] = np.load(solution)
    return outcome


@contextlib.contextmanager
def _python_path(first: str | None) -> Iterator[None]:
    before = os.environ.get("PYTHONPATH")
    if first is not None:
        os.environ["PYTHONPATH"] = first if before is None else f"{first}{os.pathsep}{before}"
    try:
        yield
    finally:
        if first is not None:
            os.environ.pop("PYTHONPATH")
            if before is not None:
                os.environ["PYTHONPATH"] = before


def _report(case: str, found: dict[str, dict], scores: Scores) -> list[list[str]]:
    mine = found.get("mercer", {}).get("best_seconds", np.nan)
    reference = next(
        (scores[who] for who in ("sklearn", "sklearnex", "old") if who in scores), None
    )
    rows = []
    for who, outcome in found.items():
        if "failed" in outcome:
            rows.append([case, WHO[who], *[""] * 8, outcome["failed"]])
            continue
        mean = scores[who].mean(axis=1)
        best = int(np.argmax(mean))
        C, gamma = _grid_values(case)
        difference = np.nan if reference is None else np.abs(mean - reference.mean(axis=1))
        violation = outcome.get("violation")
        rows.append([
            case, WHO[who], f"{outcome['first_seconds']:.2f}", f"{outcome['best_seconds']:.2f}",
            f"{outcome['best_seconds'] / mine:.1f}×", f"{mean[best]:.4f}", f"{C[best]:.3g}",
            f"{gamma[best]:.3g}", f"{np.max(difference):.4f}",
            str(int(np.sum(difference > 1e-3 + 1e-12))),
            "" if violation is None else f"{violation:.2e}",
        ])  # fmt: skip
    return rows


# ---------------------------------------------------------------------- within a process


def data_of(case: str) -> tuple[np.ndarray, np.ndarray]:
    """Standardised rows and labels ±1."""
    name, n = case.rsplit("-", 1)
    data = load(name)
    order = np.random.default_rng(0).permutation(data.X.shape[0])[: int(n)]
    X, y = data.X[order], data.y[order]
    X = X.toarray() if hasattr(X, "toarray") else X
    X = np.asarray(X, np.float64)
    if name == "covtype":
        y = np.where(y == 2, 1.0, -1.0)
    elif name == "mnist":
        y, X = np.where(y % 2 == 0, 1.0, -1.0), X / 255
    else:
        y = np.where(y > 0, 1.0, -1.0)
    if name == "covtype":
        spread = X.std(axis=0)
        X = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return X, y


def grid_of(d: int) -> tuple[np.ndarray, np.ndarray]:
    return np.logspace(-2, 3, N_C), np.logspace(-3, 1, N_GAMMA) / d


def _grid_values(case: str) -> tuple[np.ndarray, np.ndarray]:
    """C and γ of each candidate, C varying slowest."""
    Cs, gammas = grid_of(data_of(case)[0].shape[1])
    return np.repeat(Cs, N_GAMMA), np.tile(gammas, N_C)


def measure(spec: dict[str, Any]) -> dict[str, Any]:
    """Search once cold and, for Mercer, some times warm; scores go to a file."""
    X, y = data_of(spec["case"])
    search = _search(spec["who"], X.shape[1])
    seconds = []
    fast = spec["who"].startswith("mercer")
    for _ in range(1 + spec["repeat"] if fast else 1):
        began = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            search.fit(X, y)
        seconds.append(time.perf_counter() - began)
    results = search.cv_results_
    scores = np.column_stack([results[f"split{i}_test_score"] for i in range(FOLDS)])
    order = np.lexsort([results["param_gamma"].astype(float), results["param_C"].astype(float)])
    np.save(spec["solution"], scores[order])
    outcome = {"first_seconds": seconds[0], "best_seconds": min(seconds)}
    if spec["who"] == "mercer":
        outcome["violation"] = largest_violation(X, y, search)
    return outcome


def _search(who: str, d: int) -> Any:
    from sklearn.model_selection import GridSearchCV, StratifiedKFold

    Cs, gammas = grid_of(d)
    cv = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
    if who == "mercer":
        return _kept()(Cs=Cs, gammas=gammas, cv=cv, tol=TOL, n_jobs=JOBS, cache_size=CACHE_MB)
    if who == "sklearnex":
        from sklearnex.svm import SVC
    elif who == "sklearn":
        from sklearn.svm import SVC
    else:
        from mercer import SVC
    if who == "mercer-grid":
        from mercer.model_selection import GridSearchCV
    return GridSearchCV(SVC(tol=TOL), {"C": Cs, "gamma": gammas}, cv=cv, n_jobs=JOBS)


def _kept() -> Any:
    """`SVCCV` that keeps the duals of its cells."""
    from mercer.model_selection import SVCCV

    class Kept(SVCCV):
        def _keep(self, ledger: Any, stopping: Any) -> None:
            super()._keep(ledger, stopping)
            self.duals = ledger.duals

    return Kept


def largest_violation(X: np.ndarray, y: np.ndarray, search: Any) -> float:
    """Over all cells whose duals were kept, from the definition; infinite if β is infeasible."""
    folds = list(search.cv.split(X, y))
    params = search.cv_results_["params"]
    centred = X - X.mean(axis=0)
    norms = np.einsum("ij,ij->i", centred, centred)
    distances = np.maximum(norms[:, None] + norms - 2 * centred @ centred.T, 0)
    worst = 0.0
    for gamma in sorted({p["gamma"] for p in params}):
        K = np.exp(-gamma * distances)
        for split, (train, _) in enumerate(folds):
            cells = [c for c, p in enumerate(params) if p["gamma"] == gamma]
            cells = [c for c in cells if (c, split) in search.duals]
            if not cells:
                continue
            B = np.column_stack([search.duals[c, split][0] for c in cells])
            F = K[np.ix_(train, train)] @ B
            for beta, f, cell in zip(B.T, F.T, cells, strict=True):
                worst = max(worst, _violation(beta, f, y[train], params[cell]["C"]))
    return float(worst)


def _violation(beta: np.ndarray, f: np.ndarray, y: np.ndarray, C: float) -> float:
    """Largest y − f that may rise minus the least that may fall."""
    alpha = beta * y
    if alpha.min() < 0 or alpha.max() > C or abs(beta.sum()) > 1e-9 * np.abs(beta).sum():
        return np.inf
    e = y - f
    rises = np.where(y > 0, alpha < C, alpha > 0)
    falls = np.where(y > 0, alpha > 0, alpha < C)
    return float(e[rises].max(initial=-np.inf) - e[falls].min(initial=np.inf))
