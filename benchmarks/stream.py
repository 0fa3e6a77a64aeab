"""``python -m benchmarks stream``: a pass over a Parquet file against just scanning it.

Each runs in a process of its own, which reports its time and the most memory it had; the file is in
the system's cache. What counts is the fastest scan of several.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
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
    parser.add_argument("--file", help="take this one, made before")
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


def scan(path: Path) -> float:
    """All columns decoded as pyarrow does it by default, nothing done with them."""
    import pyarrow.parquet as pq

    return float(sum(piece.num_rows for piece in pq.ParquetFile(path).iter_batches()))


def dataset_scan(path: Path) -> float:
    """Row groups by pyarrow's scanner, in small reads and two batches ahead."""
    import pyarrow.dataset as ds

    options = ds.ParquetFragmentScanOptions(
        use_buffered_stream=True, buffer_size=1 << 20, pre_buffer=False
    )
    batches = ds.dataset(path).to_batches(
        batch_size=65_536, batch_readahead=2, fragment_readahead=1, fragment_scan_options=options
    )
    return float(sum(piece.num_rows for piece in batches))


def columns_scan(path: Path) -> float:
    """Each of as many threads as there are cores decodes some of the columns, in small reads."""
    import pyarrow.parquet as pq

    names, n = pq.ParquetFile(path).schema_arrow.names, os.cpu_count() or 1

    def part(k: int) -> int:
        file = pq.ParquetFile(path, pre_buffer=False, buffer_size=1 << 18)
        pieces = file.iter_batches(16_384, columns=names[k::n], use_threads=False)
        return sum(piece.num_rows for piece in pieces)

    with ThreadPoolExecutor(n) as pool:
        return float(sum(pool.map(part, range(n)))) / n


def stream(path: Path) -> float:
    """One pass; the accuracy of every hundredth row, which is held out."""
    from mercer import PegasosClassifier
    from mercer.data import Parquet

    model = PegasosClassifier(lam=1e-6, random_state=0)
    model.fit_stream(Parquet(path, target="label"), classes=[0, 1], holdout=100)
    return model.stream_[-1].score


SCANS = {"scan": scan, "dataset scan": dataset_scan, "columns scan": columns_scan}
WORKERS = {**SCANS, "stream": stream}


def _warm_up(worker: str) -> None:
    """Imports and compiled code, which are not what is measured."""
    with tempfile.TemporaryDirectory() as folder:
        make_file(Path(folder) / "small.parquet", 300_000)
        WORKERS[worker](Path(folder) / "small.parquet")


def work(options: argparse.Namespace) -> int:
    """In a process of its own."""
    _warm_up(options.worker)
    start = time.perf_counter()
    solution = WORKERS[options.worker](Path(options.folder))
    seconds = time.perf_counter() - start
    print(json.dumps({"seconds": seconds, "peak_mb": peak_mb(), "solution": solution}))
    return 0


def run(options: argparse.Namespace) -> int:
    if options.worker:
        return work(options)
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        path = Path(options.file or Path(folder) / "rows.parquet")
        if not options.file:
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
    seconds = {name: [run["seconds"] for run in runs] for name, runs in found.items()}
    lines = [
        [
            name,
            f"{min(seconds[name]):.2f}",
            f"{max(seconds[name]):.2f}",
            f"{options.rows / min(seconds[name]) / 1e6:.1f}",
            f"{max(run['peak_mb'] for run in runs):.0f}",
        ]
        for name, runs in found.items()
    ]
    print(
        f"{options.rows:,} rows × {COLUMNS} float32 columns, {size / 1e9:.2f} GB of Parquet; "
        f"{options.repeat} rounds\n"
    )
    print(table(["", "best s", "worst s", "M rows/s", "peak MB"], lines))
    fastest = [min(of_round) for of_round in zip(*(seconds[name] for name in SCANS), strict=True)]
    ratios = [s / f for s, f in zip(seconds["stream"], fastest, strict=True)]
    best = min(seconds["stream"]) / min(fastest)
    print(
        f"\nratio to the fastest scan: best against best {best:.2f}; "
        f"within each round {', '.join(f'{ratio:.2f}' for ratio in ratios)}; held-out accuracy "
        f"{found['stream'][0]['solution']:.4f}"
    )
    return 0
