"""Crammer and Singer's problem, ``multi_class="crammer_singer"``: the steps that differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mercer._result import LinearResult
from mercer.certificates._certificate import Certificate
from mercer.certificates._duality_gap import certify_crammer_singer
from mercer.estimators._validation import Data
from mercer.estimators.linear._base import LinearClassifier, LinearTask
from mercer.exceptions import warn_user
from mercer.problems._crammer_singer import CrammerSinger
from mercer.solvers import Choice, Stopping
from mercer.solvers.linear import (
    LocalMatrix,
    SequentialDualMethod,
    StoredModel,
    bound_class_gap,
    until_bounded,
)

__all__ = ["CrammerSingerClassifier"]


class CrammerSingerClassifier(LinearClassifier):
    """One problem for each class or, with ``multi_class="crammer_singer"``, one for all."""

    multi_class: str
    penalty: str
    loss: str
    dual: Any

    @property
    def _is_crammer_singer(self) -> bool:
        return self.multi_class == "crammer_singer"

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self._is_crammer_singer:
            unused = []
            if self.penalty != "l2":
                unused.append(f'penalty={self.penalty!r} is not used: pass penalty="l2"')
            if self.loss != "hinge":
                unused.append(f'loss={self.loss!r} is not used: pass loss="hinge"')
            if self.dual != "auto":
                unused.append(f'dual={self.dual!r} is not used: pass dual="auto"')
            if unused:
                warn_user(
                    'multi_class="crammer_singer" minimises a hinge over all classes by the '
                    f"sequential dual method; {'; '.join(unused)}.",
                    UserWarning,
                )

    def _encode(self, data: Data) -> list[LinearTask]:
        if not self._is_crammer_singer:
            return super()._encode(data)
        codes = self._class_codes(data)
        return [LinearTask("", codes, self.class_weight_[codes])]

    def _pose(self, task: LinearTask, data: Data) -> Any:
        C = self._sample_C(task, data)
        return CrammerSinger(task.y, C, self.classes_.size, self._intercept_penalty())

    def _solve(
        self, design: LocalMatrix, problems: Sequence[Any], stopping: Stopping, same_rows: bool
    ) -> list[StoredModel]:
        if not self._is_crammer_singer:
            return super()._solve(design, problems, stopping, same_rows)
        self.solver_ = Choice("sequential-dual", "all classes at once")
        (problem,) = problems
        solver = SequentialDualMethod(self.tol, self.max_iter, self._seed())

        def solve(tol: float, left: int, beta: np.ndarray | None) -> LinearResult:
            return replace(solver, tol=tol, max_iter=left).solve(problem, design, stopping, beta)

        def bound(found: LinearResult) -> LinearResult:
            rounded = (v.astype(design.X.dtype) for v in self._coefficients([found]))
            w, b = (_for_each_class(v.astype(np.float64)) for v in rounded)
            return bound_class_gap(problem, design, w, b, found.beta, self.tol)

        last = getattr(self, "_last", None) if self.warm_start else None
        beta = None if last is None else last.models[0].solution.beta
        if beta is not None and beta.shape != (problem.n, problem.n_classes):
            beta = None
        return [
            until_bounded(solve, bound, lambda found: found.beta, self.tol, self.max_iter, beta)
        ]

    def _coefficients(self, results: Sequence[LinearResult]) -> tuple[np.ndarray, np.ndarray]:
        """Of two classes, the difference of their models."""
        if not self._is_crammer_singer:
            return super()._coefficients(results)
        w, b = results[0].w, np.asarray(results[0].b)
        return (w[1:] - w[:1], b[1:] - b[:1]) if len(w) == 2 else (w, b)

    def _certify(
        self,
        tasks: Sequence[LinearTask],
        problems: Sequence[Any],
        results: Sequence[LinearResult],
    ) -> Certificate:
        if not self._is_crammer_singer:
            return super()._certify(tasks, problems, results)
        return certify_crammer_singer(problems[0], results[0], self.tol)

    def _duals(self, results: Sequence[LinearResult]) -> Sequence[np.ndarray] | None:
        return list(results[0].beta.T) if self._is_crammer_singer else super()._duals(results)


def _for_each_class(stored: np.ndarray) -> np.ndarray:
    """A row for each class: of two classes, whose models sum to zero, half the difference each."""
    return np.concatenate([-stored, stored]) / 2 if len(stored) == 1 else stored
