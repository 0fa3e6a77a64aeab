"""Kernels as C expressions of a row x and a vector z."""

from __future__ import annotations

from collections.abc import Callable

from mercer.kernels import (
    RBF,
    AllSubsets,
    Chi2,
    Cosine,
    Kernel,
    Laplacian,
    Linear,
    Polynomial,
    Sigmoid,
)
from mercer.kernels._composite import Constant, Power, Product, Scaled, Sum

__all__ = ["HELPERS", "kernel_expression"]

# Functions that expressions call; @ stands for the name of the model, REAL for the type.
HELPERS = {
    "dot": """static inline REAL @_dot(const REAL *x, const REAL *z) {
    REAL sum = 0;
    int c;
    for (c = 0; c < @_COLUMNS; c++) sum += x[c] * z[c];
    return sum;
}""",
    "squared_distance": """static inline REAL @_squared_distance(const REAL *x, const REAL *z) {
    REAL sum = 0;
    int c;
    for (c = 0; c < @_COLUMNS; c++) sum += (x[c] - z[c]) * (x[c] - z[c]);
    return sum;
}""",
    "distance": """static inline REAL @_distance(const REAL *x, const REAL *z) {
    REAL sum = 0;
    int c;
    for (c = 0; c < @_COLUMNS; c++) sum += FABS(x[c] - z[c]);
    return sum;
}""",
    "chi2": """static inline REAL @_chi2(const REAL *x, const REAL *z) {
    REAL sum = 0;
    int c;
    for (c = 0; c < @_COLUMNS; c++)
        if (x[c] + z[c] != 0) sum += (x[c] - z[c]) * (x[c] - z[c]) / (x[c] + z[c]);
    return sum;
}""",
    "cosine": """static inline REAL @_cosine(const REAL *x, const REAL *z) {
    REAL xx = 0, zz = 0, xz = 0;
    int c;
    for (c = 0; c < @_COLUMNS; c++) {
        xx += x[c] * x[c];
        zz += z[c] * z[c];
        xz += x[c] * z[c];
    }
    return xx > 0 && zz > 0 ? xz / (SQRT(xx) * SQRT(zz)) : 0;
}""",
    "all_subsets": """static inline REAL @_all_subsets(const REAL *x, const REAL *z) {
    REAL product = 1;
    int c;
    for (c = 0; c < @_COLUMNS; c++) product *= 1 + x[c] * z[c];
    return product;
}""",
    "power": """static inline REAL @_power(REAL base, int exponent) {
    REAL result = 1;
    while (exponent-- > 0) result *= base;
    return result;
}""",
}


def kernel_expression(kernel: Kernel, number: Callable[[float], str]) -> str:
    """k(x, z) in C, with the functions of `HELPERS`."""

    def inner(part: Kernel) -> str:
        return kernel_expression(part, number)

    if isinstance(kernel, Sum):
        return f"({inner(kernel.k1)} + {inner(kernel.k2)})"
    if isinstance(kernel, Product):
        return f"({inner(kernel.k1)} * {inner(kernel.k2)})"
    if isinstance(kernel, Scaled):
        return f"({number(kernel.c)} * {inner(kernel.k)})"
    if isinstance(kernel, Power):
        return f"@_power({inner(kernel.k)}, {int(kernel.power)})"
    if isinstance(kernel, Constant):
        return number(kernel.value)
    if isinstance(kernel, Linear):
        return "@_dot(x, z)"
    if isinstance(kernel, Polynomial | Sigmoid):
        affine = f"{number(kernel.gamma)} * @_dot(x, z) + {number(kernel.coef0)}"
        if isinstance(kernel, Sigmoid):
            return f"TANH({affine})"
        return f"@_power({affine}, {int(kernel.degree)})"
    if isinstance(kernel, RBF | Laplacian | Chi2):
        of = {RBF: "squared_distance", Laplacian: "distance", Chi2: "chi2"}[type(kernel)]
        return f"EXP({number(-kernel.gamma)} * @_{of}(x, z))"
    if isinstance(kernel, Cosine):
        return "@_cosine(x, z)"
    if isinstance(kernel, AllSubsets):
        return "@_all_subsets(x, z)"
    raise TypeError(f"The kernel {kernel!r} cannot be exported: there is no C form of it.")
