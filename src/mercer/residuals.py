"""How good: certificates of linear systems and of eigenvectors, by their float64 residuals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer.problems import Ridge
from mercer.result import Status

__all__ = ["EigenCertificate", "RidgeCertificate", "certify_ridge"]


@dataclass(frozen=True)
class RidgeCertificate:
    """What is proved about a fitted kernel ridge regression.

    Attributes
    ----------
    primal, dual : float
        The optimal value of ½ Σ s (y − f)² + ½ α ‖w‖² (summed over targets) lies between them;
        ``primal`` is that of the model.
    gap : float
        ``primal − dual`` = ½ Σ s r², with r the residual y − (K + αS⁻¹)c.
    relative_gap : float
        ``gap / primal``.
    residual : float
        ‖r‖ / ‖y‖ in the norm weighted by s, the largest of all targets.
    status : Status
    solver : str
        That gave the answer.
    iterations : int
        Of conjugate gradients.
    seconds : float
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


@dataclass(frozen=True)
class EigenCertificate:
    """What is proved about the eigenpairs of a kernel PCA.

    Around each eigenvalue given there is a true one within its residual; an eigenvector is off by
    at most its residual over the distance to the other eigenvalues.

    Attributes
    ----------
    residuals : tuple of float
        ‖K v − λ v‖ of each unit eigenvector, K centred.
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


def certify_ridge(
    problem: Ridge,
    coef: np.ndarray,
    f: np.ndarray,
    status: Status,
    solver: str,
    iterations: int,
    seconds: float,
) -> RidgeCertificate:
    """The certificate of coefficients with f = K coef in float64."""
    D = problem.scale[:, np.newaxis]
    R = D * problem.residual(coef, f)
    squares = np.einsum("ij,ij->j", R, R)
    sizes = np.einsum("ij,ij->j", D * problem.Y, D * problem.Y)
    errors = D * (problem.Y - f)
    primal = 0.5 * float(np.sum(errors**2) + problem.alpha @ np.einsum("ij,ij->j", coef, f))
    gap = 0.5 * float(squares.sum())
    ratios = np.sqrt(np.divide(squares, sizes, out=np.zeros_like(squares), where=sizes > 0))
    return RidgeCertificate(
        primal=primal,
        dual=primal - gap,
        gap=gap,
        relative_gap=gap / primal if primal > 0 else 0.0,
        residual=float(ratios.max(initial=0.0)),
        status=status,
        solver=solver,
        iterations=iterations,
        seconds=seconds,
    )
