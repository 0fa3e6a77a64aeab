"""``python -m benchmarks kernel``: exact kernel SVMs, the same problems to all peers."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from benchmarks.cases import CASES, Case, default_parameters
from benchmarks.peers import expand_names
from benchmarks.report import markdown, summary
from benchmarks.runs import Settings, Store, machine, run_one

__all__ = ["add_command"]

DOCS = Path(__file__).parent.parent / "docs" / "performance" / "kernel.md"


def add_command(commands: Any) -> None:
    parser = commands.add_parser(
        "kernel",
        help="exact kernel SVMs against the peers",
        description="Fits the same data with the same C, gamma and tol in one process per peer, "
        "scores every solution in float64, and reports times, ratios and the floor.",
    )
    parser.add_argument(
        "--peers",
        default="sklearn,sklearnex,thundersvm",
        help="comma-separated: sklearn, sklearnex (float64 and float32 data), thundersvm; "
        "mercer is always run",
    )
    parser.add_argument("--no-mercer", action="store_true", help="run the peers alone")
    parser.add_argument("--cases", help=f"comma-separated, of: {', '.join(CASES)}")
    parser.add_argument("--json", metavar="FILE", help="write all figures to FILE")
    parser.add_argument("--reuse", action="store_true", help="keep runs that FILE already has")
    parser.add_argument(
        "--quiet",
        type=float,
        metavar="CORES",
        help="with --reuse: run again what was measured while other processes used more",
    )
    parser.add_argument("--docs", action="store_true", help="write docs/performance/kernel.md")
    parser.add_argument("--cache-mb", type=float, default=4000, help="kernel cache for all (4000)")
    parser.add_argument("--repeat", type=int, default=1, help="warm fits; the best counts (1)")
    parser.add_argument("--timeout", type=float, default=900, help="seconds per process (900)")
    parser.add_argument(
        "--defaults", action="store_true", help="default parameters and default cache instead"
    )
    parser.add_argument("--lock", metavar="FILE", help="hold this file lock during each process")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    peers = expand_names(options.peers)
    if not options.no_mercer:
        peers = ["mercer", *(peer for peer in peers if peer != "mercer")]
    settings = Settings(
        cache_mb=None if options.defaults else options.cache_mb,
        repeat=options.repeat,
        timeout=options.timeout,
        lock=options.lock,
    )
    store = Store(options.json, reuse=options.reuse, quiet=options.quiet)
    for case in _chosen(options.cases, options.defaults):
        for peer in peers:
            if store.find(case.name, peer) is None:
                print(f"{case.name:10s} {peer:18s} ...", end=" ", flush=True)
                outcome = run_one(peer, case, settings)
                store.add(outcome)
                print(_line(outcome), flush=True)
    print()
    print(summary(store.runs))
    if options.docs:
        DOCS.write_text(markdown(store.runs, machine()))
        print(f"wrote {DOCS}")
    return 0


def _chosen(names: str | None, defaults: bool) -> list[Case]:
    wanted = names.split(",") if names else list(CASES)
    unknown = [name for name in wanted if name not in CASES]
    if unknown:
        raise ValueError(f"unknown cases {', '.join(unknown)}; known: {', '.join(CASES)}.")
    cases = [CASES[name] for name in wanted]
    return [default_parameters(case) for case in cases] if defaults else cases


def _line(run: dict[str, Any]) -> str:
    if "failed" in run:
        return run["failed"]
    return (
        f"first {run['first_fit_seconds']:.2f} s, warm {run['fit_seconds']:.2f} s, "
        f"predict {run['predict_seconds']:.2f} s, violation {run['kkt_violation']:.2e}, "
        f"relative gap {run['relative_gap']:.1e}, score {run['test_score']:.4f}"
        + (
            f" (others used {others:.1f} cores)"
            if (others := run.get("others_cores") or 0) > 0.2
            else ""
        )
    )
