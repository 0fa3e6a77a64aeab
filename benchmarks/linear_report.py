"""Tables of the linear models: seconds to a gap, ratios, paths."""

from __future__ import annotations

import signal
from typing import Any

from benchmarks.linear_cases import LINEAR_CASES, LOSSES
from benchmarks.linear_fits import LINEAR_PEERS
from benchmarks.peers import EARLIER
from benchmarks.report import geometric_mean, table

__all__ = ["markdown", "seconds_to", "summary"]

Run = dict[str, Any]
# How a process ends that has used up its processor time.
OUT_OF_TIME = {f"exit code {-number}" for number in (signal.SIGXCPU, signal.SIGKILL)}


def seconds_to(runs: list[Run], gap: float, timeout: float) -> tuple[float | None, str]:
    """Of one peer's fits, by falling tol: the first within the gap; and a mark where there is none.

    A peer that runs on one thread is given its processor time where that is less: what it would
    have taken undisturbed.
    """
    for run in runs:
        if run["peer"] in ("mercer", EARLIER) and run["tol"] != gap:
            continue
        if run.get("relative_gap", float("inf")) <= gap:
            seconds = run["seconds"]
            if run["peer"] == "liblinear":
                seconds = min(seconds, run["cpu_seconds"])
            return min(seconds, timeout), ""
    reasons = [run["failed"] for run in runs if "failed" in run]
    if any("not finished" in why or why in OUT_OF_TIME for why in reasons):
        return timeout, "≥"
    if reasons:
        return None, "failed"
    return None, "not measured to this gap" if runs else ""


def _fits(runs: list[Run], case: str, loss: str, peer: str) -> list[Run]:
    found = [
        run
        for run in runs
        if run["what"] == "fit" and (run["case"], run["loss"], run["peer"]) == (case, loss, peer)
    ]
    return sorted(found, key=lambda run: -run["tol"])


def _table(runs: list[Run], loss: str, gap: float, timeout: float) -> str:
    peers = [p for p in LINEAR_PEERS if any(r.get("peer") == p and r["loss"] == loss for r in runs)]
    rows: list[list[str]] = []
    ratios: dict[str, list[float]] = {peer: [] for peer in peers}
    bounds = dict.fromkeys(peers, False)  # one of the ratios is a lower bound
    for case in LINEAR_CASES.values():
        cells, mine = [], None
        for peer in peers:
            seconds, mark = seconds_to(_fits(runs, case.name, loss, peer), gap, timeout)
            if seconds is None:
                cells.append(mark or "–")
                continue
            mine = seconds if peer == "mercer" else mine
            ratio = seconds / mine if mine else None
            if ratio is not None and case.headline:
                ratios[peer].append(ratio)
                bounds[peer] |= bool(mark)
            of_mine = f" ({mark}{ratio:.2f}×)" if peer != "mercer" and ratio else ""
            cells.append(f"{mark}{seconds:.3g}{of_mine}")
        if any(cell != "–" for cell in cells):
            rows.append([case.name + ("" if case.headline else " *"), *cells])
    if "mercer" in peers:
        means = [
            f"{'≥' if bounds[peer] else ''}{geometric_mean(found):.2f}× of {len(found)}"
            if found
            else "–"
            for peer, found in ratios.items()
        ]
        rows.append(["geometric mean", *means])
    return table(["case", *peers], rows)


def _paths(runs: list[Run]) -> str:
    rows = []
    for run in runs:
        if run["what"] == "path" and "failed" not in run:
            fit, whole = run["fit_seconds"], run["path_seconds"]
            cells = [f"{fit:.3g}", f"{whole:.3g}", f"{whole / fit:.1f}"]
            rows.append([run["case"], run["loss"], *cells, f"{run['worst_relative_gap']:.0e}"])
    header = ["case", "loss", "fit at C=1", "path of 20", "fits", "largest gap"]
    return table(header, rows) if rows else ""


def _products(runs: list[Run]) -> str:
    rows = [
        [run["case"], run["loss"], f"{run['tol']:g}", f"{run['products']:.2f}"]
        for run in runs
        if run.get("products")
    ]
    return table(["case", "loss", "gap", "passes"], rows) if rows else ""


def _sections(runs: list[Run], targets: tuple[float, ...], timeout: float) -> list[str]:
    parts = []
    for loss in LOSSES:
        if any(run["what"] == "fit" and run["loss"] == loss for run in runs):
            for gap in targets:
                parts += [f"## {loss}, relative gap {gap:g}", _table(runs, loss, gap, timeout)]
    more = (("Products XᵀDX", _PRODUCTS, _products(runs)), ("Paths", _PATHS, _paths(runs)))
    for title, words, found in more:
        parts += [f"## {title}", words, found] if found else []
    return parts


def summary(runs: list[Run], targets: tuple[float, ...], timeout: float) -> str:
    return "\n\n".join(_sections(runs, targets, timeout))


def markdown(
    runs: list[Run], targets: tuple[float, ...], timeout: float, machine: dict[str, Any]
) -> str:
    """docs/performance/linear.md."""
    versions = sorted({f"{run['peer']} {run['version']}" for run in runs if "version" in run})
    about = _ABOUT.format(versions=", ".join(versions), timeout=timeout, **machine)
    return "\n\n".join([_HEAD, *_sections(runs, targets, timeout), about]) + "\n"


_PRODUCTS = """Rows with positive curvature that entered XᵀDX in Mercer's Newton steps (those of the
initial subsample included), divided by the number of rows."""

_PATHS = "`mercer.path` over 20 Cs from 1e-3 to 1e3 at the default `tol`, free intercept, seconds."

_HEAD = """# Performance: linear models

Seconds of a warm fit to the same certified gap; in brackets the multiple of Mercer's time. "≥"
marks a lower bound: the fit was stopped."""

_ABOUT = """## About this run

{processor}, {cores} cores, {system}, {date}. {versions}.

- Written by `python -m benchmarks linear --docs`: the best of a few warm fits (of one, for long
  fits), each in a process of its own.
- All solve LIBLINEAR's problem, with a penalised intercept. Mercer is given the gap as its `tol`; a
  peer the loosest of its tolerances, half decades apart (snapml: decades), whose solution is within
  the gap, and as many iterations as it needs. After {timeout:.0f} s it is stopped, and that time
  counts as a lower bound.
- Solutions are scored in float64 by `benchmarks/linear_fits.py`: P of the returned coefficients
  against the dual value, computed there too, of a reference with a gap of 1e-8.
- LIBLINEAR (through scikit-learn) has one thread, and is given its processor time where that is
  less than the wall clock; Mercer and snapml have as many threads as there are cores.
- Sets with a star are not in the mean; they have the default C = 1."""
