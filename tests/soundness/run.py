"""Check many problems of the generator: ``python -m tests.soundness.run --count 100000``.

A bar shows what is done, the failures so far and the time left. With ``--resume file`` every record
is appended to a journal, and problems that are in it are not checked again. Failing problems are
printed as code; in the end there is a table of failures by kind. The exit status is then 1.

``--table file`` checks nothing and prints the counts of a journal as a table in Markdown.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from tests.soundness.generator import code_of
from tests.soundness.workers import WATCHDOG, Pool

__all__ = ["is_failure", "main", "markdown_table"]

# Kinds of findings that are counted, but are no failure of a fit.
NOTED = ("undecided",)
MOST_PRINTED = 20


def is_failure(record: dict[str, Any]) -> bool:
    """Whether anything that was promised does not hold."""
    return any(kind not in NOTED for kind, _ in record["failures"])


def main(arguments: list[str] | None = None) -> int:
    """Run, print, and return the exit status."""
    options = _parser().parse_args(arguments)
    if options.table is not None:
        print(markdown_table(_read(options.table, None).values()))
        return 0
    console = Console(stderr=True)
    wanted = range(options.seed, options.seed + options.count)
    done = _read(options.resume, wanted)
    left = [seed for seed in wanted if seed not in done]
    if done:
        console.print(f"{len(done):,} of {len(wanted):,} are in {options.resume}")
    records = list(done.values())
    failed = sum(map(is_failure, records))
    columns = (
        TextColumn("soundness"), BarColumn(), MofNCompleteColumn(),
        TextColumn("{task.fields[failed]}"), TimeElapsedColumn(), TextColumn("left"),
        TimeRemainingColumn(),
    )  # fmt: skip
    printed = 0
    pool = Pool(options.jobs, options.watchdog)
    with pool, Progress(*columns, console=console) as progress:
        task = progress.add_task("", total=len(wanted), completed=len(done), failed=_words(failed))
        for record in pool.run(left):
            _append(options.resume, record)
            records.append(record)
            if is_failure(record):
                failed += 1
                printed += 1
                if printed <= options.print:
                    progress.console.print(
                        _report(record), markup=False, highlight=False, soft_wrap=True
                    )
            progress.update(task, advance=1, failed=_words(failed))
    _summarise(records, console)
    return int(failed > 0)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.soundness.run", description=__doc__)
    parser.add_argument("--count", type=int, default=100_000, help="how many problems")
    parser.add_argument("--seed", type=int, default=0, help="number of the first")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--resume", type=Path, default=None, help="journal, one JSON object a line")
    parser.add_argument("--table", type=Path, default=None, help="journal to print as Markdown")
    parser.add_argument("--watchdog", type=float, default=WATCHDOG, help="seconds for one problem")
    parser.add_argument("--print", type=int, default=MOST_PRINTED, help="failures printed as code")
    return parser


def _words(failed: int) -> str:
    return "no failures" if failed == 0 else f"{failed:,} failed"


def _read(path: Path | None, wanted: range | None) -> dict[int, dict[str, Any]]:
    """The records of a journal (None: all); a last line that was cut off is ignored."""
    if path is None or not path.exists():
        return {}
    found = {}
    for line in path.read_text().splitlines():
        try:
            record = json.loads(line)
        except json.JSONDecodeError:
            continue
        if wanted is None or record["seed"] in wanted:
            found[record["seed"]] = record
    return found


def _append(path: Path | None, record: dict[str, Any]) -> None:
    if path is not None:
        with path.open("a") as file:
            file.write(json.dumps(record) + "\n")


def _report(record: dict[str, Any]) -> str:
    failures = "\n".join(f"# {kind}: {message}" for kind, message in record["failures"])
    return f"\n{code_of(record['seed'])}\n{failures}\n"


def markdown_table(records: Iterable[dict[str, Any]]) -> str:
    """Problems, failures and undecided ones by estimator, as `docs/reliability.md` has them."""
    rows: dict[str, Counter[str]] = {}
    for record in records:
        found = {kind for kind, _ in record["failures"]}
        counts = Counter(count=1, failures=is_failure(record), undecided="undecided" in found)
        for name in (record["kind"], "all"):
            rows[name] = rows.get(name, Counter()) + counts
    lines = ["| problem | count | failures | undecided |", "|---|---|---|---|"]
    for name in (*sorted(set(rows) - {"all"}), *({"all"} & set(rows))):
        of = rows[name]
        lines.append(f"| {name} | {of['count']:,} | {of['failures']:,} | {of['undecided']:,} |")
    return "\n".join(lines)


def _summarise(records: Iterable[dict[str, Any]], console: Console) -> None:
    """Problems by estimator, and how many of them have each kind of failure."""
    records = list(records)
    counts = Counter(record["kind"] for record in records)
    found = Counter(
        (record["kind"], kind) for record in records for kind in {k for k, _ in record["failures"]}
    )
    kinds = sorted({kind for _, kind in found})
    table = Table("problem", "count", "s", *kinds)
    for name in sorted(counts):
        seconds = sum(record["seconds"] for record in records if record["kind"] == name)
        table.add_row(
            name, f"{counts[name]:,}", f"{seconds:.0f}", *(str(found[name, k] or "") for k in kinds)
        )
    totals = (str(sum(found[name, k] for name in counts)) for k in kinds)
    table.add_row("all", f"{len(records):,}", f"{sum(r['seconds'] for r in records):.0f}", *totals)
    console.print(table)
    failed = sum(map(is_failure, records))
    console.print(f"{len(records):,} problems, {_words(failed)}")


if __name__ == "__main__":
    sys.exit(main())
