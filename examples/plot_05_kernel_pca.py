"""
Removing noise with kernel PCA
==============================

Rows near a curve have few large components in feature space. Keep those, and go back to the
plane: ``pre_image`` finds the point whose image is nearest to the projection.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelPCA
from mercer.plots.style import BLUE, GREY

rng = np.random.default_rng(0)
angle = rng.uniform(0, 2 * np.pi, 400)
radius = 1 + 0.3 * np.cos(3 * angle)
curve = np.c_[radius * np.cos(angle), radius * np.sin(angle)]
X = curve + 0.08 * rng.normal(size=(400, 2))

fig, axes = plt.subplots(1, 3, figsize=(10.5, 3.7), layout="constrained")
for ax, components in zip(axes, (4, 12, 60), strict=True):
    model = KernelPCA(components, kernel="rbf", gamma=3.0).fit(X)
    cleaned = model.pre_image(model.transform(X))
    kept = model.explained_variance_ratio_.sum()
    ax.scatter(*X.T, s=6, color=GREY, alpha=0.4)
    ax.scatter(*cleaned.T, s=6, color=BLUE)
    ax.set(title=f"{components} components, {kept:.0%} of the variance", aspect="equal")
    error = np.linalg.norm(cleaned - curve, axis=1).mean()
    print(f"{components:3d} components: mean distance from the curve {error:.3f}")
