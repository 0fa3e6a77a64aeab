"""What the doctor reports: findings, the estimated time of a fit, and both as plain text."""

from __future__ import annotations

import math
from dataclasses import dataclass

from mercer.data._column_statistics import Finding

__all__ = ["Estimate", "Report", "sorted_by_severity"]

SEVERITIES = ("error", "warning", "note")


@dataclass(frozen=True)
class Estimate:
    """The time of an exact fit on all rows, extrapolated from the fit of a sample.

    Attributes
    ----------
    seconds : (float, float)
        An estimate, not a bound: the fit probably takes between these. The second is infinite if
        the sample was not solved in its time.
    rows : int
        Of the data.
    sample_rows : int
    sample_seconds : float
        Of the sample's fit.
    support_fraction : float
        Support vectors of the sample, as a fraction of its rows (of several classes, over all
        binary tasks).
    is_solved : bool
        Whether the sample was solved in its time.
    """

    seconds: tuple[float, float]
    rows: int
    sample_rows: int
    sample_seconds: float
    support_fraction: float
    is_solved: bool

    def __repr__(self) -> str:
        low, high = (_duration(t) for t in self.seconds)
        if not math.isfinite(self.seconds[1]):
            return (
                f"no estimate of the time of an exact fit on {self.rows:,} rows: a sample of "
                f"{self.sample_rows:,} rows was not solved in {self.sample_seconds:.2g} s, so it "
                f"takes more than {low}"
            )
        time = low if low == high else f"{low} to {high}"
        support = f"of which {self.support_fraction:.0%} are support vectors"
        if self.sample_rows == self.rows:
            return f"time of an exact fit on all {self.rows:,} rows: {time}, {support}"
        return (
            f"estimated time of an exact fit on {self.rows:,} rows: {time} (extrapolated from "
            f"{self.sample_rows:,} rows fitted in {self.sample_seconds:.2g} s, {support})"
        )


@dataclass(frozen=True, repr=False)
class Report:
    """The doctor's report; print it.

    Attributes
    ----------
    subject : str
        What was checked.
    findings : tuple of Finding
        Errors first, then warnings, then notes.
    estimate : Estimate or None
        None while there are errors: a fit would fail.
    """

    subject: str
    findings: tuple[Finding, ...]
    estimate: Estimate | None

    @property
    def is_healthy(self) -> bool:
        """Whether there are neither errors nor warnings."""
        return all(finding.severity == "note" for finding in self.findings)

    def __repr__(self) -> str:
        lines = [self.subject]
        lines += [f"  {finding!r}" for finding in self.findings] or ["  nothing found"]
        missing = "no estimate of the time before the errors are repaired"
        return "\n".join([*lines, repr(self.estimate) if self.estimate else missing])


def sorted_by_severity(findings: list[Finding]) -> tuple[Finding, ...]:
    return tuple(sorted(findings, key=lambda finding: SEVERITIES.index(finding.severity)))


def _duration(seconds: float) -> str:
    for unit, length in (("h", 3600.0), ("min", 60.0)):
        if seconds >= 1.5 * length:
            return f"{seconds / length:.2g} {unit}"
    return f"{seconds:.2g} s" if seconds >= 0.01 else "0.01 s"
