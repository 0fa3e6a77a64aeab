"""The model that a stop would leave, while a fit goes on: `Progress.model`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from mercer._multiclass import PosedTasks
from mercer._result import Result
from mercer.estimators._validation import Data
from mercer.exceptions import silent_thread
from mercer.solvers import Stopping

if TYPE_CHECKING:
    from mercer.estimators.svm._base import KernelMachine

__all__ = ["ModelSoFar"]


@dataclass(frozen=True, eq=False)
class ModelSoFar:
    """A callback around the user's, whose reports can give the model of a fit with one task."""

    estimator: KernelMachine
    data: Data
    posed: PosedTasks
    callback: Callable[[Any], object]

    def __call__(self, progress: Any) -> object:
        model = None if progress.result is None else partial(self._model, progress.result)
        return self.callback(replace(progress, model=model))

    def _model(self, result: Callable[[], Result]) -> KernelMachine:
        """A copy of the estimator, fitted as far as the solver is."""
        model = object.__new__(type(self.estimator))
        model.__dict__ |= vars(self.estimator)
        quiet = {"callback": None, "verbose": False, "probability": False, "checkpoint": None}
        model.set_params(**{k: v for k, v in quiet.items() if k in model.get_params(deep=False)})
        with silent_thread(), Stopping() as stopping:
            model._keep(self.data, replace(self.posed, stopping=stopping), [result()])
        return model
