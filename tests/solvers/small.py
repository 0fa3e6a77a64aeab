"""Small settings: a few hundred points go through every stage of the decomposition."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from mercer.gram import BlockedGram, MachineModel
from mercer.kernels import RBF, Linear, Polynomial
from mercer.kernels._samples import Samples
from mercer.problems import nu_svc, nu_svr, one_class, svc, svr
from mercer.solvers import SMO, Stopping
from mercer.solvers.smo import SMOSettings

__all__ = ["KERNELS", "PROBLEMS", "SOLVERS", "make_data", "make_gram", "small", "solve"]

# The variables up to which `DenseSMO` is used, the budget of the row cache in bytes, and the
# multiplications from which on a kernel value is costly, so that all columns stay active.
SOLVERS = {
    "dense": {"dense": 10**9},
    "decomposition": {},
    "decomposition, tiny budget": {"cache_bytes": 4 * 300 * 20},
    "decomposition, all columns active": {"costly": 0},
}
KERNELS = {
    "rbf": RBF(gamma=0.4),
    "linear": Linear(),
    "polynomial": Polynomial(degree=2, gamma=0.3, coef0=1.0),
    "sum": RBF(gamma=0.4) + 0.3 * Linear(),
}
PROBLEMS = {
    "svc": lambda y, t, w: svc(y, 1.5),
    "svc weighted": lambda y, t, w: svc(y, 1.5 * w),
    "svc without intercept": lambda y, t, w: svc(y, 1.5, fit_intercept=False),
    "svr": lambda y, t, w: svr(t, 2.0, 0.1),
    "svr weighted": lambda y, t, w: svr(t, 2.0 * w, 0.1),
    "svr without intercept": lambda y, t, w: svr(t, 2.0, 0.1, fit_intercept=False),
    "nu-svc": lambda y, t, w: nu_svc(y, 0.4),
    "nu-svc weighted": lambda y, t, w: nu_svc(y, 0.4, w),
    "nu-svr": lambda y, t, w: nu_svr(t, 2.0 * w, 0.4),
    "one-class": lambda y, t, w: one_class(0.3, w),
}


def small(*, dense=0, first_sample=40, working_set=64, **others):
    """Settings of a small decomposition; up to ``dense`` variables the matrix is held whole."""
    sizes = {"first_sample": first_sample, "working_set_size": working_set}
    return SMOSettings(dense_variables=dense, **sizes, **others)


def make_data(n=300, seed=0):
    """Rows, overlapping labels ±1, regression targets, weights."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = np.where(X[:, 0] * X[:, 1] + 0.5 * X[:, 2] + 0.6 * rng.normal(size=n) > 0, 1.0, -1.0)
    t = np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + 0.3 * rng.normal(size=n)
    return X, y, t, rng.uniform(0.3, 2.0, n)


def make_gram(kernel, X, kind="dense", workers=None, costly=10**9):
    """A Gram of small tiles: 96 rows and 48 columns."""
    machine = MachineModel(l2_bytes=8 * 48**2, fewest_cached_rows=8, costly_entry=costly)
    samples = Samples(sp.csr_matrix(X) if kind == "csr" else X)
    return BlockedGram(kernel, samples, workers, machine=machine)


def solve(
    problem,
    gram,
    *,
    tol=1e-3,
    cache_bytes=1 << 20,
    stopping=None,
    start=None,
    max_iter=-1,
    settings=None,
):
    solver = SMO(tol, max_iter, cache_bytes, settings=settings or SMOSettings())
    return solver.solve(problem, gram, stopping or Stopping(), start)
