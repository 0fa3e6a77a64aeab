"""Threads change no bit of a model, fits may overlap, and BLAS gets its threads back."""

import os
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from sklearn.datasets import make_classification
from threadpoolctl import ThreadpoolController, threadpool_limits

from mercer import SVC, SVR, NotSeparableError
from mercer import _threads as threads
from mercer._threads import Workers, single_threaded_blas, thread_count
from mercer.estimators.svm._solve import FitSettings
from mercer.solvers import SMO
from tests.solvers.small import make_data, small

X, y, t, _ = make_data(700)
CLASSES = np.random.default_rng(0).integers(0, 4, 700)


def blas_threads():
    return [
        lib["num_threads"] for lib in ThreadpoolController().info() if lib["user_api"] == "blas"
    ]


def assert_same_model(one, other):
    assert_array_equal(one.support_, other.support_)
    assert_array_equal(one.intercept_, other.intercept_)
    left, right = one.dual_coef_, other.dual_coef_
    if sp.issparse(left):
        left, right = left.toarray(), right.toarray()
    assert_array_equal(left, right)
    assert one.certificate_.gap == other.certificate_.gap
    assert one.certificate_.iterations == other.certificate_.iterations


def smo(**given):
    """Small working sets, so that some hundred points go through every stage."""
    return {"solver": SMO(settings=small(), **given)}


def fitted(model, rows, targets):
    """Fitted with threads, however small the problem is."""
    model._fit_settings = FitSettings(threads_from=0)
    return model.fit(rows, targets)


def case(estimator, rows, targets, cache=None, **given):
    """A fit as a function of the number of threads and of settings of the solver."""
    cache = {} if cache is None else {"cache_bytes": cache}
    return lambda n_jobs, **how: fitted(
        estimator(n_jobs=n_jobs, **given, **smo(**cache, **how)), rows, targets
    )


CASES = {
    "binary": case(SVC, X, y, C=10),
    "sparse": case(SVC, sp.csr_matrix(X), y, C=10),
    "regression": case(SVR, X, t, C=3),
    "four classes": case(SVC, X, CLASSES, C=2),
    "tiny cache": case(SVC, X, y, cache=50_000, C=10),
    "four classes, tiny cache": case(SVC, X, CLASSES, cache=50_000, C=2, cache_size=0.05),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("shrinking", [True, False])
def test_the_same_bits_with_any_number_of_threads(name, shrinking):
    one, *others = (CASES[name](n_jobs, shrinking=shrinking) for n_jobs in (1, 2, 3))
    for other in others:
        assert_same_model(one, other)


def test_the_same_bits_at_full_size():
    rows, labels = make_classification(6000, 10, random_state=0)
    one, two = (SVC(C=5.0, n_jobs=n_jobs).fit(rows, labels) for n_jobs in (1, 2))
    assert_same_model(one, two)


@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_results_come_in_order_and_errors_go_through(n_threads):
    """Each item is worked on once; after an error nothing more is begun, and the pool goes on."""
    begun = []

    def square(i):
        begun.append(i)
        if i == 3:
            raise KeyError(i)
        return i * i

    with Workers(n_threads) as workers:
        assert workers.map(square, iter([0, 1, 2, 4])) == [0, 1, 4, 16]
        assert sorted(begun) == [0, 1, 2, 4]
        begun.clear()
        with pytest.raises(KeyError):
            workers.map(square, range(10_000))
        assert len(begun) < 10_000
        assert workers.map(square, []) == []
        assert workers.map(square, [5]) == [25]


def test_threads_are_used():
    """The caller and another thread are seen in the kernel, and with n_jobs=1 the caller alone."""

    def names(n_jobs):
        seen, barrier = set(), threading.Event()

        def kernel(A, B):
            seen.add(threading.current_thread().name)
            barrier.wait(0.001)
            return A @ B.T

        fitted(SVC(kernel=kernel, n_jobs=n_jobs, **smo()), X[:300], y[:300])
        return seen

    caller = threading.current_thread().name
    assert caller in names(2)
    assert len(names(2)) == 2
    assert names(1) == {caller}


def test_fits_in_two_python_threads_at_once_are_those_alone():
    jobs = [*CASES.values()] * 2
    alone = [job(2) for job in jobs]
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        with ThreadPoolExecutor(2) as pool:
            together = list(pool.map(lambda job: job(2), jobs))
        assert blas_threads() == before
    for one, other in zip(alone, together, strict=True):
        assert_same_model(one, other)


def test_blas_gets_its_threads_back_after_overlapping_holders():
    """For any order of release: 1 inside, the former value outside."""
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        first, second = single_threaded_blas(), single_threaded_blas()
        first.__enter__()
        second.__enter__()
        assert set(blas_threads()) == {1}
        first.__exit__(None, None, None)
        assert set(blas_threads()) == {1}
        second.__exit__(None, None, None)
        assert blas_threads() == before


def test_blas_gets_its_threads_back_after_errors():
    def fails(A, B):
        raise RuntimeError("from the kernel")

    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        with pytest.raises(RuntimeError, match="from the kernel"):
            SVC(kernel=fails, n_jobs=2).fit(X, y)
        with pytest.raises(NotSeparableError):
            SVC(kernel="linear", C=np.inf).fit(X, y)
        assert blas_threads() == before
        assert threads._holders == 0


def test_how_many_threads_n_jobs_asks_for():
    cores = os.cpu_count()
    assert thread_count(3) == 3
    assert thread_count(-1) == cores
    assert thread_count(-10_000) == 1
    with pytest.raises(ValueError, match=r"n_jobs.*got 0"):
        thread_count(0)
    with threadpool_limits(2, user_api="blas"):
        asked = max(blas_threads())
        assert thread_count(None) == asked
        with single_threaded_blas():  # what BLAS would use, were it not held
            assert thread_count(None) == asked


def test_workers_keep_the_order_and_raise_what_was_raised():
    def square(i):
        if i == 13:
            raise ValueError("unlucky")
        return i * i

    for n_threads in (1, 3):
        with Workers(n_threads) as workers:
            assert workers.map(square, range(10)) == [i * i for i in range(10)]
            assert workers.map(square, []) == []
            with pytest.raises(ValueError, match="unlucky"):
                workers.map(square, range(20))
        assert workers._pool is None
