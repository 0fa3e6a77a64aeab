"""`PegasosClassifier`: stochastic sub-gradient descent that proves how far it got."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassifierMixin, _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer._threads import Workers, single_threaded_blas, thread_count
from mercer.certificate import Certificate, summarise
from mercer.certify_others import certify_bound
from mercer.estimators._data import (
    Data,
    check_rows,
    check_training,
    class_codes,
    class_weights,
    make_points,
)
from mercer.estimators._kernelised import KernelEstimator
from mercer.estimators._params import CONSTRAINTS, resolve_kernel
from mercer.estimators._stream import StreamMixin
from mercer.exceptions import ConvergenceWarning, warn_user
from mercer.gram import Gram
from mercer.kernels import Linear
from mercer.kernels.points import Points
from mercer.solvers import Control
from mercer.solvers.descent import Bound, DenseRows, Descent, KernelRows, Rows, SparseRows, descend

__all__ = ["PegasosClassifier"]

# Kernel matrices beyond this are refused.
MOST_BYTES = 4 << 30


_AS_IN_SVC = (
    "degree", "gamma", "coef0", "fit_intercept", "tol", "class_weight", "random_state", "n_jobs",
    "time_limit",
)  # fmt: skip


class PegasosClassifier(ClassifierMixin, StreamMixin, KernelEstimator):
    """Support vector classification by Pegasos: a random example, a step of 1/(λt).

    Minimises (λ/2)(‖w‖² + b²) + mean of max(0, 1 − yᵢ f(xᵢ)), each class against the rest, with
    f(x) = w·φ(x) + b and λ = 1/(nC): the objective of `SVC` without intercept, on rows with a
    constant column if ``fit_intercept``. For very many rows, of which a few passes are enough, and
    for streams (`partial_fit`); `SVC` is exact.

    Parameters
    ----------
    C : float, default=1.0
        Price of the errors; λ = 1/(C · sum of the weights).
    lam : float, optional
        λ itself, in place of C.
    kernel : None, str, callable or Kernel, default=None
        None and "linear" keep w itself. Any other kernel keeps a coefficient for each row, and the
        whole kernel matrix during the fit.
    degree, gamma, coef0
        Of the kernel, as in `SVC`.
    fit_intercept : bool, default=True
        Whether f has a constant b. It is the weight of a column of ones (k + 1 for kernels) and
        costs b² like any other: without that the objective would not be strongly convex, and
        neither 1/(λt) steps nor the bound would hold.
    max_iter : int, default=1000
        Most passes over the rows.
    tol : float, default=1e-2
        Relative gap at which to stop: the objective is then proved to be within this share of the
        optimum. It is looked at after 2, 4, 8, … passes.
    batch_size : int, default=1
        Examples of a step.
    average : bool, default=True
        Whether the model is the average of all steps' w, step t with weight t, or the last one.
    project : bool, default=False
        Whether w is projected onto the ball of radius 1/√λ, in which the optimum lies.
    replacement : bool, default=False
        Whether examples are drawn with replacement, as in the theory; otherwise each pass takes all
        of them in a new random order.
    class_weight : dict or "balanced", optional
        Factors of the sample weights.
    random_state : int, RandomState or None, default=None
    n_jobs : int, optional
        Threads, over the classes. Does not change the model.
    time_limit : float, optional
        Seconds for the whole fit; the model so far is kept.

    Attributes
    ----------
    certificate_ : Certificate
        ``primal`` is ½(‖w‖² + b²) + Σ Cᵢξᵢ (the objective over λ, as in `SVC`), ``dual`` a lower
        bound on it for every model; violation and counts are those of the dual point.
    classes_ : ndarray of shape (n_classes,)
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        w; linear only.
    intercept_ : ndarray of shape (1,) or (n_classes,)
    expansion_ : Expansion
        The fitted function; other kernels only.
    kernel_ : Kernel
    lam_ : float
    n_iter_ : int
        Passes over the rows, the most of any class.
    t_ : int
        Steps of each class.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import PegasosClassifier
    >>> X = np.array([[1.0, 2.0], [2.0, 1.0], [-1.0, -2.0], [-2.0, -1.0]])
    >>> model = PegasosClassifier(random_state=0).fit(X, [1, 1, 0, 0])
    >>> model.predict([[3.0, 3.0]])
    array([1])
    >>> model.certificate_.relative_gap < 0.01
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        **{name: CONSTRAINTS[name] for name in _AS_IN_SVC},
        "C": [Interval(Real, 0.0, None, closed="neither")],
        "lam": [None, Interval(Real, 0.0, None, closed="neither")],
        "kernel": [None, *CONSTRAINTS["kernel"]],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "average": ["boolean"],
        "project": ["boolean"],
        "replacement": ["boolean"],
    }

    def __init__(
        self,
        *,
        C: float = 1.0,
        lam: float | None = None,
        kernel: Any = None,
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        fit_intercept: bool = True,
        max_iter: int = 1000,
        tol: float = 1e-2,
        batch_size: int = 1,
        average: bool = True,
        project: bool = False,
        replacement: bool = False,
        class_weight: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        time_limit: float | None = None,
    ):
        self.C = C
        self.lam = lam
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.batch_size = batch_size
        self.average = average
        self.project = project
        self.replacement = replacement
        self.class_weight = class_weight
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.time_limit = time_limit

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> PegasosClassifier:
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
        with Control(self.time_limit) as control:
            data = check_training(self, X, y, sample_weight)
            self.classes_, codes = class_codes(data)
            weight = self._weights(codes, data.weight)
            self.lam_ = self._resolve_lam(float(weight.sum()))
            rows, gram = self._rows(data)
            bound = weight / (self.lam_ * weight.sum())
            answers = self._solve(rows, codes, weight / weight.mean(), bound, control)
            self._keep(data, gram, answers, control)
        return self

    def _weights(self, codes: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
        of_class = class_weights(self.class_weight, self.classes_, codes, weight)
        return of_class[codes] if weight is None else weight * of_class[codes]

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

    def _rows(self, data: Data) -> tuple[Rows, Gram | None]:
        if self._is_linear:
            self.kernel_ = Linear()
            self.kernel_.check(Points(data.X))
            return self._linear_rows(data.X), None
        self.kernel_, _ = resolve_kernel(self, data.X, data.weight)
        points = make_points(data.X, self.kernel_)
        self.kernel_.check(points)
        if 8 * points.n**2 > MOST_BYTES:
            raise ValueError(
                f"Kernelised PegasosClassifier holds the whole kernel matrix, "
                f"{8 * points.n**2 / 1e9:.3g} GB for {points.n:,} rows (at most "
                f"{MOST_BYTES / 1e9:.3g}). Use SVC, or kernel=None on mapped rows."
            )
        with single_threaded_blas(), Workers(thread_count(self.n_jobs)) as workers:
            gram = Gram(self.kernel_, points, workers)
            K = gram.matrix()
        if self.fit_intercept:
            K += 1.0
        return KernelRows(K), gram

    def _linear_rows(self, X: Any) -> DenseRows:
        kind = SparseRows if sp.issparse(X) else DenseRows
        if X.dtype.kind != "f":
            X = X.astype(np.float64)
        return kind(X, self.fit_intercept, self.batch_size)

    def _signs(self, codes: np.ndarray) -> list[np.ndarray]:
        """Labels ±1 of each task: the second class of two, each one of more."""
        k = self.classes_.size
        return [np.where(codes == c, 1.0, -1.0) for c in ([1] if k == 2 else range(k))]

    def _solve(
        self,
        rows: Rows,
        codes: np.ndarray,
        weight: np.ndarray,
        bounds: np.ndarray,
        control: Control,
    ) -> list[tuple[Descent, Certificate]]:
        signs = self._signs(codes)
        seeds = check_random_state(self.random_state).randint(0, 2**31 - 1, size=len(signs))

        def one(task: int) -> tuple[Descent, Certificate]:
            state = Descent(self.lam_, rows.size, self.batch_size, self.project)
            bound = Bound(rows, signs[task], bounds)
            status, primal, epochs = descend(
                rows, state, bound, weight, np.random.default_rng(seeds[task]),
                average=self.average, replacement=self.replacement, epochs=self.max_iter,
                tol=self.tol, stopped=lambda: control.stopped,
            )  # fmt: skip
            name = "" if len(signs) == 1 else f"{self.classes_[task]} / the rest"
            proof = certify_bound(
                bound, state.coef(self.average), primal, status=status, iterations=state.t,
                rounds=epochs, seconds=control.seconds, name=name,
            )  # fmt: skip
            return state, proof

        with single_threaded_blas(), Workers(thread_count(self.n_jobs)) as workers:
            return workers.map(one, range(len(signs)))

    def _keep(
        self,
        data: Data,
        gram: Gram | None,
        answers: list[tuple[Descent, Certificate]],
        control: Control,
    ) -> None:
        for name in ("coef_", "expansion_", "_rng"):  # of a fit with another kernel, of a stream
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
        if not status.is_solved and not control.interrupted:
            warn_user(
                f"Pegasos stopped early ({status}) after {self.n_iter_} passes over the rows: the "
                f"relative gap is {self.certificate_.relative_gap:.3g} (tol={self.tol:g}). Raise "
                f"max_iter={self.max_iter} or tol, scale the columns, or use SVC.",
                ConvergenceWarning,
            )

    def _keep_linear(self) -> None:
        W = np.array([state.coef(self.average) for state in self._states])
        self.coef_, self.intercept_ = W[:, :-1].copy(), W[:, -1].copy()

    def _keep_expansion(self, data: Data, gram: Gram) -> None:
        coef = np.array([state.coef(self.average) for state in self._states])
        support = np.flatnonzero(coef.any(axis=0))
        self.intercept_ = coef.sum(axis=1) * float(self.fit_intercept)
        self.expansion_ = self._expansion(data, gram, support, coef[:, support], self.intercept_)
        del self._states  # a stream goes on from w only

    def decision_function(self, X: Any) -> np.ndarray:
        """Decision values.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        values : ndarray of shape (n_samples,) or (n_samples, n_classes)
            With two classes positive for ``classes_[1]``; else one value for each class.
        """
        check_is_fitted(self, "classes_")
        if hasattr(self, "coef_"):
            X = validate_data(self, X, accept_sparse="csr", reset=False)
            values = np.asarray(X @ self.coef_.T) + self.intercept_
        else:
            values = self.expansion_(check_rows(self, X), self.n_jobs)
        return values[:, 0] if self.classes_.size == 2 else values

    def predict(self, X: Any) -> np.ndarray:
        """The class of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        values = self.decision_function(X)
        best = (values > 0).astype(np.intp) if values.ndim == 1 else values.argmax(axis=1)
        return self.classes_[best]
