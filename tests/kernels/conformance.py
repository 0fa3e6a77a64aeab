"""What every kernel must keep, as a class to inherit from: a new kernel costs ten lines of test.

A subclass gives ``kernel``; ``nonnegative = True`` if it takes such data only; and ``condition``,
how many times larger than that of a dot product its rounding may be.
"""

from __future__ import annotations

import pickle
import warnings
from typing import ClassVar

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from mercer import kernels
from mercer.kernels import IndefiniteKernelWarning, Kernel, Samples
from tests.oracles.naive_kernels import naive_matrix

DTYPES = [np.float32, np.float64]
N, M, D = 150, 40, 7  # more rows than a panel of the sparse code holds


def numbers(kind: str, nonnegative: bool, seed: int = 0) -> np.ndarray:
    """Rows with about half zeros; one zero row, one row twice."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-4, 5, size=(N, D)) * (rng.random((N, D)) < 0.5)
    X = np.abs(X) if nonnegative else X
    X[3], X[5] = 0, X[4]
    X = X.astype(np.float64) * 0.37 if kind == "float64" else X
    X = X.astype(kind)
    X.setflags(write=False)
    return X


def matrices(least: float, columns: int | None = None) -> st.SearchStrategy:
    """Small matrices, with repeated rows and zeros more often than chance has them."""
    value = st.floats(least, 3, width=32).map(lambda v: round(v, 3))
    shape = st.tuples(st.integers(1, 8), st.integers(columns or 1, columns or 4))
    return shape.flatmap(
        lambda s: st.lists(st.lists(value, min_size=s[1], max_size=s[1]), min_size=s[0], max_size=8)
    ).map(np.array)


class KernelValue:
    """A kernel is a frozen value: equality, hash, repr, copies and parameters."""

    kernel: Kernel
    names: ClassVar[dict] = {}  # that its repr uses besides those of `mercer.kernels`

    def again(self) -> Kernel:
        """From its repr."""
        names = vars(kernels) | {type(self.kernel).__name__: type(self.kernel)} | self.names
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", IndefiniteKernelWarning)
            return eval(repr(self.kernel), names)

    def test_value_semantics(self):
        again = self.again()
        assert again == self.kernel
        assert hash(again) == hash(self.kernel)
        assert pickle.loads(pickle.dumps(self.kernel)) == self.kernel
        assert clone(self.kernel) == self.kernel
        with pytest.raises(AttributeError):
            self.kernel.anything = 1

    def test_params_round_trip(self):
        params = self.kernel.get_params()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", IndefiniteKernelWarning)
            assert self.kernel.set_params(**params) == self.kernel
        with pytest.raises(ValueError, match="no parameter 'nonsense'"):
            self.kernel.set_params(nonsense=1)


class KernelConformance(KernelValue):
    nonnegative = False
    condition = 1.0
    columns: int | None = None  # of data that the kernel takes, if there is but one number

    @pytest.fixture(params=["float64", "float32", "int8", "int64"])
    def X(self, request):
        return numbers(request.param, self.nonnegative)

    def points(self, X, container):
        return self.kernel.prepare(Samples(sp.csr_matrix(X) if container == "csr" else X))

    def blocks(self, X, container, dtype):
        points = self.points(X, container)
        rows = np.random.default_rng(1).permutation(N)[:M]
        return points.take(rows, dtype), points.take(slice(0, N), dtype), rows

    def expected(self, X, rows, dtype):
        X = X.astype(dtype)  # a block holds rows rounded to its precision
        return naive_matrix(self.kernel, X[rows], X)

    def tolerance(self, expected, dtype):
        """Rounding of sums of a few terms, and of values near a zero of the kernel."""
        return 60 * self.condition * np.finfo(dtype).eps * np.maximum(1, np.abs(expected).max())

    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("container", ["dense", "csr"])
    def test_tile_is_the_definition(self, X, container, dtype):
        A, B, rows = self.blocks(X, container, dtype)
        around = np.full((M, N + 20), -77, dtype)
        self.kernel.tile(A, B, around[:, 5 : 5 + N])
        expected = self.expected(X, rows, dtype)
        np.testing.assert_allclose(
            around[:, 5 : 5 + N], expected, rtol=0, atol=self.tolerance(expected, dtype)
        )
        assert (around[:, :5] == -77).all()
        assert (around[:, 5 + N :] == -77).all()

    @pytest.mark.parametrize("container", ["dense", "csr"])
    def test_diagonal(self, X, container):
        points = self.points(X, container)
        diag = self.kernel.diag(points.take(slice(0, N)))
        expected = np.array([naive_matrix(self.kernel, X[[i]], X[[i]])[0, 0] for i in range(N)])
        assert diag.dtype == np.float64
        np.testing.assert_allclose(diag, expected, rtol=1e-13, atol=1e-13)

    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("container", ["dense", "csr"])
    def test_tile_of_a_slice_is_a_slice_of_the_tile(self, X, container, dtype):
        A, B, _ = self.blocks(X, container, dtype)
        whole, part = np.empty((M, N), dtype), np.empty((9, 21), dtype)
        self.kernel.tile(A, B, whole)
        self.kernel.tile(A[4:13], B[120:141], part)
        atol = self.tolerance(whole, dtype)
        np.testing.assert_allclose(part, whole[4:13, 120:141], rtol=0, atol=atol)

    def test_call_is_symmetric_and_takes_two_sets(self, X):
        K = self.kernel(X)
        assert K.dtype == np.float64
        tolerance = self.tolerance(K, np.float64)
        np.testing.assert_allclose(K, K.T, rtol=0, atol=tolerance)
        np.testing.assert_allclose(
            self.kernel(X[:9], X[20:40]), K[:9, 20:40], rtol=0, atol=tolerance
        )
        np.testing.assert_allclose(self.kernel(sp.csr_matrix(X)), K, rtol=0, atol=tolerance)

    def test_gram_is_positive_semidefinite_if_promised(self):
        if self.kernel.is_psd is not True:
            return

        @given(X=matrices(0 if self.nonnegative else -3, self.columns))
        def check(X):
            K = self.kernel(X)
            scale = max(1.0, np.abs(K).max())
            assert np.linalg.eigvalsh((K + K.T) / 2).min() >= -1e-12 * len(X) * scale

        check()

    def test_shift_invariance_if_promised(self, X):
        if not self.kernel.is_shift_invariant:
            return
        shift = np.linspace(1, 2, D)
        moved = self.kernel(X.astype(np.float64) + shift)
        np.testing.assert_allclose(moved, self.kernel(X), rtol=1e-11, atol=1e-13)

    def test_linear_if_promised(self, X):
        """k(x, z) = c x·z exactly where `linear_factor` says so."""
        factor = self.kernel.linear_factor
        assert self.kernel.is_linear == (factor is not None)
        if factor is not None:
            numbers = X.astype(np.float64)
            expected = factor * (numbers @ numbers.T)
            atol = self.tolerance(expected, np.float64)
            np.testing.assert_allclose(self.kernel(X), expected, rtol=0, atol=atol)

    def test_says_what_a_sample_is_and_what_a_value_costs(self, X):
        samples = Samples(X)
        assert self.kernel.sample_type in ("vectors", "objects")
        assert self.kernel.prepare(samples).n == samples.n
        assert 0 <= self.kernel.cost_per_entry(samples) < np.inf

    def test_empty_tiles(self, X):
        for container in ("dense", "csr"):
            A, B, _ = self.blocks(X, container, np.float64)
            around = np.full((M, N), 7.0)
            self.kernel.tile(A[0:0], B, around[0:0])
            self.kernel.tile(A, B[0:0], around[:, 0:0])
            assert (around == 7.0).all()

    def test_huge_values_are_refused_or_sound(self):
        huge = Samples(np.array([[1e300, 1.0], [1.0, 2.0]]))
        if isinstance(self.kernel, kernels.Constant):
            assert (self.kernel(huge.X) == self.kernel.value).all()
        else:
            with pytest.raises(ValueError, match="Scale the columns"):
                self.kernel.check(huge)
