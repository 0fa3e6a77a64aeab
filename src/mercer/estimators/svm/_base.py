"""The base of the five estimators: ``fit`` as six steps, and predictions from the Expansion.

========  ===================================================================
validate  rows, targets and weights, once
encode    labels into binary tasks (regression and one-class: one task)
bind      the kernel to the rows: a Gram
pose      each task as a box QP
solve     them all
keep      the Expansion, what the certificate is made of, scikit-learn's attributes
========  ===================================================================
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer._multiclass import PosedTasks, Task
from mercer._result import Result, Status
from mercer._threads import single_threaded_blas
from mercer.certificates._box_qp import certify
from mercer.certificates._certificate import Certificate, summarise
from mercer.estimators._compress import Compressible
from mercer.estimators._convergence import (
    is_converged,
    prove_not_separable,
    raise_not_separable,
    warn_not_converged,
)
from mercer.estimators._dual_view import HasDualView
from mercer.estimators._kernel_base import BoundData, HasWeights, KernelEstimator
from mercer.estimators._validation import Data, check_training
from mercer.estimators._warm_start import Duals
from mercer.estimators.low_rank import LOW_RANK_ATTRIBUTES, LowRankFit
from mercer.estimators.svm._centring import InterceptShift
from mercer.estimators.svm._definiteness import judge_definiteness
from mercer.estimators.svm._model_so_far import ModelSoFar
from mercer.estimators.svm._solve import SolvesTasks
from mercer.gram import BlockedGram
from mercer.kernels._base import LARGEST, LARGEST_FLOAT64
from mercer.problems import BoxQP
from mercer.solvers import Stopping
from mercer.solvers.separability._hull import HullProof
from mercer.solvers.smo import SMOSettings

__all__ = ["KernelMachine"]


# Statuses of a hard margin after which a proof that there is none is attempted.
UNPROVED = (Status.NOT_SEPARABLE, Status.STALLED, Status.ITERATION_LIMIT)
# Of an earlier fit, or of a model that was read from LIBSVM's format.
OF_A_MODEL = ("_maps", "_agrees", "_vote_order", "_couples_as_libsvm", "_probA", "_density_marks")


class KernelMachine(
    LowRankFit, SolvesTasks, HasDualView, HasWeights, Compressible, KernelEstimator
):
    """Common to `SVC`, `NuSVC`, `SVR`, `NuSVR` and `OneClassSVM`.

    Subclasses encode labels (`_encode`), pose a task (`_pose`), and may turn a solver's answer into
    coefficients their own way (`_coefficients`).
    """

    # Formulations in which a model without intercept is another problem refuse to leave it out.
    _needs_intercept = False

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> KernelMachine:
        """Fit the model."""
        with self._limits() as stopping, single_threaded_blas():
            data = self._validate(X, y, sample_weight)
            tasks = self._encode(data)
            gram = self._bind(data)
            self._fit_tasks(data, tasks, gram, stopping)
            if gram.borrowed:
                gram.release()
        return self

    def bind(self, X: Any, y: Any, sample_weight: Any = None) -> BoundData:
        """Validate the data and bind the kernel to the rows, for several calls of `fit_bound`.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.

        Returns
        -------
        bound : BoundData
            Kernel rows that one fit computes are reused by the next while the cache holds them.

        Examples
        --------
        >>> import numpy as np
        >>> from mercer import SVC
        >>> X, y = np.array([[0.0, 1.0], [0.0, -1.0], [1.0, 2.0]]), [1, -1, 1]
        >>> bound = SVC(kernel="linear").bind(X, y)
        >>> for C in (0.1, 1.0):
        ...     print(SVC(kernel="linear", C=C).fit_bound(bound).dual_coef_.max().round(6))
        0.1
        0.5
        """
        data = self._validate(X, y, sample_weight)
        return BoundData.of(self, data, self._bind(data))

    def fit_bound(self, bound: BoundData) -> KernelMachine:
        """Fit to data that were bound by an estimator of the same kernel; see `bind`.

        Parameters
        ----------
        bound : BoundData
            Of `bind`. ``kernel`` and ``fit_intercept`` must be those it was bound with; C, ν, ε,
            the loss, tolerances and limits may differ.

        Returns
        -------
        self : object
            The fitted estimator, equal to that of `fit`.
        """
        self._check_parameters()
        with self._limits() as stopping, single_threaded_blas():
            self.kernel_, self._gamma = bound.adopt(self)
            self._fit_tasks(bound.data, self._encode(bound.data), bound.gram, stopping)
        return self

    # ------------------------------------------------------------------ the six steps

    def _fit_tasks(
        self,
        data: Data,
        tasks: Sequence[Task],
        gram: BlockedGram,
        stopping: Stopping,
        starts: Sequence[np.ndarray] | None = None,
    ) -> None:
        """Pose, solve, keep; ``starts`` are β to start from, instead of those of a warm start."""
        posed = PosedTasks(tasks, [self._pose(task, data) for task in tasks], gram, stopping)
        for name in LOW_RANK_ATTRIBUTES:  # an earlier fit's
            self.__dict__.pop(name, None)
        if self.approximation is not None:
            self._fit_low_rank(data, posed)
            return
        if stopping.callback is not None and len(tasks) == 1:
            stopping.callback = ModelSoFar(self, data, posed, stopping.callback)
        self._keep(data, posed, self._solve(data, posed, starts))

    def _validate(self, X: Any, y: Any, sample_weight: Any) -> Data:
        self._check_parameters()
        if self._needs_intercept and not self.fit_intercept:
            raise ValueError(
                f"{type(self).__name__} cannot be combined with fit_intercept=False: without an "
                "intercept its nu constraint is another problem. Use SVC or SVR."
            )
        return check_training(self, X, y, sample_weight)

    def _largest_value(self, n: int) -> float:
        is_float64 = self.solver in ("auto", "smo") and 2 * n <= SMOSettings().dense_variables
        is_float64 = is_float64 and self.approximation is None  # features are float32
        return LARGEST_FLOAT64 if is_float64 else LARGEST

    @property
    def _has_zero_sum(self) -> bool:
        return bool(self.fit_intercept) and self.approximation is None

    def _encode(self, data: Data) -> list[Task]:
        raise NotImplementedError

    def _pose(self, task: Task, data: Data) -> BoxQP:
        raise NotImplementedError

    def _keep(self, data: Data, posed: PosedTasks, results: Sequence[Result]) -> None:
        tasks, problems, gram, stopping = posed.tasks, posed.problems, posed.gram, posed.stopping
        results = self._refuse_not_separable(data, posed, results)
        results = judge_definiteness(posed, results, self.tol)
        results = [self._judge(p, r) for p, r in zip(problems, results, strict=True)]
        fitted = [self._coefficients(p, r) for p, r in zip(problems, results, strict=True)]
        support, dual_coef, self._n_support, blocks = self._layout(
            data, tasks, [coef for coef, _ in fitted]
        )
        shifts = [
            InterceptShift.of(gram, task.rows, *model)
            for task, model in zip(tasks, fitted, strict=True)
        ]
        self.intercept_ = np.array([shift.published for shift in shifts])
        results = [
            shift.widen(problem, result, self.tol if self.gap_tol is None else None)
            for shift, problem, result in zip(shifts, problems, results, strict=True)
        ]
        results = [self._at_gap_tol(p, r) for p, r in zip(problems, results, strict=True)]
        if not (np.isfinite(dual_coef).all() and np.isfinite(self.intercept_).all()):
            raise ValueError(
                "The dual coefficients or intercepts are not finite. The input data may contain "
                "large values and need to be preprocessed."
            )
        for name in OF_A_MODEL:
            self.__dict__.pop(name, None)
        b = self.intercept_ if sp.issparse(data.X) else np.array([shift.b for shift in shifts])
        self._keep_expansion(data, gram, support, dual_coef, b, blocks)
        self.support_ = data.original(support).astype(np.int32)
        self.dual_coef_ = sp.csr_matrix(dual_coef) if sp.issparse(data.X) else dual_coef
        self.shape_fit_ = data.shape
        self.n_iter_ = self._iterations(results)
        self._proof: Any = list(zip(problems, results, tasks, strict=True))
        n_variables = sum(problem.n_variables for problem in problems)
        if n_variables > self._fit_settings.certified_from and not stopping.interrupted:
            self._certify()
        self._support_rows = support
        self._duals = Duals.of(results)
        self.fit_status_ = int(not all(is_converged(r, self.tol) for r in results))
        if self.verbose:
            print(f"[{type(self).__name__}] {self.certificate_!r}")
        if self.fit_status_ and not stopping.interrupted:
            warn_not_converged(self, data, results)

    # ------------------------------------------------------------------ parts of them

    def _task_name(self, task: Task) -> str:
        return ""

    def _judge(self, problem: BoxQP, result: Result) -> Result:
        """The result with a status that only the formulation knows of."""
        return result

    def _at_gap_tol(self, problem: BoxQP, result: Result) -> Result:
        """Not solved if the gap of the model as stored, and of its kernel, is above ``gap_tol``."""
        if self.gap_tol is None or not result.status.is_solved:
            return result
        if certify(problem, result).relative_gap <= self.gap_tol:
            return result
        return replace(result, status=Status.STALLED)

    def _coefficients(self, problem: BoxQP, result: Result) -> tuple[np.ndarray, float]:
        """The coefficient of each point of a task, and the intercept."""
        coef = result.beta
        if problem.row is not None:
            coef = problem.at_points(coef, result.f.shape[0])
        return coef, sum(result.b.tolist()) / max(result.b.size, 1)

    def _layout(
        self, data: Data, tasks: Sequence[Task], coefs: Sequence[np.ndarray]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, Any]:
        """Support rows, their coefficients (one row per task here), their number, and blocks."""
        support = np.flatnonzero(coefs[0])
        n_support = np.array([support.size], dtype=np.int32)
        return support, coefs[0][support][np.newaxis], n_support, None

    def _iterations(self, results: Sequence[Result]) -> Any:
        return int(results[0].iterations)

    def _keep_expansion(
        self,
        data: Data,
        gram: BlockedGram,
        support: np.ndarray,
        dual_coef: np.ndarray,
        b: np.ndarray,
        blocks: Any,
    ) -> None:
        self.expansion_ = self._expansion(data, gram, support, dual_coef, b, blocks)

    def _refuse_not_separable(
        self, data: Data, posed: PosedTasks, results: Sequence[Result]
    ) -> list[Result]:
        """Raise if a hard margin is proved impossible; without a proof, float64 was the limit."""
        kept = []
        for t, result in enumerate(results):
            if result.status in UNPROVED and posed.problems[t].is_hard:
                proof = prove_not_separable(posed, t, result)
                if proof is not None:
                    self._raise_not_separable(data, posed.tasks[t], proof)
                if result.status is Status.NOT_SEPARABLE:
                    result = replace(result, status=Status.STALLED)
            kept.append(result)
        return kept

    def _raise_not_separable(self, data: Data, task: Task, proof: HullProof) -> None:
        raise_not_separable(data, task, proof, self._class_names(task))

    def _class_names(self, task: Task) -> tuple[str, str]:
        return "+1", "-1"

    # ------------------------------------------------------------------ the fitted function

    @property
    def certificate_(self) -> Certificate:
        """What is proved about the fit: primal, dual, gap, violation, status."""
        if not hasattr(self, "_proof"):
            raise AttributeError("certificate_ is set by fit")
        return self._certify()

    def _certify(self) -> Certificate:
        """Replace problems and results by the certificate made of them."""
        proof = self._proof
        if not isinstance(proof, Certificate):
            proof = self._proof = summarise(
                [certify(problem, result, self._task_name(task)) for problem, result, task in proof]
            )
        return proof

    @property
    def n_support_(self) -> np.ndarray:
        """Number of support vectors, of each class for a classifier."""
        if not hasattr(self, "_n_support"):
            raise AttributeError("n_support_ is set by fit")
        return self._n_support

    def __getstate__(self) -> dict:
        if hasattr(self, "_proof"):
            self._certify()
        return super().__getstate__()
