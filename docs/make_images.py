"""Draw the pictures of docs/reference/plots.md: python docs/make_images.py [FOLDER]."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_iris,
    make_blobs,
    make_circles,
    make_moons,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mercer
from mercer.plots import (
    KernelMatrixDisplay,
    LossDisplay,
    SpectrumDisplay,
    draw,
    write_figure,
)

DPI = 88
PICTURES: dict[str, Callable] = {}


def picture(function: Callable) -> Callable:
    PICTURES[function.__name__.replace("_", "-")] = function
    return function


def moons(n: int = 160, noise: float = 0.22) -> tuple[np.ndarray, np.ndarray]:
    return make_moons(n, noise=noise, random_state=0)


def outlier() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    left, right = (rng.normal([x, 0], 0.5, (25, 2)) for x in (-2, 2))
    X = np.vstack([left, right, [[0.9, 0.4]]])
    return X, np.repeat(["left", "right", "left"], [25, 25, 1])


def sine() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = np.sort(rng.uniform(0, 6, (110, 1)), axis=0)
    return X, np.sin(X[:, 0]) + 0.18 * rng.normal(size=110)


def tanh(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    return np.tanh(A @ B.T)


@picture
def boundary_blobs():
    X, y = make_blobs(140, centers=[[0, 0], [2.4, 1.5]], cluster_std=1.1, random_state=1)
    y = np.where(y == 1, "spam", "ham")
    return draw("boundary", mercer.SVC(kernel="linear").fit(X, y), X, y)


@picture
def boundary_moons():
    X, y = moons()
    return draw("boundary", mercer.SVC(gamma=2.0).fit(X, y), X, y)


@picture
def boundary_xor():
    X = np.random.default_rng(0).normal(size=(150, 2))
    y = np.where(X[:, 0] * X[:, 1] > 0, "same sign", "other sign")
    return draw("boundary", mercer.SVC(C=10.0, gamma=1.0).fit(X, y), X, y)


@picture
def boundary_rings():
    X, y = make_circles(150, noise=0.1, factor=0.5, random_state=0)
    return draw("boundary", mercer.SVC(kernel="poly", degree=2, coef0=1.0).fit(X, y), X, y)


@picture
def boundary_outlier_soft():
    X, y = outlier()
    return draw("boundary", mercer.SVC(kernel="linear", C=0.05).fit(X, y), X, y)


@picture
def boundary_outlier_hard():
    X, y = outlier()
    return draw("boundary", mercer.SVC(kernel="linear", C=np.inf).fit(X, y), X, y)


@picture
def bias_interval():
    X = np.array([[-1.5, 1.0], [0.0, 1.4], [1.5, 1.0], [-1.5, -1.0], [0.0, -1.4], [1.5, -1.0]])
    y = np.repeat(["above", "below"], 3)
    return draw("boundary", mercer.SVC(kernel="linear", C=0.08).fit(X, y), X, y)


@picture
def boundary_iris():
    data = load_iris(as_frame=True)
    y = data.target_names[data.target]
    model = mercer.SVC().fit(data.data, y)
    columns = ["petal length (cm)", "petal width (cm)"]
    return draw("boundary", model, data.data, y, features=columns)


@picture
def boundary_cancer():
    data = load_breast_cancer()
    y = data.target_names[data.target]
    model = make_pipeline(StandardScaler(), mercer.SVC()).fit(data.data, y)
    return draw("boundary", model, data.data, y)


@picture
def boundary_one_class():
    X, _ = make_blobs(140, centers=2, cluster_std=0.7, random_state=3)
    return draw("boundary", mercer.OneClassSVM(nu=0.1, gamma=0.3).fit(X), X)


@picture
def probabilities():
    X, y = moons()
    model = mercer.KernelLogisticRegression(C=10.0).fit(X, y)
    return draw("boundary", model, X, y, probabilities=True)


@picture
def tube():
    X, y = sine()
    return draw("tube", mercer.SVR(epsilon=0.2).fit(X, y), X, y)


@picture
def tube_diabetes():
    data = load_diabetes(as_frame=True, scaled=False)
    target = data.target.rename("progression in a year")
    linear = mercer.LinearSVR(epsilon=40.0, intercept_scaling=None)  # the targets are far from 0
    model = make_pipeline(StandardScaler(), linear).fit(data.data, target)
    return draw("tube", model, data.data, target, feature="bmi")


@picture
def kkt():
    X, y = moons(noise=0.28)
    return draw("kkt", mercer.SVC().fit(X, y), X, y)


@picture
def kkt_tube():
    X, y = sine()
    return draw("kkt", mercer.SVR(epsilon=0.2).fit(X, y), X, y)


@picture
def gap():
    X, y = moons(400, 0.3)
    return draw("gap", mercer.SVC(C=100.0, tol=1e-5), X, y)


@picture
def gap_digits():
    data = load_digits()
    return draw("gap", mercer.SVC(C=10.0), data.data, data.target)


@picture
def boundary_ten():
    X, y = make_blobs(300, centers=10, cluster_std=1.1, random_state=3)
    return draw("boundary", mercer.SVC().fit(X, y), X, y)


@picture
def kernel_matrix():
    data = load_iris()
    y = data.target_names[data.target]
    return draw("kernel", mercer.SVC(gamma=0.5).fit(data.data, y), data.data, y)


@picture
def kernel_matrix_linear():
    data = load_iris()
    centred = data.data - data.data.mean(axis=0)
    return KernelMatrixDisplay.from_kernel("linear", centred, data.target_names[data.target])


@picture
def spectrum():
    data = load_iris()
    return draw("spectrum", mercer.SVC(gamma=0.5).fit(data.data, data.target), data.data)


@picture
def spectrum_tanh():
    return SpectrumDisplay.from_kernel(tanh, moons(120)[0])


@picture
def losses():
    return LossDisplay.from_names()


@picture
def loss_of_a_machine():
    X, y = moons(noise=0.28)
    return draw("loss", mercer.SVC().fit(X, y), X, y)


@picture
def weights():
    data = load_breast_cancer(as_frame=True)
    model = make_pipeline(StandardScaler(), mercer.LinearSVC(C=0.1))
    return draw("weights", model.fit(data.data, data.target), data.data, top=14)


@picture
def path():
    data = load_breast_cancer(as_frame=True)
    model = make_pipeline(StandardScaler(), mercer.LinearSVC(loss="hinge"))
    return draw("path", model.fit(data.data, data.target), data.data, data.target)


@picture
def landscape():
    X, y = moons(400, 0.3)
    return draw("landscape", mercer.SVCCV().fit(X, y), None)


@picture
def validation():
    X, y = moons(400, 0.3)
    search = mercer.SVCCV(Cs=[10.0], gammas=np.logspace(-2, 3, 16), return_train_score=True)
    return draw("validation", search.fit(X, y), None, param="gamma")


@picture
def learning():
    X, y = moons(600, 0.3)
    return draw("learning", mercer.SVC(C=10.0, gamma=2.0).fit(X, y), X, y)


@picture
def support():
    X, y = moons(400, 0.3)
    return draw("support", mercer.SVC(C=10.0, gamma=2.0).fit(X, y), X, y)


@picture
def reliability():
    X, y = moons(3000, 0.4)
    model = mercer.SVC(gamma=1.0, probability="platt", random_state=0).fit(X[::6], y[::6])
    held_out = np.arange(len(y)) % 6 > 0
    return draw("reliability", model, X[held_out], y[held_out])


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "images" / "plots"
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in PICTURES.items():
        write_figure(make(), folder / f"{name}.png", dpi=DPI)


if __name__ == "__main__":
    main()
