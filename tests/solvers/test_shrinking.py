"""Shrinking: whatever the cache, all points that violate are active.

With room for only some of them, the rest would come to violate while these are solved, for ever.
"""

import numpy as np

from mercer._threads import Workers
from mercer.gram import BlockedGram
from mercer.kernels import RBF, Samples
from mercer.problems import svc
from mercer.solvers._stopping import Stopping
from mercer.solvers.smo._decomposition import DecompositionSMO

rng = np.random.default_rng(0)
N = 12_000
X = rng.normal(size=(N, 2))
y = np.where(rng.random(N) < 0.5, 1.0, -1.0)


def test_all_violators_are_active_with_any_cache():
    gram = BlockedGram(RBF(gamma=1.0), Samples(X), Workers(1))
    problem = svc(y, 1.0)
    with Stopping() as stopping:
        run = DecompositionSMO(problem, gram, stopping, 1e-3, np.inf, 1 << 10, problem.start)
        run.active.add_points(np.arange(N), run.beta)
        score = np.where(np.arange(N) % 10 > 0, 1.0, -1.0)
        rows = run.active.activate(None, score, run.beta)
    assert np.isin(np.flatnonzero(score > 0), rows.columns).all()
