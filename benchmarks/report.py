"""What the runs say: ratios with their geometric mean, as Markdown tables."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from benchmarks.cases import CASES
from benchmarks.peers import PEERS

__all__ = ["geometric_mean", "markdown", "replace_section", "summary", "table"]

Run = dict[str, Any]
# A run during which other processes used more cores than this is marked.
DISTURBED = 0.25


def geometric_mean(values: Iterable[float]) -> float:
    values = list(values)
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def table(header: list[str], rows: list[list[str]]) -> str:
    """A Markdown table, padded so that it reads well as it is."""
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]

    def line(cells: list[str]) -> str:
        first, *rest = (
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(cells, widths, strict=True))
        )
        return "| " + " | ".join([first, *rest]) + " |"

    rule = "|" + "|".join("-" * (w + 1) + ("-" if i == 0 else ":") for i, w in enumerate(widths))
    return "\n".join([line(header), rule + "|", *map(line, rows)])


def replace_section(page: Path, title: str, text: str) -> None:
    """Put ``text`` below the heading ``title`` of a page, up to its next heading."""
    old = page.read_text(encoding="utf-8")
    pattern = rf"(^## {re.escape(title)}\n\n).*?(?=^## |\Z)"
    new, count = re.subn(pattern, rf"\g<1>{text}\n\n", old, flags=re.MULTILINE | re.DOTALL)
    if count != 1:
        raise ValueError(f"{page}: {count} sections {title!r}, expected 1.")
    page.write_text(new, encoding="utf-8")


class _Runs:
    """Runs by case and peer, in the order both are defined."""

    def __init__(self, runs: list[Run]):
        self.at = {(run["case"], run["peer"]): run for run in runs}
        self.cases = [case for case in CASES if any(case == c for c, _ in self.at)]
        self.peers = [peer for peer in PEERS if any(peer == p for _, p in self.at)]

    def good(self, case: str, peer: str) -> Run | None:
        run = self.at.get((case, peer))
        return None if run is None or "failed" in run else run

    def failures(self) -> list[str]:
        """One line for each peer and reason."""
        cases: dict[tuple[str, str], list[str]] = {}
        for (case, peer), run in self.at.items():
            if "failed" in run:
                cases.setdefault((peer, run["failed"]), []).append(case)
        return [f"{peer} on {', '.join(on)}: {why}" for (peer, why), on in cases.items()]

    def ratio(self, case: str, peer: str, field: str) -> float | None:
        """How many times Mercer's; None unless both were measured undisturbed."""
        mine, theirs = self.good(case, "mercer"), self.good(case, peer)
        if mine is None or theirs is None or _disturbed(mine) or _disturbed(theirs):
            return None
        return theirs[field] / mine[field]


def _disturbed(run: Run) -> bool:
    return (run.get("others_cores") or 0) > DISTURBED


def _seconds(value: float) -> str:
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 0.1 else f"{value:.4f}"


def _times(runs: _Runs, field: str) -> str:
    """Seconds of each peer with, in brackets, how many times Mercer's they are."""

    def cell(case: str, peer: str) -> str:
        run = runs.good(case, peer)
        if run is None:
            return "–"
        ratio = None if peer == "mercer" else runs.ratio(case, peer, field)
        mark = "*" if _disturbed(run) else ""
        return _seconds(run[field]) + mark + (f" ({ratio:.1f}×)" if ratio is not None else "")

    rows = [[case, *(cell(case, peer) for peer in runs.peers)] for case in runs.cases]
    if "mercer" in runs.peers:
        headline = [case for case in runs.cases if CASES[case].headline]
        for title, cases in (("geometric mean", headline), ("of all cases", runs.cases)):
            if cases and (title == "geometric mean" or cases != headline):
                rows.append([title, *(_mean_ratio(runs, cases, p, field) for p in runs.peers)])
    return table(["case", *runs.peers], rows)


def _mean_ratio(runs: _Runs, cases: list[str], peer: str, field: str) -> str:
    if peer == "mercer":
        return "1×"
    ratios = [runs.ratio(case, peer, field) for case in cases]
    known = [ratio for ratio in ratios if ratio is not None]
    if not known:
        return "–"
    missing = f" of {len(known)}" if len(known) < len(cases) else ""
    return f"{geometric_mean(known):.1f}×{missing}"


def _each(runs: _Runs, show: Callable[[Run], str]) -> str:
    """One figure of every run."""
    rows = []
    for case in runs.cases:
        found = [runs.good(case, peer) for peer in runs.peers]
        rows.append([case, *("–" if run is None else show(run) for run in found)])
    return table(["case", *runs.peers], rows)


def _floors(runs: _Runs) -> str:
    """Fits as multiples of the floor, which is that of float32 tiles; float64 for comparison."""
    rows = []
    for case in runs.cases:
        run = runs.good(case, "mercer")
        if run:
            fit, floor = run["fit_seconds"], run["floor_float32_seconds"]
            n, d = run["shape"]
            sizes = [f"{n:,} × {d:,}", f"{run['n_sv']:,}"]
            seconds = [_seconds(t) for t in (run["floor_float64_seconds"], floor, fit)]
            fraction = (
                f"{100 * run['certificate_share']:.1f} %" if "certificate_share" in run else ""
            )
            rows.append([case, *sizes, *seconds, f"{fit / floor:.1f}", fraction])
    header = [
        "case", "data", "n_sv", "float64 floor", "floor", "fit", "fit / floor", "certificate",
    ]  # fmt: skip
    return table(header, rows) if rows else ""


def summary(all_runs: list[Run]) -> str:
    """The tables that matter most, for the terminal."""
    runs = _Runs(all_runs)
    parts = [
        "Fit, warm, seconds (times Mercer's)",
        _times(runs, "fit_seconds"),
        "Predict, seconds (times Mercer's)",
        _times(runs, "predict_seconds"),
        "True KKT violation (asked: 1e-3) / relative gap",
        _each(runs, lambda run: f"{run['kkt_violation']:.1e} / {run['relative_gap']:.0e}"),
    ]
    floors = _floors(runs)
    if floors:
        parts += ["Against the floor", floors]
    return "\n\n".join([*parts, *runs.failures()])


def markdown(all_runs: list[Run], machine: dict[str, Any]) -> str:
    """docs/performance/kernel.md."""
    runs = _Runs(all_runs)
    versions = sorted({f"{r['peer']} {r['version']}" for r in all_runs if "version" in r})
    failures = "\n".join(f"- {line}" for line in runs.failures())
    sections = [
        _HEAD.format(means=_means(runs)),
        "## Fit\n\nWarm, in seconds; in brackets how many times Mercer's.\n",
        _times(runs, "fit_seconds"),
        "\n## Predict\n\nThe test rows, in seconds, the least of up to five; in brackets how many "
        "times Mercer's.\n",
        _times(runs, "predict_seconds"),
        "\n## Accuracy of the solutions\n",
        "The largest violating pair under the float64 kernel (the libraries were asked for 1e-3), "
        "and the relative gap between primal and dual value.\n",
        _each(runs, lambda r: f"{r['kkt_violation']:.1e} / {r['relative_gap']:.0e}"),
        "\nThe dual value reached (summed over class pairs; larger is better).\n",
        _each(runs, lambda r: f"{r['dual']:.8g}"),
        "\nHeld-out score (accuracy, R² for regression).\n",
        _each(runs, lambda r: f"{r['test_score']:.4f}"),
        "\n## The floor\n\nOne pass of Mercer's own tiles over n × n_sv kernel elements, which no "
        "exact method avoids, in seconds. *Floor* is in float32, whichever precision the fit used. "
        "*Certificate* is the fraction of the fit that float64 sums with bounds and the checks of "
        "the solution take.\n",
        _floors(runs),
        "\n## First fit in a process and memory\n\nFirst fit in seconds / peak memory over the "
        "imported library in MB (data included).\n",
        _each(runs, lambda r: f"{_seconds(r['first_fit_seconds'])} / {r['peak_mb']:,.0f}"),
        f"\n## Not finished\n\n{failures}" if failures else "",
        f"\n## Cases\n\n{_parameters(runs)}\n",
        _ABOUT.format(versions=", ".join(versions), **machine),
    ]
    return "\n".join(sections)


def _parameters(runs: _Runs) -> str:
    rows = []
    for case in runs.cases:
        run = next(r for p in runs.peers if (r := runs.at.get((case, p))) is not None)
        p, shape = run["parameters"], run.get("shape")
        gamma = "scale" if p["gamma"] is None else f"{p['gamma']:g}"
        size = f"{shape[0]:,} × {shape[1]:,}" if shape else "–"
        epsilon = f" ε={p['epsilon']:g}" if p["task"] == "svr" else ""
        cache = "default" if run["cache_mb"] is None else f"{run['cache_mb']:,.0f} MB"
        rows.append([case, p["task"].upper(), size, f"C={p['C']:g} γ={gamma}{epsilon}", cache])
    return table(["case", "task", "data", "parameters", "cache"], rows)


def _means(runs: _Runs) -> str:
    cases = [case for case in runs.cases if CASES[case].headline]
    means = [
        f"{_mean_ratio(runs, cases, peer, 'fit_seconds')} of {peer}"
        for peer in runs.peers
        if peer != "mercer"
    ]
    return ", ".join(means)


_HEAD = """# Performance: kernel SVMs

Warm fits with one tolerance of 1e-3, as multiples of Mercer's time (geometric means): {means}.
Every solution is scored in float64.
"""

_ABOUT = """## About this run

{processor}, {cores} cores, {system}, {date}. {versions}.

- Written by `python -m benchmarks kernel --docs`; every figure is from that run.
  [benchmarks.md](benchmarks.md) says how it is measured. All libraries get the same data, C, γ and
  tolerance 1e-3, each in a process of its own; memory is touched beforehand.
- *Warm* is a fit after a first one in the same process (fits of more than 120 s are not repeated).
- The solutions are read from the fitted attributes and scored in float64 by
  `benchmarks/judge.py`, which shares no code with any of the libraries.
- `sklearnex-float32` is scikit-learn-intelex given float32 data.
- A star marks a fit during which other processes used more than a quarter of a core: its time is
  too long and enters no ratio. scikit-learn, which has one thread, is given its processor time
  instead.
"""
