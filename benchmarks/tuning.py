"""``python -m benchmarks tuning``: one grid, the same folds, for every library, in one run.

Five stratified folds × ten C × ten γ of the RBF kernel. Each library has a process of its own and
two threads or jobs. Mercer's solutions are scored here by plain NumPy in float64: the KKT violation
of every cell; scores are compared cell by cell with those of the others.

With ``--every 3`` the others search every third C and every third γ only (1st, 4th and 7th of 0 to
9: nine cells), which for them costs a ninth part of a hundred cells, since they share nothing;
without the largest C, which costs them most. Mercer is measured on these cells too, where there is
less to share, and on the whole grid: the table has both ratios, the second with the others' time
times 100/9. Processor time is measured beside that of the clock, for machines with other work.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.data import load
from benchmarks.peers import EARLIER, PEERS
from benchmarks.report import table
from benchmarks.runs import held, process

__all__ = ["add_command", "measure"]

SETS = ("covtype", "a9a", "mnist")
ROWS = (1000, 5000, 10_000)
FOLDS, N_C, N_GAMMA = 5, 10, 10
TOL, JOBS, CACHE_MB = 1e-3, 2, 1000.0
TOUCH_MB = 2000.0
FEW = 200  # rows of a search before the clock starts
WHO = {
    "mercer": "Mercer SVCCV",
    "mercer-grid": "Mercer's GridSearchCV(SVC)",
    "sklearn": "GridSearchCV(scikit-learn)",
    "sklearnex": "GridSearchCV(intelex)",
    EARLIER: "GridSearchCV(earlier Mercer)",
}
Scores = dict[str, np.ndarray]


def add_command(commands: Any) -> None:
    parser = commands.add_parser("tuning", help="grid search with shared work")
    names = [f"{name}-{n}" for n in ROWS for name in SETS]
    parser.add_argument("--cases", default=",".join(names), help=f"of {', '.join(names)}")
    parser.add_argument("--peers", default=f"mercer,sklearn,sklearnex,{EARLIER}", help=str([*WHO]))
    parser.add_argument("--repeat", type=int, default=3, help="warm searches of Mercer (3)")
    parser.add_argument("--every", type=int, default=1, help="of C and γ the others search (1)")
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
            found[who] = _measured(who, case, options, scores)
            if who == "mercer":
                print(case, WHO[who], found[who], flush=True)
        rows += _report(case, found, scores, options.every)
        print(table(HEAD, rows), flush=True)
        print()
    return 0


HEAD = ["case", "who", "cells", "first s", "best s", "same cells", "whole grid", "CPU s",
        "same cells", "whole grid", "best score", "C", "γ", "largest |Δ score|", "cells > .001",
        "winner", "largest violation"]  # fmt: skip


def _measured(who: str, case: str, options: argparse.Namespace, scores: Scores) -> dict[str, Any]:
    missing = PEERS[who].missing() if who in PEERS else None
    if missing:
        return {"failed": missing}
    with tempfile.TemporaryDirectory(prefix="mercer-bench-") as folder, held(options.lock):
        solution = str(Path(folder) / "scores.npy")
        spec = {"do": "tuning", "peer": who, "case": case, "repeat": options.repeat,
                "every": options.every, "solution": solution}  # fmt: skip
        process({"do": "touch", "megabytes": TOUCH_MB}, folder, 60)
        outcome = process(spec, folder, options.timeout)
        if "failed" not in outcome:
            scores[who] = np.load(solution)
    return outcome


def _report(case: str, found: dict[str, dict], scores: Scores, every: int) -> list[list[str]]:
    mine = found.get("mercer", {})
    same, whole, same_used, whole_used = (
        mine.get(name, np.nan) for name in ("same_seconds", "best_seconds", "same_used", "used")
    )
    some = sampled(every)
    share = some.size / (N_C * N_GAMMA)
    ours = scores["mercer"].mean(axis=1) if "mercer" in scores else None
    C, gamma = _grid_values(case)
    rows = []
    for who, outcome in found.items():
        if "failed" in outcome:
            rows.append([case, WHO[who], *[""] * 14, outcome["failed"]])
            continue
        cells = np.arange(C.size) if who == "mercer" else some
        mean = scores[who].mean(axis=1)
        best = int(np.argmax(mean))
        seconds, used = outcome["best_seconds"], outcome["used"]
        violation = outcome.get("violation")
        ratios, of_used, compared = ["", ""], ["", ""], ["", "", ""]
        if who != "mercer" and ours is not None:
            difference = np.abs(mean - ours[cells])
            ratios = [f"{seconds / same:.1f}×", f"{seconds / share / whole:.1f}×"]
            of_used = [f"{used / same_used:.1f}×", f"{used / share / whole_used:.1f}×"]
            compared = [
                f"{difference.max():.4f}", str(int(np.sum(difference > 1e-3 + 1e-12))),
                "same" if same_winner(mean, ours[cells]) else "other",
            ]  # fmt: skip
        rows.append([
            case, WHO[who], str(cells.size), f"{outcome['first_seconds']:.2f}", f"{seconds:.2f}",
            *ratios, f"{used:.2f}", *of_used, f"{mean[best]:.4f}", f"{C[cells[best]]:.3g}",
            f"{gamma[cells[best]]:.3g}", *compared, "" if violation is None else f"{violation:.2e}",
        ])  # fmt: skip
    return rows


def same_winner(one: np.ndarray, two: np.ndarray) -> bool:
    """Whether a cell is best, up to ties, by both."""
    return bool(((one >= one.max() - 1e-12) & (two >= two.max() - 1e-12)).any())


def sampled(every: int) -> np.ndarray:
    """Numbers of the candidates that are searched: C varies slowest."""
    at = np.arange((every - 1) // 2, N_C, every), np.arange((every - 1) // 2, N_GAMMA, every)
    return (N_GAMMA * at[0][:, None] + at[1]).ravel()


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


def grid_of(d: int, every: int = 1) -> tuple[np.ndarray, np.ndarray]:
    some = slice((every - 1) // 2, None, every)
    return np.logspace(-2, 3, N_C)[some], (np.logspace(-3, 1, N_GAMMA) / d)[some]


def _grid_values(case: str) -> tuple[np.ndarray, np.ndarray]:
    """C and γ of each candidate, C varying slowest."""
    Cs, gammas = grid_of(data_of(case)[0].shape[1])
    return np.repeat(Cs, N_GAMMA), np.tile(gammas, N_C)


def measure(spec: dict[str, Any]) -> dict[str, Any]:
    """Search once cold and, for Mercer, some times warm; scores go to a file."""
    X, y = data_of(spec["case"])
    who, d, every = spec["peer"], X.shape[1], spec["every"]
    is_shared = who.startswith("mercer") and who != EARLIER
    repeat = spec["repeat"] if is_shared else 0
    search = _search(who, d, 1 if who == "mercer" else every)
    if not is_shared:  # loads code and starts the jobs
        _seconds(_search(who, d, 5), X[:FEW], y[:FEW], 1)
    seconds, used = _seconds(search, X, y, 1 + repeat)
    if hasattr(search, "best_estimator_") and who == "sklearnex":
        check = PEERS[who].check
        reason = check(search.best_estimator_) if check else None
        if reason:
            return {"failed": reason}
    results = search.cv_results_
    scores = np.column_stack([results[f"split{i}_test_score"] for i in range(FOLDS)])
    order = np.lexsort([results["param_gamma"].astype(float), results["param_C"].astype(float)])
    np.save(spec["solution"], scores[order])
    outcome = {"first_seconds": seconds[0], "best_seconds": min(seconds), "used": min(used)}
    if who == "mercer":
        outcome["violation"] = largest_violation(X, y, search)
        if every > 1:
            seconds, used = _seconds(_search(who, d, every), X, y, 1 + repeat)
        outcome |= {"same_seconds": min(seconds), "same_used": min(used)}
    return outcome


def _seconds(search: Any, X: np.ndarray, y: np.ndarray, times: int) -> tuple[list, list]:
    """Seconds of the clock, and of the processors, of each of some searches."""
    seconds, used = [], []
    for _ in range(times):
        began, before = time.perf_counter(), processor_seconds()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            search.fit(X, y)
        seconds.append(time.perf_counter() - began)
        used.append(processor_seconds() - before)
    return seconds, used


def processor_seconds() -> float:
    """Of this process and of those that it started; NaN where there is no /proc."""
    parents, used = {}, {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            fields = path.read_text().rpartition(")")[2].split()
            number = int(path.parent.name)
            parents[number] = int(fields[1])
            used[number] = sum(map(int, fields[11:15]))  # its own, and of children that ended
    own = {os.getpid()}
    while more := {number for number, parent in parents.items() if parent in own} - own:
        own |= more
    return sum(used.get(number, np.nan) for number in own) / os.sysconf("SC_CLK_TCK")


def _search(who: str, d: int, every: int = 1) -> Any:
    from sklearn.model_selection import GridSearchCV, StratifiedKFold

    Cs, gammas = grid_of(d, every)
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
