"""Which method fits the shape of the data, and the reason in words."""

from __future__ import annotations

from typing import Any

from mercer.problems._losses import LOGISTIC, TUBE
from mercer.solvers.linear._coordinate_descent import Descent
from mercer.solvers.linear._design_matrix import Rows
from mercer.solvers.linear._newton import Newton
from mercer.solvers.linear._smooth_newton import DIRECT_COLUMNS
from mercer.solvers.linear._two_phase import Both

__all__ = ["choose"]

# With more columns coordinate descent is ahead at first.
NEWTON_COLUMNS = 400


def choose(
    rows: Rows, kind: int, dual: bool | str, tol: float, max_iter: int, seed: int
) -> tuple[Any, str]:
    """The solver, and why. ``dual`` True or False asks for one; "auto" leaves it to the shape."""
    newton, descent = Newton(tol, max_iter, seed), Descent(tol, max_iter, seed)
    shape = f"{rows.n:,} {'sparse' if rows.is_sparse else 'dense'} rows of {rows.d:,} columns"
    equations = f"{rows.d:,} × {rows.d:,} equations"
    if kind == LOGISTIC:
        how = equations if rows.d <= DIRECT_COLUMNS else "conjugate gradients"
        return newton, f"Newton with {how}: the loss is smooth"
    if dual is True:
        return descent, "dual coordinate descent: asked for (dual=True)"
    if dual is False:
        return newton, "Newton: asked for (dual=False)"
    most = NEWTON_COLUMNS if kind == TUBE else DIRECT_COLUMNS
    if rows.d <= most and rows.n >= rows.d:
        method = "proximal Newton" if kind == TUBE else "semismooth Newton"
        return newton, f"{method} with {equations}: {shape}"
    if kind == TUBE:
        both = Both(tol, max_iter, seed)
        return both, f"dual coordinate descent, then proximal Newton: {shape}"
    return descent, f"dual coordinate descent: {shape}"
