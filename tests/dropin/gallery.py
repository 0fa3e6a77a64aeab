"""scikit-learn's gallery with Mercer's classes in place: ``python -m tests.dropin.gallery FOLDER``.

FOLDER is ``examples`` of a clone of scikit-learn (it is not in the wheel). Every example that names
one of the classes is run in a process of its own; one that fails is run again with scikit-learn's
classes, and does not count if it fails then too (data that are not here, a missing package). The
exit status is 1 if an example fails with Mercer's classes only, or does not end.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tests.dropin.swap import NAMES

__all__ = ["examples", "main", "run_example"]

ROOT = Path(__file__).parents[2]
# Nystroem is replaced here as well.
_SWAP = """
import runpy, sys, warnings
warnings.simplefilter("ignore")
if sys.argv[2] == "ours":
    import sklearn.kernel_approximation
    from mercer.embeddings import Nystroem
    from tests.dropin.swap import swap
    swap()
    sklearn.kernel_approximation.Nystroem = Nystroem
runpy.run_path(sys.argv[1], run_name="__main__")
"""


def examples(folder: Path) -> list[Path]:
    """The examples that name one of the classes."""
    named = re.compile(rf"\b(sklearn\.svm|svm|Nystroem|{'|'.join(NAMES)})\b")
    files = sorted(folder.rglob("plot_*.py"))
    return [file for file in files if named.search(file.read_text(encoding="utf-8"))]


def run_example(file: Path, whose: str, seconds: float) -> str:
    """The last line of an example's error; empty if it ran."""
    paths = os.pathsep.join([str(ROOT), str(ROOT / "src")])
    environment = {**os.environ, "PYTHONPATH": paths, "MPLBACKEND": "Agg"}
    try:
        done = subprocess.run(
            [sys.executable, "-c", _SWAP, str(file), whose],
            env=environment, cwd=file.parent, capture_output=True, text=True, timeout=seconds,
            check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"did not end in {seconds:g} s"
    lines = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
    return lines[-1] if done.returncode else ""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, print a line for each example, and return the exit status."""
    parser = argparse.ArgumentParser(description="scikit-learn's gallery with Mercer's classes")
    parser.add_argument("folder", type=Path, help="examples of a clone of scikit-learn")
    parser.add_argument("--only", default="", help="part of a file's name")
    parser.add_argument("--seconds", type=float, default=600, help="of an example at most")
    options = parser.parse_args(arguments)
    files = [file for file in examples(options.folder) if options.only in file.name]
    failed = passed = 0
    for file in files:
        began = time.perf_counter()
        error = run_example(file, "ours", options.seconds)
        outcome = "runs"
        if error:
            theirs = run_example(file, "theirs", options.seconds)
            # An example that is only slow with scikit-learn's classes does not fail with them.
            is_ours = not theirs or ("did not end" in theirs and "did not end" not in error)
            outcome = f"FAILS: {error}" if is_ours else f"cannot run here: {error}"
            failed += is_ours
        passed += not error
        name, took = file.relative_to(options.folder), time.perf_counter() - began
        print(f"{name}  {took:.0f} s  {outcome}", flush=True)
    print(f"{passed} of {len(files)} run, {failed} fail with Mercer's classes only")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
