"""``mercer verify``: recompute the certificate of a model, and compare it with the stated one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from mercer._result import Status
from mercer.certificates._box_qp import LATER_DUAL
from mercer.certificates._certificate import Certificate, relative
from mercer.cli._certificate import certificate_of, describe_certificate, last_step
from mercer.cli._errors import CommandError
from mercer.cli._output import Reporter, describe, open_model_and_data, table
from mercer.data import Table
from mercer.verification._verify import VerifiedCertificate, verify

__all__ = ["broken_claims", "check", "refuse", "run"]


@dataclass(frozen=True)
class Slack:
    """Relative rounding that is allowed where `mercer.verify` gives no lower bound.

    Attributes
    ----------
    gap, primal : of stated gaps and objectives of linear models
    violation : of LIBSVM's violation, which is computed from float32 kernel values
    follows : of numbers of a certificate that follow from others
    """

    gap: float = 1e-9
    primal: float = 1e-6
    violation: float = 0.05
    follows: float = 1e-12


SLACK = Slack()


def run(
    model: str,
    data: str,
    format: str | None,
    decimal: str | None,
    full: bool,
    json: bool,
    quiet: bool,
) -> None:
    found, rows = open_model_and_data(model, data, format, decimal, as_fitted=True)
    reporter = Reporter(json, quiet)
    reporter.write(table({"model": model, "data": describe(rows)}), command="verify", model=model)
    broken = check(model, found.model, rows, reporter, full)
    reporter.end()
    refuse(model, broken)


def check(name: str, model: Any, rows: Table, reporter: Reporter, full: bool = False) -> list[str]:
    """Recompute and print the certificate of a model; the stated bounds that do not hold."""
    stated = certificate_of(model)
    try:
        proof = verify(model, rows.X, rows.y)
    except TypeError as error:
        raise CommandError(f"{name}: {error}") from error
    except ValueError as error:
        raise CommandError(f"{rows.name}: {error}") from error
    broken = broken_claims(stated, proof, getattr(last_step(model), "tol", 0.0))
    precision = getattr(proof, "precision", "float64")
    verdict = "holds: objective and gap are not above the stated bounds"
    if not isinstance(stated, Certificate):
        verdict = "holds: the model is within its tolerance"
    text = {
        "recomputed": f"in {precision}, {describe_certificate(model, full, proof)}",
        "verdict": "does not hold" if broken else verdict,
    }
    reporter.write(
        table(text),
        data=rows.name,
        stated=stated,
        found=proof,
        holds=not broken,
        broken=broken,
    )
    return broken


def refuse(name: str, broken: list[str]) -> None:
    """An error if the certificate does not hold."""
    if broken:
        raise CommandError(f"{name}: the certificate does not hold: {'; '.join(broken)}")


def broken_claims(stated: Any, found: Any, tol: float) -> list[str]:
    """The stated bounds that do not hold; if nothing is stated, whether the tolerance does.

    A bound is false only if a lower bound of `mercer.verify` exceeds it: rounding and early stops
    do not make it false.
    """
    if not isinstance(found, Certificate):  # of a linear system: residuals
        return [] if found.status.is_solved else [f"the status is {found.status}"]
    if not isinstance(stated, Certificate):
        if found.kkt_violation <= (1 + SLACK.violation) * tol:
            return []
        return [f"the KKT violation {found.kkt_violation:.3g} exceeds tol={tol:g}"]
    broken = _broken_bounds(stated, found, tol)
    if len(stated.tasks) == len(found.tasks):
        for mine, other in zip(stated.tasks, found.tasks, strict=True):
            broken += [f"{mine.name}: {claim}" for claim in _broken_bounds(mine, other, tol)]
    return broken


def _broken_bounds(stated: Certificate, found: Certificate, tol: float) -> list[str]:
    size = abs(stated.primal) if math.isfinite(stated.primal) else 0.0
    if isinstance(found, VerifiedCertificate):
        primal_low, gap_low, rounding = found.primal_low, found.gap_low, 0.0
        is_unsolved = found.status is Status.NOT_REACHED
    else:
        primal_low, gap_low = found.primal, found.gap
        rounding = SLACK.gap * (size + stated.gap)
        primal_low -= SLACK.primal * size + 1e-12
        is_unsolved = not found.status.is_solved
    broken = []
    if not primal_low <= stated.primal:
        broken.append(f"the objective is {found.primal:.10g}, but {stated.primal:.10g} is stated")
    if not gap_low <= stated.gap + rounding and stated.note != LATER_DUAL:
        broken.append(f"the gap is {found.gap:.3g}, but {stated.gap:.3g} is stated")
    broken += _contradictions(stated, found)
    if stated.status.is_solved and is_unsolved:
        broken.append(
            f"the stated status is {stated.status}, but the KKT violation is "
            f"{found.kkt_violation:.3g} (tol={tol:g})"
        )
    return broken


def _contradictions(stated: Certificate, found: Certificate) -> list[str]:
    """A dual value above the objective, and numbers that do not follow from each other."""
    if not all(map(math.isfinite, (stated.primal, stated.dual, stated.gap, found.primal))):
        return []
    size = abs(stated.primal) + abs(stated.dual) + 1e-300
    ratio = relative(stated.gap, stated.primal)
    broken = []
    if stated.dual > found.primal + SLACK.follows * size:
        broken.append(
            f"the stated dual value {stated.dual:.10g} exceeds the objective {found.primal:.10g}"
        )
    if not stated.tasks and stated.relative_gap < ratio * (1 - SLACK.primal):
        broken.append(f"the stated relative gap {stated.relative_gap:.3g} should be {ratio:.3g}")
    return broken
