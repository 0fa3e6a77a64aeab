"""The base of kernels on sequences that compare pairs of them, letter by letter."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.kernels._samples import SampleBlock, Samples
from mercer.kernels.structured._sequences import Sequences, read_sequences
from mercer.kernels.structured._sparse_features import StructuredKernel

__all__ = ["SequenceKernel"]


class SequenceKernel(StructuredKernel):
    """A kernel on strings and token lists, which are prepared as codes."""

    sample_type = "sequences"

    def prepare(self, samples: Samples) -> Samples:
        prepared = Samples(samples.X)
        prepared.prepared["sequences"] = read_sequences(samples.X, repr(self))
        return prepared

    @staticmethod
    def sequences(samples: Samples) -> Sequences:
        """What `prepare` has made of the samples."""
        return samples.prepared["sequences"]

    def codes(self, samples: Samples, others: Samples) -> np.ndarray:
        """Codes of the samples by the alphabet of the others, found once for these two."""
        mine = self.sequences(samples)
        if samples is others:
            return mine.codes
        known: Any = samples.prepared.get("codes by")
        if known is None or known[0] is not others:
            mine.check_against(self.sequences(others), repr(self))
            known = others, mine.translated(self.sequences(others).alphabet)
            samples.prepared["codes by"] = known
        return known[1]

    def both_sides(self, A: SampleBlock, B: SampleBlock) -> tuple:
        """Codes, offsets and row numbers of two blocks, as compiled code takes them."""
        mine, theirs = self.sequences(A.points), self.sequences(B.points)
        left = self.codes(A.points, B.points), mine.offsets, A.row_numbers
        return (*left, theirs.codes, theirs.offsets, B.row_numbers)
