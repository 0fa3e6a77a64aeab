"""The joint problem of kernel machines by parts: rounds, certificate, and which rows join."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer._result import Status, final_status
from mercer.certificates._certificate import Certificate, relative
from mercer.dask._chunk import Chunk, join_chunks
from mercer.dask._kernel_parts import (
    JointModel,
    PassReply,
    add_passes,
    bounds_of_pass,
    evaluate_joint,
    solve_joint,
)
from mercer.dask._rounds import Rounds

__all__ = ["JointFit"]

# Violations, as fractions of ``tol``, to which the joint problem is solved and from which on a row
# joins it.
JOINT_TOL, JOIN_FROM = 0.5, 0.25


@dataclass(eq=False)
class JointFit:
    """The rows of every chunk that are joint, and the best certified model so far."""

    rounds: Rounds
    plain: Any
    total_weight: float
    n_classes: int
    chosen: list[np.ndarray]
    max_rows: int
    n_rounds: int = 0
    solved: JointModel | None = None
    places: list[np.ndarray] = field(default_factory=list)
    certificates: list[Certificate] = field(default_factory=list)

    def round(self, tol: float, seconds: float) -> PassReply:
        """Solve the joint problem, and evaluate its model at all rows."""
        sizes = [rows.size for rows in self.chosen]
        starts = np.cumsum([0, *sizes])
        at = [np.arange(a, a + size) for a, size in zip(starts, sizes, strict=False)]
        most = max(64, self.max_rows // (4 * len(self.chosen)))

        def build() -> Any:
            from dask import delayed

            rounds = self.rounds
            take, solve = delayed(Chunk.take, pure=False), delayed(_solve, pure=False)
            parts = zip(rounds.chunks, self.chosen, strict=True)
            joint = rounds._tree([take(chunk, rows) for chunk, rows in parts], join_chunks)
            payload = rounds.payload((self.plain, self.total_weight, JOINT_TOL * tol))
            solved = solve(joint, payload)
            how = rounds.payload(
                (self.plain, (self.chosen, at), (self.n_classes, JOIN_FROM * tol, most))
            )
            one = delayed(_evaluate, pure=False)
            passes = [one(chunk, joint, solved, how) for chunk in rounds.chunks]
            return delayed(_pair, pure=False)(solved, rounds._tree(passes, add_passes))

        self.solved, reply = self.rounds.run(build, halts=self.n_rounds > 0)
        self.n_rounds += 1
        self.places = self.chosen
        self.certificates = self._certify(reply, tol, seconds)
        return reply

    def _certify(self, reply: PassReply, tol: float, seconds: float) -> list[Certificate]:
        solved, found = self.solved, []
        assert solved is not None
        asked = self.plain.nu * self.total_weight if hasattr(self.plain, "nu") else 0.0
        local = solved.model.certificate_
        names = [task.name for task in local.tasks] or [local.name]
        for t, (terms, name) in enumerate(zip(reply.terms, names, strict=True)):
            primal, dual = bounds_of_pass(terms, float(solved.b[t]), asked)
            gap, violation = primal - dual, max(terms.up - terms.down, 0.0)
            if not self.plain.fit_intercept:
                violation = max(terms.up, -terms.down, 0.0)
            status = final_status(Status.NOT_REACHED, violation, tol, solved.kernel.is_psd is True)
            found.append(
                Certificate.of(
                    primal, dual, gap, math.sqrt(max(float(terms.sums[3]), 0.0)),
                    tuple(terms.counts), relative_gap=relative(gap, primal),
                    kkt_violation=violation, name=name, status=status, seconds=seconds,
                    bias_interval=(min(terms.up, terms.down), max(terms.up, terms.down)),
                    iterations=int(np.sum(solved.model.n_iter_)), rounds=self.n_rounds,
                )
            )  # fmt: skip
        return found

    def join(self, reply: PassReply) -> bool:
        """Add the violating rows, the worst ones within the budget; whether there were any."""
        room = self.max_rows - sum(rows.size for rows in self.chosen)
        found = [
            (value, i, row)
            for i, rows, values in reply.violators
            for row, value in zip(rows, values, strict=True)
        ]
        if not found or room <= 0:
            return False
        found.sort(key=lambda each: (-each[0], each[1], each[2]))
        chosen = list(self.chosen)
        new: dict[int, list[int]] = {}
        for _, i, row in found[:room]:
            new.setdefault(i, []).append(int(row))
        for i, rows in new.items():
            chosen[i] = np.unique(np.concatenate([chosen[i], np.array(rows, np.int64)]))
        self.chosen = chosen
        return True


def _solve(joint: Chunk, payload: Any) -> JointModel:
    return solve_joint(joint, *payload.value)


def _evaluate(chunk: Chunk, joint: Chunk, solved: JointModel, payload: Any) -> Any:
    return evaluate_joint(chunk, joint, solved, *payload.value)


def _pair(one: Any, other: Any) -> tuple[Any, Any]:
    return one, other
