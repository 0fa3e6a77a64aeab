"""The contract of a kernel: a frozen value that fills tiles and knows no data.

A kernel is a frozen dataclass whose fields are its parameters. It implements

* ``tile(A, B, out)``: k(a_i, b_j) for two blocks of samples, in the precision of ``out``;
* ``diag(A)``: k(a_i, a_i) in float64;

may implement

* ``read(X)``, ``resolved(X)``: samples, and parameters, out of what the user gives;
* ``prepare(samples)``: what is computed of each sample once per data set;
* ``rounding(samples, dtype)``: a bound on the error of the values of a tile (`_rounding`);
* ``cost_per_entry(samples)``: the multiply-adds of a value;

and says what is known about it: `sample_type`, `is_psd`, `is_nonnegative`, `is_linear`,
`is_shift_invariant`, `is_centrable`, `check`. A conformance class tests all of it
(``tests/kernels/conformance.py``).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from mercer._threads import Workers, single_threaded_blas, thread_count
from mercer.kernels._parameters import integer, real
from mercer.kernels._rounding import MODEL, Rounding, unit
from mercer.kernels._samples import SampleBlock, Samples, centre
from mercer.kernels.structured._sample_types import OBJECTS, VECTORS, rows_of_frame

__all__ = ["OBJECTS", "VECTORS", "Kernel", "integer", "real"]

# Multiply-adds that take as long as a value of a function on objects (microseconds).
OBJECT_COST = 1e4
SIDE = 1024  # rows of a tile when a whole matrix is asked for
WORTH_THREADS = 1e8  # multiply-adds of such a matrix from which on threads are started
# Squared norms and kernel values beyond LARGEST are refused: products of a few of them, in sums of
# many, must stay within float32. LARGEST_FLOAT64 is the same where all of it is float64.
LARGEST = 1e30
LARGEST_FLOAT64 = 1e100
_REMEDY = "Scale the columns, for example with StandardScaler."


@dataclass(frozen=True, repr=False)
class Kernel(ABC):
    """A similarity k(x, z). Kernels add, multiply, scale and take integer powers.

    Examples
    --------
    >>> from mercer.kernels import RBF, Linear
    >>> RBF(gamma=0.5) + 3 * Linear()
    RBF(gamma=0.5) + 3 * Linear()
    """

    @abstractmethod
    def tile(self, A: SampleBlock, B: SampleBlock, out: np.ndarray) -> None:
        """Write k(a_i, b_j) into ``out``.

        ``out`` is float32 or float64, of the blocks' dtype, with unit stride along its rows;
        it may be a view of a larger array.
        """

    @abstractmethod
    def diag(self, A: SampleBlock) -> np.ndarray:
        """k(a_i, a_i) as a float64 array."""

    def matrix(
        self,
        A: SampleBlock,
        out: np.ndarray,
        side: int,
        run: Any = None,
        stop: Callable[[], bool] | None = None,
    ) -> None:
        """Write k among the samples of a block into ``out``, from about half of the values.

        Strips of ``side`` rows are computed up to the diagonal and mirrored, by
        ``run(function, strips)`` or else in turn; once ``stop()`` is true, no more of them.
        """

        def strip(start: int) -> None:
            if stop is not None and stop():
                return
            end = min(start + side, len(A))
            self.tile(A[start:end], A[:end], out[start:end, :end])
            out[:start, start:end] = out[start:end, :start].T
            if self.is_shift_invariant:  # k(x, x) is known exactly
                np.fill_diagonal(out[start:end, start:end], self.diag(A[start:end]))

        starts = range(0, len(A), side)
        if run is not None:
            run(strip, reversed(starts))  # the longest first, so that threads end together
            return
        for start in starts:
            strip(start)

    def is_map_of_products(self, samples: Samples) -> bool:
        """Whether float64 values are a map of x·z alone and of norms: `map_products`.

        Kernels of one class that differ in γ then share the products of a data set.
        """
        return False

    def map_products(self, A: SampleBlock, B: SampleBlock, out: np.ndarray) -> None:
        """Turn the dot products of two blocks into kernel values, in place."""
        raise NotImplementedError(f"{self!r} is not a map of dot products.")

    @property
    def sample_type(self) -> str:
        """What a sample is: "vectors" (rows of numbers), "objects" (whatever the user gives), or
        the name of a structure, such as "sequences".

        Composed kernels take the stricter type of their parts.
        """
        return VECTORS

    def read(self, X: Any) -> Any:
        """Samples of this kernel's type out of what the user gives: here, rows of frames, and all
        else as it is.
        """
        return rows_of_frame(X)

    def resolved(self, X: Any) -> Kernel:
        """The kernel with those parameters that come from the data, the samples X: here, itself."""
        return self

    def prepare(self, samples: Samples) -> Samples:
        """The samples as `tile` takes them, computed once per data set: here, as they are.

        A kernel on objects checks each of them, and turns it into what it compares, such as counts
        of substrings. `check`, `diag` and `rounding` get samples that are prepared, too.
        """
        return samples

    def cost_per_entry(self, samples: Samples) -> float:
        """About how many multiply-adds a value takes."""
        if samples.are_objects:
            return OBJECT_COST
        return samples.X.nnz / max(samples.n, 1) if samples.is_sparse else float(samples.d)

    @property
    def linear_factor(self) -> float | None:
        """c if k(x, z) = c x·z; None for other kernels."""
        return None

    @property
    def is_linear(self) -> bool:
        """Whether a model is w·x + b with a vector w of weights."""
        return self.linear_factor is not None

    @property
    def is_psd(self) -> bool | None:
        """True: every Gram matrix is positive semidefinite; False: not so; None: unknown."""
        return None

    @property
    def is_shift_invariant(self) -> bool:
        """Whether k(x + c, z + c) = k(x, z), so that points may be centred."""
        return False

    @property
    def is_centrable(self) -> bool:
        """Whether k(x, z) = k(x − c, z − c) + a(x) + a(z) for some function a (`shift_terms`).

        Then Σ β_j k(x_j, ·) with Σ β = 0 changes by a constant when the rows are centred.
        """
        return self.is_shift_invariant

    def shift_terms(self, rows: np.ndarray, origin: np.ndarray) -> tuple[np.ndarray, Any]:
        """a(x) − a(c) of rows already shifted by the origin c, and a(c), in their precision."""
        if not self.is_shift_invariant:
            raise NotImplementedError(f"{self!r} is not centrable.")
        return np.zeros(rows.shape[0], rows.dtype), rows.dtype.type(0)

    @property
    def is_nonnegative(self) -> bool:
        """Whether k(x, z) ≥ 0 always."""
        return False

    def rounding(self, points: Samples, dtype: Any) -> Rounding:
        """A bound on the error of tiles of these points in ``dtype``.

        Here: values are exact but for their rounding to ``dtype``.
        """
        return Rounding.of(0.0 if np.dtype(dtype) == np.float64 else unit(dtype), points.n)

    def magnitude(self, points: Samples) -> np.ndarray:
        """m with m(x) m(z) not below the size of k(x, z), also rounded: that of a PSD kernel."""
        with np.errstate(over="ignore"):
            return np.sqrt(MODEL.rounded_magnitude * np.abs(self._diagonal(points)))

    @property
    def _has_formula(self) -> bool:
        """Whether the diagonal is cheap, and defined on any rows (a given matrix's is not)."""
        return True

    @property
    def _is_symmetric(self) -> bool:
        """Whether k(x, z) = k(z, x) by definition; functions from outside may be otherwise."""
        return True

    def check(self, points: Samples, largest: float = LARGEST) -> None:
        """Raise a ValueError if the kernel cannot take these points.

        Squared norms and values must not exceed ``largest``.
        """
        self._check_rows(points, largest)
        if not self._has_formula:
            return
        with np.errstate(over="ignore", invalid="ignore"):
            values = self._diagonal(points)
            bad = np.flatnonzero(~(np.abs(values) <= largest))
        if bad.size:
            is_finite = np.isfinite(values[bad[0]])
            remedy = _REMEDY if is_finite else "Its values must be finite numbers."
            raise ValueError(
                f"The kernel {self!r} reaches {abs(values[bad[0]]):.3g} on this data (row "
                f"{bad[0]}); it must stay below {largest:g}. {remedy}"
            )
        points.diagonal = self, values

    def _diagonal(self, points: Samples) -> np.ndarray:
        """k(x, x) of all samples, some at a time."""
        parts = [
            self.diag(points.take(slice(start, min(start + SIDE, points.n))))
            for start in range(0, points.n, SIDE)
        ]
        return np.concatenate([np.zeros(0), *parts])

    def _check_rows(self, points: Samples, largest: float = LARGEST) -> None:
        """What the kernel asks of the rows themselves: here, numbers with finite norms."""
        if points.are_objects:
            raise ValueError(
                f"{self!r} needs rows of numbers; got a sequence of objects. For a function "
                "of two objects write @mercer.kernel(of='objects')."
            )
        bad = np.flatnonzero(~(points.sq_norms <= largest))
        if bad.size:
            raise ValueError(
                f"The squared norms of {bad.size} rows (first: row {bad[0]}) are above "
                f"{largest:g}, the most that can be computed with. "
                # scikit-learn's words, which programs and tests look for
                f"The dual coefficients or intercepts are not finite beyond it. {_REMEDY}"
            )

    def __call__(self, X: Any, Z: Any = None) -> np.ndarray:
        """The kernel matrix of the rows of X against those of Z (default X), in float64."""
        points = Samples(self.read(X))
        others = points if Z is None else Samples(self.read(Z))
        is_inexact = not (points.is_sparse or points.are_objects) and points.X.dtype.kind == "f"
        prepared = [self.prepare(each) for each in ((points,) if Z is None else (points, others))]
        for each in prepared:
            self.check(each, LARGEST_FLOAT64)
        if points.is_sparse != others.is_sparse:
            raise ValueError(
                "X and Z must be both dense or both sparse; convert one with scipy.sparse."
                "csr_matrix or .toarray()."
            )
        if points.d != others.d:
            raise ValueError(
                f"X and Z must have the same number of columns, got {points.d} and {others.d}."
            )
        if self.is_shift_invariant and is_inexact and points.n:  # products of integers are exact
            origin = centre(points.X)
            prepared = [self.prepare(Samples(each.X, origin)) for each in (points, others)]
        points, others = prepared[0], prepared[-1]
        out = np.empty((points.n, others.n))
        if Z is None and self._is_symmetric:
            self._fill_symmetric(points, out)
            return out
        for i in range(0, points.n, SIDE):
            A = points.take(slice(i, min(i + SIDE, points.n)))
            for j in range(0, others.n, SIDE):
                B = others.take(slice(j, min(j + SIDE, others.n)))
                self.tile(A, B, out[i : i + SIDE, j : j + SIDE])
        return out

    def _fill_symmetric(self, points: Samples, out: np.ndarray) -> None:
        """All of K from half of it, in threads where it takes long."""
        block = points.take(slice(0, points.n))
        if points.n**2 * self.cost_per_entry(points) < WORTH_THREADS:
            self.matrix(block, out, SIDE)
            return
        with single_threaded_blas(), Workers(thread_count(None)) as workers:
            side = max(1, min(SIDE, points.n // (8 * workers.n_threads)))
            self.matrix(block, out, side, workers.map)

    def feature_map(self, X: Any, *, degree: int | None = None, max_bytes: float = 1e9) -> Any:
        """Explicit features φ(x) with k(x, z) = φ(x)·φ(z), one row for each row of X.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
        degree : int, optional
            Where the series of an RBF kernel is cut; `feature_map_error` bounds what is lost.
        max_bytes : float, default=1e9
            Larger results are refused.

        Returns
        -------
        phi : float64 array, or CSR for CSR rows, of shape (n, n_features_out(d))

        Examples
        --------
        >>> from mercer.kernels import Polynomial
        >>> Polynomial(degree=2, coef0=1).feature_map([[2.0, 3.0]]).round(4)
        array([[1.    , 2.8284, 4.2426, 4.    , 8.4853, 9.    ]])
        >>> Polynomial(degree=3, coef0=1).n_features_out(100)
        176851
        """
        from mercer.kernels._feature_map import map_rows

        return map_rows(self, X, degree, max_bytes)

    def n_features_out(self, d: int, *, degree: int | None = None) -> int:
        """The number of features `feature_map` makes of ``d`` columns."""
        from mercer.kernels._feature_map import count_features

        return count_features(self, integer("n_features_out", "d", d, least=0), degree)

    def feature_map_error(self, X: Any, *, degree: int | None = None) -> np.ndarray:
        """e(x) of every row, with ``|k(x, z) − φ(x)·φ(z)| ≤ √(e(x) e(z))``; zero for exact maps."""
        from mercer.kernels._feature_map import map_error

        return map_error(self, X, degree)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name; with ``deep`` also those of nested kernels, as ``k1__gamma``."""
        params: dict[str, Any] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            params[field.name] = value
            if deep and isinstance(value, Kernel):
                nested = value.get_params(deep=True)
                params |= {f"{field.name}__{name}": v for name, v in nested.items()}
        return params

    def set_params(self, **params: Any) -> Kernel:
        """A new kernel with these parameters replaced (nested names allowed)."""
        own: dict[str, Any] = {}
        nested: dict[str, dict[str, Any]] = {}
        valid = self.get_params(deep=False)
        for name, value in params.items():
            head, _, tail = name.partition("__")
            if head not in valid or (tail and not isinstance(own.get(head, valid[head]), Kernel)):
                raise ValueError(
                    f"{type(self).__name__} has no parameter {name!r}; valid are "
                    f"{sorted(self.get_params())}."
                )
            if tail:
                nested.setdefault(head, {})[tail] = value
            else:
                own[name] = value
        for head, inner in nested.items():
            own[head] = own.get(head, valid[head]).set_params(**inner)
        return replace(self, **own) if own else self

    def __sklearn_clone__(self) -> Kernel:
        return self  # frozen: the value is its own copy

    def __repr__(self) -> str:
        shown = (f.name for f in fields(self) if f.repr)
        inside = ", ".join(f"{name}={getattr(self, name)!r}" for name in shown)
        return f"{type(self).__name__}({inside})"

    def __add__(self, other: Any) -> Kernel:
        from mercer.kernels._composite import add

        return add(self, other)

    def __radd__(self, other: Any) -> Kernel:
        from mercer.kernels._composite import add

        return add(other, self)

    def __mul__(self, other: Any) -> Kernel:
        from mercer.kernels._composite import multiply

        return multiply(self, other)

    def __rmul__(self, other: Any) -> Kernel:
        from mercer.kernels._composite import multiply

        return multiply(other, self)

    def __pow__(self, power: Any) -> Kernel:
        from mercer.kernels._composite import Power

        return Power(self, power)
