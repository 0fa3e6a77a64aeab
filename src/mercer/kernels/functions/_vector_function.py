"""The kernels that `mercer.kernel` makes of functions of two vectors: compiled, or as Python.

A function that was rewritten as one of x·z, ‖x‖² and ‖z‖² is computed as it was written where the
rounding of these would change its values (`_dot_loss`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from mercer.exceptions import warn_user
from mercer.kernels._base import OBJECT_COST
from mercer.kernels._compiled.elementwise import flat_rows, map_by_table
from mercer.kernels._compiled.products import products
from mercer.kernels._rounding import Rounding
from mercer.kernels._samples import SampleBlock, Samples
from mercer.kernels._stationary import LARGEST_TABULATED
from mercer.kernels.functions._compile import CompiledTiles, NotCompiledError
from mercer.kernels.functions._dot_loss import dot_loss
from mercer.kernels.functions._kernels import FunctionKernel

__all__ = ["InterpretedKernelWarning", "VectorFunction"]


class InterpretedKernelWarning(UserWarning):
    """A kernel function cannot be compiled and runs as Python."""


class VectorFunction(FunctionKernel):
    """k(x, z) given by a function of two vectors, or of x·z, ‖x‖² and ‖z‖²."""

    # Of the definition: the compiled loops, None where they cannot be compiled.
    _tiles: ClassVar[CompiledTiles | None]

    @property
    def is_shift_invariant(self) -> bool:
        return self._tiles is not None and self._tiles.is_shift_invariant

    def cost_per_entry(self, samples: Samples) -> float:
        if self._tiles is None:
            return OBJECT_COST
        of_dots = self._tiles_of(self._tiles, samples).of_dots
        return super().cost_per_entry(samples) if of_dots else 8.0 * samples.d + 20

    def rounding(self, points: Samples, dtype: Any) -> Rounding:
        """As of all functions, and what the rounding of dot products changes."""
        given = super().rounding(points, dtype)
        lost = 0.0
        if self._tiles is not None and self._tiles_of(self._tiles, points) is self._tiles:
            lost = self._lost(self._tiles, points)[0]
        ones = np.ones(points.n)
        return replace(given, pairs=(*given.pairs, (lost / 2 * ones, ones))) if lost else given

    def _tiles_of(self, tiles: CompiledTiles, *samples: Samples) -> CompiledTiles:
        """The loops for some samples: those of dot products where these lose next to nothing."""
        if tiles.as_written is None:
            return tiles
        is_precise = all(self._lost(tiles, points)[1] for points in samples)
        return tiles if is_precise else tiles.as_written

    def _lost(self, tiles: CompiledTiles, points: Samples) -> tuple[float, bool]:
        """What the rounding of dot products can change a value by, and whether it is little."""
        key = self, "lost"
        if key not in points.prepared:
            found = 0.0, True
            if tiles.as_written is not None and not points.are_exact(np.float64):
                try:
                    found = dot_loss(tiles, points, tuple(self.parameters.values()))
                except NotCompiledError:  # which `tile` reports
                    return found
            points.prepared[key] = found
        return points.prepared[key]

    def tile(self, A: SampleBlock, B: SampleBlock, out: np.ndarray) -> None:
        if self._tiles is not None:
            try:
                self._compiled_tile(self._tiles, A, B, out)
                return
            except NotCompiledError as error:
                self._interpret(error, A)
        out[...] = self._checked(self._pairs(A, B))

    def diag(self, A: SampleBlock) -> np.ndarray:
        out = np.empty(len(A))
        if self._tiles is not None:
            arguments = self.parameters.values()
            try:
                tiles = self._tiles_of(self._tiles, A.points)
                tiles.diagonal(A.sq_norms if tiles.of_dots else _given(A), out, *arguments)
                return out
            except NotCompiledError as error:
                self._interpret(error, A)
        for i in range(len(A)):
            out[i] = self._pairs(A[i : i + 1], A[i : i + 1])[0, 0]
        return out

    def _compiled_tile(
        self, tiles: CompiledTiles, A: SampleBlock, B: SampleBlock, out: np.ndarray
    ) -> None:
        flat, stride = flat_rows(out)
        arguments = self.parameters.values()
        tiles = self._tiles_of(tiles, A.points, B.points)
        if not tiles.of_dots:
            tiles.tile(_given(A), _given(B), flat, stride, *arguments)
            self._checked(out)
            return
        table = self._table(tiles, A.points, out.dtype) if A.points is B.points else None
        if table is not None:
            products(A, B, out)
            map_by_table(out, A.sq_norms, B.sq_norms, table)
            return
        dots = out
        # In float32 only where that has no rounding: dot products of integers.
        if out.dtype == np.float32 and not (A.points is B.points and A.points.are_exact(out.dtype)):
            A, B = (each.points.take(each.index, np.float64) for each in (A, B))
            dots = np.empty(out.shape)
        products(A, B, dots)
        source, source_stride = flat_rows(dots)
        norms = (np.ascontiguousarray(each.sq_norms) for each in (A, B))
        buffer = np.empty(out.shape[1])
        tiles.tile(source, source_stride, flat, stride, *out.shape, *norms, buffer, *arguments)
        self._checked(out)

    def _table(self, tiles: CompiledTiles, points: Samples, dtype: np.dtype) -> np.ndarray | None:
        """The values at all squared distances of rows of small integers; None for others."""
        key = self, "table", dtype
        if key not in points.prepared:
            largest = 4 * points.largest_norm(np.float64)
            is_small = largest <= LARGEST_TABULATED and points.are_exact(dtype)
            table = None
            if tiles.is_shift_invariant and is_small:
                distances = np.arange(int(largest) + 1, dtype=np.float64)
                one, zeros = np.zeros(1), np.zeros(distances.size)
                table = np.empty(distances.size, dtype)
                shape, buffer = (1, distances.size), np.empty(distances.size)
                sides = zeros, distances.size, table, distances.size
                tiles.tile(*sides, *shape, one, distances, buffer, *self.parameters.values())
                self._checked(table)
            points.prepared[key] = table
        return points.prepared[key]

    def _interpret(self, error: NotCompiledError, A: SampleBlock) -> None:
        """Run as Python from now on, with one note; a function that fails there, too, says why."""
        self._pairs(A[:1], A[:1])
        type(self)._tiles = None
        warn_user(
            f"The kernel function {self.definition.name!r} cannot be compiled and runs as Python, "
            f"a value at a time, which is slow ({error}). Use arithmetic and functions of NumPy "
            "that Numba knows, or write it for whole matrices, k(X, Z).",
            InterpretedKernelWarning,
        )

    def _pairs(self, A: SampleBlock, B: SampleBlock) -> np.ndarray:
        function, keywords = self.definition.function, self.parameters
        X, Z = _given(A), _given(B)
        if self.definition.form == "dot":
            norms = [np.einsum("ij,ij->i", rows, rows) for rows in (X, Z)]
            K = [
                [function(x @ z, a, b, **keywords) for z, b in zip(Z, norms[1], strict=True)]
                for x, a in zip(X, norms[0], strict=True)
            ]
        else:
            K = [[function(x, z, **keywords) for z in Z] for x in X]
        return self._matrix(K).reshape(len(A), len(B))


def _given(A: SampleBlock) -> np.ndarray:
    """The rows in float64, as they were given."""
    rows = A.points.X[A.index]
    rows = rows.toarray() if sp.issparse(rows) else rows
    return np.ascontiguousarray(rows, dtype=np.float64)
