"""Class pairs solved together against the same pairs one by one, and against LIBSVM."""

import numpy as np
import pytest
import sklearn.svm
from numpy.testing import assert_allclose, assert_array_equal

from mercer import SVC
from mercer._multiclass import by_class, pair_tasks, pairs
from mercer._result import Status
from mercer.certificates._box_qp import certify
from mercer.kernels import RBF, Linear, Sigmoid
from mercer.problems import svc
from mercer.solvers import SMO, ClassPairs, Stopping, solve_class_pairs
from mercer.solvers.smo import SMOSettings
from tests.solvers.small import make_gram


def make_classes(k=5, n=150, seed=0):
    rng = np.random.default_rng(seed)
    codes = np.concatenate([np.arange(k), rng.integers(k, size=n - k)])
    return rng.normal(size=(n, 3)) + 0.8 * codes[:, None], codes


def solve_both(kernel, X, codes, bound, tol=1e-4):
    """Problems, answers together and answers one by one."""
    k = codes.max() + 1
    gram, tasks = make_gram(kernel, X), pair_tasks(codes, k)
    problems = [svc(task.y, bound[task.rows]) for task in tasks]
    order, starts = by_class(codes, k)
    together = solve_class_pairs(
        ClassPairs(problems, gram.take(order), starts, pairs(k)), tol, Stopping()
    )
    alone = [
        SMO(tol=tol).solve(problem, gram.take(task.rows), Stopping())
        for problem, task in zip(problems, tasks, strict=True)
    ]
    return problems, together, alone


def test_the_same_answers_as_one_by_one():
    X, codes = make_classes()
    bound = np.random.default_rng(1).uniform(0.2, 5.0, size=codes.size)
    problems, together, alone = solve_both(RBF(gamma=0.3), X, codes, bound)
    assert len(together) == 10
    for problem, one, other in zip(problems, together, alone, strict=True):
        assert one.status is Status.SOLVED
        assert 0 < one.violation <= 1e-4
        assert one.iterations == pytest.approx(other.iterations, rel=0.1)
        assert_allclose(one.f, other.f, atol=1e-3)
        assert_allclose(one.b, other.b, atol=1e-3)
        assert abs(one.beta.sum()) < 1e-12
        assert np.all((problem.lower <= one.beta) & (one.beta <= problem.upper))


def test_a_large_gap_is_closed_beyond_tol():
    """As the general solver does: to the gap of the settings, or a fifth of tol."""
    X, codes = make_classes()
    order, starts = by_class(codes, 5)
    gram = make_gram(RBF(gamma=0.3), X).take(order)
    problems = [svc(task.y, 1.0) for task in pair_tasks(codes, 5)]
    given, gaps, worst = ClassPairs(problems, gram, starts, pairs(5)), {}, {}
    for small_gap in (np.inf, 1e-3, 0.0):
        settings = SMOSettings(small_gap=small_gap)
        found = solve_class_pairs(given, 0.05, Stopping(), settings)
        gaps[small_gap] = np.array(
            [certify(*pair).relative_gap for pair in zip(problems, found, strict=True)]
        )
        worst[small_gap] = np.array([result.violation for result in found])
    assert (worst[0.0] <= 0.2001 * 0.05).all()
    assert ((gaps[1e-3] <= 1.001e-3) | (worst[1e-3] <= 0.2001 * 0.05)).all()
    assert (gaps[np.inf] > 1e-3).any()
    assert (gaps[1e-3] <= gaps[np.inf]).all()


def test_b_is_the_middle_of_its_interval_where_no_vector_is_free():
    """Samples ±1 of a linear kernel with C = 0.1 stay at their bounds: w = 0.2, |b| ≤ 0.8."""
    X, codes = np.array([[1.0], [-1.0], [-1.0]]), np.array([0, 1, 2])
    problems, together, _ = solve_both(Linear(), X, codes, np.full(3, 0.1))
    assert_allclose(certify(problems[0], together[0]).bias_interval, [-0.8, 0.8])
    assert_allclose(together[0].b, [0.0], atol=1e-15)


@pytest.mark.filterwarnings("ignore::mercer.kernels._dot_product.IndefiniteKernelWarning")
def test_what_is_not_solved_at_once_is_left_to_the_general_solver():
    X, codes = make_classes()
    bound = np.full(codes.size, 10.0)
    _, together, alone = solve_both(Sigmoid(gamma=2.0, coef0=-1.0), X, codes, bound)
    for one, other in zip(together, alone, strict=True):
        assert (one is None) == (other.status is Status.NOT_PSD)
    assert None in together
    order, starts = by_class(codes, 5)
    problems = [svc(task.y, 1.0) for task in pair_tasks(codes, 5)]
    given = ClassPairs(problems, make_gram(RBF(gamma=0.3), X).take(order), starts, pairs(5))
    beyond_float64 = solve_class_pairs(given, 1e-18, Stopping())
    assert set(beyond_float64) == {None}
    after_the_limit = solve_class_pairs(given, 1e-3, Stopping(0.0))
    assert set(after_the_limit) == {None}


@pytest.mark.parametrize("class_weight", [None, {c: 0.5 + 0.4 * c for c in range(5)}])
def test_the_model_is_that_of_libsvm(class_weight):
    X, codes = make_classes()
    weight = np.random.default_rng(2).uniform(0.0, 2.0, size=codes.size)
    weight[::7] = 0.0
    settings = {
        "gamma": 0.4, "C": 2.0, "tol": 1e-5, "class_weight": class_weight,
        "decision_function_shape": "ovo",
    }  # fmt: skip
    ours = SVC(**settings).fit(X, codes, weight)
    theirs = sklearn.svm.SVC(**settings).fit(X, codes, weight)
    watched = SVC(**settings, callback=lambda progress: None).fit(X, codes, weight)  # one by one
    for other in (theirs, watched):
        assert_allclose(ours.decision_function(X), other.decision_function(X), atol=1e-3)
        assert_array_equal(ours.support_vectors_, other.support_vectors_)
        assert_array_equal(ours.n_support_, other.n_support_)
    assert ours.fit_status_ == 0
    assert len(ours.certificate_.tasks) == 10
    assert ours.certificate_.relative_gap < 1e-4
