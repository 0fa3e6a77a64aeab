"""Frequencies of stationary kernels, whose spectral density is a probability (Bochner).

k(x − z) = c E cos ω·(x − z). With independent coordinates, ωⱼ = F⁻¹(u) of uniform u:

=================  ============================================================
RBF(γ)             normal, of variance 2γ
Laplacian(γ)       Cauchy, of scale γ
c k                the frequencies of k
k₁ k₂, k^p         the sum of independent frequencies of the factors
=================  ============================================================

* ``plain``: independent uniforms (Rahimi and Recht 2007);
* ``quasi``: a scrambled Sobol sequence (Avron, Sindhwani, Yang and Mahoney 2016). Each point of it
  is uniform, so the features are unbiased;
* ``orthogonal`` (RBF kernels): blocks of orthogonal directions with the lengths of independent
  normal vectors (Yu, Suresh, Choromanski, Holtmann-Rice and Kumar 2016). Each frequency is normal.
"""

from __future__ import annotations

import warnings

import numpy as np
from scipy.special import ndtri
from scipy.stats import qmc

from mercer.features._maps import FourierMap
from mercer.kernels import RBF, Kernel, Laplacian
from mercer.kernels._composite import Power, Product, Scaled

__all__ = ["FOURIER_RULES", "draw_fourier", "is_orthogonal"]

FOURIER_RULES = ("orthogonal", "plain", "quasi")
# Sobol's sequences of SciPy have at most as many columns.
_SOBOL_COLUMNS = 21201


def draw_fourier(
    kernel: Kernel, d: int, n_features: int, rule: str, rng: np.random.RandomState
) -> FourierMap:
    """Frequencies for d columns, two features each: an odd number of features is rounded up."""
    scale, factors = _factors(kernel)
    count = (n_features + 1) // 2
    if rule == "orthogonal" and not all(isinstance(k, RBF) for k in factors):
        raise ValueError(
            f"Orthogonal frequencies are those of RBF kernels, got {kernel!r}. Use "
            "method='plain' or method='quasi'."
        )
    uniforms = _uniforms(count, d * len(factors), rule, rng) if rule != "orthogonal" else None
    total = np.zeros((count, d))
    for i, factor in enumerate(factors):
        if uniforms is None:
            total += np.sqrt(2 * factor.gamma) * _orthogonal(count, d, rng)
        else:
            total += _frequencies(factor, uniforms[:, i * d : (i + 1) * d])
    return FourierMap(np.ascontiguousarray(total.T), scale)


def is_orthogonal(kernel: Kernel) -> bool:
    """Whether a kernel's frequencies can be drawn in orthogonal blocks."""
    return all(isinstance(k, RBF) for k in _factors(kernel)[1])


def _factors(kernel: Kernel) -> tuple[float, list]:
    """The constant factor of a kernel, and its factors with a known spectral density."""
    match kernel:
        case RBF() | Laplacian():
            return 1.0, [kernel]
        case Scaled():
            scale, factors = _factors(kernel.k)
            return kernel.c * scale, factors
        case Product():
            (c1, first), (c2, second) = _factors(kernel.k1), _factors(kernel.k2)
            return c1 * c2, first + second
        case Power():
            scale, factors = _factors(kernel.k)
            return scale**kernel.power, factors * kernel.power
    raise ValueError(
        f"No spectral density is known of {kernel!r}. Fourier features are those of RBF and "
        "Laplacian kernels, their products and multiples; use Nystroem."
    )


def _uniforms(count: int, columns: int, rule: str, rng: np.random.RandomState) -> np.ndarray:
    if rule == "plain" or columns > _SOBOL_COLUMNS:
        return rng.uniform(size=(count, columns))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # numbers of points that are no power of two
        return qmc.Sobol(columns, seed=rng.randint(2**31 - 1)).random(count)


def _frequencies(kernel: Kernel, uniforms: np.ndarray) -> np.ndarray:
    uniforms = np.clip(uniforms, 1e-15, 1 - 1e-15)
    if isinstance(kernel, RBF):
        return np.sqrt(2 * kernel.gamma) * ndtri(uniforms)
    assert isinstance(kernel, Laplacian)
    return kernel.gamma * np.tan(np.pi * (uniforms - 0.5))


def _orthogonal(count: int, d: int, rng: np.random.RandomState) -> np.ndarray:
    """Normal vectors, orthogonal in blocks of d."""
    blocks = []
    for _ in range(-(-count // d)):
        Q, R = np.linalg.qr(rng.normal(size=(d, d)))
        Q *= np.sign(np.diag(R))  # uniform among the orthogonal matrices
        lengths = np.sqrt(rng.chisquare(d, size=d))
        blocks.append(lengths[:, None] * Q)
    return np.vstack(blocks)[:count]
