"""``mercer verify``: does what the model states about itself hold?"""

from __future__ import annotations

import math
from typing import Any

from mercer.certificate import Certificate
from mercer.cli.fitting import certificate_of
from mercer.cli.guard import Failed
from mercer.cli.output import Voice, table
from mercer.cli.reading import describe, open_both
from mercer.io import Table
from mercer.verification import verify

__all__ = ["broken_claims", "check", "refuse", "run"]

# Sums in another order round otherwise: the same value to this share of it.
ROUNDING = 1e-9
# LIBSVM's violation is of float32 kernels in a solver, of float64 ones here.
VIOLATION = 1.05


def run(model: str, data: str, format: str | None, json: bool, quiet: bool) -> None:
    found, rows = open_both(model, data, format)
    voice = Voice(json, quiet)
    voice.say(table({"model": model, "data": describe(rows)}), command="verify", model=model)
    broken = check(model, found.model, rows, voice)
    voice.end()
    refuse(model, broken)


def check(name: str, model: Any, rows: Table, voice: Voice) -> list[str]:
    """Recompute the certificate of a model and say so; the claims that do not hold."""
    stated = certificate_of(model)
    try:
        proof = verify(model, rows.X, rows.y)
    except TypeError as error:
        raise Failed(f"{name}: {error}") from error
    except ValueError as error:
        raise Failed(f"{rows.name}: {error}") from error
    broken = broken_claims(stated, proof, getattr(model, "tol", 0.0))
    claim = "the gap that the model states" if isinstance(stated, Certificate) else "the tolerance"
    verdict = "does not hold" if broken else f"holds: recomputed in float64, within {claim}"
    voice.say(
        f"{proof}\n{table({'verdict': verdict})}",
        data=rows.name, stated=stated, found=proof, holds=not broken, broken=broken,
    )  # fmt: skip
    return broken


def refuse(name: str, broken: list[str]) -> None:
    """End with an error if a claim does not hold."""
    if broken:
        raise Failed(f"{name}: the claim does not hold: {'; '.join(broken)}")


def broken_claims(stated: Any, found: Any, tol: float) -> list[str]:
    """Where what was found is worse than stated, or (if nothing is stated) than the tolerance."""
    if not isinstance(found, Certificate):  # of a linear system: residuals
        return [] if found.status.is_solved else [f"it is {found.status}"]
    if not isinstance(stated, Certificate):
        if found.kkt_violation <= VIOLATION * tol:
            return []
        return [f"KKT violation {found.kkt_violation:.3g} exceeds tol={tol:g}"]
    broken = []
    if not math.isclose(found.primal, stated.primal, rel_tol=1e-6, abs_tol=1e-12):
        broken.append(f"the objective is {found.primal:.10g}, stated is {stated.primal:.10g}")
    if not found.gap <= stated.gap * (1 + ROUNDING) + ROUNDING * abs(stated.primal):
        broken.append(f"the gap is {found.gap:.3g}, stated is {stated.gap:.3g}")
    if stated.status.is_solved and not found.status.is_solved:
        broken.append(
            f"it is stated as {stated.status}, but the KKT violation is "
            f"{found.kkt_violation:.3g} (tol={tol:g})"
        )
    return broken
