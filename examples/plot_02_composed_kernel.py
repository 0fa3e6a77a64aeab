"""
A sum of two kernels
====================

The data have a linear trend and an oscillation. A linear kernel fits the trend, a Gaussian one
fits the oscillation where there are data and is zero far from them. Their sum does both:
outside the data it follows the trend.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelRidge
from mercer.kernels import RBF, Linear
from mercer.plots.style import BLUE, GREEN, GREY, VERMILION

rng = np.random.default_rng(0)
x = rng.uniform(-4, 4, (120, 1))
y = 0.6 * x[:, 0] + np.sin(3 * x[:, 0]) + 0.2 * rng.normal(size=120)
line = np.linspace(-7, 7, 500)[:, None]

kernels = {
    "linear": (Linear() + 1, GREEN, ":"),
    "Gaussian": (RBF(gamma=2.0), VERMILION, "--"),
    "Gaussian + linear": (RBF(gamma=2.0) + 0.5 * Linear() + 1, BLUE, "-"),
}
fig, ax = plt.subplots(figsize=(8, 4), layout="constrained")
ax.scatter(x, y, s=12, color=GREY, alpha=0.6)
for name, (kernel, colour, dash) in kernels.items():
    model = KernelRidge(kernel=kernel, alpha="loo").fit(x, y)
    ax.plot(line, model.predict(line), color=colour, linestyle=dash, label=name)
ax.axvspan(-4, 4, color="#F3F3F3", zorder=0)
ax.set(ylim=(-6, 6), xlabel="x", title="grey: where there are data")
ax.legend()

# %%
# Kernels are values: they print, compare and take part in searches.

kernel = RBF(gamma=2.0) + 0.5 * Linear()
print(kernel, kernel == RBF(gamma=2.0) + 0.5 * Linear(), sorted(kernel.get_params()))
