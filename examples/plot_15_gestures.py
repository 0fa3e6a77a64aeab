"""
Gestures of different speed
===========================

A gesture is a series of accelerations; two people make it at different speeds, and the series have
different lengths. The global alignment kernel sums over all ways to align two of them. The data
are gestures recorded by a game controller (PickupGestureWiimoteZ of the UCR archive), from the
folder MERCER_DATA; without it, made-up ones.
"""

import os
from pathlib import Path

import numpy as np

from mercer import SVC, SVCCV, check_kernel
from mercer.kernels import DTW, GlobalAlignment
from mercer.plots import style


def gestures() -> tuple[list, np.ndarray, list, np.ndarray]:
    """Series and classes of a training part, and of a test part."""
    file = Path(os.environ.get("MERCER_DATA", "")) / "series_PickupGestureWiimoteZ.npz"
    if file.is_file():
        with np.load(file) as parts:
            cut = [
                np.split(parts[f"{part}series_values"], parts[f"{part}series_offsets"][1:-1])
                for part in ("", "test_")
            ]
            return cut[0], parts["y"], cut[1], parts["y_test"]
    rng = np.random.default_rng(0)
    y = np.arange(80) % 4
    series = []
    for kind in y:
        t = np.linspace(0, 1, int(rng.integers(30, 90))) ** rng.uniform(0.7, 1.4)
        wave = np.sin(2 * np.pi * (1 + kind) * t) * (1 - t)
        series.append(wave + 0.2 * rng.normal(size=t.size))
    return series[:40], y[:40], series[40:], y[40:]


X, y, X_test, y_test = gestures()
print(f"{len(X)} gestures of {min(map(len, X))} to {max(map(len, X))} steps")

# %%
# The width σ of the kernel of two steps matters most. Its default comes from the data; a search
# tries multiples of it.

sigma = GlobalAlignment().resolved(X).sigma
kernels = [GlobalAlignment(sigma * factor) for factor in (0.05, 0.1, 0.2, 0.5, 1, 2)]
search = SVCCV(kernel=kernels, Cs=[1, 10, 100, 1000], cv=5).fit(X, y)
print(search.best_params_)
print(f"test error: {1 - search.score(X_test, y_test):.3f}")

# %%
# The best alignment alone, as in dynamic time warping, gives no positive semidefinite kernel; the
# sum over all alignments does.

print(check_kernel(DTW().resolved(X), X))
print(check_kernel(search.best_params_["kernel"], X))
model = SVC(kernel=DTW(), C=100).fit(X, y)
print(f"test error with DTW: {1 - model.score(X_test, y_test):.3f}")

# %%
# Two gestures of one class, and one of another.

same = np.flatnonzero(y == y[0])[:2]
other = np.flatnonzero(y != y[0])[:1]
with style.context():
    figure, axes = style.pyplot().subplots(layout="constrained")
    for i in (*same, *other):
        value = search.best_params_["kernel"]([X[same[0]]], [X[i]])[0, 0]
        axes.plot(X[i], label=f"class {y[i]}, k = {value:.2g}")
    axes.set_xlabel("step")
    axes.set_ylabel("acceleration")
    axes.legend()
