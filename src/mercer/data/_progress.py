"""What a callback of `fit_stream` is told."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["StreamProgress"]


@dataclass(frozen=True)
class StreamProgress:
    """Where a run over a stream stands, after a batch.

    Attributes
    ----------
    seconds : float
        Since this call of ``fit_stream`` began.
    passes : int
        Finished passes.
    batches, rows : int
        Of the present pass so far.
    steps : int
        Of each task, since the beginning.
    held_out : int
        Held out rows of this pass so far. Each was scored by the model as it was before its batch.
    loss : float
        Their mean loss (hinge or ε-insensitive, the mean over classes); NaN if there are none.
    score : float
        Their accuracy, or R²; NaN if there are none.
    """

    seconds: float
    passes: int
    batches: int
    rows: int
    steps: int
    held_out: int
    loss: float
    score: float
