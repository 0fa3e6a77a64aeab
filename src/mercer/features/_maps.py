"""Feature maps φ with φ(x)·φ(z) = k(x, z), nearly: what is needed to map new rows, and no more.

=============  ======================================  ==========================================
map            φ(x)                                    k − φ·φ
=============  ======================================  ==========================================
`NystromMap`   factorᵀ (k(l₁, x), …, k(l_m, x))        a kernel: positive semidefinite
`FourierMap`   √(c/D) (cos ωⱼ·x, sin ωⱼ·x)             zero in the mean
`SketchMap`    FFT⁻¹(Π FFT(count sketch of x))         zero in the mean
=============  ======================================  ==========================================
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
import scipy.sparse as sp

from mercer.gram._machine import pieces
from mercer.kernels import Kernel
from mercer.kernels._samples import Samples

__all__ = ["ROWS", "FeatureMap", "FourierMap", "NystromMap", "SketchMap"]

# Rows that are mapped at a time.
ROWS = 2048


@runtime_checkable
class FeatureMap(Protocol):
    """A frozen map of rows to features."""

    @property
    def n_features(self) -> int: ...

    def transform(self, X: Any, dtype: Any = np.float64) -> np.ndarray:
        """Features of validated rows, of shape (n, n_features)."""
        ...


@dataclass(frozen=True, eq=False)
class NystromMap:
    """Features of landmarks: an orthonormal basis of their span in feature space, at x.

    Attributes
    ----------
    kernel : Kernel
    landmarks : Samples
        m rows, and the origin they are shifted by.
    factor : float64 array of shape (m, r)
        V Λ^(−1/2) of the landmarks' matrix V Λ Vᵀ.
    """

    kernel: Kernel
    landmarks: Samples
    factor: np.ndarray

    @property
    def n_features(self) -> int:
        return self.factor.shape[1]

    def transform(self, X: Any, dtype: Any = np.float64) -> np.ndarray:
        """k(x, landmarks) factor, computed in float64 and stored in ``dtype``."""
        n = X.shape[0]
        out = np.empty((n, self.n_features), dtype)
        landmarks = self.kernel.prepare(self.landmarks).compared()
        block = landmarks.take(slice(0, landmarks.n), np.float64)
        for part in pieces(n, ROWS):
            rows = self.kernel.prepare(Samples(X[part], self.landmarks.origin)).compared()
            tile = np.empty((rows.n, landmarks.n))
            self.kernel.tile(rows.take(slice(0, rows.n), np.float64), block, tile)
            out[part] = tile @ self.factor
        return out


@dataclass(frozen=True, eq=False)
class FourierMap:
    """Random Fourier features (Rahimi and Recht 2007): cosines and sines of each frequency.

    Attributes
    ----------
    frequencies : float64 array of shape (d, D)
    scale : float
        k(x, x), which φ(x)·φ(x) is exactly.
    """

    frequencies: np.ndarray
    scale: float = 1.0

    @property
    def n_features(self) -> int:
        return 2 * self.frequencies.shape[1]

    def transform(self, X: Any, dtype: Any = np.float64) -> np.ndarray:
        D = self.frequencies.shape[1]
        out = np.empty((X.shape[0], 2 * D), dtype)
        factor = np.sqrt(self.scale / max(D, 1))
        for part in pieces(X.shape[0], ROWS):
            angle = np.asarray(X[part] @ self.frequencies, dtype=np.float64)
            out[part, :D] = factor * np.cos(angle)
            out[part, D:] = factor * np.sin(angle)
        return out


@dataclass(frozen=True, eq=False)
class SketchMap:
    """TensorSketch (Pham and Pagh 2013) of (γ x·z + c₀)^p: p count sketches, convolved.

    Attributes
    ----------
    columns : int array of shape (p, d + 1)
        The bucket of each column, in each of the p sketches; the last column is the constant √c₀.
    signs : float64 array of shape (p, d + 1)
    n_features : int
    gamma, coef0 : float
    scale : float
    """

    columns: np.ndarray
    signs: np.ndarray
    n_features: int
    gamma: float = 1.0
    coef0: float = 0.0
    scale: float = 1.0

    def transform(self, X: Any, dtype: Any = np.float64) -> np.ndarray:
        out = np.empty((X.shape[0], self.n_features), dtype)
        matrices = [self._matrix(i) for i in range(self.columns.shape[0])]
        for part in pieces(X.shape[0], ROWS):
            out[part] = np.sqrt(self.scale) * self._sketch(X[part], matrices)
        return out

    def _matrix(self, i: int) -> sp.csr_matrix:
        """The i-th count sketch as a (d + 1) × n_features matrix with one entry in each row."""
        d = self.columns.shape[1] - 1
        weight = np.append(np.full(d, np.sqrt(self.gamma)), np.sqrt(self.coef0))
        parts = self.signs[i] * weight, (np.arange(d + 1), self.columns[i])
        return sp.csr_matrix(parts, shape=(d + 1, self.n_features))

    def _sketch(self, X: Any, matrices: list) -> np.ndarray:
        product = np.ones((X.shape[0], self.n_features // 2 + 1), complex)
        for matrix in matrices:
            rows = X @ matrix[:-1]
            rows = rows.toarray() if sp.issparse(rows) else np.asarray(rows)
            product *= np.fft.rfft(rows + matrix[-1].toarray(), axis=1)
        return np.fft.irfft(product, self.n_features, axis=1)
