"""The equations of a Newton step, (I + XᵀDX) step = −gradient, bordered by the intercept.

XᵀDX is most of the work. D of a squared loss is 2C at the rows outside their interval and 0 at the
others: after a step it differs at few rows, which are added to the matrix and subtracted from it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import LinAlgError
from scipy.linalg.lapack import dpotrf, dpotrs

from mercer.solvers.linear._design_matrix import DesignMatrix

if TYPE_CHECKING:
    from mercer.solvers.linear._smooth_newton import NewtonSettings

__all__ = ["NewtonGram", "factor_newton_equations", "newton_factor", "weighted_gram"]

# The first multiple of the identity added to the Newton equations, by the precision of XᵀDX, and
# its growth where the factorisation fails.
_RIDGE = {np.float32: 1e-8, np.float64: 1e-13}
_RIDGE_GROWTH = 30.0


class NewtonGram:
    """XᵀDX at the D of each step: the last one plus and minus the rows whose D changed.

    In float32 its rounding may be more than the identity adds in directions in which columns are
    nearly dependent. Where a float32 matrix has been changed once and a further step is needed, it
    is computed in float64, which the changes keep; and it is computed again where a column has lost
    most of its square, whose rounding stays behind.
    """

    def __init__(self, design: DesignMatrix, settings: NewtonSettings):
        self.design, self.settings = design, settings
        self.gram: np.ndarray | None = None
        self._D: np.ndarray | None = None
        self._largest = np.zeros(0)  # diagonal entries since the matrix was computed
        self._ridge, self._updates = 0.0, 0

    def at(self, D: np.ndarray, used: int) -> tuple[np.ndarray, float]:
        """XᵀDX, of which ``used`` rows have D ≠ 0, and the ridge that its rounding asks for."""
        is_single = self._ridge == _RIDGE[np.float32]
        changed = None
        if self._is_close(D, used) and not (is_single and self._updates > 0):
            changed = self._changed(D)
        if changed is not None:
            self.gram, self._updates = changed, self._updates + 1
        else:
            dtype = np.float32 if used > self.settings.float32_rows else np.float64
            if is_single and self._updates > 0:
                dtype = np.float64
            self.gram, self._ridge = self.design.weighted_gram(D, dtype), _RIDGE[dtype]
            self._largest, self._updates = self.gram.diagonal(), 0
        self._D = D.copy() if self.design.n >= self.settings.gram_update_rows else None
        return self.gram, self._ridge

    def _is_close(self, D: np.ndarray, used: int) -> bool:
        """Whether few rows have another D than at the last step."""
        if self._D is None:
            return False
        limit = self.settings.gram_update_fraction * used
        return bool(np.count_nonzero(D != self._D) <= limit)

    def _changed(self, D: np.ndarray) -> np.ndarray | None:
        """The last matrix with these rows added and subtracted; None if that loses digits."""
        gram, change = self.gram, D - self._D
        assert gram is not None
        for sign in (1.0, -1.0):
            part = np.maximum(sign * change, 0.0)
            if part.any():
                gram = gram + sign * self.design.weighted_gram(part)
                self._largest = np.maximum(self._largest, gram.diagonal())
        is_lost = gram.diagonal() < self.settings.gram_lost_square * self._largest
        return None if is_lost.any() else gram


def weighted_gram(
    design: DesignMatrix, D: np.ndarray, used: int, settings: NewtonSettings
) -> tuple[np.ndarray, float]:
    """XᵀDX, of which ``used`` rows have D ≠ 0, and the ridge that its rounding asks for."""
    dtype = np.float32 if used > settings.float32_rows else np.float64
    return design.weighted_gram(D, dtype), _RIDGE[dtype]


def factor_newton_equations(
    gram: np.ndarray, penalty: float | None, extra_b: float = 0.0, ridge: float = _RIDGE[np.float32]
) -> Callable[[np.ndarray, float], tuple[np.ndarray, float]]:
    """Factorise I + XᵀDX, bordered by the intercept; the function that solves with it."""
    d, factor = len(gram) - 1, newton_factor(gram, penalty, extra_b, ridge)

    def solve(right_w: np.ndarray, right_b: float) -> tuple[np.ndarray, float]:
        if penalty is None:
            return dpotrs(factor, right_w)[0], 0.0
        step, _ = dpotrs(factor, np.append(right_w, right_b))
        return step[:d], float(step[d])

    return solve


def newton_factor(
    gram: np.ndarray, penalty: float | None, extra_b: float, ridge: float
) -> np.ndarray:
    """The upper Cholesky factor of I + XᵀDX, bordered by the intercept if there is one."""
    d = len(gram) - 1
    diagonal = gram.diagonal().copy()
    diagonal[:d] += 1.0
    if penalty is None:
        gram, diagonal = gram[:d, :d], diagonal[:d]
    else:
        diagonal[d] += penalty + extra_b
    return _cholesky(gram, diagonal, ridge)


def _cholesky(H: np.ndarray, diagonal: np.ndarray, ridge: float) -> np.ndarray:
    """The factor of H with this diagonal times 1 + the smallest ridge at which it exists.

    The lower triangle is the upper one of the transpose, which LAPACK takes without a copy.
    """
    if not 0 < diagonal.min() <= diagonal.max() < np.inf:
        raise LinAlgError("Newton's equations are not finite")
    while ridge < 1:
        shifted = H.copy()
        shifted.ravel()[:: len(H) + 1] = diagonal * (1 + ridge)
        factor, failed = dpotrf(shifted.T, lower=0, clean=0, overwrite_a=1)
        if not failed:
            return factor
        ridge *= _RIDGE_GROWTH
    raise LinAlgError("Newton's equations are not finite")
