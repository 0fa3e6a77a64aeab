"""``LinearSVC(C=inf)``: the hard margin, solved as ``SVC(kernel="linear", C=inf)``.

    minimise over w, b   ½‖w‖²   subject to   yᵢ (w·xᵢ + b) ≥ 1

Hinge and squared hinge coincide. Classes that no hyperplane separates are refused with the proof.
The certificate is that of the stored w and b (`bound_hard_margin_gap`).
"""

from __future__ import annotations

import time
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer._result import LinearResult
from mercer.estimators._validation import Data, check_training
from mercer.estimators.linear._base import LinearTask, bind
from mercer.estimators.linear._multiclass import CrammerSingerClassifier
from mercer.exceptions import ConvergenceWarning, NotSeparableError
from mercer.problems._regularized_loss import LinearPrimal
from mercer.solvers import Choice, Stopping
from mercer.solvers._stopping import restoring
from mercer.solvers.linear import LocalMatrix, StoredModel, bound_hard_margin_gap

__all__ = ["HardMarginClassifier"]

# The relative gap asked of the dual solver, as a fraction of ``tol``: the rest is for rounding.
_TOL_FRACTION = 0.5


class HardMarginClassifier(CrammerSingerClassifier):
    """A linear classifier whose C may be infinite."""

    def _fit_hard_margin(self, X: Any, y: Any, sample_weight: Any) -> Any:
        with restoring(self):
            data = check_training(self, X, y, sample_weight)
            tasks = self._encode(data)
            stopping = Stopping(self.time_limit)  # the callback and Ctrl-C are SVC's
            with bind(data.X, self.n_jobs) as design, np.errstate(all="ignore"):
                problems = [self._pose(task, data) for task in tasks]
                solved = [
                    _solve(self, data, design, task, problem, stopping)
                    for task, problem in zip(tasks, problems, strict=True)
                ]
                self.solver_ = solved[0][1]
                models = [model for model, _ in solved]
                self._keep(data, design, tasks, problems, models, stopping)
        return self

    def _check_parameters(self) -> None:
        """Refuse parameters that mean nothing, or another problem, where C is infinite."""
        if np.isfinite(self.C):
            super()._check_parameters()
            return
        allowed: dict[str, tuple] = {
            "penalty": ("l2",),
            "multi_class": ("ovr",),
            "intercept_scaling": (None, 1),  # the default, though no intercept is penalised
            "class_weight": (None,),
            "dual": ("auto",),
        }
        for name, values in allowed.items():
            given = getattr(self, name)
            if given not in values:
                raise ValueError(
                    f"C=inf (hard margin) cannot be combined with {name}={given!r}; "
                    f"it must be {values[0]!r}."
                )

    def _intercept_penalty(self) -> float | None:
        if np.isinf(self.C) and self.fit_intercept:
            return 0.0
        return super()._intercept_penalty()


def _solve(
    estimator: Any,
    data: Data,
    design: LocalMatrix,
    task: LinearTask,
    problem: LinearPrimal,
    stopping: Stopping,
) -> tuple[StoredModel, Choice]:
    """The stored model of one task; `NotSeparableError` if there is none."""
    from mercer.estimators.svm._svc import SVC

    began = time.perf_counter()
    model = SVC(
        kernel="linear",
        C=np.inf,
        gap_tol=_TOL_FRACTION * estimator.tol,
        fit_intercept=estimator.fit_intercept,
        time_limit=None if stopping.time_limit is None else stopping.remaining,
        n_jobs=estimator.n_jobs,
        callback=estimator.callback,
        on_interrupt=estimator.on_interrupt,
    )
    names = np.array(["rest", task.name] if task.name else [str(c) for c in estimator.classes_])
    order = np.argsort(names, kind="stable")  # labels are sorted by the estimator
    sign = 1.0 if order[0] == 0 else -1.0
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(data.X, names[(task.y > 0).astype(int)])
    except NotSeparableError as error:
        weights = np.zeros(data.shape[0])
        weights[data.original(np.arange(data.n))] = error.weights
        raise NotSeparableError(str(error), weights) from None
    certificate = model.certificate_
    beta = np.zeros(data.n)
    beta[model.support_] = sign * _dense(model.dual_coef_)[0]
    w = sign * _dense(model.coef_)[0].astype(np.float64)
    b = sign * float(model.intercept_[0])
    dtype = design.X.dtype
    stored_w, stored_b = w.astype(dtype).astype(np.float64), float(dtype.type(b))
    bounded = bound_hard_margin_gap(problem, design, stored_w, stored_b, beta, estimator.tol)
    effort: dict[str, Any] = {
        "status": certificate.status,
        "iterations": certificate.iterations,
        "rounds": certificate.rounds,
        "seconds": time.perf_counter() - began,
    }
    solution = LinearResult(w, b, beta, bounded.g, bounded.w_beta, bounded.primal, bounded.gap)
    stored = StoredModel(replace(solution, **effort), replace(bounded, **effort))
    return stored, model.solver_


def _dense(array: Any) -> np.ndarray:
    return array.toarray() if sp.issparse(array) else array
