"""Models of every kind that can be exported, with rows they were not fitted to."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

import mercer
from mercer.kernels import RBF, AllSubsets, Chi2, Cosine, Laplacian, Linear, Polynomial, Sigmoid
from mercer.kernels._composite import Constant
from mercer.persistence import read_liblinear, read_libsvm


@dataclass
class Exported:
    """A fitted model, and rows for it."""

    model: Any
    rows: np.ndarray


def _halves(X, y):
    order = np.random.default_rng(0).permutation(len(X))
    return X[order[::2]], y[order[::2]], X[order[1::2]]


def _fitted(model, X, y, rows=None):
    X, y, other = _halves(X, y)
    return Exported(model.fit(X, y), other if rows is None else rows)


def _iris(names=None):
    X, y = load_iris(return_X_y=True)
    return X, y if names is None else np.array(names)[y]


def _digits(n=400):
    X, y = load_digits(return_X_y=True)
    return X[:n], y[:n]


KERNELS = {
    "rbf": RBF(0.2),
    "polynomial": Polynomial(3, 0.1, 1.0),
    "laplacian": Laplacian(0.3),
    "chi2": Chi2(0.5),
    "cosine": Cosine(),
    "all subsets": AllSubsets(),
    "composed": 2 * RBF(0.1) * Polynomial(2, 0.1, 1.0) + 0.5 * Linear() ** 2 + 1,
}


def _sigmoid():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it is no kernel, as it says
        return _fitted(mercer.SVC(kernel=Sigmoid(0.01, -0.1)), *_iris())


CASES = {
    "SVC sigmoid": _sigmoid,
    **{
        f"SVC {name}": (lambda k=k: _fitted(mercer.SVC(kernel=k), *_iris()))
        for name, k in KERNELS.items()
    },
    "SVC two classes": lambda: _fitted(
        make_pipeline(StandardScaler(), mercer.SVC(C=10)), *load_breast_cancer(return_X_y=True)
    ),
    "SVC names": lambda: _fitted(
        mercer.SVC(decision_function_shape="ovo"), *_iris(["setosa", 'say "x"@', "größe"])
    ),
    "SVC ten classes": lambda: _fitted(mercer.SVC(gamma=0.001), *_digits()),
    "SVC ties": lambda: _fitted(mercer.SVC(gamma=0.02, break_ties=True), *_digits()),
    "SVC linear, far away": lambda: _fitted(
        mercer.SVC(kernel="linear"), *(lambda X, y: (X + 1e6, y))(*_iris())
    ),
    "NuSVC": lambda: _fitted(
        make_pipeline(MinMaxScaler(), mercer.NuSVC(nu=0.2)), *load_wine(return_X_y=True)
    ),
    "LinearSVC": lambda: _fitted(
        make_pipeline(RobustScaler(), mercer.LinearSVC()), *load_wine(return_X_y=True)
    ),
    "LogisticRegression, ties": lambda: _fitted(
        mercer.LogisticRegression(fit_intercept=False), *_two(), rows=np.zeros((2, 4))
    ),
    "LIBLINEAR, ties": lambda: _of_liblinear("7 -2 3", "1 2 3"),
    "LIBLINEAR of two, ties": lambda: _of_liblinear("-1 1", "1"),
    "LIBSVM of two, ties": lambda: _of_libsvm("-1 1"),
    "LIBSVM of two in falling order, ties": lambda: _of_libsvm("1 -1"),
    "LogisticRegression": lambda: _fitted(mercer.LogisticRegression(threshold=0.7), *_two()),
    "KernelLogisticRegression": lambda: _fitted(mercer.KernelLogisticRegression(), *_two()),
    "KernelPerceptron": lambda: _fitted(mercer.KernelPerceptron(kernel="rbf"), *_iris()),
    "Pegasos": lambda: _fitted(mercer.PegasosClassifier(random_state=0, tol=0.1), *_iris()),
    "SVR": lambda: _fitted(
        make_pipeline(MaxAbsScaler(), mercer.SVR(C=100)), *load_diabetes(return_X_y=True)
    ),
    "NuSVR": lambda: _fitted(mercer.NuSVR(C=100), *load_diabetes(return_X_y=True)),
    "LinearSVR": lambda: _fitted(mercer.LinearSVR(C=10), *load_diabetes(return_X_y=True)),
    "KernelRidge": lambda: _fitted(
        mercer.KernelRidge(kernel="rbf", alpha=0.1), *load_diabetes(return_X_y=True)
    ),
    "KernelPCA": lambda: _fitted(mercer.KernelPCA(3, kernel="rbf", gamma=0.1), *_iris()),
    "OneClassSVM": lambda: _fitted(mercer.OneClassSVM(nu=0.2), *_iris()),
    "SVC, words of C": lambda: _fitted(mercer.SVC(), *_iris(["REAL", "EXP(x)", "%d??/"])),
    "SVR without vectors": lambda: _fitted(
        mercer.SVR(epsilon=1e4), *load_diabetes(return_X_y=True)
    ),
    "SVR of a constant": lambda: _fitted(
        mercer.SVR(kernel=2 * Constant(0.5) + 1), *load_diabetes(return_X_y=True)
    ),
}


def _two():
    X, y = _iris()
    return X[50:], y[50:]


def _of_liblinear(labels, weights):
    """A model without intercept, with rows of zeros: the order of its labels decides."""
    lines = ["solver_type L2R_LR", f"nr_class {len(labels.split())}", f"label {labels}"]
    lines += ["nr_feature 2", "bias -1", "w", weights, weights]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "m.model"
        path.write_text("\n".join(lines) + "\n")
        model, _ = read_liblinear(path)
    return Exported(model, np.array([[0.0, 0.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 0.0]]))


def _of_libsvm(labels):
    """f(x) = x₁, which is zero on a row of zeros: the second label is predicted there."""
    head = "svm_type c_svc\nkernel_type linear\nnr_class 2\ntotal_sv 2\nrho 0\n"
    with TemporaryDirectory() as folder:
        path = Path(folder) / "m.model"
        path.write_text(f"{head}label {labels}\nnr_sv 1 1\nSV\n0.5 1:1\n-0.5 1:-1\n")
        model, _ = read_libsvm(path)
    assert model.predict([[0.0]]) == int(labels.split()[1])
    return Exported(model, np.array([[0.0], [1.0], [-1.0]]))


def expected(model, rows):
    """Labels or None, and values of shape (n, k), as Mercer gives them."""
    if hasattr(model, "decision_function"):
        values = model.decision_function(rows)
        return model.predict(rows), values.reshape(len(rows), -1)
    values = model.transform(rows) if hasattr(model, "transform") else model.predict(rows)
    return None, values.reshape(len(rows), -1)
