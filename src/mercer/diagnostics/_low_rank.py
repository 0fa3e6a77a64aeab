"""Whether low rank can work, from the residual diagonal of Nyström features on a small sample."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._precision import TINY
from mercer.data._column_statistics import Finding
from mercer.diagnostics._settings import Thresholds
from mercer.gram._low_rank import landmark_basis
from mercer.kernels import Kernel
from mercer.kernels._samples import Samples

__all__ = ["check_low_rank", "sample_residual"]


def sample_residual(kernel: Kernel, points: Samples, m: int, n_probes: int) -> float:
    """The mean of (K − FFᵀ)/K on the diagonal, at rows that are no landmarks.

    The first m samples are the landmarks, the next ``n_probes`` those rows.
    """
    rows = points.take(slice(m, min(m + n_probes, points.n)))
    landmarks = points.take(slice(0, m))
    own, cross = np.empty((m, m)), np.empty((len(rows), m))
    kernel.tile(landmarks, landmarks, own)
    kernel.tile(rows, landmarks, cross)
    _, factor = landmark_basis((own + own.T) / 2)
    F, diagonal = cross @ factor, kernel.diag(rows)
    left = np.maximum(diagonal - np.einsum("ij,ij->i", F, F), 0.0)
    return float(left.sum() / max(float(diagonal.sum()), TINY))


def check_low_rank(
    kernel: Kernel, points: Samples, model: Any, n: int, settings: Thresholds
) -> list[Finding]:
    """Of a model with ``approximation`` whether it can work; of many rows whether one could."""
    approximation = getattr(model, "approximation", None)
    is_large = n >= settings.low_rank_rows
    if kernel.is_psd is not True or points.n < 4 or not (approximation or is_large):
        return []
    asked = int(model.n_components) if approximation else settings.low_rank_components
    m = min(asked, points.n // 2)
    residual = sample_residual(kernel, points, m, settings.probe_rows)
    works = residual <= settings.low_rank_residual
    measured = f"{m:,} random landmarks leave {residual:.1%} of the diagonal of K"
    if not approximation:
        if works:
            what, remedy = f"Low rank can work: {measured}", "try approximation='nystroem'."
        else:
            what = f"Low rank would not work: {measured}"
            remedy = "keep the exact solver, with a time_limit or fewer rows."
        return [Finding("note", what, "", remedy)]
    found = []
    if not works and approximation == "nystroem":
        found.append(
            Finding(
                "warning",
                f"The approximation is too coarse: {measured}",
                "",
                "use the exact solver, more components or a smaller gamma; the stated distance "
                "from the exact optimum will be large.",
            )
        )
    if not is_large:
        found.append(
            Finding(
                "note",
                f"{n:,} rows are few for an approximation",
                "",
                f"use the exact solver (approximation=None), the better choice below some "
                f"{settings.low_rank_rows:,} rows.",
            )
        )
    return found
