"""Shrinking: whatever the cache, all points that violate are active.

With room for only some of them, the rest would come to violate while these are solved, for ever.
"""

import numpy as np
import pytest

from mercer._result import Status
from mercer._threads import Workers
from mercer.certificates._box_qp import certify
from mercer.gram import BlockedGram
from mercer.kernels import RBF, Callable, Samples
from mercer.problems import svc
from mercer.solvers._stopping import Stopping
from mercer.solvers.smo._decomposition import DecompositionSMO
from tests.solvers.small import make_data, make_gram, small, solve

N = 12_000
X = np.random.default_rng(0).normal(size=(N, 2))
y = np.where(np.random.default_rng(1).random(N) < 0.5, 1.0, -1.0)


def test_all_violators_are_active_with_any_cache():
    gram = BlockedGram(RBF(gamma=1.0), Samples(X), Workers(1))
    problem = svc(y, 1.0)
    with Stopping() as stopping:
        run = DecompositionSMO(problem, gram, stopping, 1e-3, np.inf, 1 << 10, problem.start)
        run.active.add_points(np.arange(N), run.beta)
        score = np.where(np.arange(N) % 10 > 0, 1.0, -1.0)
        rows = run.active.activate(None, score, run.beta)
    assert np.isin(np.flatnonzero(score > 0), rows.columns).all()


class Counting:
    """A kernel function that counts the values it is asked for."""

    def __init__(self):
        self.count = 0

    def __call__(self, A, B):
        self.count += len(A) * len(B)
        return np.exp(-((A[:, np.newaxis] - B) ** 2).sum(axis=-1))


@pytest.mark.parametrize("start", ["cold", "warm"])
def test_a_second_solve_on_the_same_gram_uses_the_rows_of_the_first(start):
    points, labels, _, _ = make_data(300)
    settings, counts, found = small(), [], []
    for shared in (True, False):
        function = Counting()
        gram = make_gram(Callable(function), points, costly=0)
        first = solve(svc(labels, 1.0), gram, settings=settings)
        if not shared:
            gram.release()
        before = function.count
        problem = svc(labels, 1.5)
        beta = first.beta if start == "warm" else None
        result = solve(problem, gram, settings=settings, start=beta)
        assert result.status is Status.SOLVED
        counts.append(function.count - before)
        found.append(certify(problem, result))
    assert counts[0] < 0.6 * counts[1]
    one, other = found
    assert max(one.dual, other.dual) <= min(one.primal, other.primal)


def test_columns_in_another_order_are_computed_again():
    points, _, _, _ = make_data(60)
    K = RBF(gamma=0.4)(points)
    gram = make_gram(RBF(gamma=0.4), points, costly=0)
    rng = np.random.default_rng(0)
    for _ in range(4):
        order = rng.permutation(60)
        rows = gram.full_row_cache(1 << 20)
        assert rows.n == 0
        for part in (order[:20], order[20:]):
            added = rows.extend(part)
            assert set(added) == set(part)
            total, coef = np.zeros(rows.n), rng.normal(size=5)
            which = rng.permutation(rows.n)[:5]
            rows.add_to(total, np.zeros(rows.n, np.float32), which, coef)
            expected = K[np.ix_(rows.columns, rows.columns[which])] @ coef
            assert np.abs(total - expected).max() < 1e-5
