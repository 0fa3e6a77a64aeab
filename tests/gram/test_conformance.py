"""Every implementation of `Gram` against its contract."""

import mpmath
import numpy as np
import pytest
import scipy.sparse as sp

from mercer._threads import Workers
from mercer.gram import BlockedGram, CachedGram, SymmetricGram
from mercer.kernels import Precomputed, Samples
from tests.gram.conformance import SMALL, GramConformance, N


def blocked(kernel, X, threads=1):
    return BlockedGram(kernel, Samples(X), Workers(threads), machine=SMALL)


class TestBlockedGram(GramConformance):
    def make(self, kernel, X, threads=1):
        return blocked(kernel, X, threads)


class TestViewOfAll(GramConformance):
    """A view of all rows of a larger data set, in another order."""

    def make(self, kernel, X, threads=1):
        more = X.toarray() if sp.issparse(X) else X
        more = np.vstack([np.ones((3, X.shape[1])), more[::-1]])
        more = sp.csr_matrix(more) if sp.issparse(X) else more
        return blocked(kernel, more, threads).take(np.arange(N + 2, 2, -1))


class TestPrecomputed(GramConformance):
    """A precomputed matrix is a BlockedGram of the kernel `Precomputed`."""

    kinds = ("dense",)

    def make(self, kernel, X, threads=1):
        return blocked(Precomputed(), self.expected(kernel), threads)

    def exact_rows(self, kernel, X, at):
        K = self.expected(kernel)
        return [[mpmath.mpf(float(v)) for v in K[i]] for i in at]


class TestCachedFloat64(GramConformance):
    def make(self, kernel, X, threads=1):
        return CachedGram(blocked(kernel, X, threads), 8 * N * N)


class TestCachedFloat32(GramConformance):
    def make(self, kernel, X, threads=1):
        return CachedGram(blocked(kernel, X, threads), 4 * N * N)


class TestNothingCached(GramConformance):
    def make(self, kernel, X, threads=1):
        return CachedGram(blocked(kernel, X, threads), 0)


@pytest.mark.parametrize("budget", [0, 4 * N * N, 1 << 20])
class TestSymmetricGram(GramConformance):
    """Of whose tiles none, some or all are kept."""

    @pytest.fixture(autouse=True)
    def _budget(self, budget):
        self.budget = budget

    def make(self, kernel, X, threads=1):
        return SymmetricGram(blocked(kernel, X, threads), self.budget)


def test_a_precomputed_matrix_is_not_copied():
    K = np.eye(50)
    gram = BlockedGram(Precomputed(), Samples(K))
    assert np.shares_memory(gram.points.X, K)
    assert np.shares_memory(gram.take(np.arange(5)).points.X, K)
