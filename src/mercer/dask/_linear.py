"""`LinearSVC`, `LinearSVR` and `LogisticRegression` on Dask collections."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import StrOptions

from mercer._result import Status
from mercer.certificates._certificate import summarise
from mercer.certificates._duality_gap import certify_linear_sums
from mercer.dask._base import DistributedEstimator
from mercer.dask._chunk import ChunkSummary
from mercer.dask._linear_fit import LinearFit, gather_duals
from mercer.dask._newton import TaskShape
from mercer.dask._partitions import partitions
from mercer.dask._rounds import Rounds
from mercer.data import Checkpoint
from mercer.estimators import LinearSVC as LocalLinearSVC
from mercer.estimators import LinearSVR as LocalLinearSVR
from mercer.estimators import LogisticRegression as LocalLogisticRegression
from mercer.estimators._convergence import warn_linear_not_converged
from mercer.estimators._fields import estimator
from mercer.estimators._validation import Data
from mercer.problems._losses import EPSILON_INSENSITIVE
from mercer.solvers import Choice, Stopping

__all__ = ["LinearSVC", "LinearSVR", "LogisticRegression"]

# Duals are brought to the caller up to this number of rows; beyond, `dual_coef_` is left out.
_MAX_DUALS = 20_000_000
# Columns beyond which the matrix XᵀDX of a chunk would take more than 800 megabytes.
_MAX_COLUMNS = 10_000

_PARAMETERS = """scheduler : Client, str or None, default=None
        A Dask client, or the address of a scheduler ("tcp://host:8786"). None: the current client,
        or a local cluster that is started at the first fit and kept.
    scheduler_timeout : float, default=60
        Seconds without an answer of the scheduler, or without any worker, after which the fit
        ends with a TimeoutError.
    persist : bool or "auto", default="auto"
        Whether chunks stay in the workers' memory between rounds. "auto": if they fit; otherwise
        every round reads or computes them again.
    checkpoint : path, optional
        A file that has the state of the fit after each round. A fit with the same parameters and
        chunks goes on from it, on any cluster, and ends with the same model."""


@estimator
class DistributedLinear(DistributedEstimator):
    """``fit`` of linear models in rounds over the chunks."""

    _parameter_constraints: ClassVar[dict] = {"checkpoint": [str, os.PathLike, None]}

    checkpoint: Any = None

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fit the model in rounds over the chunks of rows.

        Parameters
        ----------
        X : Dask array or data frame of shape (n_samples, n_features)
            Cut by rows; blocks may be arrays or CSR matrices, and their sizes may be unknown.
        y : Dask array or series of shape (n_samples,), or an array
        sample_weight : Dask array or series of shape (n_samples,), or an array, optional
        """
        model: Any = self
        model._validate_params()
        self._refuse_parameters()
        parts = partitions(X, y, sample_weight)
        with Stopping(model.time_limit, model.callback, model.on_interrupt) as stopping:
            rounds = Rounds(parts, self.scheduler, self.scheduler_timeout, stopping, self.persist)
            with_digest = self.checkpoint is not None
            summaries = self._bind_chunks(rounds, parts.names, True, with_digest)
            self._refuse_wide_rows()
            plain = self._encoded(summaries, rounds)
            shapes = self._shapes(plain, summaries)
            fit = LinearFit(rounds, plain, shapes, stopping)
            fit.checkpoint = self._checkpoint(summaries, plain)
            fit.constant = self._constant(summaries)
            weight = sum(summary.total_weight for summary in summaries)
            fit.solve(weight, [summary.n for summary in summaries], model._seed())
            self._keep_rounds(fit, summaries, stopping)
        return self

    def _refuse_parameters(self) -> None:
        """Refuse what is not solved in rounds."""
        model: Any = self
        several = getattr(model, "multi_class", "ovr")
        refused = {
            "C=inf": np.isinf(model.C),
            "penalty='l1'": getattr(model, "penalty", None) == "l1",
            f"multi_class={several!r}": several != "ovr",
            "dual=True": model.dual is True,
            "warm_start=True": model.warm_start,
        }
        self._refuse(refused, "in rounds over chunks")

    def _refuse_wide_rows(self) -> None:
        """Every chunk in work needs a matrix of (d + 1)² numbers."""
        d = self.n_features_in_
        if d > _MAX_COLUMNS:
            raise ValueError(
                f"X has {d:,} columns, but rounds over chunks need a matrix of columns × columns "
                f"in every task: at most {_MAX_COLUMNS:,}. Choose or hash columns, or use "
                f"mercer.{type(self).__name__} or fit_stream of PegasosClassifier on one machine."
            )

    def _encoded(self, summaries: Sequence[ChunkSummary], rounds: Rounds) -> Any:
        """The plain estimator with classes and their weights; labels on workers become numbers."""
        model: Any = self
        plain = self._plain()
        classes = self._encode_chunks(plain, summaries, rounds)
        if classes is not None:
            plain.classes_ = model.classes_ = classes
        return plain

    def _shapes(self, plain: Any, summaries: Sequence[ChunkSummary]) -> list[TaskShape]:
        """One for each task, from the problem of no rows."""
        d, n = self.n_features_in_, sum(summary.n for summary in summaries)
        nothing = np.zeros(0)
        data = Data(np.zeros((0, d)), nothing, None, None, (0, d))
        if hasattr(plain, "classes_"):
            tasks = plain._encode_codes(np.zeros(0, np.int32))
        else:
            tasks = plain._encode(data)
        problems = [plain._pose(task, data) for task in tasks]
        return [
            TaskShape(p.kind, p.intercept_penalty, n, d, plain.tol, plain.max_iter, task.name)
            for p, task in zip(problems, tasks, strict=True)
        ]

    def _checkpoint(self, summaries: Sequence[ChunkSummary], plain: Any) -> Checkpoint | None:
        if self.checkpoint is None:
            return None
        names = ("C", "loss", "epsilon", "tol", "intercept_scaling", "fit_intercept")
        fingerprint: dict[str, Any] = {
            name: getattr(self, name) for name in names if hasattr(self, name)
        }
        fingerprint |= {
            "machine": type(self).__name__,
            "rows": [summary.n for summary in summaries],
            "columns": int(self.n_features_in_),
            "data": [summary.digest for summary in summaries],
            "random_state": repr(getattr(self, "random_state", None)),
        }
        if hasattr(plain, "classes_"):
            fingerprint["classes"] = [str(label) for label in plain.classes_]
            fingerprint["class_weight"] = plain.class_weight_.tolist()
        return Checkpoint(self.checkpoint, fingerprint)

    def _constant(self, summaries: Sequence[ChunkSummary]) -> float | None:
        """An intercept that makes every loss zero with w = 0, if there is one."""
        model: Any = self
        if not hasattr(model, "epsilon"):
            return None
        low = max(summary.range[1] for summary in summaries) - model.epsilon
        high = min(summary.range[0] for summary in summaries) + model.epsilon
        if low > high:
            return None
        if low <= 0 <= high:
            return 0.0
        return low + (high - low) / 2 if model._intercept_penalty() == 0 else None

    def _keep_rounds(
        self, fit: LinearFit, summaries: Sequence[ChunkSummary], stopping: Stopping
    ) -> None:
        model: Any = self
        results, certificates = [], []
        for task in fit.tasks:
            assert task.best is not None
            status = task.status or Status.STALLED
            result = task.best.result(status, task.steps, task.rounds, stopping.seconds)
            results.append(result)
            best = task.best
            certificates.append(
                certify_linear_sums(
                    result, best.violation, best.counts, task.shape.name, task.shape.tol
                )
            )
        model.coef_ = np.array([result.w for result in results])
        model.intercept_ = np.array([result.b for result in results])
        if isinstance(self, LocalLinearSVR):
            model.coef_ = model.coef_[0]
        if not (np.isfinite(model.coef_).all() and np.isfinite(model.intercept_).all()):
            raise ValueError("The coefficients are not finite: scale the columns of X first.")
        model.n_iter_ = max(result.iterations for result in results)
        model.certificate_ = replace(summarise(certificates), rounds=fit.n_rounds)
        workers = f"{len(fit.rounds)} chunks, {fit.n_rounds} rounds"
        model.solver_ = Choice("distributed newton", workers)
        self.__dict__.pop("dual_coef_", None)
        is_interval = fit.shapes[0].kind == EPSILON_INSENSITIVE
        if is_interval and sum(summary.n_given for summary in summaries) <= _MAX_DUALS:
            model.dual_coef_ = gather_duals(fit)
        if model.verbose:
            print(f"[{type(self).__name__}] {model.certificate_!r}")
        if not model.certificate_.status.is_solved and not stopping.interrupted:
            warn_linear_not_converged(self)


@estimator
class LinearSVC(DistributedLinear, LocalLinearSVC):
    """Linear support vector classification on Dask collections.

    The problem of `mercer.LinearSVC`, solved by a Newton method in rounds: every worker returns
    sums over its chunks (Xᵀβ, XᵀDX, the terms of the certificate), never rows. The fitted model is
    the same for the same chunks, bit for bit, whatever the workers.

    Parameters
    ----------
    {parameters}
    penalty, loss, tol, C, fit_intercept, intercept_scaling, class_weight, random_state, max_iter, \
verbose, time_limit, callback, on_interrupt
        As in `mercer.LinearSVC`; the L1 penalty, an infinite C, "crammer_singer", ``dual=True``
        and ``warm_start`` are refused. ``n_jobs`` is not used.

    Attributes
    ----------
    coef_, intercept_, classes_, certificate_, solver_, n_iter_
        As in `mercer.LinearSVC`.
    dual_coef_ : CSR of shape (n_tasks, n_samples)
        Signed duals of the hinge, up to 20 million rows.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from distributed import Client
    >>> from mercer.dask import LinearSVC
    >>> client = Client(processes=False, dashboard_address="127.0.0.1:0")
    >>> X = np.array([[0.0, 1.0], [0.0, -1.0], [1.0, 2.0], [1.0, -2.0]])
    >>> X, y = da.from_array(X, chunks=(2, 2)), np.array([1, -1, 1, -1])
    >>> model = LinearSVC(loss="hinge", C=10, tol=1e-8).fit(X, y)
    >>> model.coef_.round(4) + 0.0
    array([[0., 1.]])
    >>> model.predict(X).compute()
    array([ 1, -1,  1, -1])
    >>> client.close()
    """

    def decision_function(self, X: Any) -> Any:
        """Scores w·x + b; of a Dask collection a lazy Dask array."""
        return self._or_by_chunks("decision_function", X)


@estimator
class LinearSVR(DistributedLinear, LocalLinearSVR):
    """Linear support vector regression on Dask collections.

    The problem of `mercer.LinearSVR`, solved in rounds as in `mercer.dask.LinearSVC`.

    Parameters
    ----------
    {parameters}
    epsilon, tol, C, loss, fit_intercept, intercept_scaling, random_state, max_iter, verbose, \
time_limit, callback, on_interrupt
        As in `mercer.LinearSVR`.
    """


@estimator
class LogisticRegression(DistributedLinear, LocalLogisticRegression):
    """Logistic regression on Dask collections.

    The problem of `mercer.LogisticRegression`, solved in rounds as in `mercer.dask.LinearSVC`; more
    than two classes one against the rest.

    Parameters
    ----------
    {parameters}
    multi_class : {"ovr"}, default="ovr"
        "multinomial" is refused.
    C, tol, fit_intercept, intercept_scaling, class_weight, random_state, max_iter, verbose, \
time_limit, callback, on_interrupt, threshold
        As in `mercer.LogisticRegression`.
    """

    _parameter_constraints: ClassVar[dict] = {"multi_class": [StrOptions({"multinomial", "ovr"})]}

    multi_class: str = "ovr"

    def decision_function(self, X: Any) -> Any:
        """Scores w·x + b; of a Dask collection a lazy Dask array."""
        return self._or_by_chunks("decision_function", X)

    def predict_proba(self, X: Any) -> Any:
        """Probabilities of the classes; of a Dask collection a lazy Dask array."""
        return self._or_by_chunks("predict_proba", X)


for _class in (LinearSVC, LinearSVR, LogisticRegression):
    _class.__doc__ = (_class.__doc__ or "").replace("{parameters}", _PARAMETERS)
