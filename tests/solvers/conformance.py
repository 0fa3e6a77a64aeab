"""What every solver must keep, as a class to inherit from: a new solver costs ten lines of test.

A subclass gives ``solver``, the names of the ``problems`` it takes, and ``exact = False`` if it
only bounds its distance to the optimum. Answers are compared with an interior point method that
shares nothing with them, under kernel matrices written out naively.
"""

from __future__ import annotations

import os
import pickle
import signal
import threading
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer._result import Status
from mercer.certificates._box_qp import certify
from mercer.kernels import RBF, Linear
from mercer.problems import svc
from mercer.solvers import Stopping
from tests.oracles.dense_qp import solve_problem
from tests.oracles.naive_kernels import naive_matrix
from tests.solvers.small import KERNELS, PROBLEMS, make_data, make_gram

X, *DATA = make_data(70)
WITHOUT = ["svc without intercept", "svr without intercept"]
ONE_GROUP = ["svc", "svc weighted", "svr", "svr weighted", "one-class"]
TWO_GROUPS = ["nu-svc", "nu-svc weighted", "nu-svr"]
TOL = 1e-8


@cache
def matrix(kernel):
    return naive_matrix(KERNELS[kernel], X, X)


def value(problem, K, beta):
    coef = problem.at_points(beta, K.shape[0])
    return problem.target @ beta - 0.5 * coef @ K @ coef


@cache
def optimum(problem, kernel):
    made, K = PROBLEMS[problem](*DATA), matrix(kernel)
    return value(made, K, solve_problem(made, K)[0])


class SolverConformance:
    solver: object
    problems: list[str]
    exact = True

    def easy(self):
        """A problem it takes, and its Gram."""
        return PROBLEMS[self.problems[0]](*DATA), make_gram(RBF(gamma=0.4), X)

    def hard(self):
        """One that takes it long: a linear kernel and a large C."""
        with_intercept = self.problems[0] not in WITHOUT
        return svc(DATA[0], 1e6, fit_intercept=with_intercept), make_gram(Linear(), X)

    def check_answer(self, problem, result, gram):
        """For every status: β feasible, f = Kβ, and the gap is a bound."""
        size = np.abs(result.beta).sum() + 1
        assert np.all((result.beta >= problem.lower) & (result.beta <= problem.upper))
        if problem.group is not None:
            sums = np.bincount(problem.group, weights=result.beta)
            assert_allclose(sums, problem.group_sums, atol=1e-12 * size)
        coef = problem.at_points(result.beta, gram.n)
        assert_allclose(result.f, gram.matrix() @ coef, atol=1e-11 * size * gram.diag().max())
        assert certify(problem, result).gap >= 0

    # ------------------------------------------------------------------ answers

    # Solvers see the Gram alone, whose values from CSR rows tests/gram compares with dense ones.
    @pytest.mark.parametrize(
        ("kernel", "kind"), [*((kernel, "dense") for kernel in KERNELS), ("rbf", "csr")]
    )
    def test_the_optimum(self, kernel, kind):
        K, gram = matrix(kernel), make_gram(KERNELS[kernel], X, kind)
        for name in self.problems:
            problem, best = PROBLEMS[name](*DATA), optimum(name, kernel)
            solver = replace(self.solver, tol=TOL) if self.exact else self.solver
            result = solver.solve(problem, gram, Stopping())
            self.check_answer(problem, result, gram)
            certificate = certify(problem, result)
            scale = max(abs(best), 1e-3)
            assert certificate.dual <= best + 1e-9 * scale <= certificate.primal + 2e-9 * scale
            if self.exact:
                assert result.status is Status.SOLVED, name
                assert value(problem, K, result.beta) == pytest.approx(best, rel=1e-6, abs=1e-8)
                assert certificate.primal == pytest.approx(best, rel=1e-6, abs=1e-6)
                assert result.violation <= TOL

    def test_a_start_at_the_answer_takes_no_step(self):
        problem, gram = self.easy()
        first = self.solver.solve(problem, gram, Stopping())
        start = first.beta.copy()
        again = replace(self.solver, tol=2 * self.solver.tol).solve(
            problem, gram, Stopping(), start
        )
        assert again.iterations == 0
        assert_array_equal(start, first.beta)
        assert_array_equal(again.beta, first.beta)

    def test_the_same_answer_twice(self):
        problem, gram = self.easy()
        answers = [self.solver.solve(problem, gram, Stopping()).beta for _ in range(2)]
        assert_array_equal(*answers)

    # ------------------------------------------------------------------ limits

    @pytest.mark.parametrize("max_iter", [0, 1, 3])
    def test_iteration_limit(self, max_iter):
        problem, gram = self.hard()
        result = replace(self.solver, tol=1e-9, max_iter=max_iter).solve(problem, gram, Stopping())
        assert result.status is Status.ITERATION_LIMIT
        assert result.iterations == max_iter
        self.check_answer(problem, result, gram)

    def test_time_limit(self):
        problem, gram = self.hard()
        result = replace(self.solver, tol=1e-30).solve(problem, gram, Stopping(0.0))
        assert result.status is Status.TIME_LIMIT
        self.check_answer(problem, result, gram)

    def test_stopped_by_the_callback(self):
        problem, gram = self.hard()
        told = []
        stopping = Stopping(callback=lambda progress: told.append(progress) or True)
        result = replace(self.solver, tol=1e-30).solve(problem, gram, stopping)
        assert result.status is Status.STOPPED
        assert told
        assert told[0].tol == 1e-30
        self.check_answer(problem, result, gram)

    def test_an_error_of_the_callback_comes_through(self):
        def fail(progress):
            raise RuntimeError("from the callback")

        problem, gram = self.easy()
        with pytest.raises(RuntimeError, match="from the callback"):
            self.solver.solve(problem, gram, Stopping(callback=fail))

    def test_ctrl_c_goes_through_at_the_end(self):
        problem, gram = self.hard()
        answers = []

        def interrupt(progress):
            if not answers:
                answers.append(None)
                os.kill(os.getpid(), signal.SIGINT)

        def interrupted():
            with Stopping(callback=interrupt) as stopping:
                answers.append(replace(self.solver, tol=1e-30).solve(problem, gram, stopping))

        assert threading.current_thread() is threading.main_thread()
        with pytest.raises(KeyboardInterrupt):
            interrupted()
        assert answers[-1].status is Status.STOPPED
        self.check_answer(problem, answers[-1], gram)

    # ------------------------------------------------------------------ refusals and values

    def test_other_problems_are_refused_by_name(self):
        gram = make_gram(RBF(gamma=0.4), X)
        for name in set(PROBLEMS) - set(self.problems):
            problem = PROBLEMS[name](*DATA)
            assert self.solver.refuses(problem, gram)
            with pytest.raises(ValueError, match=f"solver='{self.solver.name}' cannot solve"):
                self.solver.solve(problem, gram, Stopping())
        for name in self.problems:
            assert self.solver.refuses(PROBLEMS[name](*DATA), gram) is None

    def test_what_does_not_fit_is_refused(self):
        if not hasattr(self.solver, "most_bytes"):
            return
        problem, gram = self.easy()
        reason = replace(self.solver, most_bytes=1000).refuses(problem, gram)
        assert "70 points" in reason
        assert "solver='smo'" in reason

    def test_value_semantics(self):
        assert pickle.loads(pickle.dumps(self.solver)) == self.solver
        assert hash(replace(self.solver)) == hash(self.solver)
        with pytest.raises(AttributeError):
            self.solver.tol = 1.0
