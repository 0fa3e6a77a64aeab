"""C and γ against the scale of the data, from kernel values between some rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._precision import TINY
from mercer.data._column_statistics import Finding
from mercer.diagnostics._settings import Thresholds
from mercer.estimators._convergence import LARGE_C
from mercer.kernels import RBF, Kernel
from mercer.kernels._samples import Samples

__all__ = ["KernelStatistics", "check_C", "check_gamma", "kernel_statistics"]


@dataclass(frozen=True)
class KernelStatistics:
    """Kernel values between some rows.

    Attributes
    ----------
    nearest, middle : float
        Kernel value of the nearest row, and of any other row, relative to the mean of k(x, x); the
        median over rows.
    spread : float
        Mean of k(x, x) less mean of k(x, z): the variance of φ(x).
    sq_distance : float
        The median of ‖x − z‖².
    """

    nearest: float
    middle: float
    spread: float
    sq_distance: float


def kernel_statistics(kernel: Kernel, points: Samples, probe_rows: int) -> KernelStatistics:
    """Kernel values of the first ``probe_rows`` samples against all."""
    m = min(probe_rows, points.n)
    probes, all_rows = points.take(slice(0, m)), points.take(slice(0, points.n))
    K = np.empty((m, points.n))
    kernel.tile(probes, all_rows, K)
    itself = np.arange(m)
    own = kernel.diag(probes)
    others = np.ones(K.shape, bool)
    others[itself, itself] = False
    nearest = np.where(others, K, -np.inf).max(axis=1)
    scale = max(float(np.abs(own).mean()), TINY)
    X = points.rows(slice(0, m), np.float64)
    G = X @ X.T
    G = G.toarray() if points.is_sparse else G
    squares = np.diag(G)
    distances = squares[:, None] + squares - 2 * G
    return KernelStatistics(
        nearest=float(np.median(nearest)) / scale,
        middle=float(np.median(K[others])) / scale,
        spread=float(own.mean() - K[others].mean()),
        sq_distance=float(np.median(distances[np.triu_indices(m, 1)])),
    )


def check_gamma(kernel: Kernel, found: KernelStatistics, settings: Thresholds) -> list[Finding]:
    """Whether a stationary kernel is neither zero between neighbours nor constant."""
    if not kernel.is_shift_invariant:
        return []
    better, option = "", ()  # type: str, tuple
    if isinstance(kernel, RBF) and found.sq_distance > 0:
        better = f"gamma={1 / found.sq_distance:.2g} (1 / median squared distance)"
        option = (("gamma", float(f"{1 / found.sq_distance:.2g}")),)
    if found.nearest < settings.narrow:
        what = (
            f"{kernel!r} is too narrow: the median nearest-neighbour kernel value is "
            f"{found.nearest:.1g}, so the model will memorise the training set"
        )
        return [Finding("warning", what, "", f"try {better or 'a smaller gamma'}.", option)]
    if found.middle > settings.wide:
        what = (
            f"{kernel!r} is too wide: the median kernel value of two rows is {found.middle:.5f}, "
            "so the model is nearly linear"
        )
        remedy = f"try {better or 'a larger gamma'}, or a linear estimator, which is faster."
        return [Finding("warning", what, "", remedy, option)]
    return []


def check_C(
    C: Any, found: KernelStatistics, unit: float, n_side: float, bounded: float = 0.0
) -> list[Finding]:
    """Whether C can change f by about ``unit``: the margin, or the deviation of the targets.

    With ``n_side`` rows on the smaller side, f differs between rows by at most about
    2 C · spread · ``n_side``. Below one unit all dual variables stay at their bound. ``bounded`` is
    the fraction of those that are, if it is large, in the fit of a sample.
    """
    if C is None or np.isinf(C) or found.spread <= 0:  # C = ∞ is a hard margin
        return []
    reach = C * found.spread / unit
    natural = f"at C={unit / found.spread:.1g} one row can change f by one unit ({unit:.3g})"
    option = (("C", float(f"{unit / found.spread:.1g}")),)
    if reach >= LARGE_C:
        what = f"C={C:g} is very large for this kernel and these data"
        remedy = f"a smaller C, or scaled columns: fits are slow and follow outliers; {natural}."
        return [Finding("warning", what, "", remedy, option)]
    what = f"C={C:g} is very small for this kernel and these data: "
    remedy = f"a larger C, or scaled columns and targets; {natural}."
    if 2 * reach * n_side < 1:
        what += f"all rows together cannot change f by one unit ({unit:.3g})"
        return [Finding("warning", what, "", remedy, option)]
    if bounded and reach < 1:
        what += f"{bounded:.0%} of the rows of a sample are at the bound"
        return [Finding("warning", what, "", remedy, option)]
    return []
