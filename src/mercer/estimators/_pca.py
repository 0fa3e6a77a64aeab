"""Kernel principal component analysis: `KernelPCA`."""

from __future__ import annotations

from dataclasses import field, replace
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin, _fit_context
from sklearn.utils import check_array, check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.extmath import svd_flip
from sklearn.utils.validation import _check_psd_eigenvalues, check_is_fitted

from mercer._expansion import Expansion
from mercer._result import Status
from mercer._threads import Workers, thread_count
from mercer.certificates._residuals import EigenCertificate
from mercer.estimators._convergence import warn_stopped_early
from mercer.estimators._fields import (
    COUNT,
    NOT_NEGATIVE,
    RunParameters,
    SmoothingParameters,
    estimator,
)
from mercer.estimators._kernel_base import KernelEstimator
from mercer.estimators._pre_image import fixed_point_pre_images
from mercer.estimators._validation import (
    Data,
    check_rows,
    check_training,
    is_precomputed,
    number_of_samples,
)
from mercer.exceptions import NotFittedError
from mercer.gram import BlockedGram
from mercer.gram._cached import MEGABYTE
from mercer.kernels import RBF, Linear
from mercer.kernels._binding import make_samples
from mercer.kernels._symmetry import require_symmetric, symmetric_part
from mercer.problems import Ridge
from mercer.solvers import Choice, Stopping
from mercer.solvers._eigen import EigenSettings, EigenSolution, EigenSolver, has_equal_rows
from mercer.solvers._kernel_ridge import RidgeSolver

__all__ = ["KernelPCA"]


@estimator
class KernelPCA(
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    RunParameters,
    SmoothingParameters,
    KernelEstimator,
):
    """Kernel principal component analysis.

    The directions v of the feature space with the largest variance of v·φ(x): with the centred
    kernel matrix H K H = V Λ Vᵀ, row i has the components √λₖ Vᵢₖ. A drop-in for
    ``sklearn.decomposition.KernelPCA``.

    Parameters
    ----------
    n_components : int, default=None
        None takes all with a variance above zero.
    kernel, gamma, degree, coef0, kernel_params
        As in `KernelRidge`.
    alpha : float, default=1.0
        Of the ridge regression that learns `inverse_transform`.
    fit_inverse_transform : bool, default=False
        Learn to map components back to rows. Without it there is `pre_image` for the RBF kernel.
    eigen_solver : {"auto", "dense", "krylov", "arpack", "randomized"}, default="auto"
        ``"dense"`` decomposes the whole matrix. The other names mean the same block Krylov method,
        which needs products alone and at most half of the matrix; ``"auto"`` takes it above 300
        rows if at most a tenth of all components are wanted. ``"randomized"`` stops after
        ``iterated_power`` products, if that is a number, and refuses a matrix with a negative
        eigenvalue of larger modulus than a component's.
    tol : float, default=0
        The fit is solved if all residuals ‖Kv − λv‖, rounding included, are proved to be at most
        tol times the largest eigenvalue. 0 is 1e-8, and iterations continue to 1e-12.
    max_iter : int, default=None
        Most products with blocks of vectors.
    iterated_power : int or "auto", default="auto"
        The same for ``eigen_solver="randomized"``.
    remove_zero_eig : bool, default=False
        Leave out components of no variance.
    random_state : int, RandomState or None, default=None
        Of the vectors the iteration starts from: it changes the last digits only. None is 0.
    copy_X : bool, default=True
        For scikit-learn's interface; X is never changed.
    n_jobs : int, default=None
        Threads; None as many as BLAS would use. The model does not depend on it.
    cache_size : float, default=1000
        Megabytes of kernel values to keep for the iteration. Others are computed again.
    time_limit, callback, on_interrupt, verbose
        As in `KernelRidge`. A limited or interrupted fit may have fewer components: a decomposition
        of the whole matrix is not begun if it would not end in time, and the components come from
        products with K, or, where there is no time for one, from some landmarks. Ctrl-C has to wait
        for the end of a dense decomposition: some seconds from 3,000 rows on.

    Attributes
    ----------
    eigenvalues_ : ndarray of shape (n_components,)
        Of the centred kernel matrix, largest first.
    eigenvectors_ : ndarray of shape (n_samples, n_components)
        Unit vectors; the entry of largest size is positive.
    explained_variance_ : ndarray of shape (n_components,)
        ``eigenvalues_ / (n_samples - 1)``: the variance of each component.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        Its fraction of the variance of φ(x), whose trace is known even if few components are.
    certificate_ : EigenCertificate
        The residual of each eigenpair.
    solver_ : Choice
        The method of solution (``name``), and the reason.
    gamma_ : float
    X_fit_ : ndarray or CSR
    dual_coef_, X_transformed_fit_ : ndarray
        With ``fit_inverse_transform``: the inverse transform's coefficients and rows.
    kernel_, expansion_, n_features_in_, feature_names_in_
        As in `SVC`; the expansion is the transform.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelPCA
    >>> angle = np.linspace(0, 2 * np.pi, 40, endpoint=False)
    >>> rings = np.vstack([r * np.c_[np.cos(angle), np.sin(angle)] for r in (1, 3)])
    >>> first = KernelPCA(1, kernel="poly", degree=2, coef0=0).fit_transform(rings)
    >>> first.shape
    (80, 1)
    """

    _parameter_constraints: ClassVar[dict] = {
        "n_components": [None, COUNT],
        "alpha": [NOT_NEGATIVE],
        "eigen_solver": [StrOptions({"auto", "dense", "krylov", "arpack", "randomized"})],
        "tol": [NOT_NEGATIVE],
        "max_iter": [None, COUNT],
        "iterated_power": [StrOptions({"auto"}), Interval(Integral, 0, None, closed="left")],
    }

    n_components: int | None = field(default=None, kw_only=False)
    alpha: float = 1.0
    fit_inverse_transform: bool = False
    eigen_solver: str = "auto"
    tol: float = 0
    max_iter: int | None = None
    iterated_power: Any = "auto"
    remove_zero_eig: bool = False
    random_state: Any = None
    copy_X: bool = True
    cache_size: float = 1000

    _settings = EigenSettings()

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> KernelPCA:
        """Compute the components."""
        if self.fit_inverse_transform and (is_precomputed(self.kernel) or sp.issparse(X)):
            raise ValueError(
                "Cannot fit_inverse_transform with a precomputed kernel or sparse rows: the "
                "inverse transform gives dense rows."
            )
        with Stopping(self.time_limit, self._callback(), self.on_interrupt, self) as stopping:
            data = check_training(self, X, np.zeros(number_of_samples(X)), None)
            excess: Any = 0.0  # of column means, for new rows
            if is_precomputed(self.kernel) and (half := symmetric_part(data.X)) is not data.X:
                require_symmetric(data.X, centred=True)
                excess = data.X.mean(axis=0) - half.mean(axis=0)
                data = replace(data, X=half)  # the same, centred
            gram = self._bind(data)
            k = data.n if self.n_components is None else min(self.n_components, data.n)
            seed = check_random_state(0 if self.random_state is None else self.random_state)
            with gram.threads(thread_count(self.n_jobs)):
                solution = self._solver().solve(gram, k, seed, stopping)
                gram.release()
                if has_equal_rows(data.X):  # H K H is zero but for rounding
                    zero, solved = np.zeros_like(solution.values), Status.SOLVED
                    solution = replace(solution, values=zero, residuals=zero, status=solved)
                self._keep(data, gram, solution, stopping, excess)
                if self.fit_inverse_transform:
                    self._learn_inverse(data.X, gram.workers, stopping)
        return self

    def _bind(self, data: Data) -> BlockedGram:
        gram = super()._bind(data)
        if type(self.kernel_) is Linear and not sp.issparse(data.X):
            # Centred rows have the same centred matrix, and lose fewer digits.
            gram = gram.recentred(gram.points.X.mean(axis=0, dtype=np.float64))
        return gram

    def _solver(self) -> EigenSolver:
        limit = self.max_iter
        if self.eigen_solver == "randomized" and self.iterated_power != "auto":
            limit = int(self.iterated_power) + 1  # the first product is no power yet
        way = self.eigen_solver if self.eigen_solver in ("auto", "dense") else "krylov"
        return EigenSolver(way, self.tol, limit, int(self.cache_size * MEGABYTE), self._settings)

    def _keep(
        self,
        data: Data,
        gram: BlockedGram,
        solution: EigenSolution,
        stopping: Stopping,
        excess: Any,
    ) -> None:
        # A negative value within its own error bound says nothing about the kernel.
        is_rounding = (solution.values < 0) & (-solution.values <= solution.residuals)
        values = np.where(is_rounding, 0.0, solution.values)
        if self.eigen_solver == "randomized" and -solution.lowest > values.min(initial=np.inf):
            # scikit-learn's method takes the eigenvalues of largest modulus, and refuses these.
            _check_psd_eigenvalues([*values, solution.lowest], enable_warnings=False)
        values = _check_psd_eigenvalues(values, enable_warnings=False)
        vectors, _ = svd_flip(u=solution.vectors, v=None)
        # Eigenvalues that are rounding are stored as zero: the residual is that of what is stored.
        residuals = solution.residuals + np.abs(values - solution.values)
        if self.remove_zero_eig or self.n_components is None:
            positive = values > 0
            values, vectors, residuals = values[positive], vectors[:, positive], residuals[positive]
        self.eigenvalues_, self.eigenvectors_ = values, vectors
        trace = solution.centring.trace
        self.explained_variance_ = values / max(data.n - 1, 1)
        self.explained_variance_ratio_ = values / trace if trace > 0 else np.zeros_like(values)
        self.certificate_ = EigenCertificate.of(
            values,
            residuals,
            status=solution.status,
            solver=solution.solver,
            iterations=solution.iterations,
            seconds=stopping.seconds,
        )
        self.solver_ = Choice(solution.solver, self._reason(solution, data.n))
        self.gamma_ = 1 / data.X.shape[1] if self.gamma is None and data.X.ndim == 2 else self.gamma
        self.X_fit_ = data.X
        # Columns of exact sum zero do the centring of new rows, but for a constant.
        coef = np.divide(vectors, np.sqrt(values), out=np.zeros_like(vectors), where=values > 0)
        coef -= coef.mean(axis=0)
        b = -((solution.centring.row_means + excess) @ coef)
        self.expansion_ = self._whole_expansion(data, gram, np.ascontiguousarray(coef.T), b)
        if self.verbose:
            print(f"[KernelPCA] {self.certificate_!r}")
        if not solution.status.is_solved:
            self._warn()

    def _reason(self, solution: EigenSolution, n: int) -> str:
        if self.eigen_solver != "auto" and solution.solver == self._solver().solver:
            return f"asked for (eigen_solver={self.eigen_solver!r})"
        return f"{solution.values.size:,} components of {n:,} rows"

    def _warn(self) -> None:
        certificate = self.certificate_
        asked = self.eigen_solver == "randomized" and self.iterated_power != "auto"
        if asked and certificate.status is Status.ITERATION_LIMIT:
            return
        warn_stopped_early(
            "KernelPCA",
            certificate.status,
            f"{certificate.iterations} products",
            f"largest residual {certificate.relative_residual:.3g} of the largest eigenvalue "
            f"(tol={self.tol:g})",
            f"Raise max_iter={self.max_iter}, time_limit={self.time_limit} or tol, or ask for a "
            "few components more or less: close eigenvalues converge slowly.",
        )

    def _learn_inverse(self, X: np.ndarray, workers: Workers, stopping: Stopping) -> None:
        """Kernel ridge regression of the rows on their components."""
        T = self._components()
        gram = BlockedGram(self.kernel_, make_samples(T, self.kernel_), workers)
        problem = Ridge(np.asarray(X, np.float64), np.full(X.shape[1], float(self.alpha)))
        solver = RidgeSolver(cache_bytes=int(self.cache_size * MEGABYTE))
        self.dual_coef_ = solver.solve(problem, gram, stopping).coef
        gram.release()
        self.X_transformed_fit_ = T
        self._inverse = Expansion(
            self.kernel_, gram.points, self.dual_coef_.T.copy(), np.zeros(X.shape[1])
        )

    def _components(self) -> np.ndarray:
        return self.eigenvectors_ * np.sqrt(self.eigenvalues_)

    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        """Fit, and give the components of the training rows."""
        return self.fit(X)._components()

    def transform(self, X: Any) -> np.ndarray:
        """Components of rows, with float64 kernel values."""
        check_is_fitted(self, "expansion_")
        return self.expansion_.exact(check_rows(self, X), self.n_jobs)

    def inverse_transform(self, X: Any) -> np.ndarray:
        """Rows that have about these components, by the ridge regression learned in ``fit``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)

        Returns
        -------
        rows : ndarray of shape (n_samples, n_features)
        """
        check_is_fitted(self, "expansion_")
        if not self.fit_inverse_transform:
            raise NotFittedError(
                "The fit_inverse_transform parameter was not set to True when instantiating and "
                "hence the inverse transform is not available. For the RBF kernel there is "
                "pre_image."
            )
        return self._inverse.exact(self._check_components(X), self.n_jobs)

    def pre_image(self, X: Any, *, max_iter: int = 300, tol: float = 1e-9) -> np.ndarray:
        """Rows whose feature vectors come closest to these components, for the RBF kernel.

        The fixed point iteration of Mika et al., "Kernel PCA and de-noising in feature spaces",
        NIPS 1998, eq. 10, started at the training row nearest in components.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
        max_iter : int, default=300
        tol : float, default=1e-9
            Change of a row, relative to the spread of the training rows, at which to stop.

        Returns
        -------
        rows : ndarray of shape (n_samples, n_features)
        """
        check_is_fitted(self, "expansion_")
        if not isinstance(self.kernel_, RBF) or sp.issparse(self.X_fit_):
            raise ValueError(
                f"pre_image is for the RBF kernel on dense rows, got {self.kernel_!r}; use "
                "fit_inverse_transform=True and inverse_transform."
            )
        T = self._check_components(X)
        rows, train = np.asarray(self.X_fit_, np.float64), self._components()
        start = np.argmin(np.square(train).sum(axis=1) - 2 * T @ train.T, axis=1)
        g = T @ self.expansion_.coef + 1 / len(rows)
        return fixed_point_pre_images(self.expansion_, rows, g, rows[start], max_iter, tol)

    def _check_components(self, X: Any) -> np.ndarray:
        T = check_array(X, dtype=np.float64)
        if T.shape[1] != self.eigenvalues_.size:
            raise ValueError(
                f"X must have one column for each of the {self.eigenvalues_.size} components, got "
                f"{T.shape[1]}."
            )
        return T

    @property
    def _n_features_out(self) -> int:
        return self.eigenvalues_.size

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse &= not self.fit_inverse_transform
        tags.transformer_tags.preserves_dtype = ["float64"]
        return tags
