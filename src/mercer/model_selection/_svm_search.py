"""Kernel SVMs: one kernel matrix for all splits and all C of a kernel.

For each kernel of the candidates K of all rows is computed once (or its dot products once for all
γ: `KernelMatrices`). A unit of work is a chain on a split: the problems of its tasks are followed
along C (`mercer.solvers.smo.paths`), and each C is scored from the decision values of the held-out
rows. Units run over all threads; scores do not depend on their number. If K is beyond
``cache_bytes``, problems are solved row by row through the Gram's cache.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer._threads import Workers
from mercer.estimators._parameters import resolve_kernel
from mercer.estimators._validation import Data, check_training, dense_if_small
from mercer.estimators.svm._one_class import OneClassSVM
from mercer.estimators.svm._svc import SVC
from mercer.estimators.svm._svr import SVR
from mercer.gram import BlockedGram
from mercer.gram._kernel_matrices import KernelMatrices
from mercer.kernels import Kernel
from mercer.kernels._binding import bind_samples
from mercer.model_selection._ledger import Cell
from mercer.model_selection._plan import (
    Chain,
    Fold,
    Search,
    View,
    chains,
    middle_out,
    split_pipeline,
    views,
)
from mercer.solvers.smo import SMO
from mercer.solvers.smo.paths._fold_paths import FoldPath, HeldOutValues, Workspaces, follow

__all__ = ["PATH_PARAMETERS", "can_share", "search_svm"]

#: The parameter along which solutions are followed.
PATH_PARAMETERS = {SVC: "C", SVR: "C", OneClassSVM: "nu"}


def can_share(estimator: Any) -> bool:
    """Whether fits of this estimator can be replaced by paths on a shared matrix."""
    if type(estimator) not in PATH_PARAMETERS or estimator.approximation is not None:
        return False
    is_plain = estimator.solver in ("auto", "smo") and estimator.max_iter == -1
    has_limits = estimator.gap_tol is not None or estimator.time_limit is not None
    wants_proba = getattr(estimator, "probability", False) not in (False, "deprecated")
    return is_plain and not has_limits and not wants_proba and estimator.callback is None


@dataclass(eq=False)
class _Job:
    """Chains and splits with one kernel on one view."""

    gram: BlockedGram
    units: list[tuple[Chain, Fold]]


def search_svm(search: Search, some: Sequence[int] | None = None, tol_factor: float = 1.0) -> None:
    """Score all candidates, or some of them, on all splits.

    With a ``tol_factor`` below 1 scores are computed again, to a smaller tolerance, from the duals
    that the search has kept.
    """
    _SVMSearch(search, some, tol_factor).run()


class _SVMSearch:
    def __init__(self, search: Search, some: Sequence[int] | None, tol_factor: float):
        self.search, self.tol_factor = search, tol_factor
        self.some, self.has_failed = some, False
        self.workspaces = Workspaces()
        self._kept: dict[Any, tuple[Any, list[FoldPath]]] = {}
        self.duals_bytes, self._lock = 0, threading.Lock()

    def run(self) -> None:
        search = self.search
        with Workers(search.n_threads) as workers:
            for view in views(search):
                self._run_view(view, workers)

    def _run_view(self, view: View, workers: Workers) -> None:
        search = self.search
        self._kept.clear()
        jobs = self._jobs(view)
        if not jobs:
            return
        n, is_polish = jobs[0].gram.n, self.tol_factor < 1
        needed = [
            [unit for unit in job.units if is_polish or not self._is_known(*unit)] for job in jobs
        ]
        jobs = [_Job(j.gram, units) for j, units in zip(jobs, needed, strict=True) if units]
        fits = KernelMatrices.fits(n, search.cache_bytes)
        memory: Any = nullcontext()
        if fits:
            memory = KernelMatrices(n, search.cache_bytes, search.n_threads)
        with memory as matrices:
            if fits and len(jobs) > 1:
                matrices.share_products(jobs[0].gram, workers)
            units = [(number, *unit) for number, job in enumerate(jobs) for unit in job.units]

            def one(unit: tuple[int, Chain, Fold]) -> None:
                number, chain, fold = unit
                job, K = jobs[number], None
                if self._is_over():
                    return
                if fits:
                    K = matrices.acquire(number, job.gram, len(job.units), self._is_over)
                    if K is None:
                        return
                try:
                    self._run_unit(view, job, chain, fold, K)
                except BaseException:
                    self.has_failed = True
                    raise
                finally:
                    if fits:
                        matrices.release(number)

            workers.map(one, units)

    def _is_over(self) -> bool:
        return self.has_failed or self.search.stopping.stopped is not None

    def _is_known(self, chain: Chain, fold: Fold) -> bool:
        return self.search.ledger.is_known(chain.candidates, fold.split)

    # ------------------------------------------------------------------ kernels

    def _jobs(self, view: View) -> list[_Job]:
        """Chains and splits by kernel, each with its Gram."""
        path_name = PATH_PARAMETERS[type(split_pipeline(self.search.estimator)[1])]
        found = chains(self.search, path_name, self.some)
        template = found[0].estimator
        data = check_training(template, view.X, view.y, None)
        X = dense_if_small(data.X)
        self.data = replace(data, X=X)
        jobs: dict[Any, _Job] = {}
        samples: dict[Any, Any] = {}
        for chain in found:
            estimator = chain.estimator
            estimator._check_parameters()
            for fold, kernel in self._kernels(estimator, X, view):
                key = kernel, estimator._has_zero_sum
                if key not in jobs:
                    kind, largest = (type(kernel), key[1]), estimator._largest_value(len(data.y))
                    if kind in samples and kernel.is_map_of_products(samples[kind]):
                        kernel.check(samples[kind], largest)
                    else:
                        samples[kind] = bind_samples(kernel, X, zero_sum=key[1], largest=largest)
                    jobs[key] = _Job(BlockedGram(kernel, samples[kind]), [])
                jobs[key].units.append((chain, fold))
        return middle_out(list(jobs.values()))

    def _kernels(self, estimator: Any, X: Any, view: View) -> Iterator[tuple[Fold, Kernel]]:
        """The kernel on each split: ``gamma="scale"`` is the variance of its training rows."""
        is_fixed = not isinstance(estimator.gamma, str) or isinstance(estimator.kernel, Kernel)
        kernel = resolve_kernel(estimator, X, None)[0] if is_fixed else None
        for fold in view.folds:
            if kernel is None:
                weight = None if view.weight is None else view.weight[fold.train]
                yield fold, resolve_kernel(estimator, X[fold.train], weight)[0]
            else:
                yield fold, kernel

    # ------------------------------------------------------------------ one chain on one split

    def _run_unit(
        self, view: View, job: _Job, chain: Chain, fold: Fold, K: np.ndarray | None
    ) -> None:
        search = self.search
        estimator, paths = self._posed(view, chain, fold)
        solver = SMO(
            tol=estimator.tol * self.tol_factor,
            cache_bytes=max(search.cache_bytes // search.n_threads, 1),
            shrinking=estimator.shrinking,
        )
        cells = _Cells(self, estimator, chain, fold)
        common = job.gram, K, solver, search.stopping, self.workspaces
        found = [
            follow(path, *common, self._starts(chain, fold, t)) for t, path in enumerate(paths)
        ]
        if len(paths) == 1:
            for number, held in enumerate(found[0]):
                cells.add(number, [held])
        else:
            solved = [list(path) for path in found]
            for number in range(min(map(len, solved))):
                cells.add(number, [points[number] for points in solved])
        search.ledger.record(cells.done)

    def _posed(self, view: View, chain: Chain, fold: Fold) -> tuple[Any, list[FoldPath]]:
        """The estimator after its labels are encoded, and the path of each task.

        With one task they are kept: chains of other kernels have the same.
        """
        key = chain.key_without_kernel, fold.split
        if key in self._kept:
            return self._kept[key]
        estimator, has_train = copy(chain.estimator), self.search.ledger.has_train_scores
        weight = None if view.weight is None else view.weight[fold.train]
        if weight is not None and (weight == 1).all():
            weight = None
        own = self.data.y[fold.train], weight, None, self.data.shape
        data = _FoldData(self.data.X, *own, size=fold.train.size)
        tasks, at = estimator._encode(data), fold.test
        if len(tasks) > 1 and has_train:
            at = np.concatenate([fold.test, fold.train])
        name, values = PATH_PARAMETERS[type(estimator)], np.asarray(chain.values, np.float64)
        factors = [1.0, *(values[1:] / values[:-1])]
        paths = []
        for task in tasks:
            problems = []
            for value in chain.values:
                setattr(estimator, name, value)
                problems.append(estimator._pose(task, data))
            rows = fold.train if task.rows is None else fold.train[task.rows]
            paths.append(FoldPath(rows, at, problems, factors))
        if len(tasks) == 1:
            self._kept[key] = estimator, paths
        return estimator, paths

    def _starts(self, chain: Chain, fold: Fold, task: int) -> list[np.ndarray | None] | None:
        """The duals that were kept, for a polish."""
        if self.tol_factor == 1:
            return None
        kept = [self.search.ledger.duals.get((c, fold.split)) for c in chain.candidates]
        return [None if betas is None else betas[task] for betas in kept]

    def keep_duals(self, candidate: int, fold: Fold, points: Sequence[HeldOutValues]) -> None:
        """Keep β for a polish, while the budget lasts."""
        size = sum(point.beta.nbytes for point in points)
        with self._lock:
            self.duals_bytes += size
            fits = self.duals_bytes <= self.search.cache_bytes // 4
        if fits:
            self.search.ledger.duals[candidate, fold.split] = [point.beta for point in points]


@dataclass(frozen=True, eq=False)
class _FoldData(Data):
    """Training rows of a split; X has all rows, since nothing of it is read."""

    size: int = 0

    @property
    def n(self) -> int:
        return self.size


class _Cells:
    """Scores of a chain on a split, from decision values."""

    def __init__(self, run: _SVMSearch, estimator: Any, chain: Chain, fold: Fold):
        self.run, self.estimator = run, estimator
        self.chain, self.fold = chain, fold
        self.done: list[Cell] = []

    def add(self, number: int, points: Sequence[HeldOutValues]) -> None:
        """Score one candidate from the decision values of all tasks."""
        began = time.perf_counter()
        search, fold, scoring = self.run.search, self.fold, self.run.search.scoring
        candidate = self.chain.candidates[number]
        n = fold.test.size
        held = _columns([point.values[:n] for point in points])
        train_score = np.nan
        if search.ledger.has_train_scores:
            several = len(points) > 1
            own = [point.values[n:] if several else point.train_values for point in points]
            train_score = scoring.of_values(self.estimator, _columns(own), fold.rows_train)
        score = scoring.of_values(self.estimator, held, fold.rows_test)
        self.run.keep_duals(candidate, fold, points)
        self.done.append(
            Cell(
                candidate,
                fold.split,
                score,
                train_score,
                sum(point.seconds for point in points),
                time.perf_counter() - began,
                max(point.violation for point in points),
            )
        )


def _columns(values: list[np.ndarray]) -> np.ndarray:
    """Decision values of all tasks, shape (n, n_tasks)."""
    return values[0][:, np.newaxis] if len(values) == 1 else np.column_stack(values)
