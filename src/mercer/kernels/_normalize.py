"""Kernels made of one kernel and a number for each sample: unit length, centring, a diagonal."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.kernels._base import LARGEST, SIDE, Kernel
from mercer.kernels._composite import OfOne, require_kernel
from mercer.kernels._rounding import MODEL, Pair, Rounding, smallest, unit
from mercer.kernels._samples import SampleBlock, Samples

__all__ = ["Centre", "Normalize", "PlusDiagonal"]


@dataclass(frozen=True, repr=False)
class Normalize(OfOne, Kernel):
    """k(x, z) = k'(x, z) / √(k'(x, x) k'(z, z)): the cosine of the angle between φ(x) and φ(z).

    Every sample has length 1, whatever its size: long texts and large graphs do not count for more
    than short ones. Where k'(x, x) = 0 (an empty string), all values of x are 0.

    **Cost.** That of k', two multiplications for each value, and k'(x, x) once for each sample.

    **When.** Samples of different sizes: around kernels on texts, graphs and sets that count.

    Parameters
    ----------
    k : Kernel

    Examples
    --------
    >>> from mercer.kernels import Normalize, Spectrum
    >>> Normalize(Spectrum(1))(["ab", "abab", ""])
    array([[1., 1., 0.],
           [1., 1., 0.],
           [0., 0., 0.]])
    """

    k: Kernel

    def __post_init__(self) -> None:
        require_kernel("Normalize", "k", self.k)
        _refuse_precomputed("Normalize", self.k)

    def check(self, points: Samples, largest: float = LARGEST) -> None:
        """That of k', and k'(x, x) ≥ 0."""
        self.k.check(points, largest)
        negative = np.flatnonzero(self._known(points)[0] < 0)
        if negative.size:
            raise ValueError(
                f"{self!r}: k(x, x) is negative at row {negative[0]}, and has no root. "
                "Only kernels that are positive semidefinite can be normalised."
            )

    def _known(self, points: Samples) -> tuple[np.ndarray, np.ndarray]:
        """k'(x, x) and 1/√k'(x, x) of all samples, computed once."""
        if self not in points.prepared:
            diagonal = self.k._diagonal(points)
            is_positive = diagonal > 0
            scale = np.zeros(points.n)
            scale[is_positive] = 1 / np.sqrt(diagonal[is_positive])
            points.prepared[self] = diagonal, scale
        return points.prepared[self]

    def inverse_lengths(self, points: Samples) -> np.ndarray:
        """1/√k'(x, x) of prepared samples, 0 where that is 0."""
        return self._known(points)[1]

    def tile(self, A: SampleBlock, B: SampleBlock, out: np.ndarray) -> None:
        self.k.tile(A, B, out)
        out *= self._known(A.points)[1][A.index].astype(out.dtype)[:, None]
        out *= self._known(B.points)[1][B.index].astype(out.dtype)

    def diag(self, A: SampleBlock) -> np.ndarray:
        return (self._known(A.points)[0][A.index] > 0).astype(np.float64)

    def rounding(self, points: Samples, dtype: Any) -> Rounding:
        """That of k' scaled, that of both roots, and of the two products.

        A root whose argument is off by less than half of it is off by less than that, relatively;
        otherwise nothing is known but that values lie within ±1.
        """
        of_k, of_diagonal = self.k.rounding(points, dtype), self.k.rounding(points, np.float64)
        diagonal, scale = self._known(points)
        lost = 2 * of_diagonal.relative * diagonal
        for p, q in of_diagonal.pairs:
            lost = lost + 2 * p * q
        relative = np.divide(lost, diagonal, out=np.zeros(points.n), where=diagonal > 0)
        is_unknown = relative > 0.5
        ones = np.ones(points.n)
        pairs: list[Pair] = [(smallest(dtype) * ones, ones), (2.0 * is_unknown, ones)]
        pairs += [(1.01 * p * scale, 1.01 * q * scale) for p, q in of_k.pairs]
        relative = of_k.relative + np.where(is_unknown, 0.0, relative) + 4 * unit(dtype)
        return Rounding.of(1.01 * relative, points.n, *pairs)

    def magnitude(self, points: Samples) -> np.ndarray:
        if self.is_psd is True:
            return np.full(points.n, np.sqrt(MODEL.rounded_magnitude))
        return self.k.magnitude(points) * self._known(points)[1]


@dataclass(frozen=True, repr=False, eq=False)
class Centre(OfOne, Kernel):
    """k(x, z) = ⟨φ(x) − m, φ(z) − m⟩, φ the map of k' and m the mean of φ over some samples.

    That is k'(x, z) − μ(x) − μ(z) + M with μ(x) the mean of k'(x, r) over the samples r, and M the
    mean of μ over them. Without ``samples`` these are the training samples (all weights equal): a
    fit puts them in, and ``kernel_`` has them.

    **When.** There is no intercept (`mercer.KernelRidge`, ``fit_intercept=False``), in products of
    kernels, and for alignment with y. An SVM with an intercept does not change by centring.

    **Cost.** That of k', and of k' between each sample and all ``samples`` once. A model keeps all
    of these, and a prediction compares with all of them.

    Parameters
    ----------
    k : Kernel
    samples : samples of k, optional

    Examples
    --------
    >>> from mercer.kernels import Centre, Linear
    >>> Centre(Linear(), [[1.0], [3.0]])([[1.0], [3.0]])
    array([[ 1., -1.],
           [-1.,  1.]])
    """

    k: Kernel
    samples: Any = None

    is_nonnegative = False
    is_shift_invariant = False

    def __post_init__(self) -> None:
        require_kernel("Centre", "k", self.k)
        _refuse_precomputed("Centre", self.k)
        if self.samples is not None:
            samples = Samples(self.k.read(self.samples))
            if samples.n == 0:
                raise ValueError("Centre: samples must be one or more, got none.")
            object.__setattr__(self, "samples", samples.X)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Centre):
            return NotImplemented
        return self.k == other.k and _are_equal(self.samples, other.samples)

    def __hash__(self) -> int:
        return hash((Centre, self.k, self.samples is None))

    def __repr__(self) -> str:
        given = "" if self.samples is None else f", samples=<{_number(self.samples)} samples>"
        return f"Centre(k={self.k!r}{given})"

    def resolved(self, X: Any) -> Kernel:
        k = self.k.resolved(X)
        return replace(self, k=k, samples=X if self.samples is None else self.samples)

    def prepare(self, samples: Samples) -> Samples:
        """As k' takes them, with μ of each and its error."""
        of_k, reference = self.k.prepare(samples), self._reference(samples)
        means, sizes = self._means(of_k, reference)
        own = of_k.with_parts((of_k,))
        own.prepared[self] = means, self._means_error(of_k, reference, sizes), reference
        return own

    def cost_per_entry(self, samples: Samples) -> float:
        return self.k.cost_per_entry(samples.part(0))

    def _reference(self, samples: Samples) -> Samples:
        """The reference samples in the form of ``samples``, prepared for k'."""
        if self.samples is None:
            raise ValueError(
                f"{self!r} has no samples to centre by: fit an estimator with it, or give them, "
                "Centre(k, samples)."
            )
        X = self.samples
        if samples.is_sparse != sp.issparse(X) and not samples.are_objects:
            X = sp.csr_matrix(X) if samples.is_sparse else X.toarray()
        reference = Samples(X, samples.origin)
        if not samples.are_objects and samples.d != reference.d:
            raise ValueError(
                f"{self!r}: X has {samples.d} columns, but the samples to centre by have "
                f"{reference.d}."
            )
        return self.k.prepare(reference)

    def _means(self, samples: Samples, reference: Samples) -> tuple[np.ndarray, np.ndarray]:
        """μ and the mean of |k'| of each sample."""
        means, sizes = np.zeros(samples.n), np.zeros(samples.n)
        for i in range(0, samples.n, SIDE):
            rows = slice(i, min(i + SIDE, samples.n))
            for j in range(0, reference.n, SIDE):
                others = slice(j, min(j + SIDE, reference.n))
                K = np.empty((rows.stop - i, others.stop - j))
                self.k.tile(samples.take(rows), reference.take(others), K)
                means[rows] += K.sum(axis=1)
                sizes[rows] += np.abs(K).sum(axis=1)
        return means / reference.n, sizes / reference.n

    def _means_error(self, samples: Samples, reference: Samples, sizes: np.ndarray) -> np.ndarray:
        """Of μ: the mean of the errors of k', and the rounding of the sum."""
        mine, theirs = (self.k.rounding(each, np.float64) for each in (samples, reference))
        error = sizes * (mine.relative + theirs.relative.max(initial=0.0))
        for (p, q), (r, s) in zip(mine.pairs, theirs.pairs, strict=True):
            error += p * s.mean() + q * r.mean()
        return 1.01 * error + (reference.n + 4) * unit(np.float64) * sizes

    def _total(self, points: Samples) -> tuple[float, float]:
        """M and its error, computed once for these samples."""
        key = self, "total"
        if key not in points.prepared:
            reference = points.prepared[self][2]
            means, sizes = self._means(reference, reference)
            error = self._means_error(reference, reference, sizes)
            rounding = (reference.n + 4) * unit(np.float64) * float(np.abs(means).mean())
            points.prepared[key] = float(means.mean()), float(error.mean()) + rounding
        return points.prepared[key]

    def tile(self, A: SampleBlock, B: SampleBlock, out: np.ndarray) -> None:
        self.k.tile(A.part(0), B.part(0), out)
        total = self._total(B.points)[0] / 2
        out -= (A.points.prepared[self][0][A.index] - total).astype(out.dtype)[:, None]
        out -= (B.points.prepared[self][0][B.index] - total).astype(out.dtype)

    def diag(self, A: SampleBlock) -> np.ndarray:
        total = self._total(A.points)[0]
        return self.k.diag(A.part(0)) - 2 * A.points.prepared[self][0][A.index] + total

    def rounding(self, points: Samples, dtype: Any) -> Rounding:
        """That of k', of both means, and of two differences."""
        of_k, u = self.k.rounding(points.part(0), dtype), unit(dtype)
        size = self.k.magnitude(points.part(0))
        means, error, _ = points.prepared[self]
        total, total_error = self._total(points)
        own = error + total_error / 2 + 4 * u * (np.abs(means) + abs(total))
        pairs = (*of_k.absolute(size), (4 * u * size, size), (1.01 * own, np.ones(points.n)))
        return Rounding.of(2 * u, points.n, *pairs)

    def magnitude(self, points: Samples) -> np.ndarray:
        """``m(x) m(z) ≥ |k'| + |μ(x)| + |μ(z)| + |M|``."""
        means, total = np.abs(points.prepared[self][0]), abs(self._total(points)[0])
        unit_size = np.sqrt(max(total, float(means.mean()) if points.n else 0.0, 1e-300))
        return 1.1 * (self.k.magnitude(points.part(0)) + means / unit_size + unit_size)

    def check(self, points: Samples, largest: float = LARGEST) -> None:
        """That of k'."""
        self.k.check(points.part(0), largest)


@dataclass(frozen=True, repr=False, eq=False)
class PlusDiagonal(OfOne, Kernel):
    """k(xᵢ, xⱼ) + dᵢ [i = j]: squared slack inside K.

    Internal: a kernel that knows its data. It exists so that every solver can be handed K + D
    without a line of its own; models are expansions of the kernel without D.
    """

    k: Kernel
    d: np.ndarray  # one entry ≥ 0 for each sample

    def prepare(self, samples: Samples) -> Samples:
        """They are those of a Gram, prepared already."""
        return samples

    def tile(self, A: SampleBlock, B: SampleBlock, out: np.ndarray) -> None:
        self.k.tile(A, B, out)
        if A.points is not B.points:
            return
        rows = A.row_numbers
        column = np.full(A.points.n, -1)
        column[B.row_numbers] = np.arange(len(B))
        at = column[rows]
        here = np.flatnonzero(at >= 0)
        out[here, at[here]] += self.d[rows[here]].astype(out.dtype)

    def diag(self, A: SampleBlock) -> np.ndarray:
        return self.k.diag(A) + self.d[A.row_numbers]

    def rounding(self, points: Samples, dtype: Any) -> Rounding:
        """d and the sum are rounded; for a PSD kernel 0 ≤ k(x, x) ≤ k(x, x) + d."""
        of_k, u = self.k.rounding(points, dtype), unit(dtype)
        if self.k.is_psd is True:
            return Rounding(of_k.relative + 2 * u, of_k.pairs)
        return Rounding.of(2 * u, points.n, *of_k.absolute(self.k.magnitude(points)))

    def magnitude(self, points: Samples) -> np.ndarray:
        return np.sqrt(self.k.magnitude(points) ** 2 + self.d)

    def check(self, points: Samples, largest: float = LARGEST) -> None:
        """That of k, and d is finite."""
        self.k.check(points, largest)

    def __repr__(self) -> str:
        return f"{self.k!r} + diag"


def _refuse_precomputed(owner: str, k: Kernel) -> None:
    """New rows of a given matrix have no k(x, x)."""
    parts = (k, *k.get_params(deep=True).values())
    if any(type(part).__name__ == "Precomputed" for part in parts):
        raise ValueError(
            f"{owner}: a precomputed matrix has no value k(x, x) of new samples; change the matrix "
            "itself."
        )


def _number(samples: Any) -> int:
    return len(samples) if isinstance(samples, list) else samples.shape[0]


def _are_equal(first: Any, second: Any) -> bool:
    if first is None or second is None or first is second:
        return first is second
    if sp.issparse(first) or sp.issparse(second):
        same = sp.issparse(first) and sp.issparse(second) and first.shape == second.shape
        return bool(same and (first != second).nnz == 0)
    if all(isinstance(each, np.ndarray) and each.dtype.kind == "O" for each in (first, second)):
        # Samples may be arrays.
        return first.shape == second.shape and all(map(np.array_equal, first, second))
    return np.array_equal(first, second)
