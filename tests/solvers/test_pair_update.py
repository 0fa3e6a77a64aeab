"""The compiled cores: pair steps on a dense block, extremes, and the choice of a working set."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer.solvers._violation import extremes
from mercer.solvers.smo._pair_update import LANE, PairFlags, solve_pairs
from mercer.solvers.smo._selection import select_working_set
from mercer.solvers.smo._working_set import align_to_lanes, pad_to_lanes
from tests.oracles.dense_qp import solve_box_qp


def run(K, target, lower, upper, *, split=None, tol=1e-9, max_steps=10**6, dtype=np.float64):
    """From β = 0, padded to whole lanes; returns β, steps, violation and flags.

    The violation is that of β, up to the rounding of gradients in the precision of K.
    """
    n = len(target)
    m = -(-n // LANE) * LANE
    full, arrays = np.zeros((m, m), dtype), np.zeros((4, m))
    full[:n, :n] = K
    beta, grad, low, high = arrays
    grad[:n], low[:n], high[:n] = -target, lower, upper
    split = m // LANE if split is None else split
    steps = flags = 0
    for _ in range(4 if dtype == np.float32 else 1):  # refined, as the solvers do
        grad[:n] = full[:n, :n].astype(np.float64) @ beta[:n] - target
        more, violation, met = solve_pairs(full, beta, grad, low, high, split, tol, max_steps)
        steps, flags = steps + more, flags | met
    assert not beta[n:].any()
    v, ends = target - full[:n, :n] @ beta[:n], np.array([0, min(split * LANE, n), n])
    groups = [slice(*pair) for pair in pairwise(ends) if pair[0] < pair[1]]
    tops = [v[g][beta[:n][g] < high[:n][g]].max(initial=-np.inf) for g in groups]
    bottoms = [v[g][beta[:n][g] > low[:n][g]].min(initial=np.inf) for g in groups]
    expected = max(0.0, *(np.subtract(tops, bottoms)))
    rounding = 8 * n * np.finfo(dtype).eps * (abs(full).max() * abs(beta).max() + abs(target).max())
    assert_allclose(violation, expected, atol=rounding)
    assert_allclose(grad[:n], -v, atol=rounding)  # of the new β
    return beta[:n], steps, violation, flags


def psd(n, rank, seed=0):
    A = np.random.default_rng(seed).normal(size=(n, rank))
    return A @ A.T


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [2, 31, 32, 70])
def test_the_optimum_of_a_dense_qp_with_bounds_met_exactly(n, dtype):
    K = psd(n, n).astype(dtype).astype(np.float64) + np.eye(n)
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    lower, upper = np.minimum(0, 0.02 * y), np.maximum(0, 0.02 * y)
    beta, steps, violation, flags = run(K, y, lower, upper, dtype=dtype)
    expected, _ = solve_box_qp(K, y, lower, upper, np.ones((1, n)), np.zeros(1))
    assert_allclose(beta, expected, atol=1e-7)
    assert_array_equal(beta[np.abs(expected) < 1e-9], 0.0)
    at_bound = np.abs(expected) > 0.02 - 1e-9
    assert_array_equal(np.abs(beta[at_bound]), 0.02)
    assert violation <= 1e-9
    assert steps > 0
    assert flags == 0
    assert abs(beta.sum()) < 1e-12


def test_two_groups_keep_their_sums_apart():
    """In lanes 0 and 1 Σβ = 0 each; the optimum with both constraints."""
    K, rng = psd(2 * LANE, 2 * LANE) + np.eye(2 * LANE), np.random.default_rng(1)
    target = rng.normal(size=2 * LANE)
    bound = np.full(2 * LANE, 0.01)
    beta, _, violation, _ = run(K, target, -bound, bound, split=1)
    A = np.kron(np.eye(2), np.ones(LANE))
    expected, _ = solve_box_qp(K, target, -bound, bound, A, np.zeros(2))
    assert_allclose(beta, expected, atol=1e-7)
    assert_allclose(A @ beta, 0, atol=1e-14)
    assert violation <= 1e-9


def test_steps_are_limited_and_the_violation_is_that_of_the_state():
    K, y = psd(40, 40) + np.eye(40), np.where(np.arange(40) % 2 == 0, 1.0, -1.0)
    beta, steps, violation, _ = run(K, y, np.minimum(0, y), np.maximum(0, y), max_steps=7)
    assert steps == 7
    v = y - K @ beta
    up, down = v[beta < np.maximum(0, y)].max(), v[beta > np.minimum(0, y)].min()
    assert violation == pytest.approx(up - down)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("seed", range(5))
def test_a_step_moves_the_worst_variable_and_the_partner_of_the_largest_decrease(dtype, seed):
    """Up to what the keys of decreases leave out, and the estimate of a quotient."""
    n, rng = 7 * LANE, np.random.default_rng(seed)
    scales = 10.0 ** rng.uniform(-1, 1, n)  # no unit diagonal
    K = (scales[:, None] * psd(n, n, seed) * scales / n).astype(dtype)
    start, target = rng.choice([-1.0, 0.0, 1.0], n), rng.normal(size=n)
    beta, v = start.copy(), target - K.astype(np.float64) @ start
    one = np.ones(n)
    solve_pairs(K, beta, -v, -one, one, n // LANE, 1e-9, 1)
    (i,), (j,) = np.flatnonzero(beta > start), np.flatnonzero(beta < start)
    assert v[i] >= v[start < 1].max() - 1e-3 * np.abs(v).max()
    K = K.astype(np.float64)
    decrease = np.maximum(v[i] - v, 0) ** 2 / np.maximum(K[i, i] + K.diagonal() - 2 * K[i], 1e-12)
    assert decrease[j] >= 0.999 * decrease[start > -1].max()


def test_duplicates_with_opposite_labels_go_to_their_bounds():
    """η = 0: the pair gains 2 per unit for every K, so both end at C, exactly."""
    K, y = np.ones((2, 2)), np.array([1.0, -1.0])
    beta, _, violation, flags = run(K, y, np.array([0, -3.0]), np.array([3.0, 0]))
    assert_array_equal(beta, [3.0, -3.0])
    assert violation == 0
    assert flags == 0


@pytest.mark.parametrize("bound", [1.0, 1e13])
def test_duplicates_without_end_only_where_there_is_no_bound(bound):
    y = np.array([1.0, -1.0])
    *_, flags = run(np.ones((2, 2)), y, np.minimum(0, bound * y), np.maximum(0, bound * y))
    assert not flags & PairFlags.UNBOUNDED
    *_, flags = run(np.ones((2, 2)), y, np.array([0, -np.inf]), np.array([np.inf, 0]))
    assert flags & PairFlags.UNBOUNDED


def test_duplicates_with_equal_labels_share():
    """Four copies of two points: the sum over copies is the two-point answer β = ±½."""
    K = np.kron(np.array([[1.0, -1.0], [-1.0, 1.0]]), np.ones((4, 4)))
    y = np.repeat([1.0, -1.0], 4)
    beta, steps, violation, _ = run(K, y, np.minimum(0, y), np.maximum(0, y))
    assert beta[:4].sum() == pytest.approx(0.5)
    assert violation <= 1e-9
    assert steps < 20


@pytest.mark.parametrize("scale", [1e-20, 1e10, 1e19, 1e100])
def test_targets_of_any_size(scale):
    """Slopes beyond float32 still choose a partner: with small bounds the signs decide."""
    rng = np.random.default_rng(0)
    target = rng.normal(size=40)
    bound = np.full(40, 1e-6)
    beta, _, violation, _ = run(np.eye(40), target * scale, -bound * scale, bound * scale,
                                tol=1e-6 * scale, max_steps=10_000)  # fmt: skip
    middle = np.argsort(target)
    assert violation <= 1e-6 * scale
    assert np.all(beta[middle[:19]] < 0)
    assert np.all(beta[middle[-19:]] > 0)
    assert np.all(np.abs(beta) <= bound * scale)


def test_negative_curvature_is_flagged_and_stays_in_the_box():
    K = np.array([[0.0, 2.0], [2.0, 0.0]])  # k(x, x) + k(z, z) − 2k(x, z) = −4
    y = np.array([1.0, -1.0])
    beta, _, violation, flags = run(K, y, np.minimum(0, y), np.maximum(0, y))
    assert flags & PairFlags.MET_NEGATIVE_CURVATURE
    assert_array_equal(beta, [1.0, -1.0])
    assert violation == 0


def test_float32_rounding_is_not_negative_curvature():
    K = np.full((2, 2), np.float32(0.1))
    K[0, 1] = K[1, 0] = np.nextafter(np.float32(0.1), np.float32(1))
    y = np.array([1.0, -1.0])
    *_, flags = run(K, y, np.minimum(0, y), np.maximum(0, y), dtype=np.float32)
    assert flags == 0


@pytest.mark.parametrize(("n_groups", "size"), [(0, 31), (0, 32), (1, 32), (1, 33), (2, 40)])
def test_layout_in_whole_lanes(n_groups, size):
    rng = np.random.default_rng(0)
    chosen = rng.permutation(100)[:size]
    group = (rng.uniform(size=100) < 0.5).astype(np.int8) if n_groups == 2 else np.zeros(100, int)
    ws, real, split = align_to_lanes(chosen, group, n_groups)
    assert ws.size % LANE == 0
    assert_array_equal(np.sort(ws[real]), np.sort(chosen))
    begin = split * LANE
    assert np.all(group[ws[:begin]][real[:begin]] == 0)
    assert np.all(group[ws[begin:]][real[begin:]] == 1)
    arrays = [np.full(ws.size, 5.0) for _ in range(4)]
    pad_to_lanes(real, *arrays, n_groups)
    beta, grad, lower, upper = arrays
    still = ~real
    if n_groups == 0:
        assert (real[-1], lower[-1], upper[-1]) == (False, -np.inf, np.inf)
        still[-1] = False
    assert not np.any([beta[~real], grad[~real]])
    assert not np.any([lower[still], upper[still]])


def make_scan(n_groups, seed=0, n=400):
    rng = np.random.default_rng(seed)
    target, f = rng.normal(size=n), rng.normal(size=n)
    lower, upper = np.zeros(n), np.ones(n)
    beta = rng.choice([0.0, 0.4, 1.0], size=n)
    group = rng.integers(0, max(n_groups, 1), n).astype(np.int8)
    return f, np.arange(n), target, beta, lower, upper, group


@pytest.mark.parametrize("n_groups", [0, 1, 2])
def test_extremes_are_those_of_the_definition(n_groups):
    f, row, target, beta, lower, upper, group = make_scan(n_groups)
    row = row[::-1].copy()
    v = np.empty(400)
    top, bottom = extremes(f, row, target, beta, lower, upper, group, n_groups, v)
    assert_array_equal(v, target - f[row])
    for g in range(max(n_groups, 1)):
        extra = [0.0] if n_groups == 0 else []
        rise = [*v[(beta < upper) & (group == g)], *extra]
        fall = [*v[(beta > lower) & (group == g)], *extra]
        assert (top[g], bottom[g]) == (max(rise), min(fall))


@pytest.mark.parametrize("n_groups", [1, 2])
@pytest.mark.parametrize("size", [8, 40, 200])
def test_the_working_set_holds_the_worst_of_both_sides(n_groups, size):
    f, row, target, beta, lower, upper, group = make_scan(n_groups)
    v = np.empty(400)
    top, bottom = extremes(f, row, target, beta, lower, upper, group, n_groups, v)
    taken = np.zeros(400, bool)
    old = np.random.default_rng(1).permutation(400)[:30]
    taken[old] = True
    chosen = select_working_set(v, beta, lower, upper, group, n_groups, top, bottom, taken, size)
    assert np.unique(chosen).size == chosen.size <= size
    assert not np.intersect1d(chosen, old).size
    assert_array_equal(np.flatnonzero(taken), np.union1d(chosen, old))
    quota, bin_width = size // (2 * n_groups), (top - bottom) / 1023
    for g in range(n_groups):
        free = (group == g) & ~np.isin(np.arange(400), old)
        for side, may in ((1, beta < upper), (-1, beta > lower)):
            order = np.sort(side * v[free & may])[::-1]
            worst = np.flatnonzero(free & may & (side * v > order[quota - 1] + bin_width[g]))
            assert np.isin(worst, chosen).all()


def test_nobody_is_chosen_where_nobody_violates():
    v, group, ones = np.array([-1.0, -0.5, 0.5, 1.0]), np.zeros(4, np.int8), np.ones(4)
    beta = np.array([0.0, 0.0, 1.0, 1.0])  # small v may rise only, large v fall only
    taken = np.zeros(4, bool)
    chosen = select_working_set(
        v, beta, 0 * ones, ones, group, 1, np.array([-0.5]), np.array([0.5]), taken, 4
    )
    assert chosen.size == 0
