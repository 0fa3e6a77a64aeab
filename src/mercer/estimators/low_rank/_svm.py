"""Kernel SVMs on features: `SVC`, `SVR` and `OneClassSVM` with ``approximation``.

The steps of a fit after *pose*: embed the rows, solve the linear problem of each task on the
features, certify it, bound its distance from the exact optimum, and keep the function. That of
landmarks is an Expansion, f = Σ aₗ k(zₗ, ·) + b with a = factor w.

Features are float32 in memory where ``cache_size`` allows it; otherwise they are computed again in
every pass (`TiledFeatures`). The certificate is in float64 with bounds in both cases.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer._multiclass import PosedTasks
from mercer._result import LinearResult, Result, Status
from mercer._threads import thread_count
from mercer.certificates._certificate import Certificate, summarise
from mercer.certificates._low_rank import (
    FeatureModel,
    certify_features,
    exact_dual,
    exact_primal,
)
from mercer.estimators._convergence import warn_stopped_early
from mercer.estimators._validation import Data
from mercer.estimators.low_rank._design import TiledFeatures
from mercer.estimators.low_rank._embedding import Embedding, FeatureSums, make_embedding
from mercer.features._function import FeatureFunction
from mercer.gram import BlockedGram
from mercer.gram._cached import MEGABYTE
from mercer.kernels import Linear
from mercer.kernels._samples import Samples
from mercer.problems import BoxQP
from mercer.problems._losses import EPSILON_INSENSITIVE, SQUARED, UNBOUNDED
from mercer.problems._regularized_loss import NO_PENALTY, LinearPrimal
from mercer.solvers import Choice, Stopping, make_solver
from mercer.solvers.linear import choose_linear
from mercer.solvers.linear._coordinate_descent import CoordinateDescent, duals_with_diagonal
from mercer.solvers.linear._design_matrix import DenseMatrix
from mercer.solvers.linear._newton import Newton
from mercer.solvers.linear._selection import CoordinateDescentThenNewton

__all__ = ["LOW_RANK_ATTRIBUTES", "LowRankFit"]

# Fitted attributes of low-rank models alone.
LOW_RANK_ATTRIBUTES = ("duals_", "bound_duals_", "residual_")
NO_RKHS = "none: these features are no functions of the kernel's feature space"
NOT_PSD = "none: the kernel is not known to be positive semidefinite"
OUT_OF_TIME = "none: the fit was stopped before it was computed"


@dataclass(frozen=True)
class LowRankSettings:
    """Tuning constants of low-rank fits.

    Attributes
    ----------
    solver_tol : float
        Solvers stop at this multiple of the tolerance: rounding of the features is not theirs.
    visits : float
        Epochs, at the most, of the duals that the distance is computed from.
    grace_seconds : float
        For the certificate of a fit that was stopped.
    """

    solver_tol: float = 0.8
    visits: float = 10.0
    grace_seconds: float = 0.3


SETTINGS = LowRankSettings()


@dataclass(frozen=True, eq=False)
class Answer:
    """A task on the features, solved: w, the result in the variables of its box QP, other duals.

    Attributes
    ----------
    w : float64 array of shape (r,)
    result : Result
        Without f.
    beta : float64 array
        Duals of the problem with diag(K − FFᵀ), for the distance; one for each variable.
    """

    w: np.ndarray
    result: Result
    beta: np.ndarray


class LowRankFit:
    """The part of a kernel machine that fits it on features."""

    approximation: str | None
    n_components: int
    cache_size: float
    gap_tol: float | None
    tol: float
    max_iter: int
    n_jobs: int | None
    expansion_: Any
    _duals: Any

    def _refuse_low_rank(self: Any, problems: Sequence[BoxQP]) -> None:
        """Raise where a parameter would have no effect, or has another meaning."""
        name = f"approximation={self.approximation!r}"
        if any(problem.n_groups > 1 for problem in problems):
            raise ValueError(
                f"{name} is for SVC, SVR and OneClassSVM; the constraint on nu of "
                f"{type(self).__name__} is another problem. Use SVC or SVR with C."
            )
        if any(problem.is_hard for problem in problems):
            raise ValueError(
                f"{name} needs a finite C: classes may be separable by the exact kernel only."
            )
        if not (isinstance(self.solver, str) and self.solver == "auto"):
            raise ValueError(f"{name} has its own solvers: leave solver='auto'.")
        if self.warm_start:
            raise ValueError(f"{name} cannot be combined with warm_start=True.")
        if self.checkpoint is not None:
            raise ValueError(f"{name} cannot be combined with checkpoint: leave it None.")
        if getattr(self, "_is_calibrated", False):
            raise ValueError(
                f"{name} cannot be combined with probability={self.probability!r}: use "
                "CalibratedClassifierCV."
            )
        if type(self.kernel_).__name__ == "Precomputed" and self.approximation != "nystroem":
            raise ValueError(f"{name} needs rows, not a precomputed matrix; use 'nystroem'.")

    def _fit_low_rank(self: Any, data: Data, posed: PosedTasks) -> None:
        """Embed, solve, certify, keep."""
        gram, stopping = posed.gram, posed.stopping
        self._refuse_low_rank(posed.problems)
        began = time.perf_counter()
        with gram.threads(thread_count(self.n_jobs)):
            given = self.approximation, self.n_components, self.random_state
            embedding = make_embedding(*given, gram, data.X, stopping.is_stopped)
            answers, squares = self._solve_features(embedding, posed)
            W = np.column_stack([answer.w for answer in answers])
            betas = _over_all(posed, [answer.result.beta for answer in answers])
            sums = embedding.sums(W, betas, stopping.grace(SETTINGS.grace_seconds))
            seconds = time.perf_counter() - began
            certificates = [
                self._certify_task(posed, t, answer, embedding, sums, squares)
                for t, answer in enumerate(answers)
            ]
        certificates = [replace(each, seconds=seconds) for each in certificates]
        self._keep_low_rank(data, posed, embedding, answers, betas, W)
        self._proof = summarise(certificates)
        self.fit_status_ = int(not self._proof.status.is_solved)
        self.residual_ = _mean_residual(squares, gram.diag())
        if self.verbose:
            print(f"[{type(self).__name__}] {self._proof!r}")
        if self.fit_status_ and not stopping.interrupted:
            self._warn_low_rank()

    # ------------------------------------------------------------------ solve

    def _solve_features(
        self: Any, embedding: Embedding, posed: PosedTasks
    ) -> tuple[list[Answer], np.ndarray]:
        """The answers to all tasks, and ‖φ(x)‖² of every row."""
        budget, stopping = int(self.cache_size * MEGABYTE), posed.stopping
        is_linear = all(problem.start.any() == 0 for problem in posed.problems)
        fits = 4 * embedding.n * embedding.n_features <= budget
        if fits or not is_linear:
            F, squares = embedding.matrix(stopping.is_stopped)
            design: Any = DenseMatrix(F, embedding.gram.workers)
        else:
            squares = embedding.squares(stopping.is_stopped)
            design = TiledFeatures(embedding, None, budget, stopping)
        residual = np.maximum(embedding.gram.diag() - squares, 0.0)
        answers = []
        for t, (task, problem) in enumerate(zip(posed.tasks, posed.problems, strict=True)):
            part = design if task.rows is None else design.take(task.rows)
            mine = stopping.of_task(t, len(posed.tasks))
            if is_linear:
                wants_distance = embedding.landmarks is not None and fits
                diagonal = task.of_rows(residual) if wants_distance else None
                answers.append(self._solve_linear(problem, part, diagonal, mine))
            else:
                answers.append(self._solve_smo(problem, part, mine))
        return answers, squares

    def _solve_linear(
        self: Any, problem: BoxQP, design: Any, residual: np.ndarray | None, stopping: Stopping
    ) -> Answer:
        """Hinge and ε-insensitive losses, plain and squared, on a design matrix."""
        primal = _as_linear(problem)
        tol = SETTINGS.solver_tol * (self.tol if self.gap_tol is None else self.gap_tol)
        if isinstance(design, TiledFeatures):
            solver: Any = Newton(tol, self.max_iter)
            self.solver_ = Choice("newton", "Newton's method on features embedded in every pass")
        elif primal.kind == EPSILON_INSENSITIVE:
            solver = CoordinateDescentThenNewton(tol, self.max_iter, single=True)
            reason = "dual coordinate descent on dense features, then proximal Newton"
            self.solver_ = Choice("coordinate-descent-then-newton", reason)
        else:
            solver, self.solver_ = choose_linear(design, primal, "auto", tol, self.max_iter, 0)
        found: LinearResult = solver.solve(primal, design, stopping, None)
        beta = found.beta
        if residual is not None and residual.any():
            descent = CoordinateDescent(tol, max_visits=SETTINGS.visits, single=True)
            beta = duals_with_diagonal(primal, design, found, residual, descent, stopping)
        result = Result(
            _at_variables(problem, found.beta),
            np.empty(0),
            0.0,
            np.empty(0) if problem.group is None else np.array([float(found.b)]),
            np.inf,
            found.status,
            found.iterations,
            found.rounds,
            found.seconds,
        )
        return Answer(found.w, result, _at_variables(problem, beta))

    def _solve_smo(self: Any, problem: BoxQP, design: DenseMatrix, stopping: Stopping) -> Answer:
        """One class: the linear kernel of the features by SMO, to a KKT violation of ``tol``."""
        features = design.X.astype(np.float64)
        gram = BlockedGram(Linear(), Samples(features), design.workers)
        budget = int(self.cache_size * MEGABYTE)
        solver = make_solver("smo", self.tol, self.max_iter, budget, True, self.gap_tol)
        result = solver.solve(problem, gram, stopping, None)
        self.solver_ = Choice("smo", "the linear kernel of the features")
        gram.release()
        return Answer(features.T @ result.beta, result, result.beta)

    # ------------------------------------------------------------------ certify

    def _certify_task(
        self: Any,
        posed: PosedTasks,
        t: int,
        answer: Answer,
        embedding: Embedding,
        sums: FeatureSums,
        squares: np.ndarray,
    ) -> Certificate:
        task, problem, part = posed.tasks[t], posed.problems[t], posed.gram_of(t)
        f, error = (task.of_rows(values[:, t]) for values in (sums.f, sums.f_error))
        diag = task.of_rows(squares) if embedding.landmarks is None else part.diag()
        result = replace(answer.result, f=f, f_error=error, diag=diag * (1 + 1e-6))
        model = FeatureModel(result, answer.w, sums.v[:, t], sums.v_error[:, t])
        tol = self.tol if self.gap_tol is None else self.gap_tol
        found = certify_features(problem, model, tol, self._task_name(task))
        if embedding.landmarks is None:
            return replace(found, distance_note=NO_RKHS)
        if part.is_psd is not True:
            return replace(found, distance_note=NOT_PSD)
        a = embedding.coefficients(answer.w[:, np.newaxis])[0][:, 0]
        P = exact_primal(problem, result, embedding.norm(a))
        D = exact_dual(problem, answer.beta, part, posed.stopping.is_stopped)
        if D is None:
            return replace(found, distance_note=OUT_OF_TIME, exact_primal=P)
        return replace(found, distance_to_exact=max(0.0, P - D), exact_primal=P)

    # ------------------------------------------------------------------ keep

    def _keep_low_rank(
        self: Any,
        data: Data,
        posed: PosedTasks,
        embedding: Embedding,
        answers: Sequence[Answer],
        betas: np.ndarray,
        W: np.ndarray,
    ) -> None:
        """The fitted function, and scikit-learn's attributes."""
        b = np.array([float(np.sum(answer.result.b)) for answer in answers])
        self.intercept_ = b
        landmarks = embedding.landmarks
        if landmarks is None:
            empty = data.X[:0]
            self.expansion_ = FeatureFunction(self.kernel_, embedding.map, Samples(empty), W.T, b)
            self.support_ = np.empty(0, np.int32)
            self.dual_coef_: Any = np.empty((len(answers), 0))
            self.__dict__.pop("support_vectors_", None)
            support = self.support_
        else:
            A, _ = embedding.coefficients(W)
            support = landmarks
            self._keep_expansion(data, posed.gram, support, A.T, b, None)
            self.support_ = data.original(support).astype(np.int32)
            self.dual_coef_ = sp.csr_matrix(A.T) if sp.issparse(data.X) else A.T
        self._n_support = self._count_support(support)
        self._support_rows, self._duals = support, None
        self.shape_fit_ = data.shape
        self.n_iter_ = self._iterations([answer.result for answer in answers])
        self.duals_ = _sparse_rows(betas.T, data)
        others = _over_all(posed, [answer.beta for answer in answers])
        self.bound_duals_ = _sparse_rows(others.T, data)
        for name in ("_probA", "_probB", "_maps", "_agrees", "_codes"):
            self.__dict__.pop(name, None)
        if hasattr(self, "classes_"):
            self._probA = self._probB = np.empty(0)

    def _count_support(self: Any, support: np.ndarray) -> np.ndarray:
        if not hasattr(self, "_codes"):
            return np.array([support.size], dtype=np.int32)
        codes = self._codes[support]
        return np.bincount(codes, minlength=self.classes_.size).astype(np.int32)

    def _warn_low_rank(self: Any) -> None:
        proof = self._proof
        warn_stopped_early(
            self.solver_.name,
            proof.status,
            f"{proof.iterations:,} epochs, {proof.seconds:.3g} s",
            f"relative gap {proof.relative_gap:.3g} (tol={self.tol:g})",
            "Raise max_iter or time_limit, or scale the columns."
            if proof.status is not Status.STALLED
            else "A larger tol, or fewer components.",
        )


def _mean_residual(squares: np.ndarray, diagonal: np.ndarray) -> float:
    """The mean of diag(K − FFᵀ) over that of diag(K)."""
    known = np.where(np.isfinite(squares), squares, 0.0)
    left, whole = float(np.maximum(diagonal - known, 0.0).sum()), float(diagonal.sum())
    return left / whole if whole > 0 else 0.0


def _over_all(posed: PosedTasks, betas: Sequence[np.ndarray]) -> np.ndarray:
    """The duals of all rows, a column for each task."""
    out = np.zeros((posed.gram.n, len(betas)))
    for t, (task, problem, beta) in enumerate(zip(posed.tasks, posed.problems, betas, strict=True)):
        rows = slice(None) if task.rows is None else task.rows
        out[rows, t] = problem.at_points(beta, out[rows, t].size)
    return out


def _sparse_rows(values: np.ndarray, data: Data) -> sp.csr_matrix:
    """Duals of the rows that were used as CSR over all rows."""
    rows = sp.csr_matrix(values)
    columns = data.original(np.arange(values.shape[1]))
    return sp.csr_matrix(
        (rows.data, columns[rows.indices], rows.indptr), shape=(values.shape[0], data.shape[0])
    )


def _as_linear(problem: BoxQP) -> LinearPrimal:
    """A box QP with at most one equality constraint Σβ = 0 as the losses of a linear model."""
    penalty = None if problem.group is None else 0.0
    if problem.row is None:
        C = np.maximum(problem.upper, -problem.lower)
        low = np.where(problem.upper > 0, problem.target, -UNBOUNDED)
        high = np.where(problem.lower < 0, problem.target, UNBOUNDED)
    else:
        n = problem.n_variables // 2
        C, low, high = problem.upper[:n], problem.target[:n], problem.target[n:]
    kind = EPSILON_INSENSITIVE
    if problem.diag is not None:
        kind, C = SQUARED, 0.5 / problem.diag
    return LinearPrimal(kind, low, high, np.maximum(C, NO_PENALTY), penalty)


def _at_variables(problem: BoxQP, beta: np.ndarray) -> np.ndarray:
    """Duals of the points as those of the variables, within their bounds."""
    if problem.row is not None:
        beta = np.concatenate([np.maximum(beta, 0.0), np.minimum(beta, 0.0)])
    return np.clip(beta, problem.lower, problem.upper)
