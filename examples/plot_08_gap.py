"""
Convergence of the gap, for three values of C
=============================================

Primal and dual value during a fit, for three values of C. The optimum lies between the two
curves at every moment: that is the certificate. A large C takes longer.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_moons

from mercer import SVC
from mercer.plots import GapDisplay

X, y = make_moons(1500, noise=0.3, random_state=0)
fig, axes = plt.subplots(1, 3, figsize=(12, 4), layout="constrained")
for ax, C in zip(axes, (0.1, 10, 100), strict=True):
    GapDisplay.from_estimator(SVC(C=C, gamma=1.0, solver="platt"), X[:200], y[:200], ax=ax)
    ax.set_title(f"C = {C}")
