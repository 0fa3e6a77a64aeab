"""All classes at once (``multi_class="crammer_singer"``): the steps of ``fit`` that differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mercer.certificate import Certificate
from mercer.certify_others import certify_joint
from mercer.estimators._data import Data
from mercer.estimators._linear import LinearClassifier
from mercer.problems.crammer_singer import CrammerSinger
from mercer.result import LinearResult
from mercer.solvers import Control
from mercer.solvers.linear import Joint, Rows, evaluate_joint

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
        cost = self.C * self.class_weight_[self._codes] * weight
        return CrammerSinger(self._codes, cost, self.classes_.size, self._kappa())

    def _solve(self, rows: Rows, problems: Sequence[Any], control: Control) -> list[LinearResult]:
        if not self._is_joint:
            return super()._solve(rows, problems, control)
        self.solver_ = "sequential dual method: all classes at once"
        (problem,) = problems
        beta = None
        last = getattr(self, "_last", None) if self.warm_start else None
        if last is not None and last[0][0].beta.shape == (problem.n, problem.n_classes):
            beta = last[0][0].beta
        result = Joint(self.tol, self.max_iter, self._seed()).solve(problem, rows, control, beta)
        if rows.X.dtype == np.float32:  # the certificate is that of the published model
            single = [v.astype(np.float32).astype(np.float64) for v in self._model([result])]
            w, b = (whole(v) for v in single)
            again = evaluate_joint(problem, rows, w, b, result.beta, result.w_beta)
            result = replace(result, w=w, b=b, g=again.g, primal=again.primal, gap=again.gap)
        return [result]

    def _model(self, results: Sequence[LinearResult]) -> tuple[np.ndarray, np.ndarray]:
        """Of two classes, the difference of their models."""
        if not self._is_joint:
            return super()._model(results)
        w, b = results[0].w, np.asarray(results[0].b)
        return (w[1:] - w[:1], b[1:] - b[:1]) if len(w) == 2 else (w, b)

    def _prove(self, problems: Sequence[Any], results: Sequence[LinearResult]) -> Certificate:
        if not self._is_joint:
            return super()._prove(problems, results)
        return certify_joint(problems[0], results[0])

    def _duals(
        self, problems: Sequence[Any], results: Sequence[LinearResult]
    ) -> Sequence[np.ndarray] | None:
        return list(results[0].beta.T) if self._is_joint else super()._duals(problems, results)


def whole(published: np.ndarray) -> np.ndarray:
    """A row for each class: of two classes, whose models sum to zero, half the difference each."""
    return np.concatenate([-published, published]) / 2 if len(published) == 1 else published
