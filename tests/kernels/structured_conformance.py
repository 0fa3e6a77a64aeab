"""What every kernel on structures must keep, as a class to inherit from.

A subclass gives ``kernel``; ``naive(x, z)``, the kernel from its definition; ``samples``, a
hypothesis strategy for one sample; ``bad``, values that are no sample; and may give ``condition``,
how many times larger than that of a few operations the rounding may be.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mercer
from mercer.kernels import Normalize, Samples
from mercer.kernels._reference import kernel_matrix
from tests.kernels.conformance import DTYPES, KernelValue


def objects(items: Any) -> np.ndarray:
    out = np.empty(len(items), dtype=object)
    for i, item in enumerate(items):
        out[i] = item
    return out


class StructuredConformance(KernelValue):
    samples: ClassVar[st.SearchStrategy]
    examples: ClassVar[list]  # at least twelve, two classes by turns
    bad: ClassVar[list]
    condition = 1.0

    @staticmethod
    def naive(x: Any, z: Any) -> float:
        raise NotImplementedError

    def expected(self, A, B) -> np.ndarray:
        K = [[self.naive(x, z) for z in B] for x in A]
        return np.array(K, dtype=np.float64).reshape(len(A), len(B))

    def atol(self, K, dtype=np.float64) -> float:
        return 60 * self.condition * np.finfo(dtype).eps * max(1.0, np.abs(K).max(initial=0.0))

    def prepared(self, items) -> Samples:
        return self.kernel.prepare(Samples(self.kernel.read(items)))

    def test_values_are_those_of_the_definition(self):
        @given(A=st.lists(self.samples, max_size=6), B=st.lists(self.samples, max_size=6))
        def check(A, B):
            expected = self.expected(A, B)
            np.testing.assert_allclose(
                self.kernel(A, B), expected, rtol=0, atol=self.atol(expected)
            )
            expected = self.expected(A, A)
            np.testing.assert_allclose(self.kernel(A), expected, rtol=0, atol=self.atol(expected))

        check()

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_tiles_within_and_between_data_sets(self, dtype):
        half = len(self.examples) // 2
        A, B = self.prepared(self.examples), self.prepared(self.examples[half:])
        rows = np.random.default_rng(0).permutation(A.n)[:5]
        for others, items in ((A, self.examples), (B, self.examples[half:])):
            around = np.full((5, others.n + 7), -77, dtype)
            block, vectors = A.take(rows, dtype), others.take(slice(0, others.n), dtype)
            self.kernel.tile(block, vectors, around[:, 3:-4])
            expected = self.expected([self.examples[i] for i in rows], items)
            atol = self.atol(expected, dtype)
            np.testing.assert_allclose(around[:, 3:-4], expected, rtol=0, atol=atol)
            assert (around[:, :3] == -77).all()
            assert (around[:, -4:] == -77).all()
            part = np.empty((2, others.n - 1), dtype)
            self.kernel.tile(block[2:4], vectors[1:], part)
            np.testing.assert_allclose(part, expected[2:4, 1:], rtol=0, atol=atol)

    def test_diagonal(self):
        points = self.prepared(self.examples)
        diag = self.kernel.diag(points.take(slice(0, points.n)))
        expected = np.array([self.naive(x, x) for x in self.examples])
        assert diag.dtype == np.float64
        np.testing.assert_allclose(diag, expected, rtol=1e-13 * self.condition, atol=1e-13)

    def test_rounding_is_bounded(self):
        """|k̂ − k| ≤ |k̂|(ρ + ρ) + Σ pq + qp, also in float32."""
        points, expected = self.prepared(self.examples), self.expected(self.examples, self.examples)
        for dtype in DTYPES:
            bound = self.kernel.rounding(points, dtype)
            block = points.take(slice(0, points.n), dtype)
            K = np.empty((points.n, points.n), dtype)
            self.kernel.tile(block, block, K)
            K = K.astype(np.float64)
            error = np.abs(K) * np.add.outer(bound.relative, bound.relative)
            for p, q in bound.pairs:
                error += np.outer(p, q) + np.outer(q, p)
            own = 4 * np.finfo(np.float64).eps * self.condition * np.abs(expected)  # of the oracle
            assert (np.abs(K - expected) <= error + own).all()

    def test_gram_is_positive_semidefinite_if_promised(self):
        if self.kernel.is_psd is not True:
            return

        @given(A=st.lists(self.samples, min_size=1, max_size=8))
        def check(A):
            K = self.kernel(A)
            np.testing.assert_allclose(K, K.T, rtol=0, atol=self.atol(K))
            least = np.linalg.eigvalsh((K + K.T) / 2).min()
            assert least >= -1e-12 * self.condition * len(A) * max(1.0, np.abs(K).max())
            if self.kernel.is_nonnegative:
                assert (K >= 0).all()

        check()

    def test_says_what_a_sample_is_and_what_a_value_costs(self):
        points = self.prepared(self.examples)
        assert self.kernel.sample_type not in ("vectors", "objects")
        assert points.n == len(self.examples)
        assert 0 <= self.kernel.cost_per_entry(points) < np.inf
        entry = mercer.kernels._registry.KERNELS.get(type(self.kernel).__name__)
        assert entry is None or entry.sample_type in ("vectors", self.kernel.sample_type)

    def test_reference_of_verify(self):
        items = objects(self.examples)
        K = kernel_matrix(self.kernel, items, np.arange(len(items)))
        expected = self.expected(items, items)
        np.testing.assert_allclose(K, expected, rtol=0, atol=self.atol(expected))

    def test_composes(self):
        k, items = self.kernel, self.examples
        K = self.expected(items, items)
        composed = 2 * k + k * k + k**2 + 1
        expected = 2 * K + 2 * K**2 + 1
        np.testing.assert_allclose(composed(items), expected, rtol=1e-12 * self.condition)
        with pytest.raises(ValueError, match="no sample is both"):
            _ = k + mercer.kernels.RBF()

    def test_fitted_saved_verified(self, tmp_path):
        items, y = self.examples, np.arange(len(self.examples)) % 2
        model = mercer.SVC(kernel=self.kernel + 1e-6).fit(items, y)
        assert model.certificate_.status.is_solved
        assert mercer.verify(model, items, y).gap_low <= model.certificate_.gap
        K = self.expected(items, items) + 1e-6
        given = mercer.SVC(kernel="precomputed", tol=1e-6).fit(K, y)
        assert model.certificate_.primal == pytest.approx(given.certificate_.primal, rel=1e-3)
        mercer.save(model, tmp_path / "model.mercer")
        loaded = mercer.load(tmp_path / "model.mercer")
        new = [*items[:3], items[-1]]
        np.testing.assert_array_equal(loaded.decision_function(new), model.decision_function(new))
        assert loaded.kernel_ == model.kernel_

    @pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
    def test_decision_values_are_sums_of_kernel_values(self):
        items, y = self.examples, np.arange(len(self.examples)) % 2
        new = [*items[1:4], items[-1]]
        K, sizes = self.expected(new, items), self.expected(items, items).diagonal()
        own = np.array([self.naive(x, x) for x in new])
        lengths = np.sqrt(np.outer(own, sizes))
        cosines = np.divide(K, lengths, out=np.zeros_like(K), where=lengths > 0)
        for kernel, values in ((self.kernel, K), (Normalize(self.kernel), cosines)):
            model = mercer.SVC(kernel=kernel).fit(items, y)
            expected = values[:, model.support_] @ model.dual_coef_[0] + model.intercept_
            atol = self.atol(expected) * (1 + np.abs(K).max() * np.abs(model.dual_coef_).sum())
            np.testing.assert_allclose(model.decision_function(new), expected, atol=atol)

    def test_values_that_are_no_samples_are_named_by_row(self):
        for bad in self.bad:
            with pytest.raises(ValueError, match=r"row 1\b"):
                self.kernel(objects([self.examples[0], bad]))
