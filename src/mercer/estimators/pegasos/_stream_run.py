"""A run over a stream: batch after batch, with a running holdout score and checkpoints."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import numpy as np
from sklearn.utils.validation import _num_samples

from mercer._result import Status
from mercer.certificates._certificate import Certificate, summarise
from mercer.data import Batch, Checkpoint, Stream, StreamProgress, read_ahead
from mercer.estimators._validation import Data
from mercer.estimators.pegasos._certificates import Effort, certify_one_pass
from mercer.solvers import Stopping
from mercer.solvers.pegasos._state import LossInterval
from mercer.solvers.pegasos._streaming_gap_bound import OnePassBound

__all__ = ["StreamRun", "certify_stream"]


def is_held_out(data: Data, first: int, holdout: int | None) -> np.ndarray:
    """Every ``holdout``-th row of the stream, of which ``first`` came before this batch."""
    held = np.zeros(data.shape[0], dtype=bool)
    if holdout is not None:
        held[(-first - 1) % holdout :: holdout] = True
    return held if data.rows is None else held[data.rows]


def checked(
    model: Any, batch: Batch
) -> tuple[Data, list[LossInterval], np.ndarray, np.ndarray] | None:
    """Rows, loss intervals, weights and targets of a batch; None of one without rows."""
    if _num_samples(batch.X) == 0:
        return None
    try:
        data = model._check_batch(batch.X, batch.y, batch.weight, batch.is_finite)
        y, weight = model._encode_batch(data)
    except ValueError as error:
        raise ValueError(f"{batch.where}: {error}") from error
    return data, model._intervals(y), weight, y


def batches_ahead(stream: Stream, skip: int, stopped: Callable[[], bool]) -> Iterator[Batch]:
    """Batches that are read while one is worked on, until it is ``stopped``."""
    with closing(read_ahead(stream.batches(skip), stopped)) as batches:
        for batch in batches:
            yield batch
            if stopped():
                return


class StreamRun:
    """The state of a fit over a stream, all of which is written to a checkpoint.

    Parameters
    ----------
    model : estimator
        Owns the iterates and the generator of orders.
    stream : Stream
    shuffle : bool
    holdout : int or None
    checkpoint : path or None
    every : float or (int, "rows" or "batches")
        Seconds, rows or batches between two checkpoints.
    """

    def __init__(
        self,
        model: Any,
        stream: Stream,
        shuffle: bool,
        holdout: int | None,
        checkpoint: Any,
        every: float | tuple[int, str],
    ):
        self.model, self.stream = model, stream
        self.names = stream.names
        self.shuffle, self.holdout = bool(shuffle), holdout
        self.passes = self.batches = self.rows = 0
        # Held-out rows of this pass: number, loss, and the sums of the score.
        self.sums = np.zeros(5)
        self.history: list[StreamProgress] = []
        count, unit = every if isinstance(every, tuple) else (every, "seconds")
        self.every, self.unit = float(count), unit
        self.saved_at = time.perf_counter()
        self.unsaved = {"rows": 0, "batches": 0}
        self.file = None if checkpoint is None else Checkpoint(checkpoint, self._fingerprint())
        if self.file is not None:
            self._resume(self.file)

    def _is_due(self) -> bool:
        """Whether it is time for a checkpoint."""
        if self.unit == "seconds":
            return time.perf_counter() - self.saved_at >= self.every
        return self.unsaved[self.unit] >= self.every

    def run(self, passes: int, stopping: Stopping) -> Status | None:
        """Continue until ``passes`` are done; a status if something stopped it before."""
        if self.passes >= passes:
            return None
        while self.passes < passes:
            for batch in self._read(stopping):
                self._take(batch)
                progress = self.progress(stopping.seconds)
                stopping.report(progress)
                if self.file is not None and self._is_due():
                    self._save(self.file)
            if stopping.stopped is not None and self._has_model:
                break
            self._end_pass(stopping.seconds)
        if not self._has_model:
            raise ValueError("The stream has no rows to learn from.")
        if self.file is not None:
            self._save(self.file)
        if self.passes < passes:
            self.history.append(self.progress(stopping.seconds))
            return stopping.stopped
        return None

    @property
    def _has_model(self) -> bool:
        return hasattr(self.model, "_states")

    def _read(self, stopping: Stopping) -> Iterator[Batch]:
        def stopped() -> bool:  # not before there is a model to keep
            return stopping.interrupted or (self._has_model and stopping.stopped is not None)

        return batches_ahead(self.stream, self.batches, stopped)

    def _take(self, batch: Batch) -> None:
        model, parts = self.model, checked(self.model, batch)
        self.batches += 1
        self.unsaved["batches"] += 1
        if parts is None:
            return
        data, intervals, weight, y = parts
        held = is_held_out(data, self.rows, self.holdout)
        some = np.flatnonzero(held)
        if some.size:
            self._estimate(data.X[some], [each.take(some) for each in intervals], y[some])
        order = np.flatnonzero(~held)
        if self.shuffle:
            order = model._shuffled(order)
        model._learn(data, intervals, weight, order)
        self.rows += data.shape[0]
        self.unsaved["rows"] += data.shape[0]

    def _estimate(self, X: Any, intervals: list[LossInterval], y: np.ndarray) -> None:
        model = self.model
        values = np.zeros((len(y), len(intervals)))
        if self._has_model:
            W = np.array([state.coef(model.average) for state in model._states])
            values = np.asarray(X @ W[:, :-1].T) + W[:, -1]
        loss = np.mean([i.loss(f).sum() for i, f in zip(intervals, values.T, strict=True)])
        self.sums += [len(y), loss, *model._tally(y, values)]

    def progress(self, seconds: float) -> StreamProgress:
        count = self.sums[0]
        return StreamProgress(
            seconds=seconds,
            passes=self.passes,
            batches=self.batches,
            rows=self.rows,
            steps=self.model._states[0].t if self._has_model else 0,
            held_out=int(count),
            loss=float(self.sums[1] / count) if count else float("nan"),
            score=self.model._score(count, self.sums[2:]) if count else float("nan"),
        )

    def _end_pass(self, seconds: float) -> None:
        self.passes += 1
        self.history.append(self.progress(seconds))
        self.batches = self.rows = 0
        self.sums = np.zeros(5)

    # ------------------------------------------------------------------ checkpoints

    def _fingerprint(self) -> dict[str, Any]:
        """What the model depends on; not the number of passes, which may be raised."""
        model = self.model
        names = ("epsilon", "fit_intercept", "batch_size", "average", "project")
        given = {name: getattr(model, name) for name in names if hasattr(model, name)}
        seed = model.random_state
        return {
            "estimator": type(model).__name__,
            "lam": model.lam_,
            **given,
            "class_weight": repr(getattr(model, "class_weight", None)),
            "classes": [str(c) for c in getattr(model, "classes_", ())],
            # The generator itself is kept, so a drawn seed is no obstacle.
            "random_state": int(seed) if isinstance(seed, (int, np.integer)) else "drawn",
            "shuffle": self.shuffle,
            "holdout": None if self.holdout is None else int(self.holdout),
            **self.stream.fingerprint(),
        }

    def _save(self, file: Checkpoint) -> None:
        model = self.model
        arrays = {"sums": self.sums}
        if self._has_model:
            arrays["u"] = np.array([state.u for state in model._states])
            arrays["total"] = np.array([state.total for state in model._states])
        values = {
            "t": model._states[0].t if self._has_model else 0,
            "passes": self.passes,
            "batches": self.batches,
            "rows": self.rows,
            "generator": model._rng.bit_generator.state,
            "history": [vars(progress) for progress in self.history],
        }
        file.save(arrays, values)
        self.saved_at = time.perf_counter()
        self.unsaved = {"rows": 0, "batches": 0}

    def _resume(self, file: Checkpoint) -> None:
        found = file.load()
        if found is None:
            return
        try:
            self._continue_from(*found)
        except Exception as error:  # any content
            raise file.damaged(error) from error

    def _continue_from(self, arrays: dict[str, np.ndarray], values: dict[str, Any]) -> None:
        """Continue from a checkpoint, whose arrays must fit each other."""
        model = self.model
        if "u" in arrays:
            u, total = arrays["u"], arrays["total"]
            if (
                not u.shape == total.shape
                or u.ndim != 2
                or u.dtype != np.float64
                or total.dtype != u.dtype
            ):
                raise ValueError("its arrays do not fit each other")
            classes = len(getattr(model, "classes_", ()))
            if classes and u.shape[0] != (1 if classes == 2 else classes):
                raise ValueError(f"it has {u.shape[0]} tasks, which do not fit {classes} classes")
            if not (np.isfinite(u).all() and np.isfinite(total).all()):
                raise ValueError("its arrays hold NaN or infinity")
            model.n_features_in_ = u.shape[1] - 1
            model._states = model._new_states(u.shape[1], u.shape[0])
            for task, state in enumerate(model._states):
                state.u, state.total, state.t = u[task].copy(), total[task].copy(), values["t"]
        model._rng.bit_generator.state = values["generator"]
        self.passes, self.batches, self.rows = (
            values[name] for name in ("passes", "batches", "rows")
        )
        if arrays["sums"].dtype != self.sums.dtype or arrays["sums"].shape != self.sums.shape:
            raise ValueError("its sums are of another model")
        self.sums = arrays["sums"]
        self.history = [StreamProgress(**progress) for progress in values["history"]]


def certify_stream(
    model: Any, stream: Stream, holdout: int | None, stopping: Stopping
) -> Certificate:
    """The certificate of a linear model on all rows of a stream."""
    W = np.column_stack([model.coef_, model.intercept_])
    bounds = [OnePassBound(w, model.lam_) for w in W]
    first = 0
    for batch in batches_ahead(stream, 0, lambda: stopping.stopped is not None):
        parts = checked(model, batch)
        if parts is None:
            continue
        data, intervals, weight, _ = parts
        chosen = np.flatnonzero(~is_held_out(data, first, holdout))
        rows = model._linear_rows(data.X)
        for bound, interval in zip(bounds, intervals, strict=True):
            bound.add(rows, interval, weight, chosen)
        first += data.shape[0]
    if stopping.stopped is not None:
        raise TimeoutError("certify was stopped before the end of its pass: nothing is proved.")
    if bounds[0].n == 0:
        raise ValueError("The stream has no rows.")
    effort = Effort(Status.SOLVED, model.t_, model.n_iter_, stopping.seconds)
    return summarise(
        [
            certify_one_pass(bound, model.tol, effort._replace(name=model._name(task)))
            for task, bound in enumerate(bounds)
        ]
    )
