"""Softmax over all classes, ``multi_class="multinomial"``: the steps that differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mercer._result import LinearResult
from mercer.certificates._certificate import Certificate
from mercer.certificates._duality_gap import certify_multinomial
from mercer.estimators._validation import Data
from mercer.estimators.linear._base import LinearClassifier, LinearTask
from mercer.problems._multinomial import Multinomial
from mercer.solvers import Choice, Stopping
from mercer.solvers.linear import (
    LocalMatrix,
    MultinomialNewton,
    ShiftedDesign,
    Start,
    StoredModel,
    bound_class_gap,
    bound_class_gap_by_norms,
    until_bounded,
)

__all__ = ["MultinomialClassifier"]


class MultinomialClassifier(LinearClassifier):
    """One problem for each class or, with ``multi_class="multinomial"``, one for all.

    Two classes are one binary problem in either case.
    """

    multi_class: str

    @property
    def _is_multinomial(self) -> bool:
        return self.multi_class == "multinomial" and self.classes_.size > 2

    def _encode(self, data: Data) -> list[LinearTask]:
        codes = self._class_codes(data)
        if not self._is_multinomial:
            return self._encode_codes(codes)
        return [LinearTask("", codes, self.class_weight_[codes])]

    def _pose_classes(self, task: LinearTask, data: Data) -> Multinomial:
        C = self._sample_C(task, data)
        return Multinomial(task.y, C, self.classes_.size, self._intercept_penalty())

    def _solve(
        self, design: LocalMatrix, problems: Sequence[Any], stopping: Stopping, same_rows: bool
    ) -> list[StoredModel]:
        if not self._is_multinomial:
            return super()._solve(design, problems, stopping, same_rows)
        self.solver_ = Choice("newton", "all classes at once")
        (problem,) = problems
        shifted = ShiftedDesign.of(design, problem.intercept_penalty)
        solver = MultinomialNewton(self.tol, self.max_iter, self._seed())

        def solve(tol: float, left: int, start: Start | None) -> LinearResult:
            settings = replace(solver, tol=tol, max_iter=left)
            return settings.solve(problem, shifted.seen, stopping, start)

        def bound(found: LinearResult) -> LinearResult:
            dtype = design.X.dtype
            w = found.w.astype(dtype).astype(np.float64)
            pairs = zip(found.w, found.b, strict=True)
            b = np.array([shifted.stored_b(row, float(each)) for row, each in pairs])
            b = (b - b.mean()).astype(dtype).astype(np.float64)
            bounded = bound_class_gap_by_norms(problem, design, w, b, self.tol)
            return bounded or bound_class_gap(problem, design, w, b, None, self.tol)

        def next_start(found: LinearResult) -> Start:
            return Start(found.w, found.b)

        start = self._class_start(shifted, problem)
        return [until_bounded(solve, bound, next_start, self.tol, self.max_iter, start)]

    def _class_start(self, shifted: ShiftedDesign, problem: Multinomial) -> Start | None:
        """The last model, where ``warm_start`` asks for it and it has the same shape."""
        last = getattr(self, "_last", None) if self.warm_start else None
        shape = problem.n_classes, shifted.design.d
        if last is None or last.models[0].solution.w.shape != shape:
            return None
        w = last.models[0].solution.w
        pairs = zip(w, last.stored_b[0], strict=True)
        b = np.array([shifted.seen_b(row, float(each)) for row, each in pairs])
        return Start(w, b - b.mean())

    def _coefficients(self, results: Sequence[LinearResult]) -> tuple[np.ndarray, np.ndarray]:
        if not self._is_multinomial:
            return super()._coefficients(results)
        return results[0].w, np.asarray(results[0].b)

    def _certify(
        self,
        tasks: Sequence[LinearTask],
        problems: Sequence[Any],
        results: Sequence[LinearResult],
    ) -> Certificate:
        if not self._is_multinomial:
            return super()._certify(tasks, problems, results)
        return certify_multinomial(problems[0], results[0], self.tol)
