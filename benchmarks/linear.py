"""``python -m benchmarks linear``: linear models to the same gap as LIBLINEAR and snapml.

Mercer is given the gap as its ``tol``; a peer the loosest of its tols, falling by half decades
(snapml: decades), whose solution is within it, and as many iterations as it needs. A fit that
is not finished after the time-out counts as that long.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.linear_cases import LINEAR_CASES, LOSSES
from benchmarks.linear_fits import LINEAR_PEERS
from benchmarks.linear_report import markdown, summary
from benchmarks.runs import held, machine, process

__all__ = ["add_command"]

TARGETS = (1e-3, 1e-6)
DOCS = Path(__file__).parent.parent / "docs" / "performance" / "linear.md"
# The time-out is one of processor time; on the clock a process may take this factor longer, for
# a busy computer, and for loading and scoring.
PATIENCE = 5.0


def add_command(commands: Any) -> None:
    parser = commands.add_parser("linear", help="linear models against LIBLINEAR and snapml")
    parser.add_argument(
        "--peers",
        default="liblinear,snapml",
        help="beside mercer; mercer-earlier is the version in the folder MERCER_EARLIER",
    )
    parser.add_argument("--no-mercer", action="store_true", help="run the peers alone")
    parser.add_argument("--cases", help=f"comma-separated, of: {', '.join(LINEAR_CASES)}")
    parser.add_argument("--losses", default="hinge", help=f"of: {', '.join(LOSSES)}")
    parser.add_argument("--tols", help="for the peers, instead of the whole ladder")
    parser.add_argument("--path", action="store_true", help="paths of 20 Cs against one fit")
    parser.add_argument("--json", metavar="FILE", help="write all figures to FILE")
    parser.add_argument("--reuse", action="store_true", help="keep runs that FILE already has")
    parser.add_argument("--again", help="with --reuse: peers that are run again all the same")
    parser.add_argument("--repeat", type=int, default=4, help="further warm fits (4)")
    parser.add_argument("--repeat-below", type=float, default=5.0, help="seconds (5)")
    parser.add_argument("--timeout", type=float, default=600, help="seconds per fit (600)")
    parser.add_argument("--lock", metavar="FILE", help="hold this file lock during each process")
    parser.add_argument("--docs", action="store_true", help=f"write docs/performance/{DOCS.name}")
    parser.set_defaults(run=run)


class _Runs:
    """What was measured, by what it was; written to a file after each."""

    def __init__(self, options: argparse.Namespace):
        self.options = options
        self.file = Path(options.json) if options.json else None
        self.found: list[dict[str, Any]] = []
        if options.reuse and self.file is not None and self.file.exists():
            self.found = json.loads(self.file.read_text())["runs"]
        self.again = (options.again or "").split(",")
        self.fresh: set[str] = set()

    def get(self, **what: Any) -> dict[str, Any]:
        """The run that is so described: an old one, or else a new one."""
        key = json.dumps(what, sort_keys=True)
        old = [run for run in self.found if all(run.get(k) == v for k, v in what.items())]
        if old and (what.get("peer") not in self.again or key in self.fresh):
            return old[0]
        options = self.options
        spec = {**what, "do": "linear", "repeat": options.repeat}
        spec["repeat_below"], spec["timeout"] = options.repeat_below, options.timeout
        if what["what"] == "fit":
            spec["bound"] = self.get(what="reference", case=what["case"], loss=what["loss"])[
                "bound"
            ]
        with tempfile.TemporaryDirectory() as folder, held(options.lock):
            outcome = process(spec, folder, PATIENCE * options.timeout)
        new = {**what, **outcome}
        self.found = [run for run in self.found if run not in old] + [new]
        self.fresh.add(key)
        if self.file is not None:
            self.file.write_text(json.dumps({"machine": machine(), "runs": self.found}, indent=1))
        print(
            " ".join(
                f"{v:.3g}" if isinstance(v, float) else str(v)
                for v in new.values()
                if not isinstance(v, list)
            ),
            flush=True,
        )
        return new

    def fits(self, case: str, loss: str, peer: str) -> None:
        """All tols until the solution is within every target, or a fit took too long."""
        tols = LINEAR_PEERS[peer].tols
        if tols is not None and self.options.tols:
            tols = tuple(map(float, self.options.tols.split(",")))
        best = float("inf")
        for tol in TARGETS if tols is None else tols:
            run = self.get(what="fit", case=case, loss=loss, peer=peer, tol=tol)
            late = "failed" in run
            best = min(best, run.get("relative_gap", best))
            if tols is not None and (late or best <= min(TARGETS)):
                return


def run(options: argparse.Namespace) -> int:
    peers = [*(() if options.no_mercer else ("mercer",)), *filter(None, options.peers.split(","))]
    cases = options.cases.split(",") if options.cases else list(LINEAR_CASES)
    losses = options.losses.split(",")
    for wanted, known in ((peers, LINEAR_PEERS), (cases, LINEAR_CASES), (losses, LOSSES)):
        unknown = sorted(set(wanted) - set(known))
        if unknown:
            raise ValueError(f"unknown {', '.join(unknown)}; known: {', '.join(known)}.")
    runs = _Runs(options)
    for loss in losses:
        for case in cases:
            if options.path:
                runs.get(what="path", case=case, loss=loss, peer="mercer")
                continue
            for peer in peers:
                missing = LINEAR_PEERS[peer].missing()
                if missing:
                    print(f"{peer}: {missing}")
                else:
                    runs.fits(case, loss, peer)
    print()
    print(summary(runs.found, TARGETS, options.timeout))
    if options.docs:
        DOCS.write_text(markdown(runs.found, TARGETS, options.timeout, machine()))
        print(f"wrote {DOCS}")
    return 0
