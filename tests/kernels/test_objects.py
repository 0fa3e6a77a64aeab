"""Kernels on objects: sample types, preparation once per data set, composition, estimators."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

import mercer
from mercer.kernels import RBF, Callable, Constant, Kernel, Linear, Samples
from mercer.kernels._base import OBJECTS

WORDS = ["abba", "baba", "abab", "aabb", "xyyx", "yxyx", "xxyy", "xyxy", "abxy", "yyba"]
LABELS = np.array([0, 0, 0, 0, 1, 1, 1, 1, 0, 1])


def shared_letters(A, B):
    """Σ over letters of the product of their counts."""
    return np.array([[sum(Counter(b)[c] for c in a) for b in B] for a in A], dtype=float)


@dataclass(frozen=True, repr=False)
class Letters(Kernel):
    """The same kernel, with the counts of each string prepared once."""

    calls: list = field(default_factory=list, compare=False)

    @property
    def sample_type(self):
        return OBJECTS

    def prepare(self, samples):
        self.calls.append(samples.n)
        counts = [[text.count(chr(97 + c)) for c in range(26)] for text in samples.X]
        return Samples(sp.csr_matrix(np.array(counts, dtype=float).reshape(-1, 26)))

    def _check_rows(self, points, largest=0.0):
        pass

    @property
    def _has_formula(self):
        return False

    def tile(self, A, B, out):
        Linear().tile(A, B, out)

    def diag(self, A):
        return Linear().diag(A)


@pytest.mark.parametrize(
    ("make", "of_matrix"),
    [
        (lambda f: f, lambda K: K),
        (Callable, lambda K: K),
        (lambda f: 2 * Callable(f) + 1, lambda K: 2 * K + 1),
        (lambda f: Callable(f) ** 2, lambda K: K**2),
        (lambda f: Callable(f) * Constant(2), lambda K: 2 * K),
    ],
)
def test_functions_on_strings_alone_and_composed(make, of_matrix):
    model = mercer.SVC(kernel=make(shared_letters)).fit(WORDS, LABELS)
    assert model.certificate_.status.is_solved
    K = of_matrix(shared_letters(WORDS, WORDS))
    given = mercer.SVC(kernel="precomputed").fit(K, LABELS)
    assert_allclose(model.decision_function(WORDS), given.decision_function(K), atol=5e-3)
    assert mercer.verify(model, WORDS, LABELS).gap <= 2 * model.certificate_.gap + 1e-9


def test_a_prepared_kernel_is_the_function():
    texts = [*WORDS, "", "z"]
    assert_array_equal(Letters()(texts), shared_letters(texts, texts))
    composed = 2 * Letters() + Letters() * Callable(shared_letters)
    K = shared_letters(texts, texts)
    assert_array_equal(composed(texts), 2 * K + K * K)


def test_samples_are_prepared_once_per_data_set():
    kernel = Letters()
    model = mercer.SVC(kernel=kernel).fit(WORDS, LABELS)
    assert kernel.calls.count(len(WORDS)) == 1
    kernel.calls.clear()
    first = model.decision_function(WORDS[:4])
    assert sorted(kernel.calls) == sorted([4, len(model.support_)])
    kernel.calls.clear()
    assert_array_equal(model.decision_function(WORDS[:4]), first)
    assert kernel.calls == [4]  # the support vectors were prepared before


@pytest.mark.parametrize(
    "estimator",
    [
        mercer.KernelRidge,
        mercer.KernelPCA,
        mercer.KernelPerceptron,
        mercer.SVR,
        mercer.KernelLogisticRegression,
        mercer.OneClassSVM,
    ],
)
def test_the_same_kernel_object_in_every_estimator(estimator):
    found = [
        estimator(kernel=kernel).fit(WORDS, LABELS)
        for kernel in (2 * Letters() + 1, 2 * Callable(shared_letters) + 1)
    ]
    first, second = (
        m.transform(WORDS) if hasattr(m, "transform") else m.predict(WORDS) for m in found
    )
    assert_allclose(np.abs(first), np.abs(second), atol=1e-6)


def test_composites_take_the_stricter_sample_type():
    function = Callable(shared_letters)
    assert function.sample_type == (2 * function + 1).sample_type == "objects"
    assert (RBF() + function).sample_type == (function * RBF()).sample_type == "vectors"
    with pytest.raises(ValueError, match="must hold numbers, but it holds text"):
        mercer.SVC(kernel=RBF() + function).fit(WORDS, LABELS)


def test_functions_on_rows_of_numbers_still_get_arrays():
    X = np.random.default_rng(0).normal(size=(30, 3))
    y = np.where(X[:, 0] > 0, 1, -1)
    seen = []

    def dot(A, B):
        seen.append(type(A))
        return A @ B.T

    model = mercer.SVC(kernel=Callable(dot)).fit(X, y)
    assert set(seen) == {np.ndarray}
    expected = mercer.SVC(kernel="linear").fit(X, y)
    assert_allclose(model.decision_function(X), expected.decision_function(X), atol=2e-3)


def test_multiples_of_the_linear_kernel_have_weights():
    X = np.random.default_rng(0).normal(size=(60, 3)) + 5
    y = np.where(X[:, 0] > 5, 1, -1)
    scaled = mercer.SVC(kernel=2 * Linear(), C=1).fit(X, y)
    plain = mercer.SVC(kernel="linear", C=2).fit(X, y)
    assert_allclose(scaled.coef_, plain.coef_, rtol=1e-10)
    assert_allclose(
        scaled.coef_ @ X.T + scaled.intercept_[0], scaled.decision_function(X)[None], atol=1e-9
    )
    with pytest.raises(AttributeError, match="linear kernel"):
        _ = mercer.SVC(kernel=Linear() + 1).fit(X, y).coef_
