"""Hashes of TensorSketch (Pham and Pagh 2013) for polynomial kernels (γ x·z + c₀)^p.

E φ(x)·φ(z) = k(x, z), and its variance is at most (3^p − 1)/D · k(x, x) k(z, z) for D features
(Avron, Nguyen and Woodruff 2014).
"""

from __future__ import annotations

import numpy as np

from mercer.features._maps import SketchMap
from mercer.kernels import Kernel, Linear, Polynomial
from mercer.kernels._composite import Power, Scaled

__all__ = ["draw_sketch"]


def draw_sketch(kernel: Kernel, d: int, n_features: int, rng: np.random.RandomState) -> SketchMap:
    """Buckets and signs for d columns."""
    scale, degree, gamma, coef0 = _polynomial(kernel)
    columns = rng.randint(n_features, size=(degree, d + 1))
    signs = 2.0 * rng.randint(2, size=(degree, d + 1)) - 1.0
    return SketchMap(columns, signs, n_features, gamma, coef0, scale)


def _polynomial(kernel: Kernel) -> tuple[float, int, float, float]:
    """c, p, γ and c₀ of c (γ x·z + c₀)^p."""
    match kernel:
        case Polynomial() if kernel.is_psd:
            return 1.0, kernel.degree, kernel.gamma, kernel.coef0
        case Linear():
            return 1.0, 1, 1.0, 0.0
        case Scaled():
            scale, degree, gamma, coef0 = _polynomial(kernel.k)
            return kernel.c * scale, degree, gamma, coef0
        case Power():
            scale, degree, gamma, coef0 = _polynomial(kernel.k)
            return scale**kernel.power, degree * kernel.power, gamma, coef0
    raise ValueError(
        f"TensorSketch is for polynomial kernels with coef0 >= 0, got {kernel!r}. Use Nystroem."
    )
