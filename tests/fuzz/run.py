"""Feed every reader many inputs: ``python -m tests.fuzz.run --count 1000000``.

Numbers of inputs are spread over the kinds. Each of several processes has at most 1 GB more than it
begins with; one that dies is started again after the input that ended it. With ``--resume file`` a
run goes on where it was (with the same ``--batch``). Inputs that fail are written to
``tests/fuzz/corpus`` (with ``--keep``), printed, and make the exit status 1.
"""

from __future__ import annotations

import argparse
import json
import mmap
import multiprocessing
import os
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.fuzz.inputs import CORPUS, KINDS, corpus, make
from tests.fuzz.readers import failure_of

MEMORY = 1 << 30
BATCH = 100_000  # a process of its own takes seconds until it has a corpus
HANG_SECONDS = 300  # for one input, or until a process has its corpus


def work(first: int, count: int, mark: str, results: Any) -> None:
    """Inputs first, first + 1, …: the number before each goes to the file ``mark``."""
    if os.path.isdir("/dev/shm"):
        tempfile.tempdir = "/dev/shm"
    with tempfile.TemporaryDirectory() as place, open(mark, "r+b") as file:
        path, place_of = Path(place) / "input", mmap.mmap(file.fileno(), 8)
        for kind in KINDS:  # libraries and compiled code are loaded before the limit
            for whole in corpus(kind):
                failure_of(kind, whole, path)
        with open("/proc/self/statm") as status:
            now = int(status.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (now + MEMORY,) * 2)
        found = []
        for number in range(first, first + count):
            place_of[:8] = number.to_bytes(8, "little")
            kind = KINDS[number % len(KINDS)]
            problem = failure_of(kind, make(kind, number // len(KINDS)), path)
            if problem:
                found.append((number, problem))
        results.put((first, count, found))


def run_batch(first: int, count: int) -> list[tuple[int, str]]:
    """A process for a batch; after a crash another one for the rest of it."""
    context = multiprocessing.get_context("spawn")
    found: list[tuple[int, str]] = []
    end = first + count
    with tempfile.NamedTemporaryFile() as mark:
        mark.write(bytes(8))
        mark.flush()
        while first < end:
            results = context.SimpleQueue()
            child = context.Process(target=work, args=(first, end - first, mark.name, results))
            child.start()
            wait(child, Path(mark.name))
            if child.exitcode == 0 and not results.empty():
                return found + results.get()[2]
            at = int.from_bytes(Path(mark.name).read_bytes()[:8], "little")
            found.append((at, f"ended the process ({child.exitcode})"))
            first = max(at, first) + 1
    return found


def wait(child: Any, mark: Path, seconds: float = HANG_SECONDS) -> None:
    """Until a process has ended; one that is with the same input for too long is killed."""
    before = b""
    while child.is_alive():
        child.join(seconds)
        before, last = mark.read_bytes(), before
        if before == last and child.is_alive():
            child.kill()
            child.join()


def main(arguments: list[str] | None = None) -> int:
    """Run, print, and return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--first", type=int, default=0, help="number of the first input")
    parser.add_argument("--jobs", type=int, default=min(os.cpu_count() or 1, 4))
    parser.add_argument("--resume", type=Path)
    parser.add_argument("--batch", type=int, default=BATCH, help="inputs of a process")
    parser.add_argument("--keep", action="store_true")
    options = parser.parse_args(arguments)
    done: dict[int, list] = {}
    if options.resume is not None and options.resume.exists():
        for line in options.resume.read_text().splitlines():
            first, found = json.loads(line)
            done[first] = found
    end = options.first + options.count
    batches = [n for n in range(options.first, end, options.batch) if n not in done]
    problems = [each for found in done.values() for each in found]
    began, total = time.monotonic(), 0
    from concurrent.futures import ThreadPoolExecutor, as_completed

    with ThreadPoolExecutor(options.jobs) as pool:
        sizes = {first: min(options.batch, end - first) for first in batches}
        running = {pool.submit(run_batch, first, sizes[first]): first for first in batches}
        for ended in as_completed(running):
            first, found = running[ended], ended.result()
            problems += found
            total += sizes[first]
            if options.resume is not None:
                with open(options.resume, "a") as file:
                    file.write(json.dumps([first, found]) + "\n")
            rate = total / (time.monotonic() - began)
            finished = total + options.batch * len(done)
            print(f"\r{finished:,} of {options.count:,} inputs, {len(problems)} failures, "
                  f"{rate:.0f} a second", end="", file=sys.stderr, flush=True)  # fmt: skip
    print(file=sys.stderr)
    for number, problem in problems:
        kind = KINDS[number % len(KINDS)]
        print(f"{kind} {number // len(KINDS)}: {problem}")
        if options.keep:
            folder = CORPUS / kind.replace(" ", "-")
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{number // len(KINDS)}").write_bytes(make(kind, number // len(KINDS)))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
