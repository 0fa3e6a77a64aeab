"""scikit-learn's own tests with Mercer's classes in place: ``python -m tests.dropin.run``.

The installed test files that name a class of `swap.REPLACED` are run by pytest with the plugin
`swap`. What fails is run again with scikit-learn's classes: a test that fails then too (a missing
package, no network) does not count. The rest is compared with `deviations`: the exit status is 1 if
a test fails that is not listed, or if one that is listed passes.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import sklearn

from tests.dropin.deviations import DEVIATIONS, MAY_PASS
from tests.dropin.swap import ABOUT_THE_CLASSES, NAMES

__all__ = ["Comparison", "compare", "main", "run"]

SITE = Path(sklearn.__file__).parents[1]
ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Comparison:
    """Outcomes against the list of deviations.

    Attributes
    ----------
    passed : int
    listed, new : dict of str to str
        Tests that fail with Mercer's classes only, and what they say: as listed, and others.
    gone : list of str
        Entries of the list all of whose tests pass, but for those that may.
    """

    passed: int
    listed: dict[str, str]
    new: dict[str, str]
    gone: list[str]

    @property
    def holds(self) -> bool:
        return not self.new and not self.gone

    def __str__(self) -> str:
        n = self.passed + len(self.listed) + len(self.new)
        lines = [f"{self.passed:,} of {n:,} tests pass, {len(self.listed)} deviate as listed"]
        lines += [f"new: {test}: {says.splitlines()[0]}" for test, says in self.new.items()]
        lines += [f"gone: {entry} passes; take it off the list" for entry in self.gone]
        return "\n".join(lines)


def files_that_use() -> list[Path]:
    """The test files of the installed scikit-learn that name one of the classes."""
    named = re.compile(rf"\b(svm|{'|'.join(NAMES)})\b")
    files = sorted((SITE / "sklearn").rglob("tests/test_*.py"))
    return [file for file in files if named.search(file.read_text(encoding="utf-8"))]


def files_about_the_classes() -> list[Path]:
    """Those of which every test is run."""
    return [file for file in files_that_use() if file.as_posix().endswith(ABOUT_THE_CLASSES)]


def run(tests: Iterable[Path | str], *options: str) -> dict[str, tuple[str, str]]:
    """Outcome of each test, and what it says if it failed."""
    with tempfile.TemporaryDirectory() as folder:
        outcomes = Path(folder) / "outcomes.jsonl"
        paths = os.pathsep.join([str(ROOT), str(ROOT / "src")])
        command = [
            *(sys.executable, "-m", "pytest", "-q", "--no-header", "--tb=no"),
            *("-p", "tests.dropin.swap", "-c", os.devnull, "--rootdir", str(SITE), "-W", "default"),
            *("-p", "no:cacheprovider", "--disable-warnings", "--outcomes", str(outcomes)),
            *options,
            *map(str, tests),
        ]  # fmt: skip
        environment = {**os.environ, "PYTHONPATH": paths, "SKLEARN_SKIP_NETWORK_TESTS": "1"}
        done = subprocess.run(
            command, env=environment, cwd=folder, capture_output=True, text=True, check=False
        )
        if done.returncode not in (0, 1):  # 1: some tests failed
            raise RuntimeError(f"pytest ended with {done.returncode}\n{done.stdout}{done.stderr}")
        lines = outcomes.read_text(encoding="utf-8").splitlines()
    records = map(json.loads, lines)
    return {record["test"]: (record["outcome"], record["says"]) for record in records}


def compare(tests: Sequence[Path | str], *options: str) -> Comparison:
    """Run tests with Mercer's classes, what fails with scikit-learn's too, and compare."""
    found = run(tests, *options)
    failed = {test: says for test, (outcome, says) in found.items() if outcome == "failed"}
    if failed:
        own = run([SITE / test for test in failed], "--own-classes")
        failed = {t: says for t, says in failed.items() if own[t][0] != "failed"}
    covered = {test: _entry(test) for test in found}
    used = {covered[test] for test in failed}
    return Comparison(
        sum(outcome == "passed" for outcome, _ in found.values()),
        {test: says for test, says in failed.items() if covered[test] in DEVIATIONS},
        {test: says for test, says in failed.items() if covered[test] not in DEVIATIONS},
        sorted({entry for entry in covered.values() if entry in DEVIATIONS} - used - MAY_PASS),
    )


def _entry(test: str) -> str:
    """The entry that a test belongs to: its own, or that of all parameters."""
    return test if test in DEVIATIONS else test.partition("[")[0]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, print, and return the exit status."""
    parser = argparse.ArgumentParser(description="scikit-learn's tests with Mercer's classes")
    parser.add_argument("--quick", action="store_true", help="the files about the classes only")
    parser.add_argument("--jobs", default="0", help="processes, as pytest-xdist's -n")
    options = parser.parse_args(arguments)
    files = files_about_the_classes() if options.quick else files_that_use()
    print(f"scikit-learn {sklearn.__version__}: {len(files)} files", flush=True)
    comparison = compare(files, "-n", options.jobs, "--maxprocesses", "4", "--dist", "loadfile")
    print(comparison)
    for test in comparison.listed:
        print(f"listed: {test}: {DEVIATIONS[_entry(test)]}")
    return int(not comparison.holds)


if __name__ == "__main__":
    sys.exit(main())
