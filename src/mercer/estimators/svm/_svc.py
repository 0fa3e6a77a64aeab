"""Support vector classification: `SVC` (C) and `NuSVC` (ν)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mercer._multiclass import Task, by_class, pairs
from mercer._result import Result, Status
from mercer.estimators._fields import SVMParameters, estimator
from mercer.estimators._validation import Data
from mercer.estimators.svm._classifier import KernelClassifier
from mercer.gram import BlockedGram
from mercer.problems import BoxQP, nu_svc, svc
from mercer.solvers import ClassPairs, Stopping, solve_class_pairs

__all__ = ["SVC", "NuSVC"]


@estimator
class ClassifierParameters(SVMParameters):
    """What `SVC` and `NuSVC` have."""

    probability: Any = "deprecated"
    class_weight: Any = None
    decision_function_shape: str = "ovr"
    break_ties: bool = False
    random_state: Any = None


@estimator
class SVC(ClassifierParameters, KernelClassifier):
    """C-support vector classification.

    Minimises ½‖w‖² + C Σ sᵢ max(0, 1 − yᵢ f(xᵢ)) for every pair of classes, with
    f(x) = w·φ(x) + b and sample weights s; with ``loss="squared_hinge"`` the maxima are squared. A
    drop-in for ``sklearn.svm.SVC``; the parameters after ``random_state`` are additions.

    Parameters
    ----------
    C : float, default=1.0
        Penalty on the slack variables, positive; larger C is less regularisation. ``inf`` is the
        hard margin: on classes that cannot be separated `NotSeparableError` is raised, with the
        proof.
    kernel : str, callable or Kernel, default="rbf"
        "linear", "poly", "rbf", "sigmoid", "precomputed", "laplacian", "cosine", "chi2"; a function
        of two sets of rows that returns their kernel matrix; or a Kernel object such as
        ``RBF(gamma=0.5) + Linear()``, whose parameters a search reaches as ``kernel__gamma``.
    degree : int, default=3
        Of "poly".
    gamma : {"scale", "auto"} or float, default="scale"
        Of "rbf", "poly", "sigmoid", "laplacian" and "chi2". "scale" is 1 / (n_features · variance
        of X), rows counted by their weight; "auto" is 1 / n_features.
    coef0 : float, default=0.0
        Of "poly" and "sigmoid".
    shrinking : bool, default=True
        Whether rows that stay far from violating their constraint may be left alone for a while:
        faster, and the same answer within tol.
    probability : bool or {"platt", "isotonic", "venn_abers"}, default=False
        Fit probabilities on the decision values of held-out folds (ten of two classes with up to
        1,536 rows, else five): Platt's sigmoid (True or "platt"), isotonic regression, or
        Venn–Abers intervals (`predict_proba_interval`). The most probable class is always that of
        `predict`. True warns as scikit-learn 1.9 does, which has deprecated the parameter; the
        names do not.
    tol : float, default=1e-3
        Largest violation of the KKT conditions by a pair, as LIBSVM's.
    cache_size : float, default=200
        Budget for kernel values in MB.
    class_weight : dict or "balanced", optional
        Factors of C for the classes.
    verbose : bool, default=False
        Print progress and the certificate.
    max_iter : int, default=-1
        Limit on the solver's steps per task ("smo": pair updates); −1 for none.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        Shape of `decision_function` for more than two classes. Training is one-vs-one always.
    break_ties : bool, default=False
        Break ties of votes by the decision values.
    random_state : int, RandomState or None, default=None
        For the folds of ``probability=True``, and for an ``approximation``.
    solver : str or solver object, default="auto"
        "smo", "platt", "qp", "qp-primal", "projected-gradient", "projected-gradient-plain",
        "coordinate-ascent", "pegasos", or an object such as ``CoordinateAscent(order="greedy")``
        (`mercer.solvers`), whose tol and max_iter are those of the estimator. "auto" says in
        ``solver_`` what it chose and why.
    time_limit : float, optional
        Seconds for the whole fit; the model so far is kept.
    n_jobs : int, optional
        Threads. None: as many as BLAS would use; −1: all cores. Does not change the model.
    callback : callable, optional
        Called with a `Progress` about once a round; a true value stops the fit.
    on_interrupt : {"raise", "return"}, default="raise"
        What Ctrl-C does. The fit ends, and the model so far is stored in the estimator. With
        "raise" the KeyboardInterrupt then goes through: `fit` does not return, so that
        ``m = SVC().fit(X, y)`` leaves ``m`` as it was, and only an estimator that has a name
        already (``m.fit(X, y)``) can be used. With "return" there is a warning
        (`InterruptWarning`), and `fit` returns the estimator.
    warm_start : bool, default=False
        Go on from the last fit on the same data.
    fit_intercept : bool, default=True
        Whether f has the constant b.
    gap_tol : float, optional
        Stop at this certified relative gap, ``(primal − dual) / max(|primal|, |dual|)``, instead of
        at the KKT violation ``tol``.
    approximation : {"nystroem", "fourier", "sketch"}, optional
        Fit on ``n_components`` features of the kernel instead of its matrix: Nyström features of
        random landmarks, orthogonal (or quasi-random) Fourier features of RBF and Laplacian
        kernels, or TensorSketch of polynomial ones. For data beyond some 100,000 rows; below that
        the exact solver is the better choice. ``tol`` is then the relative gap of the problem on
        the features, ``cache_size`` the budget for features, and of landmarks
        ``certificate_.distance_to_exact`` bounds the distance from the exact optimum.
    n_components : int, default=500
        Features of an ``approximation``.
    checkpoint : path, optional
        A file in which a long fit keeps its duals every few seconds. A fit with the same data and
        parameters goes on from there, also after the process was killed; with others it is refused.
        Once the tolerance is reached the file is removed.
    loss : {"hinge", "squared_hinge"}, default="hinge"
        "squared_hinge" penalises C ξ² instead of C ξ. Its dual has no upper bound and 1/(2C) added
        to the diagonal of the kernel matrix.

    Attributes
    ----------
    certificate_ : Certificate
        What is proved about the fit: primal, dual, gap, violation, status.
    solver_ : Choice
        The solver that was used, and why.
    kernel_ : Kernel
        The kernel with its parameters as numbers.
    expansion_ : Expansion
        The fitted function.
    classes_ : ndarray of shape (n_classes,)
    class_weight_ : ndarray of shape (n_classes,)
    support_ : ndarray of shape (n_support,)
        Rows that are support vectors, by class.
    support_vectors_ : ndarray or CSR of shape (n_support, n_features)
    n_support_ : ndarray of shape (n_classes,)
    dual_coef_ : ndarray or CSR of shape (n_classes - 1, n_support)
        Coefficients, in the layout of `mercer._multiclass`.
    intercept_ : ndarray of shape (n_classes * (n_classes - 1) / 2,)
    coef_ : ndarray or CSR of shape (n_classes * (n_classes - 1) / 2, n_features)
        For a linear kernel.
    fit_status_ : int
        0 if the tolerance was reached.
    n_iter_ : ndarray of shape (n_classes * (n_classes - 1) / 2,)
        Steps of each task ("smo": pair updates).
    duals_, bound_duals_ : CSR of shape (n_tasks, n_samples)
        Of an ``approximation`` the dual variables of its own problem, and those of the bound
        ``distance_to_exact``. ``support_`` are then the landmarks, and ``dual_coef_`` their
        coefficients, one row for each task.
    residual_ : float
        Of an ``approximation``, trace(K − FFᵀ) / trace(K) of its features F.
    n_features_in_, feature_names_in_, shape_fit_
        As in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import SVC
    >>> X = np.array([[0.0, 1.0], [0.0, -1.0]])
    >>> model = SVC(kernel="linear").fit(X, [1, -1])
    >>> model.dual_coef_
    array([[-0.5,  0.5]])
    >>> model.certificate_.margin
    2.0
    """

    C: float = 1.0
    loss: str = "hinge"

    def _pose(self, task: Task, data: Data) -> BoxQP:
        return svc(
            task.y,
            self.C * self._weights(task, data),
            fit_intercept=self.fit_intercept,
            squared=self.loss == "squared_hinge",
        )

    def _solve_at_once(
        self, problems: Sequence[BoxQP], gram: BlockedGram, stopping: Stopping, rows: np.ndarray
    ) -> dict[int, Result]:
        """All pairs of classes in compiled calls, without a callback or an iteration limit."""
        has_limits = stopping.callback is not None or self.max_iter >= 0 or self.gap_tol is not None
        if has_limits or not self.fit_intercept or problems[0].diag is not None:
            return {}
        order, starts = by_class(self._codes[rows], self.classes_.size)
        given = ClassPairs(problems, gram.take(order), starts, pairs(self.classes_.size))
        results = solve_class_pairs(given, self.tol, stopping)
        return {t: result for t, result in enumerate(results) if result is not None}


@estimator
class NuSVC(ClassifierParameters, KernelClassifier):
    """ν-support vector classification.

    ν bounds the share of margin errors from above and that of support vectors from below; it takes
    the place of C. Both classes of a pair must hold at least half of ν of its weight. A drop-in for
    ``sklearn.svm.NuSVC``.

    Parameters
    ----------
    nu : float in (0, 1], default=0.5
    kernel, degree, gamma, coef0, shrinking, probability, tol, cache_size, verbose, max_iter, \
decision_function_shape, break_ties, random_state, solver, time_limit, n_jobs, callback, \
on_interrupt, warm_start, gap_tol, checkpoint
        As in `SVC`.
    approximation, n_components
        Not for this formulation: ``approximation`` other than None is refused.
    class_weight : dict or "balanced", optional
        Factors of the sample weights.
    fit_intercept : True
        Without intercept ν is another problem: False is refused.

    Attributes
    ----------
    certificate_, solver_, kernel_, expansion_, classes_, class_weight_, support_, \
support_vectors_, n_support_, dual_coef_, intercept_, coef_, fit_status_, n_iter_, n_features_in_, \
feature_names_in_, shape_fit_
        As in `SVC`; coefficients and intercepts are scaled to a margin of f = ±1.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import NuSVC
    >>> X = np.array([[-1.0, -1.0], [-2.0, -1.0], [1.0, 1.0], [2.0, 1.0]])
    >>> NuSVC(kernel="linear").fit(X, [1, 1, 2, 2]).predict([[-0.8, -1.0]])
    array([1])
    """

    _needs_intercept = True
    _one_class_left = (
        "specified nu is infeasible: all samples with positive weights have the same label."
    )
    nu: float = 0.5

    def _pose(self, task: Task, data: Data) -> BoxQP:
        return nu_svc(task.y, self.nu, self._weights(task, data))

    def _pose_fold(self, task: Task, data: Data) -> BoxQP:
        """A fold may have a smaller share of the rarer class: ν is lowered to what it allows."""
        weight = np.broadcast_to(self._weights(task, data), task.y.shape)
        smaller = min(weight[task.y > 0].sum(), weight[task.y <= 0].sum())
        return nu_svc(task.y, min(self.nu, 2 * smaller / weight.sum()), weight)

    def _judge(self, problem: BoxQP, result: Result) -> Result:
        """ρ = 0 up to the violation: w is zero, and its direction is rounding."""
        if result.status.is_solved and not _rho(result) > result.violation:
            return replace(result, status=Status.DEGENERATE)
        return result

    def _coefficients(self, problem: BoxQP, result: Result) -> tuple[np.ndarray, float]:
        """Divide by ρ, half the difference of the multipliers: the margin becomes ±1."""
        rho = _rho(result) if _rho(result) > 0 else 1.0
        with np.errstate(over="ignore"):  # what is not finite is refused
            return result.beta / rho, float(result.b.mean() / rho)


def _rho(result: Result) -> float:
    return float(result.b[1] - result.b[0]) / 2
