"""The fitted function f(x) = Σ cᵢ k(xᵢ, x) + b, over support vectors only.

Several outputs (the tasks of a multiclass model) share the kernel values: each tile of rows ×
support vectors is computed once and multiplied by the coefficients of every output that uses it.
Tiles are the same whatever the number of threads, so values do not depend on it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer._threads import Workers, single_threaded_blas, thread_count
from mercer.gram._expansion_sums import ROWS_PER_TILE, ExpansionSums
from mercer.gram._machine import MACHINE, pieces
from mercer.kernels import Kernel
from mercer.kernels._compiled.products import DENSE_FROM
from mercer.kernels._samples import SampleBlock, Samples, centre
from mercer.kernels.structured._feature_sums import sums_by_features

__all__ = ["Expansion"]

Decided = Callable[[np.ndarray, np.ndarray], np.ndarray]

# Rows are cut into CHUNKS parts of at least FEWEST_ROWS rows (fewer where values are costly), into
# more if a part would be larger than a tile. The fewer parts, the less do threads wait for Python
# between compiled functions.
CHUNKS, FEWEST_ROWS = 10, 256
# float32 tiles take half the time. Models with fewer than WORTH_FLOAT32 multiplications per row are
# evaluated in float64; the exponential or other map of a kernel value counts as 64 of them.
WORTH_FLOAT32 = 100_000
# float32 values come with a bound on their error (`SumError`). Rows are evaluated again in float64
# if a value may have the other sign, or if the bound is above LARGEST_ERROR of the largest value
# at PROBES support vectors. Kernels that are not shift-invariant are always evaluated in float64.
LARGEST_ERROR = 2e-3
PROBES = 128
FLOAT32, FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)


class Expansion:
    """A kernel expansion with one or several outputs.

    Parameters
    ----------
    kernel : Kernel
    support : Samples
        The support vectors, or rows that contain them if there are ``columns``. For a precomputed
        kernel only their number matters.
    coef : float64 array of shape (m, n_support)
    b : float64 array of shape (n_outputs,)
    blocks : sequence of (start, stop, outputs), optional
        Row r of ``coef[:, start:stop]`` belongs to output ``outputs[r]``; by default row r is
        output r everywhere. One-vs-one models have one block per class.
    columns : int array, optional
        Which columns of the kernel matrix with all training rows are the support vectors', for a
        precomputed kernel and a function whose values depend on all training rows.
    """

    def __init__(
        self,
        kernel: Kernel,
        support: Samples,
        coef: np.ndarray,
        b: np.ndarray,
        blocks: Sequence[tuple[int, int, np.ndarray]] | None = None,
        columns: np.ndarray | None = None,
    ):
        self.kernel = kernel
        self.support = support
        self.coef = np.atleast_2d(coef)
        self.b = np.asarray(b, dtype=np.float64)
        self.blocks = blocks or [(0, self.coef.shape[1], np.arange(self.coef.shape[0]))]
        self.columns = columns
        self._prepared: dict[Any, Any] = {}

    @property
    def n_support(self) -> int:
        return self.coef.shape[1]

    def __repr__(self) -> str:
        many = "" if self.b.size == 1 else f", {self.b.size} outputs"
        b = f", b = {self.b[0]:.6g}" if self.b.size == 1 else ""
        return f"Expansion: f(x) = Σ c k(z, x) + b, {self.kernel!r}, {self.n_support:,} z{many}{b}"

    def __getstate__(self) -> dict:
        return {k: v for k, v in self.__dict__.items() if k != "_prepared"}

    def __setstate__(self, state: dict) -> None:
        self.__dict__.update(state, _prepared={})

    def __call__(self, X: Any, n_jobs: int | None = None) -> np.ndarray:
        """f at the rows of X (dense or CSR, like the support vectors): shape (n, n_outputs)."""
        return self._rounded(X, n_jobs, LARGEST_ERROR)

    def exact(self, X: Any, n_jobs: int | None = None) -> np.ndarray:
        """As the call, with float64 kernel values whatever they cost."""
        return self._values(X, FLOAT64, n_jobs)

    def signs(
        self, X: Any, n_jobs: int | None = None, is_decided: Decided | None = None
    ) -> np.ndarray:
        """As the call, but only the signs are as good as float64's.

        ``is_decided(values, error)`` says which rows need no more than the signs that are certain:
        those of ``abs(values) > error``.
        """
        return self._rounded(X, n_jobs, np.inf, is_decided)

    def _rounded(
        self,
        X: Any,
        n_jobs: int | None,
        largest_error: float,
        is_decided: Decided | None = None,
    ) -> np.ndarray:
        """Values from float32 tiles, and from float64 ones where the bound asks for it."""
        if not self._is_worth_float32 or self._error_at_probes > largest_error * self._scale:
            return self._values(X, FLOAT64, n_jobs)
        if is_decided is None and self._unsure_at_probes > 0.5:  # float32 would come on top
            return self._values(X, FLOAT64, n_jobs)
        error = np.zeros((X.shape[0], self.b.size))
        values = self._values(X, FLOAT32, n_jobs, error)
        sure = np.abs(values) > error
        if largest_error < np.inf:
            sure &= error <= largest_error * self._scale
        again = np.flatnonzero(~sure.all(axis=1))
        if is_decided is not None:
            again = again[~is_decided(values[again], error[again])]
        if again.size:
            with single_threaded_blas():
                values[again] = self._values(X[again], FLOAT64, n_jobs)
        return values

    @property
    def _is_worth_float32(self) -> bool:
        worth = self.n_support * (self.support.d + 64) >= WORTH_FLOAT32
        return worth and self.kernel.is_shift_invariant and self.columns is None

    @property
    def _scale(self) -> float:
        """The largest value at some support vectors."""
        return self._at_probes()[0]

    @property
    def _error_at_probes(self) -> float:
        """The bound on the error of float32 values, in the median of some support vectors."""
        return self._at_probes()[1]

    @property
    def _unsure_at_probes(self) -> float:
        """The share of some support vectors with a float32 value that may have the other sign."""
        return self._at_probes()[2]

    def _at_probes(self) -> tuple[float, float, float]:
        if "probes" not in self._prepared:
            probes = np.unique(np.linspace(0, self.n_support - 1, PROBES).astype(np.intp))
            error = np.zeros((probes.size, self.b.size))
            values = self._values(self.support.X[probes], FLOAT32, 1, error)
            size = np.abs(values)
            unsure = (size <= error).any(axis=1).mean()
            self._prepared["probes"] = float(size.max()), float(np.median(error)), float(unsure)
        return self._prepared["probes"]

    def _values(
        self, X: Any, dtype: np.dtype, n_jobs: int | None, error: np.ndarray | None = None
    ) -> np.ndarray:
        """f at the rows of X; a bound on its error is written into ``error``."""
        n = X.shape[0]
        if self.n_support == 0:
            return np.tile(self.b, (n, 1))
        if self.kernel.is_linear and self._has_large_weights:
            return self._sums_over_rows(X)
        if self.kernel.is_linear:
            origin = self.support.origin
            centred = X if origin is None else X - origin
            W = self.weights()
            if origin is not None:
                W = W + self._linear_factor * self._rounding_of_sums[:, None] * origin
            return np.asarray(centred @ W.T) + self.b
        out = np.tile(self.b, (n, 1))
        self._add_shift_terms(X, out)
        # Objects are prepared all at once: they are brought into the support vectors' terms once.
        objects = self._samples(X) if self.support.are_objects else None
        if objects is not None:
            sums = sums_by_features(self.kernel, objects, self._support, self.coef, self.blocks)
            if sums is not None:
                return out + sums

        expansion_sums = self._sums(dtype)

        def one(rows: slice) -> None:
            if objects is not None:
                block = objects.take(rows, dtype)
            else:
                samples = self._samples(X[rows])
                block = samples.take(slice(0, samples.n), dtype)
            expansion_sums.add(block, out[rows], None if error is None else error[rows])

        cost = MACHINE.object_cost(self.kernel, self._support)
        fewest = MACHINE.part_rows(FEWEST_ROWS, cost, self.n_support)
        chunks = pieces(n, min(ROWS_PER_TILE, max(fewest, -(-n // CHUNKS))))
        if len(chunks) <= 1:  # a small input needs no threads
            for rows in chunks:
                one(rows)
            return out
        with single_threaded_blas(), Workers(thread_count(n_jobs)) as workers:
            workers.map(one, chunks)
        return out

    # Numbers of all w, some 64 MB, up to which they are computed rather than kept as sums.
    _max_weights = 1 << 23

    @property
    def _has_large_weights(self) -> bool:
        """Whether the w of all outputs are much larger than the sparse rows they are made of."""
        size = self.b.size * self.support.d
        rows = self.support.X
        return size > self._max_weights and self.support.is_sparse and size > 4 * rows.nnz

    def _sums_over_rows(self, X: Any) -> np.ndarray:
        """f of a linear kernel without w: products with the support vectors, rows at a time."""
        out = np.tile(self.b, (X.shape[0], 1))
        for i in range(0, X.shape[0], ROWS_PER_TILE):
            rows = slice(i, i + ROWS_PER_TILE)
            K = self._linear_factor * sp.csr_matrix(X[rows] @ self.support.X.T)
            for start, stop, outputs in self.blocks:
                out[rows, outputs] += K[:, start:stop] @ self.coef[:, start:stop].T
        return out

    def values_of_kernel(self, X: Any) -> np.ndarray:
        """k(x, support vector) in float64, for a few rows at a time."""
        points = self._samples(X)
        out = np.empty((points.n, self.n_support))
        vectors = self._vectors(slice(0, self.n_support), FLOAT64)
        self.kernel.tile(points.take(slice(0, points.n)), vectors, out)
        return out

    def weights(self, *, centred: bool = True) -> np.ndarray:
        """For a linear kernel c x·z: the w of each output, shape (n_outputs, d).

        Of centred rows (``centred``), or of rows as they are: then with the origin times the sum of
        the coefficients, which is rounding where these sum to zero.
        """
        if "weights" not in self._prepared:
            W = np.zeros((self.b.size, self.support.d))
            for start, stop, outputs in self.blocks:
                vectors = self.support.rows(slice(start, stop), None)
                W[outputs] += self.coef[:, start:stop] @ vectors
            self._prepared["weights"] = self._linear_factor * W
        W, origin = self._prepared["weights"], self.support.origin
        if centred or origin is None:
            return W
        return W + self._linear_factor * self._coef_sums[:, None] * origin

    def sparse_weights(self) -> sp.csr_matrix:
        """The same of sparse rows as CSR: its size does not depend on the number of columns."""
        whole = np.zeros((self.b.size, self.n_support))
        for start, stop, outputs in self.blocks:
            whole[outputs, start:stop] += self.coef[:, start:stop]
        W = sp.csr_matrix(self._linear_factor * whole) @ self.support.X
        W.eliminate_zeros()
        W.sort_indices()
        return W

    @property
    def _coef_sums(self) -> np.ndarray:
        """Σ c of every output, without rounding but the last one."""
        if "sums" not in self._prepared:
            columns: list[list[float]] = [[] for _ in range(self.b.size)]
            for start, stop, outputs in self.blocks:
                for r, output in enumerate(outputs):
                    columns[output] += self.coef[r, start:stop].tolist()
            self._prepared["sums"] = np.array([math.fsum(each) for each in columns])
        return self._prepared["sums"]

    @property
    def _rounding_of_sums(self) -> np.ndarray:
        """Σ c where it is the rounding of zero.

        In k-means all c of an output are positive, and f is one of centred rows: there 0.
        """
        sizes = np.zeros(self.b.size)
        for start, stop, outputs in self.blocks:
            sizes[outputs] += np.abs(self.coef[:, start:stop]).sum(axis=1)
        return np.where(np.abs(self._coef_sums) < 0.5 * sizes, self._coef_sums, 0.0)

    def _add_shift_terms(self, X: Any, out: np.ndarray) -> None:
        """Σ c times a(x) − a(origin) (`Kernel.shift_terms`): the coefficients need not sum to zero.

        ν-SVR publishes differences of two duals, whose rounding is not that of the difference.
        """
        origin = self.support.origin
        if origin is None or self.kernel.is_shift_invariant or not self._coef_sums.any():
            return
        terms, _ = self.kernel.shift_terms(X - origin, origin)
        out += terms[:, None] * self._coef_sums

    @property
    def _linear_factor(self) -> float:
        factor = self.kernel.linear_factor
        assert factor is not None
        return factor

    def _samples(self, X: Any) -> Samples:
        """Rows as the kernel takes them, in the coordinates of the support vectors."""
        origin = self._given.origin
        if self.support.is_sparse and not self._given.is_sparse:
            X = X.toarray()
        return self.kernel.prepare(Samples(X, origin)).compared()

    @property
    def _given(self) -> Samples:
        """The support vectors; sparse ones of which many entries are nonzero as a dense array."""
        if "given" not in self._prepared:
            given, X = self.support, self.support.X
            if given.is_sparse and X.nnz > DENSE_FROM * X.shape[0] * X.shape[1]:
                X = X.toarray()
                given = Samples(X, centre(X) if self.kernel.is_shift_invariant else None)
            self._prepared["given"] = given
        return self._prepared["given"]

    @property
    def _support(self) -> Samples:
        """The support vectors as the kernel takes them."""
        if "support" not in self._prepared:
            self._prepared["support"] = self.kernel.prepare(self._given).compared()
        return self._prepared["support"]

    def _sums(self, dtype: np.dtype) -> ExpansionSums:
        if dtype not in self._prepared:
            self._prepared[dtype] = ExpansionSums(
                self.kernel, self._support, self._vectors, self.coef, self.b, self.blocks, dtype
            )
        return self._prepared[dtype]

    def _vectors(self, which: slice, dtype: Any) -> SampleBlock:
        if self.columns is None:
            return self._support.take(which, dtype)
        return SampleBlock(self.support, self.columns[which], dtype)
