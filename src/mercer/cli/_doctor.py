"""``mercer doctor``: what will hurt, before a fit."""

from __future__ import annotations

from typing import Any

from mercer.cli._errors import Failed
from mercer.cli._output import Voice
from mercer.cli._reading import describe, read
from mercer.cli._train import as_gamma
from mercer.diagnostics import doctor

__all__ = ["run"]


def run(kernel: str | None, C: float | None, gamma: str | None, json: bool, **how: Any) -> None:
    data = read(how)
    parameters = {"kernel": kernel, "C": C, "gamma": as_gamma(gamma)}
    given = {name: value for name, value in parameters.items() if value is not None}
    report = doctor(data.X, data.y, feature_names=data.schema.feature_names, **given)
    voice = Voice(json)
    as_they_are = ", as train does; --scale none looks at them as they are"
    hint = as_they_are if data.schema.scaling and not how["scale"] else ""
    voice.say(
        f"{describe(data)}{hint}\n{report}",
        command="doctor", data=data.name, subject=report.subject, healthy=report.is_healthy,
        findings=report.findings, estimates=report.estimates,
    )  # fmt: skip
    voice.end()
    errors = [finding for finding in report.findings if finding.severity == "error"]
    if errors:
        raise Failed(f"{data.name}: a fit would fail: {errors[0]!r}")
