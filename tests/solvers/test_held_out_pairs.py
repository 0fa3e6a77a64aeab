"""Folds of class pairs solved together, against the same folds one by one."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer._multiclass import PosedTasks, Task, pair_tasks
from mercer.calibration._cross_fit import _folds, held_out_values
from mercer.kernels import RBF, Linear
from mercer.problems import svc
from mercer.solvers import SMO, ClassPairs, Stopping
from mercer.solvers.smo.paths._held_out_pairs import held_out_pairs
from tests.solvers.small import make_gram


def values(kernel, X, codes, C, rows_at_once, n_jobs=1, cache_bytes=200 << 20):
    """Of every task, the decision values of its rows."""
    tasks = pair_tasks(codes, codes.max() + 1)

    def pose(task: Task):
        return svc(task.y, task.of_rows(C))

    gram, solver = make_gram(kernel, X), SMO(tol=1e-9, cache_bytes=cache_bytes)
    posed = PosedTasks(tasks, [pose(task) for task in tasks], gram, Stopping())
    results = [
        solver.solve(problem, posed.gram_of(t), Stopping())
        for t, problem in enumerate(posed.problems)
    ]
    return held_out_values(
        posed,
        results,
        pose,
        lambda problem, result: (result.beta, float(result.b[0])),
        solver,
        np.random.RandomState(0),
        n_jobs,
        rows_at_once,
    )


def data(sizes, seed=0):
    rng = np.random.default_rng(seed)
    codes = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    return rng.normal(size=(codes.size, 3)) + codes[:, None], codes, rng.uniform(0.5, 4, codes.size)


def test_the_same_as_one_by_one():
    X, codes, C = data([30, 20, 12, 7])
    alone = values(RBF(gamma=0.5), X, codes, C, 0)
    for rows_at_once in (30, 45, 1000):  # no pair, some and all of them together
        for one, other in zip(
            values(RBF(gamma=0.5), X, codes, C, rows_at_once), alone, strict=True
        ):
            assert_allclose(one, other, atol=1e-7)


@pytest.mark.parametrize("C", [0.01, 1.0, 30.0])
def test_two_classes_are_the_same_as_folds_of_their_own(C):
    """Of equal C many coefficients are at a bound, and cannot take what the held-out ones leave."""
    X, codes, _ = data([40, 25])
    C = np.full(codes.size, C)
    (one,), (other,) = (values(RBF(gamma=0.5), X, codes, C, rows) for rows in (1000, 0))
    assert_allclose(one, other, atol=1e-7)


def test_a_start_does_not_change_the_values():
    """From the solution of all rows, or from zero."""
    X, codes, C = data([40, 25])
    y, gram, n = np.where(codes == 1, 1.0, -1.0), make_gram(RBF(gamma=0.5), X), codes.size
    problem, folds = svc(y, C), np.arange(n) % 5
    result = SMO(tol=1e-9).solve(problem, gram, Stopping())
    given = ClassPairs([problem], gram, np.array([0, n, n]), [(0, 1)])
    found = [
        held_out_pairs(given, [start], folds, 1e-9, Stopping())
        for start in ((result.beta, result.f), np.zeros((2, n)))
    ]
    for _, is_known in found:
        assert is_known.all()
    assert_allclose(found[0][0], found[1][0], atol=1e-7)


def test_a_row_is_in_one_fold_in_all_tasks():
    _, codes, _ = data([30, 20, 12, 7])
    tasks = pair_tasks(codes, 4)
    fold_of = np.full(codes.size, -1)
    for task, folds in zip(tasks, _folds(tasks, np.random.RandomState(0)), strict=True):
        known = fold_of[task.rows] >= 0
        assert np.array_equal(fold_of[task.rows][known], folds[known])
        fold_of[task.rows] = folds
    for c in range(4):  # every class is spread evenly
        counts = np.bincount(fold_of[codes == c], minlength=5)
        assert counts.max() - counts.min() <= 1


def test_a_fold_that_leaves_one_class_gives_its_label():
    X, codes, C = data([9, 1, 6])
    found = values(RBF(), X, codes, C, 1000)
    for one, other in zip(found, values(RBF(), X, codes, C, 0), strict=True):
        assert_allclose(one, other, atol=1e-7)
    of_pair = found[0]  # classes 0 and 1: without its only row of class 1, all others are class 0
    assert of_pair[-1] == 1.0


def test_values_beyond_the_scale_of_pair_steps_are_solved_one_by_one():
    X, codes, C = data([15, 10, 8])
    C = C * 1e-9
    found = values(Linear(), 1e4 * X, codes, C, 1000)
    for one, other in zip(found, values(Linear(), 1e4 * X, codes, C, 0), strict=True):
        assert_allclose(one, other, atol=1e-7)


def test_threads_do_not_change_the_values():
    X, codes, C = data([400, 350, 30, 20, 20])
    one, two = (values(RBF(gamma=0.2), X, codes, C, 500, n_jobs) for n_jobs in (1, 2))
    for a, b in zip(one, two, strict=True):
        assert np.array_equal(a, b)


def test_the_budget_of_the_cache_is_kept():
    """Pairs are small, K of all classes together is not: 8 MB of 1,000 rows."""
    X, codes, C = data([170] * 6)
    values(RBF(gamma=0.2), X[:60], codes[:60], C[:60], 400)  # compiled before
    tracemalloc.start()
    found = values(RBF(gamma=0.2), X, codes, C, 400, cache_bytes=1 << 20)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * codes.size**2
    alone = values(RBF(gamma=0.2), X, codes, C, 400)
    for one, other in zip(found, alone, strict=True):
        assert_allclose(one, other, atol=1e-6)
