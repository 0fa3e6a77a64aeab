"""``python -m benchmarks memory``: is ``cache_size`` kept, and is there a cliff without it?"""

from __future__ import annotations

import argparse
from typing import Any

from benchmarks.cases import CASES, Case
from benchmarks.report import table
from benchmarks.runs import Settings, run_one

__all__ = ["add_command"]

PLENTY_MB = 4000.0
ALLOWANCE_MB = 300.0
BYTES_PER_ELEMENT = 4
MB = 2**20


def add_command(commands: Any) -> None:
    parser = commands.add_parser("memory", help="is cache_size kept, and is there a cliff?")
    parser.add_argument("--cases", default="a9a,covtype,letter,cadata", help="comma-separated")
    parser.add_argument("--peers", default="mercer", help="whose memory (mercer)")
    parser.add_argument("--timeout", type=float, default=900, help="seconds per process (900)")
    parser.add_argument("--lock", metavar="FILE", help="hold this file lock during each process")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    rows = []
    for name in options.cases.split(","):
        if name not in CASES:
            raise ValueError(f"unknown case {name}; known: {', '.join(CASES)}.")
        for peer in options.peers.split(","):
            print(f"{name} {peer} ...", flush=True)
            rows += _budgets(peer, CASES[name], options)
    header = ["case", "peer", "cache MB", "fit s", "slower", "peak MB", "allowed MB", "violation"]
    print("\nWith plenty of cache, and with a tenth of what holds all support vectors' rows\n")
    print(table(header, rows))
    return 0


def _budgets(peer: str, case: Case, options: argparse.Namespace) -> list[list[str]]:
    """Plenty of cache, what the fit would like, and a tenth of that."""

    def fit(cache_mb: float) -> dict[str, Any]:
        settings = Settings(cache_mb=cache_mb, timeout=options.timeout, lock=options.lock)
        return run_one(peer, case, settings)

    plenty = fit(PLENTY_MB)
    if "failed" in plenty:
        return [[case.name, peer, f"{PLENTY_MB:.0f}", plenty["failed"], "", "", "", ""]]
    liked = min(PLENTY_MB, plenty["shape"][0] * plenty["n_sv"] * BYTES_PER_ELEMENT / MB)
    rows = []
    for run in (plenty, fit(max(1.0, liked / 10))):
        cells = [case.name, peer, f"{run['cache_mb']:,.0f}"]
        if "failed" in run:
            rows.append([*cells, run["failed"], "", "", "", ""])
            continue
        allowed = run["data_mb"] + run["cache_mb"] + ALLOWANCE_MB
        slower = run["fit_seconds"] / plenty["fit_seconds"]
        cells += [f"{run['fit_seconds']:.2f}", f"{slower:.2f}×", f"{run['peak_mb']:,.0f}"]
        rows.append([*cells, f"{allowed:,.0f}", f"{run['kkt_violation']:.1e}"])
    return rows
