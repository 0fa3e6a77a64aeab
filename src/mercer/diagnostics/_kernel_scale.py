"""C and γ against the data's own scale, seen through the kernel between some rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.data._column_statistics import Finding
from mercer.estimators._convergence import LARGE_C
from mercer.kernels import RBF, Kernel
from mercer.kernels._samples import Samples

__all__ = ["Sight", "check_gamma", "check_price", "look"]

# Rows whose neighbours are looked for.
PROBES = 256
# The nearest row is less similar than this: every row is alone.
ALONE = 0.01
# All rows are more similar than this: the kernel is as good as linear.
ALIKE = 0.99


@dataclass(frozen=True)
class Sight:
    """Kernel values between some rows.

    Attributes
    ----------
    nearest, middle : float
        Similarity (1: equal) of the nearest row, of any row; the median over rows.
    spread : float
        Mean of k(x, x) less mean of k(x, z): the variance of φ(x), what a machine can work with.
    sq_distance : float
        The median of ‖x − z‖².
    """

    nearest: float
    middle: float
    spread: float
    sq_distance: float


def look(kernel: Kernel, points: Samples) -> Sight:
    """See the points through the kernel: the first ones against all."""
    m = min(PROBES, points.n)
    probes, all_rows = points.take(slice(0, m)), points.take(slice(0, points.n))
    K = np.empty((m, points.n))
    kernel.tile(probes, all_rows, K)
    itself = np.arange(m)
    own = kernel.diag(probes)
    others = np.ones(K.shape, bool)
    others[itself, itself] = False
    nearest = np.where(others, K, -np.inf).max(axis=1)
    scale = max(float(np.abs(own).mean()), np.finfo(float).tiny)
    X = points.rows(slice(0, m), np.float64)
    G = X @ X.T
    G = G.toarray() if points.is_sparse else G
    squares = np.diag(G)
    distances = squares[:, None] + squares - 2 * G
    return Sight(
        nearest=float(np.median(nearest)) / scale,
        middle=float(np.median(K[others])) / scale,
        spread=float(own.mean() - K[others].mean()),
        sq_distance=float(np.median(distances[np.triu_indices(m, 1)])),
    )


def check_gamma(kernel: Kernel, sight: Sight) -> list[Finding]:
    """Whether a kernel of distances sees neighbours, and tells them from the others."""
    if not kernel.is_shift_invariant:
        return []
    better = "another gamma"
    if isinstance(kernel, RBF) and sight.sq_distance > 0:
        better = f"gamma={1 / sight.sq_distance:.2g} is 1 / median squared distance"
    if sight.nearest < ALONE:
        return [
            Finding(
                "warning",
                f"{kernel!r} is too narrow: the nearest row has a similarity of "
                f"{sight.nearest:.1g} to a row, so that rows are learnt by heart",
                "", f"a smaller gamma; {better}.",
            )
        ]  # fmt: skip
    if sight.middle > ALIKE:
        return [
            Finding(
                "warning",
                f"{kernel!r} is too wide: any two rows have a similarity of {sight.middle:.5f}, "
                "so that it is as good as linear",
                "", f"a larger gamma; {better}; or a linear machine, far sooner.",
            )
        ]  # fmt: skip
    return []


def check_price(C: Any, sight: Sight, unit: float, n_side: float) -> list[Finding]:
    """Whether C lets rows pull f by about ``unit``: the margin, or the deviation of the targets.

    f differs between rows by 2 C · spread · ``n_side`` at the most, about, if ``n_side`` rows pull
    each way. Below one unit all of them stay at their bound.
    """
    if C is None or np.isinf(C) or sight.spread <= 0:  # a hard margin is meant
        return []
    pull = C * sight.spread / unit
    natural = f"C={unit / sight.spread:.1g} is where one row can move f by one unit ({unit:.3g})"
    if pull >= LARGE_C:
        return [
            Finding(
                "warning", f"C={C:g} is very large for this kernel and these data", "",
                f"a smaller C, or scaled columns: fits take long, and follow outliers; {natural}.",
            )
        ]  # fmt: skip
    if 2 * pull * n_side < 1:
        return [
            Finding(
                "warning",
                f"C={C:g} is very small for this kernel and these data: all rows together cannot "
                f"move f by one unit ({unit:.3g})",
                "", f"a larger C, or scaled columns and targets; {natural}.",
            )
        ]  # fmt: skip
    return []
