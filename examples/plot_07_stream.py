"""
Learning from a stream
======================

Rows come in batches and are forgotten. Every tenth is never learned from but scored first: a
running estimate of how well the model does on rows it has not seen. One more pass gives a
certificate.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import PegasosClassifier
from mercer.plots.style import BLUE, GREY


def batches():
    """The same stream again for every pass: 60 batches of 500 rows."""
    rng = np.random.default_rng(0)
    direction = np.array([1.0, -2.0, 0.5, 0.0, 1.5])
    for _ in range(60):
        X = rng.normal(size=(500, 5))
        yield X, X @ direction + rng.normal(size=500) > 0


seen = []
model = PegasosClassifier(lam=1e-3, random_state=0)
model.fit_stream(batches, passes=2, holdout=10, callback=lambda told: seen.append(told.score))

fig, ax = plt.subplots(figsize=(8, 3.4), layout="constrained")
ax.plot(np.arange(1, len(seen) + 1) * 500, seen, color=BLUE)
ax.axvline(30_000, color=GREY, linewidth=1, linestyle=":")
ax.set(xlabel="rows met (dotted: second pass)", ylabel="accuracy on rows held out")

# %%
# The certificate: the objective is within this fraction of the optimum, for any order of the rows.

print(f"relative gap {model.certify(batches).relative_gap:.3f}")
