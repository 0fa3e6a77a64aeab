"""Kernels on sets of tokens: the size of the intersection, and that over the union."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.kernels._rounding import Rounding, unit
from mercer.kernels._samples import SampleBlock, Samples
from mercer.kernels.structured._sample_types import as_objects
from mercer.kernels.structured._sparse_features import (
    Features,
    SparseFeatureKernel,
    StructuredKernel,
)

__all__ = ["Intersection", "Jaccard"]


class TokenSetKernel(StructuredKernel):
    """A kernel on sets of tokens."""

    sample_type = "sets"
    is_psd = is_nonnegative = True

    def read(self, X: Any) -> Any:
        """Each set as a tuple of its tokens, in a fixed order, which files can hold."""
        items = as_objects(X)
        out = np.empty(len(items), dtype=object)
        for row, item in enumerate(items):
            out[row] = self._tokens(row, item)
        return out

    def _tokens(self, row: int, item: Any) -> tuple:
        if isinstance(item, np.ndarray) and item.ndim == 1:
            item = item.tolist()
        if not isinstance(item, (set, frozenset, list, tuple)):
            remedy = (
                "Use a set of its words, such as set(text.split())."
                if isinstance(item, (str, bytes))
                else "A sample is a set, list, tuple or one-dimensional array of tokens; the empty "
                "set is set()."
            )
            shown = " ".join(repr(item).split())[:60]
            raise ValueError(f"{self!r}: row {row} is {shown}, not a set. {remedy}")
        try:
            tokens = dict.fromkeys(item)
        except TypeError:
            raise ValueError(
                f"{self!r}: row {row} holds a token that is not hashable (such as a list). Tokens "
                "are strings, numbers or tuples of them."
            ) from None
        if any(token is None or token != token for token in tokens):
            raise ValueError(
                f"{self!r}: row {row} holds a missing value (None or NaN) among its tokens. Leave "
                "it out, or use a token of its own for it."
            )
        return tuple(sorted(tokens, key=lambda token: (type(token).__name__, repr(token))))


@dataclass(frozen=True, repr=False)
class Intersection(TokenSetKernel, SparseFeatureKernel):
    """k(x, z) = the number of tokens that two sets have in common.

    A sample is a set, or a list, tuple or array of tokens, of which equal ones count once. The
    empty set has the value 0 with every set. Tokens that training did not have add nothing to a
    prediction.

    **Cost.** A product of two sparse rows.

    **When.** Sets whose size matters: purchases, tags, memberships. ``Normalize`` or `Jaccard`
    remove the effect of size.

    Examples
    --------
    >>> from mercer.kernels import Intersection
    >>> Intersection()([{"milk", "bread"}, {"milk"}, set()])
    array([[2., 1., 0.],
           [1., 1., 0.],
           [0., 0., 0.]])
    """

    def features(self, samples: Any) -> Features:
        """0 or 1 for each token."""
        number: dict[Hashable, int] = {}
        columns: list[int] = []
        indptr = [0]
        for tokens in self.read(samples):
            columns += [number.setdefault(token, len(number)) for token in tokens]
            indptr.append(len(columns))
        parts = np.ones(len(columns), np.float32), np.array(columns, np.int32), np.array(indptr)
        matrix = sp.csr_matrix(parts, shape=(len(indptr) - 1, len(number)))
        matrix.sort_indices()
        return Features(matrix, lambda: list(number))


_INTERSECTION = Intersection()


@dataclass(frozen=True, repr=False)
class Jaccard(TokenSetKernel):
    """k(x, z) = the number of common tokens over the number of tokens of both sets together.

    It is 1 for equal sets, also for two empty ones, and 0 for sets without a common token. It is
    positive semidefinite (Gower 1971).

    **Cost.** A product of two sparse rows, and a division.

    **When.** Sets of different sizes: tags, words of short texts, molecules as sets of fragments.

    Examples
    --------
    >>> from mercer.kernels import Jaccard
    >>> Jaccard()([{"milk", "bread"}, {"milk"}, {"tea"}])
    array([[1. , 0.5, 0. ],
           [0.5, 1. , 0. ],
           [0. , 0. , 1. ]])
    """

    def prepare(self, samples: Samples) -> Samples:
        prepared = _INTERSECTION.prepare(Samples(self.read(samples.X)))
        prepared.prepared["sizes"] = np.diff(prepared.prepared["features"].matrix.indptr)
        return prepared

    def tile(self, A: SampleBlock, B: SampleBlock, out: np.ndarray) -> None:
        _INTERSECTION.tile(A, B, out)
        mine, theirs = (each.points.prepared["sizes"][each.index] for each in (A, B))
        union = np.add.outer(mine, theirs).astype(out.dtype) - out
        both_empty = union == 0
        union[both_empty] = out[both_empty] = 1
        out /= union

    def diag(self, A: SampleBlock) -> np.ndarray:
        return np.ones(len(A))

    def rounding(self, points: Samples, dtype: Any) -> Rounding:
        """Sums of integers that ``dtype`` holds, and a division."""
        inner = _INTERSECTION.rounding(points, dtype)
        return Rounding(3 * inner.relative + 2 * unit(dtype), inner.pairs)

    def feature_map(self, X: Any, *, degree: int | None = None, max_bytes: float = 1e9) -> Any:
        """It has none of this form."""
        raise ValueError(
            "Jaccard has no explicit features here; use mercer.embeddings.Nystroem, or "
            "Normalize(Intersection())."
        )
