"""Two classes of many: rows put together from blocks that pairs share, f summed in float64."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer import SVC, verify
from mercer._threads import Workers
from mercer.gram import BlockedGram
from mercer.kernels import RBF, Polynomial
from mercer.kernels._samples import Samples
from mercer.problems import svc
from mercer.solvers import Stopping
from mercer.solvers.smo._class_pair import ClassPairSMO
from mercer.solvers.smo._dense import DenseSMO
from tests.solvers.small import make_data


def pair(kernel, n=210):
    """A Gram of two classes in two parts, the same in one, and the labels."""
    X, y, _, _ = make_data(n)
    order = np.argsort(-y, kind="stable")
    gram, n_first = BlockedGram(kernel, Samples(X), Workers(1)), int((y > 0).sum())
    parts = [("first", n_first), ("second", n - n_first)]
    return gram.take(order, parts=parts), gram.take(order), y[order]


def run(kind, problem, gram, tol=1e-3, max_steps=np.inf):
    smo = kind(problem, gram, Stopping(), tol, max_steps, problem.start)
    return smo, smo.run()


@pytest.mark.parametrize("kernel", [RBF(gamma=0.4), Polynomial(degree=2, gamma=0.3, coef0=1.0)])
@pytest.mark.parametrize("tol", [1e-3, 1e-7])
def test_the_same_optimum_as_on_the_whole_matrix(kernel, tol):
    shared, plain, y = pair(kernel)
    problem, K = svc(y, 1.5), plain.matrix()
    (one, status), (other, _) = (
        run(kind, problem, gram, tol) for kind, gram in ((ClassPairSMO, shared), (DenseSMO, plain))
    )
    assert status.is_solved
    duals = [y @ s.beta - 0.5 * s.beta @ K @ s.beta for s in (one, other)]
    assert duals[0] == pytest.approx(duals[1], rel=tol)
    f, support = K @ one.beta, one.beta != 0
    assert (np.abs(one.f - f) <= one.f_error + 1e-13 * np.abs(one.beta).sum()).all()
    assert_allclose(one.f[support], f[support], atol=1e-10 * np.abs(one.beta).sum())
    v = y - f
    rises, falls = one.beta < problem.upper, one.beta > problem.lower
    assert v[rises].max() - v[falls].min() <= 1.05 * tol


def test_only_rows_of_points_that_moved_are_put_together():
    shared, _, y = pair(RBF(gamma=0.4))
    smo, _ = run(ClassPairSMO, svc(y, 1.5), shared)
    assert set(np.flatnonzero(smo.beta)) <= set(np.flatnonzero(smo.is_filled))
    few, _ = run(ClassPairSMO, svc(y, 1.5), shared, max_steps=3)
    assert 2 <= np.count_nonzero(few.is_filled) <= 6


def test_many_classes_share_and_verify():
    """Enough points for the way through class pairs; the certificate holds, threads change none."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(5), 240)
    X = rng.normal(size=(y.size, 8)) + 1.2 * np.eye(8)[y]
    models = [SVC(C=2.0, gamma=0.1, n_jobs=jobs).fit(X, y) for jobs in (1, 2)]
    assert_array_equal(models[0].dual_coef_, models[1].dual_coef_)
    stated, found = models[0].certificate_, verify(models[0], X, y)
    assert found.kkt_violation <= 1.05e-3
    assert found.gap_low <= stated.gap <= 2 * found.gap + 1e-9 * stated.primal
