"""The fit of a linear model in rounds: start, rounds, checkpoint, duals."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer._result import Halted, Status
from mercer._threads import single_threaded_blas
from mercer.dask._chunk import Chunk, join_chunks, sample_chunk
from mercer.dask._linear_round import (
    _task_problem,
    add_replies,
    chunk_duals,
    evaluate_chunk,
    recenter,
)
from mercer.dask._newton import DistributedNewton, TaskShape
from mercer.dask._rounds import Rounds, listed
from mercer.data import Checkpoint
from mercer.solvers import Progress, Stopping
from mercer.solvers.linear._newton import Newton

__all__ = ["LinearFit", "gather_duals", "solve_sample"]

# Rows of the sample whose model is the start, at least, and for each column; and the relative gap
# to which it is solved.
SAMPLE_ROWS, SAMPLE_ROWS_PER_COLUMN, SAMPLE_GAP = 2_000, 10, 1e-2


def solve_sample(
    chunk: Chunk, estimator: Any, n_tasks: int, n_weighted: float
) -> list[tuple[np.ndarray, float, float]]:
    """Models of a sample, C scaled to the weight of all rows, and the deviation of their scores."""
    found = []
    weight = chunk.n if chunk.weight is None else float(chunk.weight.sum())
    for task in range(n_tasks):
        if chunk.n == 0:
            found.append((np.zeros(chunk.d), 0.0, 1.0))
            continue
        problem = _task_problem(estimator, chunk, task).with_C(n_weighted / weight)
        with single_threaded_blas(), np.errstate(all="ignore"):
            result = Newton(SAMPLE_GAP).solve(problem, chunk.design, Stopping())
        w, b = result.w, float(result.b)
        if not (np.isfinite(w).all() and np.isfinite(b)):
            w, b = np.zeros(chunk.d), 0.0
        found.append((w, b, float(result.g.std())))
    return found


class LinearFit:
    """All tasks of one fit, which share the rounds.

    ``estimator`` is the plain estimator with ``classes_`` and ``class_weight_``, as workers take it
    to pose the problems of their rows.
    """

    def __init__(self, rounds: Rounds, estimator: Any, shapes: list[TaskShape], stopping: Stopping):
        self.rounds, self.estimator, self.shapes = rounds, estimator, shapes
        self.stopping = stopping
        self.tasks: list[DistributedNewton] = []
        self.checkpoint: Checkpoint | None = None
        self.constant: float | None = None  # fits every row with w = 0
        self.n_rounds = 0
        self.began = time.perf_counter()

    def solve(self, n_weighted: float, sizes: Sequence[int], seed: int) -> None:
        """Rounds until every task is solved or a limit is reached."""
        if not self._resume():
            self._start(n_weighted, sizes, seed)
        while active := [k for k, task in enumerate(self.tasks) if task.status is None]:
            stopped = self.stopping.stopped
            certified = all(self.tasks[k].best is not None for k in active)
            if stopped is not None and certified:
                self._stop(active, stopped)
                return
            try:
                self._round(active, halts=certified)
            except Halted:
                continue
            self._save()
            self._report(active)

    def _stop(self, active: list[int], status: Status) -> None:
        for k in active:
            self.tasks[k].status = status

    def _start(self, n_weighted: float, sizes: Sequence[int], seed: int) -> None:
        """Models of a sample of rows, solved on one worker."""
        if self.constant is not None:
            self.tasks = [DistributedNewton.constant(s, self.constant) for s in self.shapes]
            return
        n, d = sum(sizes), self.shapes[0].d
        wanted = min(max(SAMPLE_ROWS, SAMPLE_ROWS_PER_COLUMN * (d + 1)), max(n // 2, 1))
        rounds, n_tasks = self.rounds, len(self.shapes)
        per_chunk = [-(-size * wanted // max(n, 1)) for size in sizes]

        def build() -> Any:
            from dask import delayed

            draw, solve = delayed(sample_chunk, pure=False), delayed(_solve_sample, pure=False)
            given = zip(rounds.chunks, per_chunk, strict=True)
            samples = [draw(chunk, size, seed) for chunk, size in given]
            joined = rounds._tree(samples, join_chunks)
            return solve(joined, rounds.payload((self.estimator, n_tasks, n_weighted)))

        starts = rounds.run(build, halts=False)
        given = zip(self.shapes, starts, strict=True)
        self.tasks = [DistributedNewton.start(shape, *start) for shape, start in given]

    def _round(self, active: list[int], halts: bool) -> None:
        """One request for each active task, and the sums of the replies."""
        requests = [replace(self.tasks[k].request(), task=k) for k in active]

        def build() -> list[Any]:
            from dask import delayed

            rounds = self.rounds
            evaluate = delayed(_evaluate, pure=False)
            payload = rounds.payload((self.estimator, requests))
            now = [self._centers(k, len(self.tasks[k].centers)) for k in active]
            before = [self._centers(k, self._certified_centers(k)) for k in active]
            return [
                evaluate(chunk, payload, [c[i] for c in now], [c[i] for c in before])
                for i, chunk in enumerate(rounds.chunks)
            ]

        replies = self.rounds.reduce(build, add_replies, halts)
        self.n_rounds += 1
        for k, reply in zip(active, replies, strict=True):
            self.tasks[k].receive(reply)
        self._drop_centers()

    def _certified_centers(self, k: int) -> int:
        task = self.tasks[k]
        return task.pending_centers if task.pending is not None else len(task.centers)

    def _centers(self, k: int, count: int) -> list[Any]:
        """β₀ of every chunk after the first ``count`` centers of a task; None where there are none.

        Kept on the workers; from the last one that is still there where it was dropped or lost.
        """
        if count == 0:
            return [None] * len(self.rounds)
        task, rounds = self.tasks[k], self.rounds

        def make() -> list[Any]:
            from dask import delayed

            last = self._centers(k, count - 1)
            move = delayed(_recenter, pure=False)
            payload = rounds.payload((self.estimator, k, task.centers[count - 1]))
            return [
                move(chunk, payload, center)
                for chunk, center in zip(rounds.chunks, last, strict=True)
            ]

        return rounds.keep((k, count), make)

    def _drop_centers(self) -> None:
        """Forget centers that no later round needs."""
        needed = set()
        for k, task in enumerate(self.tasks):
            best = 0 if task.best is None else task.best.n_centers
            needed |= {(k, len(task.centers)), (k, self._certified_centers(k)), (k, best)}
            needed |= {(k, len(task.centers) - 1)}
        for key in [key for key in self.rounds.kept if key not in needed]:
            del self.rounds.kept[key]

    # ------------------------------------------------------------------ progress

    def _report(self, active: list[int]) -> None:
        if self.stopping.callback is None:
            return
        for k in active:
            task = self.tasks[k]
            gap = np.inf if task.best is None else task.best.gap / max(task.best.primal, 1e-300)
            effort = self.stopping.seconds, task.rounds, task.steps
            of = task.shape.tol, k, len(self.tasks)
            self.stopping.report(Progress(*effort, float(gap), *of))

    def _save(self) -> None:
        if self.checkpoint is None:
            return
        arrays: dict[str, np.ndarray] = {}
        values: list[dict[str, Any]] = []
        for k, task in enumerate(self.tasks):
            more, value = task.save(str(k))
            arrays |= more
            values.append(value)
        self.checkpoint.save(arrays, {"tasks": values, "rounds": self.n_rounds})

    def _resume(self) -> bool:
        """Go on from the checkpoint, if there is one."""
        saved = None if self.checkpoint is None else self.checkpoint.load()
        if saved is None:
            return False
        arrays, values = saved
        self.n_rounds = int(values["rounds"])
        self.tasks = [
            DistributedNewton.load(shape, str(k), arrays, values["tasks"][k])
            for k, shape in enumerate(self.shapes)
        ]
        return True


def _solve_sample(chunk: Chunk, payload: Any) -> Any:
    return solve_sample(chunk, *payload.value)


def _evaluate(chunk: Chunk, payload: Any, centers: list, before: list) -> Any:
    estimator, requests = payload.value
    return evaluate_chunk(chunk, estimator, requests, centers, before)


def _recenter(chunk: Chunk, payload: Any, center: Any) -> Any:
    estimator, task, point = payload.value
    return recenter(chunk, estimator, task, center, point)


def gather_duals(fit: LinearFit) -> sp.csr_matrix:
    """The duals of the best models as CSR, a row for each task."""
    return sp.vstack([_task_duals(fit, k) for k in range(len(fit.tasks))], format="csr")


def _task_duals(fit: LinearFit, k: int) -> sp.csr_matrix:
    best, rounds = fit.tasks[k].best, fit.rounds
    assert best is not None

    def build() -> list[Any]:
        from dask import delayed

        payload = rounds.payload((fit.estimator, k, best.certify))
        one = delayed(_chunk_duals, pure=False)
        given = zip(rounds.chunks, fit._centers(k, best.n_centers), strict=True)
        return [one(chunk, payload, center) for chunk, center in given]

    parts = rounds.reduce(build, listed, halts=False)
    starts = np.cumsum([0, *(n for n, _, _ in parts)])
    columns = [start + rows for start, (_, rows, _) in zip(starts, parts, strict=False)]
    values, index = np.concatenate([value for _, _, value in parts]), np.concatenate(columns)
    if fit.shapes[k].intercept_penalty == 0:
        _remove_drift(values)
    return sp.csr_matrix((values, index, [0, values.size]), shape=(1, int(starts[-1])))


def _remove_drift(beta: np.ndarray) -> None:
    """Move what rounding left of Σβ onto the largest dual that can take it."""
    drift = math.fsum(beta)
    side = beta if drift > 0 else -beta
    if drift != 0 and side.size and side.max() > abs(drift):
        beta[np.argmax(side)] -= drift


def _chunk_duals(chunk: Chunk, payload: Any, center: Any) -> Any:
    estimator, task, certify = payload.value
    return chunk_duals(chunk, estimator, task, certify, center)
