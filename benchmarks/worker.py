"""One peer, one case, one process: fit, fit again warm, predict; times and solution go to files.

Started by `runs` as ``python -m benchmarks.worker SPEC`` with the specification as JSON:
``{"do": "touch" | "fit" | "judge", …}``.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import os
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import memory_use
from benchmarks.cases import Case, Prepared, prepare
from benchmarks.peers import PEERS, Peer, Solution, read_solution

WARM_UP_ROWS = 400
# Predictions of the same rows, the least of which counts; no more once they took so many seconds.
PREDICTIONS, LONG_PREDICTION = 5, 2.0


def main(spec: dict[str, Any]) -> None:
    jobs: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
        "touch": _touch,
        "fit": _fit,
        "judge": _judge,
        "family": _family,
        "linear": _linear,
        "tuning": _tuning,
        "autofit": _autofit,
        "probability": _probability,
    }
    outcome = jobs[spec["do"]](spec)
    Path(spec["out"]).write_text(json.dumps(outcome))


def _touch(spec: dict[str, Any]) -> dict[str, Any]:
    memory_use.touch(spec["megabytes"])
    return {}


def _judge(spec: dict[str, Any]) -> dict[str, Any]:
    from benchmarks.judge import judge

    return judge(prepare(Case(**spec["case"])), Solution.read(spec["solution"]))


def _family(spec: dict[str, Any]) -> dict[str, Any]:
    from benchmarks.family import FAMILY, measure

    return measure(FAMILY[spec["case"]], spec["peer"], spec["repeat"], spec["solution"], timed_fit)


def _autofit(spec: dict[str, Any]) -> dict[str, Any]:
    from benchmarks.autofit import measure

    return measure(spec)


def _probability(spec: dict[str, Any]) -> dict[str, Any]:
    from benchmarks.probability import measure

    return measure(spec)


def _tuning(spec: dict[str, Any]) -> dict[str, Any]:
    from benchmarks.tuning import measure

    return measure(spec)


def _linear(spec: dict[str, Any]) -> dict[str, Any]:
    from benchmarks import linear_fits

    if spec["what"] == "reference":
        return linear_fits.reference(spec)
    work = linear_fits.measure_path if spec["what"] == "path" else linear_fits.measure
    return work(spec, timed_fit)


def _fit(spec: dict[str, Any]) -> dict[str, Any]:
    """Times, memory, versions; the solution is saved for the judge."""
    peer = PEERS[spec["peer"]]
    classes = peer.load()
    imported_mb = memory_use.resident_mb()
    data = _cast(prepare(Case(**spec["case"])), peer.dtype)
    memory_use.reset_peak()

    def new_model() -> Any:
        return peer.build(classes, data, spec["cache_mb"])

    first = timed_fit(new_model(), data.X, data.y)
    peak = memory_use.peak_mb() - imported_mb
    fits = [first]
    if first.seconds <= spec["repeat_below"]:
        fits = [timed_fit(new_model(), data.X, data.y) for _ in range(spec["repeat"])]
    best = min(fits, key=lambda fit: fit.seconds)
    model = best.model
    predict_seconds, predictions = _timed_predict(model, data.X_test)
    read_solution(peer, model, predictions).save(spec["solution"])
    outcome = {
        "first_fit_seconds": first.seconds,
        "fit_seconds": min(best.seconds, best.cpu_seconds) if peer.has_one_thread else best.seconds,
        "fit_cpu_seconds": best.cpu_seconds,
        "others_cores": None if peer.has_one_thread else best.others_cores,
        "repeated": best is not first,
        "predict_seconds": predict_seconds,
        "n_test": len(predictions),
        "shape": list(data.X.shape),
        "data_mb": _data_mb(data),
        "peak_mb": peak,
        "note": peer.check(model) if peer.check else None,
        **_environment(peer),
    }
    if peer.name == "mercer":
        from benchmarks.floor import floor_seconds

        certificate = model.certificate_
        outcome["certificate_share"] = certificate.certificate_seconds / certificate.seconds
        for precision in ("float32", "float64"):
            outcome[f"floor_{precision}_seconds"] = floor_seconds(
                data.X, model.support_, data.gamma, np.dtype(precision).type
            )
    return outcome


def _cast(data: Prepared, dtype: Any) -> Prepared:
    X, X_test = data.X.astype(dtype, copy=False), data.X_test.astype(dtype, copy=False)
    return Prepared(data.case, X, data.y, X_test, data.y_test, data.gamma)


def _data_mb(data: Prepared) -> float:
    X = data.X
    size = (
        X.nbytes
        if isinstance(X, np.ndarray)
        else sum(part.nbytes for part in (X.data, X.indices, X.indptr))
    )
    return size / memory_use.MB


@dataclass(frozen=True, eq=False)
class _Fit:
    """A fitted model, wall and processor seconds, and how many cores other processes used."""

    model: Any
    seconds: float
    cpu_seconds: float
    others_cores: float | None


def timed_fit(model: Any, X: Any, y: np.ndarray) -> _Fit:
    wall, cpu, busy = time.perf_counter(), time.process_time(), _busy_seconds()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    seconds, own = time.perf_counter() - wall, time.process_time() - cpu
    others = None if busy is None else max(0.0, (_busy_seconds() or 0.0) - busy - own) / seconds
    return _Fit(model, seconds, own, others)


def _busy_seconds() -> float | None:
    """Processor seconds the whole machine has spent working since it started (Linux)."""
    stat = Path("/proc/stat")
    if not stat.exists():
        return None
    user, nice, system = map(int, stat.read_text().split()[1:4])
    return (user + nice + system) / os.sysconf("SC_CLK_TCK")


def _timed_predict(model: Any, X: Any) -> tuple[float, np.ndarray]:
    """The least of a few, as of fits."""
    model.predict(X[:WARM_UP_ROWS])
    seconds = []
    for _ in range(PREDICTIONS):
        start = time.perf_counter()
        predictions = model.predict(X)
        seconds.append(time.perf_counter() - start)
        if sum(seconds) > LONG_PREDICTION:
            break
    return min(seconds), predictions


def _environment(peer: Peer) -> dict[str, Any]:
    from threadpoolctl import threadpool_info

    pools = {pool["user_api"]: pool["num_threads"] for pool in threadpool_info()}
    return {
        "version": _version(peer),
        "numpy": np.__version__,
        "python": sys.version.split()[0],
        "threads": pools,
        "cores": os.cpu_count(),
        "load_average": os.getloadavg()[0],
    }


def _version(peer: Peer) -> str:
    try:
        return importlib.metadata.version(peer.distribution)
    except importlib.metadata.PackageNotFoundError:
        return getattr(importlib.import_module(peer.package), "__version__", "unknown")


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
