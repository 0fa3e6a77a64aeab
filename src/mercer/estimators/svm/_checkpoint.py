"""Checkpoints of a kernel fit: the duals β of every task, written every few seconds.

A fit that was killed goes on from the last β that was written, as from a warm start: any feasible β
is a sound start, and the certificate of the result does not depend on it. What is posed must be the
same problem: the file has the parameters and a digest of the data, and others are refused.
"""

from __future__ import annotations

import hashlib
import pickle
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer._result import Result
from mercer.data import Checkpoint
from mercer.estimators._validation import Data
from mercer.estimators._warm_start import feasible
from mercer.exceptions import FileError, warn_user
from mercer.problems import BoxQP

__all__ = ["FitCheckpoint"]

# Parameters that make a problem another one; limits, threads and the cache do not.
_POSED = ("C", "nu", "epsilon", "loss", "class_weight", "fit_intercept")


class FitCheckpoint:
    """A callback of a fit that writes its duals to a file, and the starts that it had there.

    Parameters
    ----------
    path : path
    estimator : estimator
        Its kernel is bound.
    data : Data
    problems : sequence of BoxQP
        One for each task.
    callback : callable or None
        The user's, which is called as well.
    interval : float
        Seconds between two checkpoints of a task.
    """

    def __init__(
        self,
        path: Any,
        estimator: Any,
        data: Data,
        problems: Sequence[BoxQP],
        callback: Callable[[Any], object] | None,
        interval: float,
    ):
        self.file = Checkpoint(path, fingerprint(estimator, data, problems))
        self.callback, self.interval = callback, interval
        self.sizes = [problem.n_variables for problem in problems]
        self.betas: list[np.ndarray | None] = [None] * len(problems)
        self.done: set[int] = set()
        self._lock = threading.Lock()
        self._last: dict[int, float] = {}
        self._failed = False
        saved = self.file.load()
        if saved is not None:
            self._resume(saved[0], problems)
        try:
            self._write()  # a path that cannot be written is refused before the fit
        except OSError as error:
            raise FileError(str(path), None, f"cannot be written: {error.strerror}.") from error

    def starts(self, others: Sequence[np.ndarray | None]) -> list[np.ndarray | None]:
        """The β of each task that the file had; where it had none, the other start."""
        found = zip(self.betas, others, strict=True)
        return [other if beta is None else beta for beta, other in found]

    def __call__(self, progress: Any) -> object:
        """Write the file if it is time, and call the user's callback."""
        task, now = progress.task, time.monotonic()
        if now - self._last.setdefault(task, now) >= self.interval:
            self._last[task] = now
            beta = None
            if progress.beta is not None:
                beta = progress.beta()
            elif progress.state is not None:
                beta = progress.state()[0][1].beta
            if beta is not None:
                self._record(task, np.array(beta))
        return None if self.callback is None else self.callback(progress)

    def finished(self, task: int, result: Result) -> None:
        """A task has ended; its β is written with the next checkpoint."""
        with self._lock:
            self.betas[task] = result.beta if result.reached is None else result.reached
            self.done.add(task)

    def close(self, is_solved: bool) -> None:
        """Remove the file after a fit that has reached its tolerance; else write where it is."""
        if is_solved:
            self.file.path.unlink(missing_ok=True)
        else:
            self._record(None, None)

    def _record(self, task: int | None, beta: np.ndarray | None) -> None:
        with self._lock:
            if task is not None:
                self.betas[task] = beta
            try:
                self._write()
            except OSError as error:
                if not self._failed:
                    warn_user(
                        f"The checkpoint {self.file.path} could not be written "
                        f"({error.strerror}); the fit goes on, and the file before is kept.",
                        UserWarning,
                    )
                self._failed = True

    def _write(self) -> None:
        arrays = {f"beta{t}": beta for t, beta in enumerate(self.betas) if beta is not None}
        values = {"tasks": len(self.sizes), "tasks_done": len(self.done)}
        self.file.save(arrays, values)

    def _resume(self, arrays: dict[str, np.ndarray], problems: Sequence[BoxQP]) -> None:
        for task, problem in enumerate(problems):
            beta = arrays.get(f"beta{task}")
            if beta is None:
                continue
            fits = beta.shape == (problem.n_variables,) and beta.dtype == np.float64
            start = feasible(problem, beta) if fits and np.isfinite(beta).all() else None
            if start is None:
                raise self.file.damaged(f"β of task {task} does not fit the problem")
            self.betas[task] = start


def fingerprint(estimator: Any, data: Data, problems: Sequence[BoxQP]) -> dict[str, Any]:
    """What a fit depends on, but for limits: JSON values, of which messages can speak."""
    parameters = estimator.get_params(deep=False)
    found = {name: repr(parameters[name]) for name in _POSED if name in parameters}
    return {
        "estimator": type(estimator).__name__,
        "kernel": repr(estimator.kernel_),
        **found,
        "rows": list(np.shape(data.X)),
        "data": _digest([data.X]),
        "targets and weights": _digest(
            [part for p in problems for part in (p.target, p.lower, p.upper, p.diag)]
        ),
    }


def _digest(parts: Sequence[Any]) -> str:
    """SHA-256 of arrays, dense, sparse, or of objects."""
    whole = hashlib.sha256()
    for part in parts:
        _add(whole, part)
    return whole.hexdigest()[:32]


def _add(whole: Any, part: Any) -> None:
    """Add a value to a digest: the same in every process, whatever its hashes of texts are."""
    if part is None:
        return
    if sp.issparse(part):
        part = [part.data, part.indices, part.indptr]
    elif is_dataclass(part):  # a table, a graph
        part = [getattr(part, each.name) for each in fields(part)]
    elif isinstance(part, (set, frozenset)):
        part = sorted(part, key=repr)
    elif isinstance(part, Mapping):
        part = list(part.items())
    if isinstance(part, np.ndarray) and part.dtype != object:
        whole.update(np.ascontiguousarray(part).reshape(-1).view(np.uint8).data)
    elif isinstance(part, (list, tuple, np.ndarray)):
        whole.update(len(part).to_bytes(8, "little"))
        for item in np.ravel(part) if isinstance(part, np.ndarray) else part:
            _add(whole, item)
    else:
        whole.update(pickle.dumps(part, protocol=4))
