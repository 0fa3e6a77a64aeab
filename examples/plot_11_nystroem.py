"""
Nyström features and their landmarks
====================================

Nyström features replace the kernel matrix by a few columns of it. Which rows are the landmarks
matters where the matrix is close to low rank: rows drawn in proportion to the residual
leave less.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer.embeddings import Nystroem
from mercer.kernels import RBF
from mercer.plots.style import BLUE, VERMILION

rng = np.random.default_rng(1)
X = rng.normal(size=(1500, 3))
X[:1350] *= 0.1

counts = [5, 10, 20, 40, 80, 160]
fig, ax = plt.subplots(figsize=(7, 3.8), layout="constrained")
for how, colour, dash in (("random", VERMILION, "--"), ("rpcholesky", BLUE, "-")):
    left = [
        Nystroem(m, kernel=RBF(0.5), landmarks=how, random_state=0).fit(X).trace_residual_ / len(X)
        for m in counts
    ]
    ax.loglog(counts, left, color=colour, linestyle=dash, marker="o", label=how)
    print(how, [f"{part:.1e}" for part in left])
ax.set(xlabel="landmarks", ylabel="fraction of the trace not explained")
ax.legend()
