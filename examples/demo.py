"""Train on a bundled data set, print what is proved about the model, and draw it.

python examples/demo.py [--out FILE]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import to_rgba
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

import mercer

COLUMNS = ["worst perimeter", "worst smoothness"]
# Okabe and Ito's colours, told apart by colour-blind readers and in grey.
BLUE, VERMILION, INK = "#0072B2", "#D55E00", "#222222"


def load() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Two standardised measurements of tumours; +1 is benign."""
    data = load_breast_cancer()
    names = list(data.feature_names)
    X = data.data[:, [names.index(name) for name in COLUMNS]]
    y = np.where(data.target == 1, 1, -1)
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, test_size=0.3, stratify=y, random_state=0
    )
    scaler = StandardScaler().fit(X_train)
    return scaler.transform(X_train), scaler.transform(X_test), y_train, y_test


def kkt_groups(model: mercer.SVC, n: int) -> dict[str, np.ndarray]:
    """Rows of the training set by their dual coefficient: zero, free, at the bound."""
    alpha = np.zeros(n)
    alpha[model.support_] = np.abs(model.dual_coef_[0])
    return {
        "α = 0: beyond the margin": alpha == 0,
        "0 < α < C: on the margin": (alpha > 0) & (alpha < model.C),
        "α = C: within the margin or misclassified": alpha >= model.C,
    }


def draw(model: mercer.SVC, X: np.ndarray, y: np.ndarray, path: Path) -> None:
    """Decision function, margins, and the training points by KKT group."""
    fig, ax = plt.subplots(figsize=(7.6, 5.4), layout="constrained")
    low, high = X.min(axis=0) - 0.4, X.max(axis=0) + 0.4
    grid = np.meshgrid(np.linspace(low[0], high[0], 240), np.linspace(low[1], high[1], 240))
    f = model.decision_function(np.column_stack([g.ravel() for g in grid])).reshape(grid[0].shape)
    shades = [
        to_rgba(VERMILION, 0.2),
        to_rgba(VERMILION, 0.08),
        to_rgba(BLUE, 0.08),
        to_rgba(BLUE, 0.2),
    ]
    ax.contourf(*grid, f, levels=[-np.inf, -1, 0, 1, np.inf], colors=shades)
    ax.contour(*grid, f, levels=[0], colors=INK, linewidths=2.0)
    ax.contour(*grid, f, levels=[-1, 1], colors=INK, linewidths=1.1, linestyles="--")
    styles = [
        {"s": 16, "alpha": 0.45, "linewidths": 0},
        {"s": 64, "edgecolors": INK, "linewidths": 1.6},
        {"s": 42, "marker": "X", "edgecolors": "white", "linewidths": 0.7},
    ]
    for (label, rows), style in zip(kkt_groups(model, len(y)).items(), styles, strict=True):
        colours = np.where(y[rows] > 0, BLUE, VERMILION)
        ax.scatter(*X[rows].T, c=colours, label=f"{label} ({rows.sum()})", **style)
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    ax.set_xlabel(f"{COLUMNS[0]} (standardised)")
    ax.set_ylabel(f"{COLUMNS[1]} (standardised)")
    gap = model.certificate_.relative_gap
    ax.set_title(f"Benign (blue) or malignant (orange): certified to a relative gap of {gap:.0e}")
    ax.plot([], [], color=INK, linewidth=2.0, label="f = 0: the boundary")
    ax.plot([], [], color=INK, linewidth=1.1, linestyle="--", label="f = ±1: the margins")
    for handle in ax.legend(framealpha=0.95, fontsize=9).legend_handles[:3]:
        handle.set_facecolor("#777777")
    fig.savefig(path, dpi=110)
    plt.close(fig)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("out/demo.png"), help="the picture")
    path = parser.parse_args().out
    path.parent.mkdir(parents=True, exist_ok=True)

    X_train, X_test, y_train, y_test = load()
    model = mercer.SVC(C=1.0, gamma=0.5).fit(X_train, y_train)
    print(f"{model} on {len(y_train)} rows of the breast cancer data\n")
    print(model.certificate_)
    print(f"\nheld-out accuracy {model.score(X_test, y_test):.3f} on {len(y_test)} rows")
    draw(model, X_train, y_train, path)
    print(f"picture: {path}")


if __name__ == "__main__":
    main()
