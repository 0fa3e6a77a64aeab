"""The base of the linear machines: ``fit`` as validate, encode, pose, solve, keep."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer._result import LinearResult, Status
from mercer._threads import Workers, single_threaded_blas, thread_count
from mercer.certificates._certificate import Certificate, summarise
from mercer.certificates._duality_gap import certify_linear
from mercer.estimators._dual_view import HasDualView
from mercer.estimators._parameters import CONSTRAINTS
from mercer.estimators._validation import (
    DTYPES,
    Data,
    check_training,
    class_codes,
    class_weights,
    dense_if_small,
)
from mercer.exceptions import ConvergenceWarning, warn_user
from mercer.problems._regularized_loss import NO_PRICE, LinearPrimal
from mercer.solvers import Stopping
from mercer.solvers.linear import (
    Answer,
    Rows,
    Shifted,
    Start,
    again,
    as_rows,
    choose,
    foreseen,
    solve_and_prove,
)

__all__ = ["LINEAR_CONSTRAINTS", "LinearClassifier", "LinearMachine"]

# Threads pay from so many stored numbers on.
THREADS_PAY = 250_000

LINEAR_CONSTRAINTS: dict[str, list] = {
    name: CONSTRAINTS[name]
    for name in ("tol", "verbose", "random_state", "time_limit", "n_jobs", "callback",
                 "on_interrupt", "warm_start", "fit_intercept", "class_weight", "epsilon")
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Last:
    """What a fit leaves for the next: answers, prices, intercepts, the loss, the rows' shape."""

    answers: list[Answer]
    costs: list[np.ndarray]
    stored_b: list[Any]
    kind: int | None
    shape: tuple[int, int]


class LinearMachine(HasDualView, BaseEstimator):
    """Common to `LinearSVC`, `LinearSVR` and `LogisticRegression`."""

    _parameter_constraints: ClassVar[dict] = {}
    kernel: ClassVar[str] = "linear"  # for the validation shared with kernel machines

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fit the model.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Class labels, or target values for regression.
        sample_weight : array-like of shape (n_samples,), optional
            Weight 2 is the same as the row twice, weight 0 (or less) as the row left out.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        with Stopping(self.time_limit, self.callback, self.on_interrupt) as stopping:
            data = check_training(self, X, y, sample_weight)
            tasks = self._encode(data)
            with _bound(data.X, self.n_jobs) as rows:
                problems = [self._pose(task, data) for task in tasks]
                with np.errstate(over="ignore", under="ignore", invalid="ignore"):
                    # Numbers beyond float64 lose against finite ones, and are never proved.
                    answers = self._solve(rows, problems, stopping, same_rows=False)
                    self._keep(data, rows, problems, answers, stopping)
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def _fit_path(self, X: Any, y: Any, sample_weight: Any, Cs: Sequence[float]) -> list:
        """Models for rising C, each begun from the last; what does not depend on C is done once."""
        data = check_training(self, X, y, sample_weight)
        tasks = self._encode(data)
        models: list[LinearMachine] = []
        last = None
        with _bound(data.X, self.n_jobs) as rows:
            self.C = 1.0
            posed = [self._pose(task, data) for task in tasks]
            for C in Cs:
                model = copy(self)
                model.__dict__.update(C=C, warm_start=True, _last=last)
                with Stopping(self.time_limit, self.callback, self.on_interrupt) as stopping:
                    problems = [problem.with_price(C) for problem in posed]
                    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
                        answers = model._solve(rows, problems, stopping, same_rows=True)
                        model._keep(data, rows, problems, answers, stopping)
                last = model._last
                model.__dict__.update(warm_start=self.warm_start, _last=None)
                models.append(model)
        return models

    def _encode(self, data: Data) -> list[np.ndarray]:
        raise NotImplementedError

    def _pose(self, y: np.ndarray, data: Data) -> LinearPrimal:
        raise NotImplementedError

    def _kappa(self) -> float | None:
        """The price of the intercept."""
        if not self.fit_intercept:
            return None
        return 0.0 if self.intercept_scaling is None else 1.0 / self.intercept_scaling**2

    def _seed(self) -> int:
        return check_random_state(self.random_state).randint(2**31 - 1) if self.random_state else 0

    def _solve(
        self, rows: Rows, problems: Sequence[LinearPrimal], stopping: Stopping, same_rows: bool
    ) -> list[Answer]:
        """The stored models, proved; ``same_rows``: those of the last fit, at other prices."""
        solver, self.solver_ = choose(
            rows, problems[0].kind, self.dual, self.tol, self.max_iter, self._seed()
        )
        shifted = Shifted.of(rows, problems[0].kappa)
        starts = self._starts(shifted, problems, same_rows)
        return [
            solve_and_prove(solver, problem, shifted, stopping.of_task(t, len(problems)), start)
            for t, (problem, start) in enumerate(zip(problems, starts, strict=True))
        ]

    def _starts(
        self, shifted: Shifted, problems: Sequence[LinearPrimal], same_rows: bool
    ) -> list[Start | None]:
        """From the last fit, where ``warm_start`` asks for it and the data have its shape."""
        last: _Last | None = getattr(self, "_last", None)
        if not getattr(self, "warm_start", False) or last is None:
            return [None] * len(problems)
        if len(last.answers) != len(problems) or last.kind != problems[0].kind:
            return [None] * len(problems)
        olds = [(answer.found, cost) for answer, cost in zip(last.answers, last.costs, strict=True)]
        if same_rows:
            return [foreseen(p, *old) for p, old in zip(problems, olds, strict=True)]
        if last.shape[1] != shifted.rows.d:
            return [None] * len(problems)
        moved = [
            (replace(old, b=shifted.seen_b(old.w, b)), cost)
            for (old, cost), b in zip(olds, last.stored_b, strict=True)
        ]
        return [again(p, shifted.seen, *old) for p, old in zip(problems, moved, strict=True)]

    def _keep(
        self, data: Data, rows: Rows, problems: Sequence[LinearPrimal],
        answers: Sequence[Answer], stopping: Stopping,
    ) -> None:  # fmt: skip
        proofs = [answer.proof for answer in answers]
        coef, intercept = self._model(proofs)
        self.coef_, self.intercept_ = (v.astype(rows.X.dtype) for v in (coef, intercept))
        if not (np.isfinite(self.coef_).all() and np.isfinite(self.intercept_).all()):
            raise ValueError("The coefficients are not finite: scale the columns of X first.")
        self.n_iter_ = max(int(proof.iterations) for proof in proofs)
        self.certificate_: Certificate = self._prove(problems, proofs)
        duals = self._duals(problems, proofs)
        if duals is not None:
            self.dual_coef_ = _over_all_rows(duals, data)
        elif hasattr(self, "dual_coef_"):
            del self.dual_coef_  # an earlier fit's
        self._last = None
        if getattr(self, "warm_start", False):
            kind = getattr(problems[0], "kind", None)
            costs, stored_b = [p.cost for p in problems], [proof.b for proof in proofs]
            self._last = _Last(list(answers), costs, stored_b, kind, (rows.n, rows.d))
        if self.verbose:
            print(f"[{type(self).__name__}] {self.certificate_!r}")
        if not self.certificate_.status.is_solved and not stopping.interrupted:
            self._warn()

    def _model(self, results: Sequence[LinearResult]) -> tuple[np.ndarray, np.ndarray]:
        """``coef_`` and ``intercept_`` in float64, a row for each task."""
        return np.array([result.w for result in results]), np.array([r.b for r in results])

    def _prove(
        self, problems: Sequence[LinearPrimal], proofs: Sequence[LinearResult]
    ) -> Certificate:
        names = self._task_names(len(proofs))
        return summarise([
            certify_linear(p, proof, name, self.tol)
            for p, proof, name in zip(problems, proofs, names, strict=True)
        ])  # fmt: skip

    def _duals(
        self, problems: Sequence[LinearPrimal], results: Sequence[LinearResult]
    ) -> Sequence[np.ndarray] | None:
        """β of each task, where it cannot be told from the scores."""
        return None if all(r.own for r in results) else [r.beta for r in results]

    def _warn(self) -> None:
        certificate = self.certificate_
        lever = {
            Status.ITERATION_LIMIT: f"Raise max_iter={self.max_iter} (-1: no limit).",
            Status.TIME_LIMIT: f"Raise time_limit={self.time_limit}.",
        }.get(certificate.status, "Scale the columns (StandardScaler), or raise tol.")
        if certificate.status is Status.STALLED and self.coef_.dtype == np.float32:
            lever = "Give X as float64: coefficients in float32 are rounded too far for this tol."
        if certificate.status is not Status.STOPPED:
            warn_user(
                f"{type(self).__name__} failed to converge ({certificate.status}): "
                f"{self.solver_}; {certificate.iterations:,} iterations, "
                f"{certificate.seconds:.3g} s, relative gap {certificate.relative_gap:.3g} "
                f"(tol={self.tol:g}). {lever}",
                ConvergenceWarning,
            )

    def _task_names(self, n_tasks: int) -> list[str]:
        return [""] * n_tasks

    def _scores(self, X: Any) -> np.ndarray:
        check_is_fitted(self, "coef_")
        X = validate_data(self, X, dtype=DTYPES, accept_sparse="csr", reset=False)
        return X @ self.coef_.T + self.intercept_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class LinearClassifier(ClassifierMixin, LinearMachine):
    """Linear machines whose targets are classes: one task, or one for each class."""

    def _encode(self, data: Data) -> list[np.ndarray]:
        self.classes_, codes = class_codes(data)
        k = self.classes_.size
        self.class_weight_ = class_weights(self.class_weight, self.classes_, codes, data.weight)
        self._codes = codes
        return [np.where(codes == c, 1.0, -1.0) for c in ([1] if k == 2 else range(k))]

    def _prices(self, y: np.ndarray, data: Data) -> np.ndarray:
        """C times class weight times sample weight; against the rest, the rest counts once."""
        of_row = self.class_weight_[self._codes]
        if self.classes_.size > 2:
            of_row = np.where(y > 0, of_row, 1.0)
        prices = self.C * of_row * (1.0 if data.weight is None else data.weight)
        return np.maximum(prices, NO_PRICE)

    def _task_names(self, n_tasks: int) -> list[str]:
        return [""] if n_tasks == 1 else [f"{c} / rest" for c in self.classes_]

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores w·x + b: one for each row, or one for each row and class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        scores = self._scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> np.ndarray:
        """The class of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        scores = self.decision_function(X)
        index = (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[index]


def _over_all_rows(duals: Sequence[np.ndarray], data: Data) -> sp.csr_matrix:
    """Duals of the rows that were used, as CSR over all rows."""
    used = [np.flatnonzero(beta != 0) for beta in duals]  # of bools, four times as fast
    ends = np.cumsum([0, *(index.size for index in used)])
    values = [beta[index] for beta, index in zip(duals, used, strict=True)]
    columns = [data.original(index) for index in used]
    return sp.csr_matrix(
        (np.concatenate(values), np.concatenate(columns), ends), shape=(len(duals), data.shape[0])
    )


@contextmanager
def _bound(X: Any, n_jobs: int | None) -> Iterator[Rows]:
    """The rows as solvers take them, with threads where they pay."""
    X = dense_if_small(X)
    size = X.nnz if sp.issparse(X) else X.size
    threads = thread_count(n_jobs) if size > THREADS_PAY else 1
    with Workers(threads) as workers, single_threaded_blas():
        yield as_rows(X, workers)
