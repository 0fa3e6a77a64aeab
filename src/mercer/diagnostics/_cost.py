"""Expected time and memory of each way to a model.

*exact*: n · n_sv kernel values, the more often the more pair steps a support vector takes. n_sv
grows with the power of n that the samples of the calibration show, give or take; steps a little
faster than n. *linear*: XᵀDX once a round where d × d equations are solved, else passes over the
nonzeros. *approximate*: features from landmarks, then linear in these. *stream*: passes over the
nonzeros, a batch in memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mercer._threads import thread_count
from mercer.diagnostics._calibrate import Calibration
from mercer.diagnostics._report import Estimate
from mercer.estimators.svm._base import MEGABYTE

__all__ = ["Shape", "estimate"]

# An exact fit computes its n · n_sv kernel values so many times for each pair step that a support
# vector takes, within these limits (fitted to ten data sets; within a factor of 1.6 on all).
PASSES_PER_STEP = 1.5
PASSES = (2.0, 10.0)
STEP_SECONDS = 5e-7
# Steps grow with a power of n between these; the growth of n_sv may be off by this.
STEP_GROWTH = (0.8, 1.25)
SUPPORT_DOUBT = 0.1
# What a fit may differ from the model by, either way; more if a sample was not solved in its time.
DOUBT = 1.6
MORE_DOUBT = 10.0
# Steps of a Newton method, counted as passes over all rows (most are over a sample, or over the
# rows near their edge), passes of coordinate descent and of a stream.
ROUNDS = (1.5, 8)
DESCENT_PASSES = (15, 100)
STREAM_PASSES = (1, 20)
# Up to so many columns a linear machine solves d × d equations.
MOST_EQUATIONS = 1500
# Seconds for one nonzero, and for one row, of a pass; for what a fit does once.
ENTRY_SECONDS = 2e-9
ROW_SECONDS = 5e-8
ONCE_SECONDS = 1e-3
# Landmarks of the approximate route.
LANDMARKS = 500
# Rows of a batch of a stream.
BATCH = 4096
# Bytes a solver keeps for each variable, and for its working set.
VARIABLE_BYTES = 150
WORKING_BYTES = 10_000_000


@dataclass(frozen=True)
class Shape:
    """The size of the whole: rows, columns, nonzeros, bytes of X; rows of each class, if any."""

    n: int
    d: int
    nnz: int
    x_bytes: int
    classes: tuple[int, ...]

    @property
    def pairs(self) -> list[int]:
        """Rows of each binary task, one class against another."""
        k = len(self.classes)
        if k < 3:
            return [self.n]
        return [self.classes[a] + self.classes[b] for a in range(k) for b in range(a)]

    def support(self, measured: Calibration, growth: float) -> float:
        """Support vectors of all tasks, if their number grows with this power of n."""
        return sum(self._support(rows, measured, growth) for rows in self.pairs)

    def values(self, measured: Calibration, growth: float) -> float:
        """Kernel values between the rows and the support vectors of each task."""
        return sum(rows * self._support(rows, measured, growth) for rows in self.pairs)

    def _support(self, rows: int, measured: Calibration, growth: float) -> float:
        return measured.share * rows * (self.n / measured.rows) ** (growth - 1)

    @property
    def rests(self) -> int:
        """Tasks, one class against the rest."""
        return len(self.classes) if len(self.classes) > 2 else 1


def estimate(shape: Shape, measured: Calibration, machine: Any) -> tuple[Estimate, ...]:
    """Of each route."""
    threads = thread_count(machine.n_jobs)
    return (
        _exact(shape, measured, machine, threads),
        _approximate(shape, measured, threads),
        _linear(shape, measured, threads),
        _stream(shape),
    )


def _exact(shape: Shape, measured: Calibration, machine: Any, threads: int) -> Estimate:
    growths = (measured.growth - SUPPORT_DOUBT, min(measured.growth + SUPPORT_DOUBT, 1.0))
    counts = [shape.support(measured, growth) for growth in growths]
    seconds = []
    for growth, count, power in zip(growths, counts, STEP_GROWTH, strict=True):
        steps = measured.steps * (shape.n / measured.rows) ** power
        passes = min(max(PASSES_PER_STEP * steps / max(count, 1.0), PASSES[0]), PASSES[1])
        values = passes * shape.values(measured, growth)
        seconds.append(
            ONCE_SECONDS * len(shape.pairs)
            + values * measured.tile_seconds / threads
            + STEP_SECONDS * steps
        )
    if measured.rows == shape.n and measured.finished:
        seconds = [measured.seconds, measured.seconds]
    most = min(int(counts[1]), shape.n)
    cache = min(int(machine.cache_size * MEGABYTE), 4 * shape.n**2)
    kept = most * (8 * max(len(shape.classes) - 1, 1) + shape.x_bytes // shape.n)
    doubt = DOUBT if measured.finished else MORE_DOUBT
    at_most = max(seconds[1] * doubt, measured.seconds * shape.n / measured.rows)
    rests_on = f"{measured.rows:,} rows fitted in {measured.seconds:.2g} s"
    if not measured.finished:
        rests_on = f"{measured.rows:,} rows were not solved in {measured.seconds:.2g} s"
    tasks = f" of {len(shape.pairs)} tasks" if len(shape.pairs) > 1 else ""
    return Estimate(
        "exact",
        (seconds[0] / DOUBT, at_most),
        shape.x_bytes + cache + kept + VARIABLE_BYTES * shape.n + WORKING_BYTES * threads,
        f"{type(machine).__name__}, {_around(counts)} support vectors{tasks}; {rests_on}",
    )


def _linear(shape: Shape, measured: Calibration, threads: int) -> Estimate:
    n, d = shape.n, shape.d
    memory = shape.x_bytes + VARIABLE_BYTES * n
    if d <= MOST_EQUATIONS and n >= d:
        seconds = _rounds(n, d, measured, threads, shape.nnz)
        memory += 3 * 8 * d**2 + 8 * d * BATCH * threads
        how = f"equations of {d:,} columns"
    else:
        seconds = _passes(shape, DESCENT_PASSES)
        how = f"coordinate descent over {shape.nnz:,} nonzeros"
    low, high = (shape.rests * t for t in seconds)
    return Estimate("linear", (low, high), memory, f"LinearSVC or LinearSVR; {how}")


def _approximate(shape: Shape, measured: Calibration, threads: int) -> Estimate:
    n, m = shape.n, min(LANDMARKS, shape.n)
    features = 2 * n * m * (measured.tile_seconds + m * measured.multiply_seconds) / threads
    low, high = (shape.rests * t for t in _rounds(n, m, measured, threads))
    return Estimate(
        "approximate",
        (features + low, DOUBT * features + high),
        shape.x_bytes + 2 * 8 * n * m + VARIABLE_BYTES * n + 4 * 8 * m**2,
        f"embeddings.Nystroem({m}), then linear",
    )


def _stream(shape: Shape) -> Estimate:
    low, high = (shape.rests * t for t in _passes(shape, STREAM_PASSES))
    row_bytes = shape.x_bytes / shape.n
    memory = int(2 * row_bytes * min(BATCH, shape.n)) + 4 * 8 * shape.rests * shape.d
    return Estimate("stream", (low, high), memory, "partial_fit by batches; X may stay on disk")


def _rounds(
    n: int, d: int, measured: Calibration, threads: int, nnz: int | None = None
) -> tuple[float, float]:
    """Seconds of Newton's rounds on d × d equations, one task; XᵀDX of sparse rows by nonzeros."""
    a_row = d * (d + 8) * measured.multiply_seconds
    if nnz is not None:
        a_row = min(a_row, (nnz / n) * (nnz / n + 8) * ENTRY_SECONDS)
    once = n * (a_row + 8 * ROW_SECONDS) / threads
    low, high = ROUNDS
    return ONCE_SECONDS + low * once / DOUBT, ONCE_SECONDS + high * once * DOUBT


def _passes(shape: Shape, passes: tuple[float, float]) -> tuple[float, float]:
    """Seconds of passes over the nonzeros, one task."""
    once = shape.nnz * ENTRY_SECONDS + shape.n * ROW_SECONDS
    return ONCE_SECONDS + passes[0] * once / DOUBT, ONCE_SECONDS + passes[1] * once * DOUBT


def _around(counts: list[float]) -> str:
    low, high = (f"{count:,.2g}" if count < 100 else f"{round(count, -2):,.0f}" for count in counts)
    return low if low == high else f"{low} to {high}"
