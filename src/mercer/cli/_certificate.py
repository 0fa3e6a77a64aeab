"""Certificates in words: one line, and the numbers for who asks (``--full``)."""

from __future__ import annotations

import math
from typing import Any

from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline

from mercer._result import Status
from mercer.certificates._statement import percent
from mercer.cli._output import table
from mercer.cli._progress import measure_of

__all__ = [
    "certificate_of",
    "describe_certificate",
    "headline",
    "is_unfinished",
    "last_step",
    "was_interrupted",
]


def last_step(model: Any) -> Any:
    """The estimator itself, or the last step of a pipeline."""
    return model.steps[-1][1] if isinstance(model, Pipeline) else model


def certificate_of(model: Any) -> Any:
    """The certificate of a model, or None."""
    return getattr(last_step(model), "certificate_", None)


def is_unfinished(model: Any) -> bool:
    """Whether the fit stopped before its tolerance."""
    model = last_step(model)
    if hasattr(model, "fit_status_"):
        return bool(model.fit_status_)
    certificate = certificate_of(model)
    return certificate is not None and not certificate.status.is_solved


def was_interrupted(model: Any) -> bool:
    """Whether Ctrl-C ended the fit."""
    return getattr(certificate_of(model), "status", None) is Status.STOPPED


def headline(certificate: Any, tol: float | None = None) -> str:
    """What is proved, in one sentence; ``tol`` is that of a fit which ends by its violation."""
    status, gap = certificate.status, getattr(certificate, "relative_gap", None)
    if gap is None:
        residual = getattr(certificate, "residual", math.nan)
        return f"{status}: the residual is at most {residual:.2g} of the right-hand side"
    tasks = getattr(certificate, "tasks", ())
    of = f"each of {len(tasks)} tasks is " if tasks else ""
    optimum = "its optimum" if tasks else "the optimum"
    if status is Status.NOT_PSD or not math.isfinite(gap):  # weak duality needs convexity
        return f"{status}: nothing is proved about the distance from the optimum"
    text = f"{status}: {of}within {percent(gap)} of {optimum}"
    if status.is_solved and tol is not None and gap > 1e-3:
        text += (
            f" (the fit ends when no optimality condition is violated by more than tol={tol:g}; "
            "a smaller --tol brings the objective closer)"
        )
    return text


def describe_certificate(model: Any, full: bool, certificate: Any = None) -> str:
    """The sentence about a model's certificate (or another one of it), and all numbers of it."""
    certificate = certificate_of(model) if certificate is None else certificate
    model = last_step(model)
    if hasattr(model, "compression_"):
        counts = model.compression_
        return (
            f"compressed from {counts.n_vectors_before:,} to {counts.n_vectors:,} vectors: no "
            "longer the solution of its problem, so there is no certificate."
        )
    if certificate is None:
        return f"{type(model).__name__} minimises no objective, so there is no certificate."
    text = headline(certificate, model.tol if measure_of(model) == "violation" else None)
    if not full:
        return text
    rows = {f"  {label}": value for label, value in certificate.rows()}
    if not is_classifier(model):
        rows.pop("  margin 2/‖w‖", None)
    if "  effort" in rows:  # the seconds, which may be of compiling, are told elsewhere
        rows["  effort"] = rows["  effort"].rpartition(", ")[0]
    return "\n".join([text, table(rows), *certificate._task_lines()])
