"""What the Pegasos estimators share: rows, the iteration of each task, its dual bound."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import _fit_context
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer._linear_function import FromCoefficients
from mercer._result import Status
from mercer._threads import Workers, single_threaded_blas, thread_count
from mercer.certificates._certificate import Certificate, summarise
from mercer.certificates._duality_gap import gap_status
from mercer.estimators._convergence import warn_stopped_early
from mercer.estimators._dual_view import HasDualView
from mercer.estimators._fields import (
    COUNT,
    POSITIVE,
    KernelParameters,
    RunParameters,
    estimator,
)
from mercer.estimators._kernel_base import KernelEstimator
from mercer.estimators._parameters import CONSTRAINTS, resolve_kernel
from mercer.estimators._validation import Data, as_numbers, check_rows, check_training
from mercer.estimators.pegasos._certificates import Effort, certify_bound
from mercer.estimators.pegasos._streaming import StreamMixin
from mercer.gram import BlockedGram
from mercer.gram._bounded_products import bounded_columns, gram_error
from mercer.kernels import Linear
from mercer.kernels._binding import make_samples
from mercer.kernels._samples import Samples
from mercer.solvers import Choice, Stopping
from mercer.solvers._dense_algebra import kernel_matrix
from mercer.solvers.pegasos._rows import DenseRows, KernelRows, PegasosRows, SparseRows
from mercer.solvers.pegasos._state import LossInterval, PegasosSettings, PegasosState
from mercer.solvers.pegasos._subgradient import DualBound, RunLimits, run

__all__ = ["PegasosBase"]


@estimator
class PegasosBase(HasDualView, StreamMixin, RunParameters, KernelParameters, KernelEstimator):
    """A task has a loss interval for each row: one class against the rest, or a regression."""

    _parameter_constraints: ClassVar[dict] = {
        "C": [POSITIVE],
        "lam": [None, POSITIVE],
        "kernel": [None, *CONSTRAINTS["kernel"]],
        "max_iter": [COUNT],
        "batch_size": [COUNT],
        "n_steps": [None, COUNT],
    }
    C: float = 1.0
    lam: float | None = None
    kernel: Any = None
    fit_intercept: bool = True
    max_iter: int = 1000
    tol: float = 1e-2
    batch_size: int = 1
    average: bool = True
    replacement: bool = False
    n_steps: int | None = None
    random_state: Any = None

    _progress_words = ("steps", "relative gap")
    project = False
    expansion_ = FromCoefficients()  # with a kernel, a fit sets its own
    _settings = PegasosSettings()

    @abstractmethod
    def _encode(self, data: Data) -> tuple[np.ndarray, np.ndarray]:
        """Targets as `_intervals` takes them, and weights, of all rows."""

    @abstractmethod
    def _intervals(self, y: np.ndarray) -> list[LossInterval]:
        """The loss intervals of each task."""

    def _name(self, task: int) -> str:
        return ""

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fit the model."""
        with Stopping(self.time_limit, self._callback(), self.on_interrupt, self) as stopping:
            data = check_training(self, X, y, sample_weight)
            y, weight = self._encode(data)
            self._check_steps()
            self.lam_ = self._resolve_lam(float(weight.sum()))
            C = weight / (self.lam_ * weight.sum())
            rows, gram = self._rows(data, stopping)
            if rows is None:
                assert gram is not None
                fitted = self._fit_sample(gram, self._intervals(y), weight, C, stopping)
            else:
                weight = weight / weight.mean()
                fitted = self._solve(rows, self._intervals(y), weight, C, stopping)
            self._keep(data, gram, fitted, stopping)
        return self

    def _resolve_lam(self, total_weight: float) -> float:
        if self.lam is None:
            return 1.0 / (self.C * total_weight)
        if self.C != 1.0:
            raise ValueError(
                f"C={self.C:g} cannot be combined with lam={self.lam:g}: C is 1/(n lam). "
                "Give one of them."
            )
        return float(self.lam)

    def _check_steps(self) -> None:
        if self.n_steps is not None and self.max_iter != self._defaults()["max_iter"]:
            raise ValueError(
                f"max_iter={self.max_iter} cannot be combined with n_steps={self.n_steps}, the "
                "exact number of steps. Give one of them."
            )

    @property
    def _is_linear(self) -> bool:
        return self.kernel is None or self.kernel == "linear" or type(self.kernel) is Linear

    def _rows(
        self, data: Data, stopping: Stopping
    ) -> tuple[PegasosRows | None, BlockedGram | None]:
        """Rows and their Gram; no rows if the fit was stopped before there was a matrix."""
        if self._is_linear:
            self.kernel_ = Linear()
            self.kernel_.check(Samples(data.X))
            return self._linear_rows(data.X), None
        self.kernel_, _ = resolve_kernel(self, data.X, data.weight)
        points = make_samples(data.X, self.kernel_)
        self.kernel_.check(points)
        most = self._settings.max_matrix_bytes
        if 8 * points.n**2 > most:
            raise ValueError(
                f"Kernelised {type(self).__name__} holds the whole kernel matrix, "
                f"{8 * points.n**2 / 1e9:.3g} GB for {points.n:,} rows (at most "
                f"{most / 1e9:.3g}). Use SVC or SVR, or kernel=None on mapped rows."
            )
        gram = BlockedGram(self.kernel_, points)
        with single_threaded_blas(), gram.threads(thread_count(self.n_jobs)):
            K = kernel_matrix(gram, stopping.is_stopped)
        if K is None:
            return None, gram
        if self.fit_intercept:
            K += 1.0
        return KernelRows(K, self.batch_size, gram_error(gram), self._settings), gram

    def _fit_sample(
        self,
        gram: BlockedGram,
        intervals: list[LossInterval],
        weight: np.ndarray,
        C: np.ndarray,
        stopping: Stopping,
    ) -> list[tuple[PegasosState, Certificate]]:
        """A model of a random sample, where there was no time for the whole kernel matrix.

        Its Cᵢ are raised so that they sum to those of all rows. The certificate is about all rows:
        the dual point is zero elsewhere.
        """
        n, settings = gram.n, self._settings
        size = min(n, settings.sample_rows)
        some = np.sort(np.random.default_rng(0).choice(n, size, replace=False))
        one = float(self.fit_intercept)
        rows = KernelRows(gram.take(some).matrix() + one, self.batch_size)
        raised = C[some] * (C.sum() / C[some].sum())
        fitted = []
        for task, interval in enumerate(intervals):
            part = interval.take(some)
            small = PegasosState(1 / raised.sum(), rows.n, self.batch_size, self.project)
            best = DualBound(rows, part, raised)
            limits = RunLimits(self.tol, settings.sample_epochs, average=self.average)
            part_weight = weight[some] / weight[some].mean()
            run(rows, small, best, part_weight, np.random.default_rng(0), limits, Stopping())
            coef = small.coef(self.average)
            f, error = bounded_columns(gram, some, coef[:, np.newaxis])
            f = f[:, 0] + one * coef.sum()
            primal = rows.norm_sq(coef) / 2 + float(C @ (interval.loss(f) + error[:, 0]))
            bound = DualBound(rows, part, C[some])
            bound.propose(np.clip(best.beta / raised, -1.0, 1.0))
            status = stopping.stopped or Status.STOPPED
            effort = Effort(status, small.t, 0, stopping.seconds, self._name(task))
            certificate = certify_bound(bound, coef, one * float(coef.sum()), primal, effort)
            n_zero = certificate.n_zero + n - some.size
            certificate = replace(certificate, n_zero=n_zero, kkt_violation=float("nan"))
            fitted.append((self._embedded(small, some, n), certificate))
        return fitted

    def _embedded(self, small: PegasosState, some: np.ndarray, n: int) -> PegasosState:
        """The state of all n rows whose model is that of some of them."""
        coef, lam = small.coef(self.average), self.lam_
        state = PegasosState(lam, n, self.batch_size, self.project)
        state.t = max(small.t, 1)
        state.u[some] = coef * (lam * state.t)
        state.total[some] = coef * (lam * state.t * (state.t + 1) / 2)
        return state

    def _linear_rows(self, X: Any) -> DenseRows:
        kind = SparseRows if sp.issparse(X) else DenseRows
        if X.dtype.kind != "f":
            X = X.astype(np.float64)
        return kind(X, self.fit_intercept, self.batch_size, self._settings)

    def _solve(
        self,
        rows: PegasosRows,
        intervals: list[LossInterval],
        weight: np.ndarray,
        C: np.ndarray,
        stopping: Stopping,
    ) -> list[tuple[PegasosState, Certificate]]:
        seeds = check_random_state(self.random_state).randint(0, 2**31 - 1, size=len(intervals))
        limits = RunLimits(self.tol, self.max_iter, self.n_steps, self.average, self.replacement)

        def one(task: int) -> tuple[PegasosState, Certificate]:
            state = PegasosState(self.lam_, rows.size, self.batch_size, self.project)
            bound = DualBound(rows, intervals[task], C)
            rng, part = np.random.default_rng(seeds[task]), stopping.of_task(task, len(intervals))
            status, primal, epochs = run(rows, state, bound, weight, rng, limits, part)
            state.reset_signs(0)  # not part of the model
            effort = Effort(status, state.t, epochs, stopping.seconds, self._name(task))
            coef = state.coef(self.average)
            b = coef.sum() if isinstance(rows, KernelRows) else coef[-1]
            b = float(b) * float(self.fit_intercept)
            certificate = certify_bound(bound, coef, b, primal, effort)
            return state, gap_status(certificate, self.tol, self.kernel_.is_psd is True)

        with single_threaded_blas(), Workers(thread_count(self.n_jobs)) as workers:
            return workers.map(one, range(len(intervals)))

    def _keep(
        self,
        data: Data,
        gram: BlockedGram | None,
        fitted: list[tuple[PegasosState, Certificate]],
        stopping: Stopping,
    ) -> None:
        # Attributes of a fit with another kernel, or of a stream.
        for name in ("coef_", "expansion_", "_rng", "stream_"):
            self.__dict__.pop(name, None)
        self._states = [state for state, _ in fitted]
        self.certificate_ = summarise([certificate for _, certificate in fitted])
        self.n_iter_ = max(certificate.rounds for _, certificate in fitted)
        self.t_ = self._states[0].t
        if gram is None:
            self._keep_linear()
        else:
            self._keep_expansion(data, gram)
        status = self.certificate_.status
        asked = self.n_steps is not None and status is Status.ITERATION_LIMIT
        if not status.is_solved and not asked:
            warn_stopped_early(
                "Pegasos",
                status,
                f"{self.n_iter_} passes over the rows",
                f"relative gap {self.certificate_.relative_gap:.3g} (tol={self.tol:g})",
                f"Raise max_iter={self.max_iter} or tol, scale the columns, or use SVC or SVR.",
            )

    def _keep_linear(self) -> None:
        W = np.array([state.coef(self.average) for state in self._states])
        self.coef_, self.intercept_ = W[:, :-1].copy(), W[:, -1].copy()
        self.solver_ = Choice("pegasos", "stochastic subgradient steps on w")

    def _keep_expansion(self, data: Data, gram: BlockedGram) -> None:
        coef = np.array([state.coef(self.average) for state in self._states])
        support = np.flatnonzero(coef.any(axis=0))
        self.intercept_ = coef.sum(axis=1) * float(self.fit_intercept)
        self.expansion_ = self._expansion(data, gram, support, coef[:, support], self.intercept_)
        self.solver_ = Choice("pegasos", "stochastic subgradient steps on the coefficients of rows")
        del self._states  # a stream continues from w only

    def _decide(self, X: Any, signs_only: bool = False) -> np.ndarray:
        """f of every task, shape (n, n_tasks)."""
        check_is_fitted(self, "intercept_")
        if hasattr(self, "coef_"):
            X = validate_data(self, as_numbers(X), accept_sparse="csr", reset=False)
        else:
            X = check_rows(self, X)
        return self.expansion_(X, self.n_jobs)
