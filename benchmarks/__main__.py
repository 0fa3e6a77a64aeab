"""Measure Mercer against its peers; every solution is scored independently."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from benchmarks import (
    autofit,
    cli,
    embeddings,
    export,
    family,
    firstfit,
    imports,
    kernel,
    kernels,
    large,
    learners,
    linear,
    memory,
    playground,
    probability,
    reading,
    scale,
    scale_dask,
    small,
    solvers,
    stream,
    trust,
    tuning,
)

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="command")
    for module in (
        kernel, large, scale, scale_dask, small, imports, memory, firstfit, family, learners,
        solvers, embeddings, stream, linear, kernels, playground, reading, cli, tuning, autofit,
        probability, trust, export,
    ):  # fmt: skip
        module.add_command(commands)
    chosen = parser.parse_args(arguments)
    try:
        return chosen.run(chosen)
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
