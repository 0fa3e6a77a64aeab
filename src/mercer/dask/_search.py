"""`SVCCV` with the cells of its grid on the workers, and `PegasosClassifier` over chunks."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, ClassVar

import numpy as np
from scipy.stats import rankdata

from mercer._threads import single_threaded_blas
from mercer.dask._base import DistributedEstimator, classes_of
from mercer.dask._chunk import Chunk, join_chunks
from mercer.dask._partitions import partitions
from mercer.dask._rounds import Rounds, listed
from mercer.data import Batches
from mercer.estimators import PegasosClassifier as LocalPegasosClassifier
from mercer.estimators._fields import COUNT, POSITIVE, estimator
from mercer.gram._cached import MEGABYTE
from mercer.kernels._registry import KERNELS_BY_NAME
from mercer.model_selection import SVCCV as LocalSVCCV
from mercer.solvers import Stopping

__all__ = ["SVCCV", "PegasosClassifier"]


@estimator
class PegasosClassifier(DistributedEstimator, LocalPegasosClassifier):
    """Pegasos over the chunks of Dask collections; linear only.

    The workers compute one chunk after the other, and `mercer.PegasosClassifier.fit_stream` takes
    its steps here: one chunk at a time is in memory. One more pass computes the certificate.
    `mercer.dask.LinearSVC` is nearly always the better choice; this is the algorithm itself.

    Parameters
    ----------
    passes : int, default=1
        Passes over all chunks.
    scheduler, scheduler_timeout, persist
        As in `mercer.dask.LinearSVC`.
    C, lam, tol, max_iter, fit_intercept, average, project, class_weight, random_state, time_limit
        As in `mercer.PegasosClassifier`; others are not used.
    """

    _parameter_constraints: ClassVar[dict] = {"passes": [COUNT]}

    passes: int = 1

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fit in passes over the chunks; arguments as in `mercer.dask.LinearSVC`."""
        self._validate_params()
        parts = partitions(X, y, sample_weight)
        with Stopping(self.time_limit, None, self.on_interrupt) as stopping:
            rounds = Rounds(parts, self.scheduler, self.scheduler_timeout, stopping, self.persist)
            summaries = rounds.bind(True, False)
            classes, _ = classes_of(summaries)
            rounds.encode(None)
        plain = self._plain()
        if self.lam is None:  # which a stream needs: here the number of rows is known
            plain.set_params(lam=self._resolve_lam(sum(s.total_weight for s in summaries)), C=1.0)
        filled = [i for i, summary in enumerate(summaries) if summary.n]

        def batches() -> Iterator[tuple]:
            for i in filled:
                chunk: Chunk = rounds.run(partial(_chunk_of, rounds, i), halts=False)
                yield chunk.X, chunk.y, chunk.weight

        plain.fit_stream(Batches(batches), classes=classes, passes=self.passes)
        plain.certify(Batches(batches))
        own = self.get_params(deep=False)
        self.__dict__.update({k: v for k, v in vars(plain).items() if k not in own})
        self._keep_columns(summaries, parts.names)
        return self

    def decision_function(self, X: Any) -> Any:
        """Scores w·x + b; of a Dask collection a lazy Dask array."""
        return self._or_by_chunks("decision_function", X)


@estimator
class SVCCV(DistributedEstimator, LocalSVCCV):
    """`mercer.SVCCV` with the kernels of its grid on the workers of a cluster.

    Every worker searches all C and all splits of one kernel at a time, as `mercer.SVCCV` does, on
    all rows: these must fit into its memory.

    Parameters
    ----------
    scheduler, scheduler_timeout, persist
        As in `mercer.dask.LinearSVC`.
    joint_size : float, default=512
        Megabytes of rows that a worker may hold; more are refused.
    kernel, Cs, gammas, param_grid, cv, scoring, refit, scale, cache_size, degree, coef0, tol, \
class_weight, fit_intercept, loss
        As in `mercer.SVCCV`; ``cv`` must be a number.

    Attributes
    ----------
    best_estimator_, best_params_, best_score_, best_index_, cv_results_, certificate_, classes_
        As in `mercer.SVCCV`.
    """

    _parameter_constraints: ClassVar[dict] = {"joint_size": [POSITIVE], "cv": [COUNT]}

    joint_size: float = 512.0

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:  # type: ignore[override]
        """Search the grid, and fit the best candidate to all rows."""
        self._validate_params()
        parts = partitions(X, y, sample_weight)
        with Stopping(self.time_limit, None, self.on_interrupt) as stopping:
            rounds = Rounds(parts, self.scheduler, self.scheduler_timeout, stopping, self.persist)
            summaries = rounds.bind(True, False)
            self._keep_columns(summaries, parts.names)
            size = sum(summary.bytes for summary in summaries) / MEGABYTE
            if size > self.joint_size:
                raise ValueError(
                    f"the rows take {size:,.0f} megabytes, but joint_size={self.joint_size:g}: "
                    "every worker holds all of them. Raise joint_size, or search on a sample."
                )
            classes_of(summaries)  # at least two
            rounds.encode(None)
            cells = self._cells()
            found = rounds.run(lambda: _search(rounds, cells))
            self._merge([results for results, _ in found])
            if self.refit:
                cell = cells[self._cell_of_best(found)].set_params(refit=True)
                cell.set_params(Cs=[self.best_params_["C"]], cv=2)
                (_, self.best_estimator_), *_ = rounds.run(lambda: _search(rounds, [cell]))
        return self

    def decision_function(self, X: Any) -> Any:
        """Decision values of the best estimator; of a Dask collection a lazy Dask array."""
        return self._or_by_chunks("decision_function", X)

    def _cells(self) -> list[Any]:
        """One search for each kernel and γ."""
        is_list = isinstance(self.kernel, (list, tuple))
        gammas = self.gammas
        if isinstance(gammas, (int, np.integer)):
            gammas = np.logspace(-3, 1, int(gammas)) / self.n_features_in_
        cells = []
        for kernel in self.kernel if is_list else [self.kernel]:
            has_gamma = isinstance(kernel, str) and "gamma" in KERNELS_BY_NAME[kernel].parameters
            for gamma in np.ravel(gammas) if has_gamma else [1.0]:
                given = {"kernel": [kernel] if is_list else kernel, "gammas": [float(gamma)]}
                cells.append(self._plain().set_params(**given, refit=False, n_jobs=1))
        return cells

    def _merge(self, parts: list[dict[str, Any]]) -> None:
        """The results of all cells as one table; the first of the best is best."""
        names = [name for name in parts[0] if all(name in part for part in parts)]
        join: Any = np.ma.concatenate
        merged = {name: join([part[name] for part in parts]) for name in names}
        merged = {
            name: values if np.ma.is_masked(values) or name.startswith("param_") else values.data
            for name, values in merged.items()
        }
        merged["params"] = [params for part in parts for params in part["params"]]
        scores = np.asarray(merged["mean_test_score"], dtype=np.float64)
        merged["rank_test_score"] = rankdata(-scores, method="min").astype(np.int32)
        self.cv_results_ = merged
        self.best_index_ = int(np.argmax(scores))
        self.best_score_ = float(scores[self.best_index_])
        self.best_params_ = dict(merged["params"][self.best_index_])
        self.n_splits_ = int(self.cv)

    def _cell_of_best(self, found: list[tuple]) -> int:
        sizes = np.cumsum([len(results["params"]) for results, _ in found])
        return int(np.searchsorted(sizes, self.best_index_, side="right"))


def _chunk_of(rounds: Rounds, i: int) -> Any:
    return rounds.chunks[i]


def _search(rounds: Rounds, cells: list[Any]) -> Any:
    from dask import delayed

    whole = rounds._tree(list(rounds.chunks), join_chunks)
    one = delayed(_fit_cell, pure=False)
    return rounds._tree([one(whole, rounds.payload(cell)) for cell in cells], listed)


def _fit_cell(chunk: Chunk, payload: Any) -> tuple[dict[str, Any], Any]:
    with single_threaded_blas():
        search = payload.value.fit(chunk.X, chunk.y, chunk.weight)
    return search.cv_results_, getattr(search, "best_estimator_", None)
