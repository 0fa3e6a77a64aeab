"""``python -m benchmarks scale``: low-rank models against the exact optimum, and against a peer.

*distance*: of subsets of ten data sets the exact optimum P* is known, and the stated distance
P − D of a Nyström model must not be below P − P*. *speed*: `SVC(approximation="nystroem")` against
scikit-learn's ``Nystroem`` and ``LinearSVC`` in a pipeline, with the same kernel and as many
components, by seconds and held-out error.
"""

from __future__ import annotations

import argparse
import importlib
import json
import time
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.cases import CASES, prepare
from benchmarks.report import table
from benchmarks.runs import machine

__all__ = ["add_command"]

PAGE = Path(__file__).parent.parent / "docs" / "performance" / "scale.md"
ROWS, COMPONENTS = 3000, 300
# Seconds below which a fit is repeated.
REPEAT_BELOW = 20.0
# Of the scale gamma="scale": wide enough for a small residual on most sets.
SMOOTH = 0.25
DISTANCE_CASES = "a9a,ijcnn1,w8a,covtype,letter,satimage,spambase,cadata,kin40k,cpusmall,usps,mnist"
SPEED_CASES = {"a9a": 500, "w8a": 500, "ijcnn1": 1000, "covtype": 1000, "cadata": 1000}


@dataclass(frozen=True)
class Distance:
    """What was stated and what is true of one model, relative to its primal value P."""

    data: str
    n: int
    d: int
    gamma: float
    residual: float
    true: float
    stated: float
    is_true: bool


@dataclass(frozen=True)
class Speed:
    """Seconds and held-out errors of two libraries."""

    data: str
    n: int
    components: int
    seconds: float
    peer_seconds: float
    error: float
    peer_error: float
    stated: float


def add_command(commands: Any) -> None:
    parser = commands.add_parser(
        "scale", help="low-rank models: the stated distance, and speed", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("--distance", default=DISTANCE_CASES, help="data sets, with commas")
    parser.add_argument("--speed", default=",".join(SPEED_CASES), help="data sets, with commas")
    parser.add_argument(
        "--loss", default="default", choices=("default", "hinge"), help="the peer's"
    )
    parser.add_argument("--json", metavar="FILE", help="keep figures in FILE, and go on from it")
    parser.add_argument("--docs", action="store_true", help="write the page from FILE")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    kept: dict[str, list[dict]] = {"distance": [], "speed": []}
    if options.json and Path(options.json).exists():
        kept = json.loads(Path(options.json).read_text(encoding="utf-8"))
    for kind, measure in (("distance", _distance), ("speed", _speed)):
        done = {row["data"] for row in kept[kind]}
        for name in filter(None, getattr(options, kind).split(",")):
            if name in done:
                continue
            found = measure(name, options)
            kept[kind].append(asdict(found))
            print(found, flush=True)
            if options.json:
                Path(options.json).write_text(json.dumps(kept, indent=1), encoding="utf-8")
    if options.docs:
        PAGE.write_text(_page(kept), encoding="utf-8")
        print(f"wrote {PAGE}")
    false = [row["data"] for row in kept["distance"] if not row["is_true"]]
    if false:
        print(f"the stated distance is FALSE on {', '.join(false)}")
    return int(bool(false))


def _dense(X: Any) -> np.ndarray:
    return X.toarray() if sp.issparse(X) else np.asarray(X)


def _two_classes(y: np.ndarray) -> np.ndarray:
    """The larger labels against the smaller ones."""
    return np.where(y > np.median(y), 1, -1) if np.unique(y).size > 2 else y


def _distance(name: str, options: argparse.Namespace) -> Distance:
    mercer = importlib.import_module("mercer")
    case = CASES[name]
    prepared = prepare(case)
    order = np.random.default_rng(0).permutation(prepared.X.shape[0])[:ROWS]
    X, y = _dense(prepared.X[order]), prepared.y[order]
    gamma = SMOOTH / (X.shape[1] * X.var())
    machine_class = mercer.SVR if case.task == "svr" else mercer.SVC
    y = y if case.task == "svr" else _two_classes(y)
    exact = machine_class(gamma=gamma, tol=1e-5).fit(X, y).certificate_
    low = machine_class(
        gamma=gamma, approximation="nystroem", n_components=COMPONENTS, random_state=0
    ).fit(X, y)
    proof = low.certificate_
    P, stated = proof.exact_primal, proof.distance_to_exact
    # P − P* is between these two; the claim is false only if it is below the smaller one.
    least, most = P - exact.primal, P - exact.dual
    is_true = bool(stated >= least)
    return Distance(
        name, X.shape[0], X.shape[1], gamma, low.residual_, max(most, 0.0) / P, stated / P, is_true
    )


def _speed(name: str, options: argparse.Namespace) -> Speed:
    mercer = importlib.import_module("mercer")
    sk = importlib.import_module("sklearn.svm")
    nystroem = importlib.import_module("sklearn.kernel_approximation").Nystroem
    pipeline = importlib.import_module("sklearn.pipeline").make_pipeline
    case = CASES[name]
    prepared = prepare(case)
    m, gamma = SPEED_CASES.get(name, 500), prepared.gamma
    features = nystroem(gamma=gamma, n_components=m, random_state=0)
    hinge = {"loss": "hinge"} if options.loss == "hinge" else {}
    low = {"gamma": gamma, "C": case.C, "approximation": "nystroem", "n_components": m}
    low |= {"random_state": 0, "cache_size": 4000}
    if case.task == "svr":
        peer = pipeline(features, sk.LinearSVR(C=case.C, epsilon=case.epsilon, random_state=0))
        mine = mercer.SVR(**low, epsilon=case.epsilon)
    else:
        peer = pipeline(features, sk.LinearSVC(C=case.C, random_state=0, **hinge))
        mine = mercer.SVC(**low, loss=hinge.get("loss", "squared_hinge"))
    some = slice(0, 2000)
    mine.fit(prepared.X[some], prepared.y[some])  # compiled and warm
    seconds = _timed(mine, prepared)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that LIBLINEAR did not converge
        peer_seconds = _timed(peer, prepared)
    error, peer_error = _error(mine, prepared), _error(peer, prepared)
    stated = float(mine.certificate_.relative_distance)
    n = prepared.X.shape[0]
    return Speed(name, n, m, seconds, peer_seconds, error, peer_error, stated)


def _timed(model: Any, prepared: Any) -> float:
    """Seconds of a fit; the better of two where they are few."""
    spent: list[float] = []
    while not spent or (len(spent) < 2 and spent[0] < REPEAT_BELOW):
        began = time.perf_counter()
        model.fit(prepared.X, prepared.y)
        spent.append(time.perf_counter() - began)
    return min(spent)


def _error(model: Any, prepared: Any) -> float:
    """The fraction of wrong labels, or 1 − R²."""
    return float(1 - model.score(prepared.X_test, prepared.y_test))


def _page(kept: dict[str, list[dict]]) -> str:
    distances = [Distance(**row) for row in kept["distance"]]
    speeds = [Speed(**row) for row in kept["speed"]]
    first = table(
        ["data", "rows", "columns", "mean residual", "true distance", "stated", "stated / true"],
        [
            [
                row.data, f"{row.n:,}", str(row.d), f"{row.residual:.3f}", f"{row.true:.2%}",
                f"{row.stated:.2%}", f"{row.stated / row.true:.2f}" if row.true else "–",
            ]
            for row in sorted(distances, key=lambda row: row.residual)
        ],
    )  # fmt: skip
    second = table(
        ["data", "rows", "components", "s", "scikit-learn", "times faster", "error",
         "of scikit-learn", "stated distance"],
        [
            [
                row.data, f"{row.n:,}", str(row.components), f"{row.seconds:.2f}",
                f"{row.peer_seconds:.2f}", f"{row.peer_seconds / row.seconds:.1f}",
                f"{row.error:.4f}", f"{row.peer_error:.4f}", f"{row.stated:.1%}",
            ]
            for row in speeds
        ],
    )  # fmt: skip
    held = sum(row.is_true for row in distances)
    where = machine()
    return f"""# Performance: low rank

Models on random landmarks (`approximation="nystroem"`, see [the guide](../guide/low-rank.md)), by
`python -m benchmarks scale`.

## The stated distance

{ROWS:,} rows of each set, {COMPONENTS} landmarks, RBF kernel with a quarter of
γ = 1 / (columns · variance), C = 1, tol 1e-3. *True* is (P − P*)/P with P* from the exact solver
(tol 1e-5), *stated* is `distance_to_exact` / P. The claim held on {held} of {len(distances)} sets.

{first}

## Speed

`SVC` (of cadata `SVR`) with landmarks against scikit-learn's `Nystroem` and `LinearSVC`
(`LinearSVR`) with as many components, the same loss, γ and C, each to its default tolerance.
Mercer's time includes the certificate and the distance. *Error* is that of held-out rows: wrong
labels, of cadata 1 − R².

{second}

{where["cores"]} cores, {where["processor"]}, {where["date"]}.
"""
