"""Constants made small: a few hundred points go through every stage of the nested solver."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from mercer._threads import Workers
from mercer.gram import BlockedGram
from mercer.gram import _blocked as gram
from mercer.gram import _row_cache as store
from mercer.kernels import RBF, Linear, Polynomial
from mercer.kernels._samples import Samples
from mercer.problems import nu_svc, nu_svr, one_class, svc, svr
from mercer.solvers import SMO, Stopping
from mercer.solvers.smo import _decomposition as nested
from mercer.solvers.smo import _shrinking as in_play
from mercer.solvers.smo import _solver as smo

__all__ = ["KERNELS", "PROBLEMS", "SOLVERS", "make_data", "make_gram", "shrink", "solve"]

# What a solver is made of: where the direct one ends, the store's budget in bytes, and from how
# many multiplications on all columns stay in play.
SOLVERS = {
    "direct": {"direct": 10**9},
    "nested": {},
    "nested, tiny budget": {"cache_bytes": 4 * 300 * 20},
    "nested, all columns in play": {"costly": 0},
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


def shrink(monkeypatch, *, direct=0, costly=10**9, first_sample=40, working_set=64):
    """Make the nested solver small; up to ``direct`` variables there is no need of it."""
    monkeypatch.setattr(smo, "DIRECT_VARIABLES", direct)
    monkeypatch.setattr(nested, "FIRST_SAMPLE", first_sample)
    monkeypatch.setattr(nested, "WORKING_SET", working_set)
    monkeypatch.setattr(in_play, "COSTLY", costly)
    monkeypatch.setattr(store, "COSTLY", costly)
    monkeypatch.setattr(store, "CHUNK", 64)
    monkeypatch.setattr(store, "FEWEST_ROWS", 8)
    monkeypatch.setattr(gram, "TILE_ROWS", 32)
    monkeypatch.setattr(gram, "TILE_COLUMNS", 48)


def make_data(n=300, seed=0):
    """Rows, overlapping labels ±1, regression targets, weights."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = np.where(X[:, 0] * X[:, 1] + 0.5 * X[:, 2] + 0.6 * rng.normal(size=n) > 0, 1.0, -1.0)
    t = np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + 0.3 * rng.normal(size=n)
    return X, y, t, rng.uniform(0.3, 2.0, n)


def make_gram(kernel, X, kind="dense", workers=None):
    return BlockedGram(kernel, Samples(sp.csr_matrix(X) if kind == "csr" else X), workers or Workers(1))


def solve(problem, gram, *, tol=1e-3, cache_bytes=1 << 20, stopping=None, start=None, max_iter=-1):
    solver = SMO(tol=tol, max_iter=max_iter, cache_bytes=cache_bytes)
    return solver.solve(problem, gram, stopping or Stopping(), start)
