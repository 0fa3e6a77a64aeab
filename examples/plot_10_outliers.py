"""
Outliers
========

A one-class SVM finds a region around the data. ν bounds the fraction of rows that it leaves
out.
"""

import numpy as np

from mercer import OneClassSVM
from mercer.plots import BoundaryDisplay

rng = np.random.default_rng(0)
X = np.r_[
    rng.normal([0, 0], [1.2, 0.4], size=(150, 2)),
    rng.normal([3, 2], 0.5, size=(100, 2)),
    rng.uniform(-4, 6, size=(12, 2)),
]
model = OneClassSVM(nu=0.1, gamma=0.4).fit(X)
BoundaryDisplay.from_estimator(model, X)
print(f"outside: {np.mean(model.predict(X) == -1):.3f}, allowed: {model.nu}")
