"""Certificates in words: one line, and the numbers for who asks (``--full``)."""

from __future__ import annotations

import math
from typing import Any

from sklearn.base import is_classifier

from mercer.certificates._certificate import Certificate
from mercer.cli._output import count, plain, table
from mercer.cli._progress import measure_of

__all__ = ["certificate_of", "describe_certificate", "headline", "is_unfinished"]


def certificate_of(model: Any) -> Any:
    """The certificate of a model, or None."""
    return getattr(model, "certificate_", None)


def is_unfinished(model: Any) -> bool:
    """Whether the fit stopped before its tolerance."""
    if hasattr(model, "fit_status_"):
        return bool(model.fit_status_)
    certificate = certificate_of(model)
    return certificate is not None and not certificate.status.is_solved


def headline(certificate: Any, tol: float | None = None) -> str:
    """What is proved, in one sentence; ``tol`` is that of a fit which ends by its violation."""
    status, gap = certificate.status, getattr(certificate, "relative_gap", None)
    if gap is None:
        residual = getattr(certificate, "residual", math.nan)
        return f"{status}: the residual is at most {residual:.2g} of the right-hand side"
    tasks = getattr(certificate, "tasks", ())
    of = f"each of {len(tasks)} tasks is " if tasks else ""
    optimum = "its optimum" if tasks else "the optimum"
    if not math.isfinite(gap):
        return f"{status}: nothing is proved about the distance from the optimum"
    text = f"{status}: {of}within {percent(gap)} of {optimum}"
    if status.is_solved and tol is not None and gap > 1e-3:
        text += (
            f" (the fit ends when no optimality condition is violated by more than tol={tol:g}; "
            "a smaller --tol brings the objective closer)"
        )
    return text


def percent(ratio: float) -> str:
    """A ratio in percent, rounded up to two digits: it stays a bound."""
    value = max(100 * ratio, 1e-4)
    digit = 10.0 ** (math.floor(math.log10(value)) - 1)
    return f"{math.ceil(round(value / digit, 6)) * digit:.2g} %"


def describe_certificate(model: Any, full: bool, certificate: Any = None) -> str:
    """The sentence about a model's certificate (or another one of it), and all numbers of it."""
    certificate = certificate_of(model) if certificate is None else certificate
    if certificate is None:
        return f"{type(model).__name__} minimises no objective, so there is no certificate."
    text = headline(certificate, model.tol if measure_of(model) == "violation" else None)
    if not full:
        return text
    if not isinstance(certificate, Certificate):
        values = plain(certificate).items()
        rows = {f"  {k}": f"{v:.6g}" if isinstance(v, float) else v for k, v in values}
        return f"{text}\n{table(rows)}"
    return "\n".join([text, table(_rows(certificate, model)), *_task_lines(certificate.tasks)])


def _rows(found: Certificate, model: Any) -> dict[str, str]:
    total, worst = "", ""
    if found.tasks:
        total, worst = f", the sum over {len(found.tasks)} tasks", ", the largest of a task"
    n = found.n_zero + found.n_support
    rows = {
        "primal": f"{found.primal:.10g}{total}",
        "dual": f"{found.dual:.10g}{total}",
        "gap": f"{found.gap:.3g}{total}",
        "relative gap": f"{found.relative_gap:.3g}{worst}",
        "KKT violation": f"{found.kkt_violation:.3g}{worst}",
    }
    if is_classifier(model):
        rows["margin 2/‖w‖"] = f"{found.margin:.6g}{', the smallest of a task' if total else ''}"
    if not found.tasks:
        low, high = found.bias_interval
        rows["bias interval"] = f"[{low:.6g}, {high:.6g}]"
    rows["coefficients"] = (
        f"{n:,}: {found.n_zero:,} zero, {found.n_free:,} free, {found.n_bound:,} at the bound"
    )
    if found.iterations:
        rows["effort"] = f"{count(found.iterations, found.unit)}, {count(found.rounds, 'rounds')}"
    return {f"  {label}": value for label, value in rows.items()}


def _task_lines(tasks: tuple[Certificate, ...], most: int = 12) -> list[str]:
    """The tasks with the largest relative gaps."""
    shown = sorted(tasks, key=lambda task: -task.relative_gap)[:most]
    width = max([4, *(len(task.name) for task in shown)])
    lines = [f"  {'task':<{width}}  relative gap  violation   support  status"]
    lines += [
        f"  {task.name:<{width}}  {task.relative_gap:>12.3g}  {task.kkt_violation:>9.3g}  "
        f"{task.n_support:>8,}  {task.status}"
        for task in shown
    ]
    if len(tasks) > most:
        lines.append(f"  and {len(tasks) - most} more with smaller relative gaps")
    return lines if tasks else []
