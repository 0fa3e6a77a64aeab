"""``python -m benchmarks stream``: a pass over a Parquet file against just scanning it.

Both run in processes of their own, which report their time and the most memory they had.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.memory_use import peak_mb
from benchmarks.report import table

__all__ = ["add_command"]

COLUMNS = 20
ROWS_AT_ONCE = 1_000_000


def add_command(commands: Any) -> None:
    parser = commands.add_parser("stream", help="fit_stream from Parquet against scanning it")
    parser.add_argument("--rows", type=int, default=20_000_000, help="rows of 20 float32 columns")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each, in turns (3)")
    parser.add_argument("--folder", help="where to make the file (a temporary folder)")
    parser.add_argument("--worker", choices=WORKERS, help=argparse.SUPPRESS)
    parser.set_defaults(run=run)


def make_file(path: Path, rows: int) -> None:
    """Noisy labels of a linear rule, in row groups of a million."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    w = rng.normal(size=COLUMNS).astype(np.float32)
    writer = None
    for start in range(0, rows, ROWS_AT_ONCE):
        n = min(ROWS_AT_ONCE, rows - start)
        X = rng.standard_normal(size=(n, COLUMNS), dtype=np.float32)
        y = (X @ w + rng.standard_normal(n, dtype=np.float32) > 0).astype(np.int8)
        piece = pa.table({f"x{j}": X[:, j] for j in range(COLUMNS)} | {"label": y})
        writer = writer or pq.ParquetWriter(path, piece.schema)
        writer.write_table(piece)
    assert writer is not None
    writer.close()


def scan(path: Path, **options: Any) -> float:
    """All columns decoded, nothing done with them."""
    import pyarrow.parquet as pq

    rows = 0
    for piece in pq.ParquetFile(path, **options).iter_batches(65_536):
        rows += piece.num_rows
    return float(rows)


def buffered_scan(path: Path) -> float:
    """The same in small reads, as the stream does."""
    return scan(path, pre_buffer=False, buffer_size=1 << 20)


def stream(path: Path) -> float:
    """One pass; the accuracy of every hundredth row, which is held out."""
    from mercer import PegasosClassifier
    from mercer.streams import Parquet

    model = PegasosClassifier(lam=1e-6, random_state=0)
    model.fit_stream(Parquet(path, target="label"), classes=[0, 1], holdout=100)
    return model.stream_[-1].score


WORKERS = {"scan": scan, "buffered-scan": buffered_scan, "stream": stream}


def _warm_up() -> None:
    """Imports and compiled code, which are not what is measured."""
    with tempfile.TemporaryDirectory() as folder:
        make_file(Path(folder) / "small.parquet", 1000)
        for work in WORKERS.values():
            work(Path(folder) / "small.parquet")


def work(options: argparse.Namespace) -> int:
    """In a process of its own."""
    _warm_up()
    start = time.perf_counter()
    answer = WORKERS[options.worker](Path(options.folder))
    seconds = time.perf_counter() - start
    print(json.dumps({"seconds": seconds, "peak_mb": peak_mb(), "answer": answer}))
    return 0


def run(options: argparse.Namespace) -> int:
    if options.worker:
        return work(options)
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        path = Path(folder) / "rows.parquet"
        make_file(path, options.rows)
        size = path.stat().st_size
        found: dict[str, list[dict]] = {name: [] for name in WORKERS}
        for _ in range(options.repeat):
            for name, runs in found.items():
                command = [sys.executable, "-m", "benchmarks", "stream", "--worker", name]
                done = subprocess.run(
                    [*command, "--folder", str(path)], capture_output=True, text=True, check=True
                )
                runs.append(json.loads(done.stdout))
    best = {name: min(run["seconds"] for run in runs) for name, runs in found.items()}
    lines = [
        [name, f"{best[name]:.2f}", f"{max(run['peak_mb'] for run in runs):.0f}"]
        for name, runs in found.items()
    ]
    print(f"{options.rows:,} rows × {COLUMNS} float32 columns, {size / 1e9:.2f} GB of Parquet; "
          f"best of {options.repeat}\n")  # fmt: skip
    print(table(["", "seconds", "peak MB"], lines))
    fastest = min(best["scan"], best["buffered-scan"])
    print(f"\nratio to the faster scan {best['stream'] / fastest:.2f}; held-out accuracy "
          f"{found['stream'][0]['answer']:.4f}")  # fmt: skip
    return 0
