"""What the Pegasos estimators share: rows, the descent of each task, its bound, the model kept."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer._result import Status
from mercer._threads import Workers, single_threaded_blas, thread_count
from mercer.certificates._certificate import Certificate, summarise
from mercer.certificates._duality_gap import gap_status
from mercer.estimators._kernel_base import KernelEstimator
from mercer.estimators._parameters import CONSTRAINTS, resolve_kernel
from mercer.estimators._validation import Data, check_rows, check_training, make_samples
from mercer.estimators.pegasos._certificates import certify_bound
from mercer.estimators.pegasos._streaming import StreamMixin
from mercer.exceptions import ConvergenceWarning, warn_user
from mercer.gram import BlockedGram
from mercer.gram._bounded_products import bounded_columns, gram_error
from mercer.kernels import Linear
from mercer.kernels._samples import Samples
from mercer.solvers import Stopping
from mercer.solvers._dense_algebra import kernel_matrix
from mercer.solvers._pegasos import (
    Bound,
    Corridor,
    DenseRows,
    Descent,
    KernelRows,
    Rows,
    SparseRows,
    descend,
)

__all__ = ["Pegasos"]

# Kernel matrices beyond this are refused.
MOST_BYTES = 4 << 30
# Rows and epochs of a model for which there always is time: some ten milliseconds.
SAMPLED_ROWS, SAMPLED_EPOCHS = 256, 16

_AS_IN_SVC = (
    "degree", "gamma", "coef0", "fit_intercept", "tol", "random_state", "n_jobs", "time_limit",
    "on_interrupt",
)  # fmt: skip


class Pegasos(StreamMixin, KernelEstimator):
    """Tasks are corridors for f, one for each class against the rest or one of a regression."""

    _parameter_constraints: ClassVar[dict] = {
        **{name: CONSTRAINTS[name] for name in _AS_IN_SVC},
        "C": [Interval(Real, 0.0, None, closed="neither")],
        "lam": [None, Interval(Real, 0.0, None, closed="neither")],
        "kernel": [None, *CONSTRAINTS["kernel"]],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "average": ["boolean"],
        "replacement": ["boolean"],
    }
    project = False

    @abstractmethod
    def _encode(self, data: Data) -> tuple[np.ndarray, np.ndarray]:
        """Targets as `_corridors` takes them, and weights; of all rows there are."""

    @abstractmethod
    def _corridors(self, y: np.ndarray) -> list[Corridor]:
        """One for each task."""

    def _name(self, task: int) -> str:
        return ""

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fit the model.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
            Factors of C; rows of weight zero (or less) are left out.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        with Stopping(self.time_limit, on_interrupt=self.on_interrupt) as stopping:
            data = check_training(self, X, y, sample_weight)
            y, weight = self._encode(data)
            self.lam_ = self._resolve_lam(float(weight.sum()))
            bound = weight / (self.lam_ * weight.sum())
            rows, gram = self._rows(data, stopping)
            if rows is None:
                assert gram is not None
                answers = self._sample(gram, self._corridors(y), weight, bound, stopping)
            else:
                weight = weight / weight.mean()
                answers = self._solve(rows, self._corridors(y), weight, bound, stopping)
            self._keep(data, gram, answers, stopping)
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

    @property
    def _is_linear(self) -> bool:
        return self.kernel is None or self.kernel == "linear" or type(self.kernel) is Linear

    def _rows(self, data: Data, stopping: Stopping) -> tuple[Rows | None, BlockedGram | None]:
        """Rows and their Gram; no rows if the fit was stopped before there was a matrix."""
        if self._is_linear:
            self.kernel_ = Linear()
            self.kernel_.check(Samples(data.X))
            return self._linear_rows(data.X), None
        self.kernel_, _ = resolve_kernel(self, data.X, data.weight)
        points = make_samples(data.X, self.kernel_)
        self.kernel_.check(points)
        if 8 * points.n**2 > MOST_BYTES:
            raise ValueError(
                f"Kernelised {type(self).__name__} holds the whole kernel matrix, "
                f"{8 * points.n**2 / 1e9:.3g} GB for {points.n:,} rows (at most "
                f"{MOST_BYTES / 1e9:.3g}). Use SVC or SVR, or kernel=None on mapped rows."
            )
        gram = BlockedGram(self.kernel_, points)
        with single_threaded_blas(), gram.threads(thread_count(self.n_jobs)):
            K = kernel_matrix(gram, stopping.is_stopped)
        if K is None:
            return None, gram
        if self.fit_intercept:
            K += 1.0
        return KernelRows(K, self.batch_size, gram_error(gram)), gram

    def _sample(
        self,
        gram: BlockedGram,
        corridors: list[Corridor],
        weight: np.ndarray,
        bounds: np.ndarray,
        stopping: Stopping,
    ) -> list[tuple[Descent, Certificate]]:
        """A model of some rows, where there was no time for the kernel matrix of all.

        Their prices are raised to those of all rows. The certificate is about all rows: the dual
        point is zero elsewhere.
        """
        n = gram.n
        some = np.sort(np.random.default_rng(0).choice(n, min(n, SAMPLED_ROWS), replace=False))
        one = float(self.fit_intercept)
        rows = KernelRows(gram.take(some).matrix() + one, self.batch_size)
        raised = bounds[some] * (bounds.sum() / bounds[some].sum())
        answers = []
        for task, corridor in enumerate(corridors):
            part = Corridor(corridor.low[some], corridor.high[some])
            small = Descent(1 / raised.sum(), rows.n, self.batch_size, self.project)
            best = Bound(rows, part, raised)
            descend(
                rows, small, best, weight[some] / weight[some].mean(), np.random.default_rng(0),
                average=self.average, replacement=False, epochs=SAMPLED_EPOCHS, tol=self.tol,
                stopped=lambda: None,
            )  # fmt: skip
            coef = small.coef(self.average)
            f, error = bounded_columns(gram, some, coef[:, np.newaxis])
            f = f[:, 0] + one * coef.sum()
            slack = corridor.loss(f) + error[:, 0]
            primal = rows.norm_sq(coef) / 2 + float(bounds @ slack)
            state = Descent(self.lam_, n, self.batch_size, self.project)
            state.t = max(small.t, 1)
            state.u[some] = coef * (self.lam_ * state.t)
            state.total[some] = coef * (self.lam_ * state.t * (state.t + 1) / 2)
            down = Bound(rows, part, bounds[some])
            down.offer(np.clip(best.beta / raised, -1.0, 1.0))
            proof = certify_bound(
                down, coef, primal, status=stopping.stopped or Status.STOPPED, iterations=small.t,
                rounds=0, seconds=stopping.seconds, name=self._name(task),
            )  # fmt: skip
            rest = n - some.size
            proof = replace(proof, n_zero=proof.n_zero + rest, kkt_violation=float("nan"))
            answers.append((state, proof))
        return answers

    def _linear_rows(self, X: Any) -> DenseRows:
        kind = SparseRows if sp.issparse(X) else DenseRows
        if X.dtype.kind != "f":
            X = X.astype(np.float64)
        return kind(X, self.fit_intercept, self.batch_size)

    def _solve(
        self,
        rows: Rows,
        corridors: list[Corridor],
        weight: np.ndarray,
        bounds: np.ndarray,
        stopping: Stopping,
    ) -> list[tuple[Descent, Certificate]]:
        seeds = check_random_state(self.random_state).randint(0, 2**31 - 1, size=len(corridors))

        def one(task: int) -> tuple[Descent, Certificate]:
            state = Descent(self.lam_, rows.size, self.batch_size, self.project)
            bound = Bound(rows, corridors[task], bounds)
            status, primal, epochs = descend(
                rows, state, bound, weight, np.random.default_rng(seeds[task]),
                average=self.average, replacement=self.replacement, epochs=self.max_iter,
                tol=self.tol, stopped=lambda: stopping.stopped,
            )  # fmt: skip
            proof = certify_bound(
                bound, state.coef(self.average), primal, status=status, iterations=state.t,
                rounds=epochs, seconds=stopping.seconds, name=self._name(task),
            )  # fmt: skip
            return state, gap_status(proof, self.tol, self.kernel_.is_psd is True)

        with single_threaded_blas(), Workers(thread_count(self.n_jobs)) as workers:
            return workers.map(one, range(len(corridors)))

    def _keep(
        self,
        data: Data,
        gram: BlockedGram | None,
        answers: list[tuple[Descent, Certificate]],
        stopping: Stopping,
    ) -> None:
        # Of a fit with another kernel, of a stream.
        for name in ("coef_", "expansion_", "_rng", "stream_"):
            self.__dict__.pop(name, None)
        self._states = [state for state, _ in answers]
        self.certificate_ = summarise([certificate for _, certificate in answers])
        self.n_iter_ = max(certificate.rounds for _, certificate in answers)
        self.t_ = self._states[0].t
        if gram is None:
            self._keep_linear()
        else:
            self._keep_expansion(data, gram)
        status = self.certificate_.status
        if not status.is_solved and not stopping.interrupted:
            warn_user(
                f"Pegasos stopped early ({status}) after {self.n_iter_} passes over the rows: the "
                f"relative gap is {self.certificate_.relative_gap:.3g} (tol={self.tol:g}). Raise "
                f"max_iter={self.max_iter} or tol, scale the columns, or use SVC or SVR.",
                ConvergenceWarning,
            )

    def _keep_linear(self) -> None:
        W = np.array([state.coef(self.average) for state in self._states])
        self.coef_, self.intercept_ = W[:, :-1].copy(), W[:, -1].copy()

    def _keep_expansion(self, data: Data, gram: BlockedGram) -> None:
        coef = np.array([state.coef(self.average) for state in self._states])
        support = np.flatnonzero(coef.any(axis=0))
        self.intercept_ = coef.sum(axis=1) * float(self.fit_intercept)
        self.expansion_ = self._expansion(data, gram, support, coef[:, support], self.intercept_)
        del self._states  # a stream goes on from w only

    def _values(self, X: Any) -> np.ndarray:
        """f of every task, shape (n, n_tasks)."""
        check_is_fitted(self, "intercept_")
        if hasattr(self, "coef_"):
            X = validate_data(self, X, accept_sparse="csr", reset=False)
            return np.asarray(X @ self.coef_.T) + self.intercept_
        return self.expansion_(check_rows(self, X), self.n_jobs)
