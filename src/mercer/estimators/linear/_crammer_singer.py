"""All classes at once (``multi_class="crammer_singer"``): the steps of ``fit`` that differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mercer._result import LinearResult
from mercer.certificates._certificate import Certificate
from mercer.certificates._duality_gap import certify_joint
from mercer.estimators._validation import Data
from mercer.estimators.linear._base import LinearClassifier
from mercer.problems._crammer_singer import CrammerSinger
from mercer.problems._regularized_loss import NO_PRICE
from mercer.solvers import Stopping
from mercer.solvers.linear import Answer, Joint, Rows, prove_joint, until_proved

__all__ = ["JointClassifier"]


class JointClassifier(LinearClassifier):
    """One problem for each class, or, where the parameter asks for it, one for all of them."""

    multi_class: str

    @property
    def _is_joint(self) -> bool:
        return self.multi_class == "crammer_singer"

    def _encode(self, data: Data) -> list[np.ndarray]:
        tasks = super()._encode(data)
        return [self._codes] if self._is_joint else tasks

    def _pose_joint(self, data: Data) -> CrammerSinger:
        weight = 1.0 if data.weight is None else data.weight
        cost = np.maximum(self.C * self.class_weight_[self._codes] * weight, NO_PRICE)
        return CrammerSinger(self._codes, cost, self.classes_.size, self._kappa())

    def _solve(
        self, rows: Rows, problems: Sequence[Any], stopping: Stopping, same_rows: bool
    ) -> list[Answer]:
        if not self._is_joint:
            return super()._solve(rows, problems, stopping, same_rows)
        self.solver_ = "sequential dual method: all classes at once"
        (problem,) = problems
        joint = Joint(self.tol, self.max_iter, self._seed())

        def solve(tol: float, left: int, beta: np.ndarray | None) -> LinearResult:
            return replace(joint, tol=tol, max_iter=left).solve(problem, rows, stopping, beta)

        def proved(found: LinearResult) -> LinearResult:
            stored = (v.astype(rows.X.dtype).astype(np.float64) for v in self._model([found]))
            w, b = (whole(v) for v in stored)
            return prove_joint(problem, rows, w, b, found.beta, self.tol)

        last = getattr(self, "_last", None) if self.warm_start else None
        beta = None
        if last is not None and last.answers[0].found.beta.shape == (problem.n, problem.n_classes):
            beta = last.answers[0].found.beta
        return [
            until_proved(solve, proved, lambda found: found.beta, self.tol, self.max_iter, beta)
        ]

    def _model(self, results: Sequence[LinearResult]) -> tuple[np.ndarray, np.ndarray]:
        """Of two classes, the difference of their models."""
        if not self._is_joint:
            return super()._model(results)
        w, b = results[0].w, np.asarray(results[0].b)
        return (w[1:] - w[:1], b[1:] - b[:1]) if len(w) == 2 else (w, b)

    def _prove(self, problems: Sequence[Any], results: Sequence[LinearResult]) -> Certificate:
        if not self._is_joint:
            return super()._prove(problems, results)
        return certify_joint(problems[0], results[0], self.tol)

    def _duals(
        self, problems: Sequence[Any], results: Sequence[LinearResult]
    ) -> Sequence[np.ndarray] | None:
        return list(results[0].beta.T) if self._is_joint else super()._duals(problems, results)


def whole(published: np.ndarray) -> np.ndarray:
    """A row for each class: of two classes, whose models sum to zero, half the difference each."""
    return np.concatenate([-published, published]) / 2 if len(published) == 1 else published
