"""Train on a bundled data set, print what is proved about the model, and draw it.

python examples/demo.py [--out FILE]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

import mercer
from mercer.plots import draw, write_figure

COLUMNS = ["worst perimeter", "worst smoothness"]


def load() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Two standardised measurements of tumours, and whether they are malignant."""
    data = load_breast_cancer()
    names = list(data.feature_names)
    X = data.data[:, [names.index(name) for name in COLUMNS]]
    y = data.target_names[data.target]
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, test_size=0.3, stratify=y, random_state=0
    )
    scaler = StandardScaler().fit(X_train)
    return scaler.transform(X_train), scaler.transform(X_test), y_train, y_test


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
    gap = model.certificate_.relative_gap
    title = f"Malignant or benign, certified to a relative gap of {gap:.0e}"
    display = draw("boundary", model, X_train, y_train, title=title)
    x, y = (f"{name} (standardised)" for name in COLUMNS)
    display.ax_.set(xlabel=x, ylabel=y)
    write_figure(display, path, dpi=110)
    print(f"picture: {path}")


if __name__ == "__main__":
    main()
