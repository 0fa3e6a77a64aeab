"""`SVC`, `SVR` and `OneClassSVM` on Dask collections, exactly, by parts.

1. Every worker solves its chunks at C·k, k the number of chunks: the support vectors of the parts
   are the first joint rows (Graf et al., NIPS 17, 2005, solve a cascade of such parts).
2. One worker solves the problem of the joint rows; all other rows have β = 0. That is a feasible
   point of the whole problem.
3. Every worker evaluates the model at its rows, with bounds of the rounding: the terms of the
   certificate of the whole problem, and the rows that violate the KKT conditions most. These join;
   steps 2 and 3 are repeated until no row violates them beyond ``tol``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from mercer._result import Halted, Status
from mercer.certificates._certificate import summarise
from mercer.dask._base import DistributedEstimator
from mercer.dask._chunk import Chunk, ChunkSummary
from mercer.dask._kernel_joint import JointFit
from mercer.dask._kernel_parts import Moments, chunk_moments, solve_part
from mercer.dask._partitions import partitions
from mercer.dask._rounds import Rounds
from mercer.estimators import SVC as LocalSVC
from mercer.estimators import SVR as LocalSVR
from mercer.estimators import OneClassSVM as LocalOneClassSVM
from mercer.estimators._convergence import warn_stopped_early
from mercer.estimators._fields import POSITIVE, estimator
from mercer.gram._cached import MEGABYTE
from mercer.solvers import Choice, Progress, Stopping

__all__ = ["SVC", "SVR", "OneClassSVM"]

# Rounds after which a fit ends.
MAX_ROUNDS = 100


def _given_rows(chunk: Chunk, chosen: list[np.ndarray]) -> np.ndarray:
    """Numbers of chosen rows among those of the chunk as it was given."""
    rows = chosen[chunk.index]
    return rows if chunk.rows is None else chunk.rows[rows]


@estimator
class DistributedKernelMachine(DistributedEstimator):
    """``fit`` of kernel machines by parts."""

    _parameter_constraints: ClassVar[dict] = {"joint_size": [POSITIVE]}

    joint_size: float = 512.0

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Any:
        model: Any = self
        model._validate_params()
        self._refuse_parameters()
        parts = partitions(X, y, sample_weight)
        with Stopping(model.time_limit, model.callback, model.on_interrupt) as stopping:
            rounds = Rounds(parts, self.scheduler, self.scheduler_timeout, stopping, self.persist)
            summaries = self._bind_chunks(rounds, parts.names, not hasattr(model, "nu"))
            plain, classes = self._encoded(summaries, rounds)
            d = self.n_features_in_
            max_rows = int(self.joint_size * MEGABYTE / (8 * (d + 2)))
            most = max(16, max_rows // (2 * len(rounds)))
            chosen = [rows for rows, _ in rounds.map(solve_part, plain, len(rounds), most)]
            weight = float(sum(summary.total_weight for summary in summaries))
            n_classes = 0 if classes is None else classes.size
            fit = JointFit(rounds, plain, weight, n_classes, chosen, max_rows)
            status = self._refine(fit, stopping)
            self._keep_joint(fit, summaries, classes, status)
        return self

    def _refuse_parameters(self) -> None:
        model: Any = self
        refused = {
            "C=inf": np.isinf(getattr(model, "C", 1.0)),
            f"loss={getattr(model, 'loss', None)!r}": str(getattr(model, "loss", "")).startswith(
                "squared"
            ),
            "kernel='precomputed'": isinstance(model.kernel, str) and model.kernel == "precomputed",
            "warm_start=True": model.warm_start,
            "probability": getattr(model, "probability", False) not in (False, "deprecated"),
        }
        self._refuse(refused, "by parts")

    def _encoded(
        self, summaries: Sequence[ChunkSummary], rounds: Rounds
    ) -> tuple[Any, np.ndarray | None]:
        """The plain estimator as workers fit it: classes by number, γ as a number."""
        plain = self._plain().set_params(n_jobs=1, time_limit=None, verbose=False)
        classes = self._encode_chunks(plain, summaries, rounds)
        if classes is not None:
            plain.class_weight = {c: float(w) for c, w in enumerate(plain.class_weight_)}
        if isinstance(plain.kernel, str) and plain.gamma == "scale":
            moments = Moments()
            for part in rounds.map(chunk_moments):
                moments = moments.plus(part)
            variance = moments.variance
            plain.gamma = 1.0 / (self.n_features_in_ * variance) if variance else 1.0
        return plain, classes

    def _refine(self, fit: JointFit, stopping: Stopping) -> Status:
        """Rounds until no row violates the conditions; what ended them otherwise."""
        model: Any = self
        while True:
            try:
                reply = fit.round(model.tol, stopping.seconds)
            except Halted:
                return stopping.stopped or Status.STOPPED
            violation = max(each.kkt_violation for each in fit.certificates)
            size = sum(rows.size for rows in fit.chosen)
            stopping.report(
                Progress(stopping.seconds, fit.n_rounds, size, violation, float(model.tol))
            )
            if violation <= model.tol:
                return Status.SOLVED
            if stopping.stopped is not None:
                return stopping.stopped
            if fit.n_rounds >= MAX_ROUNDS:
                return Status.ITERATION_LIMIT
            if not fit.join(reply):
                full = size >= fit.max_rows
                return Status.NOT_REACHED if full else Status.STALLED

    def _keep_joint(
        self,
        fit: JointFit,
        summaries: Sequence[ChunkSummary],
        classes: np.ndarray | None,
        status: Status,
    ) -> None:
        model, solved = self, fit.solved
        assert solved is not None
        own = set(model.get_params(deep=False))  # type: ignore[attr-defined]
        kept = {k: v for k, v in vars(solved.model).items() if k not in own}
        given = fit.rounds.map(_given_rows, fit.places)
        starts = np.cumsum([0, *(summary.n_given for summary in summaries)])
        numbers = np.concatenate([start + rows for start, rows in zip(starts, given, strict=False)])
        support = numbers[solved.model.support_].astype(np.int32)
        n_columns, names = self.n_features_in_, vars(self).get("feature_names_in_")
        weights = vars(self).get("class_weight_")
        self.__dict__.update(kept)
        self.n_features_in_ = n_columns
        if names is not None:
            self.feature_names_in_ = names
        state: dict[str, Any] = {"support_": support, "_support_rows": support.astype(np.int64)}
        state["shape_fit_"] = (int(starts[-1]), n_columns)
        if classes is not None:
            state |= {"classes_": classes, "class_weight_": weights}
        certificates = fit.certificates
        if status is not Status.SOLVED:
            certificates = [
                each if each.status.is_solved else replace(each, status=status)
                for each in certificates
            ]
        state["_proof"] = summarise(certificates)
        joint = sum(rows.size for rows in fit.places)
        reason = f"{len(fit.rounds)} parts, {fit.n_rounds} rounds, {joint:,} joint rows"
        state["solver_"] = Choice("by parts", reason)
        self.__dict__.update(state)
        self.__dict__.pop("_duals", None)
        self.fit_status_ = int(not state["_proof"].status.is_solved)
        if self.fit_status_:
            remedy = "Raise time_limit, or the tolerance tol."
            if status is Status.NOT_REACHED:
                remedy = f"Raise joint_size={self.joint_size:g} (megabytes), or reduce C."
            found = state["_proof"]
            reached = f"violation {found.kkt_violation:.3g}, relative gap {found.relative_gap:.3g}"
            effort = f"{fit.n_rounds} rounds with {joint:,} joint rows"
            warn_stopped_early(type(self).__name__, status, effort, reached, remedy)


_PARAMETERS = """scheduler, scheduler_timeout, persist
        As in `mercer.dask.LinearSVC`.
    joint_size : float, default=512
        Megabytes of the rows of the joint problem, which one worker holds; beside them it needs
        ``cache_size`` megabytes. A fit that would need more ends, with its certificate."""


@estimator
class SVC(DistributedKernelMachine, LocalSVC):
    """C-support vector classification on Dask collections, exact.

    The problem of `mercer.SVC`. Chunks are solved apart, their support vectors jointly on one
    worker, and rows anywhere that violate the optimality conditions join them until there are none.
    The certificate is that of the whole problem, from one pass over all rows in each round.

    Parameters
    ----------
    {parameters}
    C, kernel, degree, gamma, coef0, shrinking, tol, cache_size, class_weight, verbose, max_iter, \
decision_function_shape, break_ties, random_state, time_limit, callback, on_interrupt, \
fit_intercept, solver
        As in `mercer.SVC`. An infinite C, the squared hinge, "precomputed", probabilities and
        ``warm_start`` are refused.

    Attributes
    ----------
    certificate_, solver_, kernel_, support_, support_vectors_, n_support_, dual_coef_, \
intercept_, classes_
        As in `mercer.SVC`; ``support_`` has the numbers of rows among those of all chunks.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from distributed import Client
    >>> from mercer.dask import SVC
    >>> client = Client(processes=False, dashboard_address="127.0.0.1:0")
    >>> X = np.array([[0.0, 1.0], [0.0, -1.0], [1.0, 2.0], [1.0, -2.0]])
    >>> model = SVC(kernel="linear").fit(da.from_array(X, chunks=(2, 2)), np.array([1, -1, 1, -1]))
    >>> model.support_
    array([1, 0], dtype=int32)
    >>> client.close()
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fit the model by parts.

        Parameters
        ----------
        X : Dask array or data frame of shape (n_samples, n_features)
        y : Dask array or series of shape (n_samples,), or an array
        sample_weight : Dask array or series of shape (n_samples,), or an array, optional
        """
        return self._fit(X, y, sample_weight)

    def decision_function(self, X: Any) -> Any:
        """Decision values; of a Dask collection a lazy Dask array."""
        return self._or_by_chunks("decision_function", X)


@estimator
class SVR(DistributedKernelMachine, LocalSVR):
    """ε-support vector regression on Dask collections, exact, as `mercer.dask.SVC`.

    Parameters
    ----------
    {parameters}
    C, epsilon, kernel, degree, gamma, coef0, shrinking, tol, cache_size, verbose, max_iter, \
time_limit, callback, on_interrupt, fit_intercept, solver
        As in `mercer.SVR`.
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fit the model by parts; arguments as in `mercer.dask.SVC`."""
        return self._fit(X, y, sample_weight)


@estimator
class OneClassSVM(DistributedKernelMachine, LocalOneClassSVM):
    """One-class SVM on Dask collections, exact, as `mercer.dask.SVC`.

    Every part has its own sum of duals, ν times its weight, and the bounds [0, 1]: side by side,
    the duals of all parts are feasible in the whole problem.

    Parameters
    ----------
    {parameters}
    nu, kernel, degree, gamma, coef0, shrinking, tol, cache_size, verbose, max_iter, time_limit, \
callback, on_interrupt, solver
        As in `mercer.OneClassSVM`.
    """

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit the region by parts; arguments as in `mercer.dask.SVC`, y is ignored."""
        fitted = self._fit(X, None, sample_weight)
        fitted.offset_ = -fitted.intercept_
        return fitted

    def decision_function(self, X: Any) -> Any:
        """Decision values; of a Dask collection a lazy Dask array."""
        return self._or_by_chunks("decision_function", X)


for _class in (SVC, SVR, OneClassSVM):
    _class.__doc__ = (_class.__doc__ or "").replace("{parameters}", _PARAMETERS)
