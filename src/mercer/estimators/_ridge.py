"""Kernel ridge regression: `KernelRidge`."""

from __future__ import annotations

from dataclasses import field, replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin, _fit_context
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import _num_samples, check_is_fitted

from mercer._result import Status
from mercer._threads import single_threaded_blas, thread_count
from mercer.certificates._residuals import RidgeSolution, certify_ridge
from mercer.estimators._compress import Compressible
from mercer.estimators._convergence import warn_stopped_early
from mercer.estimators._fields import NOT_NEGATIVE, RunParameters, SmoothingParameters, estimator
from mercer.estimators._kernel_base import KernelEstimator
from mercer.estimators._validation import (
    Data,
    as_targets,
    check_rows,
    check_training,
    is_precomputed,
)
from mercer.estimators.low_rank._embedding import make_embedding
from mercer.estimators.low_rank._ridge import solve_ridge
from mercer.gram import BlockedGram
from mercer.gram._cached import MEGABYTE
from mercer.problems import Ridge
from mercer.solvers import Choice, Stopping
from mercer.solvers._dense_algebra import eigen_seconds, rows_in_time
from mercer.solvers._kernel_ridge import Eigensystem, RidgeSettings, RidgeSolver

__all__ = ["KernelRidge"]


@estimator
class KernelRidge(
    MultiOutputMixin,
    RegressorMixin,
    RunParameters,
    SmoothingParameters,
    Compressible,
    KernelEstimator,
):
    """Kernel ridge regression.

    Minimises ½ Σ sᵢ (yᵢ − f(xᵢ))² + ½ α‖w‖² with f(x) = w·φ(x) = Σ cᵢ k(xᵢ, x) and sample weights
    s, by solving (K + α S⁻¹) c = y. A drop-in for ``sklearn.kernel_ridge.KernelRidge``.

    Parameters
    ----------
    alpha : float ≥ 0, array of shape (n_targets,), or "loo", default=1.0
        Strength of the regularisation, one for all targets or one for each. ``"loo"`` takes the one
        of ``alphas`` with the least leave-one-out error, exactly and for all of them at once.
    kernel : str, Kernel or callable, default="linear"
        A callable gets two sets of rows and returns the matrix of their kernel values.
    gamma : float, default=None
        Of the rbf, laplacian, poly, chi2 and sigmoid kernels; None is 1 / n_features.
    degree : int, default=3
        Of the poly kernel.
    coef0 : float, default=1
        Of the poly and sigmoid kernels.
    kernel_params : dict, default=None
        Further arguments of a callable.
    alphas : array of positive numbers, default=None
        Candidates for ``alpha="loo"``; by default 28 from 1e-7 to 100 times the mean of k(x, x).
    solver : {"auto", "cholesky", "cg", "eigen"}, default="auto"
        ``"cholesky"`` factorises the matrix, ``"cg"`` iterates with products alone and never holds
        more than half of it, ``"eigen"`` decomposes it. ``"auto"`` iterates from 2,000 rows on,
        and factorises where that is faster.
    tol : float, default=1e-6
        The fit is solved if ‖(K + αS⁻¹)c − y‖ ≤ tol ‖y‖ is proved, rounding included. Conjugate
        gradients continue to a quarter of that, by default to 1e-12, where they agree with a
        factorisation.
    max_iter : int, default=-1
        Most iterations of conjugate gradients; −1 for no limit.
    cache_size : float, default=1000
        Megabytes of kernel values to keep for conjugate gradients. Others are computed again.
    time_limit : float, default=None
        Seconds for the whole fit; the model so far is kept. Conjugate gradients keep their last
        iterate, a factorisation the solution of as many leading rows as it had come to, and
        ``alpha="loo"`` chooses by a sample of the rows where all of them would take too long. Of
        what Ctrl-C and the limit wait for, an eigendecomposition (``solver="eigen"``,
        ``alpha="loo"``, singular systems) is the longest: some seconds from 3,000 rows on; with a
        time limit it is not begun where it would not end in time.
    approximation : {"nystroem", "fourier", "sketch"}, optional
        Solve the normal equations of ``n_components`` features of the kernel, as in `SVC`; rows are
        embedded in tiles. The residual is then that of the normal equations, and
        ``certificate_.distance_to_exact`` bounds the distance from the exact optimum.
    n_components : int, default=500
    random_state : int, RandomState or None, default=None
        For an ``approximation``.
    n_jobs : int, default=None
        Threads; None as many as BLAS would use. The model does not depend on it.
    callback : callable, default=None
        Called with a `Progress` each iteration; a true return value stops the fit.
    on_interrupt : {"raise", "return"}, default="raise"
        What Ctrl-C does. The fit ends, and the model so far is stored in the estimator. With
        "raise" the KeyboardInterrupt then goes through: `fit` does not return, so that
        ``m = KernelRidge().fit(X, y)`` leaves ``m`` as it was, and only an estimator that has a
        name already (``m.fit(X, y)``) can be used. With "return" there is a warning
        (`InterruptWarning`), and `fit` returns the estimator.
    verbose : bool, default=False

    Attributes
    ----------
    dual_coef_ : ndarray of shape (n_samples,) or (n_samples, n_targets)
        The c. Rows of weight zero are left out.
    X_fit_ : ndarray or CSR
        The rows they belong to; for a precomputed kernel, the kernel matrix.
    certificate_ : RidgeCertificate
        Residual, primal and dual value, gap.
    solver_ : Choice
        The solver that gave the solution, and why it was taken.
    n_iter_ : int
        Iterations of conjugate gradients; 1 for the direct solvers.
    alpha_ : float or ndarray
        The α of the model.
    alphas_, loo_errors_ : ndarray
        With ``alpha="loo"``: the candidates and their mean squared leave-one-out errors, of shape
        (n_alphas,) or (n_alphas, n_targets); after a time limit those of a sample of the rows.
    kernel_, expansion_, n_features_in_, feature_names_in_
        As in `SVC`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidge
    >>> X = np.linspace(0, 6, 60)[:, np.newaxis]
    >>> model = KernelRidge(alpha="loo", kernel="rbf", gamma=1.0).fit(X, np.sin(X[:, 0]))
    >>> bool(abs(model.predict([[1.0]])[0] - np.sin(1.0)) < 1e-3)
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        "alpha": [NOT_NEGATIVE, StrOptions({"loo"}), "array-like"],
        "alphas": [None, "array-like"],
        "solver": [StrOptions({"auto", "cholesky", "cg", "eigen"})],
    }

    alpha: Any = field(default=1, kw_only=False)
    alphas: Any = None
    solver: str = "auto"
    tol: float = 1e-6
    max_iter: int = -1
    cache_size: float = 1000
    approximation: str | None = None
    n_components: int = 500
    random_state: Any = None

    _settings = RidgeSettings()

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> KernelRidge:
        """Fit the model.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_samples)
            Training rows; for a precomputed kernel, the kernel matrix.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
        sample_weight : float or array-like of shape (n_samples,), optional
            Weight 2 is the same as the row twice, weight 0 (or less) as the row left out.
        """
        if isinstance(sample_weight, Real):
            sample_weight = np.full(_num_samples(X), float(sample_weight))
        with Stopping(self.time_limit, self._callback(), self.on_interrupt, self) as stopping:
            data = check_training(self, X, y, sample_weight, several_targets=True)
            Y = as_targets(data.y).reshape(data.n, -1)
            alpha = self._check_alpha(Y.shape[1])
            gram = self._bind(data)
            if self.approximation is not None:
                return self._fit_features(data, Y, alpha, gram, stopping)
            with gram.threads(thread_count(self.n_jobs)):
                if alpha is None:
                    problem, solution = self._leave_one_out(data, Y, gram, stopping)
                else:
                    problem = Ridge(Y, alpha, data.weight)
                    solution = self._solver().solve(problem, gram, stopping)
            gram.release()
            self._keep(data, gram, problem, solution, stopping)
        return self

    def _fit_features(
        self,
        data: Data,
        Y: np.ndarray,
        alpha: np.ndarray | None,
        gram: BlockedGram,
        stopping: Stopping,
    ) -> KernelRidge:
        """Normal equations on features of the kernel."""
        if alpha is None or not (alpha > 0).all() or self.solver != "auto":
            raise ValueError(
                f"approximation={self.approximation!r} solves normal equations: alpha must be "
                f"positive numbers and solver 'auto', got alpha={self.alpha!r} and "
                f"solver={self.solver!r}."
            )
        if is_precomputed(self.kernel):
            raise ValueError(
                f"approximation={self.approximation!r} needs rows, not a precomputed matrix."
            )
        problem = Ridge(Y, alpha, data.weight)
        with gram.threads(thread_count(self.n_jobs)), single_threaded_blas():
            given = str(self.approximation), self.n_components, self.random_state
            embedding = make_embedding(*given, gram, data.X, stopping.is_stopped)
            found = solve_ridge(problem, embedding, self.tol, stopping)
        self.certificate_ = found.certificate
        self.solver_ = Choice("normal equations", f"{embedding.n_features:,} features")
        self.n_iter_ = 1
        self.alpha_ = float(alpha[0]) if (alpha == alpha[0]).all() else alpha
        self._one_target = np.ndim(data.y) == 1
        self.expansion_, self.X_fit_, coef = embedding.function(found.W, np.zeros(Y.shape[1]))
        self.dual_coef_ = coef[:, 0] if self._one_target else coef
        if self.verbose:
            print(f"[KernelRidge] {self.certificate_!r}")
        if not self.certificate_.status.is_solved:
            self._warn()
        return self

    def _solver(self) -> RidgeSolver:
        return RidgeSolver(
            self.solver, self.tol, self.max_iter, int(self.cache_size * MEGABYTE), self._settings
        )

    def _check_alpha(self, n_targets: int) -> np.ndarray | None:
        """One α for each target; None for "loo"."""
        if isinstance(self.alpha, str):
            if self.solver not in ("auto", "eigen"):
                raise ValueError(
                    f"alpha='loo' needs the eigendecomposition that solver={self.solver!r} does "
                    "not make; use solver='auto' or 'eigen'."
                )
            return None
        if self.alphas is not None:
            raise ValueError(
                f"alphas are candidates for alpha='loo', got alpha={self.alpha!r} with them."
            )
        alpha = np.atleast_1d(np.asarray(self.alpha, np.float64))
        if alpha.shape not in ((1,), (n_targets,)) or not (alpha >= 0).all():
            raise ValueError(
                f"alpha must be one number ≥ 0, or one for each of the {n_targets} targets; got "
                f"{self.alpha!r}. To choose among candidates: alpha='loo', alphas=[...]."
            )
        return np.broadcast_to(alpha, n_targets).copy()

    def _leave_one_out(
        self, data: Data, Y: np.ndarray, gram: BlockedGram, stopping: Stopping
    ) -> tuple[Ridge, RidgeSolution]:
        """Errors of all candidates, and the solution for the best."""
        if self.alphas is None:
            size = float(np.mean(gram.diag()))
            alphas = np.logspace(-7, 2, 28) * (size if size > 0 else 1.0)
        else:
            alphas = np.atleast_1d(np.asarray(self.alphas, np.float64))
        if alphas.ndim != 1 or alphas.size == 0 or not (alphas > 0).all():
            raise ValueError(f"alphas must be a list of positive numbers; got {self.alphas!r}.")
        problem = Ridge(Y, np.zeros(Y.shape[1]), data.weight)
        part, stopped = np.arange(data.n), stopping.stopped
        if eigen_seconds(data.n) > stopping.remaining or stopped is not None:
            part, stopped = self._sample(data.n, stopping), stopped or Status.TIME_LIMIT
        with single_threaded_blas():
            whole = gram if stopped is None else gram.take(part)
            spectrum = Eigensystem(whole, problem.scale[part])
            errors = spectrum.leave_one_out(Y[part], alphas)
            best = alphas[int(np.argmin(errors.sum(axis=1)))]
            self.alphas_ = alphas
            self.loo_errors_ = errors[:, 0] if np.ndim(data.y) == 1 else errors
            problem = Ridge(Y, np.full(Y.shape[1], best), data.weight)
            if stopped is None:
                return problem, spectrum.solve(problem, gram)
        solution = self._solver().solve(problem, gram, stopping)
        self._sampled = stopped
        return problem, solution

    def _sample(self, n: int, stopping: Stopping) -> np.ndarray:
        """Rows whose eigendecomposition takes a third of the time that is left."""
        most = rows_in_time(stopping.remaining / 3)
        size = min(n, max(self._settings.min_loo_rows, min(most, n - 1)))
        return np.sort(np.random.default_rng(0).choice(n, size, replace=False))

    def _keep(
        self,
        data: Data,
        gram: BlockedGram,
        problem: Ridge,
        solution: RidgeSolution,
        stopping: Stopping,
    ) -> None:
        is_psd = self.kernel_.is_psd is True or solution.solver == "eigen"
        self.certificate_ = certify_ridge(problem, solution, self.tol, is_psd, stopping.seconds)
        if self.__dict__.pop("_sampled", None) is not None:  # α is that of a sample
            stopped = stopping.stopped or Status.TIME_LIMIT
            self.certificate_ = replace(self.certificate_, status=stopped)
        self.solver_ = Choice(solution.solver, self._reason(solution, data.n))
        self.n_iter_ = max(1, solution.iterations)
        alpha = problem.alpha
        self.alpha_ = float(alpha[0]) if (alpha == alpha[0]).all() else alpha
        self.X_fit_ = data.X
        self._one_target = np.ndim(data.y) == 1
        self.dual_coef_ = solution.coef[:, 0] if self._one_target else solution.coef
        self.expansion_ = self._whole_expansion(data, gram, solution.coef.T)
        if self.verbose:
            print(f"[KernelRidge] {self.certificate_!r}")
        if not self.certificate_.status.is_solved:
            self._warn()

    def _reason(self, solution: RidgeSolution, n: int) -> str:
        limit = self._settings.direct_rows
        if isinstance(self.alpha, str) and solution.solver == "eigen":
            return "alpha='loo' takes the eigendecomposition"
        if solution.solver == self.solver:
            return "asked for"
        if solution.solver == "eigen":
            return "the matrix is not positive definite in float64"
        if n <= limit:
            return f"{n:,} rows are at most the {limit:,} up to which a factorisation is faster"
        if solution.solver == "cg":
            return f"{n:,} rows are more than the {limit:,} up to which a factorisation is faster"
        return "conjugate gradients would have taken longer than a factorisation"

    def _warn(self) -> None:
        certificate = self.certificate_
        remedy = {
            Status.NOT_PSD: "The kernel is not positive semi-definite on these data: use one that "
            "is, or a larger alpha.",
            Status.STALLED: f"tol={self.tol:g} cannot be proved in float64 for these data: scale "
            "the columns, or raise alpha or tol.",
            Status.TIME_LIMIT: f"Raise time_limit={self.time_limit}, or alpha.",
        }.get(certificate.status, f"Raise max_iter={self.max_iter}, or use solver='cholesky'.")
        warn_stopped_early(
            f"KernelRidge, solver {certificate.solver},",
            certificate.status,
            f"{certificate.iterations} iterations",
            f"relative residual {certificate.residual:.3g} (tol={self.tol:g})",
            remedy,
        )

    def predict(self, X: Any) -> np.ndarray:
        """f at each row, with float64 kernel values.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_targets)
        """
        check_is_fitted(self, "expansion_")
        values = self.expansion_.exact(check_rows(self, X), self.n_jobs)
        return values[:, 0] if self._one_target else values
