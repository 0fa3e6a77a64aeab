"""Which method fits the shape of the data, and the reason in words."""

from __future__ import annotations

from typing import Any

from mercer.problems.losses import LOGISTIC, TUBE
from mercer.solvers.linear.descent import Descent
from mercer.solvers.linear.newton import Newton
from mercer.solvers.linear.rows import Rows
from mercer.solvers.linear.smooth import DIRECT_COLUMNS

__all__ = ["choose"]

# With more columns coordinate descent is ahead of interior points.
INTERIOR_COLUMNS = 200


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
        if kind == TUBE and rows.d > DIRECT_COLUMNS:
            raise ValueError(
                f"dual=False needs {equations} for this loss, which pays up to {DIRECT_COLUMNS:,} "
                'columns; use dual="auto", or a squared loss.'
            )
        return newton, "Newton: asked for (dual=False)"
    most = INTERIOR_COLUMNS if kind == TUBE else DIRECT_COLUMNS
    if rows.d <= most and rows.n >= rows.d:
        method = "interior point" if kind == TUBE else "semismooth Newton"
        return newton, f"{method} with {equations}: {shape}"
    return descent, f"dual coordinate descent: {shape}"
