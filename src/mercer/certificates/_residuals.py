"""Certificates of linear systems and of eigenvectors, by bounds on their residuals.

A residual is stated as the one computed in float64 plus a bound on what rounding did to the kernel
values and to their sums (`mercer.gram._entry_error`): the true one is not larger. Whether a fit is
solved follows from that and nothing else (`mercer._result.final_status`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._precision import EPS
from mercer._result import Status, final_status
from mercer.certificates._certificate import ROUNDING
from mercer.certificates._statement import Statement, distance_said
from mercer.problems import Ridge

__all__ = ["EigenCertificate", "RidgeCertificate", "RidgeSolution", "certify_ridge"]


@dataclass(frozen=True, eq=False)
class RidgeSolution:
    """Coefficients and f = K coef (n × m, float64), and how they were computed."""

    coef: np.ndarray
    f: np.ndarray
    error: np.ndarray  # a bound on ‖D(f̂ − f)‖ of each target, D = diag(√s)
    status: Status  # why the solver stopped
    solver: str
    iterations: int = 0
    # Of targets with α = 0, whose system may be singular and is then solved by least squares: a
    # bound on ‖DK S r‖ over ‖DKD‖ ‖Dy‖, else infinite.
    gradient: np.ndarray | None = None


@dataclass(frozen=True, eq=False, repr=False)
class RidgeCertificate(Statement):
    """What is proved about a fitted kernel ridge regression.

    Attributes
    ----------
    primal, dual : float
        The optimal value of ½ Σ s (y − f)² + ½ α ‖w‖² (summed over targets) lies between them, if K
        is positive semidefinite; the value of the model is at most ``primal``.
    gap : float
        The model's value is at most this much above the optimal one: ½ Σ s r², with r the residual
        y − (K + αS⁻¹)c, rounding included. (``primal − dual`` also holds what rounding does to the
        value itself.)
    relative_gap : float
        ``gap / primal``.
    residual : float
        A bound on ‖r‖ / ‖y‖ in the norm weighted by s, the largest of all targets; rounding of the
        kernel values and of their sums is part of it.
    status : Status
        "solved" if ``residual`` is at most ``tol``; else what stopped the solver.
    solver : str
        That gave the solution.
    iterations : int
        Of conjugate gradients.
    seconds : float
    distance_to_exact, exact_primal, distance_note
        Of a model on features (``approximation``) as in `Certificate`; ``primal``, ``dual``,
        ``gap`` and ``residual`` are those of its own normal equations.
    """

    primal: float
    dual: float
    gap: float
    relative_gap: float
    residual: float
    status: Status
    solver: str
    iterations: int
    seconds: float
    note: str = ""
    distance_to_exact: float | None = None
    exact_primal: float = np.nan
    distance_note: str = ""

    def rows(self) -> list[tuple[str, str]]:
        """What is shown of it: labels and values."""
        said = distance_said(self.distance_to_exact, self.exact_primal, self.distance_note)
        return [
            *([("exact optimum", said)] if said else []),
            ("primal", f"{self.primal:.10g}"),
            ("dual", f"{self.dual:.10g}"),
            ("gap", f"{self.gap:.3g}   relative {self.relative_gap:.3g}"),
            ("residual", f"{self.residual:.3g} of ‖y‖"),
            ("effort", f"{self.solver}, {self.iterations:,} iterations, {self.seconds:.3g} s"),
        ]

    @classmethod
    def of(cls, primal: float, dual: float, gap: float, residual: float, **how: Any) -> Any:
        """With its relative gap; ``how``: status, solver, iterations, seconds."""
        part = 0.0 if primal <= 0 else np.inf
        if 0 < primal < np.inf:
            part = gap / primal
        return cls(primal, dual, gap, part, residual, **how)


@dataclass(frozen=True, eq=False, repr=False)
class EigenCertificate(Statement):
    """What is proved about the eigenpairs of a kernel PCA.

    Around each eigenvalue given there is a true one within its residual; an eigenvector is off by
    at most its residual over the distance to the other eigenvalues.

    Attributes
    ----------
    residuals : tuple of float
        A bound on ‖K v − λ v‖ of each unit eigenvector, K centred; rounding of the kernel values
        and of their sums is part of it.
    relative_residual : float
        The largest of them over the largest eigenvalue.
    status : Status
    solver : str
    iterations : int
        Products of K with a block of vectors.
    seconds : float
    """

    residuals: tuple[float, ...]
    relative_residual: float
    status: Status
    solver: str
    iterations: int
    seconds: float
    note: str = ""

    def rows(self) -> list[tuple[str, str]]:
        """What is shown of it: labels and values."""
        return [
            ("eigenpairs", f"{len(self.residuals):,}"),
            ("residual", f"{self.relative_residual:.3g} of the largest eigenvalue, at most"),
            ("effort", f"{self.solver}, {self.iterations:,} products, {self.seconds:.3g} s"),
        ]

    @classmethod
    def of(cls, values: np.ndarray, residuals: np.ndarray, **how: Any) -> Any:
        """Of eigenvalues and residuals; ``how``: status, solver, iterations, seconds."""
        largest = float(values.max(initial=0.0))
        relative = float(residuals.max(initial=0.0)) / largest if largest > 0 else 0.0
        return cls(tuple(residuals.tolist()), relative, **how)


def certify_ridge(
    problem: Ridge, solution: RidgeSolution, tol: float, is_psd: bool, seconds: float
) -> RidgeCertificate:
    """The certificate of coefficients, by f = K coef and the bound on its error.

    ``is_psd``: whether the kernel is known to be positive semidefinite. Where numbers overflow,
    nothing is known.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        primal, dual, gap, ratios = _ridge_values(problem, solution)
    # A system with α = 0 is also solved if the gradient of least squares is small.
    reached = ratios if solution.gradient is None else np.minimum(ratios, solution.gradient)
    if not np.isfinite([primal, gap]).all():
        primal, dual, gap, reached = np.inf, 0.0, np.inf, np.full(ratios.size, np.inf)
    return RidgeCertificate.of(
        primal,
        dual,
        gap,
        float(np.nan_to_num(ratios, nan=np.inf, posinf=np.inf).max(initial=0.0)),
        status=final_status(solution.status, float(reached.max(initial=0.0)), tol, is_psd),
        solver=solution.solver,
        iterations=solution.iterations,
        seconds=seconds,
    )


def _ridge_values(
    problem: Ridge, solution: RidgeSolution
) -> tuple[float, float, float, np.ndarray]:
    """Primal and dual value, gap, and ‖r‖ / ‖y‖ of each target."""
    D, coef, f = problem.scale[:, np.newaxis], solution.coef, solution.f
    units, safety = ROUNDING.units * EPS, ROUNDING.norms
    shift = problem.alpha * coef / (D * D)
    terms = np.abs(problem.Y) + np.abs(f) + np.abs(shift)
    lost = solution.error + units * problem.norms(terms)
    norms = (problem.norms(problem.Y - f - shift) + lost) * safety
    sizes = problem.norms(problem.Y)
    gap = 0.5 * float(norms @ norms) * safety
    errors, squares = problem.norms(problem.Y - f), np.einsum("ij,ij->j", coef, f)
    spread = np.linalg.norm(coef / D, axis=0) * lost
    spread += len(f) * units * np.einsum("ij,ij->j", np.abs(coef), np.abs(f))
    primal, least = (
        0.5
        * float(
            np.sum(np.maximum(errors + sign * lost, 0.0) ** 2)
            + problem.alpha @ np.maximum(squares + sign * spread, 0.0)
        )
        for sign in (1, -1)
    )
    rounding = (len(f) + 8) * units * primal
    primal, least = primal + rounding, least - rounding
    ratios = np.divide(norms, sizes, out=np.zeros_like(norms), where=sizes > 0)
    return primal, max(least - gap, 0.0), gap, ratios
