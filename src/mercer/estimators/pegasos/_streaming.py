"""Streams of the Pegasos estimators: the same steps over batches of rows, kept one at a time."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import _fit_context
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from mercer._threads import Workers, single_threaded_blas, thread_count
from mercer.certificates._certificate import Certificate
from mercer.data import StreamProgress, as_stream
from mercer.estimators._convergence import warn_stopped_early
from mercer.estimators._validation import Data, check_training
from mercer.estimators.pegasos._stream_run import StreamRun, certify_stream
from mercer.kernels import Kernel, Linear
from mercer.solvers import Stopping
from mercer.solvers.pegasos._state import LossInterval, PegasosState
from mercer.solvers.pegasos._steps import BLOCK_ROWS, shuffle

__all__ = ["StreamMixin", "has_stream"]


def has_stream(estimator: Any) -> bool:
    """Whether the parameters allow a stream; else an AttributeError that says why."""
    if not estimator._is_linear:
        raise AttributeError(
            f"partial_fit and fit_stream need an explicit w, but kernel={estimator.kernel!r} keeps "
            "rows, without end in a stream. Use kernel=None, on mapped rows if need be."
        )
    if estimator.lam is None:
        raise AttributeError(
            "partial_fit and fit_stream need lam: C stands for 1/(n lam), and n is not known in a "
            "stream."
        )
    if estimator.n_steps is not None:
        raise AttributeError(
            f"partial_fit and fit_stream take one step for each batch_size rows, not "
            f"n_steps={estimator.n_steps}. Use n_steps=None."
        )
    return True


class StreamMixin:
    """The state from batch to batch is a `PegasosState` for each task: w, its average, t."""

    kernel_: Kernel

    @available_if(has_stream)
    @_fit_context(prefer_skip_nested_validation=True)
    def fit_stream(
        self: Any,
        source: Any,
        *,
        classes: Any = None,
        passes: int = 1,
        shuffle: bool = True,
        holdout: int | None = None,
        callback: Callable[[StreamProgress], object] | None = None,
        checkpoint: Any = None,
        checkpoint_every: float | tuple[int, str] = 30.0,
    ) -> Any:
        """Fit on rows that are never in memory together; linear only, needs ``lam``.

        The same steps as `partial_fit` on one batch after the other; the next batches are read
        during the steps of one. ``time_limit`` and Ctrl-C stop after a batch and keep the model so
        far.

        Parameters
        ----------
        source : Stream, iterable, callable or path
            Of `mercer.data`: ``Parquet(path, target=...)``, ``Svmlight(path)``, ``Npy(X, y)``,
            ``Batches(...)``. An iterable of (X, y) or (X, y, weight), a function that returns one,
            the path of a LIBSVM file or a pair of ``.npy`` paths become one.
        classes : array-like, optional
            Of a classifier: all classes there will be. By default files are read once for them.
        passes : int, default=1
        shuffle : bool, default=True
            Whether the rows of a batch are visited in a random order (blocks of 2,048 of them, and
            the rows of each block). Sorted files need more: mix the rows before.
        holdout : int, optional
            Every ``holdout``-th row is not used for training, but scored by the model before its
            batch. The running loss and score are passed to ``callback`` and kept in ``stream_``.
        callback : callable, optional
            Called with a `StreamProgress` after each batch; a true return value stops the fit.
        checkpoint : path, optional
            A file to which the state is written from time to time and at the end, and from which
            the fit continues if it exists. However often it was killed, the model is that of an
            uninterrupted run. Files of another source or other parameters are refused.
        checkpoint_every : float or (int, "rows" or "batches"), default=30.0
            Interval between two writings, checked after each batch: seconds (0 writes after every
            batch), or a number of rows or batches, such as ``(1_000_000, "rows")``.

        Returns
        -------
        self : object

        Examples
        --------
        >>> import numpy as np
        >>> from mercer import PegasosRegressor
        >>> def batches():
        ...     rng = np.random.default_rng(0)
        ...     for _ in range(20):
        ...         X = rng.normal(size=(500, 3))
        ...         yield X, X @ [1.0, 2.0, 3.0]
        >>> model = PegasosRegressor(lam=1e-4, epsilon=0.0, random_state=0)
        >>> model.fit_stream(batches, passes=4, holdout=10).coef_.round(1)
        array([[1., 2., 3.]])
        >>> model.stream_[-1].held_out
        1000
        """
        _check_options(passes, holdout, checkpoint_every)
        stream = as_stream(source)
        if passes > 1 and not stream.repeats:
            raise ValueError(
                f"passes={passes}, but an iterator gives its batches once. Give a function that "
                "returns a new one for each pass."
            )
        stopping = Stopping(self.time_limit, callback, self.on_interrupt)
        with stopping, single_threaded_blas():
            self._begin_stream()
            self._expect(stream, classes)
            run = StreamRun(self, stream, shuffle, holdout, checkpoint, checkpoint_every)
            status = run.run(passes, stopping)
            self._keep_stream(run.names, max(run.passes, 1))
            self.stream_ = run.history
            if status is not None and not stopping.interrupted:
                warn_stopped_early(
                    "fit_stream",
                    status,
                    f"{run.rows} rows of pass {run.passes + 1} of {passes}",
                    "the model so far is kept",
                    "fit_stream again continues from a checkpoint.",
                    by_user=True,
                )
        return self

    def certify(self: Any, source: Any, *, holdout: int | None = None) -> Certificate:
        """Prove how far the linear model is from the optimum on these rows, in one pass.

        ``primal`` is ½(‖w‖² + b²) + Σ Cᵢξᵢ with Cᵢ = weightᵢ/(nλ), summed over all rows. ``dual``
        is the value of a feasible point of the dual, a lower bound on every model's objective: rows
        are sorted into bins by the distance of f from the end of their loss interval (and near it
        by column), each row of a bin has the same fraction of its Cᵢ, and the best fractions are
        computed at the end from one vector kept for each bin. So the gap is a true upper bound, and
        not the smallest one. The violation of that point would take another pass and is NaN. The
        status is "solved" if the relative gap is at most ``tol``.

        Parameters
        ----------
        source : as in `fit_stream`
        holdout : int, optional
            Rows left out, as in `fit_stream`.

        Returns
        -------
        certificate : Certificate
            Also kept as ``certificate_``.
        """
        check_is_fitted(self, "intercept_")
        if not hasattr(self, "coef_"):
            raise ValueError(f"certify is for linear models, not for kernel={self.kernel!r}.")
        _check_options(1, holdout, 0.0)
        with Stopping(self.time_limit) as stopping, single_threaded_blas():
            self.certificate_ = certify_stream(self, as_stream(source), holdout, stopping)
        return self.certificate_

    # ------------------------------------------------------------------ batches

    def _partial_fit(self: Any, X: Any, y: Any, sample_weight: Any) -> Any:
        if not hasattr(self, "_states"):
            self._begin_stream()
        self._draw_generator()
        data = self._check_batch(X, y, sample_weight)
        targets, weight = self._encode_batch(data)
        self._learn(data, self._intervals(targets), weight, self._shuffled(np.arange(data.n)))
        self._keep_stream(None, getattr(self, "n_iter_", 0) + 1)
        return self

    def _begin_stream(self: Any) -> None:
        """Discard any fit."""
        names = "_states _rng expansion_ n_iter_ n_features_in_ feature_names_in_ stream_"
        for name in names.split():
            self.__dict__.pop(name, None)
        self.lam_, self.kernel_ = self._resolve_lam(1.0), Linear()
        self._draw_generator()

    def _draw_generator(self: Any) -> None:
        if not hasattr(self, "_rng"):
            seed = check_random_state(self.random_state).randint(0, 2**31 - 1)
            self._rng = np.random.default_rng(seed)

    def _check_batch(
        self: Any, X: Any, y: Any, sample_weight: Any, is_finite: bool = False
    ) -> Data:
        expected = self.n_features_in_ if hasattr(self, "_states") else None
        is_known = is_finite and X.shape[1] == expected
        data = check_training(self, X, y, sample_weight, is_finite=is_known)
        if expected not in (None, data.X.shape[1]):
            self.n_features_in_ = expected
            raise ValueError(
                f"X has {data.X.shape[1]} features, but {type(self).__name__} is expecting "
                f"{expected} features as input."
            )
        return data

    def _shuffled(self: Any, rows: np.ndarray) -> np.ndarray:
        """Blocks in a random order, and the rows of each: a block stays in the cache."""
        whole = rows.size // BLOCK_ROWS  # the remainder comes last
        blocks = np.append(self._rng.permutation(whole), whole)
        out = np.empty_like(rows)
        shuffle(rows, blocks, self._rng.integers(2**63), out)
        return out

    def _learn(
        self: Any, data: Data, intervals: list[LossInterval], weight: np.ndarray, order: np.ndarray
    ) -> None:
        """Steps over the rows of a batch in this order."""
        rows = self._linear_rows(data.X)
        if not hasattr(self, "_states"):
            self._states = self._new_states(rows.size, len(intervals))

        def one(task: int) -> None:
            state = self._states[task]
            state.reset_signs(0)  # not needed here
            rows.run(intervals[task], weight, order, state)

        n_threads = 1 if len(intervals) == 1 else thread_count(self.n_jobs)
        with Workers(n_threads) as workers:
            workers.map(one, range(len(intervals)))
        if not all(np.isfinite(state.u @ state.u) for state in self._states):
            raise ValueError("The values of X are so large that w overflows. Scale the columns.")

    def _new_states(self: Any, size: int, n_tasks: int) -> list[PegasosState]:
        make = self.lam_, size, self.batch_size, self.project
        return [PegasosState(*make) for _ in range(n_tasks)]

    def _keep_stream(self: Any, names: list[str] | None, n_iter: int) -> None:
        self.__dict__.pop("certificate_", None)
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
        self.n_iter_, self.t_ = n_iter, self._states[0].t
        self._keep_linear()


def _check_options(passes: Any, holdout: Any, checkpoint_every: Any) -> None:
    if not isinstance(passes, Integral) or passes < 1:
        raise ValueError(f"passes must be a positive integer, got {passes!r}.")
    if holdout is not None and (not isinstance(holdout, Integral) or holdout < 2):
        raise ValueError(f"holdout must be None or an integer of at least 2, got {holdout!r}.")
    match checkpoint_every:
        case Real() if float(checkpoint_every) >= 0:
            return
        case (Integral() as count, "rows" | "batches") if int(count) > 0:
            return
    raise ValueError(
        "checkpoint_every must be seconds, 0 or more, or a pair such as (1_000_000, 'rows') or "
        f"(10, 'batches'); got {checkpoint_every!r}."
    )
