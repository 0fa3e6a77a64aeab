"""The kernels that `mercer.kernel` makes of functions, one class for each form.

The values of a function are taken for exact as it computes them in float64; in float32 tiles they
are rounded once. Those of two vectors are in `_vector_function`.
"""

from __future__ import annotations

import pickle
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from importlib import import_module
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from mercer.kernels._base import LARGEST, OBJECT_COST, OBJECTS, Kernel
from mercer.kernels._compiled.products import products
from mercer.kernels._rounding import Rounding, smallest, unit
from mercer.kernels._sample_block import diagonal_of_tiles
from mercer.kernels._samples import SampleBlock, Samples
from mercer.kernels.functions._definition import Definition
from mercer.kernels.structured._sparse_features import Features, SparseFeatureKernel

__all__ = [
    "DEFINED",
    "DenseFeatureFunction",
    "FunctionKernel",
    "MatrixFunction",
    "ObjectFunction",
    "SparseFeatureFunction",
]

#: The classes of all functions that were decorated in this process, by their import paths.
DEFINED: dict[str, type[FunctionKernel]] = {}


class FunctionKernel(Kernel):
    """A kernel given by a function; its fields are the parameters of the function."""

    definition: ClassVar[Definition]
    _is_symmetric = False

    def __post_init__(self) -> None:
        for name, value in self.parameters.items():
            if not isinstance(value, (bool, int, float, np.number, np.bool_)):
                raise ValueError(
                    f"{self.definition.name}: the parameter {name} must be a number, got {value!r}."
                )

    @property
    def parameters(self) -> dict[str, Any]:
        """The arguments of the function besides the samples."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @property
    def is_psd(self) -> bool | None:
        return self.definition.is_psd

    def __call__(self, *samples: Any, **parameters: Any) -> Any:
        """With parameters alone, the kernel with these; with samples, the kernel matrix."""
        if samples and "Z" in parameters:
            samples = (*samples, parameters.pop("Z"))
        kernel = self.set_params(**parameters) if parameters else self
        return Kernel.__call__(kernel, *samples) if samples else kernel

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FunctionKernel):
            return NotImplemented
        return self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple:
        return self.definition.identity, tuple(self.parameters.items())

    def __reduce__(self) -> Any:
        """By import path; a function of ``__main__``, or one that has none, by value."""
        definition = self.definition
        if definition.function.__module__ != "__main__" and _found(definition) is not None:
            return restore, (definition.path, self.parameters)
        return _made_again, (
            definition.function,
            definition.form,
            definition.is_psd,
            self.parameters,
        )

    def rounding(self, points: Samples, dtype: Any) -> Rounding:
        if np.dtype(dtype) == np.float64:
            return Rounding.of(0.0, points.n)
        ones = np.ones(points.n)
        return Rounding.of(unit(dtype), points.n, (smallest(dtype) * ones, ones))

    @contextmanager
    def _calls(self, given: Any) -> Iterator[None]:
        """What the function raises gets a note of what it was called with."""
        try:
            yield
        except Exception as error:
            shape = f" of shape {given.shape}" if isinstance(given, np.ndarray) else ""
            error.add_note(
                f"In the kernel function {self!r}, called with {type(given).__name__}{shape}. As "
                "a part of a composed kernel it is given samples as the other parts read them."
            )
            raise

    def _matrix(self, values: list[list[Any]]) -> np.ndarray:
        """What the function returned for pairs of samples, as numbers."""
        for value in (value for row in values for value in row):
            if not _is_number(value):
                raise ValueError(
                    f"The kernel function {self!r} must return a number for two samples; it "
                    f"returned {_shown(value)}."
                )
        return np.array(values, dtype=np.float64)

    def _checked(self, values: np.ndarray) -> np.ndarray:
        """Kernel values that are finite and within the range."""
        if values.size and not (values.min() >= -LARGEST and values.max() <= LARGEST):
            raise ValueError(
                f"The kernel function {self!r} returned NaN, infinity, or values beyond "
                f"±{LARGEST:g}. Check or scale it."
            )
        return values


class MatrixFunction(FunctionKernel):
    """k(X, Z) given by a function of two sets of rows, as the user has them."""

    sample_type = OBJECTS
    _has_formula = False

    def cost_per_entry(self, samples: Samples) -> float:
        return OBJECT_COST

    def _check_rows(self, points: Samples, largest: float = LARGEST) -> None:
        """The function decides which samples it takes."""

    def tile(self, A: SampleBlock, B: SampleBlock, out: np.ndarray) -> None:
        out[...] = self._values(A, B)

    def diag(self, A: SampleBlock) -> np.ndarray:
        return diagonal_of_tiles(self, A, 4)  # few calls, and few values that are not used

    def _values(self, A: SampleBlock, B: SampleBlock) -> np.ndarray:
        X, Z = _as_rows(A.original), _as_rows(B.original)
        with self._calls(X):
            values = self.definition.function(X, Z, **self.parameters)
        values = values.toarray() if hasattr(values, "toarray") else np.asarray(values)
        if values.shape != (len(A), len(B)):
            raise ValueError(
                f"The kernel function {self!r} must return a value for each pair of rows, shape "
                f"{len(A), len(B)}; got {values.shape}."
            )
        return self._checked(values)


class ObjectFunction(MatrixFunction):
    """k(x, z) given by a function of two samples of any kind, called for each pair."""

    def _values(self, A: SampleBlock, B: SampleBlock) -> np.ndarray:
        function, keywords = self.definition.function, self.parameters
        with self._calls(next(iter(A.original), None)):
            K = [[function(x, z, **keywords) for z in B.original] for x in A.original]
        return self._checked(self._matrix(K).reshape(len(A), len(B)))


class DenseFeatureFunction(FunctionKernel):
    """k(x, z) = φ(x)·φ(z) with a function φ that returns an array."""

    sample_type = OBJECTS
    _is_symmetric = True

    def _check_rows(self, points: Samples, largest: float = LARGEST) -> None:
        """They were checked when they were prepared."""

    def prepare(self, samples: Samples) -> Samples:
        function, keywords = self.definition.function, self.parameters
        rows = samples.rows(slice(0, samples.n), None)
        rows = rows.toarray() if sp.issparse(rows) else rows
        with self._calls(next(iter(rows), None)):
            given = [function(x, **keywords) for x in rows]
        found = [self._features(row, values) for row, values in enumerate(given)]
        if len({row.size for row in found}) > 1:
            raise ValueError(
                f"{self!r}: φ must return as many features for every sample, got "
                f"{sorted({row.size for row in found})[:5]}. For features by name return a dict, "
                "@mercer.kernel(of='sparse features')."
            )
        width = found[0].size if found else 0
        return Samples(np.array(found, dtype=np.float64).reshape(samples.n, width))

    def _features(self, row: int, values: Any) -> np.ndarray:
        """What φ returned for a sample, as an array of numbers."""
        try:
            if values is None:  # NaN to NumPy
                raise TypeError
            return np.ravel(np.asarray(values, dtype=np.float64))
        except (TypeError, ValueError):
            raise ValueError(
                f"{self!r}: φ must return an array of numbers; it returned {_shown(values)} for "
                f"row {row}."
            ) from None

    def tile(self, A: SampleBlock, B: SampleBlock, out: np.ndarray) -> None:
        if A.points.d != B.points.d:
            raise ValueError(
                f"{self!r}: φ returns {A.points.d} features for these samples, but {B.points.d} "
                "for those they are compared with (of the training set)."
            )
        products(A, B, out)

    def diag(self, A: SampleBlock) -> np.ndarray:
        return A.sq_norms.copy()

    def rounding(self, points: Samples, dtype: Any) -> Rounding:
        from mercer.kernels._dot_product import Linear

        return Linear().rounding(points, dtype)


class SparseFeatureFunction(FunctionKernel, SparseFeatureKernel):
    """k(x, z) = φ(x)·φ(z) with a function φ that returns a dict of features by name."""

    sample_type = OBJECTS
    is_psd = _is_symmetric = True
    rounding = SparseFeatureKernel.rounding

    read = FunctionKernel.read

    def features(self, samples: Any) -> Features:
        number: dict[Hashable, int] = {}
        data, columns, indptr = [], [], [0]
        for row, sample in enumerate(samples):
            with self._calls(sample):
                found = self.definition.function(sample, **self.parameters)
            if not isinstance(found, dict):
                raise ValueError(
                    f"{self!r}: φ must return a dict of feature to number; got "
                    f"{type(found).__name__} for row {row}."
                )
            for key, value in found.items():
                if not _is_number(value):
                    raise ValueError(
                        f"{self!r}: φ must return a dict of feature to number; the feature "
                        f"{key!r} is {_shown(value)} for row {row}."
                    )
                columns.append(number.setdefault(key, len(number)))
                data.append(float(value))
            indptr.append(len(data))
        matrix = sp.csr_matrix((data, columns, indptr), shape=(len(indptr) - 1, len(number)))
        return Features(matrix, lambda: list(number))


def _as_rows(samples: Any) -> Any:
    """The numbers of one column of a table as rows, all else as it is."""
    is_column = isinstance(samples, np.ndarray) and samples.ndim == 1 and samples.size
    if is_column and all(map(_is_number, samples)):
        return samples.astype(np.float64)[:, None]
    return samples


def _is_number(value: Any) -> bool:
    is_scalar = isinstance(value, np.ndarray) and value.ndim == 0
    return is_scalar or isinstance(value, (bool, int, float, np.number, np.bool_))


def _shown(value: Any) -> str:
    """A value that is no number, short."""
    if isinstance(value, np.ndarray):
        return f"an array of shape {value.shape}"
    text = " ".join(repr(value).split())
    return "None (is there a return?)" if value is None else f"{type(value).__name__} {text:.60}"


def _found(definition: Definition) -> Any:
    """The kernel that the import path of a definition leads to, if it is of that definition."""
    module, _, name = definition.path.partition(":")
    found: Any = None
    try:
        found = import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError):
        return None
    same = isinstance(found, FunctionKernel) and found.definition.identity == definition.identity
    return found if same else None


def restore(path: str, parameters: dict[str, Any]) -> Kernel:
    """The kernel of an import path, as pickles name it."""
    module, _, name = path.partition(":")
    found: Any = import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    if not isinstance(found, FunctionKernel):
        raise pickle.UnpicklingError(f"{path} is no kernel any more.")
    return found.set_params(**parameters)


def _made_again(function: Any, form: str, psd: bool | None, parameters: dict[str, Any]) -> Kernel:
    from mercer.kernels.functions._decorator import kernel

    return kernel(function, of=form, psd=psd).set_params(**parameters)
