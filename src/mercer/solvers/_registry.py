"""Solvers by name, and the choice of "auto" with its reason."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

from mercer.kernels._registry import NameView, load_path
from mercer.solvers.smo._solver import SMO

__all__ = ["NAMES", "Choice", "SolverNames", "choose", "make_solver", "register_solver"]

# The class of each name by its path, imported when it is used.
NAMES = {
    "smo": "mercer.solvers.smo:SMO",
    "platt": "mercer.solvers._platt:Platt",
    "qp": "mercer.solvers._interior_point:QP",
    "qp-primal": "mercer.solvers._interior_point:QPPrimal",
    "projected-gradient": "mercer.solvers._projected_gradient:ProjectedGradient",
    "projected-gradient-plain": "mercer.solvers._projected_gradient:PlainProjectedGradient",
    "coordinate-ascent": "mercer.solvers._coordinate_ascent:CoordinateAscent",
    "pegasos": "mercer.solvers.pegasos:Pegasos",
}


def register_solver(name: str, path: str) -> None:
    """Add a solver of the problems of SVMs. Its name must be new."""
    if name in SolverNames():
        raise ValueError(f"there is a solver {name!r} already: {NAMES.get(name, 'the default')}.")
    NAMES[name] = path


class SolverNames(NameView):
    """What ``solver=`` takes."""

    registry: ClassVar[dict[str, Any]] = NAMES
    also = ("auto",)


@dataclass(frozen=True)
class Choice:
    """Which solver was used, and why.

    Examples
    --------
    >>> Choice("smo", "asked for")
    smo: asked for
    """

    name: str
    reason: str

    def __repr__(self) -> str:
        return f"{self.name}: {self.reason}"


def choose(solver: Any, n_variables: int) -> Choice:
    """What ``solver`` means for a fit whose largest task has ``n_variables``."""
    if not isinstance(solver, str):
        return Choice(solver.name, f"asked for, as {solver!r}")
    if solver != "auto":
        return Choice(solver, "asked for")
    most = SMO().settings.dense_variables
    if n_variables <= most:
        return Choice("smo", f"the kernel matrix of {n_variables:,} variables is held whole")
    return Choice(
        "smo",
        f"{n_variables:,} variables are more than the {most:,} whose whole kernel "
        "matrix is solved at once; on working sets nothing of that size is held",
    )


def make_solver(
    solver: Any,
    tol: float,
    max_iter: int,
    cache_bytes: int,
    shrinking: bool,
    gap_tol: float | None = None,
) -> Any:
    """The solver of this name, or this object, with an estimator's limits."""
    if solver in ("auto", "smo"):
        return SMO(tol, max_iter, cache_bytes, shrinking, gap_tol)
    if gap_tol is not None and not isinstance(solver, SMO):
        raise ValueError(
            f"gap_tol={gap_tol:g} cannot be combined with solver={solver!r}, which stops at tol; "
            "use solver='smo'."
        )
    if isinstance(solver, str):
        return load_path(NAMES[solver])(tol=tol, max_iter=max_iter)
    limits: dict[str, Any] = {"tol": tol, "max_iter": max_iter}
    if isinstance(solver, SMO):
        limits["gap_tol"] = gap_tol
    for field in fields(solver):
        if field.name in limits and getattr(solver, field.name) not in (
            field.default,
            limits[field.name],
        ):
            raise ValueError(
                f"{field.name}={getattr(solver, field.name)!r} of {solver!r} contradicts the "
                f"estimator's {field.name}={limits[field.name]!r}, which decides; set it there."
            )
    return replace(solver, **limits)
