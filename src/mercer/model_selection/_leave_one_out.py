"""`leave_one_out`: exact leave-one-out predictions of kernel SVMs, and bounds that cost nothing.

Without row i the solution is the same if βᵢ = 0: f(xᵢ) + b is its leave-one-out value. For each
support vector (of a one-class SVM, whose β sum to νn, for each row) the problem with βᵢ = 0 as
bound is solved, from the solution with all rows (decremental learning: Cauwenberghs and Poggio,
NIPS 13, 2001). Bounds on the error rate of an SVC:

    number of support vectors / n                              (Vapnik 1995)
    number of rows with ρ αᵢ R² + ξᵢ ≥ 1, over n               (ξα: Joachims, ICML 2000)

where R² bounds k(x, x) − k(x, z), and ρ is 2 with an intercept and 1 without.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from mercer._threads import Workers, single_threaded_blas, thread_count
from mercer.estimators.svm._one_class import OneClassSVM
from mercer.estimators.svm._svc import SVC
from mercer.estimators.svm._svr import SVR
from mercer.gram._cached import MEGABYTE
from mercer.gram._kernel_matrices import KernelMatrices
from mercer.model_selection._held_out import predictions
from mercer.problems import BoxQP
from mercer.problems._dual_qp import fill_from_front
from mercer.solvers import Stopping
from mercer.solvers.smo import SMO
from mercer.solvers.smo.paths._fold_paths import FoldPath, HeldOutValues, Workspaces, follow
from mercer.solvers.smo.paths._leave_out import leave_out
from mercer.solvers.smo.paths._matrix_path import fits_matrix_path

__all__ = ["LeaveOneOut", "leave_one_out"]


@dataclass(frozen=True, eq=False)
class LeaveOneOut:
    """Leave-one-out predictions of a model.

    Attributes
    ----------
    values : ndarray of shape (n_samples, n_tasks)
        Decision value of each row under the model without it.
    predictions : ndarray of shape (n_samples,)
    error : float
        Fraction of wrong predictions, or mean squared error; NaN for outlier detection.
    n_solved : int
        Problems that had to be solved: one for each support vector of each task.
    violation : float
        Largest KKT violation of these.
    support_vector_bound : float
        The fraction of rows that are support vectors, an upper bound of ``error`` of an SVC; NaN
        for other estimators.
    xi_alpha_bound : float
        The ξα bound of ``error`` of an SVC with two classes, else NaN.
    """

    values: np.ndarray
    predictions: np.ndarray
    error: float
    n_solved: int
    violation: float
    support_vector_bound: float
    xi_alpha_bound: float


def leave_one_out(
    estimator: Any,
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    n_jobs: int | None = None,
    time_limit: float | None = None,
) -> LeaveOneOut:
    """Exact leave-one-out predictions of a kernel SVM, to its tolerance.

    Parameters
    ----------
    estimator : SVC, SVR or OneClassSVM
        Fitted or not; its parameters count.
    X, y, sample_weight
        The training data.
    n_jobs : int, optional
        Threads. Does not change the values.
    time_limit : float, optional
        Seconds; beyond it a TimeoutError is raised.

    Returns
    -------
    LeaveOneOut

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import mercer
    >>> X, y = load_iris(return_X_y=True)
    >>> found = mercer.leave_one_out(mercer.SVC(C=1.0), X, y)
    >>> round(found.error, 3), found.n_solved < 300
    (0.033, True)
    """
    if type(estimator) not in (SVC, SVR, OneClassSVM):
        raise TypeError(
            f"leave_one_out takes an SVC, SVR or OneClassSVM, got {type(estimator).__name__}; "
            "for KernelRidge use alpha='loo'."
        )
    if estimator.approximation is not None:
        raise ValueError(
            f"leave_one_out is exact: approximation={estimator.approximation!r} must be None. Use "
            "cross-validation."
        )
    model = clone(estimator)
    y = np.ones(len(X)) if y is None and isinstance(model, OneClassSVM) else y
    with Stopping(time_limit) as stopping, single_threaded_blas():
        bound = model.bind(X, y, sample_weight)
        return _LeaveOneOut(model, bound, stopping, thread_count(n_jobs)).run()


class _LeaveOneOut:
    def __init__(self, model: Any, bound: Any, stopping: Stopping, n_threads: int):
        self.model, self.data, self.gram = model, bound.data, bound.gram
        self.model.kernel_, self.model._gamma = bound.kernel, bound.gamma
        self.stopping, self.n_threads = stopping, n_threads
        cache = max(int(model.cache_size * MEGABYTE), 1)
        self.solver = SMO(tol=model.tol, cache_bytes=cache, shrinking=model.shrinking)
        self.workspaces = Workspaces()

    def run(self) -> LeaveOneOut:
        data, n = self.data, self.data.n
        tasks = self.model._encode(data)
        values, violation, solved = np.empty((n, len(tasks))), 0.0, 0
        is_support, bound = np.zeros(n, bool), np.nan
        need = 8 * n * n
        fits = KernelMatrices.fits(n, max(self.solver.cache_bytes, 1000 << 20))
        with Workers(self.n_threads) as workers:
            matrices = KernelMatrices(n, need, 1) if fits else None
            K = None if matrices is None else matrices.acquire(0, self.gram, 1)
            for t, task in enumerate(tasks):
                problem = self.model._pose(task, data)
                rows = np.arange(n) if task.rows is None else task.rows
                others = np.setdiff1d(np.arange(n), rows)
                whole = self._solve(FoldPath(rows, others, [problem], [1.0]), K)
                own = problem.at_points(whole.beta, rows.size)
                values[rows, t], values[others, t] = whole.train_values, whole.values
                support = np.flatnonzero(_used(problem, whole.beta, rows.size))
                if problem.start.any():  # one-class: every row counts in the sum νn
                    support = np.arange(rows.size)
                found = self._without(problem, rows, whole, support, K, workers)
                values[rows[support], t] = [value for value, _ in found]
                violation = max([violation, *(each for _, each in found)])
                solved += support.size
                is_support[rows[support]] = True
                if len(tasks) == 1 and isinstance(self.model, SVC):
                    bound = self._xi_alpha(task.y, own, whole.train_values, K)
            if matrices is not None:
                matrices.release(0)
                matrices.close()
        return self._result(values, solved, violation, is_support.mean(), bound)

    def _solve(self, path: FoldPath, K: np.ndarray | None) -> HeldOutValues:
        found = list(follow(path, self.gram, K, self.solver, self.stopping, self.workspaces))
        if not found:
            raise TimeoutError("leave_one_out was stopped before it had ended.")
        return found[0]

    def _without(
        self,
        problem: BoxQP,
        rows: np.ndarray,
        whole: HeldOutValues,
        support: np.ndarray,
        K: np.ndarray | None,
        workers: Workers,
    ) -> list[tuple[float, float]]:
        """The decision value of each support vector under the problem without it; violations."""

        def alone(point: int) -> tuple[float, float]:
            reduced = _without_point(problem, point, rows.size)
            found = self._solve(FoldPath(rows, rows[[point]], [reduced], [1.0]), None)
            return float(found.values[0]), found.violation

        if K is None or not fits_matrix_path(problem):
            return workers.map(alone, support.tolist())
        f = whole.train_values - whole.b

        def some(points: np.ndarray) -> list[tuple[float, float]]:
            spaces, tol = self.workspaces, self.solver.tol
            values, violations = leave_out(
                K, rows, problem, whole.beta, f, points, tol, spaces.of(problem.n_variables),
                self.stopping, spaces.settings,
            )  # fmt: skip
            if self.stopping.stopped is not None:
                raise TimeoutError("leave_one_out was stopped before it had ended.")
            found = zip(points.tolist(), values.tolist(), violations.tolist(), strict=True)
            return [(value, left) if left <= tol else alone(k) for k, value, left in found]

        n_parts = -(-support.size // self.workspaces.settings.points_per_call)
        found = workers.map(some, np.array_split(support, max(n_parts, 1)))
        return [each for part in found for each in part]

    def _xi_alpha(
        self, y: np.ndarray, beta: np.ndarray, values: np.ndarray, K: np.ndarray | None
    ) -> float:
        """The ξα bound; R² is that of the training rows."""
        if self.model.loss != "hinge":
            return np.nan
        R2 = np.inf
        if K is not None:
            R2 = float((K.diagonal() - K.min(axis=1)).max())
        elif self.gram.kernel.is_nonnegative:
            R2 = float(self.gram.diag().max())
        rho = 2.0 if self.model.fit_intercept else 1.0
        with np.errstate(invalid="ignore"):
            size = np.where(beta == 0, 0.0, rho * np.abs(beta) * R2)
        return float(np.mean(size + np.maximum(0.0, 1.0 - y * values) >= 1.0))

    def _result(
        self, values: np.ndarray, solved: int, violation: float, fraction: float, bound: float
    ) -> LeaveOneOut:
        predicted, y = predictions(self.model, values), self.data.y
        error = np.nan
        is_classifier = isinstance(self.model, SVC)
        if is_classifier:
            error = float(np.mean(predicted != y))
        elif isinstance(self.model, SVR):
            error = float(np.mean((predicted - np.asarray(y, np.float64)) ** 2))
        of_support = float(fraction) if is_classifier else np.nan
        return LeaveOneOut(values, predicted, error, solved, violation, of_support, bound)


def _variables(problem: BoxQP, point: int, n: int) -> Any:
    """The variables of a point: one, or of regression two."""
    return point if problem.row is None else np.array([point, point + n])


def _used(problem: BoxQP, beta: np.ndarray, n: int) -> np.ndarray:
    """Which points have a variable other than zero."""
    return beta != 0 if problem.row is None else (beta[:n] != 0) | (beta[n:] != 0)


def _without_point(problem: BoxQP, point: int, n: int) -> BoxQP:
    """The problem in which the variables of a point are zero."""
    lower, upper, start = problem.lower.copy(), problem.upper.copy(), problem.start.copy()
    which = _variables(problem, point, n)
    lower[which] = upper[which] = 0.0
    if problem.start.any():  # one-class: the sum is ν times that of the bounds
        total = problem.start.sum() * upper.sum() / problem.upper.sum()
        start = fill_from_front(float(total), upper)
    return replace(problem, lower=lower, upper=upper, start=start)
