"""``mercer verify``: does what the model states about itself hold?"""

from __future__ import annotations

import math
from typing import Any

from mercer.certificates._certificate import Certificate, relative
from mercer.cli._errors import CommandError
from mercer.cli._output import Reporter, certificate_of, describe, open_model_and_data, table
from mercer.data import Table
from mercer.verification._verify import VerifiedCertificate, verify

__all__ = ["broken_claims", "check", "refuse", "run"]

# What a bound may be passed by, relatively, where verify gives no lower bound (linear machines).
ROUNDING = 1e-9
PRIMAL_ROUNDING = 1e-6
# LIBSVM's violation is of float32 kernels in a solver, of float64 ones here.
VIOLATION = 1.05
# What tol may be exceeded by, relatively.
TOL_ROUNDING = 1e-6


def run(model: str, data: str, format: str | None, json: bool, quiet: bool) -> None:
    found, rows = open_model_and_data(model, data, format)
    reporter = Reporter(json, quiet)
    reporter.write(table({"model": model, "data": describe(rows)}), command="verify", model=model)
    broken = check(model, found.model, rows, reporter)
    reporter.end()
    refuse(model, broken)


def check(name: str, model: Any, rows: Table, reporter: Reporter) -> list[str]:
    """Recompute the certificate of a model and say so; the claims that do not hold."""
    stated = certificate_of(model)
    try:
        proof = verify(model, rows.X, rows.y)
    except TypeError as error:
        raise CommandError(f"{name}: {error}") from error
    except ValueError as error:
        raise CommandError(f"{rows.name}: {error}") from error
    broken = broken_claims(stated, proof, getattr(model, "tol", 0.0))
    claim = "the gap that the model states" if isinstance(stated, Certificate) else "the tolerance"
    precision = getattr(proof, "precision", "float64")
    verdict = "does not hold" if broken else f"holds: recomputed in {precision}, within {claim}"
    reporter.write(
        f"{proof}\n{table({'verdict': verdict})}",
        data=rows.name, stated=stated, found=proof, holds=not broken, broken=broken,
    )  # fmt: skip
    return broken


def refuse(name: str, broken: list[str]) -> None:
    """End with an error if a claim does not hold."""
    if broken:
        raise CommandError(f"{name}: the claim does not hold: {'; '.join(broken)}")


def broken_claims(stated: Any, found: Any, tol: float) -> list[str]:
    """The stated bounds that do not hold; if nothing is stated, whether the tolerance does.

    A bound is false only if what was found is certain to be beyond it: the lower bounds of
    `mercer.verify` count, which no rounding and no early stop can bring above what is true.
    """
    if not isinstance(found, Certificate):  # of a linear system: residuals
        return [] if found.status.is_solved else [f"it is {found.status}"]
    if not isinstance(stated, Certificate):
        if found.kkt_violation <= VIOLATION * tol:
            return []
        return [f"KKT violation {found.kkt_violation:.3g} exceeds tol={tol:g}"]
    broken = _broken_bounds(stated, found, tol)
    if len(stated.tasks) == len(found.tasks):
        for mine, other in zip(stated.tasks, found.tasks, strict=True):
            broken += [f"{mine.name}: {claim}" for claim in _broken_bounds(mine, other, tol)]
    return broken


def _broken_bounds(stated: Certificate, found: Certificate, tol: float) -> list[str]:
    size = abs(stated.primal) if math.isfinite(stated.primal) else 0.0
    if isinstance(found, VerifiedCertificate):
        primal_low, gap_low, rounding = found.primal_low, found.gap_low, 0.0
        is_unsolved = found.violation_low > tol * (1 + TOL_ROUNDING) or math.isinf(gap_low)
    else:
        primal_low, gap_low = found.primal, found.gap
        rounding = ROUNDING * (size + stated.gap)
        primal_low -= PRIMAL_ROUNDING * size + 1e-12
        is_unsolved = not found.status.is_solved
    broken = []
    if not primal_low <= stated.primal:
        broken.append(f"the objective is {found.primal:.10g}, stated is {stated.primal:.10g}")
    if not gap_low <= stated.gap + rounding:
        broken.append(f"the gap is {found.gap:.3g}, stated is {stated.gap:.3g}")
    broken += _contradictions(stated, found)
    if stated.status.is_solved and is_unsolved:
        broken.append(
            f"it is stated as {stated.status}, but the KKT violation is "
            f"{found.kkt_violation:.3g} (tol={tol:g})"
        )
    return broken


def _contradictions(stated: Certificate, found: Certificate) -> list[str]:
    """A dual value above the objective, and numbers that do not follow from each other."""
    if not all(map(math.isfinite, (stated.primal, stated.dual, stated.gap, found.primal))):
        return []
    size = abs(stated.primal) + abs(stated.dual) + 1e-300
    broken = []
    if stated.dual > found.primal + 1e-12 * size:
        broken.append(f"the dual value is stated as {stated.dual:.10g}, but the objective is "
                      f"{found.primal:.10g}")  # fmt: skip
    if stated.gap < (stated.primal - stated.dual) - PRIMAL_ROUNDING * size:
        broken.append(f"the gap is stated as {stated.gap:.3g}, but primal − dual is "
                      f"{stated.primal - stated.dual:.3g}")  # fmt: skip
    if not stated.tasks and stated.relative_gap < relative(stated.gap, stated.primal) * (1 - 1e-6):
        broken.append(f"the relative gap is stated as {stated.relative_gap:.3g}, but follows as "
                      f"{relative(stated.gap, stated.primal):.3g}")  # fmt: skip
    return broken
