"""
Support vector regression
=========================

Errors up to ε have no loss. Rows inside the ε-tube have coefficient 0, those on its boundary
are free support vectors, those outside are at the bound: an outlier has coefficient C at any
distance.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import SVR
from mercer.plots import TubeDisplay

rng = np.random.default_rng(0)
x = np.sort(rng.uniform(-3, 3, 90))[:, None]
y = np.sin(2 * x[:, 0]) + 0.15 * rng.normal(size=90)
y[[20, 60]] += [2.0, -2.2]

fig, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained", sharey=True)
for ax, epsilon in zip(axes, (0.1, 0.4), strict=True):
    model = SVR(gamma=1.0, C=1.0, epsilon=epsilon).fit(x, y)
    TubeDisplay.from_estimator(model, x, y, ax=ax)
    print(f"epsilon {epsilon}: {model.certificate_.n_support} support vectors of {len(y)} rows")
