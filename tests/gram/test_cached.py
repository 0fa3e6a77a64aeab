"""All of K within a budget: the same values kept in float64, kept in float32, or recomputed."""

from __future__ import annotations

import numpy as np
import pytest

from mercer._threads import Workers
from mercer.gram import BlockedGram, CachedGram
from mercer.kernels import RBF
from mercer.kernels._samples import Samples

N = 700
X = np.random.default_rng(0).normal(size=(N, 4))
K = RBF(0.3)(X)
BUDGETS = {"float64": 8 * N * N, "float32": 4 * N * N, "none": 0}


@pytest.fixture(params=BUDGETS)
def whole(request):
    gram = BlockedGram(RBF(0.3), Samples(X), Workers(2))
    yield CachedGram(gram, BUDGETS[request.param])
    gram.workers.close()


@pytest.mark.parametrize("columns", [1, 3])
def test_products(whole, columns):
    V = np.random.default_rng(1).normal(size=(N, columns))
    exact = K @ V
    assert whole.matvec(V) == pytest.approx(exact, abs=1e-4)
    assert whole.matvec(V, dtype=np.float64) == pytest.approx(exact, abs=1e-11)


def test_tiles(whole):
    rows = np.array([5, 699, 3])
    values, slots = whole.tile(rows, slice(10, 300))
    assert values[slots] == pytest.approx(K[rows, 10:300], abs=1e-6)


def test_the_budget_decides():
    gram = BlockedGram(RBF(0.3), Samples(X), Workers(1))
    kept = {name: CachedGram(gram, budget) for name, budget in BUDGETS.items()}
    assert kept["float64"].K.dtype == np.float64
    assert kept["float32"].K.dtype == np.float32
    assert kept["none"].K is None
    assert CachedGram(gram, 0, np.float64).dtype == np.float64
