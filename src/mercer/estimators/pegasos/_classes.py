"""`PegasosClassifier` and `PegasosRegressor`: subgradient steps with a certificate."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin, _fit_context

from mercer.data import Stream
from mercer.estimators._fields import estimator
from mercer.estimators._one_vs_rest import RestPredictions
from mercer.estimators._validation import Data, as_targets, class_codes, class_weights
from mercer.estimators.pegasos._base import PegasosBase
from mercer.estimators.pegasos._streaming import stream_method
from mercer.solvers.pegasos._state import LossInterval

__all__ = ["PegasosClassifier", "PegasosRegressor"]


@estimator
class PegasosClassifier(RestPredictions, PegasosBase):
    """Support vector classification by Pegasos: stochastic subgradient steps of length 1/(λt).

    Minimises (λ/2)(‖w‖² + b²) + mean of max(0, 1 − yᵢ f(xᵢ)), each class against the rest, with
    f(x) = w·φ(x) + b and λ = 1/(nC): the objective of `SVC` without intercept, on rows with a
    constant column if ``fit_intercept``. For very many rows, of which a few passes are enough, and
    for streams (`partial_fit`, `fit_stream`); `SVC` is exact.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the errors; λ = 1/(C · sum of the weights).
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
        Relative gap at which to stop: the objective is then proved to be within the fraction
        ``tol`` of the optimum. It is evaluated after 2, 4, 8, … passes.
    batch_size : int, default=1
        Rows of a step.
    average : bool, default=True
        Whether the model is the average of all steps' w, step t with weight t, or the last one.
    project : bool, default=False
        Whether w is projected onto the ball of radius 1/√λ, in which the optimum lies.
    replacement : bool, default=False
        Whether rows are drawn with replacement, as in the theory; otherwise each pass takes all
        of them in a new random order.
    n_steps : int, optional
        Take exactly this number of steps, in place of passes until ``tol``. The textbook algorithm,
        T steps on single rows with the last iterate as the model, is ``n_steps=T, average=False,
        replacement=True, fit_intercept=False``.
    class_weight : dict or "balanced", optional
        Factors of the sample weights.
    random_state : int, RandomState or None, default=None
    n_jobs : int, optional
        Threads, over the classes. Does not change the model.
    time_limit : float, optional
        Seconds for the whole fit; the model so far is kept.
    callback, on_interrupt, verbose
        As in `SVC`; the callback is called whenever the gap is evaluated, and gets epochs, steps
        and the relative gap as ``rounds``, ``iterations`` and ``violation``.

    Attributes
    ----------
    certificate_ : Certificate
        ``primal`` is ½(‖w‖² + b²) + Σ Cᵢξᵢ (the objective over λ, as in `SVC`), ``dual`` a lower
        bound on it for every model; violation and counts are those of the dual point.
    solver_ : Choice
        The method of solution (``name``), and what its steps change.
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

    project: bool = False
    class_weight: Any = None

    @stream_method
    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> PegasosClassifier:
        """One pass over some rows, continuing from the last call; linear only.

        There is no certificate, which would be about all rows (`certify`).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        classes : array-like, optional
            All classes of the stream; at the first call.
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self : object
        """
        if not hasattr(self, "_states"):
            if classes is None:
                raise ValueError("classes must be given at the first call of partial_fit.")
            self._set_classes(classes)
        return self._partial_fit(X, y, sample_weight)

    def _set_classes(self, classes: Any) -> None:
        if self.class_weight == "balanced":
            raise ValueError(
                "class_weight='balanced' needs all rows; give a stream a dict of class weights."
            )
        self.classes_ = np.unique(classes)
        if self.classes_.size < 2:
            raise ValueError(f"classes must hold at least two, got {self.classes_!r}.")

    def _expect(self, stream: Stream, classes: Any) -> None:
        """Set the classes of a stream, before its rows are read."""
        if classes is None:
            if not stream.repeats:
                raise ValueError("classes must be given: an iterator gives its batches once.")
            classes = reduce(np.union1d, map(np.unique, stream.targets()))
        self._set_classes(classes)

    def _encode(self, data: Data) -> tuple[np.ndarray, np.ndarray]:
        self.classes_, codes = class_codes(data)
        return codes, self._weights(codes, data.weight)

    def _encode_batch(self, data: Data) -> tuple[np.ndarray, np.ndarray]:
        # A pass for each class costs less than its steps.
        codes: Any = np.full(data.n, -1, np.int8 if self.classes_.size < 127 else np.intp)
        labels = self.classes_
        if data.y.dtype.kind in "iub" and np.array_equal(labels.astype(data.y.dtype), labels):
            labels = labels.astype(data.y.dtype)
        for code, label in enumerate(labels):
            codes += np.multiply(data.y == label, code + 1, dtype=codes.dtype)
        wrong = codes < 0
        if wrong.any():
            unknown = np.unique(data.y[wrong])[:5].tolist()
            raise ValueError(f"y has labels that are not in classes: {unknown}.")
        return codes, self._weights(codes, data.weight)

    def _weights(self, codes: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
        if self.class_weight is None:
            return np.ones(codes.size) if weight is None else weight
        of_class = class_weights(self.class_weight, self.classes_, codes, weight)
        return of_class[codes] if weight is None else weight * of_class[codes]

    def _intervals(self, y: np.ndarray) -> list[LossInterval]:
        """Of two classes the second against the first, of more each against the rest."""
        tasks = [1] if self.classes_.size == 2 else range(self.classes_.size)
        return [LossInterval.hinge(y == task) for task in tasks]

    def _name(self, task: int) -> str:
        return "" if self.classes_.size == 2 else f"{self.classes_[task]} / the rest"

    def _tally(self, y: np.ndarray, values: np.ndarray) -> np.ndarray:
        return np.array([(self._winners(values) == y).sum(), 0.0, 0.0])

    def _score(self, count: float, sums: np.ndarray) -> float:
        """Accuracy."""
        return float(sums[0] / count)


@estimator
class PegasosRegressor(RegressorMixin, PegasosBase):
    """ε-support vector regression by Pegasos.

    Minimises (λ/2)(‖w‖² + b²) + mean of max(0, abs(yᵢ − f(xᵢ)) − ε) with f(x) = w·φ(x) + b and
    λ = 1/(nC): the objective of `SVR` without intercept, on rows with a constant column if
    ``fit_intercept``.

    Parameters
    ----------
    C, lam, kernel, degree, gamma, coef0, fit_intercept, max_iter, tol, batch_size, average, \
replacement, n_steps, random_state, n_jobs, time_limit, callback, \
on_interrupt, verbose
        As in `PegasosClassifier`.
    epsilon : float, default=0.1
        Half the width of the ε-insensitive interval.

    Attributes
    ----------
    certificate_, solver_, coef_, intercept_, expansion_, kernel_, lam_, n_iter_, t_, \
n_features_in_, feature_names_in_
        As in `PegasosClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import PegasosRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(1000, 2))
    >>> y = X @ [2.0, 1.0] + rng.normal(size=1000)
    >>> model = PegasosRegressor(C=0.1, random_state=0).fit(X, y)
    >>> bool(np.abs(model.coef_ - [2.0, 1.0]).max() < 0.2)
    True
    >>> model.certificate_.relative_gap < 0.01
    True
    """

    epsilon: float = 0.1

    @stream_method
    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> PegasosRegressor:
        """One pass over some rows, continuing from the last call; linear only.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self : object
        """
        return self._partial_fit(X, y, sample_weight)

    def _expect(self, stream: Stream, classes: Any) -> None:
        if classes is not None:
            raise ValueError("classes are for classifiers; a regression has none.")

    def _encode(self, data: Data) -> tuple[np.ndarray, np.ndarray]:
        weight = np.ones(data.n) if data.weight is None else data.weight
        return as_targets(data.y), weight

    _encode_batch = _encode

    def _intervals(self, y: np.ndarray) -> list[LossInterval]:
        return [LossInterval.epsilon_insensitive(y, self.epsilon)]

    def _tally(self, y: np.ndarray, values: np.ndarray) -> np.ndarray:
        return np.array([np.sum((y - values[:, 0]) ** 2), y.sum(), y @ y])

    def _score(self, count: float, sums: np.ndarray) -> float:
        """R²."""
        spread = sums[2] - sums[1] ** 2 / count
        return float(1 - sums[0] / spread) if spread > 0 else float("nan")

    def predict(self, X: Any) -> np.ndarray:
        """f at each row."""
        return self._decide(X)[:, 0]
