"""
A proof that no hard margin exists
==================================

``C=inf`` asks for a line without errors. If there is none, the error contains weights: a convex
combination of each class, and both give the same point. No line can have that point on both of
its sides.
"""

import textwrap

import matplotlib.pyplot as plt
import numpy as np
from scipy.spatial import ConvexHull

from mercer import SVC, NotSeparableError
from mercer.plots.style import BLUE, INK, VERMILION

rng = np.random.default_rng(5)
y = np.repeat([1, -1], 12)
X = rng.normal(size=(24, 2)) + 0.8 * y[:, None]

try:
    SVC(kernel="linear", C=np.inf).fit(X, y)
except NotSeparableError as error:
    weights = error.weights
    print(*textwrap.wrap(str(error), 90), sep="\n")

# %%
# The point in both hulls, and the few rows that prove it.

fig, ax = plt.subplots(figsize=(6.4, 4.8), layout="constrained")
for label, colour, marker in ((1, BLUE, "s"), (-1, VERMILION, "o")):
    rows = X[y == label]
    corners = rows[ConvexHull(rows).vertices]
    ax.fill(*corners.T, color=colour, alpha=0.12)
    ax.scatter(*rows.T, color=colour, marker=marker, s=28)
used = np.abs(weights) > 1e-6
meeting = weights[y > 0] @ X[y > 0]
ax.scatter(*X[used].T, s=150, facecolors="none", edgecolors=INK, linewidths=1.4)
for row in X[used]:
    ax.plot(*np.array([row, meeting]).T, color=INK, linewidth=0.8, linestyle=":")
ax.scatter(*meeting, marker="X", s=130, color=INK, zorder=4)
ax.set(title=f"{used.sum()} rows suffice: the cross is in both hulls", aspect="equal")
print(np.abs(weights @ X).max())  # the two combinations differ by rounding
