"""``python -m benchmarks dask``: linear models on a Dask cluster of this machine.

*a9a*: cut into 8 chunks, three losses, 1, 2 and 4 workers: rounds, seconds, bytes that workers send
each other, peak memory of a worker, and whether the models are equal bit for bit. *lazy*: rows of
20 columns that exist only while a chunk is computed, within the memory limits of two workers.
*plan*: the constants of a cost model (seconds per row, per task, per byte), and what it says of 1
to 1,000 workers. *spark*: Spark MLlib's LinearSVC on rows of the same distribution, scored by the
same objective.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from typing import Any

import numpy as np

from benchmarks.memory_use import peak_mb
from benchmarks.report import table

__all__ = ["add_command"]

COLUMNS, CHUNK_ROWS = 20, 250_000


def add_command(commands: Any) -> None:
    parser = commands.add_parser(
        "dask", help="linear models on a Dask cluster of this machine",
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument(
        "--only", default="a9a,lazy", help="comma-separated: a9a, lazy, plan, spark"
    )
    parser.add_argument("--rows", type=float, default=5e6, help="of lazy and spark (5e6)")
    parser.add_argument("--memory", default="1GB", help="memory limit of a worker of lazy (1GB)")
    parser.add_argument("--json", metavar="FILE", help="write all figures to FILE")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    chosen, found = options.only.split(","), []
    cases = {"a9a": _a9a, "lazy": _lazy, "plan": _plan, "spark": _spark}
    unknown = [name for name in chosen if name not in cases]
    if unknown:
        raise ValueError(f"unknown cases {', '.join(unknown)}; known: {', '.join(cases)}.")
    for name in chosen:
        found += cases[name](options)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(found, file, indent=1)
    return 0


def _cluster(n_workers: int, memory: str = "auto") -> Any:
    from distributed import LocalCluster

    return LocalCluster(
        n_workers=n_workers, threads_per_worker=1, processes=True, memory_limit=memory,
        host="127.0.0.1", dashboard_address="127.0.0.1:0",
    )  # fmt: skip


def _sent(dask_worker: Any = None) -> int:
    return int(dask_worker.transfer_outgoing_bytes_total)


def _peak() -> float:
    return peak_mb()


def _fit(client: Any, model: Any, X: Any, y: Any) -> dict[str, Any]:
    """One fit: seconds, rounds, values, bytes between workers, peak memory of the workers."""
    before = sum(client.run(_sent).values())
    began = time.perf_counter()
    model.fit(X, y)
    certificate = model.certificate_
    return {
        "seconds": time.perf_counter() - began,
        "rounds": certificate.rounds,
        "primal": certificate.primal,
        "relative gap": certificate.relative_gap,
        "status": str(certificate.status),
        "MB sent": (sum(client.run(_sent).values()) - before) / 1e6,
        "MB worker": max(client.run(_peak).values()),
    }


def _print(rows: list[dict[str, Any]]) -> None:
    def text(value: Any) -> str:
        return f"{value:.6g}" if isinstance(value, float) else str(value)

    print(table(list(rows[0]), [[text(v) for v in row.values()] for row in rows]))


def _a9a(options: argparse.Namespace) -> list[dict[str, Any]]:
    import dask.array as da
    from distributed import Client

    from benchmarks.data import load
    from mercer.dask import LinearSVC, LogisticRegression

    data = load("a9a")
    X, y = data.X, data.y
    X = np.asarray(X.todense(), dtype=np.float64)
    rows: list[dict[str, Any]] = []
    models: dict[str, Any] = {}
    cases: dict[str, Any] = {
        "squared hinge": lambda: LinearSVC(tol=1e-3),
        "hinge": lambda: LinearSVC(loss="hinge", tol=1e-3),
        "logistic": lambda: LogisticRegression(tol=1e-3),
    }
    for n_workers in (1, 2, 4):
        with _cluster(n_workers) as cluster, Client(cluster) as client:
            chunks = client.persist(da.from_array(X, chunks=(-(-len(X) // 8), -1)))
            for name, make in cases.items():
                make().fit(chunks, y)  # compiles, or loads what is compiled
                model = make()
                row = {"case": name, "workers": n_workers, **_fit(client, model, chunks, y)}
                first = models.setdefault(name, model)
                row["same model"] = bool(np.array_equal(first.coef_, model.coef_))
                rows.append(row)
    _print(rows)
    return rows


def _rows(i: int) -> tuple[np.ndarray, np.ndarray]:
    """A chunk of rows: normal columns, noisy labels of a fixed direction."""
    rng = np.random.default_rng([7, i])
    X = rng.standard_normal((CHUNK_ROWS, COLUMNS), dtype=np.float32)
    noise = rng.standard_normal(CHUNK_ROWS, dtype=np.float32)
    direction = np.linspace(-1, 1, COLUMNS, dtype=np.float32)
    return X, np.where(X @ direction + noise + np.float32(0.3) > 0, 1, -1).astype(np.int8)


def _lazy_rows(n: int) -> tuple[Any, Any]:
    import dask.array as da
    from dask import delayed

    chunks = [delayed(_rows, nout=2)(i) for i in range(n // CHUNK_ROWS)]
    shape = (CHUNK_ROWS, COLUMNS)
    X = da.concatenate([da.from_delayed(X, shape, dtype=np.float32) for X, _ in chunks])
    y = da.concatenate([da.from_delayed(y, shape[:1], dtype=np.int8) for _, y in chunks])
    return X, y


def _lazy(options: argparse.Namespace) -> list[dict[str, Any]]:
    from distributed import Client

    from mercer.dask import LinearSVC

    n = int(options.rows)
    X, y = _lazy_rows(n)
    with _cluster(2, options.memory) as cluster, Client(cluster) as client:
        warm = _lazy_rows(2 * CHUNK_ROWS)
        LinearSVC(persist=False).fit(*warm)
        row = {"case": "lazy", "rows": n, **_fit(client, LinearSVC(persist=False), X, y)}
        row["MB total"] = sum(client.run(_peak).values()) + peak_mb()
    _print([row])
    return [row]


def _seconds_per_row(d: int, n: int = 100_000) -> float:
    """Of a round of the squared hinge on one core, rows in memory."""
    from mercer import LinearSVC
    from mercer.dask._chunk import Chunk
    from mercer.dask._linear_round import Certify, Request, evaluate_chunk

    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    chunk = Chunk(0, X, (X[:, 0] > 0).astype(np.int32), None, None, n)
    estimator = LinearSVC()
    estimator.classes_, estimator.class_weight_ = np.array([0, 1]), np.ones(2)
    w = rng.standard_normal(d) / d
    request = Request(0, w, 0.0, 0.0, w, 0.1, 1.0, Certify(w, 0.0, 0.0))
    seconds = []
    for _ in range(4):
        began = time.perf_counter()
        evaluate_chunk(chunk, estimator, [request], [None], [None])
        seconds.append(time.perf_counter() - began)
    return min(seconds) / n


def _seconds_per_task(n_chunks: int = 128) -> float:
    """Of the scheduler: rounds of chunks of four rows."""
    import dask.array as da
    from distributed import Client

    from mercer.dask import LinearSVC

    rng = np.random.default_rng(0)
    X = rng.standard_normal((4 * n_chunks, 2))
    y = np.where(X[:, 0] + rng.standard_normal(len(X)) > 0, 1, -1)
    times: list[float] = []
    with _cluster(2) as cluster, Client(cluster):
        chunks = da.from_array(X, chunks=(4, 2))
        given: dict[str, Any] = {
            "tol": 1e-9,
            "callback": lambda progress: times.append(progress.seconds),
        }
        LinearSVC(**given).fit(chunks, y)
    return float(np.diff(times).min()) / (n_chunks * (1 + 1 / 7))


def _bytes_per_second(megabytes: int = 128) -> float:
    """From one worker to another, on this machine."""
    from distributed import Client, wait

    with _cluster(2) as cluster, Client(cluster) as client:
        first, second = client.scheduler_info()["workers"]
        seconds = []
        for _ in range(3):
            data = client.submit(np.ones, megabytes << 17, workers=[first], pure=False)
            wait(data)
            began = time.perf_counter()
            client.submit(len, data, workers=[second], pure=False).result()
            seconds.append(time.perf_counter() - began)
    return (megabytes << 20) / min(seconds)


def _plan(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Time of a round: rows in parallel, one tree of (d+1)² numbers, and all tasks in sequence."""
    per_task, bandwidth = _seconds_per_task(), _bytes_per_second()
    rows = []
    for d in (20, 100, 500):
        per_row = _seconds_per_row(d, 100_000 if d < 500 else 20_000)
        constants = {"ns per row": 1e9 * per_row, "ms per task": 1e3 * per_task}
        constants["MB per s"] = bandwidth / 1e6
        for n in (1e7, 1e8, 1e9, 1e10):
            for workers in (1, 10, 100, 1000):
                chunks = max(workers, int(n // 1e6))
                levels = max(1, int(np.ceil(np.log(chunks) / np.log(8))))
                work = n / workers * per_row
                sums = levels * 8 * 8 * (d + 1) ** 2 / bandwidth
                tasks = chunks * (1 + 1 / 7) * per_task
                row = {"columns": d, **constants, "rows": f"{n:.0e}", "workers": workers}
                row |= {"rows s": work, "sums s": sums, "tasks s": tasks}
                rows.append(row | {"round s": max(work, tasks) + sums})
    _print(rows)
    return rows


def _spark(options: argparse.Namespace) -> list[dict[str, Any]]:
    """LinearSVC of MLlib minimises λ/2 ‖w‖² + mean hinge, without a penalty of the intercept."""
    from distributed import Client
    from pyspark.ml.classification import LinearSVC as SparkSVC
    from pyspark.ml.functions import array_to_vector
    from pyspark.sql import SparkSession

    from mercer.dask import LinearSVC

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    n = int(options.rows)
    parts = [_rows(i) for i in range(n // CHUNK_ROWS)]
    C = 100.0 / n
    with _cluster(2) as cluster, Client(cluster) as client:
        X, y = _lazy_rows(n)
        X, y = client.persist([X, y])
        given: dict[str, Any] = {"loss": "hinge", "C": C, "tol": 1e-5, "intercept_scaling": None}
        LinearSVC(**given).fit(*_lazy_rows(2 * CHUNK_ROWS))
        model = LinearSVC(**given)
        row = {"case": "mercer.dask", "rows": n, **_fit(client, model, X, y)}
        del X, y
    value = _hinge(parts, C, np.ravel(model.coef_), float(model.intercept_[0]))
    rows = [{"case": "mercer.dask", "rows": n, "seconds": row["seconds"], "objective": value}]
    session = SparkSession.builder.master("local[2]").config("spark.driver.memory", "6g")
    session = session.config("spark.ui.enabled", "false").getOrCreate()
    frame = _spark_frame(session, n).select(array_to_vector("x").alias("features"), "label").cache()
    frame.count()
    began = time.perf_counter()
    fitted = SparkSVC(regParam=1.0 / (C * n), maxIter=100, standardization=False).fit(frame)
    seconds = time.perf_counter() - began
    value = _hinge(parts, C, fitted.coefficients.toArray(), float(fitted.intercept))
    rows.append({"case": "Spark MLlib", "rows": n, "seconds": seconds, "objective": value})
    session.stop()
    _print(rows)
    return rows


def _spark_frame(session: Any, n: int) -> Any:
    """The same chunks, made by Spark's workers and handed over as Arrow tables."""
    import pandas as pd

    def make(batches: Any) -> Any:
        for batch in batches:
            for i in batch["id"]:
                X, y = _rows(int(i))
                for start in range(0, len(y), 25_000):
                    part = slice(start, start + 25_000)
                    rows = list(X[part].astype(np.float64))
                    yield pd.DataFrame({"x": rows, "label": (y[part] > 0).astype(float)})

    chunks = session.range(n // CHUNK_ROWS, numPartitions=2)
    return chunks.mapInPandas(make, "x array<double>, label double")


def _hinge(parts: list[tuple[np.ndarray, np.ndarray]], C: float, w: np.ndarray, b: float) -> float:
    loss = sum(float(np.maximum(1 - y * (X @ w + b), 0).sum(dtype=np.float64)) for X, y in parts)
    return float(w @ w) / 2 + C * loss
