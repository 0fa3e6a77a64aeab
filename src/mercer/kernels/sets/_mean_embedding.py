"""Inner products of mean embeddings: kernels between bags of samples, as between distributions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.kernels._base import LARGEST, VECTORS, Kernel
from mercer.kernels._composite import OfOne, require_kernel
from mercer.kernels._rounding import Rounding, unit
from mercer.kernels._sample_block import diagonal_of_tiles
from mercer.kernels._samples import SampleBlock, Samples
from mercer.kernels.sets._bags import Bags, read_bags, stack_bags

__all__ = ["MeanEmbedding"]


# Samples on either side whose kernel values are computed at once.
SAMPLES_AT_ONCE = 1024


@dataclass(frozen=True, repr=False)
class MeanEmbedding(OfOne, Kernel):
    """k(x, z) = (1/(m n)) Σ_i Σ_j k'(x_i, z_j) over the samples of two bags, of m and n samples.

    The inner product ⟨μ(x), μ(z)⟩ of the mean embeddings μ(x) = (1/m) Σ_i φ(x_i). The squared
    maximum mean discrepancy of two bags is MMD²(x, z) = k(x, x) − 2 k(x, z) + k(z, z). An empty bag
    has μ = 0: its values are 0.

    A bag is an array with a row of numbers for each sample (a one-dimensional one: a number each),
    or a data frame or list of dicts where k' is a kernel on tables, or else a list of samples of
    k'.

    **Cost.** m n values of k' for a value.

    **When.** Each sample is a set of measurements, without order and of any number: events of a
    patient, pixels of a region, the rows of another table that belong to it (`related_rows`).

    Parameters
    ----------
    k : Kernel
        k', on the samples in the bags.

    References
    ----------
    Gretton, Borgwardt, Rasch, Schölkopf and Smola (2012), A kernel two-sample test.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import MeanEmbedding, RBF
    >>> bags = [np.array([[0.0], [1.0]]), np.array([[0.0]]), np.zeros((0, 1))]
    >>> MeanEmbedding(RBF(1.0))(bags).round(3)
    array([[0.684, 0.684, 0.   ],
           [0.684, 1.   , 0.   ],
           [0.   , 0.   , 0.   ]])
    """

    k: Kernel

    sample_type = "bags"
    is_shift_invariant = False

    def __post_init__(self) -> None:
        require_kernel("MeanEmbedding", "k", self.k)
        if not self.k._has_formula:
            raise ValueError(f"MeanEmbedding: {self.k!r} has no values of new samples.")

    def read(self, X: Any) -> Any:
        return read_bags(X, self.k, repr(self))

    def resolved(self, X: Any) -> Kernel:
        items = stack_bags(self.read(X), self.k).items
        k = self.k.resolved(items)
        return self if k is self.k else replace(self, k=k)

    def prepare(self, samples: Samples) -> Samples:
        bags = stack_bags(self.read(samples.X), self.k)
        try:
            items = self.k.prepare(Samples(bags.items))
        except ValueError as error:
            self._name_the_bag(samples.X, error)
            raise
        prepared = Samples(samples.X).with_parts((items,))
        prepared.prepared["bags"] = bags
        return prepared

    def _name_the_bag(self, bags: Any, error: ValueError) -> None:
        """Raise the error of a sample with the number of its bag."""
        for row, bag in enumerate(self.read(bags)):
            if len(bag) == 0:
                continue
            try:
                self.k.prepare(Samples(stack_bags([bag], self.k).items))
            except ValueError as own:
                raise ValueError(f"{self!r}: the bag in row {row}: {own}") from error

    def cost_per_entry(self, samples: Samples) -> float:
        sizes = samples.prepared["bags"].sizes
        mean = float(sizes.mean()) if sizes.size else 0.0
        return 1 + mean**2 * (4 + self.k.cost_per_entry(samples.part(0)))

    def _check_rows(self, points: Samples, largest: float = LARGEST) -> None:
        if points.part(0).n:
            self.k.check(points.part(0), largest)

    def tile(self, A: SampleBlock, B: SampleBlock, out: np.ndarray) -> None:
        left, right = (each.points.prepared["bags"] for each in (A, B))
        mine, theirs = A.points.part(0), B.points.part(0)
        if mine.n and theirs.n and self.k.sample_type == VECTORS and mine.d != theirs.d:
            raise ValueError(
                f"{self!r}: the bags hold rows with {mine.d} columns, but those they are compared "
                f"with (of the training set) have {theirs.d}."
            )
        columns = _pieces(right.sizes[B.row_numbers], SAMPLES_AT_ONCE)
        others = [(part, *self._items(B, right, part)) for part in columns]
        for rows in _pieces(left.sizes[A.row_numbers], SAMPLES_AT_ONCE):
            here, means = self._items(A, left, rows)
            for part, there, other_means in others:
                K = np.empty((len(here), len(there)))
                if K.size:
                    self.k.tile(here, there, K)
                out[rows, part] = (other_means @ (means @ K).T).T

    def _items(self, A: SampleBlock, bags: Bags, part: slice) -> tuple[SampleBlock, sp.csr_matrix]:
        """The samples in some bags of a block, and the matrix that takes means over each bag."""
        rows = A.row_numbers[part]
        starts, sizes = bags.offsets[rows], bags.sizes[rows]
        indptr = np.concatenate([[0], np.cumsum(sizes)])
        index = np.arange(indptr[-1]) + np.repeat(starts - indptr[:-1], sizes)
        weights = np.repeat(1 / np.maximum(sizes, 1), sizes)
        parts = weights, np.arange(indptr[-1]), indptr
        means = sp.csr_matrix(parts, shape=(rows.size, int(indptr[-1])))
        return A.points.part(0).take(index, np.float64), means

    def diag(self, A: SampleBlock) -> np.ndarray:
        return diagonal_of_tiles(self, A, 1)

    def _mean_of(self, points: Samples, values: np.ndarray) -> np.ndarray:
        """The mean over each bag of a number for each sample."""
        bags: Bags = points.prepared["bags"]
        sums = np.concatenate([[0.0], np.cumsum(values)])
        return np.diff(sums[bags.offsets]) / np.maximum(bags.sizes, 1)

    def rounding(self, points: Samples, dtype: Any) -> Rounding:
        """Bounds of the form p(x) q(z) have means over bags of the same form."""
        inner = points.part(0)
        of_k, size = self.k.rounding(inner, np.float64), self.k.magnitude(inner)
        largest = int(points.prepared["bags"].sizes.max(initial=0))
        pairs = [
            (1.01 * self._mean_of(points, p), 1.01 * self._mean_of(points, q))
            for p, q in of_k.absolute(size)
        ]
        m = self._mean_of(points, size) * (1 + 1e-9)
        pairs.append(((largest + 4) * unit(np.float64) * m, m))
        return Rounding.of(2 * unit(dtype), points.n, *pairs)

    def magnitude(self, points: Samples) -> np.ndarray:
        return 1.01 * self._mean_of(points, self.k.magnitude(points.part(0)))


def _pieces(sizes: np.ndarray, most: int) -> list[slice]:
    """Consecutive bags with at most ``most`` samples in all, or one bag."""
    out, start, total = [], 0, 0
    for i, size in enumerate(sizes.tolist()):
        if i > start and total + size > most:
            out.append(slice(start, i))
            start, total = i, 0
        total += size
    if len(sizes):
        out.append(slice(start, len(sizes)))
    return out
