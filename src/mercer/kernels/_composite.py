"""Kernels made of kernels: k₁ + k₂, k₁ k₂, c k, kᵖ, and constants.

All of these keep positive semidefiniteness. A composed tile is computed part by part with scratch
memory of one tile.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer.kernels._base import LARGEST, OBJECTS, Kernel, integer, real
from mercer.kernels._compiled.elementwise import flat_rows, power_map
from mercer.kernels._rounding import Rounding, unit
from mercer.kernels._samples import SampleBlock, Samples
from mercer.kernels.structured._sample_types import common_type

__all__ = [
    "Constant",
    "OfOne",
    "Power",
    "Product",
    "Scaled",
    "Sum",
    "add",
    "multiply",
    "require_kernel",
]

_NUMBER = (int, float, np.integer, np.floating)


def add(left: Any, right: Any) -> Any:
    """left + right, where one may be a number."""
    left, right = (_constant(part) for part in (left, right))
    if left is None or right is None:
        return NotImplemented
    return Sum(left, right)


def multiply(left: Any, right: Any) -> Any:
    """left · right, where one may be a number."""
    if isinstance(left, Kernel) and isinstance(right, Kernel):
        return Product(left, right)
    kernel, factor = (left, right) if isinstance(left, Kernel) else (right, left)
    return Scaled(float(factor), kernel) if isinstance(factor, _NUMBER) else NotImplemented


def _constant(part: Any) -> Kernel | None:
    if isinstance(part, Kernel):
        return part
    return Constant(float(part)) if isinstance(part, _NUMBER) else None


def _number(value: float) -> str:
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)


def _wrapped(kernel: Kernel, *kinds: type) -> str:
    """The repr of a part, in parentheses if it is one of ``kinds``."""
    return f"({kernel!r})" if isinstance(kernel, kinds) else repr(kernel)


def _of_k(name: str) -> Any:
    """An attribute that is that of the one kernel a kernel is made of."""
    return property(lambda self: getattr(self.k, name))


def _of_both(name: str) -> Any:
    """A property that holds where it holds of both parts."""
    return property(lambda self: getattr(self.k1, name) and getattr(self.k2, name))


@dataclass(frozen=True, repr=False)
class Constant(Kernel):
    """k(x, z) = value ≥ 0.

    **Cost.** None.

    **When.** Added to a kernel in a model without an intercept: k + value has one, with a penalty.
    """

    value: float = 1.0

    is_psd = is_shift_invariant = is_nonnegative = True
    sample_type = OBJECTS

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", real("Constant", "value", self.value, least=0))

    def cost_per_entry(self, samples: Samples) -> float:
        return 0.0

    def rounding(self, points: Samples, dtype: Any) -> Rounding:
        return Rounding.of(unit(dtype), points.n)

    def _check_rows(self, points: Samples, largest: float = LARGEST) -> None:
        """Any samples will do."""

    def tile(self, A: SampleBlock, B: SampleBlock, out: np.ndarray) -> None:
        out[...] = self.value

    def diag(self, A: SampleBlock) -> np.ndarray:
        return np.full(len(A), self.value)

    def __repr__(self) -> str:
        return f"Constant({_number(self.value)})"


@dataclass(frozen=True, repr=False)
class _Pair(Kernel):
    """Two kernels, evaluated one after the other into a tile and a scratch tile."""

    k1: Kernel
    k2: Kernel

    def __post_init__(self) -> None:
        for name in ("k1", "k2"):
            require_kernel(type(self).__name__, name, getattr(self, name))
        if common_type(self.k1.sample_type, self.k2.sample_type) is None:
            raise ValueError(
                f"{self.k1!r} takes {self.k1.sample_type} and {self.k2!r} takes "
                f"{self.k2.sample_type}: no sample is both. Compose kernels of "
                "one sample type, or put each on its columns of a table with OnColumns."
            )

    @property
    def sample_type(self) -> str:
        found = common_type(self.k1.sample_type, self.k2.sample_type)
        assert found is not None
        return found

    def read(self, X: Any) -> Any:
        """As the part reads it that is stricter about samples."""
        return (self.k1 if self.k1.sample_type == self.sample_type else self.k2).read(X)

    def resolved(self, X: Any) -> Kernel:
        k1, k2 = self.k1.resolved(X), self.k2.resolved(X)
        return self if k1 is self.k1 and k2 is self.k2 else replace(self, k1=k1, k2=k2)

    def prepare(self, samples: Samples) -> Samples:
        parts = self.k1.prepare(samples), self.k2.prepare(samples)
        return samples if parts == (samples, samples) else samples.with_parts(parts)

    def cost_per_entry(self, samples: Samples) -> float:
        return self.k1.cost_per_entry(samples.part(0)) + self.k2.cost_per_entry(samples.part(1))

    @property
    def is_psd(self) -> bool | None:
        both = (self.k1.is_psd, self.k2.is_psd)
        return False if False in both else None if None in both else True

    is_shift_invariant = _of_both("is_shift_invariant")
    is_nonnegative = _of_both("is_nonnegative")
    _has_formula = _of_both("_has_formula")
    _is_symmetric = _of_both("_is_symmetric")

    def _roundings(self, points: Samples, dtype: Any) -> tuple[Rounding, Rounding]:
        return self.k1.rounding(points.part(0), dtype), self.k2.rounding(points.part(1), dtype)

    def _magnitudes(self, points: Samples) -> tuple[np.ndarray, np.ndarray]:
        return self.k1.magnitude(points.part(0)), self.k2.magnitude(points.part(1))

    def _check_rows(self, points: Samples, largest: float = LARGEST) -> None:
        self.k1._check_rows(points.part(0), largest)
        self.k2._check_rows(points.part(1), largest)

    def _parts(self, A: SampleBlock, B: SampleBlock, out: np.ndarray) -> np.ndarray:
        self.k1.tile(A.part(0), B.part(0), out)
        scratch = np.empty(out.shape, out.dtype)
        self.k2.tile(A.part(1), B.part(1), scratch)
        return scratch


@dataclass(frozen=True, repr=False)
class Sum(_Pair):
    """k(x, z) = k₁(x, z) + k₂(x, z).

    **Cost.** That of both.

    **When.** Two samples are similar if they are in one respect or the other; written ``k1 + k2``.
    """

    is_centrable = _of_both("is_centrable")

    def shift_terms(self, rows: np.ndarray, origin: np.ndarray) -> tuple[np.ndarray, Any]:
        first, second = self.k1.shift_terms(rows, origin), self.k2.shift_terms(rows, origin)
        return first[0] + second[0], first[1] + second[1]

    def rounding(self, points: Samples, dtype: Any) -> Rounding:
        first, second = self._roundings(points, dtype)
        magnitudes = None if self.is_nonnegative else self._magnitudes(points)
        return first.plus(second, magnitudes, dtype)

    def magnitude(self, points: Samples) -> np.ndarray:
        return np.hypot(*self._magnitudes(points))

    def tile(self, A: SampleBlock, B: SampleBlock, out: np.ndarray) -> None:
        if isinstance(self.k2, Constant):
            self.k1.tile(A.part(0), B.part(0), out)
            out += out.dtype.type(self.k2.value)
        else:
            out += self._parts(A, B, out)

    def diag(self, A: SampleBlock) -> np.ndarray:
        return self.k1.diag(A.part(0)) + self.k2.diag(A.part(1))

    @property
    def linear_factor(self) -> float | None:
        first, second = self.k1.linear_factor, self.k2.linear_factor
        return None if first is None or second is None else first + second

    def __repr__(self) -> str:
        k1, k2 = repr(self.k1), _wrapped(self.k2, Sum)
        # next to another kernel a constant reads as the number it is
        if isinstance(self.k2, Constant):
            k2 = _number(self.k2.value)
        elif isinstance(self.k1, Constant):
            k1 = _number(self.k1.value)
        return f"{k1} + {k2}"


@dataclass(frozen=True, repr=False)
class Product(_Pair):
    """k(x, z) = k₁(x, z) k₂(x, z).

    **Cost.** That of both.

    **When.** Two samples are similar only if they are in both respects; written ``k1 * k2``.
    """

    def rounding(self, points: Samples, dtype: Any) -> Rounding:
        first, second = self._roundings(points, dtype)
        return first.times(second, self._magnitudes(points), dtype)

    def magnitude(self, points: Samples) -> np.ndarray:
        first, second = self._magnitudes(points)
        return first * second

    def tile(self, A: SampleBlock, B: SampleBlock, out: np.ndarray) -> None:
        out *= self._parts(A, B, out)

    def diag(self, A: SampleBlock) -> np.ndarray:
        return self.k1.diag(A.part(0)) * self.k2.diag(A.part(1))

    def __repr__(self) -> str:
        return f"{_wrapped(self.k1, Sum)} * {_wrapped(self.k2, Sum, Product, Scaled)}"


class OfOne:
    """What a kernel made of one other kernel ``k`` has from it."""

    k: Kernel

    sample_type = _of_k("sample_type")
    read = _of_k("read")
    prepare = _of_k("prepare")
    cost_per_entry = _of_k("cost_per_entry")
    is_psd = _of_k("is_psd")
    is_shift_invariant = _of_k("is_shift_invariant")
    is_nonnegative = _of_k("is_nonnegative")
    _has_formula = _of_k("_has_formula")
    _is_symmetric = _of_k("_is_symmetric")
    _check_rows = _of_k("_check_rows")

    def resolved(self, X: Any) -> Any:
        k = self.k.resolved(X)
        return self if k is self.k else replace(self, k=k)  # type: ignore[type-var]


@dataclass(frozen=True, repr=False)
class Scaled(OfOne, Kernel):
    """k(x, z) = c k'(x, z) with c ≥ 0.

    **Cost.** That of k'.

    **When.** To weigh the parts of a sum; written ``c * k``. Alone it changes C.
    """

    c: float
    k: Kernel

    def __post_init__(self) -> None:
        object.__setattr__(self, "c", real("Scaled", "c", self.c, least=0))
        require_kernel("Scaled", "k", self.k)

    @property
    def linear_factor(self) -> float | None:
        factor = self.k.linear_factor
        return None if factor is None else self.c * factor

    is_centrable = _of_k("is_centrable")

    def shift_terms(self, rows: np.ndarray, origin: np.ndarray) -> tuple[np.ndarray, Any]:
        terms, at_origin = self.k.shift_terms(rows, origin)
        return self.c * terms, self.c * at_origin

    def rounding(self, points: Samples, dtype: Any) -> Rounding:
        return self.k.rounding(points, dtype).scaled(self.c, dtype)

    def magnitude(self, points: Samples) -> np.ndarray:
        return np.sqrt(self.c) * self.k.magnitude(points)

    def tile(self, A: SampleBlock, B: SampleBlock, out: np.ndarray) -> None:
        self.k.tile(A, B, out)
        out *= out.dtype.type(self.c)

    def diag(self, A: SampleBlock) -> np.ndarray:
        return self.c * self.k.diag(A)

    def __repr__(self) -> str:
        return f"{_number(self.c)} * {_wrapped(self.k, Sum, Product, Scaled)}"


@dataclass(frozen=True, repr=False)
class Power(OfOne, Kernel):
    """k(x, z) = k'(x, z)^power with an integer power ≥ 1.

    **Cost.** That of k', and log₂(power) multiplications for each value.

    **When.** Combinations of up to ``power`` features of k' matter; written ``k**2``.
    """

    k: Kernel
    power: int

    def __post_init__(self) -> None:
        require_kernel("Power", "k", self.k)
        object.__setattr__(self, "power", integer("Power", "power", self.power, least=1))

    def rounding(self, points: Samples, dtype: Any) -> Rounding:
        """That of power − 1 products, one after the other."""
        one, size = self.k.rounding(points, dtype), self.k.magnitude(points)
        total, product = one, size
        for _ in range(self.power - 1):
            total = total.times(one, (product, size), dtype)
            product = product * size
        return total

    def magnitude(self, points: Samples) -> np.ndarray:
        return self.k.magnitude(points) ** self.power

    def tile(self, A: SampleBlock, B: SampleBlock, out: np.ndarray) -> None:
        self.k.tile(A, B, out)
        flat, stride = flat_rows(out)
        one = out.dtype.type
        power_map(flat, stride, *out.shape, one(1), one(0), self.power)

    def diag(self, A: SampleBlock) -> np.ndarray:
        return self.k.diag(A) ** self.power

    def __repr__(self) -> str:
        return f"{_wrapped(self.k, Sum, Product, Scaled, Power)} ** {self.power}"


def require_kernel(owner: str, name: str, value: Any) -> None:
    if not isinstance(value, Kernel):
        raise ValueError(f"{owner}: {name} must be a Kernel, got {value!r}.")
