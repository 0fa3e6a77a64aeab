"""Sums Σ_j c_j k(z_j, x) over the support vectors of an expansion, with bounds on their error.

Kernel values are computed in tiles, which are multiplied by the coefficients of every output that
uses them and forgotten.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mercer._precision import EPS
from mercer.gram._sum_error import SumError
from mercer.gram._tile_sums import add_tile, add_tile_bounded, terms_of_sum
from mercer.kernels import Kernel
from mercer.kernels._rounding import unit
from mercer.kernels._samples import SampleBlock, Samples

__all__ = ["ROWS_PER_TILE", "ExpansionSums"]

# A tile of 1024 × 512 float32 values is 2 MB: it stays in the second-level cache between product,
# kernel map and sum with the coefficients. Smaller ones cost more: threads wait for each other
# between compiled functions, where Python runs. Rows must be fewer than FEW_ROWS of the RBF kernel,
# so that no value depends on what other rows are given.
ROWS_PER_TILE = 1024
VECTORS_PER_TILE = 512
# TERMS_PER_SUM products of float32 values are summed in float32, then in float64: a sum over all
# vectors of one class is large, and its rounding would dominate once the classes cancel.
TERMS_PER_SUM = 128
FLOAT32 = np.dtype(np.float32)
# The bounds are computed with rounding too.
SLACK = 1.001


class ExpansionSums:
    """The sums of all outputs at some rows, in one precision.

    Parameters
    ----------
    kernel : Kernel
    support : Samples
        The support vectors, prepared for the kernel.
    vectors : callable
        The block of a slice of them, in a precision.
    coef, b, blocks
        As `mercer.Expansion` has them.
    dtype : numpy.dtype
    """

    def __init__(
        self,
        kernel: Kernel,
        support: Samples,
        vectors: Callable[[slice, np.dtype], SampleBlock],
        coef: np.ndarray,
        b: np.ndarray,
        blocks: Sequence[tuple[int, int, np.ndarray]],
        dtype: np.dtype,
    ):
        self.kernel, self.coef, self.b, self.blocks, self.dtype = kernel, coef, b, blocks, dtype
        self.error = self._sum_error(kernel.rounding(support, dtype))
        self.outputs_of_factors = SLACK * self._outputs_of_factors()
        n = coef.shape[1]
        starts = range(0, n, VECTORS_PER_TILE)
        tiles = [slice(start, min(start + VECTORS_PER_TILE, n)) for start in starts]
        self.pieces = [(vectors(tile, dtype), self._products(tile)) for tile in tiles]
        self._scratch = threading.local()

    def add(self, block: SampleBlock, out: np.ndarray, error: np.ndarray | None = None) -> None:
        """Add the sums at some rows to ``out``, and write the bound on their error."""
        n = len(block)
        tile = self._tile()
        total, sums = np.zeros((self.b.size, n)), np.zeros((len(self.blocks), n))
        for vectors, products in self.pieces:
            K = tile[:n, : len(vectors)]
            self.kernel.tile(block, vectors, K)
            if self.b.size == 1:
                if error is None:
                    add_tile(K, products[0], total[0])
                else:
                    add_tile_bounded(K, *products, total[0], sums[0])
                continue
            for number, terms in products:
                part_of_sum = np.zeros((self.coef.shape[0] + 1, n))
                for part, coef in terms:
                    part_of_sum += coef @ K[:, part].T
                total[self.blocks[number][2]] += part_of_sum[:-1]
                sums[number] += part_of_sum[-1]
        out += total.T
        if error is not None:
            error[...] = self._bound(block, sums)

    def _bound(self, block: SampleBlock, sums: np.ndarray) -> np.ndarray:
        """The bound of `SumError` at some rows, for every output."""
        rows = self.kernel.rounding(block.points, self.dtype).take(block.index)
        factors = [self.error.factor_of(rows) * sums, *(row for pair in rows.pairs for row in pair)]
        return np.vstack([*factors, np.ones(sums.shape[1])]).T @ self.outputs_of_factors

    def _sum_error(self, rounding: Any) -> SumError:
        terms = terms_of_sum(self.coef.shape[1], VECTORS_PER_TILE)
        if self.dtype == FLOAT32 and self.b.size > 1:  # sums of products in float32
            terms += int((TERMS_PER_SUM + 4) * (unit(FLOAT32) / unit(np.float64)))
        return SumError(rounding, rounding, terms)

    def _outputs_of_factors(self) -> np.ndarray:
        """What the factors of `_bound` are multiplied by for every output.

        The sums of blocks by 1 where an output has the block, p and q of a row by Σ|c| q and Σ|c| p
        of the vectors, and 1 by the rounding of b.
        """
        of_blocks = np.zeros((len(self.blocks), self.b.size))
        for row, (_, _, outputs) in zip(of_blocks, self.blocks, strict=True):
            row[outputs] = 1.0
        sums = [self._pair_sums(*pair) for pair in self.error.columns.pairs]
        of_pairs = [row for left, right in sums for row in (right, left)]
        return np.vstack([of_blocks, *of_pairs, 4 * EPS * np.abs(self.b)])

    def _pair_sums(self, p: np.ndarray, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Σ|c| p and Σ|c| q of every output, for a pair of the rounding."""
        sums = np.zeros((2, self.b.size))
        for start, stop, outputs in self.blocks:
            for row, values in zip(sums, (p, q), strict=True):
                row[outputs] += np.abs(self.coef[:, start:stop]) @ values[start:stop]
        return sums[0], sums[1]

    def _tile(self) -> np.ndarray:
        """Scratch of this thread; fresh memory costs more than the kernel values put into it."""
        if not hasattr(self._scratch, "tile"):
            shape = ROWS_PER_TILE, min(VECTORS_PER_TILE, self.coef.shape[1])
            self._scratch.tile = np.empty(shape, self.dtype)
        return self._scratch.tile

    def _products(self, tile: slice) -> Any:
        """The coefficients of a tile, and the weights of the bound on the error of their sums.

        With several outputs: for each block that it meets its number, and (columns, coefficients)
        of matrix products short enough that float32 sums lose little. The last coefficient is the
        largest weight over the outputs: one more row instead of twice as many.
        """
        if self.b.size == 1:
            return self.coef[0, tile].copy(), self.error.weight(self.coef[0, tile], tile)
        products = []
        length = TERMS_PER_SUM if self.dtype == FLOAT32 else VECTORS_PER_TILE
        for number, (first, last, _) in enumerate(self.blocks):
            terms = []
            for start in range(max(first, tile.start), min(last, tile.stop), length):
                part = slice(start, min(start + length, last, tile.stop))
                weight = self.error.weight(self.coef[:, part], part).max(axis=0)
                coef = np.vstack([self.coef[:, part], weight])
                here = slice(part.start - tile.start, part.stop - tile.start)
                terms.append((here, np.ascontiguousarray(coef, dtype=self.dtype)))
            if terms:
                products.append((number, terms))
        return products
