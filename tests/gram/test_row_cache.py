"""RowCache against whole matrices, with so little room that rows are evicted all the time."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from mercer._threads import Workers
from mercer.gram import BlockedGram, MachineModel, RowCache
from mercer.kernels import RBF, Linear
from mercer.kernels._samples import Samples
from tests.read_only import read_only

N, D = 120, 4
SLOTS = 7
HALF = RBF(gamma=0.5)


def _data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D))
    return read_only(X)


X = _data()
K_RBF = np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(-1))
K_LINEAR = X @ X.T


# Tiles of 2 × 2 and chunks of 16 columns, so that every loop has several turns.
SMALL = MachineModel(l2_bytes=32, fewest_cached_rows=2)


def make(columns, room=None, slots=SLOTS, kernel=HALF, data=X, workers=None, machine=SMALL):
    room = room or columns.size
    memory = np.full(slots * room, np.nan, np.float32)  # what was never written shows
    gram = BlockedGram(kernel, Samples(data), workers, machine=machine)
    return RowCache(gram, columns, room, memory)


@pytest.mark.parametrize("data", [X, sp.csr_matrix(X), X.astype(np.float32)])
@pytest.mark.parametrize(("kernel", "K"), [(RBF(gamma=0.5), K_RBF), (Linear(), K_LINEAR)])
def test_sums_stay_right_while_rows_are_thrown_out(kernel, K, data):
    """Requests of all sizes, held and new rows mixed, up to several times what the ring holds."""
    rng = np.random.default_rng(1)
    columns = rng.permutation(N)[:60]
    rows = make(columns, kernel=kernel, data=data)
    assert rows.n_rows == SLOTS
    part, total, expected = K[np.ix_(columns, columns)], np.zeros(60), np.zeros(60)
    bound, change = np.zeros(60, np.float32), np.zeros(N)
    for size in [1, 3, SLOTS - 1, SLOTS, SLOTS + 1, 2 * SLOTS, 40, *rng.integers(1, 15, 40)]:
        which, coef = rng.permutation(60)[:size], rng.normal(size=size)
        rows.add_to(total, bound, which, coef)
        np.add.at(change, columns[which], np.abs(coef))
        expected += part[:, which] @ coef
        error = rows.gram.sum_error(np.float32).bound(1.01 * bound, change, columns)
        assert (np.abs(total - expected) <= error + 1e-12).all()
        assert error.max() < 1e-2
        held = rows._slot[rows._slot >= 0]
        assert held.size == np.unique(held).size <= SLOTS
        assert_allclose(rows._rows[held, :60], part[rows._slot >= 0], atol=1e-5)


@given(st.lists(st.lists(st.integers(0, 19), min_size=1, max_size=12), max_size=12))
def test_any_requests_in_any_order_with_duplicates(requests):
    columns = np.arange(20)
    rows, total, expected = make(columns, slots=4), np.zeros(20), np.zeros(20)
    for which in requests:
        coef = np.arange(1.0, len(which) + 1)
        rows.add_to(total, np.zeros(total.size, np.float32), np.array(which), coef)
        expected += K_RBF[:20][:, which] @ coef
    assert_allclose(total, expected, atol=1e-4 * (1 + np.abs(expected)).max())


def test_columns_that_come_later_are_filled_in_the_rows_that_are_held():
    rng = np.random.default_rng(2)
    order = rng.permutation(N)
    rows = make(order[:20], room=N)
    total = np.zeros(20)
    rows.add_to(total, np.zeros(total.size, np.float32), np.arange(5), np.ones(5))
    for n in (21, 50, 50, N):
        rows.extend(order[rows.n : n])
        assert rows.n == n
        part, total = K_RBF[np.ix_(order[:n], order[:n])], np.zeros(n)
        which = np.array([0, 4, 2, n - 1, n - 2])
        rows.add_to(total, np.zeros(total.size, np.float32), which, np.arange(1.0, 6))
        assert_allclose(total, part[:, which] @ np.arange(1.0, 6), atol=1e-5)
        coef = rng.normal(size=n) * (rng.uniform(size=n) < 0.5)
        for first in (0, n // 2):
            assert_allclose(rows.sums(coef, first)[0], (part @ coef)[first:], atol=1e-4)


def test_a_store_may_start_without_columns():
    rows = make(np.zeros(0, np.int64), room=30)
    rows.extend(np.arange(10))
    rows.extend(np.arange(10, 30))
    total = np.zeros(30)
    rows.add_to(total, np.zeros(total.size, np.float32), np.array([29, 3]), np.array([1.0, 2.0]))
    assert_allclose(total, K_RBF[:30, 29] + 2 * K_RBF[:30, 3], atol=1e-6)


@pytest.mark.parametrize("costly", [0, 10**9], ids=["copied", "computed"])
@pytest.mark.parametrize("data", [X, sp.csr_matrix(X)])
@pytest.mark.parametrize("first", [0, 5, 12])
def test_the_block_of_a_working_set(costly, data, first):
    machine = replace(SMALL, costly_entry=costly)
    rng = np.random.default_rng(3)
    columns = rng.permutation(N)[:50]
    rows, part = make(columns, data=data, machine=machine), K_RBF[np.ix_(columns, columns)]
    for _ in range(4):
        rows.add_to(np.zeros(50), np.zeros(50, np.float32), rng.permutation(50)[:9], np.ones(9))
        which = rng.permutation(50)[:12]
        which[-1] = which[0]  # padding repeats
        out = np.full((12, 12), np.nan, np.float32)
        out[:first, :first] = part[np.ix_(which[:first], which[:first])]
        rows.square(which, out, first)
        assert_allclose(out, part[np.ix_(which, which)], atol=1e-6)


def test_however_small_the_budget_some_rows_are_held():
    rows = make(np.arange(60), slots=0)
    assert rows.n_rows == SMALL.fewest_cached_rows
    total = np.zeros(60)
    rows.add_to(total, np.zeros(total.size, np.float32), np.arange(60), np.ones(60))
    assert_allclose(total, K_RBF[:60, :60].sum(axis=1), atol=1e-4)


def test_the_budget_is_kept():
    memory = np.zeros(1000, np.float32)
    rows = RowCache(BlockedGram(RBF(), Samples(X), machine=SMALL), np.arange(40), 40, memory)
    assert rows.n_rows == 25
    assert np.shares_memory(rows._rows, memory)


def test_threads_change_no_bit():
    found = []
    for n_threads in (1, 3):
        rng = np.random.default_rng(4)
        with Workers(n_threads) as workers:
            rows, total = make(np.arange(N), workers=workers), np.zeros(N)
            for _ in range(20):
                rows.add_to(
                    total,
                    np.zeros(total.size, np.float32),
                    rng.permutation(N)[:9],
                    rng.normal(size=9),
                )
            found.append(total)
    assert_array_equal(*found)
