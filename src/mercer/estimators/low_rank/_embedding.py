"""Features of training rows, tile by tile, and sums over them with bounds of their rounding."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state

from mercer._expansion import Expansion
from mercer._precision import UNIT
from mercer.features import FeatureMap, NystromMap, choose_landmarks, draw_fourier, draw_sketch
from mercer.features._fourier import is_orthogonal
from mercer.features._function import FeatureFunction
from mercer.gram import BlockedGram
from mercer.gram._low_rank import landmark_basis
from mercer.gram._machine import pieces
from mercer.kernels._samples import Samples

__all__ = ["APPROXIMATIONS", "Embedding", "FeatureSums", "make_embedding"]

APPROXIMATIONS = ("nystroem", "fourier", "sketch")
# The bound of a sum is computed with rounding, too.
_MARGIN = 1.001


@dataclass(frozen=True)
class EmbeddingSettings:
    """Tuning constants of embeddings.

    Attributes
    ----------
    tile_rows : int
        Rows that are embedded at a time: a tile of kernel values stays within some megabytes.
    cutoff : float
        Eigenvalues of the landmarks' matrix up to this fraction of the largest are left out. A
        larger one loses directions that other rows need, a smaller one makes coefficients of
        landmarks so large that the bounds of their sums say nothing.
    """

    tile_rows: int = 1024
    cutoff: float = 1e-11


SETTINGS = EmbeddingSettings()


@dataclass(frozen=True, eq=False)
class FeatureSums:
    """f = F w at the points and v = Fᵀβ, of each task, with bounds of their errors.

    Attributes
    ----------
    f, f_error : float64 arrays of shape (n, tasks)
    v, v_error : float64 arrays of shape (r, tasks)
    """

    f: np.ndarray
    f_error: np.ndarray
    v: np.ndarray
    v_error: np.ndarray


class Embedding:
    """A feature map on the rows of a Gram.

    Attributes
    ----------
    map : FeatureMap
    gram : BlockedGram
    landmarks : int array or None
        Their row numbers; None of features that are no kernel sums.
    """

    def __init__(
        self, map: FeatureMap, gram: BlockedGram, X: Any, landmarks: np.ndarray | None = None
    ):
        self.map, self.gram, self.X, self.landmarks = map, gram, X, landmarks
        self.n, self.n_features = gram.n, map.n_features
        if landmarks is not None:
            assert isinstance(map, NystromMap)
            self.factor = map.factor
            self._block = gram.sample_block(landmarks, np.float64)

    def features(self, rows: Any) -> np.ndarray:
        """F of some rows in float64."""
        if self.landmarks is None:
            return self.map.transform(self.X[rows])
        return self.gram.block(rows, self._block) @ self.factor

    def each(self, rows: list[Any], task: Callable[[Any], Any], stop: Any) -> list[Any]:
        """``task`` of every part, over the threads of the Gram; None once ``stop()``."""
        return self.gram.workers.map(lambda part: None if stop() else task(part), rows)

    @property
    def tiles(self) -> list[slice]:
        return pieces(self.n, SETTINGS.tile_rows)

    def matrix(self, stop: Callable[[], bool]) -> tuple[np.ndarray, np.ndarray]:
        """F in float32, and ‖φ(x)‖² of each row; once ``stop()``, zeros and infinity."""
        F = np.zeros((self.n, self.n_features), np.float32)
        squares = np.full(self.n, np.inf)

        def one(part: slice) -> None:
            tile = self.features(part)
            squares[part] = np.einsum("ij,ij->i", tile, tile)
            F[part] = tile

        self.each(self.tiles, one, stop)
        return F, squares

    def squares(self, stop: Callable[[], bool]) -> np.ndarray:
        """‖φ(x)‖² of each row, where F is not kept; infinite once ``stop()``."""
        out = np.full(self.n, np.inf)

        def one(part: slice) -> None:
            tile = self.features(part)
            out[part] = np.einsum("ij,ij->i", tile, tile)

        self.each(self.tiles, one, stop)
        return out

    def function(self, W: np.ndarray, b: np.ndarray) -> tuple[Any, Any, np.ndarray]:
        """The fitted function of weights W, the rows it is made of, and their coefficients."""
        if self.landmarks is None:
            empty = self.X[:0]
            return FeatureFunction(self.gram.kernel, self.map, Samples(empty), W.T, b), empty, W
        A, _ = self.coefficients(W)
        assert isinstance(self.map, NystromMap)
        landmarks = self.map.landmarks
        return Expansion(self.gram.kernel, landmarks, A.T, b), landmarks.X, A

    # ------------------------------------------------------------------ sums with bounds

    def coefficients(self, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """a = factor w of each task as stored, and a bound of the error of each entry."""
        factor, wide = self.factor.astype(np.longdouble), W.astype(np.longdouble)
        A = factor @ wide
        unit = float(np.finfo(np.longdouble).eps) * (self.n_features + 2)
        rounded = A.astype(np.float64)
        size = np.abs(factor) @ np.abs(wide)
        error = (unit * size + np.abs(A - rounded)).astype(np.float64)
        return rounded, _MARGIN * error + UNIT * np.abs(rounded)

    def sums(self, W: np.ndarray, betas: np.ndarray, stop: Callable[[], bool]) -> FeatureSums:
        """F w and Fᵀβ of each task: columns of W (r, tasks) and of ``betas`` (n, tasks).

        Once ``stop()``, the errors of sums that are not known are infinite.
        """
        found = None
        if W.any() or betas.any():
            of_tiles = self._plain_sums if self.landmarks is None else self._kernel_sums
            found = of_tiles(W, betas, stop)
        if found is not None:
            return found
        f, v = np.zeros((self.n, W.shape[1])), np.zeros(W.shape)
        f_error, v_error = f.copy(), v.copy()
        f_error[:, W.any(axis=0)] = np.inf
        v_error[:, betas.any(axis=0)] = np.inf
        return FeatureSums(f, f_error, v, v_error)

    def _kernel_sums(
        self, W: np.ndarray, betas: np.ndarray, stop: Callable[[], bool]
    ) -> FeatureSums | None:
        assert self.landmarks is not None
        gram, m = self.gram, self.landmarks.size
        A, A_error = self.coefficients(W)
        error = gram.sum_error(np.float64).with_terms(max(m, SETTINGS.tile_rows) + len(self.tiles))
        weight_A = np.column_stack([error.weight(a, self.landmarks) for a in A.T])
        weight_B = np.column_stack([error.weight(b) for b in betas.T])
        f, f_sums = np.empty((2, self.n, A.shape[1]))

        def one(part: slice) -> tuple[np.ndarray, np.ndarray] | None:
            if stop():
                return None
            tile = gram.block(part, self._block)
            f[part] = tile @ A
            h = tile.T @ betas[part]
            np.abs(tile, out=tile)
            f_sums[part] = tile @ (weight_A + A_error)
            return h, tile.T @ weight_B[part]

        parts = gram.workers.map(one, self.tiles)
        if any(part is None for part in parts):
            return None
        h = np.sum([h for h, _ in parts], axis=0)
        h_sums = np.sum([e for _, e in parts], axis=0) * (1 + len(parts) * UNIT)
        f_error, h_error = np.empty_like(f), np.empty_like(h)
        for t in range(A.shape[1]):
            over = np.zeros(self.n)
            over[self.landmarks] = np.abs(A[:, t]) + A_error[:, t]
            f_error[:, t] = _MARGIN * error.bound(f_sums[:, t], over)
            h_error[:, t] = _MARGIN * error.bound(h_sums[:, t], betas[:, t], self.landmarks)
        v = self.factor.T @ h
        v_error = np.abs(self.factor).T @ (h_error + (m + 2) * UNIT * np.abs(h))
        return FeatureSums(f, f_error, v, _MARGIN * v_error)

    def _plain_sums(
        self, W: np.ndarray, betas: np.ndarray, stop: Callable[[], bool]
    ) -> FeatureSums | None:
        """Of features that are given by their map: as computed, without an error of their own."""
        f, f_error = np.empty((2, self.n, W.shape[1]))

        def one(part: slice) -> tuple[np.ndarray, np.ndarray] | None:
            if stop():
                return None
            F = self.features(part)
            size = np.abs(F)
            f[part], f_error[part] = F @ W, size @ np.abs(W)
            return F.T @ betas[part], size.T @ np.abs(betas[part])

        parts = self.gram.workers.map(one, self.tiles)
        if any(part is None for part in parts):
            return None
        f_error *= _MARGIN * (self.n_features + 2) * UNIT
        terms = SETTINGS.tile_rows + len(parts) + 2
        v, v_sums = (np.sum([part[k] for part in parts], axis=0) for k in (0, 1))
        return FeatureSums(f, f_error, v, _MARGIN * terms * UNIT * v_sums)

    def norm(self, a: np.ndarray) -> tuple[float, float]:
        """aᵀK_mm a, the squared norm in the kernel's feature space, and a bound of its error."""
        assert self.landmarks is not None
        part = self.gram.take(self.landmarks)
        f, error = part.bounded_sums(a, np.arange(a.size))
        rounding = (a.size + 4) * UNIT * float(np.abs(a) @ np.abs(f))
        return float(a @ f), _MARGIN * (float(np.abs(a) @ error) + rounding)


def make_embedding(
    approximation: str,
    n_components: int,
    random_state: Any,
    gram: BlockedGram,
    X: Any,
    stop: Callable[[], bool],
) -> Embedding:
    """Draw landmarks, frequencies or hashes for the kernel and the rows of a Gram."""
    rng = check_random_state(random_state)
    kernel = gram.kernel
    if approximation == "fourier":
        rule = "orthogonal" if is_orthogonal(kernel) else "quasi"
        return Embedding(draw_fourier(kernel, X.shape[1], n_components, rule, rng), gram, X)
    if approximation == "sketch":
        return Embedding(draw_sketch(kernel, X.shape[1], n_components, rng), gram, X)
    m = min(n_components, gram.n)
    rows = np.sort(choose_landmarks(gram, m, "random", rng, stop))
    values, factor = landmark_basis(gram.take(rows).matrix(), SETTINGS.cutoff)
    if not factor.shape[1] or values[0] < -1e3 * m * 2 * UNIT * values[-1]:
        raise ValueError(
            f"The kernel matrix of {m} landmarks has eigenvalues from {values[0]:.3g} to "
            f"{values[-1]:.3g}: {kernel!r} has no Nyström features on these rows (see "
            "mercer.check_kernel)."
        )
    own = X[rows]  # as the user gave them; prepared samples may be features of objects
    is_shifted = own.ndim == 2 and not sp.issparse(own)
    landmarks = Samples(own, gram.points.origin if is_shifted else None)
    return Embedding(NystromMap(kernel, landmarks, factor), gram, X, rows)
