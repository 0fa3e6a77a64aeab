"""The empirical kernel map: K = Σ λ e eᵀ makes √λ e features of the training rows, exactly."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import scipy.linalg as la
from scipy.sparse.linalg import LinearOperator, eigsh
from sklearn.utils._param_validation import StrOptions

from mercer._precision import EPS
from mercer._result import Status
from mercer._threads import single_threaded_blas, thread_count
from mercer.embeddings._base import KernelFeatures
from mercer.estimators._fields import COUNT, estimator
from mercer.estimators._validation import Data
from mercer.gram import BlockedGram
from mercer.gram._low_rank import nystrom_factor, random_landmarks
from mercer.gram._psd import FEWEST_UNITS, rounding_unit
from mercer.solvers import Stopping
from mercer.solvers._dense_algebra import eigen_seconds, kernel_matrix

__all__ = ["EmpiricalKernelMap"]


@dataclass(frozen=True)
class MapSettings:
    """Tuning constants.

    Attributes
    ----------
    lanczos_fraction, lanczos_rows : float, int
        Lanczos pays if fewer than this fraction of the eigenvectors is wanted, of a matrix with
        more than ``lanczos_rows`` rows.
    sample_entries, min_sample, max_sample : int
        Where there is no time for all rows, features come from a random sample whose kernel values
        against all rows are at most ``sample_entries``, within these limits.
    max_bytes : int
        With a time limit, larger kernel matrices are not begun.
    """

    lanczos_fraction: float = 0.1
    lanczos_rows: int = 500
    sample_entries: int = 2_000_000
    min_sample: int = 16
    max_sample: int = 256
    max_bytes: int = 4 << 30

    def sample(self, n: int) -> int:
        """Rows of the sample."""
        return min(n, self.max_sample, max(self.sample_entries // n, self.min_sample))


class _Stopped(Exception):
    """Ends SciPy's iteration."""


@estimator
class EmpiricalKernelMap(KernelFeatures):
    """Features whose dot products are the kernel on the training rows.

    With K = Σ_r λ_r e_r e_rᵀ, row i has the features √λ_r e_ri, and a new row
    φ_r(x) = Σᵢ e_ri k(xᵢ, x) / √λ_r: the same at training rows. A linear model on all of them is
    the kernel model, at new rows too: φ(x)·φ(xᵢ) = k(x, xᵢ).

    Parameters
    ----------
    n_components : int, optional
        Eigenvalues to keep, the largest ones; by default all above n·eps·λ₁. `error_` is the
        error.
    kernel, gamma, degree, coef0, n_jobs
        As in `mercer.SVC`.
    time_limit : float, optional
        Seconds for the whole fit. If all eigenvectors would take longer, the features come from
        some of the rows (as those of `Nystroem`), and `trace_residual_` is the error.
    on_interrupt : {"raise", "return"}, default="raise"
        What Ctrl-C does, as in `mercer.SVC`. It has to wait for the end of a dense decomposition:
        some seconds from 3,000 rows on.
    indefinite : {"raise", "clip"}, default="raise"
        What to do if K has negative eigenvalues: refuse, or leave them out, which is the nearest
        positive semidefinite matrix, extended to new rows.

    Attributes
    ----------
    eigenvalues_ : ndarray of shape (n_components,)
    error_ : float
        ‖K − ΦΦᵀ‖ (spectral norm): the largest eigenvalue left out, in size; after an early stop the
        bound ``trace_residual_``.
    status_ : Status
    trace_residual_ : float
        trace(K − ΦΦᵀ).
    kernel_, expansion_, n_components_, n_features_in_, feature_names_in_

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.embeddings import EmpiricalKernelMap
    >>> from mercer.kernels import RBF
    >>> X = np.array([[0.0], [1.0], [3.0]])
    >>> phi = EmpiricalKernelMap(kernel=RBF(0.5)).fit_transform(X)
    >>> bool(np.allclose(phi @ phi.T, RBF(0.5)(X)))
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        "n_components": [None, COUNT],
        "indefinite": [StrOptions({"raise", "clip"})],
    }

    n_components: int | None = field(default=None, kw_only=False)
    indefinite: str = "raise"

    _settings = MapSettings()

    def _fit(self, X: Any, wants_features: bool) -> np.ndarray:
        with Stopping(self.time_limit, None, self.on_interrupt, self) as stopping:
            data = self._validate(X)
            gram = self._bind(data)
            with single_threaded_blas(), gram.threads(thread_count(self.n_jobs)):
                begin = stopping.time_limit is None or 8 * data.n**2 <= self._settings.max_bytes
                K = kernel_matrix(gram, stopping.is_stopped) if begin else None
                found = None if K is None else self._largest(K, stopping)
                if found is None:
                    vectors = self._from_some_rows(data, gram, stopping)
                else:
                    assert K is not None
                    vectors = self._from_all_rows(data, gram, K, found)
            self._warn_if_stopped(stopping)
        return vectors * np.sqrt(self.eigenvalues_)

    def _from_all_rows(
        self, data: Data, gram: BlockedGram, K: np.ndarray, found: tuple
    ) -> np.ndarray:
        values, vectors, rest = found
        units = max(data.n, FEWEST_UNITS) * rounding_unit(self.kernel_, gram.points)
        rounding = units * max(np.abs(values).max(), abs(rest))
        least = min(values.min(), rest)
        if least < -rounding and self.indefinite == "raise":
            raise ValueError(
                f"The kernel matrix has the negative eigenvalue {least:.3g}: {self.kernel_!r} is "
                "no kernel on these rows (see mercer.check_kernel). Use another one, or "
                "indefinite='clip' to leave such directions out."
            )
        kept = values > rounding
        if not kept.any():
            raise ValueError("The kernel matrix is zero on these rows: there are no features.")
        dropped = np.append(values[~kept], rest)
        self.eigenvalues_ = values[kept]
        self.error_ = float(np.abs(dropped).max())
        self.trace_residual_ = float(np.trace(K) - self.eigenvalues_.sum())
        vectors = vectors[:, kept]
        self.status_ = Status.SOLVED
        self._keep(data, gram, np.arange(data.n), vectors / np.sqrt(self.eigenvalues_))
        return vectors

    def _largest(
        self, K: np.ndarray, stopping: Stopping
    ) -> tuple[np.ndarray, np.ndarray, float] | None:
        """The largest eigenvalues in falling order, their vectors, and the next one in size.

        None if there is no time for them.
        """
        n, count, settings = K.shape[0], self.n_components, self._settings
        is_large = n > settings.lanczos_rows
        if count is not None and is_large and count < settings.lanczos_fraction * n:

            def multiply(v: np.ndarray) -> np.ndarray:
                if stopping.stopped is not None:
                    raise _Stopped
                return K @ v

            start = np.ones(n)  # not random, for equal results
            try:
                operator = LinearOperator(K.shape, matvec=multiply, dtype=np.float64)
                values, vectors = eigsh(operator, k=count + 1, which="LM", v0=start)
            except _Stopped:
                return None
        elif eigen_seconds(n) > stopping.remaining or stopping.stopped is not None:
            return None
        else:
            values, vectors = la.eigh(K)
        order = np.argsort(-values, kind="stable")
        values, vectors = values[order], vectors[:, order]
        kept = n if count is None else min(count, n)
        rest = values[kept:]
        # signs are arbitrary: the largest entry of a vector is made positive
        vectors = vectors[:, :kept]
        signs = np.sign(vectors[np.abs(vectors).argmax(axis=0), np.arange(kept)])
        next_ = float(rest[np.abs(rest).argmax()]) if rest.size else 0.0
        return values[:kept], vectors * signs, next_

    def _from_some_rows(self, data: Data, gram: BlockedGram, stopping: Stopping) -> np.ndarray:
        """Eigenvectors of the Nyström approximation from a random sample of the rows."""
        n = data.n
        factor = nystrom_factor(gram, random_landmarks(n, self._settings.sample(n)))
        assert factor is not None
        chosen, coef, features = factor.rows, factor.coef, factor.F
        if coef.shape[1] == 0:
            raise ValueError("The kernel matrix is zero on these rows: there are no features.")
        values, rotation = la.eigh(features.T @ features)
        most = values.size if self.n_components is None else self.n_components
        values, rotation = values[::-1][:most], rotation[:, ::-1][:, :most]
        kept = values > n * EPS * max(values[0], 0.0)
        self.eigenvalues_, rotation = values[kept], rotation[:, kept]
        self.trace_residual_ = max(float(gram.diag().sum() - self.eigenvalues_.sum()), 0.0)
        self.error_ = self.trace_residual_
        self.status_ = stopping.stopped or Status.TIME_LIMIT
        self._keep(data, gram, chosen, coef @ rotation)
        return features @ rotation / np.sqrt(self.eigenvalues_)

    def eigenfunctions(self, X: Any) -> np.ndarray:
        """Mercer's eigenfunctions ψ_r at the rows, estimated from the training rows.

        ψ_r(x) = √n/λ_r Σᵢ e_ri k(xᵢ, x) is orthonormal under the empirical measure,
        (1/n) Σᵢ ψ_r(xᵢ) ψ_s(xᵢ) = δ_rs, with eigenvalue λ_r/n of the integral operator, and
        k(x, z) = Σ_r (λ_r/n) ψ_r(x) ψ_r(z). Rounding grows with λ₁/λ_r.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        psi : ndarray of shape (n_samples, n_components)
        """
        return self.transform(X) * np.sqrt(self.expansion_.n_support / self.eigenvalues_)
