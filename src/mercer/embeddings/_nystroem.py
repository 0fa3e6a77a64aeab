"""Nyström: K ≈ K_nm K_mm⁻¹ K_mn from m landmarks, as features K_nm K_mm^(−1/2)."""

from __future__ import annotations

from copy import copy
from dataclasses import field
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from mercer._precision import EPS
from mercer._result import Status
from mercer._threads import single_threaded_blas, thread_count
from mercer.embeddings._base import KernelFeatures
from mercer.estimators._fields import COUNT, estimator
from mercer.estimators._parameters import CONSTRAINTS
from mercer.estimators._validation import Data
from mercer.features import LANDMARK_RULES, NystromMap, choose_landmarks
from mercer.features._landmarks import TRACE_RULES
from mercer.gram import BlockedGram
from mercer.gram._low_rank import landmark_basis
from mercer.solvers import Stopping
from mercer.solvers._dense_algebra import rows_in_time

__all__ = ["Nystroem"]


@estimator
class Nystroem(KernelFeatures):
    """Features of a kernel from some of the training rows, the landmarks.

    φ(x) = Λ^(−1/2) Vᵀ (k(l₁, x), …, k(l_m, x)) with the landmarks' matrix K_mm = V Λ Vᵀ. Products
    are k exactly at the landmarks, and the best that functions of these can do elsewhere.

    A drop-in for ``sklearn.kernel_approximation.Nystroem``, with better landmarks by default
    (``landmarks="random"`` is scikit-learn's rule).

    Parameters
    ----------
    kernel : str, callable or Kernel, default="rbf"
        As in `mercer.KernelRidge`. "additive_chi2" has k(x, x) = 0 and no features: use "chi2".
    gamma : float, "scale" or "auto", default=None
        None is 1 for "chi2" and 1 / n_features otherwise.
    coef0, degree : default=None
        None is 1 and 3.
    kernel_params : dict, default=None
        Further arguments of a callable.
    n_components : int, default=100
        Landmarks; fewer are taken where K − ΦΦᵀ is zero.
    n_jobs : int, optional
        As in `mercer.SVC`.
    landmarks : {"rpcholesky", "greedy", "kmeans++", "leverage", "random"}, default="rpcholesky"
        How they are chosen. "rpcholesky" draws rows by their residual diag(K − ΦΦᵀ): near the best
        possible error at the cost of some matrix products; "greedy" takes the largest residual;
        "kmeans++" draws by the distance from the nearest landmark; "leverage" by ridge leverage
        scores that a uniform sample estimates; "random" is scikit-learn's rule.
    trace_tol : float in [0, 1), default=0
        "rpcholesky" and "greedy" take no more landmarks once trace(K − ΦΦᵀ) ≤ trace_tol trace(K).
    random_state : int, RandomState or None, default=None
    time_limit : float, optional
        Seconds for the whole fit; those landmarks are kept that were chosen by then.
    on_interrupt : {"raise", "return"}, default="raise"
        What Ctrl-C does, as in `mercer.SVC`.

    Attributes
    ----------
    landmarks_, component_indices_ : ndarray
        Their row numbers.
    components_ : ndarray or CSR of shape (n_landmarks, n_features)
        Their rows.
    normalization_ : ndarray of shape (n_components, n_landmarks)
        Features are kernel values against the landmarks times its transpose.
    trace_residual_ : float
        trace(K − ΦΦᵀ) ≥ every unitarily invariant norm of K − ΦΦᵀ: the error bound; after an early
        stop the (larger) trace of K without the landmarks.
    map_ : NystromMap
        Landmarks and factor as a frozen object with ``transform(rows)``.
    status_ : Status
    support_vectors_ : ndarray or CSR of shape (n_landmarks, n_features)
        The landmarks.
    kernel_, expansion_, n_components_, n_features_in_, feature_names_in_

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.embeddings import Nystroem
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> Nystroem(n_components=20, random_state=0).fit_transform(X).shape
    (300, 20)
    """

    _parameter_constraints: ClassVar[dict] = {
        "gamma": [None, *CONSTRAINTS["gamma"]],
        "coef0": [None, *CONSTRAINTS["coef0"]],
        "degree": [None, *CONSTRAINTS["degree"]],
        "kernel_params": [None, dict],
        "n_components": [COUNT],
        "landmarks": [StrOptions(set(LANDMARK_RULES))],
        "trace_tol": [Interval(Real, 0.0, 1.0, closed="left")],
    }

    kernel: Any = field(default="rbf", kw_only=False)
    gamma: Any = None
    coef0: Any = None
    degree: Any = None
    kernel_params: dict | None = None
    n_components: int = 100
    landmarks: str = "rpcholesky"
    trace_tol: float = 0.0
    random_state: Any = None

    # Landmarks kept at any time limit (their matrix takes milliseconds), and rows whose features
    # are evaluated at a time.
    _min_landmarks, _rows_per_block = 256, 4096

    def _fit(self, X: Any, wants_features: bool) -> np.ndarray | None:
        with Stopping(self.time_limit, None, self.on_interrupt, self) as stopping:
            rows, total, own = self._choose(X, stopping)
            features, explained = None, 0.0
            if wants_features:
                features = self.expansion_.exact(rows, self.n_jobs)
                explained = float(np.square(features).sum())
            for i in range(0, 0 if wants_features else rows.shape[0], self._rows_per_block):
                if stopping.stopped is not None:
                    break
                part = self.expansion_.exact(rows[i : i + self._rows_per_block], self.n_jobs)
                explained += float(np.square(part).sum())
            if stopping.stopped is not None:
                self.status_, explained = stopping.stopped, own
            self.trace_residual_ = max(0.0, total - explained)
            self._warn_if_stopped(stopping)
        return features

    def _bind(self, data: Data) -> BlockedGram:
        """With scikit-learn's defaults of the parameters of a kernel that is given by its name."""
        named = copy(self)
        if isinstance(self.kernel, str):
            given = {"coef0": 1.0, "degree": 3, **({"gamma": 1.0} if self.kernel == "chi2" else {})}
            for name, value in given.items():
                setattr(named, name, value if getattr(self, name) is None else getattr(self, name))
        gram = KernelFeatures._bind(named, data)
        self.kernel_, self._gamma = named.kernel_, named._gamma
        return gram

    @property
    def component_indices_(self) -> np.ndarray:
        """Row numbers of the landmarks."""
        return self.landmarks_

    @property
    def components_(self) -> Any:
        """Rows of the landmarks."""
        return self.support_vectors_

    @property
    def normalization_(self) -> np.ndarray:
        """Coefficients of the features, one row for each."""
        return self.expansion_.coef

    @property
    def map_(self) -> NystromMap:
        """The landmarks and their factor as a frozen map: what a worker elsewhere needs."""
        fitted = self.expansion_
        return NystromMap(fitted.kernel, fitted.support, fitted.coef.T)

    def _choose(self, X: Any, stopping: Stopping) -> tuple[Any, float, float]:
        """Choose the landmarks; returns the rows, and the traces of K and of the landmarks' K."""
        if self.trace_tol and self.landmarks not in TRACE_RULES:
            raise ValueError(
                f"trace_tol={self.trace_tol} is for landmarks={' or '.join(map(repr, TRACE_RULES))}"
                f", which know the trace that is left; got landmarks={self.landmarks!r}."
            )
        data = self._validate(X)
        gram = self._bind(data)
        rng = check_random_state(self.random_state)
        m = min(self.n_components, data.n)
        with single_threaded_blas(), gram.threads(thread_count(self.n_jobs)):
            self.landmarks_ = choose_landmarks(
                gram, m, self.landmarks, rng, stopping.is_stopped, self.trace_tol
            )
            left = 0.0 if stopping.stopped is not None else stopping.remaining / 2
            self.landmarks_ = self.landmarks_[: max(self._min_landmarks, rows_in_time(left))]
            if not self.landmarks_.size:
                raise ValueError(
                    f"{gram.kernel!r} has no k(x, x) above 0 on these rows, so there are no "
                    "features. That of a positive semidefinite kernel is above 0 unless all its "
                    "values are 0; see mercer.check_kernel."
                )
            K = gram.take(self.landmarks_).matrix()
            values, coef = landmark_basis(K)
        m, own, self.status_ = len(K), float(np.trace(K)), Status.SOLVED
        if m < min(self.n_components, data.n) and stopping.remaining < np.inf:
            self.status_ = stopping.stopped or self.status_
        if values[0] < -1e3 * m * EPS * values[-1] or values[-1] <= 0:
            raise ValueError(
                f"The kernel matrix of the landmarks has the eigenvalue {values[0]:.3g}: "
                f"{self.kernel_!r} is no kernel on these rows (see mercer.check_kernel)."
            )
        self._keep(data, gram, self.landmarks_, coef)
        return data.X, float(gram.diag().sum()), own
