"""The intercept in the user's coordinates, of a model that was fitted on centred rows.

For a centrable kernel k(x, z) = k(x − c, z − c) + a(x) + a(z). With coefficients β and s = Σ β
(zero up to rounding),

    Σ β_j k(x_j, x) + b = Σ β_j k(x_j − c, x − c) + [b + Σ β_j a(x_j) + s a(c)] + s (a(x) − a(c)).

The published b belongs to the left side; the bracket is the intercept of the centred model, which
predictions use. Sums are in extended precision where the machine has it. The published b is rounded
to float64, and the model as it is stored is what the certificate speaks of: by how much its values
can differ from those of the solver's is added to their error.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from mercer._result import Result, final_status
from mercer.gram import BlockedGram
from mercer.problems import BoxQP

__all__ = ["InterceptShift"]

_LONG = np.longdouble


@dataclass(frozen=True, eq=False)
class InterceptShift:
    """The intercept of one task.

    Attributes
    ----------
    b : float
        Of the centred model.
    published : float
        In the user's coordinates.
    error : float
        How far values of the stored model can be from those of the solver's.
    spread : float
        The part of it that differs from row to row.
    norm_error : float
        How far ‖w‖² can be apart.
    """

    b: float
    published: float
    error: float = 0.0
    spread: float = 0.0
    norm_error: float = 0.0

    @classmethod
    def of(
        cls, gram: BlockedGram, rows: np.ndarray | None, coef: np.ndarray, b: float
    ) -> InterceptShift:
        """Of a model with coefficients of some rows (None: of all) and the centred intercept b."""
        origin = gram.points.origin
        if origin is None or gram.kernel.is_shift_invariant:
            return cls(b, b)
        c = origin.astype(_LONG)
        support = np.flatnonzero(coef)
        beta = coef[support].astype(_LONG)
        support = support if rows is None else rows[support]
        centred = gram.points.X[support].astype(_LONG) - c
        terms, at_centre = gram.kernel.shift_terms(centred, c)
        drift = _LONG(math.fsum(coef.tolist()))
        shift = (beta * terms).sum() + 2 * drift * at_centre
        with np.errstate(over="ignore", invalid="ignore"):
            published = float(_LONG(b) - shift)
            again = float(_LONG(published) + shift)
        rounding = (c.size + support.size + 8) * np.finfo(_LONG).eps
        sizes, _ = gram.kernel.shift_terms(np.abs(centred), np.abs(c))
        lost = float(rounding * (np.abs(beta) @ sizes + abs(drift) * abs(2 * at_centre)))
        error, spread, norm_error = abs(again - b) + lost, 0.0, 0.0
        if drift:
            # ‖w‖² of the stored model is that of centred rows and 2 s Σ β a(x).
            of_rows = float(abs((beta * terms).sum() + drift * at_centre)) + lost
            norm_error = 2 * abs(float(drift)) * of_rows * (1 + 1e-6)
            everyone = gram.points.rows(slice(0, gram.points.n), np.float64)
            largest = np.abs(gram.kernel.shift_terms(everyone, origin)[0]).max()
            spread = float(abs(drift) * largest) * (1 + 1e-6)
        return cls(again, published, error + spread, spread, norm_error)

    def widen(self, problem: BoxQP, result: Result, tol: float | None) -> Result:
        """The result with that error, in the scale of the problem (ν-SVC publishes β/ρ).

        ``tol`` is that of the violation, None if another measure decides on the status.
        """
        if self.error == 0 and self.norm_error == 0:
            return result
        scale = 1.0
        if problem.row is None and problem.n_groups == 2:
            rho = float(result.b[1] - result.b[0]) / 2
            scale = rho if rho > 0 else 1.0  # β itself is published where ρ is not positive
        violation = result.violation + 2 * self.spread * scale
        status = result.status if tol is None else final_status(result.status, violation, tol)
        f_error = result.f_error + self.error * scale
        norm_error = self.norm_error * scale**2
        return replace(
            result, f_error=f_error, violation=violation, status=status, norm_error=norm_error
        )
