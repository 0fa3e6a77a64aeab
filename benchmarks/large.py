"""``python -m benchmarks large``: all rows of covtype, and how the time grows with the rows.

Class 2 against the rest. *Growth*: standardised columns, C=10, γ=0.5, 12,500 rows to all but 20,000
held-out ones, each library until a fit takes longer than the time-out. *Unit columns*: scaled to
[0, 1] with C=32, γ=32, the setting in which DC-SVM was published (Hsieh, Si and Dhillon 2014).
Every solution is scored in float64 by the judge of the other benchmarks.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from benchmarks.cases import Case
from benchmarks.peers import expand_names
from benchmarks.report import table
from benchmarks.runs import Settings, Store, machine, run_one

__all__ = ["add_command"]

DOCS = Path(__file__).parent.parent / "docs"
PAGE, CHART = DOCS / "performance" / "large.md", DOCS / "images" / "covtype-growth.png"
SIZES = (12_500, 25_000, 50_000, 100_000, 200_000, 561_012)


def _growth(n: int) -> Case:
    return Case(f"covtype-{n}", "covtype", "svc", C=10, gamma=0.5, n_train=n)


CASES = {
    **{f"covtype-{n}": _growth(n) for n in SIZES},
    "unit-columns": Case(
        "unit-columns", "covtype", "svc", C=32, gamma=32, n_train=SIZES[-1], unit_columns=True
    ),
}


def add_command(commands: Any) -> None:
    parser = commands.add_parser(
        "large", help="all rows of covtype, and how the time grows with the rows",
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("--peers", default="sklearn,sklearnex", help="comma-separated")
    parser.add_argument("--cases", help=f"comma-separated, of: {', '.join(CASES)}")
    parser.add_argument("--json", metavar="FILE", help="write all figures to FILE")
    parser.add_argument("--reuse", action="store_true", help="keep runs that FILE already has")
    parser.add_argument("--docs", action="store_true", help="write the chart and the table")
    parser.add_argument("--cache-mb", type=float, default=6000, help="kernel cache for all (6000)")
    parser.add_argument("--timeout", type=float, default=1800, help="seconds per fit (1800)")
    parser.add_argument("--peer-timeout", type=float, default=300, help="of a peer's fit (300)")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    peers = ["mercer", *(p for p in expand_names(options.peers) if p != "mercer")]
    names = options.cases.split(",") if options.cases else list(CASES)
    unknown = [name for name in names if name not in CASES]
    if unknown:
        raise ValueError(f"unknown cases {', '.join(unknown)}; known: {', '.join(CASES)}.")
    store, given_up = Store(options.json, reuse=options.reuse), set[str]()
    for name in names:
        for peer in peers:
            if peer in given_up or store.find(name, peer) is not None:
                continue
            limit = options.timeout if peer == "mercer" else options.peer_timeout
            settings = Settings(cache_mb=options.cache_mb, repeat_below=30.0, timeout=limit)
            print(f"{name:15s} {peer:18s} ...", end=" ", flush=True)
            outcome = run_one(peer, CASES[name], settings)
            store.add(outcome | {"processor": machine()["processor"]})
            print(_line(outcome), flush=True)
            if "failed" in outcome:  # larger cases take longer still
                given_up.add(peer)
    if options.docs:
        _draw(store.runs)
        PAGE.write_text(_page(store.runs), encoding="utf-8")
        print(f"wrote {CHART} and {PAGE}")
    return 0


def _line(run: dict[str, Any]) -> str:
    if "failed" in run:
        return run["failed"]
    return (
        f"{run['fit_seconds']:.1f} s, {run['n_sv']:,} support vectors, relative gap "
        f"{run['relative_gap']:.1e}, violation {run['kkt_violation']:.1e}, "
        f"{run['peak_mb'] / 1000:.1f} GB, accuracy {run['test_score']:.4f}"
    )


def _by_machine(runs: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Finished runs of each processor, those of the one with most of them first."""
    names = [run.get("processor", "") for run in _finished(runs)]
    order = sorted(set(names), key=lambda name: -names.count(name))
    return [[r for r in _finished(runs) if r.get("processor", "") == name] for name in order]


def _table(runs: list[dict[str, Any]]) -> str:
    rows = [
        [
            run["case"].removeprefix("covtype-"), run["peer"], f"{run['fit_seconds']:.1f}",
            f"{run['n_sv']:,}", f"{run['relative_gap']:.1e}", f"{run['kkt_violation']:.1e}",
            f"{run['peak_mb'] / 1000:.1f}", f"{run['test_score']:.4f}",
        ]
        for run in sorted(runs, key=lambda run: list(CASES).index(run["case"]))
    ]  # fmt: skip
    header = [
        "rows",
        "library",
        "s",
        "support vectors",
        "relative gap",
        "violation",
        "GB",
        "accuracy",
    ]
    return table(header, rows)


def _page(runs: list[dict[str, Any]]) -> str:
    described, groups = machine(), _by_machine(runs)
    tables = "\n\nOn another machine:\n\n".join(map(_table, groups))
    largest = max(
        (r for r in _finished(runs) if r["peer"] == "mercer" and r["case"] != "unit-columns"),
        key=lambda run: _rows(run["case"]),
    )
    n = _rows(largest["case"])
    return (
        "# Performance: large data\n\n"
        f"{'All ' if n == SIZES[-1] else ''}{n:,} training rows of covtype, exact to tol 1e-3 "
        f"(relative gap {largest['relative_gap']:.1e}, {largest['n_sv']:,} support vectors), in "
        f"{largest['fit_seconds']:.0f} seconds on {described['cores']} cores; accuracy "
        f"{largest['test_score']:.3f}.\n\n"
        "![Seconds of a fit against the number of rows](../images/covtype-growth.png)\n\n"
        f"{__doc__.split(chr(10) * 2, 1)[1].strip()}\n\n{tables}\n\n"
        f"{described['cores']} cores, {described['processor']}, {described['date']}."
    )


def _rows(case: str) -> int:
    return CASES[case].n_train or 0


def _finished(runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [run for run in runs if "failed" not in run and run["case"] in CASES]


def _draw(runs: list[dict[str, Any]]) -> None:
    """Seconds against rows, both logarithmic, a line for each library."""
    from mercer.plots import style

    names = {
        "mercer": ("Mercer", style.BLUE, "o"),
        "sklearnex": ("scikit-learn-intelex, float64", style.VERMILION, "s"),
        "sklearnex-float32": ("scikit-learn-intelex, float32", style.ORANGE, "D"),
        "sklearn": ("scikit-learn", style.GREEN, "^"),
    }
    with style.context():
        plt = style.pyplot()
        figure, axes = plt.subplots(figsize=(7.2, 4.2))
        for number, group in enumerate(_by_machine(runs)):
            where, fill = (", another machine", "white") if number else ("", None)
            for peer, (label, colour, marker) in names.items():
                own = sorted(
                    (_rows(run["case"]), run["fit_seconds"])
                    for run in group
                    if run["peer"] == peer and run["case"] != "unit-columns"
                )
                if own:
                    look = {"marker": marker, "color": colour, "markerfacecolor": fill or colour}
                    axes.loglog(*zip(*own, strict=True), label=label + where, **look)
        axes.set_xticks(SIZES, [f"{n:,}" for n in SIZES], fontsize="small")
        axes.minorticks_off()
        axes.set_yticks([1, 10, 60, 300], ["1 s", "10 s", "1 min", "5 min"])
        axes.set_xlabel("training rows of covtype (54 columns, C=10, γ=0.5, tol 1e-3)")
        axes.set_ylabel("seconds of an exact fit")
        axes.legend(loc="lower right")
        figure.savefig(CHART, dpi=150, bbox_inches="tight")
        plt.close(figure)
