"""
The regularisation path of a linear SVM
=======================================

From a C near zero to one so large that the margin is hard. Each model is warm-started from the
last one.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import scale

import mercer
from mercer.plots.style import BLUE, VERMILION

data = load_breast_cancer()
X, y = scale(data.data), data.target
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
path = mercer.path(X_train, y_train, Cs=np.logspace(-4, 3, 22))

fig, axes = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained")
weights = np.array([model.coef_[0] for model in path.models])
axes[0].semilogx(path.Cs, weights, color=BLUE, linewidth=0.8, alpha=0.7)
axes[0].set(title="weights", xlabel="C")
axes[1].semilogx(path.Cs, path.support, color=BLUE)
axes[1].set(title="support vectors", xlabel="C", ylim=(0, None))
for rows, labels, colour, dash, name in (
    (X_train, y_train, VERMILION, "--", "training"),
    (X_test, y_test, BLUE, "-", "held out"),
):
    scores = [model.score(rows, labels) for model in path.models]
    axes[2].semilogx(path.Cs, scores, color=colour, linestyle=dash, label=name)
axes[2].set(title="accuracy", xlabel="C")
axes[2].legend()

# %%
# Every model of the path has its own proof.

worst = max(certificate.relative_gap for certificate in path.certificates)
print(f"largest relative gap on the path: {worst:.1e}")
