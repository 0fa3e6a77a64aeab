"""What the doctor says: findings, expected costs, and both as plain text."""

from __future__ import annotations

from dataclasses import dataclass

from mercer.data._column_statistics import Finding

__all__ = ["Estimate", "Report"]

SEVERITIES = ("error", "warning", "note")


@dataclass(frozen=True)
class Estimate:
    """What one way to a model will take.

    Attributes
    ----------
    route : str
        "exact", "approximate", "linear" or "stream".
    seconds : (float, float)
        Between these, most likely.
    memory_bytes : int
        At the most at one time, with the rows as they were given.
    how : str
        By which estimator, and what the figures rest on.
    """

    route: str
    seconds: tuple[float, float]
    memory_bytes: int
    how: str

    def __repr__(self) -> str:
        low, high = (_duration(t) for t in self.seconds)
        time = low if low == high else f"{low} to {high}"
        return f"{self.route}: {time}, {_size(self.memory_bytes)}; {self.how}"


@dataclass(frozen=True, repr=False)
class Report:
    """The doctor's report; print it.

    Attributes
    ----------
    subject : str
        What was looked at.
    findings : tuple of Finding
        Errors first, then warnings, then notes.
    estimates : tuple of Estimate
        None of them while there are errors: a fit would fail.
    """

    subject: str
    findings: tuple[Finding, ...]
    estimates: tuple[Estimate, ...]

    @property
    def is_healthy(self) -> bool:
        """Whether there are neither errors nor warnings."""
        return all(finding.severity == "note" for finding in self.findings)

    def __repr__(self) -> str:
        lines = [self.subject]
        lines += [f"  {finding!r}" for finding in self.findings] or ["  nothing found"]
        if self.estimates:
            lines += ["expected time and memory:"]
            lines += [f"  {estimate!r}" for estimate in self.estimates]
        else:
            lines += ["no estimate of time and memory before the errors are repaired"]
        return "\n".join(lines)


def by_severity(findings: list[Finding]) -> tuple[Finding, ...]:
    """In the order in which they matter."""
    return tuple(sorted(findings, key=lambda finding: SEVERITIES.index(finding.severity)))


def _duration(seconds: float) -> str:
    for unit, length in (("h", 3600.0), ("min", 60.0)):
        if seconds >= 1.5 * length:
            return f"{seconds / length:.2g} {unit}"
    return f"{seconds:.2g} s" if seconds >= 0.01 else "0.01 s"


def _size(n_bytes: int) -> str:
    return f"{n_bytes / 1e9:.2g} GB" if n_bytes >= 1e9 else f"{max(n_bytes / 1e6, 1):.0f} MB"
