"""The base of the linear estimators: ``fit`` as validate, encode, bind, pose, solve, keep."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer._linear_function import FromCoefficients
from mercer._result import LinearResult
from mercer._threads import Workers, single_threaded_blas, thread_count
from mercer.certificates._certificate import Certificate, summarise
from mercer.certificates._duality_gap import certify_linear
from mercer.estimators._convergence import warn_linear_not_converged
from mercer.estimators._dual_view import HasDualView
from mercer.estimators._fields import POSITIVE
from mercer.estimators._validation import (
    DTYPES,
    Data,
    as_numbers,
    check_training,
    class_codes,
    class_weights,
    dense_if_small,
)
from mercer.problems._regularized_loss import NO_PENALTY, LinearPrimal
from mercer.solvers import Choice, Stopping
from mercer.solvers.linear import (
    LocalMatrix,
    ShiftedDesign,
    Start,
    StoredModel,
    as_design_matrix,
    choose_linear,
    restart,
    solve_and_bound,
    warm_start,
)

__all__ = ["LinearClassifier", "LinearEstimator", "LinearTask", "bind"]

# Stored numbers of X from which on threads are faster than one.
_THREADS_FROM = 250_000


@dataclass(frozen=True, eq=False)
class LinearTask:
    """One problem of a fit: its name, its targets (±1 of classes) and factors of C per row."""

    name: str
    y: np.ndarray
    class_weight: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class LastFit:
    """Warm start of the next fit: models, C per row, intercepts, the loss, the shape of X."""

    models: list[StoredModel]
    C: list[np.ndarray]
    stored_b: list[Any]
    kind: int | None
    shape: tuple[int, int]


class LinearEstimator(HasDualView, BaseEstimator):
    """Common to `LinearSVC`, `LinearSVR` and `LogisticRegression`."""

    _parameter_constraints: ClassVar[dict] = {
        "C": [POSITIVE],
        "dual": ["boolean", StrOptions({"auto"})],
        "intercept_scaling": [None, POSITIVE],
    }
    kernel: ClassVar[str] = "linear"  # for the validation shared with kernel estimators
    expansion_ = FromCoefficients()
    solver_: Choice

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fit the model."""
        self._check_parameters()
        if np.isinf(self.C):
            return self._fit_hard_margin(X, y, sample_weight)
        with Stopping(self.time_limit, self.callback, self.on_interrupt, self) as stopping:
            data = check_training(self, X, y, sample_weight)
            tasks = self._encode(data)
            with bind(data.X, self.n_jobs) as design:
                problems = [self._pose(task, data) for task in tasks]
                self._solve_and_keep(data, design, tasks, problems, stopping, same_rows=False)
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def _fit_path(
        self, X: Any, y: Any, sample_weight: Any, Cs: Sequence[float], whole: Stopping | None = None
    ) -> list:
        """Models for increasing C, each from the last one; what does not depend on C once.

        If the path is part of a ``whole`` that stops, only the models finished by then.
        """
        self._check_parameters()
        data = check_training(self, X, y, sample_weight)
        tasks = self._encode(data)
        models: list[LinearEstimator] = []
        last = None
        with bind(data.X, self.n_jobs) as design:
            self.C = 1.0
            posed = [self._pose(task, data) for task in tasks]
            for C in Cs:
                model = copy(self)
                model.__dict__.update(C=C, warm_start=True, _last=last)
                own: Any = nullcontext(whole)
                if whole is None:
                    own = Stopping(self.time_limit, self.callback, self.on_interrupt)
                with own as stopping:
                    problems = [problem.with_C(C) for problem in posed]
                    model._solve_and_keep(data, design, tasks, problems, stopping, same_rows=True)
                if whole is not None and whole.stopped is not None:
                    break
                last = model._last
                model.__dict__.update(warm_start=self.warm_start, _last=None)
                models.append(model)
        return models

    def _fit_hard_margin(self, X: Any, y: Any, sample_weight: Any) -> Any:
        raise NotImplementedError  # estimators whose C may be infinite

    def _check_parameters(self) -> None:
        """Refuse or warn of combinations of parameters."""

    def _encode(self, data: Data) -> list[LinearTask]:
        raise NotImplementedError

    def _pose(self, task: LinearTask, data: Data) -> Any:
        raise NotImplementedError

    def _sample_C(self, task: LinearTask, data: Data) -> np.ndarray:
        """C times class weight times sample weight."""
        C = self.C * (np.ones(data.n) if task.class_weight is None else task.class_weight)
        C = C * (1.0 if data.weight is None else data.weight)
        return C if task.class_weight is None else np.maximum(C, NO_PENALTY)

    def _intercept_penalty(self) -> float | None:
        """The factor κ of ½b²; None without an intercept."""
        if not self.fit_intercept:
            return None
        return 0.0 if self.intercept_scaling is None else 1.0 / self.intercept_scaling**2

    def _seed(self) -> int:
        return check_random_state(self.random_state).randint(2**31 - 1) if self.random_state else 0

    def _solve_and_keep(
        self,
        data: Data,
        design: LocalMatrix,
        tasks: Sequence[LinearTask],
        problems: Sequence[Any],
        stopping: Stopping,
        same_rows: bool,
    ) -> None:
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            # Numbers that overflow have an infinite gap: finite solutions are preferred.
            models = self._solve(design, problems, stopping, same_rows)
            self._keep(data, design, tasks, problems, models, stopping)

    def _solve(
        self,
        design: LocalMatrix,
        problems: Sequence[LinearPrimal],
        stopping: Stopping,
        same_rows: bool,
    ) -> list[StoredModel]:
        """The stored models with their gaps; ``same_rows``: those of the last fit, another C."""
        solver, self.solver_ = choose_linear(
            design, problems[0], self.dual, self.tol, self.max_iter, self._seed()
        )
        shifted = ShiftedDesign.of(design, problems[0].intercept_penalty)
        starts = self._starts(shifted, problems, same_rows)
        return [
            solve_and_bound(solver, problem, shifted, stopping.of_task(t, len(problems)), start)
            for t, (problem, start) in enumerate(zip(problems, starts, strict=True))
        ]

    def _starts(
        self, shifted: ShiftedDesign, problems: Sequence[LinearPrimal], same_rows: bool
    ) -> Sequence[Start | None]:
        """From the last fit, where ``warm_start`` asks for it and the data have its shape."""
        last: LastFit | None = getattr(self, "_last", None)
        cold = [None] * len(problems)
        if not getattr(self, "warm_start", False) or last is None:
            return cold
        if len(last.models) != len(problems) or last.kind != problems[0].kind:
            return cold
        solutions = [model.solution for model in last.models]
        if same_rows:
            return list(map(warm_start, problems, solutions, last.C))
        if last.shape[1] != shifted.design.d:
            return cold
        seen = [
            replace(solution, b=shifted.seen_b(solution.w, b))
            for solution, b in zip(solutions, last.stored_b, strict=True)
        ]
        given = zip(problems, seen, last.C, strict=True)
        return [restart(problem, shifted.seen, solution, C) for problem, solution, C in given]

    def _keep(
        self,
        data: Data,
        design: LocalMatrix,
        tasks: Sequence[LinearTask],
        problems: Sequence[Any],
        models: Sequence[StoredModel],
        stopping: Stopping,
    ) -> None:
        stored = [model.bounded for model in models]
        coef, intercept = self._coefficients(stored)
        self.coef_, self.intercept_ = (v.astype(design.X.dtype) for v in (coef, intercept))
        if not (np.isfinite(self.coef_).all() and np.isfinite(self.intercept_).all()):
            raise ValueError("The coefficients are not finite: scale the columns of X first.")
        self.n_iter_ = max(int(result.iterations) for result in stored)
        self.certificate_: Certificate = self._certify(tasks, problems, stored)
        duals = self._duals(stored)
        if duals is not None:
            self.dual_coef_ = _over_all_rows(duals, data)
        elif hasattr(self, "dual_coef_"):
            del self.dual_coef_  # an earlier fit's
        self._last = None
        if getattr(self, "warm_start", False):
            C, b = [problem.C for problem in problems], [result.b for result in stored]
            kind = getattr(problems[0], "kind", None)
            self._last = LastFit(list(models), C, b, kind, (design.n, design.d))
        if self.verbose:
            print(f"[{type(self).__name__}] {self.certificate_!r}")
        if not self.certificate_.status.is_solved and not stopping.interrupted:
            warn_linear_not_converged(self)

    def _coefficients(self, results: Sequence[LinearResult]) -> tuple[np.ndarray, np.ndarray]:
        """``coef_`` and ``intercept_`` in float64, a row for each task."""
        return np.array([result.w for result in results]), np.array([r.b for r in results])

    def _certify(
        self,
        tasks: Sequence[LinearTask],
        problems: Sequence[Any],
        results: Sequence[LinearResult],
    ) -> Certificate:
        given = zip(problems, results, tasks, strict=True)
        return summarise([certify_linear(p, result, t.name, self.tol) for p, result, t in given])

    def _duals(self, results: Sequence[LinearResult]) -> Sequence[np.ndarray] | None:
        """β of each task, where it does not follow from the scores."""
        return None if all(r.is_gradient_dual for r in results) else [r.beta for r in results]

    def _scores(self, X: Any) -> np.ndarray:
        check_is_fitted(self, "coef_")
        X = validate_data(self, as_numbers(X), dtype=DTYPES, accept_sparse="csr", reset=False)
        return self.expansion_(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class LinearClassifier(ClassifierMixin, LinearEstimator):
    """Linear estimators whose targets are classes: one task, or one for each class."""

    def _class_codes(self, data: Data) -> np.ndarray:
        """The number of each row's class; sets ``classes_`` and ``class_weight_``."""
        self.__dict__.pop("_vote_order", None)  # of a model of LIBLINEAR that is fitted again
        self.classes_, codes = class_codes(data)
        self.class_weight_ = class_weights(self.class_weight, self.classes_, codes, data.weight)
        return codes

    def _encode(self, data: Data) -> list[LinearTask]:
        return self._encode_codes(self._class_codes(data))

    def _encode_codes(self, codes: np.ndarray) -> list[LinearTask]:
        n_tasks = 1 if self.classes_.size == 2 else self.classes_.size
        return [self._class_task(codes, c) for c in range(n_tasks)]

    def _class_task(self, codes: np.ndarray, c: int) -> LinearTask:
        """The task of two classes, or that of class c against the rest."""
        weight = self.class_weight_[codes]
        if self.classes_.size == 2:
            return LinearTask("", np.where(codes == 1, 1.0, -1.0), weight)
        y = np.where(codes == c, 1.0, -1.0)
        # The weight of the rest is one, whatever the weights of its classes.
        return LinearTask(f"{self.classes_[c]} / rest", y, np.where(y > 0, weight, 1.0))

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores w·x + b: one for each row, or one for each row and class."""
        scores = self._scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> np.ndarray:
        """The class of each row."""
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return self._second_where(scores > 0, scores == 0)
        order = getattr(self, "_vote_order", np.arange(self.classes_.size))
        return self.classes_[order[scores[:, order].argmax(axis=1)]]

    def _second_where(self, above: np.ndarray, tie: np.ndarray) -> np.ndarray:
        """Of two classes the second where its score is above the level, else the first.

        In a model of LIBLINEAR a tie is predicted as the label that its file names last.
        """
        if hasattr(self, "_vote_order"):
            above = np.where(tie, self._vote_order[1] == 1, above)
        return self.classes_[above.astype(np.intp)]

    def sparsify(self) -> Any:
        """Convert ``coef_`` to a CSR matrix: less memory where most coefficients are zero.

        Returns
        -------
        self : object
        """
        check_is_fitted(self, "coef_")
        self.coef_ = sp.csr_matrix(self.coef_)
        return self

    def densify(self) -> Any:
        """Convert ``coef_`` back to an array.

        Returns
        -------
        self : object
        """
        check_is_fitted(self, "coef_")
        coef: Any = self.coef_
        self.coef_ = coef.toarray() if sp.issparse(coef) else coef
        return self


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
def bind(X: Any, n_jobs: int | None) -> Iterator[LocalMatrix]:
    """The rows as solvers take them, with threads where they are faster."""
    X = dense_if_small(X)
    size = X.nnz if sp.issparse(X) else X.size
    threads = thread_count(n_jobs) if size > _THREADS_FROM else 1
    with Workers(threads) as workers, single_threaded_blas():
        yield as_design_matrix(X, workers)
